// Sinusoidal positions P (N × d), live: the heatmap, one pair as waves and as a dial, the wavelengths, and P_i · P_j,
// under one cursor. float64 throughout, the same formula as core/model/positional.py: angle = i · base^(−2δ′/d). Python
// checks it on release.
import { matrixPicture } from "../../core/components/lib/canvas.js";
import { fill, make, marked } from "../../core/components/lib/dom.js";
import { decimals, powerOfTen, written } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { baseAt, Panels } from "./panels.js";
import { drawDial, drawGram, drawHeat, drawLengths, drawProducts, drawWave, wavelength } from "./waves_panels.js";
import { byDistance, productsWith, sinusoids } from "./schemes.js";

const DRAW = { heat: drawHeat, lengths: drawLengths, wave: drawWave, dial: drawDial, products: drawProducts,
  gram: drawGram };
const BESIDE = ["lengths", "dial", "products", "gram"];      // what a projector has no room for
const LEFT = 52, RIGHT = 10;      // pixels beside a picture over positions

/** @typedef {{ settings: Record<"n" | "d" | "base" | "pair" | "i" | "j", number>,
 *   labels: Record<string, string>, present: boolean }} Message */

/** @extends {Panels<Message & ReturnType<typeof sinusoids> & { key: string, picturesTheme: object }>} */
class Waves extends Panels {
  constructor(root) {
    super(root);
    this.range("n");
    this.range("d");
    this.range("base", { convert: baseAt });
    this.range("pair");
    for (const name of Object.keys(DRAW)) this.panel(name);
    this.range("i", { parent: this.panels.heat.cell, className: "cursor i" });
    this.range("j", { parent: this.panels.products.cell, className: "cursor j" });
    this.tip = make("div", "tip", root);
    this.tip.hidden = true;
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    for (const name of BESIDE) this.panels[name].cell.hidden = this.isPresented;
    const { wave, products } = this.panels, { box } = this.ranges.j, { cell } = this.isPresented ? wave : products;
    if (box.parentNode !== cell) cell.append(box);
  }

  /** The cells of a panel's picture; the keys begin at the picked position, dimension and key. */
  cells(name) {
    const { n, d, i, j, pair } = this.settings, { surface } = this.panels[name];
    // the waves share the axis numbers of the panels above and below, where there are both
    const height = surface.height - (name === "dial" || (name === "wave" && !this.isPresented) ? 2 : 18);
    const box = { left: LEFT, top: 0, width: surface.width - LEFT - RIGHT, height, columns: n, rows: 1, from: [i, 0] };
    if (name === "heat") return { ...box, rows: d, from: [i, 2 * pair] };
    if (name === "lengths") return { ...box, columns: 1, rows: d / 2, from: [0, pair] };
    if (name === "products") return { ...box, from: [j, 0] };
    if (name !== "gram") return box;
    const left = 3 * this.fontSize + 2, side = Math.min(surface.width - left - 6, height);
    return { left, top: 2, width: side, height: side, columns: n, rows: n, from: [j, i] };
  }

  pointed(name, x, y, phase) {
    if (name === "dial") return;
    super.pointed(name, x, y, phase);
    if (phase !== "hover") this.hover = null;
  }

  /** The position, key and dimension at a panel's cell. */
  target({ name, column, row }) {
    return { heat: { i: column, dimension: row }, lengths: { dimension: 2 * row }, wave: { i: column },
      products: { j: column }, gram: { i: row, j: column } }[name];
  }

  pick(cell) {
    const { dimension, ...positions } = this.target(cell);
    Object.assign(this.settings, positions);
    if (dimension !== undefined) this.settings.pair = dimension >> 1;
  }

  compute() {
    const s = this.settings, { n, d, base } = s, key = `${n} ${d} ${base}`;
    s.pair = Math.min(s.pair, d / 2 - 1);
    s.i = Math.min(s.i, n - 1);
    s.j = Math.min(s.j, n - 1);
    if (this.key !== key) {
      Object.assign(this, sinusoids(n, d, base));
      this.distances = byDistance(this.P, n, d);
      this.lowest = Math.min(0, ...this.distances);
    }
    this.row = productsWith(this.P, n, d, s.i);
    if (this.key === key && this.picturesTheme === this.theme) return;
    Object.assign(this, { key, picturesTheme: this.theme });
    const colours = this.theme.table("div"), product = (r, c) => this.distances[Math.abs(r - c)];
    this.heatPicture = matrixPicture(d, n, (r, c) => this.P[c * d + r], colours, -1, 1, this.heatPicture);
    this.gramPicture = matrixPicture(n, n, product, colours, -d / 2, d / 2, this.gramPicture);
  }

  draw() {
    super.draw();
    this.placeRanges();
    this.showTip();
  }

  drawPanel(name, context) {
    DRAW[name](this, context, this.cells(name));
  }

  /** Align the ranges of i and j with the panels' axis: the thumb is at its column. */
  placeRanges() {
    const { left, width, columns } = this.cells("heat"), cell = width / columns;
    for (const name of ["i", "j"]) {
      const { style } = this.ranges[name].node;
      style.marginLeft = `${left + cell / 2 - 8}px`;
      style.width = `${width - cell + 16}px`;
    }
  }

  /** Every number in words: slider values, captions, the reading under the panels. */
  describe() {
    const { n, d, pair, i, j } = this.settings, { labels, row, distances } = this;
    const hinted = (name, low, high, step = 1) => this.show(name, low, high, { step, hint: labels[`${name}_hint`] });
    hinted("n", 4, 256, 4);
    hinted("d", 2, 512, 2);
    this.showBase(labels.base_hint);
    hinted("pair", 0, d / 2 - 1);
    hinted("i", 0, n - 1);
    hinted("j", 0, n - 1);
    const worst = Math.max(...row.map((value, k) => Math.abs(value - distances[Math.abs(i - k)])));
    const values = {
      n, d, i, j, pair, even: 2 * pair, odd: 2 * pair + 1, wavelength: wavelength(this.omega[pair]),
      distance: Math.abs(i - j), signed: written(i - j), product: decimals(row[j]),
      sum: decimals(distances[Math.abs(i - j)]), residual: powerOfTen(worst),
      turned: this.omega.filter((w) => 2 * Math.PI / w <= n).length, pairs: d / 2,
    };
    this.caption(values, (name) => `caption_${name}`);
    marked(this.reading, fill(labels.reading, values));
  }

  showTip() {
    const { hover, tip } = this;
    tip.hidden = !hover;
    if (!hover) return;
    marked(tip, this.hoverText(hover.name, this.target(hover)));
    const box = this.panels[hover.name].surface.canvas.getBoundingClientRect();
    const home = this.root.getBoundingClientRect(), left = box.left - home.left + hover.x + 14;
    tip.style.left = `${Math.max(0, Math.min(left, home.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${box.top - home.top + hover.y + (hover.y > 40 ? -34 : 16)}px`;
  }

  hoverText(name, { i = this.settings.i, j, dimension }) {
    const { P, labels } = this, { d, pair } = this.settings;
    if (name === "heat")
      return fill(labels.tip_heat, { i, dimension, wave: dimension % 2 ? "cos" : "sin",
        omega: decimals(this.omega[dimension >> 1]), value: decimals(P[i * d + dimension]) });
    if (name === "lengths")
      return fill(labels.tip_lengths, { pair: dimension >> 1, even: dimension, odd: dimension + 1,
        wavelength: wavelength(this.omega[dimension >> 1]) });
    if (name === "wave") {
      const [sine, cosine] = P.subarray(i * d + 2 * pair).subarray(0, 2);
      return fill(labels.tip_wave,
        { i, even: 2 * pair, odd: 2 * pair + 1, sine: decimals(sine), cosine: decimals(cosine) });
    }
    const value = name === "gram" ? this.distances[Math.abs(i - j)] : this.row[j];
    return fill(labels.tip_products, { i, j, distance: Math.abs(i - j), value: decimals(value) });
  }
}

export default mounted(Waves);
