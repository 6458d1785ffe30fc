import {
  button, draw, drawLine, drawText, fill, hatching, keyPlace, make, rich, sized, spokenLine,
} from "../../core/components/lib/dom.js";
import { plain, significant } from "../../core/components/lib/numbers.js";
import { emOf, monoFont, shortened } from "../../core/components/lib/text.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

// em: a row lower than LOW has token and number side by side, in present mode
const ROW = 2.75, LEAST = 7.2, LOW = 2.3;
// on a projector at most 4 columns fill the picture, none narrower than 10 em, so that every word is whole
const MOST_PRESENT = 4, LEAST_PRESENT = 10;

/** Of a step, the `width` hypotheses that are kept come first; isNew: not finished before; picked: step and place;
 * same: best and greedy are one text; rank of the best among `all` texts, 0 where they are not listed.
 * @typedef {[token: string, parent: number, logP: number, last: number, fate: string, path: string,
 *   isNew: boolean]} Node
 * @typedef {{ steps: Node[][], width: number, picked: number[], best: string, greedy: string, same: boolean,
 *   rank: number, all: number, text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Beam extends TitledView {
  constructor(root) {
    super(root);
    this.further = button(root, "", "", () => this.turn(), "further");
    this.place = keyPlace(root, "scroll beam-picture", (event) => this.key(event));
    this.svg = draw("svg", { class: "beam-tree", role: "img" }, this.place);
    this.detail = spokenLine(root, "detail");
    this.hint = make("div", "muted hint", root);
    redrawn(() => this.paint(), this.place);
    this.place.addEventListener("scroll", () => this.name());
  }

  /** To the columns that are right of those in sight, or back to the first ones. */
  turn() {
    const { place, column } = this;
    const end = place.scrollWidth - place.clientWidth - 2;
    place.scrollLeft = place.scrollLeft < end ? place.scrollLeft + this.shown * column : 0;
  }

  /** Name the columns that a press leads to. */
  name() {
    const { place, column, shown, steps } = this, first = Math.round(place.scrollLeft / column);
    const next = first + shown < steps.length ? first + shown : 0;
    this.further.hidden = steps.length <= shown;
    this.further.textContent = fill(this.text.further, { from: next + 1, to: Math.min(next + shown, steps.length) });
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.place.ariaLabel = this.text.tree;
    this.paint();
  }

  pick(step, place) {
    this.picked = [step, place];
    this.paint();
    this.send({ hypothesis: `${step}.${place}` });
  }

  key(event) {
    const [step, place] = this.picked, parent = this.steps[step][place][1], next =
      { ArrowUp: [step, place - 1], ArrowDown: [step, place + 1], ArrowLeft: [step - 1, parent] }[event.key]
      ?? (event.key === "ArrowRight"
        ? [step + 1, (this.steps[step + 1] ?? []).findIndex((node) => place < this.width && node[1] === place)] : null);
    if (!next) return;
    event.preventDefault();
    if (!this.steps[next[0]]?.[next[1]]) return;
    this.pick(...next);
    const { column, shown } = this, first = this.place.scrollLeft / column;
    if (next[0] < first - 0.5 || next[0] > first + shown - 0.5)
      this.place.scrollLeft = (next[0] - Math.floor(shown / 2)) * column;
  }

  paint() {
    const width = this.place.clientWidth, em = emOf(this.root);
    if (!width || !this.steps) return;
    const n = this.steps.length, fits = Math.min(MOST_PRESENT, Math.floor(width / (LEAST_PRESENT * em)));
    this.shown = this.scale > 1 ? Math.max(1, Math.min(n, fits)) : n;
    const column = this.column = this.scale > 1 ? width / this.shown : Math.max(width / n, LEAST * em);
    const most = Math.max(...this.steps.map((step) => step.length)), best = this.steps[n - 1][0];
    const row = Math.min(ROW * em, this.scale > 1 ? Math.max(1.6 * em, (window.innerHeight - 32.6 * em) / most)
        : Math.max(2.35 * em, (window.innerHeight - 26 * em) / most)), box = column - 2.1 * em, top = 1.6 * em;
    const drop = (place) => (place >= this.width ? 0.9 * em : 0), y = (place) => top + place * row + drop(place);
    const x = (step) => step * column + 1;
    rich(this.title, this.rank ? this.text.title_tiny : this.same && this.width > 1 ? this.text.title_same
        : this.text.title, { width: this.width, n, best: this.best, greedy: this.greedy, path: { chip: best[5] },
          rank: this.rank, all: this.all });
    this.hint.textContent = `${this.text.note} ${this.text.hint}`.trim();
    this.svg.replaceChildren();
    hatching(this.svg, "pruned", { size: 6, thick: 1.2 });
    const line = y(this.width) - 0.62 * em;
    if (most > this.width) {
      drawLine(this.svg, 0, line, x(n), line, { stroke: "var(--tx-grid-ink)", "stroke-dasharray": "4 3" });
    }
    this.steps.forEach((hypotheses, step) => {
      drawText(this.svg, x(step), em, fill(this.text.level, { step: step + 1 }), { size: 0.92 * em });
      hypotheses.forEach(([, parent, , , fate], place) => {
        if (!step) return;
        const from = [x(step - 1) + box, y(parent) + row * 0.42], to = [x(step), y(place) + row * 0.42];
        const bend = (to[0] - from[0]) / 2;
        draw("path", { class: `edge ${fate}`,
          d: `M${from} C${from[0] + bend} ${from[1]} ${to[0] - bend} ${to[1]} ${to}` }, this.svg);
      });
    });
    this.steps.forEach((hypotheses, step) =>
      hypotheses.forEach((node, place) => this.box(node, step, place, x(step), y(place), box, row, em)));
    sized(this.svg, Math.max(width, n * column) - 2, y(most) + 0.2 * em, this.title.textContent);
    this.name();
    this.say();
  }

  box([token, , total, last, fate, path, fresh], step, place, x, y, width, row, em) {
    const picked = step === this.picked[0] && place === this.picked[1], high = row * 0.84;
    const group = draw("g", { class: `hypothesis ${fate} ${picked ? "picked" : ""}` }, this.svg);
    draw("rect", { x, y, width, height: high, rx: 3, fill: fate === "pruned" ? "url(#pruned)" : "" }, group);
    const low = row < LOW * em, room = width - (low ? 3 : 0.7) * em;
    drawText(group, x + 0.35 * em, y + (low ? 0.69 : 0.44) * high,
      fresh ? shortened(token, monoFont(0.95 * em), room) : "■", { size: 0.95 * em, name: "" });
    drawText(group, low ? x + width - 0.35 * em : x + 0.35 * em, y + (low ? 0.69 : 0.85) * high,
      Math.abs(total) < 0.05 ? significant(total, 2) : plain(total, 2),
      { anchor: low ? "end" : "start", size: 0.85 * em, name: "amount" });
    draw("title", {}, group, fill(this.text.hover, { path, log: plain(total, 4), last: plain(last, 4) }));
    group.onclick = () => this.pick(step, place);
  }

  say() {
    const [step, place] = this.picked, [, , total, , fate, path] = this.steps[step][place];
    const name = fate === "best" && step < this.steps.length - 1 ? "on" : fate;
    rich(this.detail, this.text.picked,
      { path: { chip: path }, log: plain(total, 4), fate: fill(this.text[`fate_${name}`], { width: this.width }) });
  }
}

export default mounted(Beam);
