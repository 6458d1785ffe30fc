import { tableBody } from "./shared.js";
import { draw, drawLine, drawText, make } from "../../core/components/lib/dom.js";
import { plain } from "../../core/components/lib/numbers.js";
import { pageScale } from "../../core/components/lib/theme.js";
import { mounted, View } from "../../core/components/lib/view.js";

const ROWS = 4, COLUMNS = 8, PICKED = 2, FEATURE = 5, JOINED = 2;

/** The components of the token's vector in bins of equal width, whose axis holds them all.
 * @typedef {{ counts: number[], stat: string }} Counted */
/** @typedef {Counted & { kind: string, name: string, formula: string, over: "row" | "column", cells: string,
 *   statistics: string, alone: string, joined: string, still: [boolean, boolean] }} Norm */
/** edges: of the histograms' axis.
 * @typedef {{ text: Record<string, string>, scale: number, before: Counted & { name: string, edges: [number,
 *   number] }, norms: Norm[], edges: [number, number], columns: { result: string, joined: string } }} Message */

/** @extends {View<Message>} */
class Norms extends View {
  constructor(root) {
    super(root);
    this.top = make("div", "before", root);
    this.place = make("div", "scroll", root);
    this.table = make("table", "norms-table", this.place);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.top.replaceChildren();
    make("span", "muted", this.top, header.before.name);
    this.histogram(this.top, header.before.counts, "residual", header.before.edges);
    make("span", "muted", this.top, header.before.stat);
    const body = tableBody(this.table, ["", this.text.column_cells, this.columns.result,
      `${this.text.column_change}: ${this.text.column_alone}`, `${this.text.column_change}: ${this.columns.joined}`]);
    for (const norm of this.norms) this.row(make("tr", "", body), norm);
  }

  row(row, norm) {
    const name = make("th", "name", row);
    name.scope = "row";
    make("b", "", name, norm.name);
    make("span", "code", name, norm.formula);
    const cells = make("td", "cells", row);
    this.scheme(cells, norm.over);
    const words = make("div", "", cells);
    make("div", "muted", words, norm.cells);
    make("div", "", words, norm.statistics);
    const result = make("td", "", row);
    this.histogram(result, norm.counts, "kept", this.edges);
    make("div", "muted", result, norm.stat);
    make("td", norm.still[0] ? "change still" : "change", row, norm.alone);
    make("td", norm.still[1] ? "change still" : "change", row, norm.joined);
  }

  /** Tokens as rows, features as columns, and two rows of a text that joins: the cells that enter the mean are filled,
      the one that is normed is framed. */
  scheme(parent, over) {
    const size = 9, svg = draw("svg",
      { width: COLUMNS * size, height: (ROWS + JOINED) * size + 4, "aria-hidden": "true" }, parent);
    for (let i = 0; i < ROWS + JOINED; i++) {
      for (let j = 0; j < COLUMNS; j++) {
        const joined = i >= ROWS, inside = over === "row" ? i === PICKED : j === FEATURE;
        draw("rect", { x: j * size + 0.5, y: i * size + 0.5 + (joined ? 3 : 0), width: size - 1, height: size - 1,
          rx: 1, class: `${inside ? "inside" : "outside"}${joined ? " joined" : ""}` }, svg);
      }
    }
    draw("rect", { x: FEATURE * size, y: PICKED * size, width: size, height: size, class: "normed" }, svg);
  }

  histogram(parent, counts, meaning, edges) {
    const scale = pageScale(), width = 190, whole = 55, height = whole - 11 * scale, step = width / counts.length;
    const svg = draw("svg", { class: "histogram", viewBox: `0 0 ${width} ${whole}`, width, height: whole, role: "img" },
      parent);
    const most = Math.max(...counts, 1);
    counts.forEach((count, k) => {
      const tall = (count / most) * height, bar = draw("rect",
        { x: k * step + 0.5, y: height - tall, width: step - 1, height: tall, class: meaning }, svg);
      draw("title", {}, bar, String(count));
    });
    drawLine(svg, 0, height, width, height, { class: "axis" });
    for (const [value, anchor, x] of
        [[edges[0], "start", 0], [(edges[0] + edges[1]) / 2, "middle", width / 2], [edges[1], "end", width]])
      drawText(svg, x, height + 10 * scale, plain(value, 1), { anchor, size: 9 * scale });
  }
}

export default mounted(Norms);
