import { make, setText } from "../../core/components/lib/dom.js";
import { mounted, View } from "../../core/components/lib/view.js";

/** @typedef {{ parts: [string, string][], note?: string, kind?: string }} Line */
/** widths: CSS, "" for equal ones. kind of a part: "" (as it is), "slot" (from the data), "answer" (to be learned),
 * "number", "name" (of what follows), "chip start", "chip text", "chip delimiter", "chip extract"; of a line: "",
 * "picked", "kept", "dropped", "muted", "beside" (no room for it on a projector); of a card: "", "picked", "running".
 * @typedef {{ cards: { title: string, note?: string, kind?: string, lines: Line[] }[], scale: number,
 *   widths: string }} Message */

/** @extends {View} */
class Cards extends View {
  constructor(root) {
    super(root);
    this.row = make("div", "row", root);
  }

  /** @param {Message} header */
  receive(header) {
    this.row.replaceChildren();
    this.row.style.setProperty("--cards", header.widths || `repeat(${header.cards.length}, minmax(0, 1fr))`);
    for (const card of header.cards) {
      const box = make("section", `card ${card.kind ?? ""}`, this.row);
      setText(make("strong", "", box), card.title);
      for (const line of card.lines) {
        const row = make("p", `line ${line.kind ?? ""}`, box);
        for (const [text, kind] of line.parts) make("span", kind, row, text);
        if (line.note) make("span", "note", row, line.note);
      }
      if (card.note) make("p", "muted", box, card.note);
    }
  }
}

export default mounted(Cards);
