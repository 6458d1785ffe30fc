// Beyond the trained length: what each scheme offers at positions that training never showed. Only geometry, computed
// in the browser.
import { hatch, line, matrixPicture, placePicture, stroke } from "../../core/components/lib/canvas.js";
import { fill, marked } from "../../core/components/lib/dom.js";
import { decimals } from "../../core/components/lib/numbers.js";
import { mounted } from "../../core/components/lib/view.js";
import { baseAt, Panels } from "./panels.js";
import { isNewAngle } from "./schemes.js";

/** @typedef {{ pairs: number, slopes: number[], settings: Record<"trained" | "read" | "base" | "clip", number>,
 *   labels: Record<string, string>, present: boolean }} Message */

/** @extends {Panels<Message>} */
class Beyond extends Panels {
  constructor(root) {
    super(root);
    this.range("trained");
    this.range("read");
    this.range("base", { convert: baseAt });
    this.range("clip");
    for (const name of ["learned", "angles", "alibi", "relative"]) this.panel(name);
  }

  /** @param {Message} header */
  receive(header) {
    super.receive(header);
    Object.assign(this, { pairs: header.pairs, slopes: header.slopes });
  }

  cells(name) {
    const { surface } = this.panels[name];
    return { left: 52, width: surface.width - 62, height: surface.height - 18, columns: this.settings.read,
      rows: { angles: this.pairs, alibi: this.slopes.length }[name] ?? 1 };
  }

  compute() {
    const s = this.settings;
    s.read = Math.max(s.read, s.trained);
    this.omega = Float64Array.from({ length: this.pairs }, (_, m) => s.base ** (-m / this.pairs));
  }

  describe() {
    const { trained, read, clip } = this.settings;
    this.show("trained", 8, 512, { step: 8 });
    this.show("read", 8, 2048, { step: 8 });
    this.showBase();
    this.show("clip", 2, 256, { step: 2 });
    const open = this.omega.filter((omega) => trained * omega < 2 * Math.PI).length;
    this.caption({ trained, read, last: trained - 1, missing: read - trained, open, pairs: this.pairs,
      heads: this.slopes.length, clip });
    marked(this.reading, this.hover ? this.hoverText() : this.labels.hint);
  }

  hoverText() {
    const { name, column: i, row } = this.hover, { trained, clip } = this.settings, { labels } = this;
    if (name === "learned") return fill(i >= trained ? labels.tip_no_row : labels.tip_row, { i });
    if (name === "angles") {
      const omega = this.omega[row];
      return fill(isNewAngle(i, omega, trained) ? labels.tip_new : labels.tip_seen,
        { i, row, angle: decimals(i * omega), last: decimals((trained - 1) * omega) });
    }
    if (name === "relative") return fill(labels.tip_relative, { i, shared: Math.min(i, clip) });
    const bias = -this.slopes[row] * i;
    return fill(labels.tip_alibi, { i, row, bias: decimals(bias), factor: decimals(Math.exp(bias)) });
  }

  drawPanel(name, context) {
    const box = this.cells(name);
    if (name === "learned") this.drawRows(context, box);
    else this.drawColours(context, name, box);
    this.drawEdge(context, box);
  }

  /** The dashed line where training ended, the axis, and the hovered position. */
  drawEdge(context, box) {
    const { left, width, height } = box, { trained, read } = this.settings;
    const upright = (x) => line(context, left + (x / read) * width, 0, left + (x / read) * width, height);
    stroke(context, this.ink("text"), 2, [6, 4]);
    if (read > trained) upright(trained);
    this.columnTicks(context, box, (width + 62) / 70);
    if (!this.hover) return;
    stroke(context, this.ink("muted"));
    upright(this.hover.column + 0.5);
  }

  /** The rows of P: those that training has made, and those that do not exist. */
  drawRows(context, { left, width, height }) {
    const edge = (this.settings.trained / this.settings.read) * width;
    context.fillStyle = this.ink("position");
    context.fillRect(left, 0, edge, height);
    hatch(context, left + edge, 0, width - edge, height, this.ink("excluded-ink"));
    this.tick(context, "P", left - 8, height / 2);
  }

  /** Angles, weights or entries of the table, a colour for each position. */
  drawColours(context, name, box) {
    const { left, width, height, rows } = box, { trained, read, clip } = this.settings;
    const [scale, low, high, value] = {
      angles: ["div", -1, 1,
        (row, i) => (isNewAngle(i, this.omega[row], trained) ? NaN : Math.cos(i * this.omega[row]))],
      alibi: ["seq", 0, 1, (row, i) => Math.exp(-this.slopes[row] * i)],
      relative: ["seq", 0, clip * 1.4, (_, i) => Math.min(clip, i)],
    }[name];
    const columns = Math.min(read, Math.ceil(width));
    if (name === "angles") hatch(context, left, 0, width, height, this.ink("excluded-ink"), 6);
    placePicture(context, matrixPicture(rows, columns, (row, c) => value(row, Math.floor((c * read) / columns)),
      this.theme.table(scale), low, high), left, 0, width, height);
    if (name === "angles") this.rowTicks(context, box, height / 28);
    else if (name === "relative") this.tick(context, "r", left - 8, height / 2);
    else if (height / rows > 11) this.rowTicks(context, box, rows);
  }
}

export default mounted(Beyond);
