// Function g has bit x where g(x) = 1.
import { draw, drawText, fill, hatching, make, sized, spokenLine } from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { grouped, readable } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

const SHADES = 5;         // of reached functions, by how many θ give them

/** thetas: how many θ there are; solutions ("" for none) and counts: by function.
 * @typedef {{ text: Record<string, string>, scale: number, n: number, thetas: number, solutions: string[],
 *   counts: Float32Array, bits: { all: number, p: number, said: number }, settings: { function: number } }} Message */

/** @extends {View<Message>} */
class Functions extends View {
  constructor(root) {
    super(root);
    this.place = make("div", "grid", root);
    this.side = make("div", "side", root);
    this.reading = spokenLine(this.side, "reading");
    this.table = make("div", "values", this.side);
    this.solution = make("div", "solution", this.side);
    this.bars = make("div", "bars", root);
    const grid = () => ({ columns: this.columns, rows: this.columns, from: this.cellOf(this.picked) });
    byKeys(this.place, grid, (column, row, phase) => this.point(phase === "out" ? null : row * this.columns + column,
      phase === "press"), () => this.reading.textContent);
    redrawn(() => this.build(), this.place, this.bars);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.picked = header.settings.function;
    this.total = this.counts.length;
    this.columns = Math.sqrt(this.total);
    this.build();
    this.point(null);
  }

  cellOf(g) {
    return [g % this.columns, Math.floor(g / this.columns)];
  }

  build() {
    if (!this.counts || !this.place.clientWidth) return;
    this.buildTiles();
    this.buildBars();
  }

  buildTiles() {
    const { place, columns, n } = this, room = (this.scale > 1 ? 7.6 : 16.5) * emOf(this.root);
    const size = Math.min(place.clientWidth, room) / columns;
    place.querySelector("svg")?.remove();
    const svg = draw("svg", { class: "tiles" }, place), gap = Math.max(1, 0.08 * size);
    sized(svg, size * columns, size * columns, this.text.picture);
    const most = Math.log2(Math.max(2, ...this.counts)), across = 2 ** Math.ceil(n / 2);
    const bit = (size - 4 * gap) / across;
    this.tiles = [...this.counts].map((count, g) => {
      const [column, row] = this.cellOf(g), [x, y] = [column * size, row * size];
      const shade = count ? 1 + Math.round(((SHADES - 1) * Math.log2(count)) / most) : 0;
      const tile = draw("g", { class: `tile shade${shade}`, "data-function": g }, svg);
      draw("rect", { class: "ground", x: x + gap, y: y + gap, width: size - 2 * gap, height: size - 2 * gap }, tile);
      let ones = "";
      for (let k = 0; k < 2 ** n; k++)
        if ((g >> k) & 1)
          ones += `M${x + 2 * gap + (k % across) * bit} ${y + size / 2 - ((2 ** n / across) * bit) / 2
            + Math.floor(k / across) * bit}h${0.84 * bit}v${0.84 * bit}h${-0.84 * bit}Z`;
      draw("path", { class: "ones", d: ones || "M0 0" }, tile);
      tile.onpointerenter = () => this.point(g);
      tile.onclick = () => this.point(g, true);
      return tile;
    });
    svg.onpointerleave = () => this.point(null);
  }

  /** The bits of one function, and those of θ, one unit of length a bit. */
  buildBars() {
    const { bars, bits, text } = this, em = emOf(this.root), width = bars.clientWidth;
    bars.querySelector("svg")?.remove();
    const svg = draw("svg", { class: "bits" }, bars), most = Math.max(bits.all, bits.p);
    sized(svg, width, 6.4 * em, text.bits);
    hatching(svg, "twice", { size: 7, thick: 2 });
    const unit = width / most, bar = (y, from, to, name, title) => {
      const part = draw("rect", { class: name, x: from * unit, y, width: Math.max(0, to - from) * unit,
        height: 1.25 * em }, svg);
      draw("title", {}, part, title);
    };
    const said = readable(bits.said), left = readable(bits.all - bits.said), twice = readable(bits.p - bits.said);
    const line = (y, template, values) => drawText(svg, 0, y, fill(template, values), { size: 0.92 * em });
    line(0.95 * em, text.one, { all: bits.all, said, left });
    bar(1.25 * em, 0, bits.said, "said", text.said);
    bar(1.25 * em, bits.said, bits.all, "left", text.left);
    line(4.15 * em, text.theta, { p: bits.p, said, twice });
    bar(4.45 * em, 0, bits.said, "said", text.said);
    bar(4.45 * em, bits.said, bits.p, "twice", text.twice);
  }

  /** Read function g (null: the picked one) and, on a press, pick it. */
  point(g, press = false) {
    if (press) {
      this.picked = g;
      this.send({ function: g });
    }
    const at = g ?? this.picked, count = this.counts[at], { n, text } = this;
    this.tiles?.forEach((tile, k) => {
      tile.classList.toggle("picked", k === this.picked);
      tile.classList.toggle("pointed", k === g);
    });
    this.reading.textContent = fill(count ? text.reached : text.none,
      { g: at, count: grouped(count), thetas: grouped(this.thetas) });
    this.solution.textContent = count ? fill(text.first, { theta: this.solutions[at] }) : text.excluded;
    this.table.replaceChildren();
    for (let k = 0; k < 2 ** n; k++) {
      const cell = make("span", `value ${(at >> k) & 1 ? "one" : ""}`, this.table);
      make("small", "", cell, [...Array(n)].map((_, i) => (k >> (n - 1 - i)) & 1).join(""));
      make("b", "", cell, String((at >> k) & 1));
    }
  }
}

export default mounted(Functions);
