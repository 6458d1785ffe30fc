// Each value vector as a dot whose area is its weight, the hull of all, and their weighted mean inside it; a slider
// turns the temperature of the scores.
import { diamond, dot, shade, stroke, write } from "../../core/components/lib/canvas.js";
import { fill, make } from "../../core/components/lib/dom.js";
import { Instrument, Range } from "../../core/components/lib/instrument.js";
import { decimals } from "../../core/components/lib/numbers.js";
import { showTip } from "../../core/components/lib/pattern.js";
import { Surface } from "../../core/components/lib/surface.js";
import { fitHeight, mounted } from "../../core/components/lib/view.js";

const REACH = 6;        // of log2 τ
const MOST_NAMES = 14;  // of tokens beside their dots
const OUTPUT = 9;       // pixels, from the middle of the output's mark to its corners

/** softmax(s / τ) in float64. */
export function weightsAt(scores, tau) {
  const top = Math.max(...scores), powers = Array.from(scores, (score) => Math.exp((score - top) / tau));
  const total = powers.reduce((sum, value) => sum + value, 0);
  return powers.map((value) => value / total);
}

/** The corners of the smallest convex polygon around points [[x, y]], in order. */
export function hullOf(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1) {
        const [a, b] = chain.slice(-2);
        if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0) break;
        chain.pop();
      }
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half([...sorted].reverse())];
}

/** The radius in pixels of a value vector's dot, whose area grows with its weight. */
const radiusOf = (weight) => 2.5 + 17 * Math.sqrt(weight);

const tauText = (log) => (log <= -REACH ? "2⁻⁶" : decimals(2 ** log, log < -2 ? 4 : 2));

/** points: two numbers of each token's value vector, in the plane.
 * @typedef {{ tokens: string[], positions: number[], points: Float32Array, scores: Float32Array,
 *   settings: { temperature: number }, labels: Record<string, string>, present: boolean }} Message */

/** @extends {Instrument<Omit<Message, "points"> & Record<"points" | "hull", number[][]>>} */
class Average extends Instrument {
  constructor(root) {
    super(root);
    this.settings = /** @type {Message["settings"]} */ ({});
    this.range = new Range(root, "tau",
      { input: (value) => { this.settings.temperature = value; this.schedule(); }, commit: () => this.commit() });
    this.ends = make("div", "ends", root);
    this.surface = new Surface(root, "picture");
    this.surface.point((x, y, phase) => this.pointed(x, y, phase),
      () => ({ places: this.points.map((p) => this.place(p)) }));
    this.tip = make("div", "tip", root);
    this.tip.hidden = true;
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    const { tokens, positions, points, scores } = header;
    const pairs = tokens.map((_, j) => [points[2 * j], points[2 * j + 1]]);
    Object.assign(this, { tokens, positions, points: pairs, scores, hull: hullOf(pairs) });
    this.path = Array.from({ length: 61 }, (_, k) => this.meanAt(2 ** (-REACH + (2 * REACH * k) / 60)));
    this.range.title(this.labels.temperature);
    this.ends.replaceChildren(...this.labels.ends.split("|").map((text) => make("span", "", null, text)));
  }

  meanAt(tau) {
    const weights = weightsAt(this.scores, tau);
    return [0, 1].map((c) => weights.reduce((sum, weight, j) => sum + weight * this.points[j][c], 0));
  }

  /** The pixel of a point of the plane. @param {number[]} point */
  place([x, y]) {
    const { width, height } = this.surface, pad = 34, all = this.points;
    const [xs, ys] = [0, 1].map((c) => [Math.min(...all.map((p) => p[c])), Math.max(...all.map((p) => p[c]))]);
    const scale = Math.min((width - 2 * pad) / (xs[1] - xs[0] || 1), (height - 2 * pad) / (ys[1] - ys[0] || 1));
    return [width / 2 + (x - (xs[0] + xs[1]) / 2) * scale, height / 2 - (y - (ys[0] + ys[1]) / 2) * scale];
  }

  draw() {
    const { surface, settings: { temperature: log }, fontSize, theme: { ink } } = this;
    surface.canvas.style.height = `${fitHeight(surface.canvas, 230, 480, fontSize > 12 ? 20 : 40)}px`;
    surface.measure();
    this.range.set(-REACH, REACH, 0.1, log, `τ = ${tauText(log)}`);
    const context = surface.begin(), weights = (this.weights = weightsAt(this.scores, 2 ** log));
    this.trace(context, this.hull);
    context.closePath();
    shade(context, ink, "value", 0.1);
    stroke(context, ink("attention-ink"), 1.5, [2, 3]);
    this.trace(context, this.path);
    context.stroke();
    this.points.forEach((p, j) => dot(context, ...this.place(p), radiusOf(weights[j]), ink("value"), ink("page")));
    const mean = this.place(this.meanAt(2 ** log)), alpha = Math.max(...weights);
    diamond(context, mean[0], mean[1], OUTPUT, ink("attention"), ink("text"));
    this.names(context, weights, mean);
    surface.canvas.ariaLabel = fill(this.labels.spoken, { tau: tauText(log),
      token: this.tokens[weights.indexOf(alpha)], alpha: decimals(alpha) });
  }

  /** Make the points of a line the context's path. */
  trace(context, points) {
    context.beginPath();
    for (const p of points) context.lineTo(...this.place(p));
  }

  /** Write the output's letter, then the tokens in the order of their weights, where there is room.
      @param {number[]} output its place in pixels */
  names(context, weights, output) {
    const [x, y] = output;
    const taken = [[x - 10, y - 10, x + 10, y + 10]], { theme: { ink }, surface: { width, height }, fontSize } = this;
    const label = (text, point, meaning, gap, size, weight = "") => {
      context.font = `${weight}${size}px ${ink("mono")}`;
      const w = context.measureText(text).width, [px, py] = point;
      const isFree = ([left, top]) => left >= 2 && top >= 2 && left + w <= width - 2 && top + size <= height - 2
        && !taken.some(([l, t, r, b]) => left < r && left + w > l && top < b && top + size > t);
      const place = [[px + gap, py - size / 2], [px - gap - w, py - size / 2], [px - w / 2, py - gap - size],
        [px - w / 2, py + gap]].find(isFree);
      if (!place) return;
      const [left, top] = place;
      taken.push([left - 3, top - 1, left + w + 3, top + size + 1]);
      write(context, text, left, top + size / 2, ink(meaning), "left", { halo: ink("page") });
    };
    label(this.labels.output, output, "attention-ink", 12, fontSize + 5, "700 ");
    for (const j of [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, MOST_NAMES))
      label(this.tokens[j], this.place(this.points[j]), "text", radiusOf(weights[j]) + 2.5, fontSize);
  }

  pointed(x, y, phase) {
    this.tip.hidden = true;
    if (phase === "out" || !this.weights) return;
    const distances = this.points.map((p) => { const [px, py] = this.place(p); return Math.hypot(px - x, py - y); });
    const nearest = Math.min(...distances), j = distances.indexOf(nearest);
    if (nearest > 24) return;
    showTip(this.tip, [`${this.positions[j]} ${this.tokens[j]}: α = ${decimals(this.weights[j])}`], x,
      this.surface.canvas.offsetTop + y, 12);
  }
}

export default mounted(Average);
