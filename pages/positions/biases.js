// Biases on the scores: ALiBi's straight lines, one slope a head, and a relative table r_{i−j} that the reader bends by
// hand. Each beside its matrix and beside the attention it makes where all q · k are equal.
import { hatch } from "../../core/components/lib/canvas.js";
import { decimals, significant, written } from "../../core/components/lib/numbers.js";
import {
  dot, fill, Instrument, line, make, matrixPicture, mount, panelIn, placePicture, Range, rich, stroke, wholeTicks,
  write,
} from "../../core/components/lib/position_canvas.js";

const STRONGEST = 4;
const LOWER = 4;      // pixels between the lowest entry of the table and the picture's lower edge

/** ALiBi's slopes for any number of heads, as in core/model/positional.py. */
function slopes(heads) {
  const powers = (n) => Array.from({ length: n }, (_, k) => 2 ** ((-8 * (k + 1)) / n));
  const below = 2 ** Math.floor(Math.log2(heads));
  return [...powers(below), ...powers(2 * below).filter((_, k) => k % 2 === 0).slice(0, heads - below)];
}

/** Softmax of the biases in each row i over its keys: 0 … i under a causal mask, else all n. */
function attention(bias, n, causal) {
  const out = new Float64Array(n * n).fill(NaN);
  for (let i = 0; i < n; i += 1) {
    const keys = causal ? i + 1 : n;
    let top = -Infinity;
    for (let j = 0; j < keys; j += 1) top = Math.max(top, bias(i, j));
    let total = 0;
    for (let j = 0; j < keys; j += 1) total += out[i * n + j] = Math.exp(bias(i, j) - top);
    for (let j = 0; j < keys; j += 1) out[i * n + j] /= total;
  }
  return out;
}

class Biases extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    this.hover = null;
    this.tall = true;
    const controls = make("div", "controls", root);
    const range = (name) => new Range(controls, name, { input: (value) => { this.settings[name] = value;
      this.schedule(); }, commit: () => this.commit() });
    this.ranges = { heads: range("heads"), head: range("head"), n: range("n"), clip: range("clip") };
    const grid = make("div", "panels", root);
    this.panels = {};
    for (const name of ["lines", "alibi", "alibi-weights", "table", "relative", "relative-weights"]) {
      this.panels[name] = panelIn(grid, name);
      const cells = () => ({ ...this.box(name, this.panels[name].surface), columns: this.settings.n,
        rows: name === "lines" ? 1 : this.settings.n });
      // the table has ranges
      this.panels[name].surface.point((x, y, phase) => this.pointed(name, x, y, phase),
        name === "table" ? null : cells);
    }
    this.buildTable(this.panels.table.cell);
    this.reading = make("p", "reading", root);
    this.reading.setAttribute("aria-live", "polite");
  }

  /** One native range for the picked distance of the table, so that the keyboard can bend it too. */
  buildTable(cell) {
    const row = make("div", "entry", cell);
    this.distance = new Range(row, "distance",
      { input: (value) => { this.settings.distance = value; this.schedule(); }, commit: () => this.commit() });
    this.value = new Range(row, "value",
      { input: (value) => { this.bend(this.settings.distance, value); }, commit: () => this.commit() });
  }

  entries() {
    return this.settings.r.split(",").map(Number);
  }

  /** The table's entry of a distance i − j; longer distances share the last one. */
  entry(distance) {
    return this.r[Math.max(-this.settings.clip, Math.min(this.settings.clip, distance)) + (this.r.length - 1) / 2];
  }

  bend(distance, value) {
    const r = this.entries();
    r[Math.max(-this.settings.clip, Math.min(this.settings.clip, distance)) + (r.length - 1) / 2] =
      Math.round(value * 20) / 20;
    this.settings.r = r.join(",");
    this.schedule();
  }

  box(name, surface) {
    // half a line above, for the label of the topmost row
    const [left, top] = [40, Math.ceil(this.fontSize / 2)], height = surface.height - top - 18;
    return { left, top, height, width: name === "lines" || name === "table" ? surface.width - left - 8
        : Math.min(height, surface.width - left - 4) };
  }

  pointed(name, x, y, phase) {
    const { left, top, height, width } = this.box(name, this.panels[name].surface);
    const inside = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    const { n, clip } = this.settings;
    if (phase === "out") this.hover = null;
    else if (name === "table") {
      const distance = inside((x - left) / width, 2 * clip + 1) - clip;
      this.hover = { name, distance };
      if (phase === "down" || phase === "drag") {
        this.settings.distance = distance;
        this.bend(distance,
          Math.max(-STRONGEST, Math.min(STRONGEST, STRONGEST * (1 - (2 * (y - top)) / (height - LOWER)))));
      }
    } else if (name === "lines") this.hover = { name, distance: inside((x - left) / width, n) };
    else this.hover = { name, i: inside((y - top) / height, n), j: inside((x - left) / width, n) };
    if (phase === "up") this.commit();
    this.schedule();
  }

  draw() {
    const s = this.settings;
    s.head = Math.min(s.head, s.heads - 1);
    this.r = this.entries();
    s.clip = Math.min(s.clip, (this.r.length - 1) / 2);
    s.distance = Math.max(-s.clip, Math.min(s.clip, s.distance));
    this.slopes = slopes(s.heads);
    const slope = this.slopes[s.head];
    this.bias = { alibi: (i, j) => -slope * (i - j), relative: (i, j) => this.entry(i - j) };
    this.weights = { alibi: attention(this.bias.alibi, s.n, true),
      relative: attention(this.bias.relative, s.n, false) };
    this.describe(slope);
    for (const [name, { surface }] of Object.entries(this.panels)) {
      surface.measure();
      const context = surface.begin();
      context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
      if (name === "lines") this.drawLines(context, surface);
      else if (name === "table") this.drawTable(context, surface);
      else this.drawMatrix(context, name, surface);
    }
  }

  describe(slope) {
    const { settings: s, labels, ranges } = this;
    const set = (range, label, ...rest) => { range.title(label); range.set(...rest); };
    set(ranges.heads, labels.heads, 1, 32, 1, s.heads, String(s.heads));
    set(ranges.head, labels.head, 0, s.heads - 1, 1, s.head, String(s.head));
    set(ranges.n, labels.n, 4, 96, 1, s.n, String(s.n));
    set(ranges.clip, labels.clip, 1, (this.r.length - 1) / 2, 1, s.clip, String(s.clip));
    set(this.distance, labels.distance, -s.clip, s.clip, 1, s.distance, written(s.distance));
    set(this.value, labels.value, -STRONGEST, STRONGEST, 0.05, this.entry(s.distance),
      decimals(this.entry(s.distance), 2));
    const half = Math.LN2 / slope;
    const values = { head: s.head, heads: s.heads, slope: significant(slope), half: significant(half), n: s.n,
      clip: s.clip };
    for (const [name, { say }] of Object.entries(this.panels)) say(fill(labels[`${name.replace("-", "_")}`], values));
    rich(this.reading, this.hover ? this.hoverText() : labels.hint);
  }

  hoverText() {
    const { name, i, j, distance } = this.hover;
    if (name === "lines")
      return fill(this.labels.tip_lines, { distance, bias: decimals(-this.slopes[this.settings.head] * distance),
        factor: decimals(Math.exp(-this.slopes[this.settings.head] * distance)) });
    if (name === "table")
      return fill(this.labels.tip_table,
        { distance: written(distance), bias: decimals(this.entry(distance), 2) });
    const which = name.split("-")[0];
    if (which === "alibi" && j > i) return fill(this.labels.tip_masked, { i, j });
    return fill(this.labels.tip, { i, j, distance: written(i - j),
      bias: decimals(this.bias[which](i, j)), weight: decimals(this.weights[which][i * this.settings.n + j]) });
  }

  drawMatrix(context, name, surface) {
    const { left, top, width, height } = this.box(name, surface);
    const { n } = this.settings;
    const which = name.split("-")[0];
    const { theme } = this;
    if (which === "alibi") hatch(context, left, top, width, height, theme.ink("grid-ink"));
    const picture = name.endsWith("weights")
      ? matrixPicture(n, n, (i, j) => this.weights[which][i * n + j], theme.table("seq"), 0, 1)
      : matrixPicture(n, n, (i, j) => (which === "alibi" && j > i ? NaN : this.bias[which](i, j)), theme.table("div"),
        -STRONGEST, STRONGEST);
    placePicture(context, picture, left, top, width, height);
    for (const tick of wholeTicks(n, width / 40)) {
      write(context, String(tick), left + ((tick + 0.5) / n) * width, top + height + 10, theme.ink("muted"), "center");
      write(context, String(tick), left - 6, top + ((tick + 0.5) / n) * height, theme.ink("muted"), "right");
    }
    if (this.hover?.i === undefined) return;
    stroke(context, theme.ink("text"), 1.5);
    context.strokeRect(left + (this.hover.j / n) * width, top + (this.hover.i / n) * height, width / n, height / n);
  }

  drawLines(context, surface) {
    const { left, top, width, height } = this.box("lines", surface);
    const { n, head } = this.settings;
    const { theme } = this;
    const lowest = Math.min(-STRONGEST * 2, -1);
    const y = (value) => top + (value / lowest) * (height - 2);
    for (const value of [0, lowest / 2, lowest]) {
      stroke(context, theme.ink("grid"));
      line(context, left, y(value), left + width, y(value));
      write(context, written(value), left - 6, y(value), theme.ink("muted"), "right");
    }
    context.save();
    context.beginPath();
    context.rect(left, 0, width, top + height);
    context.clip();
    this.slopes.forEach((slope, k) => {
      stroke(context, k === head ? theme.ink("position-ink") : theme.ink("muted"), k === head ? 3 : 0.75);
      line(context, left, y(0), left + width, y(-slope * (n - 1)));
    });
    context.restore();
    write(context, this.labels.axis, left + width, top + height - 10, theme.ink("muted"), "right");
    for (const tick of wholeTicks(n, width / 45))
      write(context, String(tick), left + (tick / (n - 1)) * width, top + height + 10, theme.ink("muted"), "center");
  }

  drawTable(context, surface) {
    const { left, top, width, height } = this.box("table", surface);
    const { clip, distance } = this.settings;
    const { theme } = this;
    const y = (value) => top + (1 - value / STRONGEST) * ((height - LOWER) / 2);
    const step = width / (2 * clip + 1);
    stroke(context, theme.ink("grid"));
    for (const value of [-STRONGEST, 0, STRONGEST]) {
      line(context, left, y(value), left + width, y(value));
      write(context, written(value), left - 6, y(value), theme.ink("muted"), "right");
    }
    for (let at = -clip; at <= clip; at += 1) {
      const x = left + (at + clip + 0.5) * step;
      context.fillStyle = theme.ink("position");
      context.fillRect(x - step * 0.35, Math.min(y(0), y(this.entry(at))), step * 0.7,
        Math.abs(y(this.entry(at)) - y(0)));
      dot(context, x, y(this.entry(at)), Math.min(5, step / 3), theme.ink("position-ink"), theme.ink("page"),
        at !== distance);
      if (clip <= 10 || at % 4 === 0)
        write(context, written(at), x, top + height + 10, theme.ink("muted"), "center");
    }
  }
}

export default function (component) {
  return mount(component, Biases);
}
