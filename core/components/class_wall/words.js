// The free words of a class, for the teacher alone: ticked words may be shown.
import { button, make } from "../lib/dom.js";

/** A rude word as others may see it: "s•••". */
export const masked = (word) => `${[...word][0]}${"•".repeat(Math.max(1, [...word].length - 1))}`;

export class WordList {
  /** text: labels; isSeen: others see the screen as well, so rude words are masked. */
  constructor(parent, link, text, isSeen) {
    this.link = link;
    this.text = text;
    this.isSeen = isSeen;
    this.allowed = new Set();
    this.words = [];
    this.box = make("details", "words", parent ?? undefined);
    make("summary", "", this.box, text.words);
    if (isSeen) make("p", "hint", this.box, text.words_seen);
    this.list = make("ul", "", this.box);
    button(make("div", "row", this.box), text.tick_all, "", () => this.tickAll(), "quiet");
    this.box.ontoggle = () => this.update();
    this.box.open = !isSeen;
  }

  /** Ask again for the words, if the list is open. On a screen that nobody else sees, all but rude words are ticked
      until the teacher has decided. */
  async update() {
    if (!this.box.open) return;
    const { words = [], allowed = [], looked } = await this.link.act("words");
    const known = new Set(this.words.map(([word]) => word)), isOwn = !this.isSeen;
    if (!known.size || !isOwn) this.allowed = new Set(allowed);
    if (isOwn && (!looked || known.size))
      for (const [word, , isRude] of words) if (!isRude && !known.has(word)) this.allowed.add(word);
    this.words = words;
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

  /** Tick all but the rude words, which are ticked one by one. */
  tickAll() {
    for (const [word, , isRude] of this.words) if (!isRude) this.allowed.add(word);
    this.allow();
    this.draw();
  }

  allow() {
    return this.link.act("allow", { words: [...this.allowed] });
  }
}
