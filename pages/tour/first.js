// Steps 1 to 3, on words alone.
import { button, make, setText } from "../../core/components/lib/dom.js";
import { actButton, Bars, field, Slider, walked } from "./parts.js";
import { percent, say, spoken } from "./said.js";

const BLANK = 5;            // bars whose places stand there before the answer

/** Finish the sentence: the prompt with a gap, the reader's word, how sure. */
export class Finish {
  constructor(stage, tour) {
    this.tour = tour;
    this.line = make("p", "line", stage);
    this.line.dir = "auto";
    this.written = make("span", "", this.line);
    this.gap = make("span", "gap", this.line);
    const row = make("div", "acts", stage), { text } = tour;
    this.field = field(row, text.field_finish, { done: () => this.act(), name: "big" });
    this.sure = new Slider(row, text.sure_finish, { low: 0, high: 100, step: 5, value: 50,
      words: (value) => percent(value / 100) });
    actButton(row, text.act_finish, () => this.act());
    this.bars = new Bars(stage, text);
    this.field.input.oninput = () => setText(this.gap, this.field.input.value.trim());
  }

  act() {
    const word = this.field.input.value.trim();
    if (!word) { this.tour.asksFor(this.field.input); return; }
    this.tour.act({ word, sure: this.sure.value });
  }

  /** @param {{ asks: { text: string }, tells: { rows: import("./parts.js").Row[] } | null, acted: boolean }} step */
  show({ asks, tells, acted }) {
    setText(this.written, /\s$/.test(asks.text) || !asks.text ? asks.text : `${asks.text} `);
    if (tells) {
      const own = tells.rows.find((row) => row.sure !== undefined);
      if (!acted && !this.field.input.value) {
        this.field.input.value = own.word;
        this.sure.set(Math.round(100 * own.sure));
      }
      setText(this.gap, this.field.input.value.trim());
    }
    if (tells) this.bars.show(tells.rows);
    else this.bars.blank(BLANK);
    if (!tells) this.invite();
  }

  /** Whoever opens the page can write at once: no Tab key, no click. A phone would cover half of it with its keys, and
      a presenter's own keys lead on. */
  invite() {
    const isFree = document.activeElement === document.body && !this.tour.root.matches(".present");
    if (isFree && matchMedia("(hover: hover)").matches) this.field.input.focus({ preventScroll: true });
  }
}

/** Ask it again: the text grows by what the reader takes, or by what the dice say. */
export class Write {
  constructor(stage, tour) {
    this.tour = tour;
    const { text } = tour;
    this.line = make("p", "line", stage);
    this.line.dir = "auto";
    this.given = make("span", "", this.line);
    this.added = make("span", "added", this.line);
    this.gap = make("span", "gap", this.line);
    this.bars = new Bars(stage, text, { pick: (row) => this.add(row.id),
      pickLabel: (row) => `${spoken(text.pick_write, { word: row.word })}, ${percent(row.p)}` });
    const row = make("div", "acts", stage);
    this.throw = actButton(row, text.act_write, () => this.add(null));
    this.again = button(row, text.again_write, "", () => this.tour.act({ added: [] }), "quiet");
  }

  add(id) {
    if (!this.full) this.tour.act({ add: id });
  }

  /** @param {{ asks: { text: string, shows: { added: string, rows: import("./parts.js").Row[],
   *   full: boolean } } }} step */
  show({ asks }) {
    const { added, rows, full } = asks.shows;
    setText(this.given, asks.text);
    setText(this.added, added);
    this.full = full;
    this.throw.disabled = full;
    this.again.hidden = !added && !full;
    this.bars.show(full ? [] : rows);
    this.line.scrollTop = this.line.scrollHeight;
  }
}

/** Change one word: a word is picked in the sentence, another typed, and the bars move. */
export class Change {
  constructor(stage, tour) {
    this.tour = tour;
    const { text } = tour;
    this.line = make("p", "line words", stage);
    this.line.dir = "auto";
    this.begin = walked(this.line, text.pieces_change);
    const row = make("div", "acts", stage);
    this.field = field(row, "", { done: () => this.act(), name: "big" });
    this.guesses = [actButton(row, text.moves_change, () => this.act(true)),
      actButton(row, text.stays_change, () => this.act(false))];
    this.bars = new Bars(stage, text);
  }

  /** moves: the guess whether the next word changes; the Enter key in the field leads on to it. */
  act(moves) {
    const word = this.field.input.value.trim();
    if (!word) this.tour.asksFor(this.field.input);
    else if (moves === undefined) this.guesses[0].focus();
    else this.tour.act({ word, place: this.place, moves });
  }

  /** @param {{ asks: { pieces: [string, boolean][], from: number, left_out: boolean, place: number },
   *   tells: { word: string, place: number, rows: import("./parts.js").Row[] } | null }} step */
  show({ asks, tells }) {
    const source = JSON.stringify(asks);
    if (source !== this.source) {
      this.source = source;
      this.build(asks);
    }
    if (tells && !this.field.input.value) {
      this.field.input.value = tells.word;
      this.pick(tells.place);
    }
    this.changed = tells;
    this.mark();
    if (tells) this.bars.show(tells.rows);
    else this.bars.blank(BLANK);
  }

  build({ pieces, from, left_out: leftOut, place }) {
    this.line.replaceChildren(leftOut ? "… " : "");
    this.words = new Map();
    let at = from;
    for (const [piece, isWord] of pieces) {
      if (!isWord) { this.line.append(piece); continue; }
      const own = at, node = button(this.line, piece, "", () => this.pick(own, true), "pick");
      node.own = piece;
      this.words.set(own, node);
      at += 1;
    }
    this.pick(place);
  }

  pick(place, byHand = false) {
    if (!this.words.has(place)) return;
    this.place = place;
    this.begin([...this.words.keys()].indexOf(place));
    this.mark();
    if (byHand) this.field.input.select();
  }

  /** The picked word, and in the changed one's place the new one. */
  mark() {
    for (const [at, node] of this.words) {
      const isNew = this.changed?.place === at;
      setText(node, isNew ? this.changed.word : node.own);
      node.className = `pick ${at === this.place ? "picked" : ""} ${isNew ? "new" : ""}`;
      node.ariaPressed = String(at === this.place);
    }
    const title = this.field.title, own = this.words.get(this.place)?.own ?? "";
    title.replaceChildren();
    say(title, this.tour.text.field_change, { word: { word: own } });
  }
}
