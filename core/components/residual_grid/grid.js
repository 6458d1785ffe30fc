// A grid of numbers on one canvas: rows are layers, columns tokens. Hover reads a cell, a click or the arrow keys pick
// one. The canvas is as wide as the view and sticks to it; the spacer behind it makes the scroll bar, so 256 wide
// columns cost no more than 12.
import { unpack } from "../lib/bytes.js";
import { clipped, hatch, sharpen, stroke, write } from "../lib/canvas.js";
import { between, contrast, css, rgb } from "../lib/colours.js";
import { fill } from "../lib/dom.js";
import { isStep, stepped } from "../lib/keys.js";
import { percent, significant } from "../lib/numbers.js";
import { showTip } from "../lib/pattern.js";
import { readTheme, whenStyled } from "../lib/theme.js";

const LEGEND_HEIGHT = 26, LEGEND_BAR = 120, LEAST_BAR = 36;
const MOST_COLUMN = 140, MOST_ROW = 64;
const LABEL_STEP = 15;          // px that a slanted column label needs

/** picked: [row, column]; peak: the cell that is framed; mine: the column of the reader's guess and its name; texts:
 * numbers in the vocabulary, cell by cell, like the values; marks: 1 where a cell is ticked.
 * @typedef {{ values: Float32Array, rows: number, columns: number, low: number, high: number, scale: "div" | "seq",
 *   row_labels: string[], column_labels: string[], legend: string, reading: string, twin: string, theme: string,
 *   picked: [number, number] | null, peak: [number, number] | null, mine: [number, string] | null,
 *   logarithmic: boolean, percent: boolean, column_band: boolean, row_band: boolean, numbered: boolean,
 *   rows_scroll: boolean, least_column: number, least_row: number, height: number, most_height: number, fit: number,
 *   type: number, vocabulary: string[], texts?: Int32Array, marks?: Int32Array }} Message */

function create(root) {
  const find = (name) => root.querySelector(name);
  const state = {
    root, box: find(".grid"), scroller: find(".scroller"), spacer: find(".spacer"), canvas: find("canvas"),
    tip: find(".tip"), spoken: find(".spoken"), hover: null, picked: null, width: 0,
  };
  state.scroller.onscroll = () => { state.hover = null; draw(state); };
  state.canvas.onmousemove = (event) => hoverCell(state, cellAt(state, event));
  state.canvas.onmouseleave = () => hoverCell(state, null);
  state.canvas.onclick = (event) => { const cell = cellAt(state, event); if (cell) pick(state, cell, 0); };
  state.scroller.onkeydown = (event) => move(state, event);
  // The observer also fires once at its start: a grid already drawn for this size is not drawn again.
  new ResizeObserver(() => {
    if (!state.theme || sizeOf(state) === state.fitted) return;
    layOut(state);
    draw(state);
  }).observe(state.box);
  return state;
}

function inksOf({ scale }) {
  const { ink, stops } = readTheme();
  return {
    page: ink("page"), text: ink("text"), muted: ink("muted"), grid: ink("grid"), edge: ink("grid-ink"),
    picked: ink("drawn"), font: ink("font"), mono: ink("mono"), stops: stops(scale),
  };
}

function paint(state) {
  state.theme = inksOf(state.data);
  layOut(state);
  draw(state);
}

function shade(state, value) {
  const { low, high, logarithmic } = state.data;
  const share = logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return between(state.theme.stops, high > low ? share : 0);
}

export function fontOf(state, px, family = "font", weight = "") {
  return `${weight} ${Math.round(px * state.data.type)}px ${state.theme[family]}`;
}

const sizeOf = ({ box }) => `${box.clientWidth} ${box.clientHeight}`;

function layOut(state) {
  const { data, box, canvas } = state;
  if (!box.clientWidth) return;
  state.fitted = sizeOf(state);
  state.scroller.style.overflowY = data.rows_scroll ? "scroll" : "hidden";
  const width = data.rows_scroll ? state.scroller.clientWidth : box.clientWidth;
  layOutColumns(state, canvas.getContext("2d"), width);
  const room = box.clientHeight || data.height, least = data.rows * data.least_row + state.top + LEGEND_HEIGHT;
  const scrolls = data.rows_scroll && least > room + 1;
  const height = Math.max(room, least), total = state.left + state.column * data.columns + state.right;
  const scrollbar = total > width + 1 ? 14 : 0;
  state.row = Math.min(MOST_ROW * data.type, (height - state.top - LEGEND_HEIGHT * data.type - scrollbar) / data.rows);
  const whole = state.top + state.row * data.rows + LEGEND_HEIGHT * data.type;
  state.width = width;
  state.scroller.style.height = scrolls ? `${room}px` : "";
  state.spacer.style.width = `${total}px`;
  state.spacer.style.height = `${whole}px`;
  state.height = scrolls ? state.scroller.clientHeight : whole;
  reveal(state);
}

// Set the widths of the labels and the columns, and whether the columns' labels are slanted above them.
function layOutColumns(state, context, width) {
  const { data } = state;
  context.font = fontOf(state, 12, "font", "bold");          // as the picked one is written
  const labels = Math.max(...data.row_labels.map((label) => context.measureText(label).width));
  state.left = Math.min(labels + 14, width * 0.28);
  context.font = fontOf(state, 12, "mono");
  const widest = Math.min(110, Math.max(...data.column_labels.map((label) => context.measureText(label).width)));
  const bare = Math.max(data.least_column, (width - state.left - 2) / data.columns);
  state.slanted = !data.numbered && bare < widest + 8;
  state.step = data.numbered ? widest + 14 : state.slanted ? LABEL_STEP * data.type : 1;      // px that one label needs
  state.right = state.slanted ? Math.min(48, widest * 0.71) : 2;
  state.column = Math.min(MOST_COLUMN, Math.max(data.least_column, (width - state.left - state.right) / data.columns));
  state.top = state.slanted ? widest * 0.71 + 14 : 24 * data.type;
}

// Scroll inside the grid until the picked cell is in sight, with one more cell before or after it.
export function reveal(state) {
  const { picked, scroller, column, row } = state, into = (start, size, now, room) =>
    start < now ? start - size : start + size > now + room ? start + 2 * size - room : now;
  if (!picked) return;
  scroller.scrollLeft = into(picked.column * column, column, scroller.scrollLeft,
    state.width - state.left - state.right);
  scroller.scrollTop = into(picked.row * row, row, scroller.scrollTop, rowsEnd(state) - state.top);
}

// The y at which the visible rows end: above the legend, which does not scroll.
const rowsEnd = (state) => state.height - LEGEND_HEIGHT * state.data.type;

function box(state, row, column) {
  return [state.left + column * state.column - state.scrolled.x, state.top + row * state.row - state.scrolled.y,
    state.column, state.row];
}

export function draw(state) {
  const { data, canvas } = state;
  if (!state.width) return;
  const context = sharpen(canvas, state.width, state.height);
  // read once: the browser may lay out the page for each reading
  state.scrolled = { x: state.scroller.scrollLeft, y: state.scroller.scrollTop };
  const first = Math.max(0, Math.floor(state.scrolled.x / state.column));
  const last = Math.min(data.columns - 1, Math.ceil((state.scrolled.x + state.width - state.left) / state.column));
  context.save();
  context.beginPath();
  context.rect(state.left, state.top - 2, state.width - state.left, rowsEnd(state) - state.top + 4);
  context.clip();
  for (let row = 0; row < data.rows; row++)
    for (let column = first; column <= last; column++) drawCell(state, context, row, column);
  drawOutlines(state, context);
  context.restore();
  drawColumnLabels(state, context, first, last);
  drawRowLabels(state, context);
  drawLegend(state, context);
  state.also?.(state);
}

function drawCell(state, context, row, column) {
  const { data, theme } = state, index = row * data.columns + column, value = state.values[index];
  const [x, y, width, height] = box(state, row, column), gap = width > 6 ? 1 : 0;
  if (Number.isNaN(value)) return hatch(context, x, y, width - gap, height - 1, theme.grid, 6);
  const ground = shade(state, value);
  const ink = contrast(rgb(theme.text), ground) >= contrast(rgb(theme.page), ground) ? theme.text : theme.page;
  context.fillStyle = css(ground);
  context.fillRect(x, y, width - gap + (gap ? 0 : 0.6), height - 1);
  if (state.marks?.[index]) tick(context, x + width - 4, y + 4, ink);
  if (!state.texts) return;
  const two = height - 1 >= 30 * data.type, line = (text, font, share, margin) => {
    context.font = font;
    write(context, clipped(context, text, width - gap - margin), x + (width - gap) / 2, y + (height - 1) * share, ink,
      "center");
  };
  line(data.vocabulary[state.texts[index]], fontOf(state, two ? 13 : 12, "mono"), two ? 0.34 : 0.52, 8);
  if (two) line(valueText(data, value, 2), fontOf(state, 11), 0.74, 4);
}

// A small tick with its end at (x, y): this guess is the token that really comes next.
function tick(context, x, y, ink) {
  stroke(context, ink, 1.6);
  context.beginPath();
  context.moveTo(x - 8, y + 3);
  context.lineTo(x - 5, y + 6);
  context.lineTo(x, y);
  context.stroke();
}

function drawOutlines(state, context) {
  const { data, theme, picked, hover } = state;
  if (data.peak) ring(context, box(state, ...data.peak), theme.text, 1.5, [3, 2]);
  if (picked) {
    const cell = box(state, picked.row, picked.column), [x, y, width, height] = cell, [left, top] = box(state, 0, 0);
    stroke(context, theme.text);
    if (data.column_band) context.strokeRect(x - 0.5, top - 0.5, width, state.row * data.rows);
    if (data.row_band) context.strokeRect(left - 0.5, y - 0.5, state.column * data.columns, Math.max(height, 3));
    ring(context, cell, theme.text, 4);
    ring(context, cell, theme.picked, 2);
  }
  if (hover) ring(context, box(state, hover.row, hover.column), theme.text, 1.5);
  if (data.mine) drawMine(state, context);
}

// Draw a dashed frame, with its name, around the column that the reader guessed.
function drawMine(state, context) {
  const { data, theme } = state, [column, name] = data.mine;
  const [x, y, width, height] = box(state, 0, column);
  const frame = [x + 2, y + 2, width - 4, height * data.rows - 4];
  ring(context, frame, theme.page, 4);
  ring(context, frame, theme.text, 2, [6, 4]);
  context.font = fontOf(state, 11, "font", "bold");
  const wide = context.measureText(name).width + 6, high = 14 * data.type;
  context.fillStyle = theme.text;
  context.fillRect(x + 2, y + 2, wide, high);
  write(context, name, x + 5, y + 2 + high / 2, theme.page);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number[]} box  x, y, width and height in pixels
 */
function ring(context, [x, y, width, height], colour, line, dash = []) {
  stroke(context, colour, line, dash);
  context.strokeRect(x - 0.5, y - 0.5, Math.max(width, 4), Math.max(height, 4));
}

const markedCells = ({ hover, picked }) => [hover, picked].filter(Boolean);

// The step between named rows, and between named columns. If both are the same tokens, the same are named, or nobody
// could follow the diagonal.
function everyLabel({ data, step, column, row }) {
  const every = { rows: Math.max(1, Math.ceil((15 * data.type) / row)),
    columns: Math.max(1, Math.ceil(step / column)) };
  if (String(data.row_labels) === String(data.column_labels))
    every.rows = every.columns = Math.max(every.rows, every.columns);
  return every;
}

/** The places that are always named: under the hand, picked and, if both sides are the same tokens, the last. */
function namedAlways(state, side) {
  const { row_labels, column_labels, rows } = state.data, places = markedCells(state).map((cell) => cell[side]);
  return places.length || String(row_labels) !== String(column_labels) ? places : [rows - 1];
}

function drawColumnLabels(state, context, first, last) {
  const { data, theme } = state, marked = namedAlways(state, "column");
  const every = everyLabel(state).columns, done = [];
  const label = (column, strong) => {
    const x = state.left + (column + 0.5) * state.column - state.scrolled.x, colour = strong ? theme.text : theme.muted;
    if (x < state.left || x > state.width) return;
    context.save();
    context.font = fontOf(state, 12, "mono", strong ? "bold" : "");
    const room = state.slanted ? 112 : data.numbered ? Infinity : state.column - 2;
    const text = clipped(context, data.column_labels[column], room);
    if (state.slanted) {
      context.translate(x - 2, state.top - 6);
      context.rotate(-Math.PI / 4);
      write(context, text, 0, 0, colour);
    // the last number must not reach beyond the edge
    } else
      write(context, text, Math.min(x, state.width - context.measureText(text).width / 2), state.top - 11 * data.type,
        colour, "center");
    context.restore();
    done.push(column);
  };
  marked.forEach((column) => label(column, true));
  for (let column = Math.ceil(first / every) * every; column <= last; column += every)
    if (!done.some((other) => Math.abs(other - column) < every)) label(column, false);
}

function drawRowLabels(state, context) {
  const { data, theme } = state;
  const end = rowsEnd(state), shift = state.scrolled.y;
  context.clearRect(0, state.top - 2, state.left - 3, end - state.top + 4);
  const every = everyLabel(state).rows, kept = namedAlways(state, "row");
  for (let row = 0; row < data.rows; row++) {
    const y = state.top + (row + 0.5) * state.row - shift;
    if (y < state.top || y > end) continue;
    const strong = kept.includes(row);
    if (!strong && (row % every || kept.some((other) => Math.abs(other - row) < every))) continue;
    context.font = fontOf(state, 12, "font", strong ? "bold" : "");
    write(context, clipped(context, data.row_labels[row], state.left - 8), state.left - 8, y,
      strong ? theme.text : theme.muted, "right");
  }
}

// Draw the legend from under the first column, or from further left if its words need the room; if they need more, its
// bar is shorter.
function drawLegend(state, context) {
  const { data, theme } = state, y = state.height - 12 * data.type;
  context.font = fontOf(state, 11);
  const low = valueText(data, data.low), words = `${valueText(data, data.high)}   ${data.legend}`;
  const room = state.width - context.measureText(low + words).width - 24;
  const left = Math.max(2, Math.min(state.left, room - LEGEND_BAR));
  const width = Math.max(LEAST_BAR, Math.min(LEGEND_BAR, room - 2)), start = left + context.measureText(low).width + 6;
  write(context, low, left, y, theme.muted);
  for (let i = 0; i < width; i++) {
    context.fillStyle = css(between(theme.stops, i / (width - 1)));
    context.fillRect(start + i, y - 5, 1.5, 10);
  }
  stroke(context, theme.grid);
  context.strokeRect(start - 0.5, y - 5.5, width + 1, 11);
  write(context, clipped(context, words, state.width - start - width - 10), start + width + 6, y, theme.muted);
}

function valueText(data, value, digits = 3) {
  return data.percent ? percent(value) : significant(value, digits);
}

function cellAt(state, event) {
  const bounds = state.canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - bounds.left - state.left + state.scroller.scrollLeft) / state.column);
  const y = event.clientY - bounds.top, row = Math.floor((y - state.top + state.scroller.scrollTop) / state.row);
  const inside = y >= state.top && y <= rowsEnd(state) && row >= 0 && row < state.data.rows && column >= 0
    && column < state.data.columns && event.clientX - bounds.left >= state.left;
  return inside ? { row, column } : null;
}

function describe(state, { row, column }) {
  const { data } = state, index = row * data.columns + column;
  return fill(data.reading, { row: data.row_labels[row], column: data.column_labels[column], index: column,
    text: state.texts ? data.vocabulary[state.texts[index]] : "", value: valueText(data, state.values[index], 4) });
}

export function hoverCell(state, cell) {
  state.hover = cell;
  state.canvas.style.cursor = cell ? "pointer" : "default";
  state.tip.hidden = !cell;
  if (cell) {
    const [x, y] = box(state, cell.row, cell.column);
    showTip(state.tip, [describe(state, cell)], x + state.column / 2, y - 2, state.row + 8);
  }
  draw(state);
}

export function pick(state, cell, delay) {
  state.picked = cell;
  state.spoken.textContent = describe(state, cell);
  reveal(state);
  draw(state);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => state.send("picked", cell), delay);
}

function move(state, event) {
  if (!isStep(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  const { row, column } = state.picked || { row: 0, column: 0 }, { rows, columns } = state.data;
  const [toColumn, toRow] = stepped(event.key, [column, row], columns, rows);
  pick(state, { row: toRow, column: toColumn }, 120);
}

export function show(root, bytes, setTriggerValue, more) {
  const state = (root.state ??= create(root));
  /** @type {Message} */
  const data = unpack(bytes);
  const { values, texts, marks } = data;
  Object.assign(state, { data, values, texts, marks, send: setTriggerValue }, more);
  state.picked = data.picked ? { row: data.picked[0], column: data.picked[1] } : null;
  // the new text may be shorter
  if (state.hover && !(state.hover.row < data.rows && state.hover.column < data.columns)) {
    state.hover = null;
    state.tip.hidden = true;
  }
  root.style.setProperty("--grid-height",
    data.fit ? `clamp(${data.height}px, calc(100dvh - ${data.fit}px), ${data.most_height}px)` : `${data.height}px`);
  state.scroller.ariaLabel = data.twin;
  whenStyled(root, () => paint(state));
  return state;
}
