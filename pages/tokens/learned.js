import {
  button, chip, draw, drawLine, drawText, fill, make, rich, setRange, sized,
} from "../../core/components/lib/dom.js";
import { focusNext } from "../../core/components/lib/keys.js";
import { grouped, plain } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, onWidth, TitledView } from "../../core/components/lib/view.js";

/** letters: the visible form of each character of each word; order: of the words; more: words of the text that are not
 * shown; bpe and unigram have an entry for each size, cuts the lengths of each word's pieces, log the nats of the
 * text, scores ln p of each word's best segmentation; ends: the number of tokens if each of them is one.
 * @typedef {{ size: number, tokens: number, cuts: number[][] }} Entry
 * @typedef {{ identity: string, sizes: number[], letters: string[][], order: number[], more: number,
 *   bpe: (Entry & { merge: [string, string] | null, rank: number })[],
 *   unigram: (Entry & { log: number, scores: number[] })[], ends: { characters: number, words: number },
 *   settings: { size: number, word: number, chosen: boolean },
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Training extends TitledView {
  constructor(root) {
    super(root);
    const bar = make("label", "bar", root);
    this.name = make("span", "", bar);
    this.slider = make("input", "", bar);
    Object.assign(this.slider, { type: "range", min: 0, step: 1 });
    this.value = make("b", "number", bar);
    this.slider.oninput = () => { this.at = Number(this.slider.value); this.paint(); };
    this.slider.onchange = () => this.settle();
    const columns = make("div", "columns", root);
    this.columns = ["bpe", "unigram"].map((kind) => {
      const column = make("section", `column ${kind}`, columns);
      return { kind, head: make("div", "head", column), sub: make("div", "sub muted", column),
        body: make("div", "scroll body", column), foot: make("div", "foot", column), places: [] };
    });
    this.chart = make("div", "chart", columns);
    this.svg = draw("svg", { class: "training-chart", role: "img", "font-size": "0.92em" }, this.chart);
    onWidth(this.chart, () => this.plot());
  }

  /** @param {Message} header */
  receive(header) {
    const same = this.identity === header.identity;
    Object.assign(this, header);
    const { size, word, chosen } = header.settings;
    this.chosen = chosen;
    const moved = this.echoes.moves(size);
    if (!same || moved) this.at = this.sizes.indexOf(size);
    if (!same || this.word === undefined) this.word = word;
    this.slider.max = this.sizes.length - 1;
    this.slider.ariaLabel = this.text.slider;
    this.name.textContent = this.text.slider;
    if (!same) this.buildBodies();
    this.paint();
  }

  /** Every word of the text as one button, for each method; its pieces change with the slider. */
  buildBodies() {
    for (const column of this.columns) {
      column.body.replaceChildren();
      column.places = this.order.map((w) => {
        const place = button(column.body, "", "", () => {
          Object.assign(this, { word: w, chosen: true });
          this.paint();
          this.settle();
        }, "word");
        place.tabIndex = -1;
        return place;
      });
      if (column.places[0]) column.places[0].tabIndex = 0;
      column.body.onkeydown = (event) => focusNext(event, column.places, { ArrowLeft: -1, ArrowRight: 1 });
      if (this.more) make("span", "muted", column.body, ` … +${grouped(this.more)}`);
    }
  }

  settle() {
    const size = this.sizes[this.at];
    this.echoes.tell(size);
    this.send({ size, word: this.chosen ? this.word : -1 });     // only a picked word is kept
  }

  split(w, lengths) {
    const pieces = [];
    let start = 0;
    for (const length of lengths) {
      pieces.push(this.letters[w].slice(start, start + length).join(""));
      start += length;
    }
    return pieces;
  }

  paint() {
    const [bpe, unigram] = [this.bpe[this.at], this.unigram[this.at]];
    setRange(this.slider, this.at);
    this.slider.ariaValueText = String(bpe.size);
    this.value.textContent = fill(this.text.size, { n: grouped(bpe.size) });
    rich(this.title, this.text.title, { size: grouped(bpe.size), pieces: grouped(unigram.size),
      bpe: grouped(bpe.tokens), unigram: grouped(unigram.tokens), characters: grouped(this.ends.characters) });
    for (const column of this.columns) this.paintColumn(column, column.kind === "bpe" ? bpe : unigram);
    rich(this.columns[0].sub, bpe.merge ? this.text.bpe_sub : this.text.bpe_none, bpe.merge
      ? { rank: grouped(bpe.rank), left: { chip: bpe.merge[0] }, right: { chip: bpe.merge[1] } } : {});
    rich(this.columns[1].sub, this.text.unigram_sub, { log: grouped(Math.round(unigram.log)),
      rate: plain(unigram.log / Math.max(1, this.ends.characters), 3), size: grouped(unigram.size) });
    this.plot();
  }

  /** @param {Training["columns"][number]} column @param {Entry & { scores?: number[] }} entry */
  paintColumn({ kind, head, foot, places }, entry) {
    rich(head, this.text[kind], { tokens: grouped(entry.tokens), size: grouped(entry.size) });
    this.order.forEach((w, k) => {
      const pieces = this.split(w, entry.cuts[w]), place = places[k], written = JSON.stringify(pieces);
      place.classList.toggle("picked", w === this.word);
      if (place.dataset.written === written) return;
      place.dataset.written = written;
      place.replaceChildren();
      for (const piece of pieces) chip(place, piece);
    });
    const pieces = this.split(this.word, entry.cuts[this.word]);
    foot.replaceChildren();
    pieces.forEach((piece, k) => { if (k) foot.append(" · "); chip(foot, piece); });
    if (kind === "unigram")
      make("span", "muted", foot, ` ${fill(this.text.score, { score: plain(entry.scores[this.word], 4) })}`);
  }

  /** Tokens of the whole text against the size of the vocabulary, a curve for each method, and an upright line at the
      slider's size. */
  plot() {
    const width = this.chart.clientWidth, em = emOf(this.root);
    if (!width || !this.bpe) return;
    const beside = this.chart.offsetLeft > this.columns[1].body.offsetLeft;
    const height = beside ? this.columns[1].body.clientHeight + 4 * em : 17.5 * em;
    const [left, right, top, bottom] = [3.2 * em, 0.8 * em, 1.9 * em, 2.6 * em];
    const most = this.ends.characters, last = Math.max(this.sizes[this.sizes.length - 1], this.sizes[0] + 1);
    const x = (size) => left + ((size - this.sizes[0]) / (last - this.sizes[0])) * (width - left - right);
    const y = (tokens) => height - bottom - (tokens / most) * (height - top - bottom);
    this.svg.replaceChildren();
    sized(this.svg, width, height, this.title.textContent);
    const text = (at, up, words, anchor = "start", name = "sans") =>
      drawText(this.svg, at, up, words, { anchor, name });
    const line = (from, to, attributes) =>
      drawLine(this.svg, ...from, ...to, { stroke: "var(--tx-grid-ink)", ...attributes });
    text(0, 0.9 * em, this.text.axis_tokens);
    line([left, y(0)], [width - right, y(0)], {});
    /** @type {[number, string, number][]} */
    const ends = [[this.ends.characters, this.text.end_characters, -0.35], [this.ends.words, this.text.end_words, 1.1]];
    for (const [value, name, below] of ends) {
      line([left, y(value)], [width - right, y(value)], { "stroke-dasharray": "2 4" });
      text(left - 5, y(value) + 0.35 * em, grouped(value), "end");
      text(width - right, y(value) + below * em, name, "end");
    }
    text(left, height - 0.4 * em, grouped(this.sizes[0]));
    text(width - right, height - 0.4 * em, grouped(last), "end");
    text((left + width - right) / 2, height - 0.4 * em, this.text.axis_size, "middle");
    const size = this.sizes[this.at];
    line([x(size), top], [x(size), y(0)], { stroke: "var(--tx-text)", "stroke-width": 1.5 });
    for (const [kind, dash] of [["bpe", ""], ["unigram", "6 4"]]) {
      const points = this[kind].map((entry) => [x(entry.size), y(entry.tokens)]);
      draw("path", { d: `M${points.map((point) => point.join(" ")).join("L")}`, fill: "none",
        stroke: "var(--tx-kept-ink)", "stroke-width": 2.2, "stroke-dasharray": dash }, this.svg);
      const [px, py] = points[this.at];
      draw("circle", { cx: px, cy: py, r: 0.36 * em, fill: kind === "bpe" ? "var(--tx-kept)" : "var(--tx-page)",
        stroke: "var(--tx-kept-ink)", "stroke-width": 2 }, this.svg);
    }
    const above = this.bpe[this.at].tokens >= this.unigram[this.at].tokens ? "bpe" : "unigram";
    const flip = x(size) > width * 0.62;
    for (const kind of ["bpe", "unigram"]) {
      const entry = this[kind][this.at];
      const toLeft = kind === above ? flip : x(entry.size) > left + 5 * em;
      text(x(entry.size) + (toLeft ? -0.6 : 0.6) * em, y(entry.tokens) + (kind === above ? -0.55 : 1.25) * em,
        `${this.text[`short_${kind}`]} ${grouped(entry.tokens)}`, toLeft ? "end" : "start", "sans strong");
    }
  }
}

export default mounted(Training);
