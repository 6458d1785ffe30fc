// All strips are as wide as the vectors of the stream; the hidden row takes as many lines of it as it needs. The
// pointer reads one dimension of all rows.
import { matrixPicture } from "../../core/components/lib/canvas.js";
import { draw, fill, make, marked } from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { readable } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";

const LINE = 9;                     // px of a line of the hidden row
const X = 24;                       // px from the left: the line that goes through the rows
// px from the left where a path passes the rows between: one of the stream, of what both parts of a parallel block
// read through one norm, of what attention adds to the sum of such a block
const LANES = { X: 6, O: 6, C: 6, norm: 15, attention: 37, added: 37 };

/** of: the rows that it is computed of; read: the label, less its read_, that says the row's number under the pointer,
 * or ""; reads_memory: whether an encoder's vectors enter it from the side; changed, note: under its name, or "".
 * @typedef {{ name: string, shape: string, kind: string, of: number[], read: string, reads_memory: boolean,
 *   changed: string, note: string, lengths: string[] }} Row */
/** tokens: one or two; rows: of a block from what enters to what leaves; widths: the numbers of each row; values: row
 * by row, and in it token by token.
 * @typedef {{ text: Record<string, string>, scale: number, tokens: string[], rows: Row[], widths: number[],
 *   values: Float32Array }} Message */

/** @extends {View<Message>} */
class OneBlock extends View {
  constructor(root) {
    super(root);
    this.head = make("div", "head", root);
    this.place = make("div", "rows", root);
    this.paths = draw("svg", { class: "paths", "aria-hidden": "true" }, this.place);
    this.reading = make("p", "reading", root);
    byKeys(this.place, () => ({ columns: this.d, rows: 1 }),
      (at, _row, phase) => this.point(phase === "out" ? null : at), () => this.reading.textContent);
    this.place.onpointerleave = () => this.point(null);
    onWidth(root, () => this.drawPaths());
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.d = this.widths[0];
    this.build();
    this.point(null);
  }

  build() {
    const { head, place, text, tokens } = this;
    this.root.classList.toggle("two", tokens.length > 1);
    this.root.classList.toggle("many", this.rows.length > 8);
    this.root.classList.toggle("most", this.rows.length > 10);
    head.replaceChildren();
    make("span", "part", head);
    for (const token of tokens) make("code", "token", head, token).dir = "auto";
    place.replaceChildren(this.paths);
    place.ariaLabel = text.keys;
    this.theme = readTheme();
    this.marks = [];
    let from = 0;
    this.rows.forEach((row, index) => {
      const node = make("div", `row ${row.kind}`, place), part = make("div", "part", node);
      marked(make("span", "name", part), row.name);
      make("span", "shape", part, row.shape);
      if (row.note) make("span", "note", part, row.note);
      row.lengths.forEach((length, column) => {
        const n = this.widths[index], values = this.values.subarray(from, from + n);
        this.cell(node, values, fill(text.length, { length }), column ? "" : row.changed);
        from += n;
      });
    });
    this.drawPaths();
  }

  /** One strip, or several lines of one, with its length, and whether an exchange has changed it. */
  cell(node, values, length, changed) {
    const cell = make("div", "cell", node), strip = make("div", "strip", cell), { d, theme } = this;
    const lines = Math.ceil(values.length / d), most = values.reduce((top, v) => Math.max(top, Math.abs(v)), 1e-9);
    const at = (line, k) => values[line * d + k] ?? NaN;
    const picture = matrixPicture(lines, d, at, theme.table("div"), -most, most, make("canvas", "", strip));
    picture.style.height = lines > 1 ? `${lines * LINE}px` : "";
    picture.role = "img";
    const said = make("span", "said", cell);
    make("span", "length", said, length);
    if (changed) make("span", `changed ${changed === this.text.same ? "same" : ""}`, said, changed);
    const mark = make("i", "mark", strip);
    this.marks.push(mark);
    strip.onpointermove = (event) => {
      const { left, width } = strip.getBoundingClientRect();
      this.point(Math.max(0, Math.min(d - 1, Math.floor(((event.clientX - left) / width) * d))));
    };
  }

  /** Read dimension `at` of all rows; null for none. */
  point(at) {
    for (const mark of this.marks) {
      mark.hidden = at === null;
      mark.style.left = `${(100 * ((at ?? 0) + 0.5)) / this.d}%`;
    }
    this.reading.textContent = at === null ? this.text.hint
      : fill(this.text.read, { at: String(at), rows: this.numbers(at).join("").trim() });
  }

  /** The words for the first token's number of a dimension, row by row. */
  numbers(at) {
    let from = 0;
    return this.rows.map(({ read }, index) => {
      const value = readable(this.values[from + at]);
      from += this.widths[index] * this.tokens.length;
      return read && fill(this.text[`read_${read}`], { value }).replace(/^(?![,;])/, " ");
    });
  }

  /** The lines beside the rows: from each row to the one below that is computed of it, and the paths that pass rows. */
  drawPaths() {
    const nodes = [...this.place.querySelectorAll(".row")], { paths, rows } = this;
    if (!nodes.length || !this.place.clientWidth) return;
    const heights = nodes.map((node) => node.offsetTop + node.offsetHeight / 2), height = this.place.clientHeight;
    paths.replaceChildren();
    paths.setAttribute("viewBox", `0 0 40 ${height}`);
    paths.setAttribute("height", String(height));
    rows.forEach(({ of }, to) => of.filter((from) => from === to - 1).forEach((from) =>
      draw("path", { class: "way", d: `M${X} ${heights[from]}V${heights[to]}` }, paths)));
    rows.forEach(({ of }, to) => of.filter((from) => from < to - 1).forEach((from) =>
      draw("path", { class: `path ${rows[from].kind}`, "data-from": rows[from].kind, "data-to": rows[to].kind,
        d: `M${X} ${heights[from]}H${LANES[rows[from].kind]}V${heights[to]}H${X}` }, paths)));
    rows.forEach(({ of }, to) => {
      const y = heights[to], isSum = of.length > 1;
      draw("circle", { class: isSum ? "plus" : "stop", cx: X, cy: y, r: isSum ? 8 : 4 }, paths);
      if (isSum) draw("path", { class: "plus", d: `M${X - 4.5} ${y}h9M${X} ${y - 4.5}v9` }, paths);
      if (rows[to].reads_memory) draw("path", { class: "memory", d: `M43 ${y}H${X + 6}m5 -4l-5 4l5 4` }, paths);
    });
  }
}

export default mounted(OneBlock);
