// The map's life: what Python sent, labels and chips, pointer and keys, and the walk through the stages.
import { resize } from "../../core/components/lib/canvas.js";
import { significant } from "../../core/components/lib/numbers.js";
import { chip, element, rowOffsets } from "../../core/components/lib/pattern.js";
import { byKeys } from "../../core/components/lib/by_keys.js";
import { alike, unpack } from "../../core/components/lib/bytes.js";
import { readTheme, whenStyled } from "../../core/components/lib/theme.js";
import { layOut, middle, regionsOf, stagesOf } from "./layout.js";
import { findAt, keyPlaces, paintMarks, readingOf } from "./marks.js";
import { buildOutput, drawOutput, paintSky } from "./output.js";
import { inks, paintBase, rowWeights } from "./paint.js";
import { printSoon } from "./print.js";
import { fill, named, phrase } from "./words.js";

const STAGE_MS = 620, BLOCK_MS = 420;
const MOST_PIXELS = 12e6;      // of a canvas; some browsers draw none that is larger

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".map");
  const map = (root.map ??= build(root));
  const given = unpack(data);
  map.send = setTriggerValue;
  if (!alike(map, given)) receive(map, given);
}

// All that Python sent.
function receive(map, given) {
  const { root } = map;
  Object.assign(map, { P: null, X: null, mlp: null, images: {} }, given);
  map.sent = map.position;
  map.focus = map.layer;
  map.offset = rowOffsets(map.first, map.last);
  map.stages = stagesOf(map);
  if (map.stage !== null && map.stage >= map.stages.length) map.stage = null;
  root.style.setProperty("--scale", map.scale);
  whenStyled(root, () => { arrange(map); settle(map); });
}

// What stands above the map may still grow.
function settle(map, tries = 0) {
  fit(map);
  if (tries < 8) setTimeout(() => settle(map, tries + 1), 60 * tries);
}

function build(root) {
  const part = (name) => root.querySelector(name);
  const map = { root, caption: part(".caption"), scroll: part(".scroll"), area: part(".stage"), base: part(".base"),
    over: part(".over"), print: part(".print"), labels: part(".labels"), chips: part(".chips"), out: part(".out"),
    tip: part(".tip"), back: part(".back"), play: part(".play"), forth: part(".forth"), nodes: new Map(), stage: null,
    moved: 1, pointer: null };
  buildOutput(map, () => pick(map, map.n - 1));
  map.area.onpointermove = (event) => point(map, event);
  map.area.onpointerleave = () => point(map, null);
  map.area.onclick = (event) => clicked(map, event);
  map.chips.onkeydown = (event) => keyed(map, event);
  byKeys(map.over, () => ({ columns: keyPlaces(map).length, rows: map.n, from: [0, map.position] }),
    (column, row, phase) => throughMap(map, column, row, phase),
    () => (map.tip.hidden ? "" : [...map.tip.children].map((part) => part.textContent).join(": ")));
  map.play.onclick = () => (map.playing ? stop(map) : start(map));
  map.back.onclick = () => stepBy(map, -1);
  map.forth.onclick = () => stepBy(map, 1);
  const watch = new ResizeObserver(() => fit(map));
  watch.observe(map.scroll);
  watch.observe(document.documentElement);
  return map;
}

// The map ends where the first screen ends, as long as that leaves it a readable height.
function heightFor(map) {
  let page = map.root.getRootNode().host ?? map.root, top = map.scroll.getBoundingClientRect().top;
  while ((page = page.parentElement)) top += page.scrollTop;
  const height = Math.max(350 + 40 * map.scale,
    Math.min(820 * map.scale, window.innerHeight - top - (map.scale > 1 ? 48 : 14)));
  return 4 * Math.floor(height / 4);
}

// Arranged anew where the window, what stands above the map, or the theme has changed.
function fit(map) {
  if (!map.first || !map.scroll.clientWidth) return;
  const resized = map.shownWidth !== map.scroll.clientWidth
    || (map.geometry?.wide && heightFor(map) !== map.geometry.height);
  if (resized || map.theme !== readTheme()) arrange(map);
}

function arrange(map) {
  const width = (map.shownWidth = map.scroll.clientWidth);
  if (!width) return;
  map.geometry = layOut(map, width, heightFor(map));
  const g = map.geometry;
  map.ratio = Math.min(window.devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (g.width * g.height)));
  map.root.classList.toggle("narrow", !g.wide);
  Object.assign(map.area.style, { width: `${g.width}px`, height: g.wide ? `${g.height}px` : "auto",
    paddingTop: g.wide ? "" : `${g.height + 8}px` });
  for (const canvas of [map.base, map.over]) {
    Object.assign(canvas.style, { width: `${g.width}px`, height: `${g.height}px` });
    resize(canvas, Math.round(g.width * map.ratio), Math.round(g.height * map.ratio));
  }
  Object.assign(map.out.style, g.wide ? { left: `${g.out.x}px`, width: `${g.out.w}px`, height: `${g.height}px` }
      : { left: 0, width: "100%", height: "auto" });
  map.regions = regionsOf(map);
  map.ink = inks();
  map.theme = readTheme();
  paintBase(map);
  show(map);
  paintSky(map);
}

// Everything that depends on the picked token or on the stage.
function show(map) {
  placeLabels(map);
  placeChips(map);
  drawOutput(map);
  paintMarks(map);
  veil(map);
  say(map);
  printSoon(map);
}

// ---- labels: what each part is, its shape today, and the way to its lesson ----

function label(map, key, words, box, { name = "", part = null, at = 0, tag = "span" } = {}) {
  let node = map.nodes.get(key);
  if (!node) map.nodes.set(key, (node = map.labels.appendChild(element(map.lessons[part] ? "button" : tag))));
  node.className = `label ${name}`;
  node.replaceChildren(...words.map((word, k) => element(k ? "small" : "b", "", word)));
  Object.assign(node.style, { left: `${box[0]}px`, top: `${box[1]}px`, width: box[2] ? `${box[2]}px` : "" });
  node.stageAt = at;
  node.used = true;
  if (map.lessons[part]) {
    node.title = map.text.open;
    node.onclick = (event) => { event.stopPropagation(); map.send("opened", map.lessons[part]); };
  }
}

function placeLabels(map) {
  const g = map.geometry, { text, n, d, layers, heads, d_ff } = map;
  const sizes = { n, d, layers, heads, d_ff, v: map.vocabulary };
  for (const node of map.nodes.values()) node.used = false;
  const words = (...names) => names.map((name) => fill(text[name], sizes));
  label(map, "tokens", words("head_tokens", "shape_tokens"), [0, 0], { part: "tokens" });
  for (const image of g.images) {
    const stage = image.name === "E" ? 1 : 2, single = g.images.length === 1;
    label(map, `head_${image.name}`, words(`head_${image.name}`, `shape_${image.name}`),
      [image.x - 2, 0, image.w + g.sign],
      { part: image.name, at: single ? 1 : stage, name: image.name === "P" ? "position" : "" });
    if (!single && image.name !== "E")
      label(map, `sign_${image.name}`, [text[`sign_${image.name}`]],
        [image.x - g.sign, (g.rows[0] + g.rows[n]) / 2 - g.em * 0.7, g.sign], { name: "sign", at: 2 });
  }
  const first = g.blocks[0];
  label(map, "blocks",
    [...words("head_blocks"), fitting(words("shape_blocks", "shape_patterns", ...(d_ff ? ["shape_mlp"] : [])), g)],
    [first.x, g.wide ? 0 : g.firstBlock - 3 * g.em, g.blocks.at(-1).x + g.blocks.at(-1).w - first.x],
    { part: "blocks", at: 3 });
  for (const block of g.blocks) placeBlockLabels(map, block);
  label(map, "h", words("head_h", "shape_h"), g.wide ? [g.h.x - 6, g.h.edges[n] + 4, g.h.w + g.fan]
      : [0, g.h.edges[0] - 2.9 * g.em], { part: "h", at: map.stages.length - 4, name: g.wide ? "under" : "" });
  if (g.wide) placeRowTitles(map);
  for (const [key, node] of map.nodes) if (!node.used) { node.remove(); map.nodes.delete(key); }
}

// As many of the shapes as stand over the blocks in one line.
function fitting(shapes, g) {
  const most = g.wide ? (g.out.x - g.blocks[0].x) / (0.53 * g.em) : g.width / (0.53 * g.em);
  return shapes.reduce((line, shape) => (line.length + shape.length + 3 <= most ? `${line}   ${shape}` : line));
}

function placeBlockLabels(map, block) {
  const { l } = block, g = map.geometry, { text, n, position } = map, each = map.d_ff ? 2 : 1, at = 3 + l * each;
  const value = (name) => map[name][l * n + position];
  if (block.thin) {
    if (l % Math.ceil((1.6 * g.em) / block.w) === 0)
      label(map, `thin_${l}`, [String(l)], [block.x, block.top + 1, block.inner], { name: "block thin", at });
    return;
  }
  label(map, `block_${l}`, [fill(text.block, { block: l })], [block.x + 5, block.top + 1, block.inner - 8],
    { part: "attention", at, name: "block" });
  label(map, `wrote_attention_${l}`, [`+ ${significant(value("attention"))}`],
    [block.x + 4, block.writeTop, block.inner - 8], { name: "attention number", at });
  if (!map.d_ff) return;
  label(map, `wrote_mlp_${l}`, [`+ ${significant(value("feed_forward"))}`],
    [block.x + 4, block.writeBottom + 1, block.inner - 8], { name: "mlp number", part: "feed_forward", at: at + 1 });
  label(map, `stream_${l}`, [significant(map.stream[(l + 1) * n + position])],
    [block.x, middle(block.lanes, position) - 1.75 * g.em, block.inner + (g.wide ? 2 : -5)],
    { name: "residual number right halo", part: "stream", at: at + 1 });
}

// The three rows of a block, named once at their left.
function placeRowTitles(map) {
  const g = map.geometry, { parts } = g, block = g.blocks[0], x = g.fanTo - 2, { text } = map;
  const [top, bottom] = [block.lanes[0], block.lanes[map.n]];
  label(map, "row_attention", [text.row_attention], [x, parts.tiles, g.gutter],
    { name: "row attention", part: "attention", at: 3 });
  label(map, "row_stream", [text.row_stream], [x, (top + bottom) / 2 - 2.2 * g.em, g.gutter],
    { name: "row residual halo", part: "stream", at: 3 });
  if (map.d_ff)
    label(map, "row_mlp", [block.bottom - parts.mlp > 6.4 * g.em ? text.row_mlp : text.row_mlp_short],
      [x, parts.mlp, g.gutter], { name: "row mlp", part: "feed_forward", at: 3 });
  const heights = { row_attention: block.tiles.bottom - parts.tiles, row_stream: 4.4 * g.em,
    row_mlp: block.bottom - parts.mlp };
  for (const [key, height] of Object.entries(heights))
    if (map.nodes.get(key)) map.nodes.get(key).style.height = `${height}px`;
}

// ---- tokens ----

function placeChips(map) {
  const g = map.geometry, nodes = map.chips.children;
  map.chips.setAttribute("aria-label", map.text.chips);
  while (nodes.length > map.n) map.chips.lastChild.remove();
  while (nodes.length < map.n)
    map.chips.appendChild(Object.assign(chip("", ""), { role: "radio" })).onclick = tokenClicked(map);
  for (let i = 0; i < map.n; i++) {
    const node = nodes[i], pitch = g.rows[i + 1] - g.rows[i], picked = i === map.position;
    node.hidden = pitch < 11 && !picked;
    node.className = `chip${picked ? " query" : pitch < 1.8 * g.em ? " plain" : ""}`;
    node.style.fontSize = picked ? "" : `${Math.min(1.1 * g.em, 0.78 * pitch)}px`;
    node.textContent = map.tokens[i];
    node.setAttribute("aria-label", `${map.tokens[i]} ${chipHint(map, i)}`);
    node.setAttribute("role", "radio");
    node.setAttribute("aria-checked", picked);
    node.tabIndex = picked ? 0 : -1;
    Object.assign(node.style,
      { top: `${middle(g.rows, i)}px`, maxWidth: `${g.chips.w}px`, right: `calc(100% - ${g.chips.w}px)` });
  }
}

const chipHint = (map, i) => fill(map.text.chip_hint, { id: map.ids[i], position: i });

const tokenClicked = (map) => (event) => {
  event.stopPropagation();
  pick(map, [...map.chips.children].indexOf(event.currentTarget));
};

// The browser answers at once with what it has; Python follows with the logits of the new position.
function pick(map, position) {
  if (position < 0 || position >= map.n || position === map.position) return;
  map.position = position;
  arrange(map);
  clearTimeout(map.asking);
  map.asking = setTimeout(() => map.send("picked", position), 90);
}

function keyed(map, event) {
  const to = { ArrowDown: map.position + 1, ArrowUp: map.position - 1, ArrowRight: map.position + 1,
    ArrowLeft: map.position - 1, Home: 0, End: map.n - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  pick(map, to);
  map.chips.children[map.position].focus();
}

// ---- pointer ----

function point(map, event) {
  const box = map.over.getBoundingClientRect();
  const token = event ? [...map.chips.children].indexOf(event.target) : -1;
  map.pointer = event && map.geometry && token < 0 ? findAt(map, event.clientX - box.left, event.clientY - box.top)
    : null;
  map.tip.hidden = !map.pointer && token < 0;
  map.area.style.cursor = map.pointer ? "pointer" : "";
  if (!map.tip.hidden) {
    const [what, value] = map.pointer ? readingOf(map, map.pointer) : [named(map, token), chipHint(map, token)];
    const frame = map.root.getBoundingClientRect();
    map.tip.replaceChildren(element("span", "", what), element("b", "", value));
    const x = event.clientX - frame.left, y = event.clientY - frame.top;
    map.tip.style.left = `${Math.max(0, Math.min(x - map.tip.offsetWidth / 2, frame.width - map.tip.offsetWidth))}px`;
    map.tip.style.top = `${y > map.tip.offsetHeight + 24 ? y - map.tip.offsetHeight - 14 : y + 20}px`;
  }
  cancelAnimationFrame(map.marking);
  map.marking = requestAnimationFrame(() => paintMarks(map));
}

function throughMap(map, column, row, phase) {
  if (phase === "out") return point(map, null);
  const box = map.over.getBoundingClientRect(), [x, y] = keyPlaces(map)[column](row);
  const event = { clientX: box.left + x, clientY: box.top + y, target: map.over };
  if (phase === "press") clicked(map, event);
  else point(map, event);
}

function clicked(map, event) {
  const box = map.over.getBoundingClientRect();
  const at = map.geometry && findAt(map, event.clientX - box.left, event.clientY - box.top);
  if (!at) return;
  if (map.geometry.blocks[at.l]?.thin) openBlock(map, at.l);
  pick(map, at.row);
}

// A thin block under the hand or in the walk is opened, and those beside it; Python hears of a picked one.
function openBlock(map, l, picked = true) {
  map.focus = l;
  arrange(map);
  if (picked) map.send("layer", l);
}

// ---- the walk ----

function start(map) {
  map.playing = true;
  if (map.stage === null || map.stage === map.stages.length - 1) map.stage = -1;
  next(map);
}

function next(map) {
  if (!map.playing) return;
  if (map.stage + 1 >= map.stages.length) return stop(map, true);
  map.stage += 1;
  showBlock(map);
  const length = map.stages[map.stage].l === undefined ? STAGE_MS * 1.4 : map.stages[map.stage].l < 1 ? STAGE_MS * 1.6
    : BLOCK_MS;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches, from = performance.now();
  map.moved = still ? 1 : 0;
  show(map);
  const frame = (now) => {
    if (!map.playing || !map.root.isConnected) return;         // the reader has gone to another page
    if (now - from >= length) { map.moved = 1; return next(map); }
    if (!still) { map.moved = (now - from) / length; paintMarks(map); }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function stop(map, whole = false) {
  map.playing = false;
  map.moved = 1;
  if (whole) map.stage = null;
  show(map);
}

function stepBy(map, way) {
  const from = map.stage ?? (way > 0 ? -1 : map.stages.length), to = from + way;
  map.playing = false;
  map.moved = 1;
  map.stage = to < 0 || to >= map.stages.length ? null : to;
  showBlock(map);
  show(map);
}

function showBlock(map) {
  const l = map.stages[map.stage]?.l;
  if (map.geometry.blocks[l]?.thin) openBlock(map, l, false);
}

// What stands for stages not reached yet is veiled, in the labels as on the canvas.
function veil(map) {
  const at = map.stage ?? Infinity, count = map.stages.length;
  for (const node of map.nodes.values()) node.classList.toggle("later", (node.stageAt ?? 0) > at);
  const later = (node, stage) => node.classList.toggle("later", stage > at);
  for (const node of [map.heading.logits, map.sky]) later(node, count - 3);
  for (const node of [map.heading.softmax, map.bars, map.actual]) later(node, count - 2);
  for (const node of [map.dice, map.toLast]) later(node, count - 1);
  map.play.textContent = map.playing ? map.text.pause : map.text.play;
  map.play.setAttribute("aria-pressed", Boolean(map.playing));
  for (const [node, name] of [[map.back, "back"], [map.forth, "forth"]]) {
    node.textContent = { back: "◀", forth: "▶" }[name];
    node.title = map.text[name];
    node.setAttribute("aria-label", map.text[name]);
  }
}

// The sentence over the map: what is seen, or what the stage being walked through does to the picked token.
function say(map) {
  const { text, position } = map, [token, , p] = map.candidates[position][0];
  const stage = map.stage === null ? null : map.stages[map.stage];
  const values = { token: map.tokens[position], top: token, p: significant(p), n: map.n, d: map.d,
    v: map.vocabulary, heads: map.heads, d_ff: map.d_ff, id: map.ids[position],
    block: stage?.l, position, drawn: map.draw?.token ?? "", xi: map.draw?.xi.toFixed(4) };
  if (stage?.l !== undefined) {
    const weights = rowWeights(map, stage.l, position, null), j = weights.indexOf(Math.max(...weights));
    const wrote = significant(map[stage.name][stage.l * map.n + position]);
    Object.assign(values, { key: map.tokens[j], weight: significant(weights[j]), wrote });
  }
  const name = stage ? `stage_${stage.name}${stage.name === "draw" && !map.draw ? "_none" : ""}`
    : map.long ? "title_long" : "title";
  map.caption.replaceChildren(...phrase(text[name], values, ["token", "top", "key", "drawn"]));
  map.over.setAttribute("aria-label", map.caption.textContent);
}
