import { draw, drawLine, drawText, make, sized } from "../../core/components/lib/dom.js";
import { emOf, monoFont, shortened, textWidth } from "../../core/components/lib/text.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

// One column for each token, one band for each method; a bar goes up where the token speaks for the target and down
// where it speaks against it, each band on its own scale. An open diamond is the control's value, on the same scale.
// Narrow columns make the picture scroll within itself.
/** @typedef {{ name: string, note: string[], values: (number | null)[], shown: string[], control: number[] | null,
 *   control_shown: string[] }} Row */
/** guess: the token that the reader took for the one whose removal changes most, `you` its name; band: px.
 * @typedef {{ text: Record<string, string>, scale: number, tokens: string[], rows: Row[], legend_lines: string[],
 *   band: number, guess: number | null, you: string, settings: { token: number } }} Message */

/** @extends {View<Message>} */
class Inputs extends View {
  constructor(root) {
    super(root);
    this.place = make("div", "scroll", root);
    this.legend = make("div", "legend", root);
    redrawn(() => this.build(), this.place);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.token = header.settings.token;
    this.legend.replaceChildren();
    for (const line of this.legend_lines) make("span", "", this.legend, line);
    this.build();
  }

  pick(token) {
    this.token = token;
    this.build();
    this.place.querySelector(`[data-token="${token}"]`)?.focus({ preventScroll: true });
    this.send({ token });
  }

  build() {
    const width = this.place.clientWidth;
    if (!width || !this.rows) return;
    this.place.replaceChildren();
    const em = emOf(this.root), font = monoFont(0.92 * em), narrow = width < 40 * em;
    const side = narrow ? 0 : 14.5 * em, n = this.tokens.length;
    const texts = this.tokens.map((token) => shortened(token, font, 7 * em));
    const high = texts.map((text) => 0.72 * textWidth(text, font));
    // the last names lean out to the right
    const beyond = Math.max(...high.map((length, i) => length - (n - 1 - i) * 1.25 * em));
    const step = Math.max(1.25 * em, Math.min(4.5 * em, (width - side - beyond) / n));
    const head = Math.max(...high) + 1.6 * em;
    const over = narrow ? 2.7 * em : 0, band = this.band * em + over, mine = this.guess === null ? 0 : em;
    const tall = head + this.rows.length * band + 0.3 * em + mine;
    const wide = side + n * step + beyond;
    const svg = draw("svg", { class: "inputs-picture", role: "group", "font-size": 0.92 * em }, this.place);
    sized(svg, Math.max(width - 1, wide), tall, this.text.picture);
    this.tokens.forEach((token, i) => this.column(svg, i, texts[i], { x: side + i * step, step, head, tall, em }));
    this.rows.forEach((row, k) => this.row(svg, row, { y: head + k * band, band, over, side, step, em, n }));
  }

  /** The texts about a token's column: the token, and its value by each method. */
  describe(i, value) {
    return [this.tokens[i], ...this.rows.map((row) => `${row.name}: ${value(row)}`)];
  }

  column(svg, i, text, { x, step, head, tall, em }) {
    const { token } = this, last = this.tokens.length - 1;
    const group = draw("g", { class: i === token ? "column picked" : "column", tabindex: i === token ? 0 : -1,
      role: "button", "data-token": i, "aria-label": this.describe(i, (row) => row.shown[i]).join(", ") }, svg);
    const mine = i === this.guess ? " guess" : "", ground = { y: head - 0.2 * em, height: tall - head, rx: 3 };
    draw("rect", { class: `ground${mine}`, x: x + 1, width: step - 2, ...ground }, group);
    const [left, y] = [x + step / 2 - 0.1 * em, head - 0.5 * em];
    draw("text", { x: left, y, transform: `rotate(-45 ${left} ${y})` }, group, text);
    if (mine) drawText(group, x + step / 2, tall - 0.4 * em, this.you, { anchor: "middle", name: "sans guess" });
    const control = (row) => (row.control ? ` (${this.text.control}: ${row.control_shown[i]})` : "");
    draw("title", {}, group, this.describe(i, (row) => row.shown[i] + control(row)).join("\n"));
    group.onclick = () => this.pick(i);
    group.onkeydown = (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: last }[event.key];
      if (to === undefined || to < 0 || to > last) return;
      event.preventDefault();
      event.stopPropagation();
      this.pick(to);
    };
  }

  row(svg, row, { y, band, over, side, step, em, n }) {
    const all = [0, ...row.values, ...(row.control || [])], top = Math.max(...all), bottom = Math.min(...all);
    const unit = top - bottom ? (band - over - 0.9 * em) / (top - bottom) : 0, zero = y + over + 0.3 * em + top * unit;
    const group = draw("g", { "pointer-events": "none" }, svg);
    drawText(group, 0, y + 1.2 * em, row.name, { name: "name" });
    const notes = this.scale > 1 ? [] : over ? [row.note.join(", ")] : row.note;
    notes.forEach((line, k) => drawText(group, 0, y + (2.3 + 1.1 * k) * em, line, { size: 0.84 * em }));
    drawLine(group, side, zero, side + n * step, zero, { class: "zero" });
    const wide = Math.min(0.62 * step, 1.8 * em), half = 0.36 * em;
    row.values.forEach((value, i) => {
      const x = side + (i + 0.5) * step, control = row.control?.[i] ?? null;
      if (value === null) {
        drawText(group, x, zero - 3, "–", { anchor: "middle" });
        return;
      }
      draw("rect", { x: x - wide / 2, y: value > 0 ? zero - value * unit : zero, width: wide,
        height: Math.abs(value) * unit, class: value > 0 ? "up" : "down" }, group);
      if (control !== null)
        draw("path", { d: `M${x - half} ${zero - control * unit}l${half} ${-half}l${half} ${half}l${-half} ${half}Z`,
          class: "control" }, group);
    });
  }
}

export default mounted(Inputs);
