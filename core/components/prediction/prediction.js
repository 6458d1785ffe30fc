// A question before its picture, or the guess beside the truth: __init__.py describes the messages and events.
import { button, make } from "../lib/dom.js";
import { toTop } from "../lib/links.js";
import { keepFree, mounted, View } from "../lib/view.js";
import { guessOf } from "./guesses.js";
import { inline } from "./inline.js";
import { answeredBefore, asks, remember, setAsks } from "./memory.js";
import { shownGuess } from "./told.js";

const LEAST_HEIGHT = 260, MOST_HEIGHT = 720;      // pixels of the place that a picture will take

/** @typedef {{ kind: "options" | "place" | "cell" | "number" | "word", texts?: string[], offered?: number[],
 *   pictures?: string[], rows?: string[], columns?: string[], low?: number, high?: number, step?: number,
 *   log?: boolean, unit?: string, most?: number, chance?: boolean }} Guess  with the fields of its kind */
/** @typedef {{ mode: "ask" | "told" | "switch" | "declined", text: Record<string, string>, scale?: number,
 *   id?: string, again?: boolean,
 *   question?: string, guess?: Guess, mine?: any, sure?: number | null, answer?: any, said?: string,
 *   own?: string, bars?: [string, number, boolean][], right?: boolean, statements?: string[], seen?: number,
 *   reason?: string, on?: boolean }} Message */

/** @extends {View} */
class PredictionView extends View {
  /** @param {Message} header */
  receive(header) {
    const written = JSON.stringify(header);
    if (written === this.written) return;
    this.written = written;
    this.header = header;
    this.labels = header.text;
    this.root.dataset.mode = header.mode;
    this.root.onkeydown = null;
    this.root.replaceChildren();
    ({ ask: () => this.ask(), told: () => this.tell(), declined: () => this.offerReturn() })[header.mode]();
  }

  ask() {
    const { id, again, question, guess } = this.header;
    keepFree(this.root, LEAST_HEIGHT, MOST_HEIGHT);
    if (!asks()) { this.trigger("never", false); return; }
    if (!again && answeredBefore(id)) { this.trigger("look", true); return; }
    const card = make("form", "card", this.root);
    make("p", "kicker", card, this.labels.title);
    const asked = inline(make("h3", "question", card), question);
    asked.id = "asked";
    const row = make("div", "row", card);
    const commit = button(row, this.labels.commit, "", null, "commit");
    commit.type = "submit";
    commit.disabled = true;
    const picked = guessOf(guess, this.labels, (is) => { commit.disabled = !is; }, asked);
    row.before(picked.node);
    card.onsubmit = (event) => {
      event.preventDefault();
      if (!commit.disabled) this.once("guess", picked.told());
    };
    button(row, this.labels.look, "", () => { remember(id, { looked: true }); this.once("look", true); }, "quiet");
    button(row, this.labels.never, "", () => { setAsks(false); this.once("never", true); }, "quiet last");
  }

  /** Send an event that ends the question; a second press is ignored. The picture begins at the page's top, even if the
      question was longer than the screen. */
  once(name, value) {
    for (const node of this.root.querySelectorAll("button, input")) node.disabled = true;
    toTop(this.root);
    this.trigger(name, value);
  }

  tell() {
    const { id, question, mine, answer, right, sure, guess, statements, seen } = this.header;
    remember(id, { question, guess: nameOf(guess, mine), truth: nameOf(guess, answer), right, sure, at: Date.now() });
    const strip = make("section", "strip", this.root);
    strip.ariaLabel = question;
    const left = make("div", "figure", strip);
    const verdict = make("p", right ? "verdict right" : "verdict", left, right ? "✓ " : "✗ ");
    make("span", "", verdict, right ? this.labels.right : this.labels.wrong);
    shownGuess(make("div", "shown", left), this.header);
    const side = make("div", "side", strip);
    if (statements.length) this.askWhatHappened(side, statements, seen);
    else inline(make("p", "reason", side), this.header.reason);
    if (this.header.scale > 1) this.fold(strip);
    const close = button(strip, "×", this.labels.close, () => strip.remove(), "close");
    close.ariaLabel = this.labels.close;
  }

  /** Fold the strip on a wall, where the picture needs the room: a button opens and folds the statements. */
  fold(strip) {
    const open = button(strip, this.labels.unfold, "", () => toggle(), "unfold");
    const toggle = () => { open.ariaExpanded = String(!strip.classList.toggle("folded")); };
    toggle();
  }

  askWhatHappened(side, statements, seen) {
    make("p", "kicker", side, this.labels.happened);
    const list = make("div", "statements", side);
    statements.forEach((statement, i) => {
      inline(button(list, "", "", () => this.explain(side, i, seen), "statement"), statement);
    });
  }

  explain(side, tapped, seen) {
    side.replaceChildren();
    side.ariaLive = "polite";
    const line = make("p", "seen", side);
    make("b", tapped === seen ? "right" : "", line, tapped === seen ? "✓ " : "✗ ");
    inline(line, this.header.statements[tapped]);
    if (tapped !== seen) {
      const truth = make("p", "seen", side);
      make("b", "right", truth, "✓ ");
      inline(truth, this.header.statements[seen]);
    }
    const reason = inline(make("p", "reason", side), this.header.reason);
    reason.tabIndex = -1;
    reason.focus({ preventScroll: true });
  }

  /** Offer the way back in the place where the questions were just declined. */
  offerReturn() {
    const strip = make("section", "strip declined", this.root);
    make("span", "", strip, this.labels.declined);
    button(strip, this.labels.undecline, "", () => { setAsks(true); this.once("switch", true); }, "quiet");
    button(strip, "×", this.labels.close, () => strip.remove(), "close").ariaLabel = this.labels.close;
  }
}

/** A guess or an answer as a text. @param {Guess} guess */
function nameOf({ kind, texts, rows, columns, unit }, value) {
  if (kind === "options" || kind === "place") return texts[value];
  if (kind === "cell") return `${columns[value % columns.length]}, ${rows[Math.floor(value / columns.length)]}`;
  return kind === "number" ? `${value}${unit ? ` ${unit}` : ""}` : String(value);
}

export default mounted(PredictionView);
