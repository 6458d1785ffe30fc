// header: words [5]; table [6][5], p of a word after each word, the last row at the beginning; text_ids [[word]] the
// training text; sentences [[word]]; training: the text in words; settings {before, next, p}: the picked entry.
import { button, draw, drawLine, drawText, fill, make, setRange, sized } from "../../core/components/lib/dom.js";
import { decimals, readable } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

/** A probability as the lecture writes it: 0.0001, and a power of ten only where that is shorter. */
const written = (p) => (p >= 9.9e-5 ? String(Number(p.toPrecision(3))) : readable(p));

const LEAST = 0.01, MOST = 0.99, STEP = 0.01;

/** The table with one entry set to p, and the rest of its row shared as before. */
export function withEntry(table, before, next, p) {
  const own = table[before][next];
  return table.map((row, i) => (i !== before ? row
    : row.map((value, j) => (j === next ? p : (value * (1 - p)) / (1 - own)))));
}

/** p of each word of a sentence given the one before it. */
export const factors = (table, ids) => ids.map((word, k) => table[k ? ids[k - 1] : table.length - 1][word]);

/** The mean of −ln p over the words of a text, in nats. */
export function crossEntropy(table, text) {
  const each = text.flatMap((ids) => factors(table, ids));
  return -each.reduce((sum, p) => sum + Math.log(p), 0) / each.length;
}

class Toy extends TitledView {
  constructor(root) {
    super(root);
    const picture = make("div", "toy-picture", root);
    const [left, right] = ["model", "training"].map((name) => make("div", `side ${name}`, picture));
    this.tableHead = make("div", "part", left);
    this.grid = make("table", "table", make("div", "scroll", left));
    this.list = make("div", "list", left);
    this.head = make("div", "part", right);
    const hand = make("label", "hand", right);
    this.name = make("span", "", hand);
    this.slider = make("input", "", hand);
    Object.assign(this.slider, { type: "range", min: LEAST, max: MOST, step: STEP });
    this.slider.oninput = () => { this.p = Number(this.slider.value); this.paint(); };
    this.slider.onchange = () => this.settle();
    this.value = make("b", "", hand);
    this.place = make("div", "", right);
    this.svg = draw("svg", { class: "toy-curves", role: "img", "font-size": "0.95em" }, this.place);
    this.shown = 0;
    redrawn(() => this.curves(), this.place);
  }

  receive(header) {
    Object.assign(this, header);
    const { before, next, p } = header.settings, moved = this.echoes.moves(JSON.stringify([before, next, p]));
    if (moved || this.p === undefined) Object.assign(this, { before, next, p });
    this.shown = Math.min(this.shown, this.sentences.length - 1);
    this.tableHead.textContent = this.text.table;
    this.head.textContent = fill(this.text.train, { text: this.training });
    this.paint();
  }

  settle() {
    this.echoes.tell(JSON.stringify([this.before, this.next, this.p]));
    this.send({ before: this.before, next: this.next, p: this.p });
  }

  get now() {
    return withEntry(this.table, this.before, this.next, this.p);
  }

  word(i) {
    return i === this.words.length ? this.text.start : this.words[i];
  }

  pick(before, next) {
    Object.assign(this, { before, next, p: this.table[before][next] });
    this.paint();
    this.settle();
  }

  paint() {
    const ids = this.sentences[this.shown], p = factors(this.now, ids).reduce((product, one) => product * one, 1);
    this.title.textContent = fill(this.text.title, { text: ids.map((i) => this.words[i]).join(" "), p: written(p) });
    setRange(this.slider, this.p);
    const name = fill(this.text.entry, { word: this.words[this.next], before: this.word(this.before) });
    this.name.textContent = name;
    this.slider.ariaLabel = name;
    this.value.textContent = decimals(this.p, 2);
    this.paintTable(ids);
    this.paintSentences();
    this.curves();
  }

  /** p(word | word before); the entries of the open sentence are framed. */
  paintTable(ids) {
    const table = this.now, used = new Set(ids.map((word, k) => `${k ? ids[k - 1] : this.words.length},${word}`));
    this.grid.replaceChildren();
    const head = make("tr", "", make("thead", "", this.grid)), body = make("tbody", "", this.grid);
    make("th", "row", head, this.text.before);
    for (const word of this.words) make("th", "", head, word);
    for (const i of [this.words.length, ...this.words.keys()]) {
      const row = make("tr", "", body);
      make("th", "row", row, this.word(i)).scope = "row";
      table[i].forEach((p, j) => {
        const marks = ["entry", used.has(`${i},${j}`) && "used", i === this.before && j === this.next && "picked"];
        const node = button(make("td", "", row), decimals(p, 2), "", () => this.pick(i, j),
          marks.filter(Boolean).join(" "));
        node.ariaLabel = `${fill(this.text.entry, { word: this.words[j], before: this.word(i) })} = ${decimals(p, 2)}`;
      });
    }
  }

  paintSentences() {
    const table = this.now;
    this.list.replaceChildren();
    this.sentences.forEach((ids, k) => {
      const each = factors(table, ids), p = each.reduce((product, one) => product * one, 1);
      const node = button(this.list, "", "", () => { this.shown = k; this.paint(); },
        k === this.shown ? "sentence picked" : "sentence");
      make("span", "name", node, ids.map((i) => this.words[i]).join(" "));
      make("span", "product", node, `${each.map((one) => decimals(one, 2)).join(" · ")} = ${written(p)}`);
    });
  }

  /** Cross-entropy and the product of all probabilities over p of the picked entry; the best p is where one is least
      and the other greatest. */
  curves() {
    const width = this.place.clientWidth, em = emOf(this.root);
    if (!width || !this.table) return;
    const ps = Array.from({ length: 99 }, (_, k) => (k + 1) / 100), n = this.text_ids.flat().length;
    const losses = ps.map((p) => crossEntropy(withEntry(this.table, this.before, this.next, p), this.text_ids));
    const products = losses.map((loss) => Math.exp(-n * loss));
    this.svg.replaceChildren();
    const height = (this.root.classList.contains("present") ? 6.4 : 8.6) * em;
    sized(this.svg, width, 2 * height + 1.4 * em, this.text.twin);
    const best = losses.indexOf(Math.min(...losses)), flat = Math.max(...losses) - Math.min(...losses) < 1e-9;
    this.panel(losses, { top: 0, height, name: this.text.loss, best: flat ? -1 : best, ps });
    this.panel(products, { top: height + 1 * em, height, name: this.text.product, best: flat ? -1 : best, ps });
  }

  panel(values, { top, height, name, best, ps }) {
    const width = this.place.clientWidth, em = emOf(this.root), left = 0.6 * em, right = 0.6 * em;
    const low = Math.min(...values), span = Math.max(...values) - low || 1, foot = top + height - 1.5 * em;
    const x = (p) => left + p * (width - left - right);
    const y = (value) => foot - ((value - low) / span) * (height - 3.6 * em);
    const at = Math.max(0, Math.min(98, Math.round(this.p * 100) - 1));
    drawText(this.svg, left, top + em, `${name} = ${readable(values[at], 4)}`, { name: "sans strong" });
    drawLine(this.svg, left, foot, width - right, foot, { stroke: "var(--tx-grid-ink)" });
    for (const p of [0, 0.5, 1]) drawText(this.svg, x(p), foot + 1.2 * em, String(p),
      { anchor: p === 0 ? "start" : p === 1 ? "end" : "middle" });
    if (best >= 0) drawLine(this.svg, x(ps[best]), top + 1.5 * em, x(ps[best]), foot,
      { stroke: "var(--tx-value-ink)", "stroke-dasharray": "5 4", class: "best" });
    draw("path", { d: `M${values.map((value, k) => `${x(ps[k])} ${y(value)}`).join("L")}`, fill: "none",
      stroke: "var(--tx-kept-ink)", "stroke-width": 2 }, this.svg);
    draw("circle", { cx: x(ps[at]), cy: y(values[at]), r: 0.4 * em, fill: "var(--tx-kept)",
      stroke: "var(--tx-page)", "stroke-width": 1.5 }, this.svg);
  }
}

export default mounted(Toy);
