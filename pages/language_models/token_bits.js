import { button, draw, drawLine, drawText, make } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { decimals, percent, significant } from "../../core/components/lib/numbers.js";
import { emOf, monoFont, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

/** The height of a bar is the token's surprisal in bits, on one scale for all rows, which are `height` pixels high
 * together; the token of a row with the most bits has an outline and a bold number.
 * @typedef {{ rows: { label: string, text: string, tokens: string[], bits: number[], summary: string }[],
 *   settings: { row: number }, height: number, text: Record<string, string>, scale: number }} Message */

/** @extends {View<Message>} */
class Sentences extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    this.list = make("div", "sentences-list", root);
    redrawn(() => this.build(), this.list);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    if (this.echoes.moves(header.settings.row)) this.row = header.settings.row;
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
    const height = Math.max(1.4 * em, Math.min(8 * em, this.height / this.rows.length - 4.6 * em));
    const font = monoFont(0.95 * em);
    const need = (row) => row.tokens.map((token) => Math.max(2.9 * em, textWidth(token, font) + 0.9 * em));
    const wide = Math.max(...this.rows.flatMap(need)), longest = Math.max(...this.rows.map((row) => row.tokens.length));
    const room = width - 2 * em;
    // one width for all if there is room
    const equal = wide * longest <= room ? Math.min(room / longest, 1.6 * wide) : 0;
    this.rows.forEach((row, k) => this.line(row, k, need(row).map((least) => equal || least), { em, most, height }));
  }

  /** @param {Message["rows"][number]} row */
  line(row, k, widths, { em, most, height }) {
    const node = make("div", k === this.row ? "row picked" : "row", this.list), head = make("div", "head", node);
    if (row.label) make("span", "label", head, row.label);
    const name = button(head, row.text || "∅", "", () => this.pick(k), "name");
    name.dir = "auto";
    name.ariaPressed = String(k === this.row);
    make("span", "sums", head, row.summary);
    const total = widths.reduce((sum, width) => sum + width, 0), place = make("div", "scroll", node);
    const tall = height + 3.4 * em;
    const svg = draw("svg", { width: Math.max(1, total), height: tall, class: "sentences-chart", role: "img",
      "font-size": "0.95em" }, place);
    const listed = row.tokens.map((token, i) => `${token} ${decimals(row.bits[i], 1)}`).join(", ");
    svg.ariaLabel = `${row.text}: ${listed} ${this.text.bits}`;
    drawLine(svg, 0, height + 1.5 * em, total, height + 1.5 * em);
    const dearest = row.bits.indexOf(Math.max(...row.bits));
    let left = 0;
    row.tokens.forEach((token, i) => {
      const width = widths[i], bar = (row.bits[i] / most) * height, middle = left + width / 2;
      const group = draw("g", {}, svg);
      const bits = significant(row.bits[i], 4), p = percent(2 ** -row.bits[i]);
      draw("title", {}, group, `${token}: ${bits} ${this.text.bits}, ${p}`);
      draw("rect", { x: middle - em, width: 2 * em, y: height + 1.5 * em - bar, height: bar,
        class: i === dearest ? "high" : "" }, group);
      drawText(group, middle, height + 1.2 * em - bar,
        row.bits[i] < 0.05 ? significant(row.bits[i], 1) : decimals(row.bits[i], 1),
        { anchor: "middle", name: i === dearest ? "sans strong" : "sans" });
      drawText(group, middle, height + 2.8 * em, token, { anchor: "middle", name: "" });
      left += width;
    });
  }
}

export default mounted(Sentences);
