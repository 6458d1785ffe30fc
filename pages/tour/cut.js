// Steps 4 to 6: pieces, their neighbours, and the numbers in them.
import { button, chip, make, setText, spokenLine } from "../../core/components/lib/dom.js";
import { between, css } from "../../core/components/lib/colours.js";
import { decimals, grouped } from "../../core/components/lib/numbers.js";
import { Surface } from "../../core/components/lib/surface.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { keepFitted, onWidth } from "../../core/components/lib/view.js";
import { actButton, field, Slider } from "./parts.js";
import { say, spoken } from "./said.js";

const PLAY = 380;           // ms in which the signs become pieces
const RING = { across: 62, down: 26 };        // px that the names beyond the ring need
const NEAREST = 0.42;       // of the ring's radius: room for the word in the middle, also where there is little
const NARROW = 500, NEAREST_NARROW = 0.6;

/** Cut into pieces: guess how many, and the single signs are joined before the reader's eyes. */
export class Pieces {
  constructor(stage, tour) {
    this.tour = tour;
    this.stage = stage;
    this.row = make("div", "acts", stage);
    this.line = make("div", "signs", stage);
  }

  /** @param {{ asks: { signs: string[][], n: number }, tells: { frames: string[][][] } | null,
   *   acted: boolean }} step */
  show({ asks, tells, acted }) {
    const { text } = this.tour;
    if (!this.guess) {
      this.guess = new Slider(this.row, text.field_pieces, { low: 1, high: asks.n, value: Math.ceil(asks.n / 2),
        words: grouped });
      this.button = actButton(this.row, text.act_pieces, () => this.tour.act({ guess: this.guess.value }));
      this.line.ariaLabel = text.signs_pieces;
      this.line.role = "group";
    }
    if (!tells) { this.paint(asks.signs); return; }
    if (this.frames) { this.frames = tells.frames; this.paint(this.frames[this.player.value]); return; }
    this.frames = tells.frames;
    this.guess.box.remove();
    this.button.remove();
    const last = this.frames.length - 1;
    this.player = new Slider(this.row, text.slide_pieces, { low: 0, high: last, value: last,
      words: (at) => `${Math.round((100 * at) / (last || 1))}\u00a0%`, input: (at) => this.paint(this.frames[at]) });
    if (acted && this.tour.moves) this.play(last);
    else this.paint(this.frames[last]);
  }

  play(last) {
    const began = performance.now(), frame = (now) => {
      const at = Math.max(0, Math.min(last, Math.floor(((now - began) / PLAY) * last)));
      this.player.set(at);
      this.paint(this.frames[at]);
      if (at < last && this.line.isConnected) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  paint(words) {
    this.line.replaceChildren();
    for (const word of words) {
      const box = make("span", "of-word", this.line);
      for (const piece of word) chip(box, piece, "piece");
    }
  }
}

/** Near and far: a word in the middle, its neighbours around it, the closer the more alike. */
export class Near {
  constructor(stage, tour) {
    this.tour = tour;
    const { text } = tour, row = make("div", "acts", stage);
    this.word = field(row, text.field_near, { done: () => this.act() });
    this.guess = field(row, text.guess_near, { done: () => this.act() });
    actButton(row, text.act_near, () => this.act());
    this.sky = make("div", "sky", stage);
    this.offers = make("div", "acts offers", stage);
    onWidth(this.sky, () => this.paint());
  }

  act() {
    const word = this.word.input.value.trim(), guess = this.guess.input.value.trim();
    if (!word || !guess) { this.tour.asksFor((word ? this.guess : this.word).input); return; }
    this.tour.act({ word, guess });
  }

  /** @param {{ asks: { word: string, offers?: string[] }, tells: { centre: string, around: { word: string,
   *   near: number, mine?: boolean }[], far: number } | null }} step */
  show({ asks, tells }) {
    if (!this.word.input.value) this.word.input.value = asks.word;
    this.tells = tells;
    this.offers.replaceChildren();
    this.offers.hidden = !asks.offers;
    for (const word of asks.offers ?? []) button(this.offers, word, "", () => {
      this.word.input.value = word;
      this.act();
    }, "option");
    this.paint();
  }

  paint() {
    const { sky, tells } = this, width = sky.clientWidth, height = sky.clientHeight;
    sky.replaceChildren();
    if (!width) return;
    const rx = width / 2 - RING.across, ry = height / 2 - RING.down;
    for (const share of [0.4, 0.7, 1]) {
      const ring = make("span", "ring", sky);
      Object.assign(ring.style, { width: `${2 * rx * share}px`, height: `${2 * ry * share}px` });
    }
    chip(sky, tells?.centre ?? this.tour.shown.asks.word, "star centre");
    sky.role = tells ? "img" : "presentation";
    sky.ariaLabel = tells ? spoken(this.tour.text.picture_near, { word: { word: tells.centre },
      around: tells.around.map(({ word }) => word).join(", ") }) : "";
    const far = 1 - (tells?.far ?? 0);
    tells?.around.forEach(({ word, near, mine }, i) => {
      const angle = (2 * Math.PI * (i + 0.25)) / tells.around.length - Math.PI / 2;
      const away = Math.min(1, Math.max(width < NARROW ? NEAREST_NARROW : NEAREST, (1 - near) / far));
      const star = chip(sky, word, `star ${i ? "" : "first"} ${mine ? "mine" : ""}`);
      if (mine) star.dataset.you = this.tour.text.you;
      const to = `translate(-50%, -50%) translate(${away * rx * Math.cos(angle)}px, ${away * ry * Math.sin(angle)}px)`;
      if (!this.tour.moves) { star.style.transform = to; return; }
      requestAnimationFrame(() => { star.style.transform = to; });
    });
  }
}

/** A list of numbers: as stripes, beside the list of the closest piece. */
export class Numbers {
  constructor(stage, tour) {
    this.tour = tour;
    this.row = make("div", "acts options", stage);
    this.lists = make("div", "lists", stage);
    this.reading = spokenLine(stage, "reading");
  }

  /** @param {{ asks: { options: number[] }, tells: { words: [string, string], guess: number } | null,
   *   row_0?: Float32Array, row_1?: Float32Array }} step */
  show({ asks, tells, row_0: first, row_1: second }) {
    this.row.replaceChildren();
    for (const n of asks.options) {
      const node = button(this.row, grouped(n), "", () => this.tour.act({ guess: n }), "option");
      node.ariaPressed = String(tells?.guess === n);
    }
    this.lists.replaceChildren();
    setText(this.reading, "");
    if (tells) [first, second].forEach((values, i) => this.stripes(values, tells.words[i]));
    else for (let i = 0; i < 2; i += 1) make("div", "list blank", this.lists);
  }

  stripes(values, word) {
    const box = make("div", "list", this.lists), { text } = this.tour;
    chip(box, word, "word");
    const surface = new Surface(box, "stripes", word), most = Math.max(...values.map(Math.abs));
    const paint = (lit = -1) => {
      surface.measure();
      if (!surface.width) return;
      const ctx = surface.begin(), stops = readTheme().stops("div"), wide = surface.width / values.length;
      values.forEach((value, i) => {
        ctx.fillStyle = css(between(stops, 0.5 + value / most / 2));
        ctx.fillRect(i * wide, i === lit ? 0 : 6, wide + 0.4, surface.height - (i === lit ? 0 : 12));
      });
    };
    surface.point((x, _y, phase) => {
      const at = Math.max(0, Math.min(values.length - 1, Math.floor((x / surface.width) * values.length)));
      paint(phase === "out" ? -1 : at);
      this.reading.replaceChildren();
      if (phase !== "out")
        say(this.reading, text.stripe, { i: at + 1, d: values.length, word: { word }, value: decimals(values[at], 3) });
    }, () => ({ left: 0, top: 0, width: surface.width, height: surface.height, columns: values.length, rows: 1 }));
    keepFitted(box, () => paint());
  }
}
