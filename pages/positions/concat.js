// Adding or concatenating: the row vector above Wᵀ, entry over column, and each output as the sum of a part from x and
// a part from p. float64.
import { dot, hatch, line, matrixPicture, placePicture, stroke, write } from "../../core/components/lib/canvas.js";
import { button, fill, make, marked } from "../../core/components/lib/dom.js";
import { decimals, grouped, powerOfTen, significant } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { Panels } from "./panels.js";
import { frequencies, sinusoid } from "./schemes.js";

/** row (1 × a) times the a rows of W that begin at `from`; W has k columns, flat. */
export function times(row, W, k, from = 0) {
  const out = new Float64Array(k);
  row.forEach((value, r) => { for (let c = 0; c < k; c += 1) out[c] += value * W[(from + r) * k + c]; });
  return out;
}

const BASE = 10000;
const HEAD = 74, FOOT = 4;      // pixels above Wᵀ, for the row vector, and below it

const rootMeanSquare = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);

class Concat extends Panels {
  constructor(root) {
    super(root);
    const modes = make("div", "modes", this.controls);
    modes.role = "radiogroup";
    this.modes = ["concatenate", "add"].map((mode) => {
      const choice = button(modes, "", "", () => { this.set("mode", mode); this.commit(); }, "mode");
      choice.role = "radio";
      return [mode, choice];
    });
    this.range("i");
    this.range("width");
    this.panel("picture");
    this.panel("bars");
  }

  receive(header) {
    super.receive(header);
    const { d, k, token, x, W_X, W_P } = header;
    Object.assign(this, { d, k, token, x, W_X, W_P });
  }

  get adding() {
    return this.settings.mode === "add";
  }

  cells(name) {
    const { width, height } = this.panels[name].surface;
    return { left: 0, top: HEAD, width, height: height - HEAD - FOOT, columns: 1, rows: this.k };
  }

  pointed(name, x, y, phase) {
    super.pointed(name, x, y, y < HEAD ? "out" : phase);
  }

  compute() {
    const { i, width } = this.settings, { d, k, W_X, W_P, adding } = this, size = adding ? d : width;
    this.p = sinusoid(i, size, frequencies(size, BASE));
    const x = Float64Array.from(this.x);
    this.row = adding ? x.map((value, c) => value + this.p[c]) : Float64Array.from([...x, ...this.p]);
    const W = adding ? W_X : Float32Array.from([...W_X, ...W_P.subarray(0, size * k)]);
    this.fromX = times(x, W_X, k);
    this.fromP = times(this.p, adding ? W_X : W_P, k);
    this.whole = times(this.row, W, k);
    this.worst = Math.max(...this.whole.map((value, c) => Math.abs(value - this.fromX[c] - this.fromP[c])));
  }

  describe() {
    const { labels, adding, row, k, worst } = this, { i, width, mode } = this.settings;
    this.show("i", 0, 255);
    this.show("width", 2, 256, { step: 2, text: adding ? labels.same : String(width) });
    this.ranges.width.node.disabled = adding;
    for (const [name, choice] of this.modes) {
      choice.textContent = labels[name];
      choice.ariaChecked = String(name === mode);
    }
    const values = { token: this.token, i, d: this.d, width: this.p.length, k, rows: row.length,
      parameters: grouped(row.length * k), worst: powerOfTen(worst) };
    this.caption(values, (name) => `${name}_${mode}`);
    const o = this.hover?.row;
    marked(this.reading, o === undefined ? fill(labels[`reading_${mode}`], values) : fill(labels.tip,
      { o, x: decimals(this.fromX[o]), p: decimals(this.fromP[o]), whole: decimals(this.whole[o]) }));
  }

  drawPanel(name, context) {
    if (name === "bars") this.drawBars(context);
    else this.drawProduct(context);
  }

  framed(context, picture, x, y, width, height, colour) {
    placePicture(context, picture, x, y, width, height);
    stroke(context, colour, 2);
    context.strokeRect(x, y, width, height);
  }

  strip(context, values, left, top, width, height, colour, most) {
    const picture = matrixPicture(1, values.length, (_, c) => values[c], this.theme.table("div"), -most, most);
    this.framed(context, picture, left, top, width, height, colour);
  }

  /** The row vector above, the rows of W below its entries: x and its rows violet, p and its rows sky blue. */
  drawProduct(context) {
    const { ink, adding, p, x, d } = this, { surface } = this.panels.picture;
    const left = 34, width = surface.width - 44, xWidth = adding ? width : (width * d) / (d + p.length) - 2;
    const [violet, sky, most] = [ink("residual-ink"), ink("position-ink"), 2.5 * rootMeanSquare(x) || 1];
    const right = left + xWidth + 4, rest = width - xWidth - 4;
    if (adding) {
      [["x", x, violet, most], ["+ p", p, sky, 1], ["=", this.row, ink("text"), Math.max(most, 1)]].forEach(
        ([name, values, colour, limit], k) => {
          write(context, name, left - 6, 10 + 22 * k, colour, "right");
          this.strip(context, values, left, 2 + 22 * k, width, 16, colour, limit);
        });
    } else {
      write(context, `x (${d})`, left, 10, violet);
      if (rest > 44) write(context, `p (${p.length})`, right + 2, 10, sky);
      this.strip(context, x, left, 22, xWidth, 26, violet, most);
      this.strip(context, p, right, 22, rest, 26, sky, 1);
    }
    this.drawWeights(context, this.W_X, d, left, xWidth, violet);
    if (!adding) this.drawWeights(context, this.W_P, p.length, right, rest, sky);
    write(context, "Wᵀ", left - 6, HEAD + 10, ink("text"), "right");
    if (!this.hover) return;
    const height = (surface.height - HEAD - FOOT) / this.k;
    stroke(context, ink("text"), 1.5);
    context.strokeRect(left, HEAD + this.hover.row * height, width, height);
  }

  drawWeights(context, W, rows, left, width, colour) {
    const { k } = this, most = 3 * rootMeanSquare(this.W_X) || 1;
    const picture = matrixPicture(k, rows, (r, c) => W[c * k + r], this.theme.table("div"), -most, most);
    this.framed(context, picture, left, HEAD, width, this.panels.picture.surface.height - HEAD - FOOT, colour);
  }

  drawBars(context) {
    const { ink, labels, k } = this, { width, height } = this.panels.bars.surface;
    const most = Math.max(1e-9, ...[this.fromX, this.fromP, this.whole].flatMap((part) => [...part].map(Math.abs)));
    const x = (value) => width / 2 + (value / most) * (width / 2 - 8), row = (height - HEAD - FOOT) / k;
    [["residual", labels.from_x], ["position", labels.from_p]].forEach(([meaning, text], n) => {
      context.fillStyle = ink(meaning);
      context.fillRect(4, 6 + n * 20, 12, 10);
      if (meaning === "position") hatch(context, 4, 6 + n * 20, 12, 10, ink("position-ink"), 4);
      write(context, text, 22, 11 + n * 20, ink("text"));
    });
    dot(context, 10, 52, 4, ink("text"), ink("page"));
    write(context, labels[`whole_${this.settings.mode}`], 22, 52, ink("text"));
    stroke(context, ink("grid"));
    line(context, x(0), HEAD, x(0), height - FOOT);
    for (const [align, value] of Object.entries({ left: -most, center: 0, right: most }))
      this.tick(context, value ? significant(value, 2) : "0", x(value), HEAD - 9, align);
    for (let o = 0; o < k; o += 1) this.drawBar(context, o, HEAD + o * row, row, x);
  }

  /** The part from x, then the part from p starting at its end: they arrive at the dot, the whole product. */
  drawBar(context, o, y, row, x) {
    const { ink, hover } = this, thick = Math.max(1.5, row * 0.36);
    const [start, turn, end] = [x(0), x(this.fromX[o]), x(this.fromX[o] + this.fromP[o])];
    context.globalAlpha = !hover || hover.row === o ? 1 : 0.45;
    context.fillStyle = ink("residual");
    context.fillRect(Math.min(start, turn), y + row * 0.1, Math.abs(turn - start), thick);
    const second = [Math.min(turn, end), y + row * 0.54, Math.abs(end - turn), thick];
    context.fillStyle = ink("position");
    context.fillRect(...second);
    if (thick > 3) hatch(context, ...second, ink("position-ink"), 5);
    dot(context, x(this.whole[o]), y + row / 2, Math.min(4, row / 2.4), ink("text"), ink("page"));
    context.globalAlpha = 1;
  }
}

export default mounted(Concat);
