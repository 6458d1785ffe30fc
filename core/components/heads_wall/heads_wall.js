// The wall: every head's pattern as a tile of one canvas; a button over each tile makes it reachable by keyboard and by
// screen reader.
import { resize } from "../lib/canvas.js";
import { buildHand } from "../lib/hand.js";
import { alike, unpack } from "../lib/bytes.js";
import { exact } from "../lib/numbers.js";
import { buildMap, describeMap, frameWindow, layMap, markOnMap, paintMap } from "./heads_map.js";
import { element, fitHeight, keepFitted, reading, rowOffsets, showTip } from "../lib/pattern.js";
import { readTheme, whenStyled } from "../lib/theme.js";
import { bringIntoSight, corner, GAP, LABEL, name, neighbour, place } from "./tiles.js";

const RAIL = 26;
const MAPPED_TILE = 64;         // px, at most, of a tile on a wall that has a map
const MOST_PIXELS = 12e6;      // of a canvas; some browsers draw none that is larger

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".wall");
  const wall = (root.wall ??= build(root));
  const header = unpack(data);
  wall.send = setTriggerValue;
  if (!wall.handle.lay(header.hand)) return;
  receive(wall, header);
  followUp(wall);
}

function receive(wall, header) {
  if (wall.digest !== header.digest) wall.known = new Map();
  const news = wall.fresh || !alike(wall, header, "hand", "follow", "alone");
  Object.assign(wall, header, { fresh: news, offset: rowOffsets(header.first, header.last) });
  keepExact(wall);
  describe(wall);
  describeMap(wall);
  whenStyled(wall.root, () => layOut(wall));
  const { head, query, key } = wall.pointer ?? {};
  // another text is shorter, another model smaller
  if (Math.max(query, key) >= wall.n || head >= wall.notes.length) forget(wall);
  else if (wall.pointer) showReading(wall);
}

// What depends on the wall's state elsewhere on the page is asked for when the tiles stand ("stands") and when the hand
// rests ("rested"), so that it never holds up the picture. The answer to a pick or a hand of this wall's own follows
// nothing, and all that a whole run of the page draws is there already.
function followUp(wall) {
  cancelAnimationFrame(wall.standing);
  const news = wall.followed !== undefined && wall.follow !== wall.followed && !wall.asked && wall.alone;
  Object.assign(wall, { followed: wall.follow, asked: false });
  if (!news) return;
  // after the frame that shows the tiles
  wall.standing = requestAnimationFrame(() => setTimeout(() => wall.send("stands", wall.follow), 0));
  rest(wall);
}

function rest(wall) {
  clearTimeout(wall.resting);
  wall.resting = setTimeout(() => wall.send("rested", wall.follow), 200);
}

function build(root) {
  const part = (name) => root.querySelector(name);
  const wall = { root, title: part(".title"), scale: part(".scale"), scroll: part(".scroll"),
    stage: part(".stage"), cells: part(".cells"), rails: part(".rail"), rail: 0,
    canvas: part("canvas.tiles"), overlay: part("canvas.overlay"), tip: part(".tip"), buttons: [], known: new Map() };
  // the rest of the page follows when it rests
  const moved = (factor) => { wall.asked = true; wall.send("moved", factor); rest(wall); };
  wall.handle = buildHand(part(".hand"), (bytes) => receive(wall, unpack(bytes)), moved,
    () => ({ exact_heads: [wall.selected] }));
  wall.stage.onpointermove = (event) => point(wall, event);
  wall.stage.onpointerleave = () => forget(wall);
  wall.cells.onkeydown = (event) => step(wall, event);
  // as the map beside it does too
  Object.assign(wall, { pick: (head) => pick(wall, head), forget: () => forget(wall) });
  buildMap(wall);
  keepFitted(wall.scroll, () => wall.first && layOut(wall));
  return wall;
}

// ---- what Python sent ----

// Full values of single heads, sent when the tiles themselves are summaries; kept until the patterns change.
function keepExact(wall) {
  if (wall.whole) return;
  wall.exact_heads.forEach((head, i) => {
    const size = wall.exact_values.length / wall.exact_heads.length;
    wall.known.set(head, wall.exact_values.slice(i * size, (i + 1) * size));
  });
  wall.exactOffset = rowOffsets(wall.exact_first, wall.exact_last);
}

// A tile's amounts as 0..255 of the colour scale, −1 where the mask leaves nothing; side × side.
function levels(wall, head) {
  const { side, first, last, offset } = wall;
  const out = new Int16Array(side * side).fill(-1);
  const base = head * offset[side];
  for (let i = 0; i < side; i++)
    for (let j = first[i], at = base + offset[i]; j <= last[i]; j++, at++) {
      const value = wall.values[at];
      if (wall.whole) out[i * side + j] = Number.isNaN(value) ? -1 : Math.round(Math.sqrt(value) * 255);
      else out[i * side + j] = value;
    }
  return out;
}

// The exact value of one cell: a number, NaN where masked, undefined while it is not here yet.
function valueAt(wall, head, query, key) {
  const known = wall.whole ? wall.values : wall.known.get(head);
  if (!known) return undefined;
  const [first, last, offset] = wall.whole ? [wall.first, wall.last, wall.offset]
    : [wall.exact_first, wall.exact_last, wall.exactOffset];
  if (key < first[query] || key > last[query]) return NaN;
  return known[(wall.whole ? head * offset[wall.n] : 0) + offset[query] + key - first[query]];
}

// ---- layout and drawing ----

function describe(wall) {
  wall.title.textContent = wall.heading;
  wall.scale.setAttribute("aria-label", wall.text.scale);
  wall.cells.setAttribute("aria-label", wall.heading);
  const count = wall.layers * wall.heads;
  while (wall.buttons.length > count) wall.buttons.pop().remove();
  while (wall.buttons.length < count) addButton(wall, wall.buttons.length);
  wall.buttons.forEach((button, head) => {
    button.className = `head${head === wall.selected ? " selected" : ""}`;
    button.setAttribute("aria-label",
      `${name(wall, head)} ${wall.badges[head] || wall.roles[head] || ""} ${wall.notes[head] || ""}`);
    button.setAttribute("aria-pressed", head === wall.selected);
    button.tabIndex = head === wall.selected ? 0 : -1;
  });
}

function addButton(wall, head) {
  const button = element("button");
  button.type = "button";
  button.onclick = () => pick(wall, head);
  button.onfocus = () => { if (button.matches(":focus-visible")) announce(wall, head); };
  button.onblur = () => forget(wall);
  wall.cells.appendChild(button);
  wall.buttons.push(button);
}

// Tiles are as large as the width and the height asked for allow; under the least size the wall scrolls inside itself.
// A wall with a map scrolls anyhow.
function tileSize(wall) {
  const across = (wall.scroll.clientWidth - wall.rail - GAP * (wall.heads - 1) - 4) / wall.heads;
  if (wall.map) return Math.max(wall.least, Math.min(Math.floor(across), MAPPED_TILE));
  const down = fitHeight(wall.scroll, wall.height, wall.most) / wall.layers - LABEL - GAP;
  return Math.max(wall.least, Math.floor(Math.min(across, Math.max(down, wall.least))));
}

function layOut(wall) {
  if (!wall.scroll.clientWidth) return;
  wall.rail = wall.map ? RAIL : 0;
  layMap(wall);
  const tile = tileSize(wall), width = wall.rail + wall.heads * (tile + GAP) - GAP + 4;
  const height = wall.layers * (tile + LABEL + GAP);
  const ratio = Math.min(window.devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (width * height)));
  if (!wall.fresh && tile === wall.tile && ratio === wall.ratio) { paintMap(wall); frameWindow(wall); return; }
  wall.fresh = false;
  wall.tile = tile;
  wall.stage.style.width = `${width}px`;
  wall.stage.style.height = `${height}px`;
  wall.buttons.forEach((button, head) => {
    const [x, y] = corner(wall, head);
    Object.assign(button.style,
      { left: `${x}px`, top: `${y - LABEL}px`, width: `${tile}px`, height: `${tile + LABEL}px` });
  });
  for (const canvas of [wall.canvas, wall.overlay]) {
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    resize(canvas, Math.round(width * ratio), Math.round(height * ratio));
  }
  wall.ratio = ratio;
  layRail(wall);
  paint(wall);
  paintMap(wall);
  mark(wall);
  if (wall.map && wall.revealed !== wall.selected) bringIntoSight(wall, wall.selected, false);
  wall.revealed = wall.selected;
  frameWindow(wall);
}

// The layers' numbers, which stay in sight while the wall scrolls sideways.
function layRail(wall) {
  while (wall.rails.children.length > (wall.map ? wall.layers : 0)) wall.rails.lastChild.remove();
  if (!wall.map) return;
  while (wall.rails.children.length < wall.layers)
    wall.rails.append(element("span", "", String(wall.rails.children.length)));
  [...wall.rails.children]
    .forEach((node, layer) => place(node, 0, corner(wall, layer * wall.heads)[1], RAIL - 4, wall.tile));
}

// All tiles in one image: each device pixel takes the cell it lies in, or the largest of several, and the masked part
// a faint hatch.
function paint(wall) {
  const { canvas, ratio, tile } = wall;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const { packed, table } = readTheme(), inks = { scale: table("seq"), hatch: packed("grid"), page: packed("page") };
  const size = Math.round(tile * ratio);
  for (let head = 0; head < wall.layers * wall.heads; head++) {
    const [x, y] = corner(wall, head).map((v) => Math.round(v * ratio));
    paintTile(pixels, canvas.width, x, y, size, fit(levels(wall, head), wall.side, size), inks, Math.round(5 * ratio));
  }
  context.putImageData(image, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  for (let head = 0; head < wall.layers * wall.heads; head++) writeLabel(wall, context, head);
  context.setTransform(1, 0, 0, 1, 0, 0);
}

// "3.5" and, where there is room, what the reader changed or what the head does. On the canvas, so that a saved
// picture has it too.
function writeLabel(wall, context, head) {
  const { ink } = readTheme();
  const [x, y] = corner(wall, head), chosen = head === wall.selected, changed = wall.badges[head];
  context.textBaseline = "alphabetic";
  context.font = `${chosen ? "700 " : ""}11px ${ink("mono")}`;
  context.fillStyle = ink("text");
  context.fillText(name(wall, head), x, y - 4);
  const after = context.measureText(name(wall, head)).width + 4, word = changed || wall.roles[head] || "";
  context.font = `${changed ? "700 " : ""}11px ${ink("font")}`;
  if (!changed) context.fillStyle = ink("muted");
  if (after + context.measureText(word).width <= wall.tile) context.fillText(word, x + after, y - 4);
}

// A grid larger than its tile has pixels, brought down to them by taking the largest of the cells that share one.
function fit(grid, side, size) {
  if (side <= size) return { grid, side };
  const out = new Int16Array(size * size).fill(-1);
  for (let i = 0; i < side; i++)
    for (let j = 0; j < side; j++) {
      const at = Math.floor((i * size) / side) * size + Math.floor((j * size) / side);
      out[at] = Math.max(out[at], grid[i * side + j]);
    }
  return { grid: out, side: size };
}

function paintTile(pixels, stride, x0, y0, size, { grid, side }, { scale, hatch, page }, period) {
  for (let y = 0; y < size; y++) {
    const row = Math.floor((y * side) / size) * side, at = (y0 + y) * stride + x0;
    for (let x = 0; x < size; x++) {
      const level = grid[row + Math.floor((x * side) / size)];
      pixels[at + x] = level >= 0 ? scale[level] : (x + y) % period === 0 ? hatch : page;
    }
  }
}

// Over the tiles: the picked query's row as a notch in each, and the cell under the pointer in all of them at once.
function mark(wall) {
  const context = wall.overlay.getContext("2d"), { ink } = readTheme();
  context.setTransform(wall.ratio, 0, 0, wall.ratio, 0, 0);
  context.clearRect(0, 0, wall.overlay.width, wall.overlay.height);
  const unit = wall.tile / wall.n;
  for (let head = 0; head < wall.layers * wall.heads; head++) {
    const [x, y] = corner(wall, head);
    if (wall.query !== null) {
      context.fillStyle = ink("query");
      context.fillRect(x - 3, y + wall.query * unit, 3, Math.max(2, unit));
    }
    if (wall.crossed[head]) crossOut(context, x, y, wall.tile, ink);
    if (wall.pointer) crosshair(context, x, y, unit, wall, ink);
  }
  markOnMap(wall);
}

function crossOut(context, x, y, tile, ink) {
  context.fillStyle = ink("page");
  context.globalAlpha = 0.7;
  context.fillRect(x, y, tile, tile);
  context.globalAlpha = 1;
  context.strokeStyle = ink("text");
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [from, to] of [[0, tile], [tile, 0]]) { context.moveTo(x + from, y); context.lineTo(x + to, y + tile); }
  context.stroke();
}

function crosshair(context, x, y, unit, { pointer, tile }, ink) {
  const centre = (place) => (place + 0.5) * unit;
  context.globalAlpha = 0.6;
  context.fillStyle = ink("query-ink");
  context.fillRect(x, y + centre(pointer.query) - 0.5, tile, 1);
  context.fillStyle = ink("key-ink");
  context.fillRect(x + centre(pointer.key) - 0.5, y, 1, tile);
  context.globalAlpha = 1;
}

// ---- reading, picking, moving ----

function locate(wall, event) {
  const box = wall.stage.getBoundingClientRect();
  const px = event.clientX - box.left - 2 - wall.rail, py = event.clientY - box.top - LABEL;
  const column = Math.floor(px / (wall.tile + GAP)), row = Math.floor(py / (wall.tile + LABEL + GAP));
  const x = px - column * (wall.tile + GAP), y = py - row * (wall.tile + LABEL + GAP);
  if (column < 0 || row < 0 || column >= wall.heads || row >= wall.layers || x < 0 || y < 0
      || x >= wall.tile || y >= wall.tile)
    return null;
  const head = row * wall.heads + column;
  return { head, query: Math.floor((y / wall.tile) * wall.n), key: Math.floor((x / wall.tile) * wall.n) };
}

function point(wall, event) {
  wall.pointer = locate(wall, event);
  mark(wall);
  if (!wall.pointer) { wall.tip.hidden = true; return; }
  if (valueAt(wall, wall.pointer.head, 0, 0) === undefined) askFor(wall, wall.pointer.head);
  showReading(wall);
}

// The full values of a head that the pointer rests on, where the tiles are summaries.
function askFor(wall, head) {
  clearTimeout(wall.asking);
  wall.asking = setTimeout(() => wall.pointer?.head === head && wall.send("read", head), 80);
}

function forget(wall) {
  wall.pointer = null;
  wall.tip.hidden = true;
  if (wall.first) mark(wall);
}

function showReading(wall) {
  const { head, query, key } = wall.pointer;
  const value = valueAt(wall, head, query, key);
  const amount = value === undefined ? wall.text.waiting : Number.isNaN(value) ? wall.text.masked : exact(value);
  const note = `${query} → ${key}   ${wall.notes[head] || ""}`;
  tell(wall, head, reading(name(wall, head), wall.tokens[query], wall.tokens[key], amount, note));
}

function announce(wall, head) {
  tell(wall, head, [element("b", "", name(wall, head)), element("small", "", ` ${wall.notes[head] || ""}`)]);
}

function tell(wall, head, content) {
  const [x, y] = corner(wall, head), { scroll, stage } = wall;
  const left = stage.offsetLeft + x + wall.tile / 2 - scroll.scrollLeft;
  const top = scroll.offsetTop + y - LABEL - scroll.scrollTop;
  showTip(wall.tip, content, left, top, LABEL + wall.tile + 6);
}

// An opened head is marked at once; the wall itself hears of it when the hand rests.
function pick(wall, head) {
  if (wall.opens) {
    Object.assign(wall, { selected: head, asked: true, fresh: true });
    describe(wall);
    layOut(wall);
    rest(wall);
  }
  wall.send("picked", head);
}

function step(wall, event) {
  const at = wall.buttons.indexOf(wall.root.getRootNode().activeElement), to = neighbour(wall, at, event.key);
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  if (to === at) return;
  wall.buttons[at].tabIndex = -1;
  wall.buttons[to].tabIndex = 0;
  if (wall.map) bringIntoSight(wall, to, false);
  wall.buttons[to].focus();
}

