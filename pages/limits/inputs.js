import {
  draw, emOf, make, monoFont, mount, onFont, onWidth, shortened, sized, textWidth,
} from "../../core/components/lib/token_view.js";

// header: tokens [text], rows [{name, note, values [number or null], control [number] or null, shown [text],
// control_shown [text]}], legend [text]; settings {token}. One column for each token, one band for each method; a bar
// goes up where the token speaks for the target and down where it speaks against it, each band on its own scale. An
// open diamond is the control's value, on the same scale. Narrow columns make the picture scroll within itself.
class Inputs {
  constructor(root) {
    this.root = root;
    this.place = make("div", "scroll", root);
    this.legend = make("div", "legend", root);
    onWidth(this.place, () => this.build());
    onFont(root, () => this.build());
  }

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
    const em = emOf(this.root), font = monoFont(this.root, 0.92 * em), narrow = width < 40 * em;
    const side = narrow ? 0 : 14.5 * em, n = this.tokens.length;
    const texts = this.tokens.map((token) => shortened(token, font, 7 * em));
    const high = texts.map((text) => 0.72 * textWidth(text, font));
    // the last names lean out to the right
    const beyond = Math.max(...high.map((own, i) => own - (n - 1 - i) * 1.25 * em));
    const step = Math.max(1.25 * em, Math.min(4.5 * em, (width - side - beyond) / n));
    const head = Math.max(...high) + 1.6 * em;
    const over = narrow ? 2.7 * em : 0, band = this.band * em + over, tall = head + this.rows.length * band + 0.3 * em;
    const wide = side + n * step + beyond;
    const svg = draw("svg", { class: "inputs-picture", role: "group", "font-size": 0.92 * em }, this.place);
    sized(svg, Math.max(width - 1, wide), tall, this.text.picture);
    this.tokens.forEach((token, i) => this.column(svg, i, texts[i], { x: side + i * step, step, head, tall, em }));
    this.rows.forEach((row, k) => this.row(svg, row, { y: head + k * band, band, over, side, step, em, n }));
  }

  column(svg, i, text, { x, step, head, tall, em }) {
    const group = draw("g", { class: i === this.token ? "column picked" : "column",
      tabindex: i === this.token ? 0 : -1, role: "button", "data-token": i,
      "aria-label": [this.tokens[i], ...this.rows.map((row) => `${row.name}: ${row.shown[i]}`)].join(", ") }, svg);
    draw("rect", { class: "ground", x: x + 1, y: head - 0.2 * em, width: step - 2, height: tall - head, rx: 3 }, group);
    const at = [x + step / 2 - 0.1 * em, head - 0.5 * em];
    draw("text", { x: at[0], y: at[1], transform: `rotate(-45 ${at.join(" ")})` }, group, text);
    draw("title", {}, group, [this.tokens[i], ...this.rows.map(
      (row) => `${row.name}: ${row.shown[i]}${row.control ? ` (${this.text.control}: ${row.control_shown[i]})` : ""}`)]
        .join("\n"));
    group.onclick = () => this.pick(i);
    group.onkeydown = (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: this.tokens.length - 1 }[event.key];
      if (to === undefined || to < 0 || to >= this.tokens.length) return;
      event.preventDefault();
      event.stopPropagation();
      this.pick(to);
    };
  }

  row(svg, row, { y, band, over, side, step, em, n }) {
    const all = [...row.values, ...(row.control || [])].filter((value) => value !== null), top = Math.max(0, ...all);
    const bottom = Math.min(0, ...all), room = band - over - 0.9 * em;
    const unit = top - bottom ? room / (top - bottom) : 0, zero = y + over + 0.3 * em + top * unit;
    const group = draw("g", { "pointer-events": "none" }, svg);
    draw("text", { x: 0, y: y + 1.2 * em, class: "name" }, group, row.name);
    (over ? [row.note.join(", ")] : this.scale > 1 ? row.note.slice(-1) : row.note).forEach((line, k) =>
      draw("text", { x: 0, y: y + (2.3 + 1.1 * k) * em, class: "sans", "font-size": 0.84 * em }, group, line));
    draw("line", { x1: side, x2: side + n * step, y1: zero, y2: zero, class: "zero" }, group);
    row.values.forEach((value, i) => {
      const x = side + i * step, wide = Math.min(0.62 * step, 1.8 * em), middle = x + step / 2;
      if (value === null) {
        draw("text", { x: middle, y: zero - 3, "text-anchor": "middle", class: "sans" }, group, "–");
        return;
      }
      draw("rect", { x: middle - wide / 2, y: value > 0 ? zero - value * unit : zero, width: wide,
        height: Math.abs(value) * unit, class: value > 0 ? "up" : "down" }, group);
      if (!row.control || row.control[i] === null) return;
      const at = zero - row.control[i] * unit, half = 0.36 * em;
      draw("path", { d: `M${middle} ${at - half}L${middle + half} ${at}L${middle} ${at + half}L${middle - half} ${at}Z`,
        class: "control" }, group);
    });
  }
}

export default function (component) {
  mount(component, Inputs);
}
