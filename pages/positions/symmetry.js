// The symmetry experiment: the outputs of a prompt and of the same tokens in another order, row by row, tied by token.
// Four cases, positions on or off by mask on or off; the one picked is drawn.
import { significant } from "../../core/components/lib/numbers.js";
import {
  fill, Instrument, make, matrixPicture, mount, panelIn, rich, stroke, write,
} from "../../core/components/lib/position_canvas.js";

const MOTION = 350;

class Symmetry extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    this.progress = 0;
    const left = make("div", "left", root);
    this.largest = make("p", "largest", left);
    this.cases = make("div", "cases", left);
    this.cases.setAttribute("role", "radiogroup");
    this.side = make("div", "side", root);
    this.picture = panelIn(this.side, "rows");
    const choice = make("label", "align", left);
    this.align = make("input", "", choice);
    this.align.type = "checkbox";
    this.alignText = make("span", "", choice);
    this.align.onchange = () => { this.settings.align = this.align.checked; this.move(); this.commit(); };
    this.reading = make("p", "reading", this.side);
    this.reading.setAttribute("aria-live", "polite");
    this.row = null;
    this.picture.surface.point((x, y, phase) => {
      this.row = phase === "out" ? null : this.rowAt(x, y);
      this.schedule();
    },
      () => {
        const { n, row } = this.geometry();
        return { left: 0, width: 2, height: n * row, columns: 1, rows: n };
      });
  }

  receive(header, send) {
    super.receive(header, send);
    const { tokens, permutation, differences, shown, before, after } = header;
    Object.assign(this, { tokens, permutation, differences, width: shown, before, after });
    this.target = new Int32Array(tokens.length);
    this.permutation.forEach((from, to) => { this.target[from] = to; });
    this.picturesTheme = null;
    this.buildCases(header.cases);
    this.largest.textContent = this.labels.largest;
    this.alignText.textContent = this.labels.align;
    this.align.checked = Boolean(this.settings.align);
    this.move();
  }

  buildCases(cases) {
    this.cases.replaceChildren();
    for (const { id, title, number, verdict, follows } of cases) {
      const button = make("button", `case${follows ? " follows" : ""}`, this.cases);
      button.type = "button";
      button.setAttribute("role", "radio");
      button.setAttribute("aria-checked", String(id === this.settings.case));
      make("span", "title", button, title);
      make("span", "number", button, number);
      make("span", "verdict", button, verdict);
      button.onclick = () => { this.settings.case = id; this.commit(); this.mark(id); };
    }
  }

  mark(id) {
    [...this.cases.children].forEach((button, k) =>
      button.setAttribute("aria-checked", String(["none", "mask", "positions", "both"][k] === id)));
  }

  /** Slide the permuted rows beside the tokens they belong to, or back; at once where the reader wants no motion. */
  move() {
    const goal = this.settings.align ? 1 : 0;
    const from = this.progress;
    const start = performance.now();
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
    const n = this.tokens.length;
    const { width, height } = this.picture.surface;
    const narrow = width < 560;
    const chip = narrow ? 52 : 110;
    const gap = narrow ? 50 : Math.max(90, width * 0.12);
    const last = narrow ? 0 : 150 * this.progress;
    const strip = (width - 2 * chip - gap - last) / 2;
    return { n, chip, gap, last, strip, row: Math.min(26, (height - 2) / n), right: chip + strip + gap };
  }

  rowAt(x, y) {
    const { n, row, right } = this.geometry();
    const at = Math.floor(y / row);
    if (at < 0 || at >= n) return null;
    return x < right || this.settings.align ? at : this.permutation[at];
  }

  pictures() {
    if (this.picturesTheme === this.theme) return;
    this.picturesTheme = this.theme;
    let most = 1e-9;
    for (const value of this.before) most = Math.max(most, Math.abs(value));
    const one = (values) => matrixPicture(this.tokens.length, this.width, (r, c) => values[r * this.width + c],
      this.theme.table("div"), -most, most);
    this.beforePicture = one(this.before);
    this.afterPicture = one(this.after);
  }

  draw() {
    const { surface, say } = this.picture;
    surface.measure();
    this.pictures();
    const context = surface.begin();
    context.font = `${this.fontSize}px ${this.theme.ink("mono")}`;
    const g = this.geometry();
    this.tokens.forEach((token, t) => this.drawRow(context, g, token, t));
    say(fill(this.labels.caption, { shown: this.width }));
    const t = this.row;
    rich(this.reading, t === null ? this.labels.hint : fill(this.labels.row, { token: this.tokens[t], from: t,
      to: this.target[t], difference: this.differences[t] === 0 ? "0" : significant(this.differences[t], 2) }));
  }

  drawRow(context, g, token, t) {
    const { theme } = this;
    const there = this.target[t] + (t - this.target[t]) * this.progress;
    const [yl, yr] = [t * g.row, there * g.row];
    const inner = Math.max(1, g.row - (g.row > 6 ? 2 : 0));
    const lit = this.row === t;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.beforePicture, 0, t, this.width, 1, g.chip, yl, g.strip, inner);
    context.drawImage(this.afterPicture, 0, this.target[t], this.width, 1, g.right, yr, g.strip, inner);
    const [x1, x2, m1, m2] = [g.chip + g.strip + 2, g.right - 2, yl + inner / 2, yr + inner / 2];
    stroke(context, lit ? theme.ink("text") : theme.ink("residual-ink"), lit ? 3 : Math.min(1.25, g.row / 4));
    context.globalAlpha = this.row === null || lit ? 1 : 0.25;
    context.beginPath();
    context.moveTo(x1, m1);
    context.bezierCurveTo(x1 + g.gap / 2, m1, x2 - g.gap / 2, m2, x2, m2);
    context.stroke();
    context.globalAlpha = 1;
    const every = Math.ceil((0.9 * this.fontSize) / g.row), name = this.cut(context, token, g.chip - 8);
    const ink = theme.ink(lit ? "text" : "muted");
    if (t % every === 0) write(context, name, g.chip - 6, m1, ink, "right");
    if ((this.settings.align ? t : this.target[t]) % every === 0) write(context, name, g.right + g.strip + 6, m2, ink);
    if (g.last && this.progress > 0.98) this.drawDifference(context, g, t, m2);
  }

  /** One row's largest difference as a bar on a scale of tens, from 1e−8 to 10. */
  drawDifference(context, g, t, y) {
    const value = this.differences[t];
    const length = value > 0 ? Math.max(1, ((Math.log10(value) + 8) / 9) * (g.last - 66)) : 0;
    const left = g.right + g.strip + g.chip;
    context.fillStyle = this.theme.ink("excluded");
    context.fillRect(left, y - Math.min(5, g.row / 3), length, Math.min(10, g.row / 1.5));
    if (t % Math.ceil((0.9 * this.fontSize) / g.row) === 0)
      write(context, value === 0 ? "0" : significant(value, 2), left + length + 5, y, this.theme.ink("text"));
  }

  cut(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    const letters = [...text];
    while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
    return `${letters.join("")}…`;
  }
}

export default function (component) {
  return mount(component, Symmetry);
}
