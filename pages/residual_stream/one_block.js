// header: order ("pre" or "post"); tokens [text], one or two; rows [{name, shape, kind, lengths [text], changed (text,
// or "")}] of a block from what enters to what leaves; widths [n], the numbers of each row. Array values:
// row by row, and in it token by token. All strips are as wide as the vectors of the stream; the hidden row takes as
// many lines of it as it needs. The pointer reads one dimension of all rows.
import { matrixPicture } from "../../core/components/lib/canvas.js";
import { draw, fill, make, marked } from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { readable } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { mounted, onWidth } from "../../core/components/lib/view.js";

const PATHS = { pre: [[0, 3], [3, 7]], post: [[0, 2], [3, 6]] };      // a residual path: where it leaves and is added
const LINE = 9;                                                       // px of a line of the hidden row

class OneBlock {
  constructor(root) {
    this.root = root;
    this.head = make("div", "head", root);
    this.place = make("div", "rows", root);
    this.paths = draw("svg", { class: "paths", "aria-hidden": "true" }, this.place);
    this.reading = make("p", "reading", root);
    byKeys(this.place, () => ({ columns: this.d, rows: 1 }),
      (at, _row, phase) => this.point(phase === "out" ? null : at), () => this.reading.textContent);
    this.place.onpointerleave = () => this.point(null);
    onWidth(root, () => this.drawPaths());
  }

  receive(header) {
    Object.assign(this, header);
    this.d = this.widths[0];
    this.build();
    this.point(null);
  }

  build() {
    const { head, place, text, tokens } = this;
    this.root.classList.toggle("two", tokens.length > 1);
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
    const own = this.kindsOf(at);
    this.reading.textContent = at === null ? this.text.hint : fill(this.text[`read_${this.order}`], { at, ...own });
  }

  /** The first token's numbers of a dimension by the rows' kinds, the sums in their order. */
  kindsOf(at) {
    const found = {};
    let from = 0;
    this.rows.forEach((row, index) => {
      const key = row.kind === "sum" && "sum" in found ? "sum2" : row.kind === "norm" && "norm" in found ? "norm2"
        : row.kind;
      found[key] = readable(this.values[from + (at ?? 0)]);
      from += this.widths[index] * this.tokens.length;
    });
    return found;
  }

  /** The residual paths, beside the rows, from where they leave to where they are added. */
  drawPaths() {
    const nodes = [...this.place.querySelectorAll(".row")];
    if (!nodes.length || !this.place.clientWidth) return;
    const middle = (node) => node.offsetTop + node.offsetHeight / 2, { paths } = this;
    paths.replaceChildren();
    const height = this.place.clientHeight, x = 26;
    paths.setAttribute("viewBox", `0 0 34 ${height}`);
    paths.setAttribute("height", String(height));
    draw("path", { class: "way", d: `M${x} ${middle(nodes[0])}V${middle(nodes.at(-1))}` }, paths);
    for (const [from, to] of PATHS[this.order]) {
      const [top, bottom] = [middle(nodes[from]), middle(nodes[to])];
      draw("path", { class: "path", d: `M${x} ${top}H6V${bottom}H${x - 9}` }, paths);
      draw("circle", { class: "plus", cx: x, cy: bottom, r: 8 }, paths);
      draw("path", { class: "plus", d: `M${x - 4.5} ${bottom}h9M${x} ${bottom - 4.5}v9` }, paths);
    }
    const sums = PATHS[this.order].map(([, to]) => to);
    nodes.forEach((node, index) => {
      if (!sums.includes(index)) draw("circle", { class: "stop", cx: x, cy: middle(node), r: 4 }, paths);
    });
  }
}

export default mounted(OneBlock);
