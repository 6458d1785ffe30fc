// An LSTM and the cell that its gates are merged into, each as its gates, its lanes and the numbers of one unit at one
// token. Every number can be picked; what stands in its place in the other cell is picked with it.
import { draw, drawText, fill, make, sized } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { significant } from "../../core/components/lib/numbers.js";
import { abridged, emOf } from "../../core/components/lib/text.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";
import { arrangement, NODE, partsOf, productsOf, tells } from "./gates_layout.js";

const CHARACTER = 0.62;       // em, of the code font
const NARROW = 5.6;           // em from gate to gate, below which a number beside a line stands without its word
const MOST_TOKEN = 14;        // characters of the token that are written

/** picked: a part; of a cell, names: the parts' symbols; blocks: the gates with weights. The first cell is the LSTM.
 * @typedef {{ name: string, counted: string, names: Record<string, string>, words: Record<string, string>,
 *   says: Record<string, string>, blocks: string[],
 *   values: Record<"f" | "i" | "g" | "o" | "old" | "new" | "h", number> }} Cell
 * @typedef {{ token: string, picked: string, cells: Cell[],
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {View<Message>} */
class Gates extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    this.place = make("div", "cells", root);
    this.reading = make("p", "reading", root);
    this.reading.ariaLive = "polite";
    onWidth(root, () => this.cells && this.build());
  }

  /** @param {Message} header */
  receive(header) {
    const own = this.picked, moved = this.echoes.moves(header.picked);
    Object.assign(this, header);
    if (own && !moved) this.picked = own;
    this.build();
  }

  pick(part) {
    this.picked = part;
    this.echoes.tell(part);
    this.send({ part });
    this.build();
  }

  build() {
    this.place.replaceChildren();
    for (const cell of this.cells) this.cell(cell);
    this.reading.textContent = this.cells.map((cell) => `${cell.name}: ${cell.says[this.picked]}`).join(" · ");
  }

  /** @param {Cell} cell */
  cell(cell) {
    const box = make("section", "cell", this.place), head = make("div", "head", box);
    make("span", "name", head, cell.name);
    const blocks = make("span", "blocks", head);
    for (const place of cell.blocks) make("i", "", blocks, cell.names[place]);
    make("span", "counted", head, cell.counted);
    const svg = draw("svg", { role: "img" }, box), em = emOf(svg), width = svg.clientWidth;
    const layout = arrangement(width / em, cell);
    sized(svg, width, layout.height * em, fill(this.text.keys, { cell: cell.name }));
    for (const each of layout.lines) this.line(svg, em, each);
    for (const { x, y, sign } of layout.nodes) {
      draw("circle", { class: "node", cx: x * em, cy: y * em, r: NODE * em }, svg);
      drawText(svg, x * em, (y + 0.35) * em, sign, { anchor: "middle", name: "sign" });
    }
    this.beside(svg, em, layout, cell);
    for (const part of partsOf(cell)) this.part(svg, em, layout, cell, part);
  }

  line(svg, em, { kind, points, arrow }) {
    const at = points.map((point) => point.map((value) => value * em));
    draw("path", { class: `line ${kind}`, d: `M${at.map((point) => point.join(" ")).join("L")}` }, svg);
    if (!arrow) return;
    const [[x1, y1], [x2, y2]] = at.slice(-2), angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    draw("path", { class: `arrow ${kind}`, d: `M0 0L${-0.55 * em} ${0.28 * em}V${-0.28 * em}Z`,
      transform: `translate(${x2} ${y2}) rotate(${angle})` }, svg);
  }

  /** The numbers beside the lines, and what the gates read. @param {Cell} cell */
  beside(svg, em, { numbers, under, resets, slot }, cell) {
    const values = productsOf(cell), { text } = this, isNarrow = slot < NARROW;
    for (const { x, y, name } of numbers) {
      const value = significant(values[name], 3);
      drawText(svg, x * em, y * em, isNarrow ? value : fill(text[name], { value }), { name: `beside ${name}` });
    }
    const token = abridged(this.token, MOST_TOKEN);
    drawText(svg, under.x * em, under.y * em, fill(text.reads, { token }), { name: "under" });
    if (tells(cell.names)) return;
    if (cell.names.o)
      drawText(svg, (resets.x - slot / 2) * em, (resets.y - 1.5) * em, text.resets,
        { anchor: "middle", name: "beside" });
    else
      drawText(svg, resets.x * em, (resets.y + 2.3) * em, text.gone, { anchor: "middle", name: "under" });
  }

  /** A gate as a box with its name and number, or a state. @param {Cell} cell */
  part(svg, em, { boxes }, cell, { place, symbol, value, kind, pick, derived }) {
    const picked = pick === this.picked ? " picked" : "", { x, y, width, height } = boxes[place];
    const group = draw("g", { class: `mark ${kind}${derived ? " derived" : ""}${picked}`, "data-part": place }, svg);
    const written = significant(value, 3), isGate = kind === "gate";
    group.onclick = () => this.pick(pick);
    draw("title", {}, group, `${symbol} = ${written}: ${cell.says[pick]}`);
    draw("rect", { x: (x - width / 2) * em, y: (y - height / 2) * em, width: width * em, height: height * em,
      rx: 0.4 * em }, group);
    const row = (at, text, name) => drawText(group, x * em, (y + at) * em, text, { anchor: "middle", name });
    if (isGate) row(-0.95, cell.words[pick], "word");
    row(isGate ? 0.3 : -0.15, symbol, "symbol");
    row(isGate ? 1.55 : 1, written, "number").setAttribute("font-size",
      Math.min(1, (width - 0.2) / (CHARACTER * written.length)) * em);
  }
}

export default mounted(Gates);
