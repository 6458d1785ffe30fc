import { draw, drawLine, drawText, fill, make, sized } from "../../core/components/lib/dom.js";
import { percent } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { drawWritten } from "../../core/components/lib/tokens.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

/** again: whether each token belongs to an n-gram that came before; many: the name of what the means are taken over.
 * @typedef {{ name: string, note: string, tokens: string[], p: number[], again: boolean[], numbers: string[],
 *   means: string[] | null }} Row
 * @typedef {{ columns: string[], many: string, rows: Row[], text: Record<string, string>, scale: number }} Message */

/** @extends {View<Message>} */
class Strategies extends View {
  constructor(root) {
    super(root);
    this.place = make("div", "strategies-picture", root);
    this.svg = draw("svg", { class: "strategies", role: "img" }, this.place);
    this.hint = make("div", "muted hint", root);
    redrawn(() => this.paint(), this.place);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.hint.textContent = `${this.text.note} ${this.text.hint}`.trim();
    this.paint();
  }

  paint() {
    const width = this.place.clientWidth, em = emOf(this.root), narrow = width < 52 * em;
    if (!width || !this.rows) return;
    this.svg.replaceChildren();
    let y = narrow ? 0 : this.heads(width, em);
    for (const row of this.rows) y = narrow ? this.stacked(row, y, width, em) : this.beside(row, y, width, em);
    sized(this.svg, width, y, this.rows.map((row) => `${row.name}: ${row.tokens.join("")}`).join("\n"));
  }

  columnsFrom(width, em) {
    return this.columns.map((_, k) => width - (this.columns.length - 1 - k) * 6.1 * em - 0.3 * em);
  }

  heads(width, em) {
    this.columnsFrom(width, em).forEach((x, k) => {
      this.columns[k].split("|").forEach((line, i) => drawText(this.svg, x, (1 + 1.2 * i) * em, line,
        { anchor: "end", size: 0.92 * em }));
    });
    return 2.5 * em;
  }

  /** @param {Row} row */
  words(row, x, y, width, em) {
    const items = row.tokens.map((text, i) => {
      const template = row.again[i] ? this.text.hover_again : this.text.hover, p = row.p[i];
      return { text, p, marks: row.again[i] ? "again" : "", title: fill(template, { token: text, p: percent(p) }) };
    });
    return drawWritten(this.svg, items, x, y, width, 0.93 * em, false).height;
  }

  /** @param {Row} row */
  beside(row, y, width, em) {
    const left = 9.6 * em, right = this.columns.length * 6.1 * em;
    drawLine(this.svg, 0, y, width, y, { stroke: "var(--tx-grid)" });
    // name and note lie closer where a projector has to show all rows
    const [first, second, tall] = this.scale > 1 ? [1.1, 2.2, 2.55] : [1.6, 2.9, 3.25];
    drawText(this.svg, 0, y + first * em, row.name, { size: em, name: "sans strong" });
    drawText(this.svg, 0, y + second * em, row.note, { size: 0.88 * em });
    this.columnsFrom(width, em).forEach((x, k) => {
      drawText(this.svg, x, y + first * em, row.numbers[k], { anchor: "end", size: em, name: "sans strong" });
      if (row.means)
        drawText(this.svg, x, y + second * em, `${this.many} ${row.means[k]}`, { anchor: "end", size: 0.88 * em });
    });
    return Math.max(this.words(row, left, y + 0.25 * em, width - left - right, em), y + tall * em);
  }

  /** @param {Row} row */
  stacked(row, y, width, em) {
    drawText(this.svg, 0, y + 1.2 * em, row.name, { size: em, name: "sans strong" });
    let end = this.words(row, 1, y + 1.7 * em, width - 2, em);
    this.columns.forEach((column, k) => {
      end += 1.35 * em;
      const mean = row.means ? ` (${this.many} ${row.means[k]})` : "";
      drawText(this.svg, 0, end - 0.25 * em, `${column.replace("|", " ")}: ${row.numbers[k]}${mean}`,
        { size: 0.92 * em });
    });
    return end + em;
  }
}

export default mounted(Strategies);
