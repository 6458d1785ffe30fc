import {
  button, chip, draw, drawText, fill, hatching, make, setRange, sized,
} from "../../core/components/lib/dom.js";
import { decimals, significant } from "../../core/components/lib/numbers.js";
import { emOf, monoFont, textWidth } from "../../core/components/lib/text.js";
import { mounted, onWidth, TitledView } from "../../core/components/lib/view.js";

/** Three bars, each a zoom into the one above; two in present mode. start, end of [0, 1); sent: bits that are final
 * after the token; low, high: next digits of the interval's ends; likely: of each token, names and the ends of their
 * shares.
 * @typedef {{ stream: string, likely: [string, number][][], settings: { step: number },
 *   tokens: { name: string, bits: number, start: number, end: number, sent: number, low: string, high: string }[],
 *   compared: { name: string, bits: number, shown: string, kind: "model" | "" }[],
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Coder extends TitledView {
  constructor(root) {
    super(root);
    const place = make("div", "coder", root);
    this.strip = make("div", "strip", place);
    const left = make("div", "", place);
    const walk = make("div", "walk", left);
    button(walk, "◀", "", () => this.go(this.step - 1), "back");
    this.slider = make("input", "", walk);
    this.slider.type = "range";
    this.slider.oninput = () => this.go(Number(this.slider.value), false);
    this.slider.onchange = () => this.keep();
    button(walk, "▶", "", () => this.go(this.step + 1), "on");
    this.svg = draw("svg", { class: "zoom coder-chart", role: "img", "font-size": "0.95em" }, left);
    this.sizes = draw("svg", { class: "sizes", role: "img", "font-size": "0.92em" }, make("div", "", place));
    this.digits = make("div", "digits", place);
    onWidth(left, () => this.paint());
  }

  /** @param {Message} header */
  receive(header) {
    const { step } = header.settings, moved = this.echoes.moves(step);
    const same = this.stream === header.stream && !moved;
    Object.assign(this, header);
    if (!same || this.step === undefined) this.step = step;
    this.slider.max = this.tokens.length - 1;
    this.slider.ariaLabel = this.text.slider;
    for (const name of ["back", "on"]) this.root.querySelector(`.${name}`).ariaLabel = this.text[name];
    this.title.textContent = this.text.title_line;
    this.buildStrip();
    this.paint();
  }

  go(step, keep = true) {
    this.step = Math.max(0, Math.min(step, this.tokens.length - 1));
    this.paint();
    if (keep) this.keep();
  }

  keep() {
    this.echoes.tell(this.step);
    this.send({ step: this.step });
  }

  buildStrip() {
    const most = Math.max(1, ...this.tokens.map((token) => token.bits));
    this.strip.replaceChildren();
    this.tokens.forEach((token, i) => {
      const choose = button(this.strip, "", `${token.name}: ${decimals(token.bits, 3)} ${this.text.bits}`,
        () => this.go(i));
      make("span", "bar", choose).style.height = `${(token.bits / most) * 2.6}em`;
      chip(choose, token.name, "name");
    });
  }

  paint() {
    const width = this.svg.parentElement.clientWidth;
    if (!width || !this.tokens) return;
    setRange(this.slider, this.step);
    [...this.strip.children].forEach((choose, i) => { choose.ariaPressed = String(i === this.step); });
    const chosen = this.strip.children[this.step];
    if (chosen.offsetLeft < this.strip.scrollLeft
        || chosen.offsetLeft + chosen.offsetWidth > this.strip.scrollLeft + this.strip.clientWidth)
      this.strip.scrollLeft = chosen.offsetLeft - this.strip.clientWidth / 2;
    this.zoom(width);
    this.compare();
    this.write();
  }

  zoom(width) {
    const em = emOf(this.root), bar = 1.9 * em, gap = 3.3 * em, { svg } = this, shown = this.scale > 1 ? 2 : 3;
    const rows = Math.min(shown, this.tokens.length - this.step);
    svg.replaceChildren();
    const height = shown * (bar + gap) - 0.6 * em;
    hatching(svg, "lm-hatch", { size: 6, thick: 1 });
    const lines = [];
    for (let r = 0; r < rows; r++) {
      const i = this.step + r, token = this.tokens[i], y = 1.5 * em + r * (bar + gap);
      const font = monoFont(0.9 * em);
      const line = fill(this.text.share, { token: token.name, ...ends(token.start, token.end),
        bits: token.bits < 0.01 ? significant(token.bits, 2) : decimals(token.bits, 2) });
      lines.push(line);
      drawText(svg, 0, y - 0.45 * em, line, { name: r ? "sans" : "sans strong" });
      let from = 0;
      for (const [name, end] of this.likely[i]) {
        draw("rect", { x: from * width, y, width: Math.max(0.5, (end - from) * width), height: bar }, svg);
        if (textWidth(name, font) + 6 < (end - from) * width)
          drawText(svg, ((from + end) / 2) * width, y + 0.64 * bar, name,
            { anchor: "middle", size: 0.9 * em, name: "" });
        from = end;
      }
      draw("rect", { x: from * width, y, width: Math.max(0.5, (1 - from) * width), height: bar, class: "tail" }, svg);
      const x = Math.min(token.start * width, width - 3), span = Math.max(2.5, (token.end - token.start) * width);
      draw("rect", { x, y, width: span, height: bar, class: "taken" }, svg);
      if (textWidth(token.name, font) + 6 < span)
        drawText(svg, x + span / 2, y + 0.64 * bar, token.name,
          { anchor: "middle", size: 0.9 * em, name: "taken-name" });
      if (r < rows - 1)
        draw("polygon",
          { points: `${x},${y + bar} ${x + span},${y + bar} ${width},${y + bar + gap} 0,${y + bar + gap}` }, svg);
    }
    sized(svg, width, height, lines.join("; "));
  }

  compare() {
    const em = emOf(this.root), width = this.sizes.parentElement.clientWidth, step = (this.scale > 1 ? 1.6 : 1.75) * em;
    const most = Math.max(...this.compared.map((code) => code.bits));
    this.sizes.replaceChildren();
    const height = (this.compared.length + 1.2) * step;
    sized(this.sizes, width, height, this.compared.map((code) => `${code.name} ${code.bits}`).join(", "));
    drawText(this.sizes, 0, 0.9 * em, this.text.sizes, { name: "sans strong" });
    const left = 7.8 * em, room = width - left - 4.4 * em;
    this.compared.forEach((code, k) => {
      const y = (k + 1) * step;
      drawText(this.sizes, 0, y + 0.95 * em, code.name, { name: code.kind ? "sans strong" : "sans" });
      draw("rect", { x: left, y: y + 0.1 * em, width: Math.max(1, (code.bits / most) * room), height: 1.15 * em,
        class: code.kind }, this.sizes);
      drawText(this.sizes, left + (code.bits / most) * room + 0.4 * em, y + 0.95 * em, code.shown,
        { name: code.kind ? "sans strong" : "sans" });
    });
  }

  write() {
    const token = this.tokens[this.step], before = this.step ? this.tokens[this.step - 1].sent : 0;
    this.digits.replaceChildren();
    const lead = (text) => make("span", "lead", this.digits, text);
    lead(fill(this.text.sent, { n: token.sent, all: this.stream.length }));
    this.digits.append(" " + this.stream.slice(0, before));
    if (token.sent > before) make("span", "new", this.digits, this.stream.slice(before, token.sent));
    make("br", "", this.digits);
    lead(this.text.ends);
    this.digits.append(` ${token.low}… – ${token.high}…`);
  }
}

/** The two ends of an interval, with the fewest decimals, at least four, that tell them from each other, 0 and 1. */
export function ends(start, end) {
  let places = 4;
  while (places < 9 && ((end - start) * 10 ** places < 2 || (start > 0 && Number(start.toFixed(places)) === 0)
      || (end < 1 && Number(end.toFixed(places)) === 1)))
    places++;
  return { start: start ? start.toFixed(places) : "0", end: end < 1 ? end.toFixed(places) : "1" };
}

export default mounted(Coder);
