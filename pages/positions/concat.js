// Adding against concatenating: the row vector above Wᵀ, entry over column, and each output as the sum of a part from x
// and a part from p. float64.
import { hatch } from "../../core/components/lib/canvas.js";
import { decimals, grouped, scientific, significant } from "../../core/components/lib/numbers.js";
import {
  dot, fill, Instrument, line, make, matrixPicture, mount, panelIn, placePicture, Range, rich, stroke, write,
} from "../../core/components/lib/position_canvas.js";

/** row (1 × a) times the a rows of W that begin at `from`; W has k columns, flat. */
function times(row, W, k, from = 0) {
  const out = new Float64Array(k);
  row.forEach((value, r) => { for (let c = 0; c < k; c += 1) out[c] += value * W[(from + r) * k + c]; });
  return out;
}

class Concat extends Instrument {
  constructor(root) {
    super(root);
    this.settings = {};
    this.hover = null;
    const controls = make("div", "controls", root);
    this.modes = make("div", "modes", controls);
    this.modes.setAttribute("role", "radiogroup");
    this.buttons = ["concatenate", "add"].map((mode) => {
      const button = make("button", "mode", this.modes);
      button.type = "button";
      button.setAttribute("role", "radio");
      button.onclick = () => { this.settings.mode = mode; this.schedule(); this.commit(); };
      return [mode, button];
    });
    const range = (name) => new Range(controls, name, { input: (value) => { this.settings[name] = value;
      this.schedule(); }, commit: () => this.commit() });
    this.ranges = { i: range("i"), width: range("width") };
    const grid = make("div", "panels", root);
    this.picture = panelIn(grid, "product");
    this.bars = panelIn(grid, "bars");
    for (const { surface } of [this.bars, this.picture]) {
      const cells = () => ({ left: 0, top: this.head(), width: surface.width,
        height: this.picture.surface.height - this.head() - 4, columns: 1, rows: this.k });
      surface.point((x, y, phase) => { this.hover = phase === "out" ? null : this.outputAt(y); this.schedule(); },
        cells);
    }
    this.reading = make("p", "reading", root);
    this.reading.setAttribute("aria-live", "polite");
  }

  receive(header, send) {
    super.receive(header, send);
    const { d, k, token, x, W_X, W_P } = header;
    Object.assign(this, { d, k, token, x, W_X, W_P });
  }

  compute() {
    const { mode, i, width } = this.settings;
    const size = mode === "add" ? this.d : width;
    this.p = Float64Array.from({ length: size },
      (_, c) => (c % 2 ? Math.cos : Math.sin)(i * 10000 ** (-(c - (c % 2)) / size)));
    const x = Float64Array.from(this.x);
    this.fromX = times(x, this.W_X, this.k);
    if (mode === "add") {
      this.row = x.map((value, c) => value + this.p[c]);
      this.W = this.W_X;
    } else {
      this.row = Float64Array.from([...x, ...this.p]);
      this.W = Float32Array.from([...this.W_X, ...this.W_P.subarray(0, size * this.k)]);
    }
    this.fromP = times(this.p, mode === "add" ? this.W_X : this.W_P, this.k);
    this.whole = times(this.row, this.W, this.k);
    this.worst = this.whole.reduce((most, value, c) => Math.max(most, Math.abs(value - this.fromX[c] - this.fromP[c])),
      0);
  }

  head() {
    return 74;
  }

  outputAt(y) {
    const { height } = this.picture.surface;
    const at = Math.floor(((y - this.head()) / (height - this.head() - 4)) * this.k);
    return at >= 0 && at < this.k ? at : null;
  }

  draw() {
    this.compute();
    const { labels, settings, ranges } = this;
    const set = (range, label, ...rest) => { range.title(label); range.set(...rest); };
    set(ranges.i, labels.i, 0, 255, 1, settings.i, String(settings.i));
    set(ranges.width, labels.width, 2, 256, 2, settings.width, settings.mode === "add" ? labels.same
        : String(settings.width));
    ranges.width.node.disabled = settings.mode === "add";
    for (const [mode, button] of this.buttons) {
      button.textContent = labels[`${mode}`];
      button.setAttribute("aria-checked", String(mode === settings.mode));
    }
    const size = this.p.length;
    const values = { token: this.token, i: settings.i, d: this.d, width: size, k: this.k, rows: this.row.length,
      parameters: grouped(this.row.length * this.k), worst: this.worst === 0 ? "0" : scientific(this.worst) };
    this.picture.say(fill(labels[`picture_${settings.mode}`], values));
    this.bars.say(fill(labels[`bars_${settings.mode}`], values));
    const o = this.hover;
    rich(this.reading, o === null ? fill(labels[`reading_${settings.mode}`], values) : fill(labels.tip,
      { o, x: decimals(this.fromX[o]), p: decimals(this.fromP[o]), whole: decimals(this.whole[o]) }));
    this.drawProduct();
    this.drawBars();
  }

  begin(panel) {
    panel.surface.measure();
    const context = panel.surface.begin();
    context.font = `${this.fontSize}px ${this.theme.ink("font")}`;
    return [context, panel.surface];
  }

  strip(context, values, left, top, width, height, frame, most) {
    const picture = matrixPicture(1, values.length, (_, c) => values[c], this.theme.table("div"), -most, most);
    placePicture(context, picture, left, top, width, height);
    stroke(context, frame, 2);
    context.strokeRect(left, top, width, height);
  }

  drawProduct() {
    const [context, surface] = this.begin(this.picture);
    const { theme } = this;
    const adding = this.settings.mode === "add";
    const [left, width, top] = [34, surface.width - 44, this.head()];
    const height = surface.height - top - 4;
    const share = adding ? 1 : this.d / (this.d + this.p.length);
    const [violet, sky] = [theme.ink("residual-ink"), theme.ink("position-ink")];
    const most = 2.5 * Math.sqrt(this.x.reduce((sum, v) => sum + v * v, 0) / this.d) || 1;
    if (adding) {
      this.named(context, "x", 0, left, violet);
      this.strip(context, this.x, left, 2, width, 16, violet, most);
      this.named(context, "+ p", 22, left, sky);
      this.strip(context, this.p, left, 24, width, 16, sky, 1);
      this.named(context, "=", 44, left, theme.ink("text"));
      this.strip(context, this.row, left, 46, width, 16, theme.ink("text"), Math.max(most, 1));
    } else {
      write(context, `x (${this.d})`, left, 10, violet);
      if (width * (1 - share) > 46) write(context, `p (${this.p.length})`, left + width * share + 4, 10, sky);
      this.strip(context, this.x, left, 22, width * share - 2, 26, violet, most);
      this.strip(context, this.p, left + width * share + 2, 22, width * (1 - share) - 2, 26, sky, 1);
    }
    this.drawWeights(context, left, top, width, height, share, violet, sky);
  }

  named(context, text, top, left, colour) {
    write(context, text, left - 6, top + 10, colour, "right");
  }

  drawWeights(context, left, top, width, height, share, violet, sky) {
    const { theme, k } = this;
    const adding = this.settings.mode === "add";
    const most = 3 * Math.sqrt(this.W_X.reduce((sum, v) => sum + v * v, 0) / this.W_X.length) || 1;
    const picture = (W, rows) => matrixPicture(k, rows, (r, c) => W[c * k + r], theme.table("div"), -most, most);
    const block = (W, rows, x, w, colour) => {
      placePicture(context, picture(W, rows), x, top, w, height);
      stroke(context, colour, 2);
      context.strokeRect(x, top, w, height);
    };
    block(this.W_X, this.d, left, width * share - (adding ? 0 : 2), violet);
    if (!adding) block(this.W_P, this.p.length, left + width * share + 2, width * (1 - share) - 2, sky);
    write(context, "Wᵀ", left - 6, top + 10, theme.ink("text"), "right");
    if (this.hover === null) return;
    stroke(context, theme.ink("text"), 1.5);
    context.strokeRect(left, top + (this.hover / k) * height, width, height / k);
  }

  drawBars() {
    const [context, surface] = this.begin(this.bars);
    const { theme, k } = this;
    const top = this.head();
    const row = (surface.height - top - 4) / k;
    let most = 1e-9;
    for (let o = 0; o < k; o += 1)
      most = Math.max(most, Math.abs(this.fromX[o]), Math.abs(this.fromP[o]), Math.abs(this.whole[o]));
    const middle = surface.width / 2;
    const x = (value) => middle + (value / most) * (surface.width / 2 - 8);
    const legend = [["residual", this.labels.from_x], ["position", this.labels.from_p]];
    legend.forEach(([meaning, text], n) => {
      context.fillStyle = theme.ink(meaning);
      context.fillRect(4, 6 + n * 20, 12, 10);
      if (meaning === "position") hatch(context, 4, 6 + n * 20, 12, 10, theme.ink("position-ink"), 4);
      write(context, text, 22, 11 + n * 20, theme.ink("text"));
    });
    dot(context, 10, 52, 4, theme.ink("text"), theme.ink("page"));
    write(context, this.labels[`whole_${this.settings.mode}`], 22, 52, theme.ink("text"));
    stroke(context, theme.ink("grid"));
    line(context, middle, top, middle, surface.height - 4);
    for (const [value, align] of [[-most, "left"], [0, "center"], [most, "right"]])
      write(context, value ? significant(value, 2) : "0", x(value), top - 9, theme.ink("muted"), align);
    for (let o = 0; o < k; o += 1) this.drawBar(context, o, top + o * row, row, x);
  }

  /** The part from x, then the part from p laid on its end: they arrive at the dot, the whole product. */
  drawBar(context, o, y, row, x) {
    const { theme } = this;
    const [start, turn] = [x(0), x(this.fromX[o])];
    const end = x(this.fromX[o] + this.fromP[o]);
    const thick = Math.max(1.5, row * 0.36);
    context.globalAlpha = this.hover === null || this.hover === o ? 1 : 0.45;
    context.fillStyle = theme.ink("residual");
    context.fillRect(Math.min(start, turn), y + row * 0.1, Math.abs(turn - start), thick);
    context.fillStyle = theme.ink("position");
    context.fillRect(Math.min(turn, end), y + row * 0.54, Math.abs(end - turn), thick);
    if (thick > 3)
      hatch(context, Math.min(turn, end), y + row * 0.54, Math.abs(end - turn), thick, theme.ink("position-ink"), 5);
    dot(context, x(this.whole[o]), y + row / 2, Math.min(4, row / 2.4), theme.ink("text"), theme.ink("page"));
    context.globalAlpha = 1;
  }
}

export default function (component) {
  return mount(component, Concat);
}
