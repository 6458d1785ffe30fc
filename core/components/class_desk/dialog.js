// The dialog of a class, in three tabs: how to join, questions and games, and the results. A question or a game has the
// dialog for itself.
import { button, fill, make, setText } from "../lib/dom.js";
import { Wall } from "../class_wall/wall.js";
import { Game, HeadGame } from "./games.js";
import { drawJoin } from "./join.js";
import { ownAsked, wrongOf } from "./own.js";
import { csvOf, printed } from "./report.js";

const TABS = ["join", "ask", "after"];

export class DeskDialog {
  constructor(desk) {
    this.desk = desk;
    this.tab = "join";
    this.node = make("dialog", "desk", desk.root);
    this.node.onclose = () => this.clear();
    this.node.onkeydown = (event) => event.stopPropagation();      // the page's own keys would take the letters
    // wherever the focus is, since a presenter's keys would take the key
    this.pressed = (event) => this.closeBy(event);
    document.addEventListener("keydown", this.pressed, true);
    this.head = make("header", "head", this.node);
    this.title = make("h2", "", this.head, desk.text.desk_title);
    this.tabs = make("div", "tabs", this.head);
    this.tabs.role = "tablist";
    for (const name of TABS)
      button(this.tabs, desk.text[`tab_${name}`], "", () => { this.tab = name; this.draw(); }, "tab").role = "tab";
    button(this.head, "×", desk.text.close_desk, () => this.node.close(), "close").ariaLabel = desk.text.close_desk;
    this.body = make("div", "body", this.node);
  }

  closeBy(event) {
    if (event.key !== "Escape" || !this.node.open) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.node.close();
  }

  close() {
    document.removeEventListener("keydown", this.pressed, true);
    this.node.close();
  }

  open() {
    if (!this.node.open) this.node.showModal();
    this.draw();
  }

  receive() {
    if (this.node.open && this.drawn !== this.desk.data.code) this.draw();
    this.game?.learn(this.desk.data);
  }

  say(words) {
    this.body.replaceChildren();
    make("p", "said", this.body, words).role = "alert";
  }

  hear(shown) {
    this.game?.hear(shown);
    this.join?.hear(shown);
  }

  /** End the question or game that has the dialog for itself. */
  clear() {
    this.wall?.close();
    this.game?.close();
    this.wall = this.game = this.join = undefined;
    this.body.replaceChildren();
  }

  draw() {
    const { data, text } = this.desk;
    this.drawn = data.code;
    this.clear();
    this.tabs.hidden = !data.code;
    if (!data.code) { make("p", "said", this.body, text.opening); return; }
    [...this.tabs.children].forEach((tab, i) => { tab.ariaSelected = String(TABS[i] === this.tab); });
    const place = make("section", this.tab, this.body);
    ({ join: () => { this.join = drawJoin(place, this.desk); }, ask: () => this.offerQuestions(place),
      after: () => this.offerResults(place) })[this.tab]();
    this.hear(this.desk.shown);
  }

  offerQuestions(place) {
    const { desk } = this, { text } = desk;
    this.ownQuestion(make("section", "own", place));
    const games = make("section", "games", place);
    make("h3", "", games, text.games);
    for (const kind of ["story", "guess", ...(desk.data.heads ? ["heads"] : [])])
      button(games, text[`${kind}_play`], "", () => this.play(kind), "quiet");
  }

  /** Draw the form for a teacher's own question, with two to six options, or with a word as the answer. */
  ownQuestion(place) {
    const { text } = this.desk;
    const form = make("form", "", place), ask = field(form, text.own_ask), options = field(form, text.own_options);
    options.placeholder = text.own_options_help;
    options.rows = 4;
    ask.rows = 2;
    const send = button(make("div", "row", form), text.ask_phones, "", null, "commit"), said = make("p", "said", form);
    send.type = "submit";
    form.onsubmit = (event) => {
      event.preventDefault();
      const asked = ownAsked(ask.value, options.value), wrong = wrongOf(asked, text);
      if (wrong) { setText(said, wrong); return; }
      this.desk.link.act("ask", { asked });
      this.showOwn(asked);
    };
  }

  /** Show a teacher's own question on the whole wall, whichever device has asked it. */
  showOwn(asked) {
    const { link, text } = this.desk;
    if (!this.node.open) this.node.showModal();
    if (this.wall?.asked.about === asked.about) return;
    this.clear();
    this.wall = new Wall(make("section", "alone", this.body), { asked, link, text });
    this.offerWay(text.own_another);
  }

  /** Start a game, which has the dialog for itself. kind: "story", "guess" or "heads"; given: a text to guess. */
  play(kind, given = "") {
    if (!this.node.open) this.node.showModal();
    this.clear();
    const place = make("section", "game", this.body);
    this.game = kind === "heads" ? new HeadGame(place, this.desk) : new Game(place, this.desk, kind, given);
    this.offerWay(this.desk.text.game_end);
  }

  /** Draw the button back to the tabs, where nothing is asked. */
  offerWay(label) {
    button(make("footer", "foot", this.body), label, "", () => {
      this.desk.link.act("clear");
      this.tab = "ask";
      this.draw();
    }, "quiet");
  }

  /** Do the next thing in the question or game that has the dialog for itself; false if there is none, or if it hears
      `what` by itself. */
  goOn(what) {
    if (!this.node.open || !(this.wall || this.game) || what === "reveal" && !this.game?.takesReveal) return false;
    this.body.querySelector(".commit:not(:disabled)")?.click();
    return true;
  }

  offerResults(place) {
    const { desk } = this, { text } = desk;
    const asked = make("ol", "asked", place), row = make("div", "row", place);
    const report = async (then) => {
      const { questions } = await desk.link.act("report");
      if (questions) then(questions);
    };
    report((questions) => {
      for (const { asked: { ask }, tally: { n } } of questions)
        make("li", "", asked, `${ask} · ${fill(text.answered, { n })}`);
      if (!questions.length) make("p", "hint", place, text.nothing_asked);
    });
    const file = `class-${desk.data.code}.csv`;
    button(row, text.csv, "", () => report((questions) => save(file, csvOf(questions, text))), "quiet");
    button(row, text.print, "", () => report((questions) => printed(questions, desk, this.styles())), "quiet");
    const end = button(row, text.end_class, "", () => {
      if (end.dataset.sure) { desk.end(); this.node.close(); return; }
      end.dataset.sure = "true";
      setText(end, text.end_sure);
    }, "quiet");
  }

  /** The CSS rules that draw tallies, for a separate page. */
  styles() {
    return [...this.desk.root.getRootNode().querySelectorAll("style")].map((style) => style.textContent).join("\n");
  }
}

const field = (form, label) => make("textarea", "", make("label", "", form, label));

function save(name, written) {
  const link = make("a"), url = URL.createObjectURL(new Blob([written], { type: "text/csv" }));
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
