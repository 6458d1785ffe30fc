// Each value vector as a dot whose area is its weight, the hull of all, and their weighted mean inside it; a slider
// turns the temperature of the scores.
import { decimals } from "../../core/components/lib/numbers.js";
import {
  dot, fill, Instrument, make, mount, Range, stroke, Surface, write,
} from "../../core/components/lib/position_canvas.js";

const REACH = 6;        // of log2 τ

/** softmax(s / τ) in float64. */
function weightsAt(scores, tau) {
  const top = Math.max(...scores), e = Array.from(scores, (score) => Math.exp((score - top) / tau));
  const total = e.reduce((sum, value) => sum + value, 0);
  return e.map((value) => value / total);
}

/** The corners of the smallest convex polygon around points [[x, y]], in order. */
function hullOf(points) {
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

const tauText = (log) => (log <= -REACH ? "2⁻⁶" : decimals(2 ** log, log < -2 ? 4 : 2));

class Average extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    this.range = new Range(root, "tau",
      { input: (value) => { this.settings.temperature = value; this.schedule(); }, commit: () => this.commit() });
    this.ends = make("div", "ends", root);
    this.surface = new Surface(root, "picture");
    this.surface.point((x, y, phase) => this.pointed(x, y, phase),
      () => ({ places: this.points.map((p) => this.place(p)) }));
    this.tip = make("div", "tip", root);
    this.tip.hidden = true;
  }

  receive(header, send) {
    super.receive(header, send);
    const { tokens, positions, points, scores } = header;
    const pairs = tokens.map((_, j) => [points[2 * j], points[2 * j + 1]]);
    Object.assign(this, { tokens, positions, points: pairs, scores });
    this.hull = hullOf(this.points);
    this.way = Array.from({ length: 61 }, (_, k) => this.meanAt(2 ** (-REACH + (2 * REACH * k) / 60)));
    this.range.title(this.labels.temperature);
    const [low, middle, high] = this.labels.ends.split("|");
    this.ends.replaceChildren();
    for (const text of [low, middle, high]) make("span", "", this.ends, text);
  }

  meanAt(tau) {
    const weights = weightsAt(this.scores, tau);
    return [0, 1].map((c) => weights.reduce((sum, weight, j) => sum + weight * this.points[j][c], 0));
  }

  place([x, y]) {
    const { width, height } = this.surface, pad = 34, all = this.points;
    const [xs, ys] = [0, 1].map((c) => [Math.min(...all.map((p) => p[c])), Math.max(...all.map((p) => p[c]))]);
    const scale = Math.min((width - 2 * pad) / (xs[1] - xs[0] || 1), (height - 2 * pad) / (ys[1] - ys[0] || 1));
    return [width / 2 + (x - (xs[0] + xs[1]) / 2) * scale, height / 2 - (y - (ys[0] + ys[1]) / 2) * scale];
  }

  draw() {
    const { surface, settings: { temperature: log }, fontSize } = this;
    const main = this.root.getRootNode().host?.closest('[data-testid="stMain"]');
    const top = surface.canvas.getBoundingClientRect().top + (main?.scrollTop ?? 0);
    surface.canvas.style.height =
      `${Math.max(230, Math.min(480, window.innerHeight - top - (fontSize > 12 ? 90 : 60)))}px`;
    surface.measure();
    this.range.set(-REACH, REACH, 0.1, log, `τ = ${tauText(log)}`);
    const context = surface.begin(), ink = this.theme.ink, weights = weightsAt(this.scores, 2 ** log);
    const mean = this.meanAt(2 ** log);
    this.weights = weights;
    context.beginPath();
    this.hull.map((p) => this.place(p)).forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.globalAlpha = 0.1;
    context.fillStyle = ink("value");
    context.fill();
    context.globalAlpha = 1;
    stroke(context, ink("value-ink"), 1, [4, 3]);
    context.stroke();
    stroke(context, ink("attention-ink"), 1.5, [2, 3]);
    context.beginPath();
    this.way.map((p) => this.place(p)).forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    this.points.forEach((p, j) => dot(context, ...this.place(p), 2.5 + 17 * Math.sqrt(weights[j]), ink("value"),
      ink("page")));
    const [x, y] = this.place(mean);
    this.diamond(context, x, y, ink);
    this.names(context, weights, [x, y], ink);
    surface.canvas.setAttribute("aria-label", fill(this.labels.spoken, { tau: tauText(log),
      token: this.tokens[weights.indexOf(Math.max(...weights))], alpha: decimals(Math.max(...weights)) }));
  }

  diamond(context, x, y, ink) {
    context.setLineDash([]);
    context.beginPath();
    for (const [dx, dy] of [[0, -9], [9, 0], [0, 9], [-9, 0]]) context.lineTo(x + dx, y + dy);
    context.closePath();
    context.fillStyle = ink("attention");
    context.strokeStyle = ink("text");
    context.lineWidth = 2;
    context.fill();
    context.stroke();
  }

  /** The output's letter, then tokens by weight, as far as they find room. */
  names(context, weights, [x, y], ink) {
    const taken = [];
    const put = (text, px, py, meaning, bold, apart) => {
      const size = this.fontSize + (bold ? 5 : 0);
      context.font = `${bold ? "700 " : ""}${size}px ${this.theme.ink("mono")}`;
      const w = context.measureText(text).width;
      for (const [bx, by] of [[px + apart, py - size / 2], [px - apart - w, py - size / 2],
        [px - w / 2, py - apart - size], [px - w / 2, py + apart]]) {
        if (bx < 2 || by < 2 || bx + w > this.surface.width - 2 || by + size > this.surface.height - 2) continue;
        if (taken.some(([l, t, r, b]) => bx < r && bx + w > l && by < b && by + size > t)) continue;
        taken.push([bx - 3, by - 1, bx + w + 3, by + size + 1]);
        context.lineJoin = "round";
        stroke(context, ink("page"), 4);
        context.textAlign = "left";
        context.textBaseline = "middle";
        context.strokeText(text, bx, by + size / 2);
        write(context, text, bx, by + size / 2, ink(meaning));
        return;
      }
    };
    taken.push([x - 10, y - 10, x + 10, y + 10]);
    put(this.labels.output, x, y, "attention-ink", true, 12);
    [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, 14).forEach(
      (j) => put(this.tokens[j], ...this.place(this.points[j]), "text", false, 5 + 17 * Math.sqrt(weights[j])));
  }

  pointed(x, y, phase) {
    if (phase === "out" || !this.weights) { this.tip.hidden = true; return; }
    const distances = this.points.map((p) => { const [px, py] = this.place(p); return Math.hypot(px - x, py - y); });
    const j = distances.indexOf(Math.min(...distances));
    this.tip.hidden = distances[j] > 24;
    this.tip.textContent = `${this.positions[j]} ${this.tokens[j]}: α = ${decimals(this.weights[j])}`;
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.surface.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${this.surface.canvas.offsetTop + Math.max(0, y - 30)}px`;
  }
}

export default function (component) {
  return mount(component, Average);
}
