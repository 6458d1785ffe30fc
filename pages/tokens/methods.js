import { button, chip, draw, drawLine, drawText, fill, make, rich, sized } from "../../core/components/lib/dom.js";
import { grouped } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, onWidth, TitledView } from "../../core/components/lib/view.js";

/** vocabulary: null has no end; counts, pieces and unknown have one entry for each example; axis: the least and the
 * most of the vocabularies that have a size.
 * @typedef {{ examples: string[], axis: [number, number], settings: { example: number },
 *   methods: { name: string, vocabulary: number | null, vocabulary_text: string, counts: number[], pieces: string[][],
 *     unknown: number[] }[], text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Methods extends TitledView {
  constructor(root) {
    super(root);
    const side = make("div", "side", root);
    this.place = make("div", "scroll table", side);
    this.table = make("table", "", this.place);
    this.chart = make("div", "chart", side);
    this.svg = draw("svg", { class: "methods-chart", role: "img", "font-size": "0.92em" }, this.chart);
    onWidth(this.chart, () => this.plot());
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    if (this.echoes.moves(header.settings.example)) this.example = header.settings.example;
    this.build();
  }

  pick(example) {
    this.example = example;
    this.echoes.tell(example);
    this.build();
    this.table.querySelectorAll("th button")[example]?.focus();
    this.send({ example });
  }

  build() {
    const { table, example } = this;
    table.replaceChildren();
    const head = make("tr", "", make("thead", "", table));
    make("th", "method", head, this.text.method);
    make("th", "size", head, this.text.vocabulary);
    this.examples.forEach((text, k) => {
      const cell = make("th", k === example ? "example picked" : "example", head);
      const choose = button(cell, text, "", () => this.pick(k));
      choose.dir = "auto";
      choose.ariaPressed = String(k === example);
    });
    make("th", "pieces", head, this.text.pieces);
    const body = make("tbody", "", table);
    this.methods.forEach((method, m) => this.row(make("tr", "", body), method, m));
    this.say();
    this.plot();
  }

  /** @param {Message["methods"][number]} method */
  row(row, method, m) {
    const name = make("th", "method", row);
    make("span", "letter", name, letter(m));
    name.append(method.name);
    name.scope = "row";
    make("td", "size", row, method.vocabulary_text);
    method.counts.forEach((count, k) =>
      make("td", k === this.example ? "count picked" : "count", row, grouped(count)));
    const cell = make("div", "scroll", make("td", "pieces", row)), pieces = method.pieces[this.example];
    for (const piece of pieces) chip(cell, piece);
    const more = method.counts[this.example] - pieces.length;
    if (more > 0) make("span", "muted", cell, ` … +${grouped(more)}`);
    if (method.unknown[this.example])
      make("span", "muted", cell, ` ${fill(this.text.unknown, { n: method.unknown[this.example] })}`);
  }

  say() {
    const counts = this.methods.map((method) => method.counts[this.example]);
    const [least, most] = [Math.min(...counts), Math.max(...counts)];
    rich(this.title, this.text.title,
      { example: { chip: this.examples[this.example] }, least: grouped(least), most: grouped(most),
        least_method: this.methods[counts.indexOf(least)].name, most_method: this.methods[counts.indexOf(most)].name });
  }

  /** Tokens of the picked example against the size of the vocabulary: small vocabularies and many tokens on the left,
      large ones and few tokens on the right. */
  plot() {
    const width = this.chart.clientWidth, em = emOf(this.root);
    if (!width || !this.methods) return;
    const height = 19 * em, [left, right, top, bottom] = [2.4 * em, 1.6 * em, 1.9 * em, 3.1 * em];
    this.svg.replaceChildren();
    sized(this.svg, width, height, this.title.textContent);
    const [low, high] = this.axis.map(Math.log10);
    const most = Math.max(1, ...this.methods.map((method) => method.counts[this.example]));
    const place = (method) => (method.vocabulary === null ? width - right : left + 0.8 * em
      + ((Math.log10(Math.max(1, method.vocabulary)) - low) / (high - low)) * (width - left - right - 3.4 * em));
    const level = (count) => height - bottom - (count / most) * (height - top - bottom);
    drawLine(this.svg, left, height - bottom, width - right + 6, height - bottom, { stroke: "var(--tx-grid-ink)" });
    drawText(this.svg, 0, 0.9 * em, this.text.axis_tokens);
    for (const value of [0, most])
      drawText(this.svg, left - 6, level(value) + 0.35 * em, grouped(value), { anchor: "end" });
    for (let power = Math.ceil(low); power <= high; power++) {
      drawText(this.svg, place({ vocabulary: 10 ** power }), height - bottom + 1.2 * em, TENS[power] ?? "",
        { anchor: "middle" });
    }
    drawText(this.svg, width - right, height - bottom + 1.2 * em, "∞", { anchor: "middle" });
    drawText(this.svg, width - right, height - 0.5 * em, this.text.axis_vocabulary, { anchor: "end" });
    const points = this.methods.map((method) => [place(method), level(method.counts[this.example])]);
    const taken = points.map(([x, y]) => [x, y + 0.35 * em]);
    for (const [x, y] of points) draw("circle",
      { cx: x, cy: y, r: 0.34 * em, fill: "var(--tx-kept)", stroke: "var(--tx-page)", "stroke-width": 1.5 }, this.svg);
    points.forEach(([x, y], m) => {
      const spots = [[x, y - 0.65 * em], [x + 0.85 * em, y + 0.35 * em], [x - 0.85 * em, y + 0.35 * em],
        [x, y + 1.3 * em], [x + 0.85 * em, y - 0.6 * em], [x - 0.85 * em, y - 0.6 * em], [x + 1.7 * em, y + 0.35 * em],
        [x - 1.7 * em, y + 0.35 * em]];
      const free = spots.find(([a, b]) =>
        taken.every(([c, d]) => Math.abs(a - c) > 0.75 * em || Math.abs(b - d) > 0.9 * em)) ?? spots[0];
      taken.push(free);
      if (free !== spots[0])
        drawLine(this.svg, x, y, free[0], free[1] - 0.35 * em, { stroke: "var(--tx-grid-ink)" });
      drawText(this.svg, free[0], free[1], letter(m), { anchor: "middle", name: "sans strong" });
    });
  }
}

const TENS = ["1", "10", "100", "1k", "10k", "100k", "1M"];
const letter = (m) => String.fromCharCode(65 + m);

export default mounted(Methods);
