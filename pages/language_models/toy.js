import { button, draw, drawLine, drawText, fill, make, setRange, sized } from "../../core/components/lib/dom.js";
import { decimals, grouped, readable } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";
import { seededUniforms } from "../../core/components/sampling_panel/truncation.js";

/** A probability as the lecture writes it: 0.0001, and a power of ten only where that is shorter. */
const written = (p) => (p >= 9.9e-5 ? String(Number(p.toPrecision(3))) : readable(p));

const LEAST = 0.01, MOST = 0.99, STEP = 0.01;
const LENGTH = 5, MANY = 200, MOST_DRAWN = 2000;     // words of a drawn sentence; sentences of one press, and in all

/** The table with one entry set to p, and the rest of its row shared as before. */
export function withEntry(table, before, next, p) {
  const own = table[before][next];
  return table.map((row, i) => (i !== before ? row
    : row.map((value, j) => (j === next ? p : (value * (1 - p)) / (1 - own)))));
}

/** p of each word of a sentence given the one before it. */
export const factors = (table, ids) => ids.map((word, k) => table[k ? ids[k - 1] : table.length - 1][word]);

const product = (table, ids) => factors(table, ids).reduce((whole, one) => whole * one, 1);

/** The mean of −ln p over the words of a text, in nats. */
export function crossEntropy(table, text) {
  const each = text.flatMap((ids) => factors(table, ids));
  return -each.reduce((sum, p) => sum + Math.log(p), 0) / each.length;
}

/** n sentences drawn word by word, as toy_model.py draws them: each number of the seed picks the word in whose interval
    it falls, given the word before. */
export function drawn(table, seed, n) {
  const xi = seededUniforms(seed, LENGTH * n), intervals = table.map((row) => {
    let sum = 0;
    return row.map((p) => (sum += p));
  });
  return Array.from({ length: n }, (_, s) => {
    const ids = [];
    for (let k = 0; k < LENGTH; k += 1) {
      const found = intervals[ids.at(-1) ?? table.length - 1].findIndex((end) => end > xi[LENGTH * s + k]);
      ids.push(found < 0 ? table[0].length - 1 : found);
    }
    return ids;
  });
}

/** How often each word comes after each word, [before][word], the last row at the beginning. */
export function counted(table, text) {
  const counts = table.map((row) => row.map(() => 0));
  for (const ids of text) ids.forEach((word, k) => { counts[k ? ids[k - 1] : table.length - 1][word] += 1; });
  return counts;
}

/** The share of `word` among the words after `before`, after each sentence of a text; NaN before the first. */
export function shares(text, before, word, start) {
  let count = 0, all = 0;
  return text.map((ids) => {
    ids.forEach((now, k) => {
      if ((k ? ids[k - 1] : start) !== before) return;
      all += 1;
      if (now === word) count += 1;
    });
    return count / all;
  });
}

/** table: p of a word after each word, the last row at the beginning; text_ids and, in words, training: the training
 * text; settings: the picked entry, and how many sentences are drawn with which seed.
 * @typedef {{ words: string[], table: number[][], text_ids: number[][], sentences: number[][], training: string,
 *   settings: { before: number, next: number, p: number, drawn: number, seed: number },
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message & Message["settings"]>} */
class Toy extends TitledView {
  constructor(root) {
    super(root);
    const picture = make("div", "toy-picture", root);
    const [left, right] = ["model", "training"].map((name) => make("div", `side ${name}`, picture));
    this.tableHead = make("div", "part", left);
    this.grid = make("table", "table", make("div", "scroll", left));
    this.list = make("div", "list", left);
    const bar = make("div", "draws", right);
    this.draws = [1, MANY].map((n) => button(bar, "", "", () => this.drawMore(n)));
    this.clear = button(bar, "", "", () => this.startOver());
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

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    const moved = this.echoes.moves(JSON.stringify(header.settings));
    if (moved || this.p === undefined) Object.assign(this, header.settings);
    const [one, many] = this.draws;
    one.textContent = this.text.draw;
    many.textContent = fill(this.text.draw_many, { n: MANY });
    this.clear.textContent = this.text.clear;
    this.paint();
  }

  settle() {
    const { before, next, p, drawn: n, seed } = this, settings = { before, next, p, drawn: n, seed };
    this.echoes.tell(JSON.stringify(settings));
    this.send(settings);
  }

  /** The last drawn sentence is opened: its way through the table is framed. */
  drawMore(n) {
    this.drawn = Math.min(MOST_DRAWN, this.drawn + n);
    this.shown = this.sentences.length;
    this.paint();
    this.settle();
  }

  /** The next draws are others. */
  startOver() {
    Object.assign(this, { drawn: 0, seed: (this.seed % 9999) + 1 });
    this.paint();
    this.settle();
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
    const table = this.now;
    this.sample = drawn(table, this.seed, this.drawn);
    this.counts = counted(table, this.sample);
    this.open = [...this.sentences, ...this.sample.slice(-1)];
    this.shown = Math.min(this.shown, this.open.length - 1);
    const ids = this.open[this.shown];
    this.title.textContent = this.drawn ? this.estimate() : fill(this.text.title, { text: this.said(ids),
      p: written(product(table, ids)) });
    setRange(this.slider, this.p);
    const name = fill(this.text.entry, this.names());
    this.name.textContent = name;
    this.slider.ariaLabel = name;
    this.value.textContent = decimals(this.p, 2);
    this.clear.hidden = !this.drawn;
    for (const node of this.draws) node.disabled = this.drawn === MOST_DRAWN;
    this.tableHead.textContent = this.drawn ? this.text.table_drawn : this.text.table;
    this.head.textContent = this.drawn ? fill(this.text.sample, { n: this.drawn,
      text: this.said(this.open.at(-1)), p: written(product(table, this.open.at(-1))) })
      : fill(this.text.train, { text: this.training });
    this.paintTable(ids);
    this.paintSentences();
    this.curves();
  }

  said(ids) {
    return ids.map((i) => this.words[i]).join(" ");
  }

  names() {
    return { word: this.words[this.next], before: this.word(this.before) };
  }

  /** How often the picked word was drawn, and its share beside its p. */
  estimate() {
    const row = this.counts[this.before], all = row.reduce((sum, n) => sum + n, 0), count = row[this.next];
    return fill(all ? this.text.share : this.text.none, { ...this.names(), n: this.drawn, count, all,
      share: decimals(count / all, 3), p: decimals(this.p, 2) });
  }

  /** p(word | word before), when sentences are drawn with its counts; the entries of the open sentence are framed. */
  paintTable(ids) {
    const table = this.now, used = new Set(ids.map((word, k) => `${k ? ids[k - 1] : this.words.length},${word}`));
    this.grid.replaceChildren();
    const head = make("tr", "", make("thead", "", this.grid)), body = make("tbody", "", this.grid);
    make("th", "row", head, this.text.before);
    for (const word of this.words) make("th", "", head, word);
    for (const i of [this.words.length, ...this.words.keys()]) {
      const row = make("tr", "", body), all = this.counts[i].reduce((sum, n) => sum + n, 0);
      make("th", "row", row, this.word(i)).scope = "row";
      table[i].forEach((p, j) => {
        const marks = ["entry", used.has(`${i},${j}`) && "used", i === this.before && j === this.next && "picked"];
        const node = button(make("td", "", row), decimals(p, 2), "", () => this.pick(i, j),
          marks.filter(Boolean).join(" "));
        const tally = this.drawn ? ` ${this.counts[i][j]} (${readable(all * p)})` : "";
        if (tally) make("small", "tally", node, tally);
        node.ariaLabel = `${fill(this.text.entry, { word: this.words[j], before: this.word(i) })} = ${
          decimals(p, 2)}${tally}`;
      });
    }
  }

  /** The sentences as products; when some are drawn, how often each of them was. */
  paintSentences() {
    const table = this.now, n = this.drawn;
    this.list.replaceChildren();
    this.sentences.forEach((ids, k) => {
      const p = product(table, ids), text = ids.join();
      const node = button(this.list, "", "", () => { this.shown = k; this.paint(); },
        k === this.shown ? "sentence picked" : "sentence");
      make("span", "name", node, this.said(ids));
      make("span", "product", node, !n ? this.multiplied(ids, p)
        : fill(this.text.row_drawn, { p: written(p), n, expected: readable(p * n),
          count: this.sample.filter((other) => other.join() === text).length }));
    });
  }

  multiplied(ids, p) {
    return `${factors(this.now, ids).map((one) => decimals(one, 2)).join(" · ")} = ${written(p)}`;
  }

  /** Cross-entropy and the product of all probabilities of the training text over p of the picked entry: the best p has
      the least of one and the greatest of the other. For drawn sentences, the share of the picked word so far. */
  curves() {
    const width = this.place.clientWidth, em = emOf(this.root);
    if (!width || !this.table) return;
    this.svg.replaceChildren();
    const height = (this.root.classList.contains("present") ? 6.4 : 8.6) * em, whole = 2 * height + 1.4 * em;
    sized(this.svg, width, whole, this.drawn ? this.title.textContent : this.text.twin);
    if (this.drawn) this.approach(whole);
    else this.likelihood(height);
  }

  likelihood(height) {
    const ps = Array.from({ length: 99 }, (_, k) => (k + 1) / 100), n = this.text_ids.flat().length;
    const losses = ps.map((p) => crossEntropy(withEntry(this.table, this.before, this.next, p), this.text_ids));
    const products = losses.map((loss) => Math.exp(-n * loss));
    const least = Math.min(...losses), best = Math.max(...losses) - least < 1e-9 ? -1 : losses.indexOf(least);
    this.panel(losses, { top: 0, height, name: this.text.loss, best, ps });
    this.panel(products, { top: height + emOf(this.root), height, name: this.text.product, best, ps });
  }

  /** p̂ of the picked entry after each drawn sentence, and its p as a dashed line. */
  approach(height) {
    const width = this.place.clientWidth, em = emOf(this.root), left = 2.4 * em, right = width - 0.8 * em;
    const each = shares(this.sample, this.before, this.next, this.words.length), n = each.length;
    const top = 2.2 * em, foot = height - 1.6 * em, y = (share) => foot - share * (foot - top);
    const x = (sentence) => left + (sentence / n) * (right - left);
    drawText(this.svg, 0, em, fill(this.text.sample_one, this.names()), { name: "sans strong" });
    for (const share of [0, 0.5, 1]) {
      drawLine(this.svg, left, y(share), right, y(share), { stroke: "var(--tx-grid-ink)" });
      drawText(this.svg, left - 0.5 * em, y(share) + 0.35 * em, String(share), { anchor: "end" });
    }
    for (const [place, anchor] of [[0, "start"], [n, "end"]])
      drawText(this.svg, x(place), foot + 1.3 * em, grouped(place), { anchor });
    drawLine(this.svg, left, y(this.p), right, y(this.p),
      { stroke: "var(--tx-value-ink)", "stroke-width": 2, "stroke-dasharray": "5 4", class: "true" });
    const points = each.flatMap((share, k) => (Number.isNaN(share) ? [] : [[x(k + 1), y(share)]]));
    if (!points.length) return;
    draw("path", { d: `M${points.map((point) => point.join(" ")).join("L")}`, fill: "none", class: "shares",
      stroke: "var(--tx-kept-ink)", "stroke-width": 2 }, this.svg);
    const [cx, cy] = points.at(-1);
    draw("circle", { cx, cy, r: 0.4 * em, fill: "var(--tx-kept)", stroke: "var(--tx-page)", "stroke-width": 1.5 },
      this.svg);
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
