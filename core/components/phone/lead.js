// The teacher's second device: the plan, the present question, the number of answers, the words that may be shown, the
// teacher's own questions, games, and buttons to go on. The wall carries them out, since it has the model's answer.
import { ownAsked, wrongOf } from "../class_desk/own.js";
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
    this.link = link;
    this.text = text;
    const line = make("header", "line", root);
    make("b", "code", line, code).translate = false;
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
    this.offerQuestion(root);
    this.offerGames(root);
    link.listen((shown) => this.receive(shown));
  }

  signal(what, given = "") {
    return this.link.act("signal", { what, text: given });
  }

  /** Offer a teacher's own question, which then has the wall for itself. */
  offerQuestion(root) {
    const { text } = this, box = make("details", "more", root), form = make("form", "", box);
    box.prepend(make("summary", "", undefined, text.own_ask));
    const ask = field(form, text.own_ask), options = field(form, text.own_options), said = make("p", "said", form);
    options.placeholder = text.own_options_help;
    button(form, text.ask_phones, "", null, "commit").type = "submit";
    form.onsubmit = (event) => {
      event.preventDefault();
      const asked = ownAsked(ask.value, options.value), wrong = wrongOf(asked, text);
      setText(said, wrong);
      if (wrong) return;
      this.link.act("ask", { asked });
      box.open = false;
    };
  }

  /** Offer the games on the wall; a text to guess is typed here, where the class does not see it. */
  offerGames(root) {
    const { text } = this, box = make("details", "more", root), hidden = field(box, text.guess_text);
    box.prepend(make("summary", "", undefined, text.games));
    hidden.maxLength = 2000;
    const row = make("div", "row", box), play = (name, given) =>
      button(row, text[`${name}_play`], "", () => { this.signal(name, given?.()); box.open = false; }, "quiet");
    play("guess", () => hidden.value.trim());
    play("story");
    play("heads");
    button(row, text.stop, "", () => { this.link.act("clear"); this.signal("stop"); }, "quiet");
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

  /** Offer the actions on the question. */
  offerDeeds(shown) {
    const { phase } = shown;
    this.row.replaceChildren();
    this.offerWords(shown);
    if (phase === "open") this.press("close", () => this.link.act("close"));
    if (phase === "closed") this.press("reopen", () => this.link.act("reopen"));
    if (phase === "open" || phase === "closed") this.press("reveal", () => this.reveal());
  }

  /** Reveal: the teacher has looked at the words, and the wall shows the ticked ones. */
  async reveal() {
    if (this.words) await this.words.allow();
    this.signal("reveal");
  }

  /** Offer the free words, which nobody else sees here. */
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

const field = (parent, label) => make("textarea", "", make("label", "", parent, label));
