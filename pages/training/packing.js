import { draw, drawLine, fill, make, sized, spokenLine } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { steppedByKeys } from "../../core/components/lib/keys.js";
import { emOf, monoFont, shortened } from "../../core/components/lib/text.js";
import { mounted, redrawn } from "../../core/components/lib/view.js";

// header: n; rows [{cells [text], only (text of the target behind the last place), counted [bool], documents [number,
// −1 for end of text], first [bool]}]; lengths {packed [[bool]], padded [number]}; picked [row, place]; height (px);
// text (labels: reads, ignored, only, packed, padded, row).
class Packing {
  constructor(root) {
    this.root = root;
    this.echoes = new Echoes();
    this.title = spokenLine(root, "title");
    this.place = make("div", "scroll rows", root);
    steppedByKeys(this.place, () => ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.n, ArrowDown: this.n }),
      (step) => this.step(step));
    this.aside = make("div", "aside", root);
    this.svg = draw("svg", { class: "rows-chart", role: "img" }, this.place);
    this.small = ["packed", "padded"]
      .map((name) => [name, make("p", "", this.aside), draw("svg", { role: "img" }, this.aside)]);
    redrawn(() => this.rows && this.plot(), root);
  }

  receive(header) {
    const { picked, ...rest } = header, moved = this.echoes.moves(String(picked));
    const changed = this.n !== header.n || this.rows?.length !== header.rows.length;
    Object.assign(this, rest);
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
    const em = emOf(this.root), left = 1.6 * em;
    const wide = Math.max(3.1 * em, (this.place.clientWidth - left - 0.8 * em) / (this.n + 1)), high = 2.2 * em;
    const line = high + 0.45 * em;
    sized(this.svg, left + (this.n + 1) * wide + 0.6 * em, this.rows.length * line + 4, this.text.keys);
    this.svg.setAttribute("font-size", 0.92 * em);
    this.svg.replaceChildren();
    const font = monoFont(0.92 * em);
    this.cells = this.rows.map((row, r) => {
      const y = 2 + r * line, texts = row.only === null ? row.cells : [...row.cells, row.only];
      draw("text", { class: "sans", x: 0, y: y + high / 2, "dominant-baseline": "central" }, this.svg, String(r + 1));
      return texts.map((text, c) => {
        const only = c === this.n, kind = only ? "only" : !row.counted[c] ? "free" : row.documents[c] < 0 ? "end"
          : row.documents[c] % 2 ? "odd" : "even";
        const x = left + c * wide + (only ? 0.4 * em : 0), cell = draw("g", { class: `cell ${kind}` }, this.svg);
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
    const width = this.aside.clientWidth, em = emOf(this.root);
    if (!width) return;
    const padded = this.lengths.padded.map((used) => Array.from({ length: this.n }, (_, c) => c < used));
    const all = { packed: this.rows.map((row) => row.counted), padded };
    const step = Math.min((width - 2) / this.n,
      Math.max(2.5, (this.height - 5 * em) / (all.packed.length + padded.length)), 12);
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
