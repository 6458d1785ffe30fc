// Sinusoidal positions P (N × d), live: the heatmap, one pair as waves and as a dial, the wavelengths, and P_i · P_j,
// under one cursor. float64 throughout, the same formula as core/model/positional.py: angle = i · base^(−2δ′/d). Python
// checks it on release.
import { decimals, grouped, scientific, significant, written } from "../../core/components/lib/numbers.js";
import {
  fill, Instrument, make, matrixPicture, mount, panelIn, Range, rich,
} from "../../core/components/lib/position_canvas.js";
import { drawDial, drawGram, drawHeat, drawLengths, drawProducts, drawWave } from "./waves_panels.js";

const MARGIN = { left: 52, right: 10 };
const DECADES = { low: 0, high: 6, step: 0.05 };

/** The base that stands at a slider's exponent: three significant digits, so that Python gets the very same number. */
const baseAt = (exponent) => Number((10 ** exponent).toPrecision(3));

/** P as a flat row-major Float64Array and the pairs' angular frequencies. */
function sinusoids(n, d, base) {
  const omega = Float64Array.from({ length: d / 2 }, (_, pair) => base ** (-(2 * pair) / d));
  const P = new Float64Array(n * d);
  for (let i = 0; i < n; i += 1) {
    for (let pair = 0; pair < d / 2; pair += 1) {
      P[i * d + 2 * pair] = Math.sin(i * omega[pair]);
      P[i * d + 2 * pair + 1] = Math.cos(i * omega[pair]);
    }
  }
  return { P, omega };
}

/** Σ cos(ω Δ) for every distance Δ = 0 … n − 1: row Δ of P holds those cosines in its odd columns. */
function byDistance(P, n, d) {
  const sums = new Float64Array(n);
  for (let delta = 0; delta < n; delta += 1) {
    for (let c = 1; c < d; c += 2) sums[delta] += P[delta * d + c];
  }
  return sums;
}

/** P_i · P_j for every j, multiplied out. */
function productsWith(P, n, d, i) {
  const row = new Float64Array(n);
  for (let j = 0; j < n; j += 1) {
    for (let c = 0; c < d; c += 1) row[j] += P[i * d + c] * P[j * d + c];
  }
  return row;
}

class Waves extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    this.hover = null;
    this.build();
  }

  build() {
    const set = (name, value) => { this.settings[name] = value; this.schedule(); };
    const commit = () => this.commit();
    const controls = make("div", "controls", this.root);
    const range = (parent, className, input) => new Range(parent, className, { input, commit });
    this.ranges = {
      n: range(controls, "n", (value) => set("n", value)),
      d: range(controls, "d", (value) => set("d", value)),
      base: range(controls, "base", (value) => set("base", baseAt(value))),
      pair: range(controls, "pair", (value) => set("pair", value)),
    };
    const grid = make("div", "panels", this.root);
    this.panels = {};
    this.say = {};
    for (const name of ["heat", "lengths", "wave", "dial", "products", "gram"]) {
      const { cell, surface, say } = panelIn(grid, name);
      this.panels[name] = surface;
      this.say[name] = say;
      if (name === "heat") this.ranges.i = range(cell, "cursor i", (value) => set("i", value));
      if (name === "products") this.ranges.j = range(cell, "cursor j", (value) => set("j", value));
    }
    this.reading = make("p", "reading", this.root);
    this.reading.setAttribute("aria-live", "polite");
    this.tip = make("div", "tip", this.root);
    this.tip.hidden = true;
    this.connectPointers();
  }

  connectPointers() {
    const { heat, lengths, wave, dial, products, gram } = this.panels;
    heat.point((x, y, phase) =>
        this.pointed(heat, x, y, phase, () => ({ i: this.columnAt(heat, x), dimension: this.dimensionAt(heat, y) })),
      () => this.cells(heat, this.settings.n, this.settings.d));
    lengths.point((x, y, phase) => this.pointed(lengths, x, y, phase,
      () => ({ dimension: this.dimensionAt(lengths, y) })), () => this.cells(lengths, 1, this.settings.d / 2));
    wave.point((x, y, phase) => this.pointed(wave, x, y, phase, () => ({ i: this.columnAt(wave, x) })),
      () => this.cells(wave, this.settings.n, 1));
    products.point((x, y, phase) => this.pointed(products, x, y, phase, () => ({ j: this.columnAt(products, x) })),
      () => this.cells(products, this.settings.n, 1));
    gram.point((x, y, phase) => this.pointed(gram, x, y, phase, () => this.gramCell(x, y)),
      () => this.cells(gram, this.settings.n, this.settings.n));
    dial.canvas.style.pointerEvents = "none";
  }

  pointed(surface, x, y, phase, find) {
    if (phase === "out") this.hover = null;
    else {
      const found = find();
      this.hover = phase === "hover" ? { surface, x, y, ...found } : null;
      if (phase === "down" || phase === "drag") this.pick(found);
      if (phase === "up") this.commit();
    }
    this.schedule();
  }

  pick({ i, j, dimension }) {
    if (i !== undefined) this.settings.i = i;
    if (j !== undefined) this.settings.j = j;
    if (dimension !== undefined) this.settings.pair = dimension >> 1;
  }

  plot(surface) {
    return { left: MARGIN.left, width: surface.width - MARGIN.left - MARGIN.right };
  }

  /** Where the arrow keys go in a panel, from the picked position, pair and key on. */
  cells(surface, columns, rows) {
    const { i, j, pair, d } = this.settings;
    if (surface === this.panels.gram) {
      const { left, top, side } = this.square(surface);
      return { left, top, width: side, height: side, columns, rows, from: [j, i] };
    }
    return { ...this.plot(surface), height: this.bodyHeight(surface), columns, rows,
      from: [surface === this.panels.products ? j : columns > 1 ? i : 0, rows === d ? 2 * pair : rows > 1 ? pair : 0] };
  }

  clampedCell(share, count) {
    return Math.max(0, Math.min(count - 1, Math.floor(share * count)));
  }

  columnAt(surface, x) {
    const { left, width } = this.plot(surface);
    return this.clampedCell((x - left) / width, this.settings.n);
  }

  dimensionAt(surface, y) {
    return this.clampedCell(y / this.bodyHeight(surface), this.settings.d);
  }

  gramCell(x, y) {
    const { left, top, side } = this.square(this.panels.gram);
    return { i: this.clampedCell((y - top) / side, this.settings.n),
      j: this.clampedCell((x - left) / side, this.settings.n) };
  }

  square(surface) {
    const left = 3 * this.fontSize + 2;
    return { left, top: 2, side: Math.min(surface.width - left - 6, surface.height - 18) };
  }

  /** Height of a panel's picture, above its axis numbers; the waves read theirs off the panels above and below. */
  bodyHeight(surface) {
    return surface.height - (surface === this.panels.wave || surface === this.panels.dial ? 2 : 18);
  }

  compute() {
    const { n, d, base } = this.settings;
    if (this.made === `${n} ${d} ${base}`) return;
    this.made = `${n} ${d} ${base}`;
    Object.assign(this, sinusoids(n, d, base));
    this.distances = byDistance(this.P, n, d);
    this.lowest = Math.min(0, this.distances.reduce((a, b) => Math.min(a, b), Infinity));
    this.picturesTheme = null;
  }

  pictures() {
    const { n, d } = this.settings, colours = this.theme.table("div"), most = d / 2;
    if (this.picturesTheme === this.theme) return;
    this.picturesTheme = this.theme;
    this.heatPicture = matrixPicture(d, n, (r, c) => this.P[c * d + r], colours, -1, 1, this.heatPicture);
    const product = (r, c) => this.distances[Math.abs(r - c)];
    this.gramPicture = matrixPicture(n, n, product, colours, -most, most, this.gramPicture);
  }

  clampSettings() {
    const s = this.settings;
    s.pair = Math.min(s.pair, s.d / 2 - 1);
    s.i = Math.min(s.i, s.n - 1);
    s.j = Math.min(s.j, s.n - 1);
  }

  draw() {
    this.clampSettings();
    this.compute();
    this.pictures();
    this.row = productsWith(this.P, this.settings.n, this.settings.d, this.settings.i);
    this.describe();
    for (const surface of Object.values(this.panels)) surface.measure();
    this.placeRanges();
    drawHeat(this);
    drawLengths(this);
    drawWave(this);
    drawDial(this);
    drawProducts(this);
    drawGram(this);
    this.showTip();
  }

  begin(name) {
    const surface = this.panels[name];
    const context = surface.begin();
    context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
    return [context, surface];
  }

  columnCentre(surface, i) {
    const { left, width } = this.plot(surface);
    return left + ((i + 0.5) * width) / this.settings.n;
  }

  /** The ranges of i and j run along the panels' own axis: the thumb stands at its column. */
  placeRanges() {
    const { n } = this.settings;
    const { left, width } = this.plot(this.panels.heat);
    const cell = width / n;
    for (const name of ["i", "j"]) {
      const style = this.ranges[name].node.style;
      style.marginLeft = `${left + cell / 2 - 8}px`;
      style.width = `${width - cell + 16}px`;
    }
  }

  /** Every number in words: slider values, captions, the reading under the panels. */
  describe() {
    const { n, d, base, pair, i, j } = this.settings;
    const { labels, ranges } = this;
    const names = { n: labels.length, d: labels.width, base: labels.base, pair: labels.pair, i: labels.i, j: labels.j };
    for (const [key, name] of Object.entries(names)) ranges[key].title(name, labels[`${key}_hint`]);
    ranges.n.set(4, 256, 4, n, String(n));
    ranges.d.set(2, 512, 2, d, String(d));
    ranges.base.set(DECADES.low, DECADES.high, DECADES.step, Number(Math.log10(base).toFixed(6)), grouped(base));
    ranges.pair.set(0, d / 2 - 1, 1, pair, String(pair));
    ranges.i.set(0, n - 1, 1, i, String(i));
    ranges.j.set(0, n - 1, 1, j, String(j));
    this.describePanels(n, d, base, pair, i, j);
  }

  describePanels(n, d, base, pair, i, j) {
    const omega = this.omega[pair];
    const sums = this.distances[Math.abs(i - j)];
    const worst = this.row.reduce((most, value, k) => Math.max(most, Math.abs(value - this.distances[Math.abs(i - k)])),
      0);
    const values = {
      n, d, i, j, pair, base: grouped(base), even: 2 * pair, odd: 2 * pair + 1,
      omega: decimals(omega), wavelength: grouped(significant(2 * Math.PI / omega, 4)),
      distance: Math.abs(i - j), signed: written(i - j), product: decimals(this.row[j]),
      sum: decimals(sums), residual: worst === 0 ? "0" : scientific(worst),
      angle: decimals(i * omega), difference: decimals((i - j) * omega), cosine: decimals(Math.cos((i - j) * omega)),
      sine: decimals(this.P[i * d + 2 * pair]), cosineAtI: decimals(this.P[i * d + 2 * pair + 1]),
      turned: this.omega.filter((w) => 2 * Math.PI / w <= n).length, pairs: d / 2,
    };
    this.worst = worst;
    for (const [name, say] of Object.entries(this.say)) say(fill(this.labels[`caption_${name}`], values));
    rich(this.reading, fill(this.labels.reading, values));
  }

  showTip() {
    const { hover, tip } = this;
    tip.hidden = !hover;
    if (!hover) return;
    rich(tip, this.hoverText(hover));
    const box = hover.surface.canvas.getBoundingClientRect();
    const home = this.root.getBoundingClientRect();
    const left = box.left - home.left + hover.x + 14;
    tip.style.left = `${Math.max(0, Math.min(left, home.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${box.top - home.top + hover.y + (hover.y > 40 ? -34 : 16)}px`;
  }

  hoverText({ surface, i, j, dimension }) {
    const { d } = this.settings;
    if (surface === this.panels.heat)
      return fill(this.labels.tip_heat, { i, dimension, wave: dimension % 2 ? "cos" : "sin",
        omega: decimals(this.omega[dimension >> 1]), value: decimals(this.P[i * d + dimension]) });
    if (surface === this.panels.lengths)
      return fill(this.labels.tip_lengths, { pair: dimension >> 1, even: dimension & ~1, odd: dimension | 1,
        wavelength: grouped(significant(2 * Math.PI / this.omega[dimension >> 1], 4)) });
    if (surface === this.panels.wave) {
      const at = i * d + 2 * this.settings.pair;
      return fill(this.labels.tip_wave, { i, even: 2 * this.settings.pair, odd: 2 * this.settings.pair + 1,
        sine: decimals(this.P[at]), cosine: decimals(this.P[at + 1]) });
    }
    const from = surface === this.panels.gram ? i : this.settings.i;
    const value = surface === this.panels.gram ? this.distances[Math.abs(i - j)] : this.row[j];
    return fill(this.labels.tip_products, { i: from, j, distance: Math.abs(from - j), value: decimals(value) });
  }
}

export default function (component) {
  return mount(component, Waves);
}
