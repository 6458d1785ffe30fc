// The question of a view, asked of a class: __init__.py says what Python sends and hears.
import { button, fill, make, setText } from "../lib/dom.js";
import { keepFree, mounted } from "../lib/view.js";
import { inline } from "../prediction/inline.js";
import { linkTo } from "./link.js";
import { keepPicture } from "./pictures.js";
import { rightShares, summaryOf, Wall } from "./wall.js";

const DRAWN = [1500, 6000];                        // ms after which the picture below is drawn to its end
const LEAST_HEIGHT = 260, MOST_HEIGHT = 720;      // pixels of the place that a picture will take

class ClassWall {
  constructor(root) {
    this.root = root;
  }

  receive(header) {
    const written = JSON.stringify(header);
    if (written === this.written) return;
    Object.assign(this, { written, header, text: header.text });
    this.close();
    this.root.replaceChildren();
    this.root.dataset.mode = header.mode;
    this.root.classList.toggle("inline", Boolean(header.inline));
    this.link = linkTo(header.code, header.key, header.address);
    ({ ask: () => this.ask(), told: () => this.tell(), words: () => this.offerWords(),
      offer: () => this.offer() })[header.mode]();
  }

  close() {
    this.wall?.close();
    this.quiet?.();
    this.keeping?.forEach(clearTimeout);
    this.wall = this.quiet = undefined;
  }

  /** A question that stands above in large type, and is answered in a word: all happens here. */
  offerWords() {
    this.wall = new Wall(this.root, { asked: this.header.asked, link: this.link, text: this.text });
  }

  ask() {
    if (!this.header.inline) keepFree(this.root, LEAST_HEIGHT, MOST_HEIGHT);
    this.wall = new Wall(this.root, { asked: this.header.asked, link: this.link, text: this.text,
      reveal: (guess) => this.trigger("reveal", { guess }),
      look: this.header.inline ? undefined : () => this.trigger("look", true) });
  }

  /** The picture stood before there was a class, and stays as it is until its question is asked. */
  offer() {
    const { asked } = this.header, strip = make("section", "strip offer", this.root);
    const bar = make("div", "topline", strip);
    inline(make("span", "summary", bar), asked.ask).title = asked.ask;
    button(bar, this.text.ask_phones, "", async () => {
      const { status } = await this.link.act("ask", { asked });
      if (status === 200) this.trigger("asked", true);
      else make("span", "failed", bar, status === 400 ? this.text.refused : this.text.no_server).role = "alert";
    }, "commit");
    this.offerClose(bar, strip);
  }

  /** The picture stands: the class's answers above it, what the model says is told to the phones. */
  tell() {
    const { asked, model } = this.header;
    const strip = make("section", "strip", this.root), bar = make("div", "topline", strip);
    const panel = make("div", "panel", strip), summary = make("b", "summary", bar);
    const fold = button(bar, "", "", () => this.fold(), "fold");
    Object.assign(this, { strip, panel, summary, foldButton: fold, told: false,
      said: "" });
    this.wall = new Wall(panel, { asked, link: this.link, text: this.text, model, inStrip: true });
    this.fold(false);
    if (this.header.statements.length) this.offerSecond(panel);
    this.quiet = this.link.listen((shown) => {
      const isOurs = shown?.asked?.about === asked.about;
      strip.hidden = !isOurs && !this.said;
      if (isOurs && shown.phase === "revealed") this.sum(shown, this.text);
      if (!isOurs || this.told || shown.phase === "revealed") return;
      this.told = true;
      this.link.act("reveal", { model });
    });
    if (!this.header.inline)
      this.keeping = DRAWN.map((ms) => setTimeout(() => strip.isConnected && keepPicture(asked.about, strip), ms));
    this.offerClose(bar, strip);
  }

  offerClose(bar, strip) {
    const close = button(bar, "×", this.text.close_strip, () => { this.close(); strip.remove(); }, "close");
    close.ariaLabel = this.text.close_strip;
  }

  /** What the class has said, in one line; after the second vote both, to be compared. */
  sum(shown, text) {
    const shares = fill(text.right_share, { p: rightShares(shown) });
    if (shown.asked.about === this.header.asked.about)
      Object.assign(this, { first: rightShares(shown) ? shares : "", said: summaryOf(shown, text) });
    else this.said = [this.first, shares].filter(Boolean).join(" → ");
    setText(this.summary, this.said);
    this.summary.title = this.said;
  }

  /** Folds the class's answers away, so that the picture has all of its room, or opens them. */
  fold(folded = !this.strip.classList.contains("folded")) {
    this.strip.classList.toggle("folded", folded);
    this.foldButton.textContent = folded ? this.text.unfold : this.text.fold;
    this.foldButton.ariaExpanded = String(!folded);
  }

  /** What happened? The statements as a vote of their own; then the reason. */
  offerSecond(panel) {
    const { statements, seen, reason, asked } = this.header;
    const row = make("div", "row", panel);
    button(row, this.text.happened, "", () => {
      row.remove();
      this.wall.close();
      const second = { ask: this.text.happened_ask, prompt: "", guess: { kind: "options", texts: statements },
        about: `${asked.about}/seen`.slice(0, 200) };
      const text = { ...this.text, right_share: this.text.seen_share };
      this.wall = new Wall(panel, { asked: second, link: this.link, text, model: { answer: seen, seen: true },
        inStrip: true });
      const quiet = this.quiet, still = this.link.listen((shown) => {
        if (shown?.asked?.about !== second.about || shown.phase !== "revealed") return;
        this.sum(shown, text);
        this.giveReason(panel, reason);
      });
      this.quiet = () => { quiet(); still(); };
      this.link.act("ask", { asked: second });
    }, "commit");
  }

  /** The reason, folded: the class may find it first. */
  giveReason(panel, reason) {
    if (this.reason?.isConnected) return;
    this.reason = make("details", "", panel);
    make("summary", "", this.reason, this.text.reason);
    inline(make("p", "reason", this.reason), reason);
  }
}

export default mounted(ClassWall);
