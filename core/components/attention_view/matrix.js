// The matrix: queries are rows, top down; keys are columns. Drag a rectangle to come nearer, double click or Escape to
// see all again.
import { reading, showTip } from "../lib/pattern.js";
import { readTheme } from "../lib/theme.js";
import { inks, levelOf, shorten, shown, valueOf } from "./cells.js";

// letters of a label; pixels it needs; pixels of a cell from which its outline fits
const LETTERS = 11, LINE = 12, CHIP_FROM = 17;

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
  const ratio = window.devicePixelRatio || 1, context = view.cells.getContext("2d");
  const [top, bottom, start, end] = view.window, size = view.type;
  context.font = `${size}px ${inks().mono}`;
  const widest = (from, to) =>
    view.tokens.slice(from, to).reduce((w, t) => Math.max(w, context.measureText(shorten(t, LETTERS)).width), 0);
  view.left = Math.ceil(widest(top, bottom)) + 28;
  view.above = Math.ceil(widest(start, end) * 0.87) + 26;
  const overhang = 34, width = view.root.clientWidth - view.left - overhang;
  view.cell = Math.min(width / (end - start), Math.max(view.room - view.above, 120) / (bottom - top), 44);
  const across = view.left + view.cell * (end - start) + overhang, down = view.above + view.cell * (bottom - top) + 2;
  for (const canvas of [view.cells, view.overlay]) {
    Object.assign(canvas.style, { width: `${across}px`, height: `${down}px` });
    [canvas.width, canvas.height] = [Math.round(across * ratio), Math.round(down * ratio)];
  }
  Object.assign(view.matrix.style, { width: `${across}px`, height: `${down}px` });
  view.ratio = ratio;
  paintMatrix(view);
  drawOverlay(view);
}

// Each device pixel takes the cell it lies in, or the largest of several; the masked part is empty with a faint hatch.
function paintMatrix(view) {
  const { cells, ratio, cell, window: [top, bottom, start, end] } = view, context = cells.getContext("2d");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, cells.width, cells.height);
  const across = Math.max(1, Math.round(cell * (end - start) * ratio));
  const down = Math.max(1, Math.round(cell * (bottom - top) * ratio));
  const image = context.createImageData(across, down), pixels = new Uint32Array(image.data.buffer);
  const theme = readTheme(), scale = theme.table(view.signed ? "div" : "seq");
  const hatch = theme.packed("grid"), page = theme.packed("page");
  const period = Math.round(6 * ratio);
  const levels = gridOfLevels(view, down, across);
  const columns = Uint32Array.from({ length: across }, (_, x) => Math.floor((x * levels.across) / across));
  for (let y = 0; y < down; y++) {
    const row = Math.floor((y * levels.down) / down) * levels.across;
    for (let x = 0; x < across; x++) {
      const level = levels.grid[row + columns[x]];
      pixels[y * across + x] = level >= 0 ? scale[level] : (x + y) % period === 0 ? hatch : page;
    }
  }
  context.putImageData(image, Math.round(view.left * ratio), Math.round(view.above * ratio));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.strokeStyle = inks().grid;
  context.strokeRect(view.left, view.above, cell * (end - start), cell * (bottom - top));
  drawLabels(view, context);
}

// The window's cells as levels; where there are more cells than pixels, those that share a pixel by the value
// of largest size.
function gridOfLevels(view, pixelsDown, pixelsAcross) {
  const [top, bottom, start, end] = view.window, down = Math.min(bottom - top, pixelsDown);
  const across = Math.min(end - start, pixelsAcross);
  const strongest = new Float32Array(down * across).fill(NaN);
  for (let i = top; i < bottom; i++) {
    const row = Math.floor(((i - top) * down) / (bottom - top)) * across;
    for (let j = Math.max(start, view.first[i]); j < end && j <= view.last[i]; j++) {
      const at = row + Math.floor(((j - start) * across) / (end - start)), value = valueOf(view, i, j);
      if (Number.isNaN(strongest[at]) || Math.abs(value) > Math.abs(strongest[at])) strongest[at] = value;
    }
  }
  return { grid: Int16Array.from(strongest, (value) => levelOf(view, value)), down, across };
}

// Labels of the picked query and key always stand; the others thin out until none overlaps.
function labelled(from, to, cell, line, picked) {
  const step = Math.max(1, Math.ceil(line / cell)), places = [];
  for (let i = from; i < to; i += step)
    if (picked === null || i === picked || Math.abs(i - picked) * cell >= line) places.push(i);
  if (picked !== null && picked >= from && picked < to && !places.includes(picked)) places.push(picked);
  return places;
}

function drawLabels(view, context) {
  const ink = inks(), { cell, left, above, window: [top, bottom, start, end], type } = view;
  const line = LINE * (type / 12);
  const at = (view.cursor ?? { query: view.query, key: view.key });
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const i of labelled(top, bottom, cell, line, at.query)) {
    style(context, ink, i === at.query, ink.query, type);
    drawToken(view, context, i, left - 9, above + (i - top + 0.5) * cell, -1, ink);
  }
  context.textAlign = "left";
  for (const j of labelled(start, end, cell, line, at.key)) {
    context.save();
    context.translate(left + (j - start + 0.5) * cell, above - 7);
    context.rotate(-Math.PI / 3);
    style(context, ink, j === at.key, ink.key, type);
    drawToken(view, context, j, 2, 0, 1, ink);
    context.restore();
  }
  axisTitles(view, context, ink);
}

// A token with its end (side −1) or its start (side 1) at x, in the outline of a chip where there is room for it.
function drawToken(view, context, token, x, y, side, ink) {
  const text = shorten(view.tokens[token], LETTERS), width = context.measureText(text).width, half = view.type * 0.66;
  context.fillText(text, x, y);
  if (view.cell < CHIP_FROM * (view.type / 12)) return;
  context.strokeStyle = ink.grid;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(x + (side < 0 ? -width : 0) - 3.5, y - half, width + 7, 2 * half, 3);
  context.stroke();
}

function style(context, ink, picked, tone, type) {
  context.font = `${picked ? "700 " : ""}${type}px ${ink.mono}`;
  context.fillStyle = picked ? tone : ink.text;
}

function axisTitles(view, context, ink) {
  context.font = `${view.type}px ${ink.font}`;
  context.textAlign = "left";
  context.fillStyle = ink.key;
  context.fillText(view.text.key_axis, view.left, 8);
  context.save();
  context.translate(8, view.above + 2);
  context.rotate(Math.PI / 2);
  context.fillStyle = ink.query;
  context.fillText(view.text.query_axis, 0, 0);
  context.restore();
}

// ---- the cursor and what is picked ----

function drawOverlay(view) {
  const { overlay, ratio, cell, left, above, window: [top, bottom, start, end] } = view;
  const context = overlay.getContext("2d"), ink = inks();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, overlay.width, overlay.height);
  const box = (query, key) => [left + (key - start) * cell, above + (query - top) * cell];
  const inside = (at) => at.query >= top && at.query < bottom && at.key >= start && at.key < end;
  const frame = (at, thickness) => {
    const [x, y] = box(at.query, at.key), fine = cell < 4;
    context.lineWidth = thickness;
    context.strokeStyle = ink.query;
    context.strokeRect(left, y + (fine ? cell / 2 : 0), cell * (end - start), fine ? 0 : cell);
    context.strokeStyle = ink.key;
    context.strokeRect(x + (fine ? cell / 2 : 0), above, fine ? 0 : cell, cell * (bottom - top));
    context.strokeStyle = ink.text;
    context.lineWidth = thickness + 1;
    context.strokeRect(x - (fine ? 2 : 0), y - (fine ? 2 : 0), cell + (fine ? 4 : 0), cell + (fine ? 4 : 0));
  };
  const picked = { query: view.query, key: view.key };
  if (picked.query !== null && inside(picked)) frame(picked, 1);
  if (view.cursor && inside(view.cursor)) frame(view.cursor, 1.5);
  if (view.drag?.to) drawDrag(context, view, box, ink);
}

function drawDrag(context, view, box, ink) {
  const [top, bottom, start, end] = rectangle(view.drag), [x, y] = box(top, start), [right, low] = box(bottom, end);
  context.lineWidth = 2;
  context.strokeStyle = ink.text;
  context.setLineDash([5, 3]);
  context.strokeRect(x, y, right - x, low - y);
  context.setLineDash([]);
}

function cellAt(view, event) {
  const box = view.cells.getBoundingClientRect(), [top, bottom, start, end] = view.window;
  const query = top + Math.floor((event.clientY - box.top - view.above) / view.cell);
  const key = start + Math.floor((event.clientX - box.left - view.left) / view.cell);
  return query >= top && query < bottom && key >= start && key < end ? { query, key } : null;
}

function hover(view, event) {
  const at = cellAt(view, event);
  if (view.drag && at) view.drag.to = at.query !== view.drag.from.query && at.key !== view.drag.from.key ? at : null;
  aim(view, at);
}

// The cursor moves to a cell (null: away); labels are drawn again only when it has moved.
function aim(view, at) {
  if (view.shows === "lines") return;
  const same = at?.query === view.cursor?.query && at?.key === view.cursor?.key;
  view.cursor = at;
  if (!same) relabel(view);
  drawOverlay(view);
  if (!at) { view.tip.hidden = true; return; }
  const amount = shown(view, valueOf(view, at.query, at.key)), [top, , start] = view.window;
  const x = view.matrix.offsetLeft + view.left + (at.key - start + 0.5) * view.cell;
  const y = view.matrix.offsetTop + view.above + (at.query - top) * view.cell;
  showTip(view.tip, reading(view.label, view.tokens[at.query], view.tokens[at.key], amount, `${at.query} → ${at.key}`),
    x, y - 6, view.cell + 16);
  view.live.textContent = `${view.tokens[at.query]} → ${view.tokens[at.key]} ${amount}`;
}

// Only the two margins are cleared and drawn again; the cells stay.
function relabel(view) {
  const context = view.cells.getContext("2d"), right = view.cells.width / view.ratio;
  context.clearRect(0, 0, right, view.above - 1);
  context.clearRect(0, 0, view.left - 1, view.cells.height / view.ratio);
  drawLabels(view, context);
}

function startDrag(view, event) {
  const at = cellAt(view, event);
  if (!at || event.pointerType === "touch") { view.pressed = at; return; }
  view.pressed = at;
  view.drag = { from: at, to: null };
  view.cells.setPointerCapture(event.pointerId);
}

function endDrag(view, event) {
  const drag = view.drag, at = cellAt(view, event);
  view.drag = null;
  if (drag?.to) zoom(view, rectangle(drag));
  else if (at && view.pressed && at.query === view.pressed.query && at.key === view.pressed.key)
    view.send("picked", [at.query, at.key]);
  view.pressed = null;
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
  const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const at = view.cursor ?? { query: view.query ?? 0, key: view.key ?? 0 };
  if (event.key === "Escape") zoom(view, [0, view.n, 0, view.n]);
  else if (event.key === "Enter") view.send("picked", [at.query, at.key]);
  else if (move) {
    const held = (value, low, high) => Math.min(Math.max(value, low), high - 1);
    const [top, bottom, start, end] = view.window;
    aim(view, { query: held(at.query + move[0], top, bottom), key: held(at.key + move[1], start, end) });
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
