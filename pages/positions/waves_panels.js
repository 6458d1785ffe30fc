// The six panels of the waves, one function each; `view` is the Waves instrument.
import { decimals, grouped, significant, written } from "../../core/components/lib/numbers.js";
import { dot, line, placePicture, stroke, wholeTicks, write } from "../../core/components/lib/position_canvas.js";

/** The cursor of all panels over positions: i solid, j dashed, the hovered one thin. */
function drawCursors(view, context, surface, top, bottom) {
  const { theme, settings, hover } = view;
  stroke(context, theme.ink("text"), 1.5);
  line(context, view.columnCentre(surface, settings.i), top, view.columnCentre(surface, settings.i), bottom);
  stroke(context, theme.ink("text"), 1.5, [4, 3]);
  line(context, view.columnCentre(surface, settings.j), top, view.columnCentre(surface, settings.j), bottom);
  const column = hover && hover.surface !== view.panels.gram ? hover.i ?? hover.j : undefined;
  if (column !== undefined) {
    stroke(context, theme.ink("muted"), 1);
    line(context, view.columnCentre(surface, column), top, view.columnCentre(surface, column), bottom);
  }
  context.setLineDash([]);
}

function positionAxis(view, context, surface) {
  const muted = view.theme.ink("muted");
  const y = view.bodyHeight(surface) + 10;
  for (const tick of wholeTicks(view.settings.n, surface.width / 60))
    write(context, String(tick), view.columnCentre(surface, tick), y, muted, "center");
}

export function drawHeat(view) {
  const [context, surface] = view.begin("heat");
  const { left, width } = view.plot(surface);
  const height = view.bodyHeight(surface);
  const { d, pair } = view.settings;
  const row = height / d;
  placePicture(context, view.heatPicture, left, 0, width, height);
  const muted = view.theme.ink("muted");
  for (const tick of wholeTicks(d, height / 26)) {
    if (Math.abs(tick - 2 * pair) * row > 13)
      write(context, String(tick), left - 6, Math.max(6, (tick + 0.5) * row), muted, "right");
  }
  drawCursors(view, context, surface, 0, height);
  frameRows(view, context, left, 2 * pair * row, width, 2 * row);
  write(context, `${2 * pair}–${2 * pair + 1}`, left - 6, Math.max(6, Math.min(height - 6, (2 * pair + 1) * row)),
    view.theme.ink("position-ink"), "right");
  positionAxis(view, context, surface);
}

/** A frame just outside the picked rows, so that none of them is covered. */
function frameRows(view, context, left, top, width, height) {
  stroke(context, view.theme.ink("page"), 5);
  context.strokeRect(left - 2.5, top - 2.5, width + 5, height + 5);
  stroke(context, view.theme.ink("position-ink"), 2);
  context.strokeRect(left - 1.5, top - 1.5, width + 3, height + 3);
}

export function drawLengths(view) {
  const [context, surface] = view.begin("lengths");
  const { n, d, pair } = view.settings;
  const height = view.bodyHeight(surface);
  const [left, width] = [4, surface.width - 14];
  const top = Math.max(Math.log10(2 * Math.PI / view.omega[d / 2 - 1]), Math.log10(n)) + 0.25;
  const x = (wavelength) => left + ((Math.log10(wavelength) - 0.5) / (top - 0.5)) * width;
  const y = (k) => ((2 * k + 1) / d) * height;
  const muted = view.theme.ink("muted");
  for (let decade = 1; decade < top; decade += 1) {
    stroke(context, view.theme.ink("grid"));
    line(context, x(10 ** decade), 0, x(10 ** decade), height);
    write(context, grouped(10 ** decade), x(10 ** decade), height + 10, muted, "center");
  }
  stroke(context, muted, 1, [2, 3]);
  line(context, x(n), 0, x(n), height);
  write(context, `N = ${n}`, x(n) + (x(n) > left + width - 50 ? -4 : 4), height - 7, muted,
    x(n) > left + width - 50 ? "right" : "left");
  const ink = view.theme.ink("position-ink");
  stroke(context, ink, 2);
  context.beginPath();
  view.omega.forEach((omega, k) => context.lineTo(x(2 * Math.PI / omega), y(k)));
  context.stroke();
  stroke(context, ink, 1);
  line(context, 0, y(pair), x(2 * Math.PI / view.omega[pair]), y(pair));
  dot(context, x(2 * Math.PI / view.omega[pair]), y(pair), 5, ink, view.theme.ink("page"));
  lengthLabel(view, context, x(2 * Math.PI / view.omega[pair]), y(pair), surface.width, height);
}

function lengthLabel(view, context, x, y, width, height) {
  const text = grouped(significant(2 * Math.PI / view.omega[view.settings.pair], 4));
  const right = x + 10 + context.measureText(text).width < width;
  const level = Math.max(8, Math.min(height - 6, y + (right ? -11 : 12)));
  context.font = `600 ${view.fontSize + 1}px ${view.theme.ink("font")}`;
  stroke(context, view.theme.ink("page"), 4);
  context.textAlign = right ? "left" : "right";
  context.textBaseline = "middle";
  context.strokeText(text, x + (right ? 9 : -9), level);
  write(context, text, x + (right ? 9 : -9), level, view.theme.ink("position-ink"), right ? "left" : "right");
}

export function drawWave(view) {
  const [context, surface] = view.begin("wave");
  const { n, d, pair, i } = view.settings;
  const { left, width } = view.plot(surface);
  const height = view.bodyHeight(surface);
  const y = (value) => height / 2 - value * (height / 2 - 6);
  const muted = view.theme.ink("muted");
  stroke(context, view.theme.ink("grid"));
  for (const value of [-1, 0, 1]) {
    line(context, left, y(value), left + width, y(value));
    write(context, written(value), left - 6, y(value), muted, "right");
  }
  drawCursors(view, context, surface, 0, height);
  const omega = view.omega[pair];
  const ink = view.theme.ink("position-ink");
  drawCurve(context, left, width, n, (at) => y(Math.cos(at * omega)), ink, 1.5, [5, 4]);
  drawCurve(context, left, width, n, (at) => y(Math.sin(at * omega)), ink, 2, []);
  const cell = width / n;
  if (cell >= 5) {
    for (let k = 0; k < n; k += 1) {
      dot(context, view.columnCentre(surface, k), y(view.P[k * d + 2 * pair]), Math.min(3, cell / 3), ink,
        view.theme.ink("page"));
    }
  }
  stroke(context, ink, 1, [1, 3]);
  line(context, view.columnCentre(surface, i), y(view.P[i * d + 2 * pair]), surface.width, y(view.P[i * d + 2 * pair]));
  dot(context, view.columnCentre(surface, i), y(view.P[i * d + 2 * pair]), 6, ink, view.theme.ink("page"));
  dot(context, view.columnCentre(surface, view.settings.j), y(view.P[view.settings.j * d + 2 * pair]), 5, ink,
    view.theme.ink("page"), true);
}

/** A function of position as a line, sampled per pixel and between whole positions, so that fast waves
    keep their shape. */
function drawCurve(context, left, width, n, y, colour, thickness, dash) {
  stroke(context, colour, thickness, dash);
  context.beginPath();
  const points = Math.min(4000, Math.max(2 * width, 8 * n));
  for (let k = 0; k <= points; k += 1) {
    const at = -0.5 + (n * k) / points;
    context.lineTo(left + ((at + 0.5) * width) / n, y(at));
  }
  context.stroke();
  context.setLineDash([]);
}

export function drawDial(view) {
  const [context, surface] = view.begin("dial");
  const { i, j, pair, d, n } = view.settings;
  const height = view.bodyHeight(surface);
  const radius = height / 2 - 6;
  const [cx, cy] = [Math.min(surface.width / 2, radius + 30), height / 2];
  const at = (k) => [cx + radius * view.P[k * d + 2 * pair + 1], cy - radius * view.P[k * d + 2 * pair]];
  const { theme } = view;
  stroke(context, theme.ink("grid"));
  line(context, cx - radius, cy, cx + radius, cy);
  line(context, cx, cy - radius, cx, cy + radius);
  context.beginPath();
  context.arc(cx, cy, radius, 0, 2 * Math.PI);
  context.stroke();
  const ink = theme.ink("position-ink");
  context.fillStyle = theme.ink("position");
  for (let k = 0; k < Math.min(n, 128); k += 1) context.fillRect(at(k)[0] - 1, at(k)[1] - 1, 2, 2);
  drawArc(view, context, cx, cy, radius);
  stroke(context, ink, 2);
  line(context, cx, cy, ...at(i));
  stroke(context, ink, 1.5, [4, 3]);
  line(context, cx, cy, ...at(j));
  stroke(context, ink, 1, [1, 3]);
  line(context, 0, at(i)[1], at(i)[0], at(i)[1]);
  dot(context, ...at(j), 5, ink, theme.ink("page"), true);
  dot(context, ...at(i), 6, ink, theme.ink("page"));
  dialLabels(view, context, cx + radius + 14, cy, surface.width);
}

/** The angle between the two hands, filled: its cosine is this pair's part of P_i · P_j. */
function drawArc(view, context, cx, cy, radius) {
  const { i, j, pair } = view.settings;
  const omega = view.omega[pair];
  const turn = (i - j) * omega;
  const shown = turn - 2 * Math.PI * Math.round(turn / (2 * Math.PI));
  context.beginPath();
  context.moveTo(cx, cy);
  context.arc(cx, cy, radius * 0.45, -j * omega, -(j * omega + shown), shown > 0);
  context.closePath();
  context.globalAlpha = 0.35;
  context.fillStyle = view.theme.ink("position");
  context.fill();
  context.globalAlpha = 1;
}

function dialLabels(view, context, x, y, width) {
  const { i, j, pair } = view.settings;
  const omega = view.omega[pair];
  const text = view.theme.ink("text");
  const step = view.fontSize * 1.45;
  const rows = [`i ω = ${decimals(i * omega, 3)}`, `j ω = ${decimals(j * omega, 3)}`, `cos((i−j)ω)`,
    `= ${decimals(Math.cos((i - j) * omega))}`];
  if (x + context.measureText(rows[2]).width > width || 4 * step > view.panels.dial.height + 6) return;
  rows.forEach((row, k) => write(context, row, x, y + (k - 1.5) * step, text));
}

export function drawProducts(view) {
  const [context, surface] = view.begin("products");
  const { n, d, i, j } = view.settings;
  const { left, width } = view.plot(surface);
  const height = view.bodyHeight(surface);
  const most = d / 2;
  const y = (value) => 8 + ((most - value) / (most - view.lowest || 1)) * (height - 14);
  const { theme } = view;
  stroke(context, theme.ink("grid"));
  for (const value of view.lowest < -0.15 * most ? [0, most] : [0, most / 2, most]) {
    line(context, left, y(value), left + width, y(value));
    write(context, String(value), left - 6, y(value), theme.ink("muted"), "right");
  }
  drawCursors(view, context, surface, 0, height);
  const ink = theme.ink("position-ink");
  const between = (at) => view.omega.reduce((sum, omega) => sum + Math.cos((at - i) * omega), 0);
  const smooth = n * d <= 8192;
  if (smooth) drawCurve(context, left, width, n, (at) => y(between(at)), ink, 1.5, []);
  else {
    stroke(context, ink, 1.5);
    context.beginPath();
    view.row.forEach((value, k) => context.lineTo(view.columnCentre(surface, k), y(value)));
    context.stroke();
  }
  if (width / n >= 5)
    view.row.forEach((value, k) => dot(context, view.columnCentre(surface, k), y(value), Math.min(3, width / n / 3),
      ink, theme.ink("page")));
  dot(context, view.columnCentre(surface, i), y(view.row[i]), 6, ink, theme.ink("page"));
  dot(context, view.columnCentre(surface, j), y(view.row[j]), 5, ink, theme.ink("page"), true);
  positionAxis(view, context, surface);
}

export function drawGram(view) {
  const [context, surface] = view.begin("gram");
  const { n, i, j } = view.settings;
  const { left, top, side } = view.square(surface);
  const { theme } = view;
  placePicture(context, view.gramPicture, left, top, side, side);
  const cell = side / n;
  const text = theme.ink("text");
  stroke(context, text, 1.5);
  line(context, left, top + (i + 0.5) * cell, left + side, top + (i + 0.5) * cell);
  stroke(context, text, 1.5, [4, 3]);
  line(context, left + (j + 0.5) * cell, top, left + (j + 0.5) * cell, top + side);
  dot(context, left + (j + 0.5) * cell, top + (i + 0.5) * cell, 4, theme.ink("position-ink"), theme.ink("page"),
    true);
  write(context, `i = ${i}`, left - 4, Math.max(8, Math.min(top + side - 6, top + (i + 0.5) * cell)), text, "right");
  write(context, `j = ${j}`, Math.max(left + 14, Math.min(left + side - 14, left + (j + 0.5) * cell)), top + side + 9,
    text, "center");
}
