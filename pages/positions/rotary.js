// Rotary positions: each pair of a query and of a key turned by its position, and the score that depends on the
// distance alone. float64.
import { dot, line, stroke, write } from "../../core/components/lib/canvas.js";
import { fill, marked } from "../../core/components/lib/dom.js";
import { decimals, powerOfTen, significant, written } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { baseAt, circle, Panels, polyline } from "./panels.js";
import { frequencies, rotated } from "./schemes.js";

const FARTHEST = 128;

const product = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);

/** @typedef {{ q: number[], k: number[], names: Record<"head" | "q_token" | "k_token", string>,
 *   settings: Record<"i" | "j" | "shift" | "base" | "pair", number> & { all: boolean },
 *   labels: Record<string, string>, present: boolean }} Message */

/** @extends {Panels<Pick<Message, "settings">>} */
class Rotary extends Panels {
  constructor(root) {
    super(root);
    for (const name of ["i", "j", "shift"]) this.range(name);
    this.range("base", { convert: baseAt });
    this.range("pair");
    this.showChoice = this.checkbox(this.controls, "all", () => undefined);
    // the ranges do all that the pointer does
    this.panel("dials", false).surface.canvas.style.pointerEvents = "none";
    this.panel("curve", false);
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    this.names = header.names;
    this.q = Float64Array.from(header.q);
    this.k = Float64Array.from(header.k);
    this.showChoice();
  }

  cells() {
    const { surface } = this.panels.curve;
    return { left: 52, width: surface.width - 52 - 1.5 * this.fontSize, height: surface.height - 18,
      columns: 2 * FARTHEST + 1, rows: 1 };
  }

  /** A press on the curve sets the distance: i moves, j stays. */
  pick({ x }) {
    const { left, width } = this.cells(), distance = Math.round((((x - left) / width) * 2 - 1) * FARTHEST);
    this.settings.i = Math.max(0, Math.min(FARTHEST, this.settings.j + distance));
  }

  turned(x, position) {
    return rotated(x, this.omega.map((omega) => position * omega));
  }

  score(i, j) {
    return product(this.turned(this.q, i), this.turned(this.k, j));
  }

  compute() {
    const { i, j, shift, base } = this.settings;
    this.omega = frequencies(this.q.length, base);
    this.unshifted = this.score(i, j);
    this.shifted = this.score(i + shift, j + shift);
    this.scores = Float64Array.from({ length: 2 * FARTHEST + 1 }, (_, k) => this.score(k - FARTHEST, 0));
  }

  describe() {
    const { i, j, shift } = this.settings, difference = Math.abs(this.shifted - this.unshifted);
    this.show("i", 0, FARTHEST);
    this.show("j", 0, FARTHEST);
    this.show("shift", 0, 4096);
    this.showBase();
    this.show("pair", 0, this.omega.length - 1);
    this.ranges.pair.node.disabled = this.settings.all;
    this.root.classList.toggle("all", this.settings.all);
    const values = { ...this.names, i, j, shift, pair: this.settings.pair, distance: written(i - j),
      ishift: i + shift, jshift: j + shift, pairs: this.omega.length,
      score: decimals(this.unshifted), shifted: decimals(this.shifted),
      difference: powerOfTen(difference) };
    this.caption(values, (name) => (name === "dials" && this.settings.all ? "all_dials" : name));
    marked(this.reading, fill(this.labels[shift ? "reading_shifted" : "reading"], values));
  }

  drawPanel(name, context) {
    if (name === "dials") this.drawDials(context);
    else this.drawCurve(context);
  }

  drawDials(context) {
    const { surface } = this.panels.dials, pairs = this.omega.length, { i, j, shift, pair, all } = this.settings;
    const [q, k] = [this.turned(this.q, i + shift), this.turned(this.k, j + shift)];
    if (!all) {
      this.drawOne(context, pair, q, k);
      return;
    }
    const columns = Math.min(pairs, surface.width > 600 ? 8 : 4), rows = Math.ceil(pairs / columns);
    const [width, height] = [surface.width / columns, surface.height / rows];
    for (let m = 0; m < pairs; m += 1)
      this.drawDial(context, m, q, k, (m % columns) * width, Math.floor(m / columns) * height, width, height);
  }

  /** One pair as a large clock, and beside it in words what its hands say. */
  drawOne(context, m, q, k) {
    const { surface } = this.panels.dials, { labels, fontSize } = this, { i, j, shift } = this.settings;
    const rows = ["turn", "query", "key", "between", "part"], step = 1.9 * fontSize, isNarrow = surface.width < 520;
    const size = isNarrow ? surface.height - (rows.length + 1) * step : Math.min(surface.height, surface.width * 0.55);
    const centre = [isNarrow ? surface.width / 2 : size / 2, isNarrow ? size / 2 : surface.height / 2];
    const tips = this.drawHands(context, m, q, k, ...centre, size / 2 - 2 * fontSize);
    const names = [["query-ink", tips.q, this.names.q_token], ["key-ink", tips.k, this.names.k_token]];
    for (const [colour, [x, y], name] of names)
      write(context, name, x + (x < centre[0] ? -10 : 10), y, this.ink(colour), x < centre[0] ? "right" : "left",
        { halo: this.ink("page") });
    const omega = this.omega[m], half = this.omega.length, part = q[m] * k[m] + q[m + half] * k[m + half];
    const values = { pair: m, omega: significant(omega), turn: significant((2 * Math.PI) / omega, 4),
      part: decimals(part),
      i: i + shift, j: j + shift, iangle: decimals((i + shift) * omega, 3), jangle: decimals((j + shift) * omega, 3),
      between: decimals((i - j) * omega, 3), distance: written(i - j) };
    const left = isNarrow ? 4 : size + fontSize, top = isNarrow ? size + step : centre[1] - 2 * step;
    rows.forEach((row, n) => write(context, fill(labels[`one_${row}`], values), left, top + n * step,
      this.ink({ query: "query-ink", key: "key-ink" }[row] ?? "text")));
  }

  /** The two hands of a pair: before turning dotted, after it the query solid and the key dashed. Return their tips. */
  drawHands(context, m, q, k, cx, cy, radius) {
    const half = this.omega.length, { ink } = this;
    const longest = Math.max(Math.hypot(q[m], q[m + half]), Math.hypot(k[m], k[m + half])) || 1;
    const tip = (x) => [cx + (x[m] / longest) * radius, cy - (x[m + half] / longest) * radius];
    const hand = (x, ...style) => { stroke(context, ...style); line(context, cx, cy, ...tip(x)); };
    stroke(context, ink("grid"));
    circle(context, cx, cy, radius);
    line(context, cx - radius, cy, cx + radius, cy);
    line(context, cx, cy - radius, cx, cy + radius);
    for (const unturned of [this.q, this.k]) hand(unturned, ink("muted"), 1, [1, 3]);
    hand(q, ink("query-ink"), 2.5);
    hand(k, ink("key-ink"), 2.5, [5, 3]);
    dot(context, ...tip(k), 4, ink("key-ink"), ink("page"), true);
    dot(context, ...tip(q), 4.5, ink("query-ink"), ink("page"));
    return { q: tip(q), k: tip(k) };
  }

  drawDial(context, m, q, k, left, top, width, height) {
    const half = this.omega.length, { ink, fontSize } = this;
    const radius = Math.max(12, Math.min(width - 16, height - 2.6 * fontSize - 14) / 2);
    const [cx, cy] = [left + width / 2, top + radius + 6], below = cy + radius + 6;
    this.drawHands(context, m, q, k, cx, cy, radius);
    const part = q[m] * k[m] + q[m + half] * k[m + half];
    this.tick(context, `ω ${significant(this.omega[m])}`, cx, below + fontSize * 0.6, "center");
    write(context, (part >= 0 ? "+" : "") + decimals(part, 3), cx, below + fontSize * 1.75, ink("text"), "center");
  }

  drawCurve(context) {
    const box = this.cells(), { left, width, height } = box, { i, j } = this.settings;
    const [low, high] = [Math.min(0, ...this.scores), Math.max(0, ...this.scores)], room = (high - low) * 0.08 || 1;
    const x = (distance) => left + ((distance + FARTHEST) / (2 * FARTHEST)) * width;
    const y = (value) => ((high + room - value) / (high - low + 2 * room)) * height;
    this.levels(context, box, [0], y);
    for (const value of [low, high])
      if (Math.abs(y(value) - y(0)) > 12) this.tick(context, decimals(value, 1), left - 6, y(value));
    for (let distance = -FARTHEST; distance <= FARTHEST; distance += 32)
      this.tick(context, distance, x(distance), height + 10, "center");
    stroke(context, this.ink("position-ink"), 2);
    polyline(context, [...this.scores].map((value, k) => [x(k - FARTHEST), y(value)]));
    stroke(context, this.ink("text"), 1.5);
    line(context, x(i - j), 0, x(i - j), height);
    dot(context, x(i - j), y(this.unshifted), 6, this.ink("position-ink"), this.ink("page"));
  }
}

export default mounted(Rotary);
