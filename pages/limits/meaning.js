import { button, fill, make } from "../../core/components/lib/dom.js";
import { mounted, View } from "../../core/components/lib/view.js";

/** height: px.
 * @typedef {{ text: Record<string, string>, scale: number, items: { ask: string, said: string, should: string,
 *   right: boolean }[], height: number, settings: { item: number } }} Message */

/** @extends {View<Message>} */
class Items extends View {
  constructor(root) {
    super(root);
    this.list = make("div", "list", root);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.list.style.maxHeight = `${header.height}px`;
    const top = this.list.scrollTop;
    this.list.replaceChildren();
    this.items.forEach((item, i) => {
      const entry = button(this.list, "",
        `${item.ask}: ${item.said}. ${item.right ? this.text.right : this.text.wrong}`, () => this.send({ item: i }),
        `entry${item.right ? "" : " wrong"}${i === header.settings.item ? " picked" : ""}`);
      entry.ariaPressed = String(i === header.settings.item);
      make("span", "mark", entry, item.right ? "✓" : "✗");
      make("span", "ask", entry, item.ask);
      make("span", "said", entry, item.said);
      if (!item.right) make("span", "should", entry, fill(this.text.should, { answer: item.should }));
    });
    this.list.scrollTop = top;
  }
}

export default mounted(Items);
