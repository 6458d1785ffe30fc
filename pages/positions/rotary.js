// Rotary positions: each pair of a query and of a key turned by its position, and the score that depends on the
// distance alone. float64.
import { decimals, grouped, scientific, significant, written } from "../../core/components/lib/numbers.js";
import {
  dot, fill, Instrument, line, make, mount, panelIn, Range, rich, stroke, write,
} from "../../core/components/lib/position_canvas.js";

const FARTHEST = 128;

/** The pairs of x (d_k) turned by their angles: member m of the first half pairs with member m of the second, as in
    core/model/positional.py. */
function rotated(x, angles) {
  const half = x.length / 2;
  const out = new Float64Array(x.length);
  for (let m = 0; m < half; m += 1) {
    const [cos, sin] = [Math.cos(angles[m]), Math.sin(angles[m])];
    out[m] = x[m] * cos - x[m + half] * sin;
    out[m + half] = x[m] * sin + x[m + half] * cos;
  }
  return out;
}

const product = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);

class Rotary extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    const controls = make("div", "controls", root);
    const set = (name, convert = (x) => x) => ({ input: (value) => { this.settings[name] = convert(value);
      this.schedule(); }, commit: () => this.commit() });
    this.ranges = { i: new Range(controls, "i", set("i")),
      j: new Range(controls, "j", set("j")), shift: new Range(controls, "shift", set("shift")),
      base: new Range(controls, "base", set("base", (exponent) => Number((10 ** exponent).toPrecision(3)))) };
    this.dials = panelIn(root, "dials");
    this.curve = panelIn(root, "curve");
    this.reading = make("p", "reading", root);
    this.reading.setAttribute("aria-live", "polite");
    this.curve.surface.point((x, y, phase) => this.pointed(x, phase));
  }

  receive(header, send) {
    super.receive(header, send);
    this.names = header.names;
    this.q = Float64Array.from(header.q);
    this.k = Float64Array.from(header.k);
  }

  /** Pressing in the curve sets the distance: i moves, j stays. */
  pointed(x, phase) {
    if (phase === "down" || phase === "drag") {
      const distance = Math.round(((x - 52) / (this.curve.surface.width - 62)) * 2 * FARTHEST - FARTHEST);
      this.settings.i = Math.max(0, Math.min(FARTHEST, this.settings.j + distance));
      this.schedule();
    }
    if (phase === "up") this.commit();
  }

  turned(x, position) {
    return rotated(x, this.omega.map((omega) => position * omega));
  }

  score(i, j) {
    return product(this.turned(this.q, i), this.turned(this.k, j));
  }

  draw() {
    const { i, j, shift, base } = this.settings;
    const half = this.q.length / 2;
    this.omega = Float64Array.from({ length: half }, (_, m) => base ** (-(2 * m) / this.q.length));
    this.unshifted = this.score(i, j);
    this.shifted = this.score(i + shift, j + shift);
    this.scores = Float64Array.from({ length: 2 * FARTHEST + 1 }, (_, k) => this.score(k - FARTHEST, 0));
    this.describe();
    this.dials.surface.measure();
    this.curve.surface.measure();
    this.drawDials();
    this.drawCurve();
  }

  describe() {
    const { i, j, shift, base } = this.settings;
    const { labels, ranges } = this;
    for (const [name, range] of Object.entries(ranges)) range.title(labels[name]);
    ranges.i.set(0, FARTHEST, 1, i, String(i));
    ranges.j.set(0, FARTHEST, 1, j, String(j));
    ranges.shift.set(0, 4096, 1, shift, String(shift));
    ranges.base.set(0, 6, 0.05, Number(Math.log10(base).toFixed(6)), grouped(base));
    const difference = Math.abs(this.shifted - this.unshifted);
    const values = { ...this.names, i, j, shift, distance: written(i - j),
      ishift: i + shift, jshift: j + shift, pairs: this.omega.length,
      score: written(this.unshifted.toFixed(15)), shifted: written(this.shifted.toFixed(15)),
      difference: difference === 0 ? "0" : scientific(difference), short: decimals(this.unshifted) };
    this.dials.say(fill(labels.dials, values));
    this.curve.say(fill(labels.curve, values));
    rich(this.reading, fill(labels.reading, values));
  }

  drawDials() {
    const { surface } = this.dials;
    const context = surface.begin();
    context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
    const pairs = this.omega.length;
    const columns = Math.min(pairs, surface.width > 900 ? 8 : surface.width > 600 ? 8 : 4);
    const rows = Math.ceil(pairs / columns);
    const [width, height] = [surface.width / columns, surface.height / rows];
    const { i, j, shift } = this.settings;
    const [q, k] = [this.turned(this.q, i + shift), this.turned(this.k, j + shift)];
    for (let m = 0; m < pairs; m += 1)
      this.drawDial(context, m, q, k, (m % columns) * width, Math.floor(m / columns) * height, width, height);
  }

  drawDial(context, m, q, k, left, top, width, height) {
    const half = this.omega.length;
    const { theme } = this;
    const radius = Math.max(12, Math.min(width - 16, height - 2.6 * this.fontSize - 14) / 2);
    const [cx, cy] = [left + width / 2, top + radius + 6];
    const longest = Math.max(Math.hypot(q[m], q[m + half]), Math.hypot(k[m], k[m + half])) || 1;
    const tip = (x) => [cx + (x[m] / longest) * radius, cy - (x[m + half] / longest) * radius];
    stroke(context, theme.ink("grid"));
    context.beginPath();
    context.arc(cx, cy, radius, 0, 2 * Math.PI);
    context.stroke();
    stroke(context, theme.ink("muted"), 1, [1, 3]);
    line(context, cx, cy, ...tip(this.q));
    line(context, cx, cy, ...tip(this.k));
    stroke(context, theme.ink("query-ink"), 2.5);
    line(context, cx, cy, ...tip(q));
    stroke(context, theme.ink("key-ink"), 2.5, [5, 3]);
    line(context, cx, cy, ...tip(k));
    dot(context, ...tip(k), 4, theme.ink("key-ink"), theme.ink("page"), true);
    dot(context, ...tip(q), 4.5, theme.ink("query-ink"), theme.ink("page"));
    const part = q[m] * k[m] + q[m + half] * k[m + half];
    write(context, `ω ${significant(this.omega[m])}`, cx, cy + radius + 6 + this.fontSize * 0.6, theme.ink("muted"),
      "center");
    write(context, (part >= 0 ? "+" : "") + decimals(part, 3), cx, cy + radius + 6 + this.fontSize * 1.75,
      theme.ink("text"), "center");
  }

  drawCurve() {
    const { surface } = this.curve;
    const context = surface.begin();
    context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
    const [left, width, height] = [52, surface.width - 62, surface.height - 18];
    const [low, high] = [Math.min(0, ...this.scores), Math.max(0, ...this.scores)];
    const room = (high - low) * 0.08 || 1;
    const x = (distance) => left + ((distance + FARTHEST) / (2 * FARTHEST)) * width;
    const y = (value) => ((high + room - value) / (high - low + 2 * room)) * height;
    const { theme } = this;
    stroke(context, theme.ink("grid"));
    line(context, left, y(0), left + width, y(0));
    for (const value of [low, 0, high])
      if (value === 0 || Math.abs(y(value) - y(0)) > 12)
        write(context, value === 0 ? "0" : decimals(value, 1), left - 6, y(value), theme.ink("muted"), "right");
    for (let distance = -FARTHEST; distance <= FARTHEST; distance += 32)
      write(context, written(distance), x(distance), height + 10, theme.ink("muted"), "center");
    stroke(context, theme.ink("position-ink"), 2);
    context.beginPath();
    this.scores.forEach((value, k) => context.lineTo(x(k - FARTHEST), y(value)));
    context.stroke();
    const distance = this.settings.i - this.settings.j;
    stroke(context, theme.ink("text"), 1.5);
    line(context, x(distance), 0, x(distance), height);
    dot(context, x(distance), y(this.unshifted), 6, theme.ink("position-ink"), theme.ink("page"));
  }
}

export default function (component) {
  return mount(component, Rotary);
}
