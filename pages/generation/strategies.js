import { probability } from "../../core/components/lib/numbers.js";
import {
  draw, drawWritten, emOf, fill, make, monoFont, mount, onFont, onWidth, sized, textWidth,
} from "../../core/components/lib/token_view.js";

// header: rows [{name, note, tokens, p, again [whether it belongs to an n-gram that came before], numbers [text], means
// [text] or null}]; columns [text]; many: what the means are over.
class Strategies {
  constructor(root) {
    this.root = root;
    this.place = make("div", "strategies-picture", root);
    this.svg = draw("svg", { class: "strategies", role: "img" }, this.place);
    this.hint = make("div", "muted", root);
    onWidth(this.place, () => this.paint());
    onFont(root, () => this.paint());
  }

  receive(header) {
    Object.assign(this, header);
    this.hint.textContent = [this.text.note, this.text.hint].filter(Boolean).join(" ");
    this.paint();
  }

  paint() {
    const width = this.place.clientWidth, em = emOf(this.root), narrow = width < 52 * em;
    if (!width || !this.rows) return;
    this.svg.replaceChildren();
    let y = narrow ? 0 : this.heads(width, em);
    for (const row of this.rows) y = narrow ? this.stacked(row, y, width, em) : this.beside(row, y, width, em);
    sized(this.svg, width, y, this.rows.map((row) => `${row.name}: ${row.tokens.join("")}`).join("\n"));
  }

  columnsFrom(width, em) {
    return this.columns.map((_, k) => width - (this.columns.length - 1 - k) * 6.1 * em - 0.3 * em);
  }

  heads(width, em) {
    this.columnsFrom(width, em).forEach((x, k) => {
      this.columns[k].split("|").forEach((line, i) => draw("text",
        { x, y: (1 + 1.2 * i) * em, "text-anchor": "end", "font-size": 0.92 * em, class: "sans" }, this.svg, line));
    });
    return 2.5 * em;
  }

  words(row, x, y, width, em) {
    const items = row.tokens.map((text, i) => {
      const said = row.again[i] ? this.text.hover_again : this.text.hover, p = row.p[i];
      return { text, p, marks: row.again[i] ? "again" : "", title: fill(said, { token: text, p: probability(p) }) };
    });
    if (this.scale > 1) items.splice(...this.beyond(items, width, em));
    return drawWritten(this.svg, items, x, y, width, 0.93 * em, false).height;
  }

  /** In present mode, whose type is larger, two lines of each text are shown: from where and how many tokens are left
      out, and what stands for them. */
  beyond(items, width, em) {
    const font = monoFont(this.svg, 0.93 * em), room = 2 * width - 8 * em;
    let used = 0;
    const from = items.findIndex((item) => (used += textWidth(item.text, font) + 0.4 * em) > room);
    return from < 0 ? [items.length, 0] : [from, items.length - from, { text: "…", marks: "plain" }];
  }

  beside(row, y, width, em) {
    const left = 9.6 * em, right = this.columns.length * 6.1 * em;
    draw("line", { x1: 0, x2: width, y1: y, y2: y, stroke: "var(--tx-grid)" }, this.svg);
    draw("text", { x: 0, y: y + 1.6 * em, "font-size": em, class: "sans strong" }, this.svg, row.name);
    draw("text", { x: 0, y: y + 2.9 * em, "font-size": 0.88 * em, class: "sans" }, this.svg, row.note);
    this.columnsFrom(width, em).forEach((x, k) => {
      draw("text", { x, y: y + 1.6 * em, "text-anchor": "end", "font-size": em, class: "sans strong" }, this.svg,
        row.numbers[k]);
      if (row.means)
        draw("text", { x, y: y + 2.9 * em, "text-anchor": "end", "font-size": 0.88 * em, class: "sans" }, this.svg,
          `${this.many} ${row.means[k]}`);
    });
    return Math.max(this.words(row, left, y + 0.25 * em, width - left - right, em), y + 3.25 * em);
  }

  stacked(row, y, width, em) {
    draw("text", { x: 0, y: y + 1.2 * em, "font-size": em, class: "sans strong" }, this.svg, row.name);
    let end = this.words(row, 1, y + 1.7 * em, width - 2, em);
    this.columns.forEach((column, k) => {
      end += 1.35 * em;
      draw("text", { x: 0, y: end - 0.25 * em, "font-size": 0.92 * em, class: "sans" }, this.svg,
        `${column.replace("|", " ")}: ${row.numbers[k]}${row.means ? ` (${this.many} ${row.means[k]})` : ""}`);
    });
    return end + em;
  }
}

export default function (component) {
  mount(component, Strategies);
}
