// The six panels of the waves, one function each; `view` is the Waves instrument, `box` the place of the picture.
import { powers } from "../../core/components/lib/axis.js";
import { dot, line, placePicture, stroke, write } from "../../core/components/lib/canvas.js";
import { decimals, grouped, significant } from "../../core/components/lib/numbers.js";
import { circle, polyline } from "./panels.js";

const SMOOTH = 8192;      // n × d up to which the products between whole positions are computed too

/** The positions in one turn, as a reader sees them. */
export const wavelength = (omega) => significant(2 * Math.PI / omega, 4);

/** The middle of a column of positions. */
const centre = ({ left, width, columns }, column) => left + ((column + 0.5) * width) / columns;

/** The picked positions as dots, i full and j hollow. */
function pickedDots(view, context, i, j) {
  const ink = view.ink("position-ink"), page = view.ink("page");
  dot(context, ...j, 5, ink, page, true);
  dot(context, ...i, 6, ink, page);
}

/** The cursor of all panels over positions: i solid, j dashed, the hovered one thin. */
function drawCursors(view, context, box) {
  const { ink, hover, settings: { i, j } } = view;
  const upright = (column, ...style) => {
    stroke(context, ...style);
    line(context, centre(box, column), 0, centre(box, column), box.height);
  };
  upright(i, ink("text"), 1.5);
  upright(j, ink("text"), 1.5, [4, 3]);
  if (["heat", "wave", "products"].includes(hover?.name)) upright(hover.column, ink("muted"));
  context.setLineDash([]);
}

/** A function of position as a line, sampled per pixel and between whole positions, so that fast waves
    keep their shape. */
function drawCurve(view, context, { left, width, columns: n }, y, thickness, dash = []) {
  const count = Math.ceil(Math.min(4000, Math.max(2 * width, 8 * n)));
  stroke(context, view.ink("position-ink"), thickness, dash);
  polyline(context,
    Array.from({ length: count + 1 }, (_, k) => [left + (k * width) / count, y((n * k) / count - 0.5)]));
  context.setLineDash([]);
}

/** A dot at each whole position, where there is room for them. */
function drawDots(view, context, box, y) {
  const cell = box.width / box.columns;
  for (let k = 0; cell >= 5 && k < box.columns; k += 1)
    dot(context, centre(box, k), y(k), Math.min(3, cell / 3), view.ink("position-ink"), view.ink("page"));
}

export function drawHeat(view, context, box) {
  const { left, width, height } = box, { d, pair } = view.settings, row = height / d, ink = view.ink("position-ink");
  placePicture(context, view.heatPicture, left, 0, width, height);
  view.rowTicks(context, box, height / 26, (dimension) => Math.abs(dimension - 2 * pair) * row > 13);
  drawCursors(view, context, box);
  // a frame just outside the picked rows, so that none of them is covered
  for (const [colour, thick, out] of [[view.ink("page"), 5, 2.5], [ink, 2, 1.5]]) {
    stroke(context, colour, thick);
    context.strokeRect(left - out, 2 * pair * row - out, width + 2 * out, 2 * row + 2 * out);
  }
  write(context, `${2 * pair}–${2 * pair + 1}`, left - 6, Math.max(6, Math.min(height - 6, (2 * pair + 1) * row)), ink,
    "right");
  view.columnTicks(context, box, (width + 62) / 60);
}

export function drawLengths(view, context, { height }) {
  const { n, d, pair } = view.settings, { ink, omega } = view;
  const left = 4, width = view.panels.lengths.surface.width - 14;
  const longest = Math.max(2 * Math.PI / omega[d / 2 - 1], n), top = Math.log10(longest) + 0.25;
  const x = (length) => left + ((Math.log10(length) - 0.5) / (top - 0.5)) * width;
  const y = (k) => ((2 * k + 1) / d) * height;
  for (const decade of powers(10, 10 ** top)) {
    stroke(context, ink("grid"));
    line(context, x(10 ** decade), 0, x(10 ** decade), height);
    view.tick(context, grouped(10 ** decade), x(10 ** decade), height + 10, "center");
  }
  stroke(context, ink("muted"), 1, [2, 3]);
  line(context, x(n), 0, x(n), height);
  const isRight = x(n) > left + width - 50;
  view.tick(context, `N = ${n}`, x(n) + (isRight ? -4 : 4), height - 7, isRight ? "right" : "left");
  stroke(context, ink("position-ink"), 2);
  polyline(context, [...omega].map((frequency, k) => [x(2 * Math.PI / frequency), y(k)]));
  const picked = [x(2 * Math.PI / omega[pair]), y(pair)];
  stroke(context, ink("position-ink"));
  line(context, 0, y(pair), ...picked);
  dot(context, ...picked, 5, ink("position-ink"), ink("page"));
  lengthLabel(view, context, ...picked, width + 14, height);
}

function lengthLabel(view, context, x, y, width, height) {
  const text = wavelength(view.omega[view.settings.pair]);
  const right = x + 10 + context.measureText(text).width < width;
  const level = Math.max(8, Math.min(height - 6, y + (right ? -11 : 12)));
  write(context, text, x + (right ? 9 : -9), level, view.ink("position-ink"), right ? "left" : "right",
    { font: `600 ${view.fontSize + 1}px ${view.ink("font")}`, halo: view.ink("page") });
}

export function drawWave(view, context, box) {
  const { d, pair, i, j } = view.settings, omega = view.omega[pair], { height } = box;
  const y = (value) => height / 2 - value * (height / 2 - 6), sine = (k) => y(view.P[k * d + 2 * pair]);
  view.levels(context, box, [-1, 0, 1], y);
  drawCursors(view, context, box);
  drawCurve(view, context, box, (at) => y(Math.cos(at * omega)), 1.5, [5, 4]);
  drawCurve(view, context, box, (at) => y(Math.sin(at * omega)), 2);
  drawDots(view, context, box, sine);
  stroke(context, view.ink("position-ink"), 1, [1, 3]);
  line(context, centre(box, i), sine(i), view.panels.wave.surface.width, sine(i));
  pickedDots(view, context, [centre(box, i), sine(i)], [centre(box, j), sine(j)]);
  if (view.isPresented) view.columnTicks(context, box, (box.width + 62) / 60);
}

export function drawDial(view, context, { height }) {
  const { i, j, pair, d, n } = view.settings, { ink, P } = view, { width } = view.panels.dial.surface;
  const radius = height / 2 - 6, [cx, cy] = [Math.min(width / 2, radius + 30), height / 2];
  const at = (k) => [cx + radius * P[k * d + 2 * pair + 1], cy - radius * P[k * d + 2 * pair]];
  const hand = (k, ...style) => { stroke(context, ink("position-ink"), ...style); line(context, cx, cy, ...at(k)); };
  stroke(context, ink("grid"));
  line(context, cx - radius, cy, cx + radius, cy);
  line(context, cx, cy - radius, cx, cy + radius);
  circle(context, cx, cy, radius);
  context.fillStyle = ink("position");
  for (let k = 0; k < Math.min(n, 128); k += 1) context.fillRect(at(k)[0] - 1, at(k)[1] - 1, 2, 2);
  drawArc(view, context, cx, cy, radius);
  hand(i, 2);
  hand(j, 1.5, [4, 3]);
  stroke(context, ink("position-ink"), 1, [1, 3]);
  line(context, 0, at(i)[1], ...at(i));
  pickedDots(view, context, at(i), at(j));
  dialLabels(view, context, cx + radius + 14, cy, width);
}

/** The angle between the two hands, filled: its cosine is this pair's part of P_i · P_j. */
function drawArc(view, context, cx, cy, radius) {
  const { i, j, pair } = view.settings, omega = view.omega[pair], turn = (i - j) * omega;
  const angle = turn - 2 * Math.PI * Math.round(turn / (2 * Math.PI));
  context.beginPath();
  context.moveTo(cx, cy);
  context.arc(cx, cy, radius * 0.45, -j * omega, -(j * omega + angle), angle > 0);
  context.closePath();
  context.globalAlpha = 0.35;
  context.fillStyle = view.ink("position");
  context.fill();
  context.globalAlpha = 1;
}

function dialLabels(view, context, x, y, width) {
  const { i, j, pair } = view.settings, omega = view.omega[pair], step = view.fontSize * 1.45;
  const rows = [`i ω = ${decimals(i * omega, 3)}`, `j ω = ${decimals(j * omega, 3)}`, `cos((i−j)ω)`,
    `= ${decimals(Math.cos((i - j) * omega))}`];
  if (x + context.measureText(rows[2]).width > width || 4 * step > view.panels.dial.surface.height + 6) return;
  rows.forEach((row, k) => write(context, row, x, y + (k - 1.5) * step, view.ink("text")));
}

export function drawProducts(view, context, box) {
  const { n, d, i, j } = view.settings, { row, lowest, omega } = view, most = d / 2;
  const y = (value) => 8 + ((most - value) / (most - lowest || 1)) * (box.height - 14), product = (k) => y(row[k]);
  view.levels(context, box, lowest < -0.15 * most ? [0, most] : [0, most / 2, most], y);
  drawCursors(view, context, box);
  const productAt = (at) => omega.reduce((sum, frequency) => sum + Math.cos((at - i) * frequency), 0);
  if (n * d <= SMOOTH) drawCurve(view, context, box, (at) => y(productAt(at)), 1.5);
  else {
    stroke(context, view.ink("position-ink"), 1.5);
    polyline(context, [...row].map((value, k) => [centre(box, k), y(value)]));
  }
  drawDots(view, context, box, product);
  pickedDots(view, context, [centre(box, i), product(i)], [centre(box, j), product(j)]);
  view.columnTicks(context, box, (box.width + 62) / 60);
}

export function drawGram(view, context, { left, top, width: side, columns: n }) {
  const { i, j } = view.settings, { ink } = view, place = (k) => (k + 0.5) * (side / n);
  const [x, y] = [left + place(j), top + place(i)];
  placePicture(context, view.gramPicture, left, top, side, side);
  stroke(context, ink("text"), 1.5);
  line(context, left, y, left + side, y);
  stroke(context, ink("text"), 1.5, [4, 3]);
  line(context, x, top, x, top + side);
  dot(context, x, y, 4, ink("position-ink"), ink("page"), true);
  write(context, `i = ${i}`, left - 4, Math.max(8, Math.min(top + side - 6, y)), ink("text"), "right");
  write(context, `j = ${j}`, Math.max(left + 14, Math.min(left + side - 14, x)), top + side + 9, ink("text"), "center");
}
