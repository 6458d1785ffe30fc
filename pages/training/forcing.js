import { draw, drawLine, drawText, fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { steppedByKeys } from "../../core/components/lib/keys.js";
import { percent, readable } from "../../core/components/lib/numbers.js";
import { emOf, monoFont, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

// A column for each token that was read. The last one has a guess and no true token: the text ends there.
/** guesses, p_guess: n + 1, p_true, losses, right: n, in the unit shown; guess: the column whose true token the reader
 * took for the most surprising, or −1; height: of the bars, px.
 * @typedef {{ text: Record<string, string>, scale: number, tokens: string[], guesses: string[], p_guess: number[],
 *   p_true: number[], losses: number[], right: boolean[], mean: number, picked: number, guess: number,
 *   height: number }} Message */

/** @extends {View<Message>} */
class Forcing extends View {
  constructor(root) {
    super(root);
    this.names = draw("svg", { class: "names", "aria-hidden": "true" }, root);
    this.place = make("div", "scroll place", root);
    steppedByKeys(this.place, () => ({ ArrowLeft: -1, ArrowRight: 1 }),
      (step) => this.pick(Math.max(0, Math.min(this.losses.length - 1, this.picked + step))));
    this.svg = draw("svg", { class: "forcing-chart", role: "img" }, this.place);
    this.spoken = spokenLine(root, "spoken");
    redrawn(() => this.tokens && this.plot(), this.place);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.plot();
    if (this.moved !== this.picked) this.reveal();
    this.moved = this.picked;
  }

  pick(column) {
    if (column >= this.losses.length) return;
    this.picked = this.moved = column;
    this.plot();
    this.reveal();
    this.spoken.textContent = this.words(column);
    this.send({ place: column });
  }

  words(i) {
    return fill(this.text.column, { token: this.tokens[i], guess: this.guesses[i],
      p_guess: percent(this.p_guess[i]), next: this.tokens[i + 1], p: percent(this.p_true[i]),
      loss: readable(this.losses[i]) });
  }

  reveal() {
    const left = this.picked * this.column, scrolled = this.place.scrollLeft;
    if (left < scrolled) this.place.scrollLeft = left - this.column;
    else if (left + this.column > scrolled + this.place.clientWidth)       // no column is cut at the left
      this.place.scrollLeft = Math.ceil((left + 2 * this.column - this.place.clientWidth) / this.column) * this.column;
  }

  plot() {
    const em = emOf(this.root), n = this.tokens.length, font = monoFont(em), room = this.place.clientWidth;
    if (!room) return;
    const widest = Math.max(3 * em,
      ...[...this.tokens, ...this.guesses].map((text) => Math.min(textWidth(text, font), 9 * em)));
    this.column = Math.max(widest + 1.4 * em, Math.min(room / n, 7.5 * em));
    const width = Math.max(this.column * n, 1), bars = this.height, top = 8.6 * em;
    const height = top + bars + (this.guess < 0 ? 2.2 : 3.5) * em;
    const most = Math.max(...this.losses, this.mean || 0, 1e-9);
    const level = (value) => top + bars - (value / most) * (bars - 1.2 * em);
    for (const svg of [this.svg, this.names]) {
      svg.replaceChildren();
      svg.setAttribute("height", height);
      svg.setAttribute("font-size", em);
    }
    this.svg.setAttribute("width", width);
    this.svg.ariaLabel = this.text.twin;
    this.headings(em, top, bars);
    this.tokens.forEach((_, i) => this.draw(i, em, top, bars, level));
    drawLine(this.svg, 0, top + bars, width, top + bars, { class: "axis" });
    if (!this.losses.length) return;
    const mean = level(this.mean);
    drawLine(this.svg, 0, mean, this.column * this.losses.length, mean, { class: "mean" });
    drawText(this.names, 0, mean + 0.3 * em, fill(this.text.mean, { mean: readable(this.mean) }),
      { name: "sans strong" });
  }

  headings(em, top, bars) {
    const { reads, says, loss, true: next } = this.text;
    for (const [text, y] of [[reads, 1.6 * em], [says, 4.3 * em], [next, 7.3 * em], [loss, top + bars + 1.4 * em]])
      drawText(this.names, 0, y, text);
  }

  draw(i, em, top, bars, level) {
    const x = i * this.column, middle = x + this.column / 2, known = i < this.losses.length;
    const group = draw("g", { class: `column${i === this.picked ? " picked" : ""}` }, this.svg);
    draw("title", {}, group, known ? this.words(i)
        : fill(this.text.last,
          { token: this.tokens[i], guess: this.guesses[i], p_guess: percent(this.p_guess[i]) }));
    draw("rect", { class: "ground", x: x + 1, y: 1, width: this.column - 2, height: top + bars + 2 * em - 2, rx: 5 },
      group);
    this.token(group, this.tokens[i], middle, 1.3 * em, em, "");
    this.token(group, this.guesses[i], middle, 3.6 * em, em, this.right[i] ? "right" : "guess");
    const share = (p, y) => drawText(group, middle, y, percent(p), { anchor: "middle", size: 0.85 * em });
    share(this.p_guess[i], 5.2 * em);
    if (!known) return;
    this.token(group, this.tokens[i + 1], middle, 6.6 * em, em, this.right[i] ? "right" : "");
    share(this.p_true[i], 8.2 * em);
    const y = level(this.losses[i]);
    draw("rect", { class: "bar", x: middle - 0.9 * em, y, width: 1.8 * em, height: Math.max(1, top + bars - y) },
      group);
    drawText(group, middle, top + bars + 1.4 * em, readable(this.losses[i]), { anchor: "middle", name: "sans strong" });
    if (i === this.guess) {
      draw("rect", { class: "mine", x: x + 3, y: 3, width: this.column - 6, height: top + bars + 3.4 * em - 6, rx: 5 },
        group);
      drawText(group, middle, top + bars + 2.7 * em, this.text.mine, { anchor: "middle", name: "sans strong" });
    }
    group.onclick = () => this.pick(i);
  }

  token(parent, text, x, y, em, name) {
    const group = draw("g", { class: `token ${name}` }, parent);
    const length = textWidth(text, monoFont(em)), width = Math.min(this.column - 0.6 * em, length + 0.7 * em);
    const room = width - 0.5 * em;
    draw("rect", { x: x - width / 2, y: y - 0.85 * em, width, height: 1.7 * em, rx: 4 }, group);
    const label = draw("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central", direction: "auto" },
      group, text);
    if (length <= room + 1) return;
    label.setAttribute("textLength", room);
    label.setAttribute("lengthAdjust", "spacingAndGlyphs");
  }
}

export default mounted(Forcing);
