// A grid of numbers on one canvas: rows are layers, columns tokens. Hover reads a cell, a click or the arrow keys pick
// one. The canvas is as wide as the view and sticks to it; the spacer behind it makes the scroll bar, so 256 wide
// columns cost no more than 12.
import { unpack } from "../lib/bytes.js";
import { hatch } from "../lib/canvas.js";
import { between, contrast, css, rgb } from "../lib/colours.js";
import { significant } from "../lib/numbers.js";
import { readTheme, whenStyled } from "../lib/theme.js";

const LEGEND_HEIGHT = 26, LEGEND_BAR = 120, LEAST_BAR = 36;
const MOST_COLUMN = 140, MOST_ROW = 64;
const LABEL_STEP = 15;          // px a slanted column label needs

function create(root) {
  const find = (name) => root.querySelector(name);
  const state = {
    root, box: find(".grid"), scroller: find(".scroller"), spacer: find(".spacer"), canvas: find("canvas"),
    tip: find(".tip"), spoken: find(".spoken"), hover: null, picked: null, width: 0,
  };
  state.scroller.onscroll = () => { state.hover = null; draw(state); };
  state.canvas.onmousemove = (event) => hover(state, event);
  state.canvas.onmouseleave = () => { state.hover = null; state.tip.hidden = true; draw(state); };
  state.canvas.onclick = (event) => { const cell = cellAt(state, event); if (cell) pick(state, cell, 0); };
  state.scroller.onkeydown = (event) => move(state, event);
  // It is called once when it begins, too: what stands drawn for the size that there is need not be drawn again.
  new ResizeObserver(() => { if (state.theme && sizeOf(state) !== state.fitted) { layOut(state);
    draw(state); } }).observe(state.box);
  return state;
}

function inksOf({ scale }) {
  const { ink, stops } = readTheme();
  return {
    page: ink("page"), text: ink("text"), muted: ink("muted"), grid: ink("grid"), edge: ink("grid-ink"),
    picked: ink("drawn"), mark: ink("value-ink"), font: ink("font"), mono: ink("mono"),
    stops: stops(scale === "div" ? "div" : "seq"),
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

function inkOn({ theme }, fill) {
  return contrast(rgb(theme.text), fill) >= contrast(rgb(theme.page), fill) ? theme.text : theme.page;
}

export function fontOf(state, px, family = "font", weight = "") {
  return `${weight} ${Math.round(px * state.data.type)}px ${state.theme[family]}`;
}

export function clipped(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(text.slice(0, end) + "…").width > width) end--;
  return text.slice(0, end) + "…";
}

const sizeOf = ({ box }) => `${box.clientWidth} ${box.clientHeight}`;

function layOut(state) {
  const { data, box, canvas } = state;
  if (!data || !box.clientWidth) return;
  state.fitted = sizeOf(state);
  state.scroller.style.overflowY = data.rows_scroll ? "scroll" : "hidden";
  const context = canvas.getContext("2d"), width = data.rows_scroll ? state.scroller.clientWidth : box.clientWidth;
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
  const ratio = window.devicePixelRatio || 1;
  canvas.style.width = `${width}px`; canvas.style.height = `${state.height}px`;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(state.height * ratio);
  reveal(state);
}

export function reveal(state) {
  if (!state.picked) return;
  const at = state.picked.column * state.column, view = state.width - state.left - state.right;
  if (at < state.scroller.scrollLeft) state.scroller.scrollLeft = at - state.column;
  else if (at + state.column > state.scroller.scrollLeft + view)
    state.scroller.scrollLeft = at + 2 * state.column - view;
  const top = state.picked.row * state.row, room = rowsEnd(state) - state.top;
  if (top < state.scroller.scrollTop) state.scroller.scrollTop = top - state.row;
  else if (top + state.row > state.scroller.scrollTop + room) state.scroller.scrollTop = top + 2 * state.row - room;
}

// Where the rows in sight end: above the legend, which stays.
const rowsEnd = (state) => state.height - LEGEND_HEIGHT * state.data.type;

function box(state, row, column) {
  return [state.left + column * state.column - state.scrolled.x, state.top + row * state.row - state.scrolled.y,
    state.column, state.row];
}

export function draw(state) {
  const { data, canvas } = state;
  if (!data || !state.width) return;
  const context = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
  // asked for once: the browser may lay out the page for each answer
  state.scrolled = { x: state.scroller.scrollLeft, y: state.scroller.scrollTop };
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, state.width, state.height);
  const first = Math.max(0, Math.floor(state.scrolled.x / state.column));
  const last = Math.min(data.columns - 1, Math.ceil((state.scrolled.x + state.width - state.left) / state.column));
  context.save();
  context.beginPath();
  context.rect(state.left, state.top - 2, state.width - state.left, rowsEnd(state) - state.top + 4); context.clip();
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
  const { data } = state, index = row * data.columns + column, value = state.values[index];
  const [x, y, width, height] = box(state, row, column), gap = width > 6 ? 1 : 0;
  if (Number.isNaN(value)) return hatch(context, x, y, width - gap, height - 1, state.theme.grid, 6);
  const fill = shade(state, value);
  context.fillStyle = css(fill);
  context.fillRect(x, y, width - gap + (gap ? 0 : 0.6), height - 1);
  if (state.marks && state.marks[index]) drawMark(state, context, x, y, width, fill);
  if (state.texts)
    drawText(state, context, x, y, width - gap, height - 1, data.vocabulary[state.texts[index]], value, fill);
}

// A small tick in the corner: this guess is the token that really comes next.
function drawMark(state, context, x, y, width, fill) {
  context.strokeStyle = inkOn(state, fill); context.lineWidth = 1.6;
  context.beginPath();
  context.moveTo(x + width - 12, y + 7); context.lineTo(x + width - 9, y + 10); context.lineTo(x + width - 4, y + 4);
  context.stroke();
}

function drawText(state, context, x, y, width, height, text, value, fill) {
  const two = height >= 30 * state.data.type;
  context.fillStyle = inkOn(state, fill); context.textAlign = "center"; context.textBaseline = "middle";
  context.font = fontOf(state, two ? 13 : 12, "mono");
  context.fillText(clipped(context, text, width - 8), x + width / 2, y + height * (two ? 0.34 : 0.52));
  if (!two) return;
  context.font = fontOf(state, 11);
  context.fillText(clipped(context, significant(value, 2), width - 4), x + width / 2, y + height * 0.74);
}

function drawOutlines(state, context) {
  const { data, theme } = state;
  if (data.peak) ring(context, box(state, ...data.peak), theme.text, 1.5, [3, 2]);
  if (state.picked && data.column_band) {
    const [x, , width] = box(state, 0, state.picked.column);
    context.strokeStyle = theme.text; context.lineWidth = 1; context.setLineDash([]);
    context.strokeRect(x - 0.5, state.top - 0.5 - state.scrolled.y, width, state.row * data.rows);
  }
  if (state.picked && data.row_band) {
    context.strokeStyle = theme.text; context.lineWidth = 1; context.setLineDash([]);
    context.strokeRect(state.left - state.scrolled.x - 0.5, state.top + state.picked.row * state.row - state.scrolled.y
        - 0.5, state.column * data.columns, Math.max(state.row, 3));
  }
  if (state.picked) {
    const cell = box(state, state.picked.row, state.picked.column);
    ring(context, cell, theme.text, 4, []);
    ring(context, cell, theme.picked, 2, []);
  }
  if (state.hover) ring(context, box(state, state.hover.row, state.hover.column), theme.text, 1.5, []);
}

function ring(context, [x, y, width, height], colour, line, dash) {
  context.strokeStyle = colour; context.lineWidth = line; context.setLineDash(dash);
  context.strokeRect(x - 0.5, y - 0.5, Math.max(width, 4), Math.max(height, 4));
  context.setLineDash([]);
}

function drawColumnLabels(state, context, first, last) {
  const { data, theme } = state, marked = [state.hover, state.picked].filter(Boolean).map((cell) => cell.column);
  const every = Math.max(1, Math.ceil(state.step / state.column)), done = [];
  context.textBaseline = "middle";
  const label = (column, strong) => {
    const x = state.left + (column + 0.5) * state.column - state.scrolled.x;
    if (x < state.left || x > state.width) return;
    context.save();
    context.font = fontOf(state, 12, "mono", strong ? "bold" : "");
    context.fillStyle = strong ? theme.text : theme.muted;
    if (state.slanted) {
      context.translate(x - 2, state.top - 6);
      context.rotate(-Math.PI / 4);
      context.textAlign = "left";
      context.fillText(clipped(context, data.column_labels[column], 112), 0, 0);
    }
    else {
      const text = data.numbered ? data.column_labels[column]
        : clipped(context, data.column_labels[column], state.column - 2);
      context.textAlign = "center";
      // the last number stands on its column's edge
      context.fillText(text, Math.min(x, state.width - context.measureText(text).width / 2),
        state.top - 11 * data.type);
    }
    context.restore();
    done.push(column);
  };
  marked.forEach((column) => label(column, true));
  for (let column = Math.ceil(first / every) * every; column <= last; column += every)
    if (!done.some((other) => Math.abs(other - column) * state.column < state.step)) label(column, false);
}

function drawRowLabels(state, context) {
  const { data, theme } = state;
  const end = rowsEnd(state), shift = state.scrolled.y;
  context.clearRect(0, state.top - 2, state.left - 3, end - state.top + 4);
  context.textAlign = "right"; context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil((15 * data.type) / state.row));
  const kept = [state.hover, state.picked].filter(Boolean).map((cell) => cell.row);
  for (let row = 0; row < data.rows; row++) {
    const y = state.top + (row + 0.5) * state.row - shift;
    if (y < state.top || y > end) continue;
    if (every > 1 && !kept.includes(row) && (row % every || kept.some((other) => Math.abs(other - row) < every)))
      continue;
    const strong = [state.hover, state.picked].some((cell) => cell && cell.row === row);
    context.font = fontOf(state, 12, "font", strong ? "bold" : "");
    context.fillStyle = strong ? theme.text : theme.muted;
    context.fillText(clipped(context, data.row_labels[row], state.left - 8), state.left - 8, y);
  }
}

// The legend begins under the first column, or further left where its words need the room; where they need more, its
// bar is shorter.
function legend(state, context) {
  const { data } = state, words = `${significant(data.low)}${significant(data.high)}   ${data.legend}`;
  const room = state.width - context.measureText(words).width - 24;
  return { left: Math.max(2, Math.min(state.left, room - LEGEND_BAR)),
    width: Math.max(LEAST_BAR, Math.min(LEGEND_BAR, room - 2)) };
}

function drawLegend(state, context) {
  const { data, theme } = state, y = state.height - 12 * data.type;
  context.font = fontOf(state, 11); context.textBaseline = "middle"; context.fillStyle = theme.muted;
  context.textAlign = "left";
  const low = significant(data.low), high = significant(data.high), { left, width } = legend(state, context);
  const start = left + context.measureText(low).width + 6;
  context.fillText(low, left, y);
  for (let i = 0; i < width; i++) {
    const share = i / (width - 1), value = data.logarithmic ? data.low * (data.high / data.low) ** share
      : data.low + (data.high - data.low) * share;
    context.fillStyle = css(shade(state, value));
    context.fillRect(start + i, y - 5, 1.5, 10);
  }
  context.strokeStyle = theme.grid; context.lineWidth = 1; context.strokeRect(start - 0.5, y - 5.5, width + 1, 11);
  context.fillStyle = theme.muted;
  context.fillText(clipped(context, `${high}   ${data.legend}`, state.width - start - width - 10), start + width + 6,
    y);
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
  const text = state.texts ? data.vocabulary[state.texts[index]] : "";
  return data.reading.replace("{row}", data.row_labels[row]).replace("{index}", column).replace("{column}",
    data.column_labels[column])
    .replace("{text}", text).replace("{value}", significant(state.values[index], 4));
}

function hover(state, event) {
  hoverCell(state, cellAt(state, event));
}

export function hoverCell(state, cell) {
  state.hover = cell;
  state.canvas.style.cursor = cell ? "pointer" : "default";
  state.tip.hidden = !cell;
  if (cell) {
    state.tip.textContent = describe(state, cell);
    const [x, y] = box(state, cell.row, cell.column), wide = state.tip.offsetWidth;
    state.tip.style.left = `${Math.max(0, Math.min(x + state.column / 2 - wide / 2, state.width - wide))}px`;
    state.tip.style.top = `${y > 40 ? y - state.tip.offsetHeight - 6 : y + state.row + 6}px`;
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
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return;
  event.preventDefault(); event.stopPropagation();
  const { row, column } = state.picked || { row: 0, column: 0 }, { rows, columns } = state.data;
  pick(state, { row: Math.min(rows - 1, Math.max(0, row + step[0])),
    column: Math.min(columns - 1, Math.max(0, column + step[1])) }, 120);
}

export function show(root, bytes, setTriggerValue, more) {
  const state = (root.state ??= create(root));
  const data = unpack(bytes);
  Object.assign(state, { data, values: data.values, texts: data.texts, marks: data.marks, send: setTriggerValue },
    more);
  state.picked = data.picked ? { row: data.picked[0], column: data.picked[1] } : null;
  // another text is shorter
  if (state.hover && !(state.hover.row < data.rows && state.hover.column < data.columns)) {
    state.hover = null;
    state.tip.hidden = true;
  }
  root.style.setProperty("--grid-height",
    data.fit ? `clamp(${data.height}px, calc(100dvh - ${data.fit}px), ${data.most_height}px)` : `${data.height}px`);
  state.scroller.setAttribute("aria-label", data.twin);
  whenStyled(root, () => paint(state));
  return state;
}
