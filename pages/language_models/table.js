import { draw, drawLine, drawText, fill, make, marked, setRange, sized } from "../../core/components/lib/dom.js";
import { grouped, percent, significant } from "../../core/components/lib/numbers.js";
import { emOf, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

const MOST_BITS = 17, LAST_DECADE = 4.2;      // the scale ends at 10^(10^4.2)

/** log2 of the numbers in a table for contexts of t tokens out of 2^bits. */
export const power = (t, bits) => (t + 1) * bits;

/** The decimal digits of 2^exponent. */
export const digitsOf = (exponent) => Math.floor(exponent * Math.log10(2)) + 1;

/** The place on the scale, from 0 to 1, of a number given as its log10: the scale shows the number of its digits, in
    powers of ten. */
export const placeOf = (log10) => Math.min(1, Math.log10(Math.max(1, log10)) / LAST_DECADE);

/** contexts: tokens of a context, the slider's steps; marks: log10 of numbers to compare with; share: of the possible
 * sequences; known: share of the held-out text's places; bits: log2 of the vocabulary.
 * @typedef {{ contexts: number[], marks: [string, number][], settings: { t: number, bits: number },
 *   rows: { n: number, possible: number, different: number, share: number, known: number }[],
 *   text: Record<string, string>, scale: number }} Message */

/** @typedef {{ text: HTMLElement, input: HTMLInputElement, value: HTMLElement }} Slider */
/** @extends {TitledView<Message & Message["settings"] & Record<"tSlider" | "bitsSlider", Slider>>} */
class Table extends TitledView {
  constructor(root) {
    super(root);
    const bar = make("div", "sliders", root);
    [this.tSlider, this.bitsSlider] = ["t", "bits"].map((name) => {
      const label = make("label", "", bar), text = make("span", "", label), input = make("input", "", label);
      Object.assign(input, { type: "range", step: 1 });
      input.oninput = () => { this[name] = this.valueOf(name, Number(input.value)); this.paint(); };
      input.onchange = () => this.settle();
      return { text, input, value: make("b", "number", label) };
    });
    this.formula = make("div", "formula", root);
    const lower = make("div", "lower", root);
    this.place = make("div", "", lower);
    this.svg = draw("svg", { class: "table-scale", role: "img", "font-size": "0.95em" }, this.place);
    const counted = make("div", "counted", lower);
    this.head = make("div", "part", counted);
    this.table = make("table", "seen", make("div", "scroll", counted));
    redrawn(() => this.drawScale(), this.place);
  }

  valueOf(name, place) {
    return name === "t" ? this.contexts[place] : place;
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    const { t, bits } = header.settings, moved = this.echoes.moves(`${t} ${bits}`);
    if (moved || this.t === undefined) Object.assign(this, { t, bits });
    Object.assign(this.tSlider.input, { min: 0, max: this.contexts.length - 1, ariaLabel: this.text.t });
    Object.assign(this.bitsSlider.input, { min: 1, max: MOST_BITS, ariaLabel: this.text.size });
    this.tSlider.text.textContent = this.text.t;
    this.bitsSlider.text.textContent = this.text.size;
    this.counted();
    this.paint();
  }

  settle() {
    this.echoes.tell(`${this.t} ${this.bits}`);
    this.send({ t: this.t, bits: this.bits });
  }

  paint() {
    const exponent = power(this.t, this.bits), size = 2 ** this.bits;
    setRange(this.tSlider.input, this.contexts.indexOf(this.t));
    setRange(this.bitsSlider.input, this.bits);
    this.tSlider.value.textContent = fill(this.text.t_value, { t: this.t });
    this.bitsSlider.value.textContent = fill(this.text.size_value, { size });
    this.title.textContent = fill(exponent > 40 ? this.text.title : this.text.title_small,
      { t: this.t, size, digits: digitsOf(exponent), n: exponent > 40 ? 0 : 2 ** exponent });
    marked(this.formula, `|T|^{t+1} = (2^{${this.bits}})^{${grouped(this.t + 1)}} = 2^{${grouped(exponent)}} ≈ 10^{${
      grouped(Math.round(exponent * Math.log10(2)))}}`);
    this.drawScale();
  }

  /** A scale of digits in powers of ten, with what is compared below it and the table above it. */
  drawScale() {
    const width = this.place.clientWidth, em = emOf(this.root);
    if (!width || !this.marks) return;
    const left = 1.2 * em, right = 1.2 * em, line = 2.6 * em, log10 = power(this.t, this.bits) * Math.log10(2);
    const x = (value) => left + placeOf(value) * (width - left - right);
    this.svg.replaceChildren();
    sized(this.svg, width, line + 6.6 * em, this.title.textContent);
    drawLine(this.svg, left, line, width - right, line, { stroke: "var(--tx-grid-ink)" });
    for (let decade = 0; decade <= LAST_DECADE; decade += 1) {
      const at = x(10 ** decade);
      drawLine(this.svg, at, line - 4, at, line + 4, { stroke: "var(--tx-grid-ink)" });
      const text = drawText(this.svg, at, line + 1.4 * em, "10", { anchor: decade ? "middle" : "start" });
      draw("tspan", { dy: "-0.45em", "font-size": "0.8em" }, text, grouped(10 ** decade));
    }
    draw("rect", { x: left, y: line - 0.75 * em, width: Math.max(2, x(log10) - left), height: 0.75 * em,
      fill: "var(--tx-kept)" }, this.svg);
    const name = this.text.mark_table, wide = textWidth(name, `${em}px sans-serif`);
    drawText(this.svg, Math.max(left, Math.min(x(log10), width - right - 0.5 * wide)), line - 1.2 * em, name,
      { anchor: x(log10) < left + wide ? "start" : "middle", name: "sans strong" });
    this.marks.forEach(([label, value], k) => {
      const at = x(value), down = line + (2.6 + 1.35 * (this.marks.length - 1 - k)) * em;
      drawLine(this.svg, at, line, at, down - 0.3 * em, { stroke: "var(--tx-text)", "stroke-dasharray": "2 3" });
      drawText(this.svg, at + 0.4 * em, down + 0.1 * em, label);
    });
  }

  counted() {
    this.head.textContent = this.text.head;
    this.table.replaceChildren();
    const head = make("tr", "", make("thead", "", this.table)), body = make("tbody", "", this.table);
    for (const name of ["length", "possible", "different", "share", "known"]) make("th", "", head, this.text[name]);
    for (const row of this.rows) {
      const line = make("tr", "", body);
      make("td", "", line, grouped(row.n));
      marked(make("td", "", line), row.n < 4 ? grouped(row.possible) : `4,096^{${row.n}}`);
      make("td", "", line, grouped(row.different));
      make("td", "", line, row.share < 1e-4 ? significant(row.share, 2) : percent(row.share));
      const cell = make("div", "cell", make("td", "bar", line));
      make("span", "length", cell).style.width = `calc(${row.known} * (100% - 5em))`;
      make("span", "", cell, percent(row.known));
    }
  }
}

export default mounted(Table);
