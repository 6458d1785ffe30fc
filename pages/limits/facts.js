// A disc is a right answer and a cross a wrong one; answers left of the threshold are withheld. The threshold moves
// here, and Python hears of it when the hand rests.
import {
  chip, draw, drawLine, drawText, fill, make, setRange, sized, spokenLine,
} from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { decimals, percent } from "../../core/components/lib/numbers.js";
import { emOf, monoFont, shortened, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

const EDGE = 9;     // pixels at both ends of the axis: half a slider's knob
const RESTS = 250;  // milliseconds after which a hand is at rest
// columns of dots: as many as the slider has steps, so that the threshold is always between two of them
const CELLS = 100;

/** rest: p of all other answers; said: by the model; picked: the index of a dot or −1; own: p of a question that is no
 * dot; dots: p, right, relation, place and tip.
 * @typedef {{ group: string, name: string, ask: string, truth: string, rest: number, bars: { name: string,
 *   p: number, shown: string, right: boolean, said: boolean }[], picked: number, own: number | null, dots: [number,
 *   boolean, number, number, string][] }} Row */
/** @typedef {{ text: Record<string, string>, scale: number, title_line: string, note: string, rows: Row[],
 *   areas: string[], settings: { threshold: number } }} Message */

/** @extends {View<Message>} */
class Facts extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    this.title = make("div", "title", root);
    this.rows_place = make("div", "facts-rows", root);
    const foot = make("div", "foot", root), left = make("div", "", foot), right = make("div", "", foot);
    this.verdict = spokenLine(left, "verdict");
    this.remark = make("div", "muted remark", left);
    this.slider = make("input", "", make("label", "", right));
    Object.assign(this.slider, { type: "range", min: 0, max: 1, step: 0.01 });
    this.slider.oninput = () => { this.threshold = Number(this.slider.value); this.mark(); };
    this.slider.onchange = () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.tell(null), RESTS); };
    this.value = make("span", "", right);
    this.areas_place = make("span", "muted", right);
    redrawn(() => this.build(), this.rows_place);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    if (this.echoes.moves(header.settings.threshold)) this.threshold = header.settings.threshold;
    this.title.textContent = this.title_line;
    this.remark.textContent = this.note;
    this.areas_place.textContent = ["", ...this.areas].join(" · ");
    this.slider.ariaLabel = this.text.threshold;
    this.build();
  }

  /** Tells Python of the threshold, and of the dot that was picked, if one was. */
  tell(picked) {
    clearTimeout(this.timer);
    this.echoes.tell(this.threshold);
    this.send({ threshold: this.threshold, picked });
  }

  build() {
    if (!this.rows || !this.rows_place.clientWidth) return;
    this.em = emOf(this.root);
    const font = monoFont(0.9 * this.em);
    this.names = Math.max(...this.rows.flatMap((row) => [this.text.rest, ...row.bars.map((bar) => bar.name)])
      .map((name) => textWidth(name, font))) + 0.6 * this.em;
    this.rows_place.replaceChildren();
    this.strips = this.rows.map((row) => this.line(row));
    this.mark();
  }

  line(row) {
    const node = make("div", `group ${row.group}`, this.rows_place), left = make("div", "", node);
    const right = make("div", "", node), head = make("div", "", left);
    make("span", "name", head, row.name);
    chip(head, row.ask, "ask");
    this.bars(left, row);
    const counts = make("div", "counts", right);
    return { row, counts, ...this.strip(right, row) };
  }

  /** The bars that there is room for: in present mode the answer that is said. */
  shown(row) {
    const kept = row.bars.filter((bar) => this.scale === 1 || bar.said);
    const others = row.bars.reduce((sum, bar) => sum + (kept.includes(bar) ? 0 : bar.p), row.rest);
    const rest = { name: this.text.rest, p: others, shown: percent(others), rest: true };
    return this.scale > 1 && kept.length ? kept : [...kept, rest];
  }

  bars(place, row) {
    const bars = this.shown(row), { em } = this, width = place.clientWidth, step = 1.22 * em;
    const font = monoFont(0.9 * em), svg = draw("svg", { role: "img", "font-size": 0.9 * em }, place);
    sized(svg, width, bars.length * step, bars.map((bar) => `${bar.name} ${bar.shown}`).join(", "));
    const names = Math.min(0.46 * width, this.names), room = width - names - 6.5 * em;
    bars.forEach((bar, k) => {
      const top = k * step, y = top + 0.95 * em;
      const name = drawText(svg, names - 0.5 * em, y, shortened(bar.name, font, names - 0.5 * em),
        { anchor: "end", name: bar.rest ? "sans" : "" });
      draw("title", {}, name, bar.name);
      draw("rect", { x: names, y: top + 0.12 * em, width: Math.max(1, bar.p * room), height: 0.96 * em,
        class: bar.said ? "bar said" : "bar" }, svg);
      const verdict = bar.right ? " ✓" : bar.said && row.truth ? " ✗" : "";
      drawText(svg, names + bar.p * room + 0.4 * em, y, bar.shown + verdict,
        { name: bar.said ? "sans strong" : "sans" });
    });
  }

  strip(place, row) {
    const { em } = this, width = place.clientWidth, height = (this.scale > 1 ? 2 : 5.2) * em;
    const floor = height - 1.1 * em, xOf = (p) => EDGE + p * (width - 2 * EDGE);
    const svg = draw("svg", { role: "group", class: "facts-strip", "font-size": 0.85 * em }, place);
    sized(svg, width, height, `${row.name}, ${this.text.axis}`);
    const ground = draw("rect", { class: "held-ground", x: EDGE, y: 0, height: floor, width: 0 }, svg);
    for (const tick of [0, 0.25, 0.5, 0.75, 1])
      drawText(svg, xOf(tick), height - 2, tick, { anchor: { 0: "start", 1: "end" }[tick] ?? "middle" });
    drawLine(svg, EDGE, floor, width - EDGE, floor, { class: "axis" });
    const tally = new Map();
    const places = row.dots.map(([p]) => {
      const cell = Math.min(CELLS - 1, Math.floor(p * CELLS)), level = tally.get(cell) ?? 0;
      tally.set(cell, level + 1);
      return [cell, level];
    });
    const rise = Math.min(0.55 * em, (floor - 0.4 * em) / Math.max(1, ...tally.values()));
    const size = Math.max(2, Math.min(0.24 * em, rise / 2, (0.55 * (width - 2 * EDGE)) / CELLS));
    const marks = row.dots.map(([p, right, relation, subject, tip], i) => {
      const [cell, level] = places[i], x = xOf((cell + 0.5) / CELLS), y = floor - 0.35 * em - level * rise;
      const mark = right ? draw("circle", { cx: x, cy: y, r: size, class: "dot right" }, svg) : draw("path",
        { d: `M${x - size} ${y - size}l${2 * size} ${2 * size}m${-2 * size} 0l${2 * size} ${-2 * size}`,
          class: "dot wrong" }, svg);
      draw("title", {}, mark, `${tip}  ${percent(p)}`);
      mark.onclick = () => this.tell([row.group, relation, subject]);
      if (i === row.picked) draw("circle", { cx: x, cy: y, r: size + 4, class: "ring" }, svg);
      return mark;
    });
    if (row.own !== null) draw("circle", { cx: xOf(row.own), cy: floor, r: 6, class: "ring" }, svg);
    return { marks, ground, xOf, limit: draw("line", { class: "limit", y1: 0, y2: floor + 4 }, svg) };
  }

  /** Draw the threshold's effect: lines, grounds, counts, and the sentence that sums them up. */
  mark() {
    let said = 0, wrong = 0, lost = 0;
    const x = this.threshold, threshold = percent(x, 0);
    for (const { row, counts, marks, ground, limit, xOf } of this.strips ?? []) {
      const tally = { right: 0, wrong: 0, kept_right: 0, kept_wrong: 0 };
      row.dots.forEach(([p, right], i) => {
        tally[`${p >= x ? "" : "kept_"}${right ? "right" : "wrong"}`]++;
        marks[i].classList.toggle("held", p < x);
      });
      ground.setAttribute("width", xOf(x) - EDGE);
      for (const end of ["x1", "x2"]) limit.setAttribute(end, xOf(x));
      counts.textContent = fill(this.text.counts, tally);
      said += tally.right + tally.wrong;
      wrong += tally.wrong;
      lost += tally.kept_right;
    }
    setRange(this.slider, x);
    this.slider.ariaValueText = threshold;
    this.value.textContent = fill(this.text.threshold_value, { threshold });
    this.verdict.textContent = fill(said ? this.text.said : this.text.silent,
      { threshold, said, wrong, lost, share: decimals((100 * wrong) / said, 1) });
  }
}

export default mounted(Facts);
