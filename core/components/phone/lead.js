// The teacher's second device: the plan, what is asked, how many have answered, and the ways on. The wall does what it
// presses, for the model's answer is there.
import { linkTo } from "../class_wall/link.js";
import { WordList } from "../class_wall/words.js";
import { button, fill, make, setText } from "../lib/dom.js";

export function lead(root, code, base, text) {
  const [key, kept] = location.hash.slice(1).split("."), classes = base.replace(/j$/, "class");
  const link = linkTo(code, key, { events: `${base}/${code}/events?wall=${kept}`, act: `${classes}/${code}` });
  new Lead(root, code, link, text);
}

class Lead {
  constructor(root, code, link, text) {
    Object.assign(this, { link, text });
    const line = make("header", "line", root);
    make("b", "code", line, code);
    this.net = make("span", "net", line, text.joining);
    this.net.role = "status";
    this.plan = make("section", "plan", root);
    this.asked = make("section", "card", root);
    this.ask = make("h1", "question", this.asked);
    this.count = make("p", "count", this.asked);
    this.row = make("div", "row", this.asked);
    this.answered = make("div", "answered", this.asked);
    const ways = make("div", "row ways", root);
    button(ways, text.back, "", () => this.signal("back"), "quiet");
    button(ways, text.next, "", () => this.signal("next"), "commit");
    link.listen((shown) => this.receive(shown));
  }

  signal(what) {
    return this.link.act("signal", { what });
  }

  receive(shown) {
    if (!shown) return;
    const { phase, there, answered, asked, notes } = shown, { text } = this;
    if (phase === "over") { setText(this.net, text.over); this.asked.hidden = true; return; }
    setText(this.net, fill(text.there, { n: there }));
    this.plan.replaceChildren();
    for (const name of ["count", "title", "ask", "look", "next"])
      if (notes?.[name]) this.tellNote(name, notes[name]);
    setText(this.ask, asked?.ask ?? text.nothing_asked);
    setText(this.count, asked ? fill(text[`count_${phase}`] ?? text.count_open, { n: answered, all: there }) : "");
    this.offerDeeds(shown);
  }

  /** What can be done with the question; a game is led by the wall, word by word. */
  offerDeeds(shown) {
    const { phase } = shown, isGame = shown.asked?.about.startsWith("game ");
    this.row.replaceChildren();
    this.offerWords(isGame ? {} : shown);
    if (isGame) return;
    if (phase === "open") this.press("close", () => this.link.act("close"));
    if (phase === "closed") this.press("reopen", () => this.link.act("reopen"));
    if (phase === "open" || phase === "closed") this.press("reveal", () => this.signal("reveal"));
  }

  /** The free words, to be looked at where nobody else sees them. */
  offerWords({ phase, question, answered, asked }) {
    const number = asked?.guess.kind === "word" && phase !== "waiting" ? question : 0;
    if (number !== this.listed) {
      this.listed = number;
      this.answered.replaceChildren();
      this.words = number ? new WordList(this.answered, this.link, this.text, false) : undefined;
    }
    if (answered !== this.counted) this.words?.update();
    this.counted = answered;
  }

  tellNote(name, said) {
    const line = make("p", name, this.plan);
    if (this.text[`note_${name}`]) make("span", "kicker", line, this.text[`note_${name}`]);
    make(name === "title" ? "b" : "span", "", line, said).dir = "auto";
  }

  press(name, act) {
    button(this.row, this.text[name], "", act, name === "reveal" ? "commit" : "quiet");
  }
}
