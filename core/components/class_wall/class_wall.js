// The question of a view or of a class's step, asked of phones: __init__.py describes the messages and events.
import { button, fill, make, setText } from "../lib/dom.js";
import { isShortcut, takesKeys } from "../lib/keys.js";
import { keepFree, mounted, View } from "../lib/view.js";
import { inline } from "../prediction/inline.js";
import { Beside, takeLine } from "./beside.js";
import { linkTo } from "./link.js";
import { keepPicture, keepReason } from "./pictures.js";
import { rightShares, summaryOf, Wall } from "./wall.js";
import { WordList } from "./words.js";

const DRAWN = [1500, 6000];                        // ms after which the picture below is drawn to its end
const LEAST_HEIGHT = 260, MOST_HEIGHT = 720;      // pixels of the place that a picture will take
const ONWARD = ["ArrowRight", "PageDown"];        // a presenter's keys to go on

/** @typedef {{ mode: "ask" | "told" | "step" | "offer", code: string, key: string,
 *   address: { events: string, act: string }, asked: import("./wall.js").Asked, text: Record<string, string>,
 *   scale: number, inline?: boolean, model?: { answer: any, said: string, bars: any[] } | null, statements?: string[],
 *   seen?: number, reason?: string, lesson?: string, folded?: boolean }} Message */

/** @extends {View<{ first: string }>} */
class ClassWall extends View {
  constructor(root) {
    super(root);
    this.pressed = (event) => this.goOn(event);
    document.addEventListener("keydown", this.pressed, true);      // before a presenter's keys hear it
  }

  /** @param {Message} header */
  receive(header) {
    const written = JSON.stringify(header);
    if (written === this.written) return;
    this.quieten();
    this.written = written;
    this.header = header;
    this.text = header.text;
    this.root.replaceChildren();
    this.root.dataset.mode = header.mode;
    this.root.classList.toggle("inline", Boolean(header.inline));
    this.link = linkTo(header.code, header.key, header.address);
    ({ ask: () => this.ask(), told: () => this.tell(), step: () => this.askStep(),
      offer: () => this.offer() })[header.mode]();
  }

  quieten() {
    this.wall?.close();
    this.quiet?.();
    this.beside?.close();
    if (this.strip) takeLine(this.strip, false);
    this.keeping?.forEach(clearTimeout);
    this.wall = this.quiet = this.beside = undefined;
  }

  close() {
    this.quieten();
    document.removeEventListener("keydown", this.pressed, true);
  }

  /** Go on, by a remote or the second device: a question that stands alone is asked, then revealed. The question of a
      step is closed; its bar, which hears the key as well, reveals it. */
  goOn(event) {
    const { mode, inline: isInline } = this.header, isMeant = !event.isTrusted || this.root.matches(".present");
    if (!ONWARD.includes(event.key) || isInline || !isMeant) return;
    if (isShortcut(event) || takesKeys(event, this.root)) return;
    if (mode === "step" && this.wall.isAsked) this.link.act("close");
    if (mode !== "ask") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.wall.goOn();
  }

  /** Ask the question of a step: it stands above, and the phones get it as soon as it does; its bar reveals it. */
  askStep() {
    this.wall = new Wall(this.root, { asked: this.header.asked, link: this.link, text: this.text, isStep: true });
  }

  ask() {
    if (!this.header.inline) keepFree(this.root, LEAST_HEIGHT, MOST_HEIGHT);
    this.wall = new Wall(this.root, { asked: this.header.asked, link: this.link, text: this.text,
      reveal: (guess) => this.trigger("reveal", { guess }),
      look: this.header.inline ? undefined : () => this.trigger("look", true) });
  }

  /** Offer the question: the picture was there before the class, and stays as it is until its question is asked. */
  offer() {
    const { asked } = this.header, strip = this.strip = make("section", "strip offer", this.root);
    const bar = make("div", "topline", strip);
    inline(make("span", "summary", bar), asked.ask).title = asked.ask;
    button(bar, this.text.ask_phones, "", async () => {
      const { status } = await this.link.act("ask", { asked });
      if (status === 200) this.trigger("asked", true);
      else make("span", "failed", bar, status === 400 ? this.text.refused : this.text.no_server).role = "alert";
    }, "commit");
    this.offerClose(bar, strip);
    takeLine(strip, true);
  }

  /** Show the class's answers beside the picture, and send the model's answer to the phones. */
  tell() {
    const { asked, model, lesson, reason } = this.header;
    keepReason(asked.about, reason);
    const strip = make("section", "strip", this.root), bar = make("div", "topline", strip);
    const panel = make("div", "panel", strip), summary = make("b", "summary", bar);
    const fold = button(bar, "", "", () => this.beside.fold(), "fold");
    this.strip = strip;
    this.panel = panel;
    this.summary = summary;
    this.told = false;
    this.said = "";
    this.beside = new Beside(strip, fold, this.text, { isBeside: !this.header.inline, isFolded: this.header.folded });
    this.wall = new Wall(panel, { asked, link: this.link, text: this.text, model, inStrip: true });
    if (this.header.statements.length) this.offerSecond(panel);
    this.quiet = this.link.listen((shown) => this.hear(shown));
    if (!this.header.inline)
      this.keeping = DRAWN.map((ms) =>
        setTimeout(() => strip.isConnected && keepPicture(asked.about, lesson, strip), ms));
    this.offerClose(bar, strip);
  }

  hear(shown) {
    const { asked, model } = this.header, isOurs = shown?.asked?.about === asked.about;
    this.beside.show(isOurs || Boolean(this.said));
    if (isOurs && shown.phase === "revealed") {
      this.sum(shown);
      if (asked.guess.kind === "word") this.offerWords(shown.tally.other);
    }
    if (!isOurs || this.told || shown.phase === "revealed") return;
    this.told = true;
    this.link.act("reveal", { model });
  }

  /** Offer the hidden words: they can still be looked at, and shown, one by one. */
  offerWords(others) {
    if (!this.list && others) this.list = new WordList(this.panel, this.link, this.text, true);
  }

  offerClose(bar, strip) {
    const close = button(bar, "×", this.text.close_strip, () => {
      this.quieten();
      strip.remove();
    }, "close");
    close.ariaLabel = this.text.close_strip;
  }

  /** Sum up the answers of the class in one line; after the second vote, those to both. */
  sum(shown) {
    const { text } = this, share = shown.model?.seen ? text.seen_share : text.right_share;
    const shares = fill(share, { p: rightShares(shown) });
    if (shown.asked.about === this.header.asked.about)
      Object.assign(this, { first: rightShares(shown) ? shares : "", said: summaryOf(shown, text) });
    else this.said = [this.first, shares].filter(Boolean).join(" → ");
    setText(this.summary, this.said);
    this.summary.title = this.said;
  }

  /** Offer the statements on what happened as a second vote, and then the reason. */
  offerSecond(panel) {
    const { statements, seen, reason, asked } = this.header;
    const row = make("div", "row", panel);
    button(row, this.text.happened, "", () => {
      row.remove();
      this.wall.close();
      this.beside.stay();
      const second = { ask: this.text.happened_ask, prompt: "", guess: { kind: "options", texts: statements },
        about: `${asked.about}/seen`.slice(0, 200) };
      this.wall = new Wall(panel, { asked: second, link: this.link, text: this.text,
        model: { answer: seen, seen: true }, inStrip: true });
      const quiet = this.quiet, still = this.link.listen((shown) => {
        if (shown?.asked?.about !== second.about || shown.phase !== "revealed") return;
        this.sum(shown);
        this.giveReason(panel, reason);
      });
      this.quiet = () => { quiet(); still(); };
      this.link.act("ask", { asked: second });
    }, "commit");
  }

  /** Show the reason, folded: the class may find it first. */
  giveReason(panel, reason) {
    if (this.reason?.isConnected) return;
    this.reason = make("details", "", panel);
    make("summary", "", this.reason, this.text.reason);
    inline(make("p", "reason", this.reason), reason);
  }
}

export default mounted(ClassWall);
