// The symmetry experiment: the outputs for a prompt and for the same tokens in another order, row by row, linked by
// token. Four cases: positions on or off, mask on or off; the picked one is drawn.
import { clipped, matrixPicture, stroke, write } from "../../core/components/lib/canvas.js";
import { button, fill, make, marked } from "../../core/components/lib/dom.js";
import { readable } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { Panels } from "./panels.js";

const MOTION = 350;      // ms

/** shown: the width of before and after, a row for each token; permutation: the token that each place of the other
 * order gets.
 * @typedef {{ tokens: string[], permutation: number[], differences: number[], shown: number, before: Float32Array,
 *   after: Float32Array, settings: { case: string, align: boolean },
 *   cases: { id: string, title: string, number: string, verdict: string, follows: boolean }[],
 *   labels: Record<string, string>, present: boolean }} Message */

/** @extends {Panels<Message & { width: number } & Record<"beforePicture" | "afterPicture", HTMLCanvasElement>>} */
class Symmetry extends Panels {
  constructor(root) {
    super(root);
    this.progress = 0;
    this.largest = make("p", "largest", this.controls);
    this.cases = make("div", "cases", this.controls);
    this.cases.role = "radiogroup";
    this.showChoice = this.checkbox(this.controls, "align", () => this.move());
    this.panel("rows");
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    const { tokens, permutation, differences, shown: width, before, after } = header;
    Object.assign(this, { tokens, permutation, differences, width, before, after });
    this.target = new Int32Array(tokens.length);
    permutation.forEach((from, to) => { this.target[from] = to; });
    this.picturesTheme = null;
    this.buildCases(header.cases);
    this.largest.textContent = this.labels.largest;
    this.showChoice();
    this.move();
  }

  /** @param {Message["cases"]} cases */
  buildCases(cases) {
    this.cases.replaceChildren();
    for (const { id, title, number, verdict, follows } of cases) {
      const choice = button(this.cases, "", "", () => { this.set("case", id); this.commit(); },
        `case${follows ? " follows" : ""}`);
      choice.role = "radio";
      choice.dataset.case = id;
      make("span", "title", choice, title);
      make("span", "number", choice, number);
      make("span", "verdict", choice, verdict);
    }
  }

  /** Slide the permuted rows beside the tokens they belong to, or back; at once where the reader wants no motion. */
  move() {
    const goal = this.settings.align ? 1 : 0, from = this.progress, start = performance.now();
    const still = this.frames === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches || from === goal;
    const step = (now) => {
      const t = still ? 1 : Math.min(1, (now - start) / MOTION);
      this.progress = from + (goal - from) * t * t * (3 - 2 * t);
      this.schedule();
      if (t < 1) requestAnimationFrame(step);
    };
    step(start);
  }

  geometry() {
    const n = this.tokens.length, { width, height } = this.panels.rows.surface, narrow = width < 420;
    const chip = narrow ? 52 : 110, gap = narrow ? 50 : Math.max(90, width * 0.12);
    const last = narrow ? 0 : 150 * this.progress, strip = (width - 2 * chip - gap - last) / 2;
    return { n, chip, gap, last, strip, row: Math.min(26, (height - 2) / n), right: chip + strip + gap };
  }

  /** The keys walk the left of the two columns of rows. */
  cells() {
    const { n, row } = this.geometry();
    return { left: 0, width: 2, height: n * row, columns: 1, rows: n };
  }

  pointed(name, x, y, phase) {
    const { n, row } = this.geometry();
    super.pointed(name, x, y, y < n * row ? phase : "out");
  }

  /** The token of the row under the pointer, null for none. */
  get token() {
    if (!this.hover) return null;
    const { row, x } = this.hover;
    return x < this.geometry().right || this.settings.align ? row : this.permutation[row];
  }

  compute() {
    if (this.picturesTheme === this.theme) return;
    this.picturesTheme = this.theme;
    const most = this.before.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-9);
    [this.beforePicture, this.afterPicture] = [this.before, this.after].map((values) => matrixPicture(
      this.tokens.length, this.width, (r, c) => values[r * this.width + c], this.theme.table("div"), -most, most));
  }

  describe() {
    for (const choice of this.cases.children)
      choice.ariaChecked = String(choice.dataset.case === this.settings.case);
    this.caption({ shown: this.width }, () => "caption");
    const t = this.token;
    marked(this.reading, t === null ? this.labels.hint : fill(this.labels.row,
      { token: this.tokens[t], from: t, to: this.target[t], difference: readable(this.differences[t], 2) }));
  }

  drawPanel(_, context) {
    const geometry = this.geometry();
    context.font = `${this.fontSize}px ${this.ink("mono")}`;
    this.tokens.forEach((token, t) => this.drawRow(context, geometry, token, t));
  }

  drawRow(context, g, token, t) {
    const { ink, progress } = this, to = this.target[t], lit = this.token === t;
    const [yl, yr] = [t * g.row, (to + (t - to) * progress) * g.row], inner = Math.max(1, g.row - (g.row > 6 ? 2 : 0));
    context.imageSmoothingEnabled = false;
    context.drawImage(this.beforePicture, 0, t, this.width, 1, g.chip, yl, g.strip, inner);
    context.drawImage(this.afterPicture, 0, to, this.width, 1, g.right, yr, g.strip, inner);
    const [x1, x2, m1, m2] = [g.chip + g.strip + 2, g.right - 2, yl + inner / 2, yr + inner / 2];
    stroke(context, ink(lit ? "text" : "residual-ink"), lit ? 3 : Math.min(1.25, g.row / 4));
    context.globalAlpha = !this.hover || lit ? 1 : 0.25;
    context.beginPath();
    context.moveTo(x1, m1);
    context.bezierCurveTo(x1 + g.gap / 2, m1, x2 - g.gap / 2, m2, x2, m2);
    context.stroke();
    context.globalAlpha = 1;
    const every = Math.ceil((0.9 * this.fontSize) / g.row), name = clipped(context, token, g.chip - 8);
    const colour = ink(lit ? "text" : "muted");
    if (t % every === 0) write(context, name, g.chip - 6, m1, colour, "right");
    if ((this.settings.align ? t : to) % every === 0) write(context, name, g.right + g.strip + 6, m2, colour);
    if (g.last && progress > 0.98) this.drawDifference(context, g, this.differences[t], m2, t % every === 0);
  }

  /** One row's largest difference as a bar on a scale of tens, from 1e−8 to 10. */
  drawDifference(context, g, value, y, isNamed) {
    const length = value > 0 ? Math.max(1, ((Math.log10(value) + 8) / 9) * (g.last - 66)) : 0;
    const left = g.right + g.strip + g.chip;
    context.fillStyle = this.ink("excluded");
    context.fillRect(left, y - Math.min(5, g.row / 3), length, Math.min(10, g.row / 1.5));
    if (isNamed) write(context, readable(value, 2), left + length + 5, y, this.ink("text"));
  }
}

export default mounted(Symmetry);
