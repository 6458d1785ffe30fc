// The free words that a class has answered, for the teacher alone: those that are ticked may be shown.
import { button, make } from "../lib/dom.js";

/** A rude word as others may see it: "s•••". */
export const masked = (word) => `${[...word][0]}${"•".repeat(Math.max(1, [...word].length - 1))}`;

export class WordList {
  /** text: labels; isSeen: others see the screen too, so rude words are masked. */
  constructor(parent, link, text, isSeen) {
    Object.assign(this, { link, text, isSeen, allowed: new Set(), words: [] });
    this.box = make("details", "words", parent);
    make("summary", "", this.box, text.words);
    if (isSeen) make("p", "hint", this.box, text.words_seen);
    this.list = make("ul", "", this.box);
    button(make("div", "row", this.box), text.tick_all, "", () => this.tickAll(), "quiet");
    this.box.ontoggle = () => this.update();
  }

  /** Ask anew what was answered, where the list is open. */
  async update() {
    if (!this.box.open) return;
    const { words = [], allowed = [] } = await this.link.act("words");
    Object.assign(this, { words, allowed: new Set(allowed) });
    this.draw();
  }

  draw() {
    this.list.replaceChildren();
    for (const [word, n, isRude] of this.words) {
      const label = make("label", isRude ? "rude" : "", make("li", "", this.list)), tick = make("input", "", label);
      Object.assign(tick, { type: "checkbox", checked: this.allowed.has(word) });
      make("span", "", label, `${isRude && this.isSeen ? masked(word) : word} · ${n}`).dir = "auto";
      tick.onchange = () => {
        this.allowed[tick.checked ? "add" : "delete"](word);
        this.allow();
      };
    }
    if (!this.words.length) make("li", "", this.list, this.text.no_words);
  }

  /** All but the rude ones, which are ticked one by one. */
  tickAll() {
    for (const [word, , isRude] of this.words) if (!isRude) this.allowed.add(word);
    this.allow();
    this.draw();
  }

  allow() {
    this.link.act("allow", { words: [...this.allowed] });
  }
}
