// Steps 10 to 12: the dice, how the model learned, the whole map.
import { button, chip, make, setText, spokenLine } from "../../core/components/lib/dom.js";
import { grouped } from "../../core/components/lib/numbers.js";
import { followed } from "../../core/components/lib/links.js";
import { Bars, Slider } from "./parts.js";
import { heated, place } from "./heat.js";
import { say } from "./said.js";

const SHOWN = 5, KEPT = 14;             // bars, and throws that are listed
const COLDEST = 0.1, HOTTEST = 3;       // temperature

/** From chances to one word: guess what heat does, then turn it up and throw the dice. */
export class Dice {
  constructor(stage, tour) {
    this.tour = tour;
    const { text } = tour;
    this.row = make("div", "acts options", stage);
    for (const guess of ["less", "more"])
      button(this.row, text[`${guess}_dice`], "", () => this.tour.act({ guess }), "option");
    this.hot = make("div", "acts hot", stage);
    this.heat = new Slider(this.hot, text.temperature, { low: COLDEST, high: HOTTEST, step: 0.1, value: 1,
      words: (value) => value.toFixed(1), input: () => this.turn() });
    button(this.hot, text.throw_dice, "", () => this.throw(), "act");
    this.bars = new Bars(stage, text);
    this.thrown = spokenLine(stage, "thrown");
    this.drawn = [];
  }

  /** @param {{ asks: { names: string[], top: string }, tells: object | null, logits: Float32Array }} step */
  show({ asks, tells, logits }) {
    const isNew = logits.length !== this.logits?.length || asks.top !== this.names?.[0];
    this.logits = logits;
    this.names = asks.names;
    this.tells = tells;
    this.row.hidden = Boolean(tells);
    this.hot.hidden = !tells;
    if (isNew) { this.drawn = []; this.thrown.replaceChildren(); }
    this.turn();
  }

  /** The chances at the slider's temperature. */
  turn() {
    this.chances = heated(this.logits, this.tells ? this.heat.value : 1);
    const before = heated(this.logits, 1);
    this.bars.show(this.names.slice(0, SHOWN).map((word, i) =>
      ({ word, p: this.chances[i], before: before[i] })));
    if (this.tells) this.tour.live(this.tour.text.live_dice,
      { t: this.heat.value.toFixed(1), top: { word: this.names[0] }, p: { share: this.chances[0] } });
  }

  throw() {
    const at = place(this.chances, Math.random());
    chip(this.thrown, this.names[at] ?? "…", "word");
    while (this.thrown.children.length > KEPT) this.thrown.firstChild.remove();
  }
}

/** How it learned: one slider from the first step to the last. */
export class Learn {
  constructor(stage, tour) {
    this.tour = tour;
    const { text } = tour;
    this.options = make("div", "acts options", stage);
    this.row = make("div", "acts", stage);
    this.sample = make("blockquote", "sample", stage);
    this.asked = make("p", "asked", this.sample);
    this.wrote = make("p", "wrote", this.sample);
    const guesses = make("div", "guesses", stage);
    make("p", "caption", guesses, text.guesses_learn);
    this.bars = new Bars(guesses, text);
  }

  /** @param {{ asks: { moments: { step: number, n: number, prompt: string, sample: string,
   *   rows: import("./parts.js").Row[] }[], options: string[] }, tells: { at: number, guess: string } | null,
   *   acted: boolean }} step */
  show({ asks, tells, acted }) {
    const { text } = this.tour, last = asks.moments.length - 1;
    this.moments = asks.moments;
    if (!this.slider) {
      for (const guess of asks.options)
        button(this.options, text[`${guess}_learn`], "", () => this.tour.act({ guess, at: 0 }), "option");
      this.slider = new Slider(this.row, text.field_learn, { low: 0, high: last, value: tells?.at ?? 0,
        words: (at) => grouped(this.moments[at].step), input: () => this.turn(),
        commit: (at) => this.tour.act({ guess: this.guessed, at }) });
    }
    this.guessed = tells?.guess;
    this.options.hidden = Boolean(tells);
    this.row.hidden = !tells;
    if (tells && acted) this.slider.node.focus({ preventScroll: true });      // the pressed option is gone
    this.turn(Boolean(tells));
  }

  turn(tells = true) {
    const at = this.slider.value, { step, n, prompt, sample, rows } = this.moments[at], { text } = this.tour;
    this.asked.replaceChildren();
    say(this.asked, text.sample_learn, { prompt });
    setText(this.wrote, sample);
    this.bars.show(rows);
    const key = !at ? "told_learn_0" : at === this.moments.length - 1 ? "told_learn_end" : "told_learn";
    if (tells) this.tour.live(text[key], { step: grouped(step), n: grouped(n), word: { word: rows[0].word },
      p: { share: rows[0].p } });
  }
}

// the parts of the map in their order, with the step in which each was met
const PARTS = { text: 1, pieces: 4, numbers: 6, look: 7, alone: 9, dice: 10, word: 2 };
const REPEATED = new Set(["look", "alone"]);

/** The whole map, and four ways on. */
export class Whole {
  constructor(stage, tour) {
    this.tour = tour;
    this.map = make("ol", "map", stage);
    this.map.ariaLabel = tour.text.map_picture;
    this.ways = make("nav", "ways", stage);
    this.ways.ariaLabel = tour.text.ways;
    if (tour.leads) button(stage, tour.text.map_open, "", () => tour.open("home"), "quiet all");
  }

  /** @param {{ asks: { ways: Record<"id" | "title" | "about" | "href", string>[] },
   *   values: Record<string, any> }} step */
  show({ asks, values }) {
    const { text } = this.tour;
    this.map.replaceChildren();
    let inner = null;
    for (const [name, step] of Object.entries(PARTS)) {
      if (!REPEATED.has(name)) inner = null;
      else if (!inner) {
        const box = make("li", "repeated", this.map);
        const times = button(box, "", "", () => this.tour.go(9), "times");
        say(times, text.map_layers, values);
        make("span", "where", times, ` · ${text.map_step.replace("{i}", "9")}`);
        inner = make("ol", "", box);
      }
      this.part(make("li", "part", inner ?? this.map), name, step, values);
    }
    this.ways.replaceChildren();
    for (const way of asks.ways) this.way(way);
  }

  part(box, name, step, values) {
    const { text } = this.tour, node = button(box, "", "", () => this.tour.go(step));
    say(make("b", "", node), text[`map_${name}`], values);
    make("span", "where", node, text.map_step.replace("{i}", String(step)));
  }

  way({ id, title, about, href }) {
    const node = make("a", "way-on", this.ways);
    node.href = href;
    make("b", "", node, title);
    make("span", "", node, about);
    followed(node, () => this.tour.open(id));
  }
}
