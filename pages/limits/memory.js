import { draw, make, sized } from "../../core/components/lib/dom.js";
import { emOf } from "../../core/components/lib/text.js";
import { drawWritten } from "../../core/components/lib/tokens.js";
import { keepFree, mounted, redrawn, View } from "../../core/components/lib/view.js";

// The first token that differs from the passage has a solid frame, those that the model makes up after it a dashed one.
/** rest: how the passage itself goes on.
 * @typedef {{ kind: "passage" | "twin", name: string, sum: string, tokens: Recited[], rest: string }} Row */
/** @typedef {[string, "given" | "recited" | "strayed", number | null, string]} Recited  text, kind, p and tip */
/** @typedef {{ scale: number, key: string, rows: Row[] }} Message */

/** @extends {View<Message>} */
class Recital extends View {
  constructor(root) {
    super(root);
    this.place = make("div", "texts", root);
    this.place.tabIndex = 0;
    this.legend = make("div", "recital-key", root);
    keepFree(this.place, 170, 460);
    redrawn(() => this.build(), this.place);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.legend.textContent = this.key;
    this.place.ariaLabel = this.rows.map((row) => `${row.name}: ${row.sum}`).join(" ");
    this.build();
  }

  build() {
    if (!this.rows || !this.place.clientWidth) return;
    this.place.replaceChildren();
    for (const row of this.rows) {
      const node = make("div", `recital ${row.kind}`, this.place), head = make("div", "", node);
      make("span", "name", head, row.name);
      make("span", "sum", head, row.sum);
      const em = 0.92 * emOf(this.root), width = node.clientWidth - 14;
      const svg = draw("svg", { class: "recital-text", role: "img" }, node);
      const first = row.tokens.findIndex((token) => token[1] === "strayed");
      const items = row.tokens.map(([text, kind, p, title], i) =>
        ({ text, p: p ?? undefined, title, marks: i === first ? "strayed leaves" : kind }));
      const { height } = drawWritten(svg, items, 2, 2, width - 4, em, false);
      sized(svg, width, height + 2, `${row.name}: ${row.tokens.map((token) => token[0]).join("")}`);
      if (row.rest) make("div", "rest", node, row.rest);
    }
  }
}

export default mounted(Recital);
