// A token's row of E, row i of P and their sum; below them the learned positions P of the model beside sinusoids of the
// same shape, under one cursor: the matrix, the cosines between positions and the lengths, and on request what else can
// be compared.
import { deepest, line, matrixPicture, placePicture, stroke, write } from "../../core/components/lib/canvas.js";
import { fill, make, marked } from "../../core/components/lib/dom.js";
import { decimals, significant } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { Panels, polyline } from "./panels.js";
import { cosines, sinusoids } from "./schemes.js";

const BASE = 10000;
const KINDS = ["learned", "sinusoidal"];
const isSquare = (name) => name.endsWith("cosines");
const isLine = (name) => name === "alike" || name === "lengths" || name === "spectrum";
// with a title of their own on a projector
const SHORT = ["learned", "learned_turned", "alike"];
const FURTHER = ["sinusoidal", "sinusoidal-cosines", "spectrum"];      // the panels that are there on request

/** n and d: the shape of P; axes: those kept of the turned matrices; digest: another one for another P; ids: of the
 * prompt's tokens, with their rows in E.
 * @typedef {Record<"learned" | "sinusoidal", number[]>} Both
 * @typedef {{ n: number, d: number, axes: number, digest: number, lengths: Both, spectrum: Both,
 *   rank: Record<"learned" | "sinusoidal", number>, token: number, tokens: string[], ids: number[],
 *   settings: { i: number, principal: boolean, more: boolean }, labels: Record<string, string>, present: boolean }
 *   & Record<"learned" | "learned_turned" | "sinusoidal_turned" | "E", Float32Array>} Message */

/** @extends {Panels<Message & { stats: Message, shownAxes: number, turned: Record<string, Float32Array> }>} */
class Learned extends Panels {
  constructor(root) {
    super(root);
    const label = make("label", "pick", this.controls);
    this.tokenName = make("span", "", label);
    this.list = make("select", "", label);
    this.list.onchange = () => this.pickToken(Number(this.list.value));
    this.range("i");
    const choices = make("div", "choices", this.controls);
    this.choices = [this.checkbox(choices, "principal", () => { this.picturesTheme = null; }),
      this.checkbox(choices, "more", () => undefined)];
    for (const name of ["sum", "learned", "learned-cosines", "alike", "lengths", ...FURTHER]) this.panel(name);
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    const { n, d, axes } = header;
    const turned = { learned: header.learned_turned, sinusoidal: header.sinusoidal_turned };
    Object.assign(this, { n, d, shownAxes: axes, stats: header, turned });
    if (this.digest !== header.digest) {
      this.digest = header.digest;
      this.stored = { learned: header.learned, sinusoidal: sinusoids(n, d, BASE).P };
      this.cos = { learned: cosines(this.stored.learned, n, d), sinusoidal: cosines(this.stored.sinusoidal, n, d) };
    }
    Object.assign(this, { E: header.E, tokens: header.tokens, ids: header.ids, token: header.token });
    this.most = Math.max(deepest(this.E), deepest(this.stored.learned));
    this.tokenName.textContent = this.labels.token;
    this.list.replaceChildren();
    this.tokens.forEach((text, k) => { make("option", "", this.list, `${k} ${text}`).value = String(k); });
    this.list.value = String(this.token);
    this.picturesTheme = null;
    for (const show of this.choices) show();
  }

  /** Another token, at the place where it is read. */
  pickToken(token) {
    this.token = token;
    this.set("i", token);
    this.trigger("picked", token);
    this.commit();
  }

  /** The token's row of E, row i of P, and their sum. */
  strips() {
    const { d, token } = this, { i } = this.settings, P = this.stored.learned.subarray(i * d, (i + 1) * d);
    const E = this.E.subarray(token * d, (token + 1) * d);
    return [E, P, E.map((value, c) => value + P[c])];
  }

  /** How many rows of a matrix are drawn: all dimensions as stored, the strongest axes when turned. */
  rows() {
    return this.settings.principal ? this.shownAxes : this.d;
  }

  matrix(kind) {
    return (this.settings.principal ? this.turned : this.stored)[kind];
  }

  /** The end of the colours: at 1 for sinusoids, at three times the root mean square for learned entries, so that a few
      large ones do not wash out the rest. */
  limit(kind) {
    if (kind === "sinusoidal" && !this.settings.principal) return 1;
    const M = this.matrix(kind);
    return 3 * Math.sqrt(M.reduce((sum, value) => sum + value * value, 0) / M.length) || 1;
  }

  cells(name) {
    const { surface } = this.panels[name], { n } = this, { i } = this.settings, left = 40;
    const height = surface.height - 18, width = surface.width - left - 8;
    if (name === "sum") {
      const names = 7 * this.fontSize;
      return { left: names, height: surface.height, width: surface.width - names - 8, columns: this.d, rows: 3,
        from: [0, 0] };
    }
    if (name === "spectrum")
      return { left, height, width, columns: this.stats.spectrum.learned.length, rows: 1, from: [0, 0] };
    if (isSquare(name)) return { left, height, width: Math.min(height, width + 4), columns: n, rows: n, from: [i, 0] };
    return { left, height, width, columns: n, rows: isLine(name) ? 1 : this.rows(), from: [i, 0] };
  }

  pick({ name, column }) {
    if (name !== "spectrum" && name !== "sum") this.settings.i = column;
  }

  compute() {
    this.settings.i = Math.min(this.settings.i, this.n - 1);
    if (this.picturesTheme === this.theme) return;
    this.picturesTheme = this.theme;
    const { n } = this, rows = this.rows(), table = this.theme.table("div");
    this.pictures = {};
    for (const kind of KINDS) {
      const M = this.matrix(kind), most = this.limit(kind);
      this.pictures[kind] = matrixPicture(rows, n, (r, c) => M[c * rows + r], table, -most, most);
      this.pictures[`${kind}-cosines`] = matrixPicture(n, n, (r, c) => this.cos[kind][r * n + c], table, -1, 1);
    }
  }

  describe() {
    const { n, stats } = this, { i, principal } = this.settings, rows = this.rows(), rank = stats.rank.learned;
    this.show("i", 0, n - 1);
    for (const name of FURTHER) this.panels[name].cell.hidden = this.isPresented || !this.settings.more;
    for (const name of ["lengths", "learned-cosines"]) this.panels[name].cell.hidden = this.isPresented;
    const values = { i, n, d: rows, rank, sinusoidal_rank: stats.rank.sinusoidal,
      sinusoidal_length: significant(stats.lengths.sinusoidal[0], 4) };
    const { sum, ...others } = this.panels;
    sum.say(fill(this.labels[i === this.token ? "sum" : "sum_moved"], { ...this.named(), d: this.d }));
    for (const [name, { say }] of Object.entries(others)) {
      const limit = significant(this.limit(name === "sinusoidal" ? name : "learned"));
      const key = principal && KINDS.includes(name) ? `${name}_turned` : name.replace("-", "_");
      say(fill(this.labels[this.isPresented && SHORT.includes(key) ? `${key}_short` : key], { ...values, limit }));
    }
    marked(this.reading, this.hover ? this.hoverText() : fill(this.labels.reading, { i, ...this.values(i) }));
  }

  /** The picked token, its id and its place, and the position whose row is added. */
  named() {
    return { token: this.tokens[this.token], id: this.ids[this.token], place: this.token, i: this.settings.i };
  }

  values(i) {
    const near = Math.min(i + 1, this.n - 1), { lengths } = this.stats, at = i * this.n + near;
    return { near, length: decimals(lengths.learned[i]), sinusoidal_length: decimals(lengths.sinusoidal[i]),
      cosine: decimals(this.cos.learned[at]), sinusoidal_cosine: decimals(this.cos.sinusoidal[at]) };
  }

  hoverText() {
    const { name, column, row } = this.hover, { labels } = this, [kind] = name.split("-");
    if (name === "sum") {
      const [e, p, x] = this.strips().map((strip) => decimals(strip[column]));
      return fill(labels.tip_sum, { c: column, e, p, x });
    }
    if (isSquare(name))
      return fill(labels.tip_cosine, { i: row, j: column, value: decimals(this.cos[kind][row * this.n + column]) });
    if (name === "alike") {
      const [value, other] = KINDS.map((kind) => decimals(this.alike(kind)[column]));
      return fill(labels.tip_alike, { i: this.settings.i, j: column, value, other });
    }
    if (isLine(name)) {
      const [value, other] = KINDS.map((kind) => decimals(this.stats[name][kind][column]));
      return fill(name === "lengths" ? labels.tip_length : labels.tip_spectrum,
        { i: column, k: column + 1, value, other });
    }
    return fill(this.settings.principal ? labels.tip_turned : labels.tip,
      { i: column, dimension: row, value: decimals(this.matrix(kind)[column * this.rows() + row]) });
  }

  /** The cosines of the picked position with every position. */
  alike(kind) {
    const { i } = this.settings;
    return this.cos[kind].subarray(i * this.n, (i + 1) * this.n);
  }

  drawPanel(name, context) {
    if (name === "sum") { this.drawSum(context, this.cells(name)); return; }
    const box = this.cells(name), { left, width, height } = box, { i } = this.settings;
    if (name === "alike") this.drawAlike(context, box);
    else if (isLine(name)) this.drawLines(context, name, box);
    else {
      placePicture(context, this.pictures[name], left, 0, width, height);
      this.rowTicks(context, box, height / 30);
    }
    this.columnTicks(context, box, width / 55, name === "spectrum" ? 1 : 0);
    if (name === "spectrum") return;
    const share = (i + 0.5) / this.n;
    stroke(context, this.ink("text"), 1.25);
    line(context, left + share * width, 0, left + share * width, height);
    if (isSquare(name)) line(context, left, share * height, left + width, share * height);
  }

  /** Three strips below each other, in one scale of colours. */
  drawSum(context, { left, width, height }) {
    const strips = this.strips(), table = this.theme.table("div");
    const gap = 0.35 * this.fontSize, step = (height + gap) / 3;
    const { most } = this, { id, i } = this.named();
    strips.forEach((strip, k) => {
      const picture = matrixPicture(1, this.d, (_, c) => strip[c], table, -most, most), y = k * step;
      placePicture(context, picture, left, y, width, step - gap);
      context.font = `${k === 2 ? "700 " : ""}${this.fontSize}px ${this.ink("font")}`;
      write(context, [`E[${id}]`, `+ P[${i}]`, "="][k], left - 8, y + (step - gap) / 2, this.ink("text"), "right");
    });
    stroke(context, this.ink("residual-ink"), 2);
    context.strokeRect(left, 2 * step, width, step - gap - 1);
  }

  /** The cosines on their whole scale. */
  drawAlike(context, box) {
    const y = (value) => 6 + ((1 - value) / 2) * (box.height - 12);
    this.levels(context, box, [-1, 0, 1], y);
    this.drawSeries(context, box, { sinusoidal: this.alike("sinusoidal"), learned: this.alike("learned") }, y);
  }

  drawLines(context, name, box) {
    const { left, width, height } = box, { learned, sinusoidal } = this.stats[name], series = { sinusoidal, learned };
    const most = Math.max(1e-12, ...learned, ...sinusoidal) * 1.08;
    const y = (value) => height - 2 - (value / most) * (height - 8);
    stroke(context, this.ink("grid"));
    line(context, left, y(0), left + width, y(0));
    for (const value of [0, most / 1.08]) this.tick(context, value ? decimals(value, 2) : "0", left - 6, y(value));
    this.drawSeries(context, box, series, y);
  }

  /** Learned solid, sinusoids dashed. */
  drawSeries(context, { left, width, columns }, series, y) {
    for (const [kind, values] of Object.entries(series)) {
      const [thick, dash] = kind === "learned" ? [2, []] : [1.5, [5, 4]];
      stroke(context, this.ink("position-ink"), thick, dash);
      polyline(context, Array.from(values, (value, k) => [left + ((k + 0.5) / columns) * width, y(value)]));
    }
  }
}

export default mounted(Learned);
