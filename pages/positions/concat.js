// Adding or concatenating, in numbers that one can follow by hand: each entry of the row vector before its row of
// weights, and the products summed down the columns. float64.
import { button, fill, make, marked } from "../../core/components/lib/dom.js";
import { decimals } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { Panels } from "./panels.js";
import { sinusoid } from "./schemes.js";

const MODES = ["concatenate", "add"];

/** row (1 × a) times the a rows of W that begin at `from`; W has k columns, flat. */
export function times(row, W, k, from = 0) {
  const out = new Float64Array(k);
  row.forEach((value, r) => { for (let c = 0; c < k; c += 1) out[c] += value * W[(from + r) * k + c]; });
  return out;
}

/** @typedef {{ k: number, token: string, settings: { mode: "concatenate" | "add", i: number },
 *   labels: Record<string, string>, present: boolean }
 *   & Record<"x" | "W_X" | "W_P", Float32Array>} Message */

/** @extends {Panels<Omit<Message, "x"> & { x: Float64Array }>} */
class Concat extends Panels {
  constructor(root) {
    super(root);
    const modes = make("div", "modes", this.controls);
    modes.role = "radiogroup";
    this.modes = MODES.map((mode) => {
      const choice = button(modes, "", "", () => { this.set("mode", mode); this.commit(); }, "mode");
      choice.role = "radio";
      return [mode, choice];
    });
    this.range("i");
    this.tables = Object.fromEntries(MODES.map((name) => {
      const cell = make("div", `side ${name}`, this.grid);
      return [name, { caption: make("p", "caption", cell), table: make("table", "", cell) }];
    }));
    this.verdict = make("p", "verdict", this.grid);
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    const { k, token, x, W_X, W_P } = header;
    Object.assign(this, { k, token, x: Float64Array.from(x), W_X, W_P });
  }

  get adding() {
    return this.settings.mode === "add";
  }

  /** p has two numbers; added to x it is followed by zeros. */
  compute() {
    const { k, x, W_X } = this, size = Math.min(2, x.length);
    this.p = sinusoid(this.settings.i, size, [1]);
    this.rowsOfP = this.adding ? W_X.subarray(0, size * k) : this.W_P;
    this.sum = x.map((value, c) => value + (this.p[c] ?? 0));
    this.fromX = times(x, W_X, k);
    this.fromP = times(this.p, this.rowsOfP, k);
    this.whole = this.fromX.map((value, c) => value + this.fromP[c]);
    this.added = times(this.sum, W_X, k);
  }

  describe() {
    const { labels, adding, tables } = this, { i, mode } = this.settings;
    this.show("i", 0, 255);
    for (const [name, choice] of this.modes) {
      choice.textContent = labels[name];
      choice.ariaChecked = String(name === mode);
    }
    for (const name of MODES) marked(tables[name].caption, fill(labels[`side_${name}`], { token: this.token, i }));
    this.drawSide();
    this.drawSum();
    this.verdict.textContent = labels[`verdict_${mode}`];
    marked(this.reading, fill(labels[`reading_${mode}`], {
      own: (this.x.length + this.p.length) * this.k, shared: this.x.length * this.k }));
    this.root.classList.toggle("adding", adding);
  }

  /** [x, p] over W: the rows that meet x, the rows that meet p, and the three sums. */
  drawSide() {
    const { labels, x, p, k, W_X, rowsOfP } = this, table = this.head(this.tables.concatenate.table, "[x, p]");
    x.forEach((value, r) => this.row(table, `x${sub(r)}`, value, W_X.subarray(r * k, (r + 1) * k), "of-x"));
    p.forEach((value, r) => this.row(table, `p${sub(r)}`, value, rowsOfP.subarray(r * k, (r + 1) * k), "of-p"));
    this.sums(table, labels.from_x, this.fromX, "of-x");
    this.sums(table, labels.from_p, this.fromP, "of-p");
    this.sums(table, labels.whole_concatenate, this.whole, "whole");
  }

  /** x + p over the rows that meet x, and the one sum. */
  drawSum() {
    const { labels, sum, p, k, W_X } = this, table = this.head(this.tables.add.table, "x + p");
    sum.forEach((value, r) => this.row(table, r < p.length ? `x${sub(r)} + p${sub(r)}` : `x${sub(r)}`, value,
      W_X.subarray(r * k, (r + 1) * k), "of-x", r < p.length ? "of-p" : "of-x"));
    this.sums(table, labels.whole_add, this.added, "whole");
  }

  head(table, name) {
    const row = make("tr", "", make("thead", "", emptied(table)));
    make("th", "", row);
    make("th", "", row, name);
    for (let c = 0; c < this.k; c += 1) make("th", "", row, fill(this.labels.column, { c }));
    return make("tbody", "", table);
  }

  row(table, name, value, weights, meaning, ofValue = meaning) {
    const row = make("tr", meaning, table);
    make("th", ofValue, row, name).scope = "row";
    make("td", ofValue, row, decimals(value, 3));
    for (const weight of weights) this.tinted(make("td", meaning, row, decimals(weight, 3)), weight);
  }

  sums(table, name, values, meaning) {
    const row = make("tr", `sums ${meaning}`, table);
    const title = make("th", meaning, row);
    marked(title, name);
    Object.assign(title, { scope: "row", colSpan: 2 });
    for (const value of values) make("td", "", row, decimals(value, 3));
  }

  /** A weight on the colours of numbers with a sign, pale enough to read it on. */
  tinted(cell, weight) {
    const most = Math.max(...this.W_X.map(Math.abs), ...this.W_P.map(Math.abs)) || 1;
    cell.style.background = `color-mix(in srgb, ${this.ink(weight < 0 ? "div-1" : "div-7")} ${
      Math.round((40 * Math.abs(weight)) / most)}%, transparent)`;
  }
}

const sub = (r) => "₀₁₂₃"[r];

function emptied(node) {
  node.replaceChildren();
  return node;
}

export default mounted(Concat);
