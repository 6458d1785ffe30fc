// The wall: every head's pattern as a tile of one canvas; a button over each tile makes it reachable by keyboard and
// screen reader.
import { alike, unpack } from "../lib/bytes.js";
import { line, screenRatio, sharpen, stroke, write } from "../lib/canvas.js";
import { button, make } from "../lib/dom.js";
import { buildHand } from "../lib/hand.js";
import { exact } from "../lib/numbers.js";
import { cellsOf, paintCells, reading, rowOffsets, showTip, valueIn } from "../lib/pattern.js";
import { pageScale, readTheme } from "../lib/theme.js";
import { fitHeight, keepFitted, mount, View } from "../lib/view.js";
import {
  above, beside, bringIntoSight, corner, GAP, labelHeight, labelWidth, name, neighbour, noteOf, place,
} from "./tiles.js";

const RAIL = 26;
const TYPE = 11, LEAST_TYPE = 9;        // px of a head's name, and the least px of the word beside it
const MAPPED_TILE = 64;         // px, at most, of a tile on a wall with a map
const MOST_PIXELS = 12e6;      // of a canvas; some browsers draw none that is larger

/** @import { Hand } from "../lib/hand.js" */
/** @typedef {{ n: number, side: number, whole: boolean, digest: number, measured: string[], note: string,
 *   roles: string[], badges: string[], crossed: number[], first: Uint16Array, last: Uint16Array,
 *   values: Float32Array | Uint8Array, measures: Float32Array, exact_heads?: number[], exact_first?: Uint16Array,
 *   exact_last?: Uint16Array, exact_values?: Float32Array }} Answer  to a hand; exact_…: single heads, if not whole */
/** @typedef {{ labels: string[], ends: number[], rooted: boolean[], shown: string, picks: boolean }} HeadMap */
/** @typedef {Answer & { layers: number, heads: number, selected: number, text: Record<string, string>,
 *   heading: string, tokens: string[], query: number | null, hand: Hand | null, opens: boolean, map: HeadMap | null,
 *   height: number, most: number, least: number, theme: string }} Message */
/** @typedef {Record<"title" | "scale" | "scroll" | "stage" | "cells" | "rails" | "canvas" | "overlay" | "tip",
 *   HTMLElement> & { buttons: HTMLButtonElement[], known: Map<number, Float32Array>, offset: Uint32Array,
 *   fresh: boolean, summary?: object, pointer?: { head: number, query: number, key: number } }} Fields */

/** @extends {View<Message & Fields>} */
class Wall extends View {
  constructor(root) {
    super(root);
    const part = (name) => root.querySelector(name);
    Object.assign(this, { title: part(".title"), scale: part(".scale"), scroll: part(".scroll"),
      stage: part(".stage"), cells: part(".cells"), rails: part(".rail"), canvas: part("canvas.tiles"),
      overlay: part("canvas.overlay"), tip: part(".tip"), buttons: [], known: new Map() });
    this.handle = buildHand(part(".hand"), (bytes) => this.take(unpack(bytes)),
      (factor) => this.trigger("moved", factor), () => ({ exact_heads: [this.selected] }));
    this.stage.onpointermove = (event) => point(this, event);
    this.stage.onpointerleave = () => this.forget();
    this.cells.onkeydown = (event) => step(this, event);
    keepFitted(this.scroll, () => this.first && layOut(this));
  }

  /** @param {Message} header */
  receive(header) {
    this.latest = header;
    if (header.map && !this.summary) this.addMap();
    else if (this.handle.receive(header.hand)) this.take(header);
  }

  /** Draw once the map is there, which most walls need not load. */
  async addMap() {
    // without its map a wall is still worth seeing
    const part = await import("./heads_map.js").catch(() => null);
    if (part && !this.summary) part.buildMap(this);
    this.receive(part ? this.latest : { ...this.latest, map: null });
  }

  /** @param {Answer} header */
  take(header) {
    if (this.digest !== header.digest) this.known.clear();
    const fresh = this.fresh || !alike(this, header, "hand");
    Object.assign(this, header, { fresh, offset: rowOffsets(header.first, header.last) });
    this.keepExact();
    describe(this);
    this.describeMap();
    layOut(this);
    const { head, query, key } = this.pointer ?? {};
    // the new text may be shorter, the new model smaller
    if (Math.max(query, key) >= this.n || head >= this.buttons.length) this.forget();
    else if (this.pointer) showReading(this);
  }

  /** Keep the exact values of single heads, sent if the tiles are summaries, until the patterns change. */
  keepExact() {
    if (this.whole) return;
    const { exact_heads: heads, exact_first: first, exact_last: last, exact_values: values } = this;
    const size = values.length / heads.length;
    heads.forEach((head, i) => this.known.set(head, values.slice(i * size, (i + 1) * size)));
    this.exactRows = { first, last, offset: rowOffsets(first, last) };
  }

  /** The exact value of a cell: NaN where masked, undefined until it has arrived. */
  valueOf(head, query, key) {
    if (this.whole) return valueIn(this, this.values.subarray(head * this.offset[this.n]), query, key);
    const known = this.known.get(head);
    return known && valueIn(this.exactRows, known, query, key);
  }

  /** Pick a head; if it opens, mark it at once. */
  pick(head) {
    if (this.opens) {
      Object.assign(this, { selected: head, fresh: true });
      describe(this);
      layOut(this);
    }
    this.trigger("picked", head);
  }

  forget() {
    this.pointer = null;
    this.tip.hidden = true;
    if (this.first) mark(this);
  }

  // replaced by `buildMap`
  describeMap() {}
  layMap() {}
  paintMap() {}
  markOnMap() {}

  /** A head's name and the note about it, for the tip. */
  words(head, note) {
    return [make("b", "", null, name(this, head)), make("small", "", null, ` ${note}`)];
  }
}

export default (component) => mount(component, Wall);

// ---- layout and drawing ----

function describe(wall) {
  wall.title.textContent = wall.heading;
  wall.scale.ariaLabel = wall.text.scale;
  wall.cells.ariaLabel = wall.heading;
  const count = wall.layers * wall.heads;
  while (wall.buttons.length > count) wall.buttons.pop().remove();
  while (wall.buttons.length < count) addButton(wall, wall.buttons.length);
  wall.buttons.forEach((node, head) => {
    const selected = head === wall.selected;
    node.className = selected ? "head selected" : "head";
    node.ariaLabel = `${name(wall, head)} ${wall.badges[head] || wall.roles[head] || ""} ${noteOf(wall, head)}`;
    node.ariaPressed = selected;
    node.tabIndex = selected ? 0 : -1;
  });
}

function addButton(wall, head) {
  const node = button(wall.cells, "", "", () => wall.pick(head));
  node.onfocus = () => { if (node.matches(":focus-visible")) tell(wall, head, wall.words(head, noteOf(wall, head))); };
  node.onblur = () => wall.forget();
  wall.buttons.push(node);
}

// Tiles are as large as the width and the wanted height allow; below the least size the wall scrolls inside itself. A
// wall with a map always scrolls. On a wide projector, which has tall names, names stand beside their tiles if that
// makes the tiles larger.
function tileSize(wall) {
  const across = (wall.scroll.clientWidth - wall.rail - GAP * (wall.heads - 1) - 4) / wall.heads;
  wall.aside = false;
  if (wall.map) return Math.max(wall.least, Math.min(Math.floor(across), MAPPED_TILE));
  const row = fitHeight(wall.scroll, wall.height, wall.most) / wall.layers - GAP;
  const stacked = Math.min(across, Math.max(row - labelHeight(), wall.least));
  const aside = Math.min(across - labelWidth(), row - 2);
  wall.aside = pageScale() > 1 && aside > stacked;
  return Math.max(wall.least, Math.floor(wall.aside ? aside : stacked));
}

function layOut(wall) {
  if (!wall.scroll.clientWidth) return;
  wall.rail = wall.map ? RAIL : 0;
  wall.layMap();
  const { aside } = wall, tile = tileSize(wall), width = wall.rail + wall.heads * (tile + beside(wall) + GAP) - GAP + 4;
  const height = wall.layers * (tile + above(wall) + GAP);
  wall.root.classList.toggle("aside", wall.aside);
  const ratio = Math.min(screenRatio(), Math.sqrt(MOST_PIXELS / (width * height)));
  if (wall.fresh || tile !== wall.tile || ratio !== wall.ratio || aside !== wall.aside) {
    Object.assign(wall, { fresh: false, tile, ratio, width, tall: height });
    place(wall.stage, 0, 0, width, height);
    wall.buttons.forEach((node, head) => {
      const [x, y] = corner(wall, head);
      place(node, x - beside(wall), y - above(wall), tile + beside(wall), tile + above(wall));
    });
    layRail(wall);
    paint(wall);
    mark(wall);
    if (wall.map && wall.revealed !== wall.selected) bringIntoSight(wall, wall.selected, false);
    wall.revealed = wall.selected;
  }
  wall.paintMap();
}

// The numbers of the layers, which stay in sight while the wall scrolls sideways.
function layRail(wall) {
  wall.rails.replaceChildren(...Array.from({ length: wall.map ? wall.layers : 0 }, (_, layer) =>
    place(make("span", "", null, String(layer)), 0, corner(wall, layer * wall.heads)[1], RAIL - 4, wall.tile)));
}

// All tiles in one image.
function paint(wall) {
  const { canvas, ratio, values } = wall, { table } = readTheme(), size = Math.round(wall.tile * ratio);
  const context = sharpen(canvas, wall.width, wall.tall, ratio);
  const image = context.createImageData(canvas.width, canvas.height);
  paintCells(image, wall.buttons.map((_, head) =>
    [[...corner(wall, head).map((value) => Math.round(value * ratio)), size, size], cellsOf(wall, values, head)]),
  table("seq"), Math.round(5 * ratio));
  context.putImageData(image, 0, 0);
  writeLabels(wall, context);
}

// "3.5" and, if there is room, the reader's change or the head's role. On the canvas, so that a saved picture has them
// as well. First all names, then all words, since changing the font is slow.
function writeLabels(wall, context) {
  const { buttons, selected, badges, roles, tile } = wall, { ink } = readTheme();
  // above the tile from its left edge, or beside it, ending at that edge, with the word below the name
  const label = (text, head, after, meaning, line = 1) => {
    const [x, y] = corner(wall, head);
    if (wall.aside) write(context, text, x - 7, y + line * TYPE * 1.2 * pageScale(), ink(meaning), "right",
      { baseline: "alphabetic" });
    else write(context, text, x + after, y - 4, ink(meaning), "left", { baseline: "alphabetic" });
  };
  const inFont = (bold, family, size = TYPE) => {
    context.font = `${bold ? "700 " : ""}${size * pageScale()}px ${ink(family)}`;
  };
  const ends = buttons.map((_, head) => {
    inFont(head === selected, "mono");
    label(name(wall, head), head, 0, "text");
    return context.measureText(name(wall, head)).width + 4;
  });
  ends.forEach((end, head) => {
    const changed = badges[head], word = changed || roles[head];
    if (!word) return;
    inFont(changed, "font");
    const room = wall.aside ? labelWidth() - 9 : tile + 2 - end;
    const size = Math.min(TYPE, (TYPE * room) / context.measureText(word).width);
    if (size < LEAST_TYPE) return;
    if (size < TYPE) inFont(changed, "font", size);
    label(word, head, end, changed ? "text" : "muted", 2);
  });
}

// Mark on the tiles the picked query's row, as a notch in each, and the cell under the pointer, in all of them at once.
function mark(wall) {
  const { tile, pointer, query, layers, heads } = wall, { ink } = readTheme(), unit = tile / wall.n;
  const context = sharpen(wall.overlay, wall.width, wall.tall, wall.ratio);
  for (let head = 0; head < layers * heads; head++) {
    const [x, y] = corner(wall, head), centre = (index) => (index + 0.5) * unit;
    if (query !== null) {
      context.fillStyle = ink("query");
      context.fillRect(x - 3, y + query * unit, 3, Math.max(2, unit));
    }
    if (wall.crossed[head]) crossOut(context, x, y, tile, ink);
    if (!pointer) continue;
    context.globalAlpha = 0.6;
    context.fillStyle = ink("query-ink");
    context.fillRect(x, y + centre(pointer.query) - 0.5, tile, 1);
    context.fillStyle = ink("key-ink");
    context.fillRect(x + centre(pointer.key) - 0.5, y, 1, tile);
    context.globalAlpha = 1;
  }
  wall.markOnMap();
}

function crossOut(context, x, y, tile, ink) {
  context.fillStyle = ink("page");
  context.globalAlpha = 0.7;
  context.fillRect(x, y, tile, tile);
  context.globalAlpha = 1;
  stroke(context, ink("text"), 1.5);
  line(context, x, y, x + tile, y + tile);
  line(context, x + tile, y, x, y + tile);
}

// ---- reading, picking, moving ----

function locate(wall, event) {
  const box = wall.stage.getBoundingClientRect();
  const [left, top] = corner(wall, 0), px = event.clientX - box.left - left, py = event.clientY - box.top - top;
  const wide = wall.tile + beside(wall) + GAP, high = wall.tile + above(wall) + GAP;
  const column = Math.floor(px / wide), row = Math.floor(py / high), x = px - column * wide, y = py - row * high;
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
  if (wall.valueOf(wall.pointer.head, 0, 0) === undefined) askFor(wall, wall.pointer.head);
  showReading(wall);
}

// Ask for the full values of a head on which the pointer rests, if the tiles are summaries.
function askFor(wall, head) {
  clearTimeout(wall.asking);
  wall.asking = setTimeout(() => wall.pointer?.head === head && wall.trigger("read", head), 80);
}

function showReading(wall) {
  const { head, query, key } = wall.pointer;
  const value = wall.valueOf(head, query, key);
  const amount = value === undefined ? wall.text.waiting : Number.isNaN(value) ? wall.text.masked : exact(value);
  const note = `${query} → ${key}   ${noteOf(wall, head)}`;
  tell(wall, head, reading(name(wall, head), wall.tokens[query], wall.tokens[key], amount, note));
}

function tell(wall, head, content) {
  const [x, y] = corner(wall, head), { scroll, stage } = wall;
  const left = stage.offsetLeft + x + wall.tile / 2 - scroll.scrollLeft;
  const top = scroll.offsetTop + y - above(wall) - scroll.scrollTop;
  showTip(wall.tip, content, left, top, above(wall) + wall.tile + 6);
}

function step(wall, event) {
  const from = wall.buttons.indexOf(wall.root.getRootNode().activeElement), to = neighbour(wall, from, event.key);
  if (from < 0 || to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  if (to === from) return;
  wall.buttons[from].tabIndex = -1;
  wall.buttons[to].tabIndex = 0;
  if (wall.map) bringIntoSight(wall, to, false);
  wall.buttons[to].focus();
}

