import { draw, drawLine, fill, make, sized, spokenLine } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { steppedByKeys } from "../../core/components/lib/keys.js";
import { emOf, monoFont, shortened, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

const LEAST = 0.76;        // em, of the type of a word on a projector
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** only: the target behind the last place; documents: a number each, −1 for end of text.
 * @typedef {{ cells: string[], only: string | null, counted: boolean[], documents: number[], first: boolean[] }} Row */
/** picked: [row, place]; height: px.
 * @typedef {{ text: Record<string, string>, scale: number, n: number, present: boolean, rows: Row[],
 *   lengths: { packed?: boolean[][], padded: number[] }, picked: number[], height: number }} Message */

/** @extends {View<Message>} */
class Packing extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    this.title = spokenLine(root, "title");
    this.place = make("div", "scroll rows", root);
    steppedByKeys(this.place, () => ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.n, ArrowDown: this.n }),
      (step) => this.step(step));
    this.aside = make("div", "aside", root);
    this.svg = draw("svg", { class: "rows-chart", role: "img" }, this.place);
    this.small = ["packed", "padded"]
      .map((name) => [name, make("div", "", this.aside)])
      .map(([name, place]) => [name, make("p", "", place), draw("svg", { role: "img" }, place)]);
    redrawn(() => this.rows && this.plot(), root);
  }

  /** @param {Message} header */
  receive(header) {
    const { picked, ...rest } = header, moved = this.echoes.moves(String(picked));
    const changed = this.n !== header.n || this.rows?.length !== header.rows.length;
    Object.assign(this, rest);
    this.root.classList.toggle("present", header.present);
    if (moved || changed) this.picked = picked;
    this.root.style.setProperty("--free", `${header.height}px`);
    this.place.ariaLabel = this.text.keys;
    this.plot();
  }

  plot() {
    if (!this.place.clientWidth) return;
    this.build();
    this.maps();
  }

  step(delta) {
    const index = this.picked[0] * this.n + this.picked[1] + delta;
    if (index >= 0 && index < this.rows.length * this.n) this.pick(Math.floor(index / this.n), index % this.n);
  }

  pick(row, place) {
    this.picked = [row, place];
    this.echoes.tell(String(this.picked));
    this.mark();
    this.send({ row_place: row * this.n + place });
  }

  /** One line of cells for each row; the last cell, set apart, is only a target. */
  build() {
    const em = emOf(this.root), left = 1.6 * em, high = 2.2 * em, line = high + 0.45 * em;
    const { widths, size } = this.columns(this.place.clientWidth - left - 0.8 * em, em), font = monoFont(size);
    const starts = widths.map((_, c) => sum(widths.slice(0, c)));
    sized(this.svg, left + sum(widths) + 0.6 * em, this.rows.length * line + 4, this.text.keys);
    this.svg.setAttribute("font-size", size);
    this.svg.replaceChildren();
    this.cells = this.rows.map((row, r) => {
      const y = 2 + r * line, texts = row.only === null ? row.cells : [...row.cells, row.only];
      draw("text", { class: "sans", x: 0, y: y + high / 2, "dominant-baseline": "central" }, this.svg, String(r + 1));
      return texts.map((text, c) => {
        const only = c === this.n, kind = only ? "only" : !row.counted[c] ? "free" : row.documents[c] < 0 ? "end"
          : row.documents[c] % 2 ? "odd" : "even";
        const wide = widths[c], x = left + starts[c] + (only ? 0.4 * em : 0);
        const cell = draw("g", { class: `cell ${kind}` }, this.svg);
        if (!only) draw("title", {}, cell, this.words(r, c));
        draw("rect", { x, y, width: wide, height: high }, cell);
        if (kind === "free") drawLine(cell, x, y + high, x + wide, y);
        if (!only && row.first[c]) draw("rect", { class: "first", x, y, width: 3, height: high }, cell);
        draw("text", { x: x + wide / 2, y: y + high / 2, "text-anchor": "middle", "dominant-baseline": "central" },
          cell, shortened(text, font, wide - 0.5 * em));
        draw("rect", { class: "frame", x: x + 1.5, y: y + 1.5, width: wide - 3, height: high - 3 }, cell);
        if (!only) cell.onclick = () => this.pick(r, c);
        return cell;
      });
    });
    this.mark();
  }

  /** The width of each column, all alike; on a projector as wide as its longest word, whole, in a type that fits. */
  columns(room, em) {
    const n = this.n + 1, most = 0.92 * em;
    if (!this.present) return { widths: Array(n).fill(Math.max(3.1 * em, room / n)), size: most };
    const needed = (size) => Array.from({ length: n }, (_, c) => Math.max(2 * em, 0.5 * em
      + Math.max(...this.rows.map(({ cells, only }) => textWidth([...cells, only ?? ""][c] ?? "", monoFont(size))))));
    const size = [most, 0.84 * em, LEAST * em].find((size) => sum(needed(size)) <= room) ?? LEAST * em;
    const widths = needed(size), more = Math.max(0, room - sum(widths)) / n;
    return { widths: widths.map((width) => width + more), size };
  }

  words(r, c) {
    const row = this.rows[r], next = c + 1 < this.n ? row.cells[c + 1] : row.only;
    const form = !row.counted[c] ? this.text.ignored : c + 1 === this.n ? this.text.only : this.text.reads;
    return fill(form, { row: r + 1, place: c + 1, token: row.cells[c], target: next ?? "" });
  }

  mark() {
    const [r, c] = this.picked;
    for (const cell of this.cells.flat()) cell.classList.remove("picked", "target");
    this.cells[r][c].classList.add("picked");
    if (this.rows[r].counted[c]) this.cells[r][c + 1].classList.add("target");
    this.title.textContent = this.words(r, c);
  }

  /** Every place of every row as a small square: full where it teaches something, hollow where it does not. */
  maps() {
    const em = emOf(this.root), width = this.aside.clientWidth / (this.present ? 2 : 1) - (this.present ? em : 0);
    if (!this.aside.clientWidth) return;
    const padded = this.lengths.padded.map((used) => Array.from({ length: this.n }, (_, c) => c < used));
    const all = { packed: this.rows.map((row) => row.counted), padded };
    const step = Math.min((width - 2) / this.n,
      Math.max(2.5, (this.height - 5 * em) / (all.packed.length + padded.length)), this.present ? em : 12);
    for (const [name, caption, svg] of this.small) {
      caption.textContent = this.text[name];
      sized(svg, width, step * all[name].length + 2, this.text[name]);
      svg.replaceChildren();
      all[name].forEach((row, r) => row.forEach((used, c) => draw("rect", { class: used ? "used" : "lost",
        x: 1 + c * step, y: 1 + r * step, width: Math.max(1, step - 1.5), height: Math.max(1, step - 1.5) }, svg)));
    }
  }
}

export default mounted(Packing);
