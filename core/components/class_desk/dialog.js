// The dialog of a class: the way in, the teacher's own question, the numbers, the end.
import { button, fill, make, setText } from "../lib/dom.js";
import { Wall } from "../class_wall/wall.js";
import { Game, HeadGame } from "./games.js";
import { csvOf, printed } from "./report.js";

const MOST_OPTIONS = 6;

export class DeskDialog {
  constructor(desk) {
    this.desk = desk;
    this.node = make("dialog", "desk", desk.root);
    this.node.onclose = () => this.wall?.close();
    // the page's own keys, such as a presenter's, would take Escape, with which a dialog closes, and the letters
    this.node.onkeydown = (event) => event.stopPropagation();
    this.head = make("header", "head", this.node);
    this.title = make("h2", "", this.head);
    button(this.head, "×", desk.text.close_desk, () => this.node.close(), "close").ariaLabel = desk.text.close_desk;
    this.body = make("div", "body", this.node);
  }

  open() {
    this.draw();
    this.node.showModal();
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
    if (!this.there || !shown) return;
    setText(this.there, fill(this.desk.text.there, { n: shown.there ?? 0 }));
  }

  draw() {
    const { data, text, shown } = this.desk;
    this.drawn = data.code;
    this.wall?.close();
    this.wall = this.game = undefined;
    setText(this.title, text.desk_title);
    this.body.replaceChildren();
    if (!data.code) { make("p", "said", this.body, text.opening); return; }
    this.wayIn(make("section", "way", this.body));
    this.ways(make("section", "ways", this.body));
    this.games(make("section", "games", this.body));
    this.ownQuestion(make("section", "own", this.body));
    this.foot(make("footer", "foot", this.body));
    this.hear(shown);
  }

  /** The code, the address and its QR, of those addresses at which phones may reach this machine. */
  wayIn(place) {
    const { data, text } = this.desk, [first] = data.addresses;
    const qr = make("img", "qr", place), side = make("div", "side", place);
    make("p", "step", side, text.step_open);
    const address = make("p", "address", side);
    make("p", "step", side, text.step_code);
    make("p", "code", side, data.code);
    this.there = make("p", "there", side);
    const show = ({ short, qr: picture }) => {
      setText(address, short);
      qr.src = picture;
      qr.alt = fill(text.qr, { address: short });
    };
    show(first);
    if (data.addresses.length < 2) return;
    const label = make("label", "which", side, text.which), list = make("select", "", label);
    data.addresses.forEach(({ short }, i) => { make("option", "", list, short).value = i; });
    list.onchange = () => show(data.addresses[list.value]);
  }

  /** What phones may open, and the link for the teacher's second device. */
  ways(place) {
    const { desk } = this, { text } = desk;
    const follow = ticked(place, text.follow, desk.isFollowed), freeze = ticked(place, text.freeze, desk.isFrozen);
    const set = () => {
      desk.isFrozen = freeze.checked;
      desk.letFollow(follow.checked, freeze.checked);
    };
    follow.onchange = set;
    freeze.onchange = set;
    const link = make("a", "", place, text.second_device);
    link.href = desk.data.lead;
    link.target = "_blank";
  }

  games(place) {
    const { desk } = this, offer = (name, begin) =>
      button(place, desk.text[`${name}_play`], "", () => this.play(begin), "quiet");
    for (const kind of ["story", "guess"]) offer(kind, (game) => new Game(game, desk, kind));
    if (desk.data.heads) offer("heads", (game) => new HeadGame(game, desk));
  }

  /** A game has the dialog for itself. */
  play(begin) {
    this.body.replaceChildren();
    this.there = undefined;
    this.game = begin(make("section", "game", this.body));
    button(make("footer", "foot", this.body), this.desk.text.game_end, "", () => {
      this.game.close?.();
      this.desk.link.act("clear");
      this.draw();
    }, "quiet");
  }

  /** A question of the teacher's own, with two to six options, or with a word as the answer. */
  ownQuestion(place) {
    const { text } = this.desk;
    const form = make("form", "", place), ask = field(form, text.own_ask, "textarea"), options = field(form,
      text.own_options, "textarea");
    options.placeholder = text.own_options_help;
    options.rows = 3;
    ask.rows = 2;
    const row = make("div", "row", form), send = button(row, text.ask_phones, "", null, "commit");
    send.type = "submit";
    const said = make("p", "said", form);
    form.onsubmit = (event) => {
      event.preventDefault();
      const texts = options.value.split("\n").map((line) => line.trim()).filter(Boolean);
      if (!ask.value.trim()) setText(said, text.own_no_ask);
      else if (texts.length === 1 || texts.length > MOST_OPTIONS)
        setText(said, fill(text.own_wrong, { most: MOST_OPTIONS }));
      else this.ask({ ask: ask.value.trim(), prompt: "", about: `own ${Date.now()}`,
        guess: texts.length ? { kind: "options", texts } : { kind: "word", chance: false } }, place);
    };
  }

  ask(asked, place) {
    const { link, text } = this.desk;
    place.replaceChildren();
    this.wall = new Wall(place, { asked, link, text });
    link.act("ask", { asked });
    button(place, text.own_another, "", () => { this.wall.close(); link.act("clear"); this.draw(); }, "quiet");
  }

  /** The rules by which tallies are drawn, for a page of its own. */
  styles() {
    return [...this.desk.root.getRootNode().querySelectorAll("style")].map((style) => style.textContent).join("\n");
  }

  foot(place) {
    const { desk } = this, { text } = desk;
    button(place, text.csv, "", async () => {
      const { questions } = await desk.link.act("report");
      if (questions) save(`class-${desk.data.code}.csv`, csvOf(questions, text));
    }, "quiet");
    button(place, text.print, "", async () => {
      const { questions } = await desk.link.act("report");
      if (questions) printed(questions, desk, this.styles());
    }, "quiet");
    const end = button(place, text.end_class, "", () => {
      if (end.dataset.sure) { desk.end(); this.node.close(); return; }
      end.dataset.sure = "true";
      setText(end, text.end_sure);
    }, "quiet");
  }
}

function ticked(parent, words, on) {
  const label = make("label", "tick", parent), box = make("input", "", label);
  Object.assign(box, { type: "checkbox", checked: Boolean(on) });
  label.append(words);
  return box;
}

function field(form, label, tag) {
  return make(tag, "", make("label", "", form, label));
}

function save(name, written) {
  const link = make("a"), url = URL.createObjectURL(new Blob([written], { type: "text/csv" }));
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
