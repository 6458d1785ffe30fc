// The map: Python's header, labels and chips, pointer and keys, and the walk through the stages.
import { alike, unpack } from "../../core/components/lib/bytes.js";
import { fill, labelled, make, rich } from "../../core/components/lib/dom.js";
import { byKeys, isShortcut } from "../../core/components/lib/keys.js";
import { percent, significant } from "../../core/components/lib/numbers.js";
import { rowOffsets, showTip, tokenChip } from "../../core/components/lib/pattern.js";
import { isolated } from "../../core/components/lib/text.js";
import { pageFoot, readTheme, whenStyled } from "../../core/components/lib/theme.js";
import { keepFitted, roomBelow, scaleOf } from "../../core/components/lib/view.js";
import { Dive } from "./dive.js";
import { isSet, placeOf } from "./dive_path.js";
import { layOut, lengthSaid, middle, regionsOf, stagesOf } from "./layout.js";
import { findAt, keyPlaces, paintMarks, readingOf } from "./marks.js";
import { placeMet } from "./met.js";
import { buildOutput, drawOutput, paintSky } from "./output.js";
import { paintBase, rowWeights } from "./paint.js";
import { printSoon } from "./print.js";

const MOVE_MS = 1000, STAGE_MS = 5000;     // of a stage: what moves in it, and how long it stands in all
const MOST_PIXELS = 12e6;      // of a canvas; some browsers draw none that is larger

/** Numbers, or bytes by the scale of their name. @typedef {Float32Array | Uint8Array} Image */
/** packing.py and map.py describe it.
 * @typedef {{ n: number, d: number, layers: number, heads: number, vocabulary: number, experts: number[],
 *   neurons: number[], d_ff: number | null, columns: number, exact: boolean, long: boolean, step: number,
 *   at: string, edit: string, edited: string, was: [string, number][], differs?: Float32Array, shifted?: Float32Array,
 *   more: Record<string, string>, path: string, question: object,
 *   scales: Record<string, number | number[]>, tokens: string[],
 *   ids: number[], position: number, draw: Draw | null, here: boolean,
 *   blanks: number[], candidates: [string, number, number][][], layer: number, text: Record<string, string>,
 *   canUndo: boolean, lessons: Record<string, string>, scale: number, theme: string, silence: string,
 *   met: Record<string, { step: number, href: string }>, E: Image, P?: Image, X?: Image, h: Image, mlp?: Image,
 *   first: Uint16Array, last: Uint16Array, cell_first: Uint16Array, cell_last: Uint16Array, patterns: Image,
 *   mean?: Uint8Array, stream: Float32Array, middle: Float32Array, attention: Float32Array,
 *   feed_forward?: Float32Array, logits?: Float32Array }} Message */
/** @typedef {{ xi: number, id: number, token: string, place: number, probability: number, from: number, to: number,
 *   ends: number[] }} Draw */

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".map");
  const map = (root.map ??= build(root));
  /** @type {Message} */
  const header = unpack(data);
  map.send = setTriggerValue;
  if (!alike(map, header)) receive(map, header);
}

// Take over Python's header.
function receive(map, header) {
  Object.assign(map, { P: null, X: null, mlp: null, differs: null, shifted: null, images: {}, limits: {} }, header);
  const [first, last] = [map.cell_first, map.cell_last];
  Object.assign(map, { sent: map.position, focus: map.layer, offset: rowOffsets(map.first, map.last),
    cells: { first, last, offset: rowOffsets(first, last) }, stages: stagesOf(map) });
  if (map.stage >= map.stages.length) map.stage = null;
  map.scale = scaleOf(map.scale);
  map.root.style.setProperty("--scale", map.scale);
  map.root.classList.toggle("present", map.scale > 1);
  whenStyled(map.root, () => {
    arrange(map);
    map.dive.receive();
  });
}

function build(root) {
  const part = (name) => root.querySelector(`.${name}`);
  const map = { root, area: part("stage"), nodes: new Map(), badges: {}, stage: null, moved: 1, pointer: null };
  for (const name of ["caption", "restore", "legend", "scroll", "base", "over", "print", "labels", "chips", "out",
    "tip", "back", "play", "forth"]) map[name] = part(name);
  map.crumbs = part("crumbs");
  map.dive = new Dive(map, arrange);
  buildOutput(map, () => pick(map, map.n - 1));
  map.area.onpointermove = (event) => point(map, event);
  map.area.onpointerleave = () => point(map, null);
  map.area.onclick = (event) => clicked(map, event);
  map.chips.onkeydown = (event) => keyed(map, event);
  byKeys(map.over, () => ({ columns: keyPlaces(map).length, rows: map.n, from: [0, map.position] }),
    (column, row, phase) => throughMap(map, column, row, phase),
    () => (map.tip.hidden ? "" : [...map.tip.children].map((part) => part.textContent).join(": ")));
  map.play.onclick = () => (map.playing ? rest(map, map.stage) : start(map));
  map.back.onclick = () => stepBy(map, -1);
  map.forth.onclick = () => stepBy(map, 1);
  part("controls").onkeydown = (event) => walkKey(map, event);
  keepFitted(map.root, () => fit(map));
  return map;
}

// The map ends at the foot of the first screen, as long as it stays tall enough to read.
function heightFor(map) {
  const room = roomBelow(map.dive.isOpen ? map.dive.root : map.scroll) - Math.max(14, pageFoot());
  const height = Math.max(350 + 40 * map.scale, Math.min(820 * map.scale, room));
  return 4 * Math.floor(height / 4);
}

// Arrange the map again if the window, the content above it, or the theme has changed.
function fit(map) {
  if (!map.first) return;
  if (map.dive.isOpen) { map.dive.fit(); return; }
  if (!map.scroll.clientWidth) return;
  const resized = map.shownWidth !== map.scroll.clientWidth
    || (map.geometry?.wide && heightFor(map) !== map.geometry.height);
  if (resized || map.theme !== readTheme()) arrange(map);
}

function arrange(map) {
  const width = (map.shownWidth = map.scroll.clientWidth);
  if (!width) return;
  const theme = readTheme(), g = layOut(map, width, heightFor(map));
  Object.assign(map, { geometry: g, theme, ink: theme.ink,
    ratio: Math.min(window.devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (g.width * g.height))) });
  map.regions = regionsOf(map);
  map.root.classList.toggle("narrow", !g.wide);
  Object.assign(map.area.style, { width: `${g.width}px`, height: g.wide ? `${g.height}px` : "auto",
    paddingTop: g.wide ? "" : `${g.height + 8}px` });
  Object.assign(map.out.style, "out" in g ? { left: `${g.out.x}px`, width: `${g.out.w}px`, height: `${g.height}px` }
      : { left: 0, width: "100%", height: "auto" });
  paintBase(map);
  show(map);
  if (!map.silence) paintSky(map);
}

// Draw everything that depends on the picked token or on the stage.
function show(map) {
  placeLabels(map);
  placeChips(map);
  drawOutput(map);
  placeMet(map);
  veil(map);
  say(map);
  explainMarks(map);
  // last, since it reads a position: the browser then lays out all that was changed before
  paintMarks(map);
  printSoon(map);
}

// ---- labels: each part's name, its present shape, and the link to its lesson ----

function label(map, key, words, box, { name = "", part = null, stage = 0 } = {}) {
  const lesson = map.lessons[part];
  if (!map.nodes.has(key)) map.nodes.set(key, make(lesson ? "button" : "span", "", map.labels));
  const node = map.nodes.get(key);
  node.className = `label ${name}`;
  const source = words.join("\n");
  if (node.source !== source) node.replaceChildren(...words.map((word, k) => make(k ? "small" : "b", "", null, word)));
  Object.assign(node.style, { left: `${box[0]}px`, top: `${box[1]}px`, width: box[2] ? `${box[2]}px` : "" });
  Object.assign(node, { source, stage, used: true });
  if (!lesson) return;
  node.title = map.text.open;
  node.onclick = (event) => { event.stopPropagation(); map.send("opened", lesson); };
}

function placeLabels(map) {
  const g = map.geometry, { text, n, d, layers, heads, d_ff } = map;
  const sizes = { n, d, layers, heads, d_ff, v: map.vocabulary, experts: Math.max(...map.experts) };
  for (const node of map.nodes.values()) node.used = false;
  const words = (...names) => names.map((name) => fill(text[name], sizes));
  label(map, "tokens", words("head_tokens", "shape_tokens"), [0, 0], { part: "tokens" });
  for (const image of g.images) placeImageLabels(map, image, words);
  const first = g.blocks[0], last = g.blocks.at(-1), [whole, short] = words("head_blocks", "head_blocks_short");
  label(map, "blocks",
    [whole.length <= lettersOver(g) ? whole : short,
      fitting(words("shape_blocks", "shape_patterns", ...(d_ff ? ["shape_mlp"] : [])), g)],
    [first.x, g.wide ? 0 : g.firstBlock - 3 * g.em, last.x + last.w - first.x], { part: "blocks", stage: 3 });
  for (const block of g.blocks) placeBlockLabels(map, block);
  const stage = map.stages.findIndex(({ name }) => name === "norm"), name = g.wide ? "under" : "";
  label(map, "h", words("head_h", "shape_h"), g.wide ? [g.h.x - 6, g.h.edges[n] + 4, g.h.w + g.fan]
    : [0, g.h.edges[0] - 2.9 * g.em], { part: "h", stage, name });
  if (g.wide) placeRowTitles(map);
  for (const [key, node] of map.nodes) if (!node.used) { node.remove(); map.nodes.delete(key); }
}

// The name of E, P or X above it, and the sign before it where it is the second or third of a sum.
function placeImageLabels(map, { name, x, w }, words) {
  const g = map.geometry, first = name === g.images[0].name, stage = first ? 1 : 2;
  const centre = (g.rows[0] + g.rows[map.n]) / 2;
  label(map, `head_${name}`, words(`head_${name}`, `shape_${name}`), [x - 2, 0, w + g.sign],
    { part: name, stage, name: name === "P" ? "position" : "" });
  if (!first)
    label(map, `sign_${name}`, words(`sign_${name}`), [x - g.sign, centre - g.em * 0.7, g.sign],
      { name: "sign", stage });
}

// How many letters fit over the blocks in one line.
const lettersOver = (g) => (g.wide ? g.out.x - g.blocks[0].x : g.width) / (0.56 * g.em);

// As many of the shapes as fit there.
function fitting(shapes, g) {
  const most = lettersOver(g);
  return shapes.reduce((line, shape) => (line.length + shape.length + 3 <= most ? `${line}   ${shape}` : line));
}

function placeBlockLabels(map, { l, x, w, top, inner, thin, writeTop, writeBottom, lanes }) {
  const g = map.geometry, { text, n, position } = map, stage = 3 + l * (map.d_ff ? 2 : 1);
  if (thin) {
    if (l % Math.ceil((1.6 * g.em) / w) === 0)
      label(map, `thin_${l}`, [String(l)], [x, top + 1, inner], { name: "block thin", stage });
    return;
  }
  const wrote = (name) => [`+ ${significant(map[name][l * n + position])}`];
  label(map, `block_${l}`, [fill(text.block, { block: l })], [x + 5, top + 1, inner - 8],
    { part: "attention", stage, name: "block" });
  label(map, `wrote_attention_${l}`, wrote("attention"), [x + 4, writeTop, inner - 8],
    { name: "attention number", stage });
  if (!map.d_ff) return;
  label(map, `wrote_mlp_${l}`, wrote("feed_forward"), [x + 4, writeBottom + 1, inner - 8],
    { name: "mlp number", part: "feed_forward", stage: stage + 1 });
  label(map, `stream_${l}`, [lengthSaid(map, l + 1, position, "{share}")],
    [x, middle(lanes, position) - 1.75 * g.em, inner + (g.wide ? 2 : -5)],
    { name: "residual number right halo", part: "stream", stage: stage + 1 });
}

// The three rows of a block, named once at their left.
function placeRowTitles(map) {
  const g = map.geometry, { parts } = g, { lanes, bottom, tiles } = g.blocks[0];
  const tall = Math.max(bottom - parts.mlp, 4.4 * g.em);      // at least the short name's length
  const title = (name, word, y, height, meaning, part) => {
    label(map, name, [map.text[word]], [g.fanTo - 2, y, g.gutter], { name: `row ${meaning}`, part, stage: 3 });
    map.nodes.get(name).style.height = `${height}px`;
  };
  title("row_attention", "row_attention", parts.tiles, tiles.bottom - parts.tiles, "attention", "attention");
  title("row_stream", "row_stream", (lanes[0] + lanes[map.n]) / 2 - 2.2 * g.em, 4.4 * g.em, "residual halo", "stream");
  if (map.d_ff)
    title("row_mlp", tall > 6.4 * g.em ? "row_mlp" : "row_mlp_short", bottom - tall, tall, "mlp", "feed_forward");
}

// ---- tokens ----

function placeChips(map) {
  const g = map.geometry, { chips, n } = map, nodes = chips.children;
  chips.ariaLabel = map.text.chips;
  while (nodes.length > n) chips.lastChild.remove();
  while (nodes.length < n) chips.append(newChip(map, nodes.length));
  [...nodes].forEach((node, i) => {
    const pitch = g.rows[i + 1] - g.rows[i], picked = i === map.position;
    node.hidden = pitch < 11 && !picked;
    node.ariaChecked = picked;
    node.tabIndex = picked ? 0 : -1;
    if (node.hidden) return;
    node.className = `chip${picked ? " query" : pitch < 1.8 * g.em ? " plain" : ""}`;
    node.classList.toggle("changed", isSet(map.edit, placeOf("embedding", i)));
    node.textContent = map.tokens[i];
    node.ariaLabel = `${map.tokens[i]} ${chipHint(map, i)}`;
    Object.assign(node.style, { fontSize: picked ? "" : `${Math.min(1.1 * g.em, 0.78 * pitch)}px`,
      top: `${middle(g.rows, i)}px`, maxWidth: `${g.chips.w}px`, right: `calc(100% - ${g.chips.w}px)` });
  });
}

function newChip(map, i) {
  const node = tokenChip("");
  node.role = "radio";
  node.onclick = (event) => { event.stopPropagation(); pick(map, i); };
  return node;
}

const chipHint = (map, i) => fill(map.text.chip_hint, { id: map.ids[i], position: i });

// The browser shows at once what it has; Python follows with the logits of the new position.
function pick(map, position) {
  if (position < 0 || position >= map.n || position === map.position) return;
  map.position = position;
  arrange(map);
  clearTimeout(map.asking);
  map.asking = setTimeout(() => map.send("picked", position), 90);
}

function keyed(map, event) {
  const { position, n } = map, to = { ArrowDown: position + 1, ArrowUp: position - 1, ArrowRight: position + 1,
    ArrowLeft: position - 1, Home: 0, End: n - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  pick(map, to);
  map.chips.children[map.position].focus();
}

// ---- pointer ----

function partUnder(map, event) {
  const box = map.over.getBoundingClientRect();
  return map.geometry ? findAt(map, event.clientX - box.left, event.clientY - box.top) : null;
}

function point(map, event) {
  const token = event ? [...map.chips.children].indexOf(event.target) : -1;
  map.pointer = event && token < 0 ? partUnder(map, event) : null;
  map.into = event && token < 0 && map.stage === null ? insideOf(map, map.pointer, event) : null;
  map.tip.hidden = !map.pointer && token < 0;
  map.area.style.cursor = map.into || map.pointer ? "pointer" : "";
  if (!map.tip.hidden) {
    const [name, value] = map.pointer ? readingOf(map, map.pointer)
      : [isolated(map.tokens[token]), chipHint(map, token)];
    const frame = map.root.getBoundingClientRect();
    showTip(map.tip, [make("span", "", null, name), make("b", "", null, value)], event.clientX - frame.left,
      event.clientY - frame.top - 10, 30);
  }
  cancelAnimationFrame(map.marking);
  map.marking = requestAnimationFrame(() => paintMarks(map));
}

function throughMap(map, column, row, phase) {
  if (phase === "out") return point(map, null);
  const box = map.over.getBoundingClientRect(), [x, y] = keyPlaces(map)[column](row);
  const event = { clientX: box.left + x, clientY: box.top + y, target: map.over, byKeys: true };
  if (phase === "press") clicked(map, event);
  else point(map, event);
}

function clicked(map, event) {
  const part = partUnder(map, event), inside = map.stage === null && insideOf(map, part, event);
  if (inside) map.dive.goTo(inside, { byKeys: event.byKeys });
  if (!part || inside) return;
  if (map.geometry.blocks[part.l]?.thin) {
    openBlock(map, part.l);
    map.send("layer", part.l);
  }
  pick(map, part.row);
}

// Where a press leads into the picture: a head or the block around it, what a token begins as, or what its last row
// becomes; null elsewhere. While the pass is walked a press picks a row.
function insideOf(map, part, event) {
  if (!map.geometry) return null;
  if (part?.kind === "tile") return placeOf("head", part.l, part.head);
  if (part?.kind === "strip" && part.place.name !== "mlp")
    return placeOf(part.place.name === "h" && !map.silence ? "end" : "embedding", part.row);
  const box = map.over.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const block = map.geometry.blocks.find(({ x: left, inner, top, bottom, thin }) =>
    !thin && x >= left && x < left + inner && y >= top && y < bottom);
  return block ? placeOf("block", block.l) : null;
}

// Open a thin block that was clicked or is reached by the walk, and its neighbours.
function openBlock(map, l) {
  map.focus = l;
  arrange(map);
}

// ---- the walk ----

function start(map) {
  map.playing = true;
  if (map.stage === null || map.stage === map.stages.length - 1) map.stage = -1;
  next(map);
}

function next(map) {
  clearTimeout(map.standing);
  if (!map.playing || !map.root.isConnected) return;           // the reader has gone to another page
  if (map.stage + 1 >= map.stages.length) { rest(map, null); return; }
  map.stage += 1;
  const stage = map.stage, from = performance.now();
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  map.moved = still ? 1 : 0;
  showStage(map);
  const frame = (now) => {
    if (!map.playing || map.stage !== stage || map.moved >= 1) return;
    map.moved = Math.min(1, (now - from) / MOVE_MS);
    paintMarks(map);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  map.standing = setTimeout(() => next(map), STAGE_MS);
}

// The arrow keys go from stage to stage, a walk that plays goes on from there; Escape shows the whole pass.
function walkKey(map, event) {
  const act = { ArrowRight: () => (map.playing ? next(map) : stepBy(map, 1)), ArrowLeft: () => stepBy(map, -1),
    Escape: () => rest(map, null) }[event.key];
  if (!act || isShortcut(event)) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

// Stop the walk at a stage; null: show the whole pass.
function rest(map, stage) {
  clearTimeout(map.standing);
  Object.assign(map, { playing: false, moved: 1, stage });
  showStage(map);
}

function stepBy(map, step) {
  const to = (map.stage ?? (step > 0 ? -1 : map.stages.length)) + step;
  rest(map, to in map.stages ? to : null);
}

function showStage(map) {
  const l = map.stages[map.stage]?.l;
  if (map.geometry.blocks[l]?.thin) openBlock(map, l);
  show(map);
}

// Veil the parts of stages that are not reached yet, in the labels as on the canvas.
function veil(map) {
  const current = map.stage ?? Infinity, count = map.stages.length - (map.silence ? 0 : 3);
  const later = (stage, ...nodes) => { for (const node of nodes) node.classList.toggle("later", stage > current); };
  for (const node of [...map.nodes.values(), ...Object.values(map.badges)]) later(node.stage, node);
  later(count, map.heading.logits, map.sky);
  later(count + 1, map.heading.softmax, map.bars, map.actual);
  later(count + 2, map.dice, map.toLast);
  map.play.textContent = map.playing ? map.text.pause : map.text.play;
  map.play.ariaPressed = Boolean(map.playing);
  map.play.title = map.text.play_hint;
  for (const name of ["back", "forth"]) labelled(map[name], map.text[name]);
}

// Explain the colours of the map and its coloured numbers.
function explainMarks({ legend, text, d_ff, met }) {
  const marks = ["cells", "tile", "stream", "attention", ...(d_ff ? ["mlp"] : []), ...(met.tokens ? ["met"] : [])];
  if (legend.children.length > marks.length) return;
  legend.replaceChildren(...marks.map((mark) => {
    const item = make("span", mark, null);
    make("i", "", item);
    item.append(text[`legend_${mark}`]);
    return item;
  }), make("b", "enter", null, text.dive_enter));
}

// The sentence over the map: what it shows, or what the present stage of the walk does to the picked token.
function say(map) {
  if (map.dive.isOpen) { map.dive.say(); return; }
  const { text, position, draw } = map, [token, , p] = map.silence ? ["", 0, 0] : map.candidates[position][0];
  const { name, l } = map.stages[map.stage] ?? {};
  const values = { token: { chip: map.tokens[position], name: "chip query" }, top: { chip: token },
    p: percent(p), n: map.n, d: map.d, v: map.vocabulary, heads: map.heads, d_ff: map.d_ff,
    id: map.ids[position], block: l, position, drawn: { chip: draw?.token ?? "" }, xi: draw?.xi.toFixed(4) };
  if (l !== undefined) {
    const weights = rowWeights(map, l, position, null), weight = Math.max(...weights);
    Object.assign(values, { key: { chip: map.tokens[weights.indexOf(weight)] }, weight: significant(weight),
      wrote: significant(map[name][l * map.n + position]) });
  }
  const [was, before] = map.was[position] ?? ["", 0];
  Object.assign(values, { was: { chip: was }, was_p: percent(before) });
  const key = name ? `stage_${name}${name === "draw" && !draw ? "_none" : ""}`
    : was ? "title_off" : `title${map.silence ? "_silent" : map.long ? "_long" : ""}`;
  rich(map.caption, text[key], values);
  map.over.ariaLabel = map.caption.textContent;
}
