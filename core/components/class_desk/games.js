// What a class plays: it writes a text together, word by word, as a model does, its answers being the distribution that
// temperature, top-k and top-p cut; or it guesses the next word of a known text, which is Shannon's game.
import { plain } from "../class_tally/tally.js";
import { Wall } from "../class_wall/wall.js";
import { masked } from "../class_wall/words.js";
import { button, fill, make, setText } from "../lib/dom.js";
import { readable } from "../lib/numbers.js";
import { Truncation } from "../sampling_panel/truncation.js";

const SETTINGS = [["temperature", 0.1, 3, 0.1, 1], ["top_k", 1, 20, 1, 20], ["top_p", 0.05, 1, 0.05, 1]];
const FREE = { temperature: 1, top_k: null, top_p: 1, min_p: 0, typical_p: 1 };

/** The words of a class as a distribution, cut: [word, count, p after the cut], in falling order of the counts. */
export function cutWords(words, settings) {
  if (!words.length) return { rows: [], draw: () => -1 };
  const cut = new Truncation(Float64Array.from(words, ([, n]) => Math.log(n))).update({ ...FREE, ...settings });
  const rows = [...cut.tokenIds].map((id, place) => [...words[id], cut.renormalised[place]]);
  return { rows, draw: (xi) => cut.tokenIds[cut.draw(xi)] };
}

/** −log2 of the share of those who were right, in bits; null where nobody was. */
export function classBits(words, n, truth) {
  const right = words.find(([word]) => word === plain(truth))?.[1] ?? 0;
  return right ? -Math.log2(right / n) : null;
}

/** The entropy of counts in bits, as tally.py has it. */
export function entropyOf(counts) {
  const all = counts.reduce((sum, n) => sum + n, 0);
  return counts.reduce((sum, n) => (n ? sum - n / all * Math.log2(n / all) : sum), 0);
}

/** The words of a text, each with the blanks before it. */
export const wordsOf = (written) => written.match(/\s*\S+/g) ?? [];

export class Game {
  /** kind "story" or "guess"; desk: the Desk, whose read(text, words) asks the model. */
  constructor(place, desk, kind) {
    Object.assign(this, { place, desk, kind, text: desk.text, rounds: [], number: 0, settings: {} });
    this.begin();
  }

  begin() {
    const { text } = this, form = make("form", "begin", this.place);
    const field = make("textarea", "", make("label", "", form, text[`${this.kind}_begin`]));
    field.value = this.desk.data.prompt;
    field.rows = 3;
    field.maxLength = 2000;
    const send = button(form, text.game_start, "", null, "commit");
    send.type = "submit";
    form.onsubmit = (event) => {
      event.preventDefault();
      const words = wordsOf(field.value.trim());
      if (!words.length) return;
      const shown = this.kind === "story" ? words.length : Math.min(3, words.length - 1);
      Object.assign(this, { done: words.slice(0, shown).join(""), hidden: words.slice(shown) });
      this.ask();
    };
  }

  get truth() {
    return this.hidden[0]?.trim() ?? "";
  }

  ask() {
    this.number += 1;
    this.phase = "ask";
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
    ({ ask: () => this.wait(), look: () => this.look(), shown: () => this.show() })[this.phase]();
    if (this.rounds.length) this.sum();
  }

  hear(shown) {
    if (this.phase !== "ask" || !this.count || shown?.asked?.about !== this.asked.about) return;
    setText(this.count, fill(this.text.count, { n: shown.answered, all: shown.there }));
  }

  wait() {
    this.count = make("p", "count", this.place, fill(this.text.count, { n: 0, all: this.desk.shown?.there ?? 0 }));
    button(make("div", "row", this.place), this.text.close, "", async () => {
      await this.desk.link.act("close");
      const { words = [] } = await this.desk.link.act("words");
      Object.assign(this, { words, phase: "look", allowed: new Set() });
      this.draw();
    }, "commit");
  }

  /** The teacher looks at the words before anybody else does. */
  look() {
    const { text } = this, list = make("ul", "looked", this.place);
    const boxes = this.words.map(([word, n, isRude]) => {
      const label = make("label", isRude ? "tick rude" : "tick", make("li", "", list)), box = make("input", "", label);
      box.type = "checkbox";
      make("span", "", label, `${isRude ? masked(word) : word} · ${n}`).dir = "auto";
      return [box, word, isRude];
    });
    if (!boxes.length) make("p", "said", this.place, text.no_words);
    const row = make("div", "row", this.place);
    button(row, text.tick_all, "", () => { for (const [box, , isRude] of boxes) box.checked = !isRude; }, "quiet");
    button(row, text.game_show, "", async () => {
      const allowed = boxes.filter(([box]) => box.checked).map(([, word]) => word);
      await this.desk.link.act("allow", { words: allowed });
      await this.desk.link.act("reveal", { model: null });
      this.shown = this.words.filter(([word]) => allowed.includes(word)).map(([word, n]) => [word, n]);
      this.phase = "shown";
      this.desk.read(this.done, [...(this.truth ? [this.truth] : []), ...this.shown.map(([word]) => word)]);
      this.draw();
    }, "commit");
  }

  /** Hear what the model says; its answer to an earlier text comes too late. */
  learn({ told }) {
    if (!told || told.text !== this.done || this.phase !== "shown") return;
    this.told = told;
    this.draw();
  }

  show() {
    const table = make("div", "tally of-word", this.place), { rows, draw: drawn } = cutWords(this.shown, this.settings);
    const all = this.words.reduce((sum, [, n]) => sum + n, 0), told = this.told?.text === this.done ? this.told : null;
    const model = new Map((told?.bars ?? []).map(([word, p]) => [plain(word), p]));
    for (const [word, n, p] of rows) this.row(table, word, this.kind === "story" ? p : n / all, model.get(word));
    for (const [word, p] of model) if (!rows.some(([own]) => own === word)) this.row(table, word, 0, p);
    if (told) make("p", "named", this.place, fill(this.text.game_entropy, { model: readable(told.entropy),
      own: readable(entropyOf(this.words.map(([, n]) => n))) }));
    if (this.kind === "story") this.offerDraw(drawn); else this.tellTruth(told, all);
  }

  row(table, word, share, p) {
    const row = make("div", `row${word === plain(this.truth) ? " right" : ""}`, table);
    const name = make("div", "name", row);
    make("span", "", name, word).dir = "auto";
    make("i", "", make("span", "track", row)).style.width = `${100 * share}%`;
    make("span", "share", row, share ? `${readable(100 * share)}\u00a0%` : "–");
    make("span", "p", row, p === undefined ? "" : `${this.text.model} ${readable(100 * p)}\u00a0%`);
  }

  /** Temperature, top-k and top-p cut what the class has said, and one word of what is left is drawn. */
  offerDraw(drawn) {
    const row = make("div", "settings", this.place);
    for (const [name, min, max, step, usual] of SETTINGS) {
      const label = make("label", "", row), said = make("span", "", label), input = make("input", "", label);
      const value = this.settings[name] ?? usual;
      Object.assign(input, { type: "range", min, max, step, value });
      setText(said, fill(this.text[name], { value }));
      input.onchange = () => { this.settings[name] = Number(input.value); this.draw(); };
    }
    const draw = button(make("div", "row", this.place), this.text.draw_word, "", () => {
      this.done += ` ${this.shown[drawn(Math.random())][0]}`;
      this.ask();
    }, "commit");
    draw.disabled = !this.shown.length;
  }

  tellTruth(told, all) {
    const bits = classBits(this.words, all, this.truth), { text } = this;
    make("p", "truth", this.place, fill(text.truth, { word: this.truth }));
    const say = (value) => (value === null || value === undefined ? "∞" : readable(value));
    if (told) make("p", "", this.place, fill(text.guess_bits, { own: say(bits), model: say(told.bits) }));
    const next = button(make("div", "row", this.place), text.next_word, "", () => {
      this.rounds.push([bits, told?.bits ?? null]);
      this.done += this.hidden.shift();
      if (this.hidden.length) this.ask(); else { this.phase = "over"; this.place.replaceChildren(); this.sum(); }
    }, "commit");
    next.disabled = !told;
  }

  /** The rounds so far: how often somebody was right, and the bits of those rounds. */
  sum() {
    const known = this.rounds.filter(([own, model]) => own !== null && model !== null);
    const mean = (i) => known.reduce((sum, bits) => sum + bits[i], 0) / known.length;
    make("p", "kicker", this.place, known.length
      ? fill(this.text.guess_sum, { n: this.rounds.length, known: known.length, own: readable(mean(0)),
        model: readable(mean(1)) })
      : fill(this.text.guess_none, { n: this.rounds.length }));
  }
}

/** Which head would you switch off, to change the next token most? The model tries all of them. */
export class HeadGame {
  constructor(place, desk) {
    const { text, data } = desk, about = `heads ${Date.now()}`;
    Object.assign(this, { place, desk, about });
    this.wall = new Wall(place, { link: desk.link, text, reveal: (guess) => desk.tell("heads", [about, guess]),
      asked: { ask: text.heads_ask, prompt: data.prompt, guess: { kind: "cell", ...data.heads }, about } });
    this.said = make("p", "truth", place);
  }

  hear() { /* the wall hears by itself */ }

  learn({ effect }) {
    if (effect?.about !== this.about || this.isTold) return;
    this.isTold = true;
    this.desk.link.act("reveal", { model: { answer: effect.answer, said: effect.said } });
    setText(this.said, fill(effect.own ? this.desk.text.heads_told : this.desk.text.heads_alone, effect));
  }

  close() {
    this.wall.close();
  }
}
