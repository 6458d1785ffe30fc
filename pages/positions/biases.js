// Biases on the scores: ALiBi's straight lines, one slope per head, and a relative table r_{i−j} that the reader bends
// by hand. Each is beside its matrix and the attention that it makes if all q · k are equal.
import { wholeTicks } from "../../core/components/lib/axis.js";
import { dot, hatch, line, matrixPicture, placePicture, stroke } from "../../core/components/lib/canvas.js";
import { fill, make, marked } from "../../core/components/lib/dom.js";
import { decimals, significant, written } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { Panels } from "./panels.js";
import { attention, slopes } from "./schemes.js";

// a projector has room for one of the two, each with its own ranges
const PARTS = { lines: { panels: ["lines", "alibi-weights"], ranges: ["heads", "head"] },
  table: { panels: ["table", "relative-weights"], ranges: ["clip"] } };
const STRONGEST = 4;
const LOWER = 4;      // pixels between the lowest entry of the table and the picture's lower edge
const clamp = (most, value) => Math.max(-most, Math.min(most, value));

/** @typedef {{ settings: Record<"heads" | "head" | "n" | "clip" | "distance", number> & { r: string },
 *   labels: Record<string, string>, present: boolean }} Message */

/** @extends {Panels<Message>} */
class Biases extends Panels {
  constructor(root) {
    super(root);
    this.part = "lines";
    this.variants = make("div", "variants", this.controls);
    this.variants.role = "radiogroup";
    for (const part of Object.keys(PARTS)) {
      const pick = make("button", "", this.variants);
      pick.role = "radio";
      pick.onclick = () => { this.part = part; this.schedule(); };
    }
    for (const name of ["heads", "head", "n", "clip"]) this.range(name);
    for (const name of ["lines", "alibi", "alibi-weights", "table", "relative", "relative-weights"])
      this.panel(name, name !== "table");
    // native ranges, so that the keyboard can bend the table too
    const parent = make("div", "entry", this.panels.table.cell);
    this.range("distance", { parent });
    this.range("value", { parent });
  }

  set(name, value) {
    if (name === "value") this.bend(value);
    else super.set(name, value);
  }

  /** The index in the table of a distance i − j; longer distances share the last entry. */
  placeOf(distance) {
    return clamp(this.settings.clip, distance) + (this.r.length - 1) / 2;
  }

  entry(distance) {
    return this.r[this.placeOf(distance)];
  }

  /** Another entry of the table for the picked distance. */
  bend(value) {
    this.r[this.placeOf(this.settings.distance)] = Math.round(value * 20) / 20;
    this.set("r", this.r.join(","));
  }

  cells(name) {
    const { surface } = this.panels[name], { n, clip } = this.settings;
    // half a line above, for the label of the topmost row
    const [left, top] = [40, Math.ceil(this.fontSize / 2)], height = surface.height - top - 18;
    if (name === "lines" || name === "table")
      return { left, top, height, width: surface.width - left - 8, rows: 1,
        columns: name === "lines" ? n : 2 * clip + 1 };
    return { left, top, height, width: Math.min(height, surface.width - left - 4), columns: n, rows: n };
  }

  pick({ name, column }, share) {
    if (name !== "table") return;
    this.settings.distance = column - this.settings.clip;
    const { height } = this.cells(name);
    this.bend(clamp(STRONGEST, STRONGEST * (1 - (2 * share * height) / (height - LOWER))));
  }

  compute() {
    const s = this.settings;
    s.head = Math.min(s.head, s.heads - 1);
    this.r = s.r.split(",").map(Number);
    s.clip = Math.min(s.clip, (this.r.length - 1) / 2);
    s.distance = clamp(s.clip, s.distance);
    this.slopes = slopes(s.heads);
    this.slope = this.slopes[s.head];
    this.bias = { alibi: (i, j) => -this.slope * (i - j), relative: (i, j) => this.entry(i - j) };
    this.weights = { alibi: attention(this.bias.alibi, s.n, true),
      relative: attention(this.bias.relative, s.n, false) };
  }

  /** Choose what to draw: all, or on a projector the picked half. */
  choose() {
    const { isPresented, part, labels } = this;
    this.variants.hidden = !isPresented;
    this.variants.ariaLabel = labels.part;
    Object.entries(PARTS).forEach(([name, { panels, ranges }], k) => {
      const button = this.variants.children[k], isOut = isPresented && name !== part;
      button.textContent = labels[`part_${name}`];
      button.ariaChecked = String(name === part);
      for (const panel of panels) this.panels[panel].cell.hidden = isOut;
      for (const range of ranges) this.ranges[range].box.hidden = isOut;
    });
    for (const panel of ["alibi", "relative"]) this.panels[panel].cell.hidden = isPresented;
  }

  describe() {
    this.choose();
    const { heads, head, n, clip, distance } = this.settings, entry = this.entry(distance);
    this.show("heads", 1, 32);
    this.show("head", 0, heads - 1);
    this.show("n", 4, 96);
    this.show("clip", 1, (this.r.length - 1) / 2);
    this.show("distance", -clip, clip);
    this.show("value", -STRONGEST, STRONGEST, { step: 0.05, value: entry, text: decimals(entry, 2) });
    this.caption({ head, heads, slope: significant(this.slope), half: significant(Math.LN2 / this.slope), n, clip },
      (name) => (this.isPresented && name.endsWith("weights") ? "weights_short" : name));
    marked(this.reading, this.hover ? this.hoverText() : this.labels.hint);
  }

  hoverText() {
    const { name, column: j, row: i } = this.hover, { labels } = this, { clip, n } = this.settings;
    if (name === "lines")
      return fill(labels.tip_lines,
        { distance: j, bias: decimals(-this.slope * j), factor: decimals(Math.exp(-this.slope * j)) });
    if (name === "table")
      return fill(labels.tip_table, { distance: written(j - clip), bias: decimals(this.entry(j - clip), 2) });
    const [scheme] = name.split("-");
    return fill(scheme === "alibi" && j > i ? labels.tip_masked : labels.tip, { i, j, distance: written(i - j),
      bias: decimals(this.bias[scheme](i, j)), weight: decimals(this.weights[scheme][i * n + j]) });
  }

  drawPanel(name, context) {
    const box = this.cells(name);
    if (name === "lines") this.drawLines(context, box);
    else if (name === "table") this.drawTable(context, box);
    else this.drawMatrix(context, name, box);
  }

  drawMatrix(context, name, box) {
    const { left, top, width, height } = box, { n } = this.settings, { theme, hover } = this;
    const [scheme, weights] = name.split("-");
    if (scheme === "alibi") hatch(context, left, top, width, height, this.ink("grid-ink"));
    const picture = weights
      ? matrixPicture(n, n, (i, j) => this.weights[scheme][i * n + j], theme.table("seq"), 0, 1)
      : matrixPicture(n, n, (i, j) => (scheme === "alibi" && j > i ? NaN : this.bias[scheme](i, j)),
        theme.table("div"), -STRONGEST, STRONGEST);
    placePicture(context, picture, left, top, width, height);
    this.columnTicks(context, box, width / 40);
    this.rowTicks(context, box, width / 40);
    if (!hover || hover.name === "lines" || hover.name === "table") return;
    stroke(context, this.ink("text"), 1.5);
    context.strokeRect(left + (hover.column / n) * width, top + (hover.row / n) * height, width / n, height / n);
  }

  drawLines(context, box) {
    const { left, top, width, height } = box, { n, head } = this.settings;
    const lowest = -STRONGEST * 2, y = (value) => top + (value / lowest) * (height - 2);
    this.levels(context, box, [0, lowest / 2, lowest], y);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, top + height);
    context.clip();
    this.slopes.forEach((slope, k) => {
      stroke(context, this.ink(k === head ? "position-ink" : "muted"), k === head ? 3 : 0.75);
      line(context, left, y(0), left + width, y(-slope * (n - 1)));
    });
    context.restore();
    this.tick(context, this.labels.axis, left + width, top + height - 10);
    for (const distance of wholeTicks(n, width / 45))
      this.tick(context, distance, left + (distance / (n - 1)) * width, top + height + 10, "center");
  }

  drawTable(context, box) {
    const { left, top, width, height } = box, { clip, distance } = this.settings;
    const y = (value) => top + (1 - value / STRONGEST) * ((height - LOWER) / 2), step = width / (2 * clip + 1);
    this.levels(context, box, [-STRONGEST, 0, STRONGEST], y);
    for (let delta = -clip; delta <= clip; delta += 1) {
      const x = left + (delta + clip + 0.5) * step, high = y(this.entry(delta));
      context.fillStyle = this.ink("position");
      context.fillRect(x - step * 0.35, Math.min(y(0), high), step * 0.7, Math.abs(high - y(0)));
      dot(context, x, high, Math.min(5, step / 3), this.ink("position-ink"), this.ink("page"), delta !== distance);
      if (clip <= 10 || delta % 4 === 0) this.tick(context, delta, x, top + height + 10, "center");
    }
  }
}

export default mounted(Biases);
