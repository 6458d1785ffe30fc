// Beside the grid, the lines of one token: its stream, and what attention and the feed-forward part add, with all other
// tokens faint behind. Grid and chart share one hover: a cell of the grid shows its token's lines, the nearest line of
// the chart shows its cell.
import { multiples, niceStep, powers } from "../../core/components/lib/axis.js";
import { draw, fontOf, hoverCell, pick, show } from "../../core/components/residual_grid/grid.js";
import { clipped, line, resize, stroke, write } from "../../core/components/lib/canvas.js";
import { readable, significant } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";

const DASHES = { residual: [], attention: [8, 5], mlp: [2, 4] };

/** The depth at which the line of a kind begins: what block l adds leads to depth l + 1. */
const firstDepth = (kind) => (kind === "residual" ? 0 : 1);

/** The grid, and lines: of which kinds, which of them is faint behind; lengths: the axis; residual, attention, mlp:
 * depth by depth, the tokens of each.
 * @typedef {import("../../core/components/residual_grid/grid.js").Message & { kinds: string[],
 *   names: Record<string, string>, faint: string, log_lengths: boolean, depths: string[], depth_title: string,
 *   length_title: string, lengths: [number, number] }
 *   & Record<"residual" | "attention" | "mlp", Float32Array>} Message */

const inkOf = (kind) => readTheme().ink(`${kind}-ink`);

/** @param {{ data: Message }} state */
function lengthAt({ data }, kind, depth, token) {
  const row = depth - firstDepth(kind);
  return row < 0 ? NaN : data[kind][row * data.columns + token];
}

/** How many depths the grid's first row lies above depth 0. @param {Message} data */
const rowShift = (data) => (data.rows === data.depths.length ? 0 : 1);

/** The depth of the cell under the hand, or of the picked one; without both, `otherwise`. */
function markedDepth({ data, hover, picked }, otherwise) {
  const cell = hover || picked;
  return cell ? cell.row + rowShift(data) : otherwise;
}

/** The edges of the plot, and its scales x(depth) and y(length). @param {{ data: Message }} state */
function layOut(state, context, width, height) {
  const { data } = state, { type, lengths: [low, high] } = data;
  context.font = fontOf(state, 13, "font", "600");
  // of the names at the lines' ends
  const longest = Math.max(...data.kinds.map((kind) => context.measureText(data.names[kind]).width));
  const left = 46 * type, right = width - longest - 16, top = 30 * type, bottom = height - 40 * type;
  const share = (value) => (data.log_lengths ? Math.log(Math.max(value, low) / low) / Math.log(high / low)
    : value / high);
  return { left, right, top, bottom, x: (depth) => left + ((right - left) * depth) / (data.depths.length - 1),
    y: (value) => bottom - (bottom - top) * share(value) };
}

function drawProfile(state) {
  const { data, profile, theme } = state, { clientWidth: width, clientHeight: height } = profile;
  if (!width) return;
  const ratio = window.devicePixelRatio || 1, context = profile.getContext("2d");
  resize(profile, Math.round(width * ratio), Math.round(height * ratio));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const plot = (state.plot = layOut(state, context, width, height));
  drawAxes(state, context);
  const { column: shown } = state.hover || state.picked || { column: 0 };
  stroke(context, inkOf(data.faint));
  context.globalAlpha = data.columns > 60 ? 0.16 : 0.28;
  for (let token = 0; token < data.columns; token++)
    if (token !== shown) trace(context, pointsOf(state, data.faint, token));
  context.globalAlpha = 1;
  for (const kind of data.kinds) drawLine(state, context, kind, pointsOf(state, kind, shown));
  drawEndLabels(state, context, shown);
  context.font = fontOf(state, 13, "mono", "bold");
  const name = clipped(context, `i = ${shown}  ${data.column_labels[shown]}`, plot.right - plot.left);
  write(context, name, plot.left, 2, theme.text, "left", { baseline: "top" });
}

function ticks({ lengths: [low, high], log_lengths: logarithmic }) {
  if (!logarithmic) return multiples(niceStep(high / 5), 0, high);
  const factors = Math.log10(high / low) > 3 ? [1] : [1, 2, 5];
  return powers(low / 10, high * 10).flatMap((power) => factors.map((factor) => factor * 10 ** power))
    .filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

function drawAxes(state, context) {
  const { data, theme, plot: { left, right, top, bottom, x, y } } = state, { type, depths } = data;
  const font = fontOf(state, 12);
  stroke(context, theme.grid);
  for (const value of ticks(data)) {
    line(context, left, y(value), right, y(value));
    write(context, readable(value), left - 8, y(value), theme.muted, "right", { font });
  }
  const marked = markedDepth(state, -1), every = Math.ceil((26 * type * depths.length) / (right - left));
  depths.forEach((name, i) => {
    if (i !== marked && (i % every || (marked >= 0 && Math.abs(i - marked) < every))) return;
    write(context, name, x(i), bottom + 14 * type, i === marked ? theme.text : theme.muted, "center",
      { font: i === marked ? fontOf(state, 12, "font", "bold") : font });
  });
  write(context, data.depth_title, (left + right) / 2, bottom + 31 * type, theme.muted, "center", { font });
  context.save();
  context.translate(10 * type, (top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  write(context, data.length_title, 0, 0, theme.muted, "center");
  context.restore();
  if (marked < 0) return;
  stroke(context, theme.edge, 1, [3, 3]);
  line(context, x(marked), top, x(marked), bottom);
}

/** The points of a token's line, one a depth. */
function pointsOf(state, kind, token) {
  const { data: { depths }, plot: { x, y } } = state, from = firstDepth(kind);
  return Array.from({ length: depths.length - from },
    (_, i) => [x(from + i), y(lengthAt(state, kind, from + i, token))]);
}

function trace(context, points) {
  context.beginPath();
  for (const point of points) context.lineTo(...point);
  context.stroke();
}

function drawLine({ data: { type } }, context, kind, points) {
  stroke(context, inkOf(kind), (kind === "residual" ? 3.5 : 2.8) * type, DASHES[kind].map((length) => length * type));
  trace(context, points);
  context.setLineDash([]);
  context.fillStyle = inkOf(kind);
  for (const [x, y] of points) mark(context, kind, x, y, 4.2 * type);
}

/** A disc, a square or a triangle, so that the kinds can be told apart without colour. */
function mark(context, kind, x, y, size) {
  context.beginPath();
  if (kind === "residual") context.arc(x, y, size, 0, 2 * Math.PI);
  else if (kind === "attention") context.rect(x - size * 0.9, y - size * 0.9, 1.8 * size, 1.8 * size);
  else {
    context.moveTo(x, y - 1.2 * size);
    context.lineTo(x + 1.15 * size, y + 0.9 * size);
    context.lineTo(x - 1.15 * size, y + 0.9 * size);
  }
  context.fill();
}

/** At the end of each line its name and its value at the marked depth, without overlaps. */
function drawEndLabels(state, context, token) {
  const { data, plot } = state, last = data.depths.length - 1, step = 32 * data.type, depth = markedDepth(state, last);
  const labels = data.kinds.map((kind) => ({ kind, y: plot.y(lengthAt(state, kind, last, token)) }))
    .sort((a, b) => a.y - b.y);
  labels.forEach((label, i) => { if (i) label.y = Math.max(label.y, labels[i - 1].y + step); });
  labels.reverse().forEach((label, i) => { label.y = Math.min(label.y, plot.bottom - 8 - i * step); });
  for (const { kind, y } of labels) {
    const left = plot.right + 12, value = significant(lengthAt(state, kind, depth, token));
    write(context, data.names[kind], left, y - 7 * data.type, inkOf(kind), "left",
      { font: fontOf(state, 13, "font", "600") });
    write(context, value, left, y + 8 * data.type, inkOf(kind), "left", { font: fontOf(state, 13) });
  }
}

/** The cell of the token whose faint line is nearest to the pointer, at the nearest depth. */
function nearest(state, event) {
  const { data, profile, plot } = state, bounds = profile.getBoundingClientRect();
  const px = event.clientX - bounds.left, py = event.clientY - bounds.top, steps = data.depths.length - 1;
  if (px < plot.left - 20 || px > plot.right + 20 || py < plot.top - 10 || py > plot.bottom + 10) return null;
  const place = Math.round(((px - plot.left) / (plot.right - plot.left)) * steps);
  const depth = Math.min(steps, Math.max(firstDepth(data.faint), place));
  const distance = (token) => Math.abs(plot.y(lengthAt(state, data.faint, depth, token)) - py);
  let column = 0;
  for (let token = 1; token < data.columns; token++) if (distance(token) < distance(column)) column = token;
  return { row: Math.max(0, depth - rowShift(data)), column };
}

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".residual-norms"), profile = root.querySelector(".profile");
  const state = show(root, data, setTriggerValue, { profile, also: drawProfile });
  profile.role = "img";
  profile.ariaLabel = `${state.data.length_title}, ${state.data.depth_title}`;
  profile.dataset.ranges = "";            // the keys of the grid move its lines too
  profile.onmousemove = (event) => {
    const cell = nearest(state, event);
    if (cell) revealColumn(state, cell);
    hoverCell(state, cell);
  };
  profile.onmouseleave = () => { state.hover = null; state.tip.hidden = true; draw(state); };
  profile.onclick = (event) => { const cell = nearest(state, event); if (cell) pick(state, cell, 0); };
}

function revealColumn({ column, width, left, right, scroller }, cell) {
  const x = cell.column * column, view = width - left - right;
  if (x < scroller.scrollLeft || x + column > scroller.scrollLeft + view) scroller.scrollLeft = x - view / 2;
}
