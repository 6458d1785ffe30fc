import { significant } from "../../core/components/lib/numbers.js";
import { draw, Echoes, emOf, make, monoFont, mount, onFont, onWidth,
  textWidth } from "../../core/components/lib/token_view.js";

// header: rows [{label, text, tokens [text], bits [number], summary}]; settings {row}; height of all rows together in
// pixels. The height of a bar is the token's surprisal in bits, on one scale for all rows; the dearest token of a row
// is told apart by an outline and a bold number.
class Sentences {
  constructor(root) {
    this.root = root;
    this.echoes = new Echoes();
    this.list = make("div", "sentences-list", root);
    onWidth(this.list, () => this.build());
    onFont(root, () => this.build());
  }

  receive(header) {
    Object.assign(this, header);
    if (this.echoes.moves(header.settings.row, this.row)) this.row = header.settings.row;
    this.build();
  }

  pick(row) {
    this.row = row;
    this.echoes.tell(row);
    this.build();
    this.send({ row });
  }

  build() {
    const width = this.list.clientWidth;
    if (!width || !this.rows) return;
    this.list.replaceChildren();
    const em = emOf(this.root), most = Math.max(1, ...this.rows.flatMap((row) => row.bits));
    const height = Math.max(1.6 * em, Math.min(8 * em, this.height / this.rows.length - 4.6 * em));
    const font = monoFont(this.root, 0.95 * em);
    const need = (row) => row.tokens.map((token) => Math.max(2.9 * em, textWidth(token, font) + 0.9 * em));
    const wide = Math.max(...this.rows.flatMap(need)), longest = Math.max(...this.rows.map((row) => row.tokens.length));
    const room = width - 2 * em;
    // one width for all where there is room
    const equal = wide * longest <= room ? Math.min(room / longest, 1.6 * wide) : 0;
    this.rows.forEach((row, k) => this.line(row, k, need(row).map((own) => equal || own), { em, most, height }));
  }

  line(row, k, widths, { em, most, height }) {
    const node = make("div", k === this.row ? "row picked" : "row", this.list), head = make("div", "head", node);
    if (row.label) make("span", "label", head, row.label);
    const name = make("button", "name", head, row.text || "∅");
    name.type = "button";
    name.dir = "auto";
    name.setAttribute("aria-pressed", String(k === this.row));
    name.onclick = () => this.pick(k);
    make("span", "sums", head, row.summary);
    const total = widths.reduce((sum, own) => sum + own, 0), place = make("div", "scroll", node);
    const tall = height + 3.4 * em;
    const svg = draw("svg", { width: Math.max(1, total), height: tall, class: "sentences-chart", role: "img",
      "font-size": 0.95 * em }, place);
    const listed = row.tokens.map((token, i) => `${token} ${row.bits[i].toFixed(1)}`).join(", ");
    svg.setAttribute("aria-label", `${row.text}: ${listed} ${this.text.bits}`);
    draw("line", { x1: 0, x2: total, y1: height + 1.5 * em, y2: height + 1.5 * em }, svg);
    const dearest = row.bits.indexOf(Math.max(...row.bits));
    let left = 0;
    row.tokens.forEach((token, i) => {
      const own = widths[i], bar = (row.bits[i] / most) * height, middle = left + own / 2;
      const group = draw("g", {}, svg);
      draw("title", {}, group, `${token}: ${row.bits[i]} ${this.text.bits}, p = ${significant(2 ** -row.bits[i], 4)}`);
      draw("rect", { x: middle - em, width: 2 * em, y: height + 1.5 * em - bar, height: bar,
        class: i === dearest ? "high" : "" }, group);
      draw("text", { x: middle, y: height + 1.2 * em - bar, "text-anchor": "middle", class: i === dearest
          ? "sans strong" : "sans" }, group, row.bits[i] < 0.05 ? row.bits[i].toPrecision(1) : row.bits[i].toFixed(1));
      draw("text", { x: middle, y: height + 2.8 * em, "text-anchor": "middle" }, group, token);
      left += own;
    });
  }
}

export default function (component) {
  mount(component, Sentences);
}
