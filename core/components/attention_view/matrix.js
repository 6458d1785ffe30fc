// The matrix: queries are rows, top down; keys are columns. Drag a rectangle to zoom in; double click or Escape shows
// all again.
import { sharpen, screenRatio, stroke, write } from "../lib/canvas.js";
import { exact } from "../lib/numbers.js";
import { isStep, stepped } from "../lib/keys.js";
import { paintCells, reading, showTip } from "../lib/pattern.js";
import { abridged } from "../lib/text.js";
import { readTheme } from "../lib/theme.js";
import { drawThreads } from "./lines.js";

// most letters of a label; height of its line in pixels; least height of a cell in which the label's outline fits
const LETTERS = 11, LINE = 12, CHIP_FROM = 17;
const OVERHANG = 34;      // px right of the cells, for the slanted labels, or as many as the last ones reach out
const LARGEST = 44;       // px, of a cell
const FLAT = 2.2;         // largest ratio of a cell's width to its height on a projector, whose matrix fills its width
const LINES = 0.42;       // share of the width for the lines beside it

export function wireMatrix(view) {
  const { cells } = view;
  cells.onpointermove = (event) => hover(view, event);
  cells.onpointerleave = () => { if (!view.drag) aim(view, null); };
  cells.onpointerdown = (event) => startDrag(view, event);
  cells.onpointerup = (event) => endDrag(view, event);
  cells.ondblclick = () => zoom(view, [0, view.n, 0, view.n]);
  cells.onkeydown = (event) => press(view, event);
  cells.onblur = () => aim(view, null);
}

export function layOutMatrix(view) {
  const context = view.cells.getContext("2d"), [top, bottom, start, end] = view.window;
  const rows = bottom - top, columns = end - start, present = view.type > LINE;
  view.letter = view.letterFor((view.room - 5 * view.type) / rows);
  context.font = `${view.letter}px ${readTheme().ink("mono")}`;
  const widest = (from, to) => Math.max(0,
    ...view.tokens.slice(from, to).map((token) => context.measureText(abridged(token, LETTERS)).width));
  view.left = Math.ceil(widest(top, bottom)) + 28;
  view.above = Math.ceil(widest(start, end) * 0.87) + 26;
  const width = view.width * (view.both ? 1 - LINES : 1);
  const low = Math.min(Math.max(view.room - view.above, 120) / rows, LARGEST);
  const fitting = (overhang) => Math.min((width - view.left - overhang) / columns, low * (present ? FLAT : 1));
  const reach = (j) => widest(j, j + 1) / 2 + view.type - (end - j - 0.5) * fitting(OVERHANG);
  const overhang = Math.ceil(Math.max(OVERHANG, ...Array.from({ length: columns }, (_, k) => reach(start + k))));
  view.cell = fitting(overhang);
  view.tall = present ? low : view.cell;
  view.across = view.left + view.cell * columns + overhang;
  view.down = view.above + view.tall * rows + 2;
  Object.assign(view.matrix.style, { width: `${view.across}px`, height: `${view.down}px` });
  paintMatrix(view);
  drawOverlay(view);
}

function paintMatrix(view) {
  const { cells, cell, tall, left, above, signed, window: [top, bottom, start, end] } = view;
  const { ink, table } = readTheme();
  const context = sharpen(cells, view.across, view.down), ratio = screenRatio();
  const pixels = (size) => Math.max(1, Math.round(size * ratio));
  const image = context.createImageData(pixels(cell * (end - start)), pixels(tall * (bottom - top)));
  paintCells(image, [[[0, 0, image.width, image.height], levelsOf(view)]], table(signed ? "div" : "seq"),
    Math.round(6 * ratio));
  context.putImageData(image, Math.round(left * ratio), Math.round(above * ratio));
  stroke(context, ink("grid"));
  context.strokeRect(left, above, cell * (end - start), tall * (bottom - top));
  drawLabels(view, context);
}

// The window's cells on the colour scale: the square root of a weight, or a score against the largest one, zero in the
// middle.
function levelsOf(view) {
  const [top, bottom, start, end] = view.window, { signed, reach } = view, rows = bottom - top, columns = end - start;
  const level = (value) => Math.round(signed ? 127.5 + 127.5 * (value / (reach || 1)) : 255 * Math.sqrt(value));
  const levels = Int16Array.from({ length: rows * columns }, (_, k) => {
    const value = view.valueOf(top + Math.floor(k / columns), start + (k % columns));
    return Number.isNaN(value) ? -1 : level(value);
  });
  return { levels, rows, columns, zero: signed ? 127.5 : 0 };
}

// The labels to draw: always that of the picked query or key, and as many others as do not overlap.
function labelled(from, to, cell, line, picked) {
  const step = Math.max(1, Math.ceil(line / cell)), places = [];
  for (let i = from; i < to; i += step)
    if (picked === null || i === picked || Math.abs(i - picked) * cell >= line) places.push(i);
  if (picked !== null && picked >= from && picked < to && !places.includes(picked)) places.push(picked);
  return places;
}

function drawLabels(view, context) {
  const { ink } = readTheme(), { cell, tall, left, above, window: [top, bottom, start, end], type, letter } = view;
  const { query, key } = view.cursor ?? view, line = LINE * (letter / 12);
  for (const i of labelled(top, bottom, tall, line, query))
    drawToken(view, context, i, left - 9, above + (i - top + 0.5) * tall, "right", i === query && ink("query-ink"));
  const slanted = (x, y, angle, draw) => {
    context.save();
    context.translate(x, y);
    context.rotate(angle);
    draw();
    context.restore();
  };
  for (const j of labelled(start, end, cell, line, key))
    slanted(left + (j - start + 0.5) * cell, above - 7, -Math.PI / 3,
      () => drawToken(view, context, j, 2, 0, "left", j === key && ink("key-ink")));
  const font = `${type}px ${ink("font")}`;
  write(context, view.text.key_axis, left, 8, ink("key-ink"), "left", { font });
  slanted(8, above + 2, Math.PI / 2,
    () => write(context, view.text.query_axis, 0, 0, ink("query-ink"), "left", { font }));
}

// A token with its end ("right") or its start ("left") at x, bold in `tone` if it is picked, and in the outline of a
// chip if there is room for it.
function drawToken(view, context, token, x, y, side, tone) {
  const { ink } = readTheme(), { letter } = view, text = abridged(view.tokens[token], LETTERS), half = letter * 0.66;
  write(context, text, x, y, tone || ink("text"), side, { font: `${tone ? "700 " : ""}${letter}px ${ink("mono")}` });
  if (view.tall < CHIP_FROM * (letter / 12)) return;
  const { width } = context.measureText(text);
  stroke(context, ink("grid"));
  context.beginPath();
  context.roundRect(x - (side === "right" ? width : 0) - 3.5, y - half, width + 7, 2 * half, 3);
  context.stroke();
}

// ---- the cursor and the picked cell ----

function drawOverlay(view) {
  const { cell, tall, left, above, window: [top, bottom, start, end] } = view, { ink } = readTheme();
  const context = sharpen(view.overlay, view.across, view.down);
  const box = (query, key) => [left + (key - start) * cell, above + (query - top) * tall];
  const inside = (place) => place.query >= top && place.query < bottom && place.key >= start && place.key < end;
  // in cells too fine for a frame, mark the middle
  const fine = tall < 4, [wide, high] = fine ? [0, 0] : [cell, tall], rim = fine ? 2 : 0;
  const frame = (place, thickness) => {
    const [x, y] = box(place.query, place.key);
    stroke(context, ink("query-ink"), thickness);
    context.strokeRect(left, y + (tall - high) / 2, cell * (end - start), high);
    stroke(context, ink("key-ink"), thickness);
    context.strokeRect(x + (cell - wide) / 2, above, wide, tall * (bottom - top));
    stroke(context, ink("text"), thickness + 1);
    context.strokeRect(x - rim, y - rim, cell + 2 * rim, tall + 2 * rim);
  };
  if (view.query !== null && inside(view)) frame(view, 1);
  if (view.guess) drawGuess(context, view, box, inside);
  if (view.cursor && inside(view.cursor)) frame(view.cursor, 1.5);
  if (view.drag?.to) drawDrag(context, view, box, ink("text"));
}

// The reader's guess: a dashed frame with its name above it.
function drawGuess(context, view, box, inside) {
  const [query, key] = view.guess, { ink } = readTheme(), rim = 2;
  if (!inside({ query, key })) return;
  const [x, y] = box(query, key), font = `700 ${view.type}px ${ink("font")}`;
  stroke(context, ink("accent-ink"), 2, [4, 3]);
  context.strokeRect(x - rim, y - rim, view.cell + 2 * rim, view.tall + 2 * rim);
  write(context, view.text.guess, x + view.cell / 2, y - rim - 0.6 * view.type, ink("accent-ink"), "center",
    { font, halo: ink("page") });
}

function drawDrag(context, view, box, colour) {
  const [top, bottom, start, end] = rectangle(view.drag), [x, y] = box(top, start), [right, low] = box(bottom, end);
  stroke(context, colour, 2, [5, 3]);
  context.strokeRect(x, y, right - x, low - y);
}

function cellAt(view, event) {
  const box = view.cells.getBoundingClientRect(), [top, bottom, start, end] = view.window;
  const query = top + Math.floor((event.clientY - box.top - view.above) / view.tall);
  const key = start + Math.floor((event.clientX - box.left - view.left) / view.cell);
  return query >= top && query < bottom && key >= start && key < end ? { query, key } : null;
}

function hover(view, event) {
  const cell = cellAt(view, event);
  const { drag } = view;
  if (drag && cell) drag.to = cell.query !== drag.from.query && cell.key !== drag.from.key ? cell : null;
  aim(view, cell);
}

// Move the cursor to a cell (null: away); the labels are redrawn only if it has moved.
function aim(view, cell) {
  if (view.alone === "lines") return;
  const same = cell?.query === view.cursor?.query && cell?.key === view.cursor?.key;
  view.cursor = cell;
  if (!same) relabel(view);
  drawOverlay(view);
  if (view.both && !same) drawThreads(view, cell?.query ?? view.query);
  if (!cell) { view.tip.hidden = true; return; }
  const value = view.valueOf(cell.query, cell.key), amount = Number.isNaN(value) ? view.text.masked : exact(value);
  const [top, , start] = view.window, query = view.tokens[cell.query], key = view.tokens[cell.key];
  const x = view.matrix.offsetLeft + view.left + (cell.key - start + 0.5) * view.cell;
  const y = view.matrix.offsetTop + view.above + (cell.query - top) * view.tall;
  showTip(view.tip, reading(view.label, query, key, amount, `${cell.query} → ${cell.key}`), x, y - 6, view.tall + 16);
  view.spoken.textContent = `${query} → ${key} ${amount}`;
}

// Clear and redraw only the two margins; the cells stay.
function relabel(view) {
  const context = view.cells.getContext("2d");
  context.clearRect(0, 0, view.across, view.above - 1);
  context.clearRect(0, 0, view.left - 1, view.down);
  drawLabels(view, context);
}

function startDrag(view, event) {
  view.pressed = cellAt(view, event);
  if (!view.pressed || event.pointerType === "touch") return;
  view.drag = { from: view.pressed, to: null };
  view.cells.setPointerCapture(event.pointerId);
}

function endDrag(view, event) {
  const { drag, pressed } = view, cell = cellAt(view, event);
  view.drag = view.pressed = null;
  if (drag?.to) zoom(view, rectangle(drag));
  else if (cell && pressed && cell.query === pressed.query && cell.key === pressed.key)
    view.trigger("picked", [cell.query, cell.key]);
}

function rectangle({ from, to }) {
  return [Math.min(from.query, to.query), Math.max(from.query, to.query) + 1, Math.min(from.key, to.key),
    Math.max(from.key, to.key) + 1];
}

function zoom(view, window) {
  view.window = window;
  view.cursor = null;
  view.tip.hidden = true;
  layOutMatrix(view);
}

function press(view, event) {
  const cell = view.cursor ?? { query: view.query ?? 0, key: view.key ?? 0 }, [top, bottom, start, end] = view.window;
  if (event.key === "Escape") zoom(view, [0, view.n, 0, view.n]);
  else if (event.key === "Enter") view.trigger("picked", [cell.query, cell.key]);
  else if (isStep(event.key)) {
    const [key, query] = stepped(event.key, [cell.key - start, cell.query - top], end - start, bottom - top);
    aim(view, { query: top + query, key: start + key });
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
