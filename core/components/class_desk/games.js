// Games of a class: it writes a text together, word by word, as a model does: its answers are the distribution that
// temperature, top-k and top-p cut; or it guesses the next word of a known text, which is Shannon's game.
import { plain } from "../class_tally/tally.js";
import { Wall } from "../class_wall/wall.js";
import { WordList } from "../class_wall/words.js";
import { button, fill, make, setText } from "../lib/dom.js";
import { percent, readable } from "../lib/numbers.js";
import { NEUTRAL, Truncation } from "../sampling_panel/truncation.js";

const SETTINGS = [["temperature", 0.1, 3, 0.1, 1], ["top_k", 1, 20, 1, 20], ["top_p", 0.05, 1, 0.05, 1]];

/** The words of a class as a distribution, cut: [word, count, p after the cut], in falling order of the counts. */
export function cutWords(words, settings) {
  if (!words.length) return { rows: [], draw: () => -1 };
  const cut = new Truncation(Float64Array.from(words, ([, n]) => Math.log(n))).update({ ...NEUTRAL, ...settings });
  const rows = [...cut.tokenIds].map((id, place) => [...words[id], cut.renormalised[place]]);
  return { rows, draw: (xi) => cut.tokenIds[cut.draw(xi)] };
}

/** −log2 of the share of those who were right, in bits; null if nobody was. */
export function classBits(words, n, truth) {
  const right = words.find(([word]) => word === plain(truth))?.[1] ?? 0;
  return right ? -Math.log2(right / n) : null;
}

/** The entropy of counts in bits, as in tally.py. */
export function entropyOf(counts) {
  const all = counts.reduce((sum, n) => sum + n, 0);
  return counts.reduce((sum, n) => (n ? sum - n / all * Math.log2(n / all) : sum), 0);
}

/** The words of a text, each with the white space before it. */
export const wordsOf = (written) => written.match(/\s*\S+/g) ?? [];

export class Game {
  /** kind "story" or "guess"; desk: the Desk, whose read(text, words) asks the model; given: a text to guess, if the
      second device has sent one. */
  constructor(place, desk, kind, given = "") {
    this.place = place;
    this.desk = desk;
    this.kind = kind;
    this.text = desk.text;
    this.rounds = [];
    this.number = 0;
    this.settings = {};
    this.takesReveal = true;
    if (given) this.start(given);
    else if (kind === "story") this.begin();
    else this.offerShelf();
  }

  begin() {
    const { text } = this, form = make("form", "begin", this.place);
    const field = make("textarea", "", make("label", "", form, text.story_begin));
    field.value = this.desk.data.prompt;
    field.rows = 3;
    field.maxLength = 2000;
    const send = button(form, text.game_start, "", null, "commit");
    send.type = "submit";
    form.onsubmit = (event) => {
      event.preventDefault();
      this.start(field.value);
    };
  }

  /** Offer texts that the class does not know, by title; a teacher's own text comes from the second device, since here
      everybody would read it. */
  offerShelf() {
    make("p", "kicker", this.place, this.text.guess_begin);
    const shelf = make("div", "shelf", this.place);
    for (const [title, written] of this.desk.data.shelf) button(shelf, title, "", () => this.start(written), "quiet");
    make("p", "hint", this.place, this.text.guess_own);
  }

  start(written) {
    const words = wordsOf(written.trim());
    if (!words.length) return;
    const shown = this.kind === "story" ? words.length : Math.max(1, Math.min(3, words.length - 1));
    this.done = words.slice(0, shown).join("");
    this.hidden = words.slice(shown);
    this.ask();
  }

  get truth() {
    return this.hidden[0]?.trim() ?? "";
  }

  ask() {
    this.number += 1;
    this.phase = "ask";
    this.tally = null;
    this.list = undefined;
    this.asked = { ask: this.text.game_ask, prompt: this.done, guess: { kind: "word", chance: false },
      about: `game ${Date.now()} ${this.number}` };
    this.desk.link.act("ask", { asked: this.asked });
    this.draw();
  }

  draw() {
    this.place.replaceChildren();
    const story = make("p", "story", this.place, this.done);
    story.dir = "auto";
    make("span", "cursor", story, " …");
    if (this.phase === "ask") this.wait(); else this.show();
    if (this.rounds.length) this.sum();
  }

  hear(shown) {
    if (!this.asked || shown?.asked?.about !== this.asked.about) return;
    if (this.phase === "ask" && this.count)
      setText(this.count, fill(this.text.count, { n: shown.answered, all: shown.there }));
    if (shown.phase !== "revealed" || JSON.stringify(shown.tally) === JSON.stringify(this.tally)) return;
    this.tally = shown.tally;
    this.phase = "shown";
    this.desk.read(this.done, [...(this.truth ? [this.truth] : []), ...this.tally.words.map(([word]) => word)]);
    this.draw();
  }

  /** Wait for words: plain ones are shown, and those that were ticked on the second device. */
  wait() {
    this.count = make("p", "count", this.place, fill(this.text.count, { n: 0, all: this.desk.shown?.there ?? 0 }));
    button(make("div", "row", this.place), this.text.reveal, "", () =>
      this.desk.link.act("reveal", { model: this.truth ? { answer: this.truth } : null }), "commit");
  }

  /** Take the model's answer; one to an earlier text comes too late. */
  learn({ told }) {
    if (!told || told.text !== this.done || this.phase !== "shown" || told === this.told) return;
    this.told = told;
    this.draw();
  }

  show() {
    const { words, n, bits, other } = this.tally, told = this.told?.text === this.done ? this.told : null;
    const table = make("div", "tally of-word twin", this.place), cut = cutWords(words, this.settings);
    const model = new Map((told?.bars ?? []).map(([word, p]) => [plain(word), p]));
    for (const [word, count, p] of cut.rows)
      this.row(table, word, this.kind === "story" ? p : count / n, model.get(word));
    for (const [word, p] of model) if (!cut.rows.some(([own]) => own === word)) this.row(table, word, 0, p);
    if (told) make("p", "named", this.place, fill(this.text.game_entropy, { model: readable(told.entropy),
      own: readable(bits) }));
    if (this.kind === "story") this.offerDraw(cut.draw); else this.tellTruth(told);
    if (other) this.place.append((this.list ??= new WordList(null, this.desk.link, this.text, true)).box);
  }

  /** Draw a word with two bars: the class's, and below it the model's. */
  row(table, word, share, p) {
    const row = make("div", `row${word === plain(this.truth) ? " right" : ""}`, table);
    const name = make("div", "name", row), track = make("span", "track", row);
    make("span", "", name, word).dir = "auto";
    make("i", "", track).style.width = `${100 * share}%`;
    make("i", "model", track).style.width = `${100 * (p ?? 0)}%`;
    make("span", "share", row, share ? `${readable(100 * share)}\u00a0%` : "–");
    make("span", "p", row, p === undefined ? "" : `${this.text.model} ${percent(p)}`);
  }

  /** Offer temperature, top-k and top-p, which cut the class's words, and draw one of the words that are left. */
  offerDraw(drawn) {
    const row = make("div", "settings", this.place);
    for (const [name, min, max, step, usual] of SETTINGS) {
      const label = make("label", "", row), said = make("span", "", label), input = make("input", "", label);
      const value = this.settings[name] ?? usual;
      Object.assign(input, { type: "range", min, max, step, value });
      setText(said, fill(this.text[name], { value }));
      input.onchange = () => { this.settings[name] = Number(input.value); this.draw(); };
    }
    const { words } = this.tally, draw = button(row, this.text.draw_word, "", () => {
      this.done += ` ${words[drawn(Math.random())][0]}`;
      this.ask();
    }, "commit");
    draw.disabled = !words.length;
  }

  tellTruth(told) {
    const { words, n } = this.tally, bits = classBits(words, n, this.truth), { text } = this;
    make("p", "truth", this.place, fill(text.truth, { word: this.truth }));
    const say = (value) => (value === null || value === undefined ? "∞" : readable(value));
    if (told) make("p", "", this.place, fill(text.guess_bits, { own: say(bits), model: say(told.bits) }));
    const next = button(make("div", "row", this.place), text.next_word, "", () => {
      this.rounds.push([bits, told?.bits ?? null]);
      this.done += this.hidden.shift();
      if (this.hidden.length) this.ask();
      else { this.asked = null; this.place.replaceChildren(); this.sum(); }
    }, "commit");
    next.disabled = !told;
  }

  /** Sum up the rounds so far: how often somebody was right, and the bits of those rounds. */
  sum() {
    const known = this.rounds.filter(([own, model]) => own !== null && model !== null);
    const mean = (i) => known.reduce((sum, bits) => sum + bits[i], 0) / known.length;
    make("p", "kicker", this.place, known.length
      ? fill(this.text.guess_sum, { n: this.rounds.length, known: known.length, own: readable(mean(0)),
        model: readable(mean(1)) })
      : fill(this.text.guess_none, { n: this.rounds.length }));
  }

  close() { /* nothing runs */ }
}

/** The game of heads: the class switches off one of five, to change the next token most; the model tries all heads. */
export class HeadGame {
  constructor(place, desk) {
    this.place = place;
    this.desk = desk;
    this.takesReveal = false;
    this.about = `heads ${Date.now()}`;
    make("p", "said", place, desk.text.heads_wait);
    desk.tell("heads", [this.about, null]);
  }

  hear() { /* the wall hears by itself */ }

  /** Take Python's results: first the heads to choose from, then the effect of the class's choice. */
  learn({ effect }) {
    if (effect?.about !== this.about) return;
    if (!this.wall) this.offer(effect.candidates);
    if (effect.own && !this.isTold) this.tell(effect);
  }

  offer(candidates) {
    const { desk, about, place } = this, { text, data } = desk;
    place.replaceChildren();
    const texts = candidates.map((one) => fill(text.heads_option, one));
    this.wall = new Wall(place, { link: desk.link, text, asked: { ask: text.heads_ask, prompt: data.prompt,
      guess: { kind: "options", texts, pictures: candidates.map((one) => one.picture) }, about },
      reveal: (guess) => desk.tell("heads", [about, candidates[guess ?? 0].place]) });
    this.candidates = candidates;
    this.said = make("p", "truth", place);
  }

  tell(effect) {
    this.isTold = true;
    this.desk.link.act("reveal", { model: { said: effect.said,
      answer: this.candidates.findIndex(({ place }) => place === effect.answer) } });
    setText(this.said, fill(this.desk.text.heads_told, effect));
  }

  close() {
    this.wall?.close();
  }
}
