// One text under the model, as core/app/state/run.py has it, and what all steps say of it: pages/tour/shared.py without
// Python.
import { softmax } from "../../../core/components/engine/readout.js";
import { best, rowOf } from "../../../core/components/engine/vectors.js";

export const MOST_CHARACTERS = 60;     // of a typed word
export const TAIL = 220;               // characters of a long text that are shown, its last ones
export const BARS = 5;
const LETTER = /^[\p{L}\p{N}]/u;

/** A step as the browser draws it, as Step of pages/tour/shared.py has it.
 * @typedef {{ asks: any, tells?: any, said?: [string, object][], values?: object, arrays?: object }} Step */

export const word = (text) => ({ word: text });
export const share = (p) => ({ share: p });

/** A text under a model. own: what the worker holds. */
export class Reading {
  #probs;

  /** @param {import("../../../core/components/engine/service.js").Own} own @param {string} text */
  constructor(own, text) {
    const { model, tokenizer } = own;
    this.own = own;
    this.text = text;
    this.config = model.config;
    this.model = model;
    this.tokenizer = tokenizer;
    this.ids = own.idsOf(text);
  }

  get n() { return this.ids.length; }

  /** The number of the text's own tokens. */
  get nWords() { return this.text ? this.n - 1 : 0; }

  get trace() { return this.own.passOf(this.ids, {}); }

  /** The tokens as chips show them. */
  get tokens() { return this.ids.map((id) => this.tokenizer.visible(id)); }

  /** (|V|) the logits after the last token. */
  get logits() { return lastRow(this.trace, this.config); }

  /** (|V|) what comes next. */
  get probs() { return (this.#probs ??= softmax(this.logits)); }

  /** (|V|) what comes next under a change of the pass. */
  changed(change) { return softmax(lastRow(this.own.passOf(this.ids, change), this.config)); }

  /** (|V|) what comes after other tokens. @param {number[]} ids */
  after(ids) { return softmax(lastRow(this.own.passOf(ids, {}), this.config)); }

  withText(text) { return new Reading(this.own, text); }

  /** The likeliest next token: its id, as a word, and its probability. */
  get first() {
    const [id] = best(this.probs, 1);
    return { id, word: plain(this.tokenizer.visible(id), this.text), p: this.probs[id] };
  }

  /** Tokens as words that may follow a text. @param {number[]} ids */
  words(ids, before = this.text) { return ids.map((id) => plain(this.tokenizer.visible(id), before)); }
}

const lastRow = ({ logits, n }, { vocab_size }) => rowOf(logits, vocab_size, n - 1);

/** The ids of the n likeliest tokens, the likeliest first. */
export const likeliest = (probs, n = BARS) => best(probs, n);

/** A token as a word of a text that ends with `before`: without the sign of its space, with … where it goes on inside
    a word. @param {string} visible @param {string} before */
export function plain(visible, before) {
  if (visible.startsWith("·") && visible !== "·") return visible.slice(1);
  return LETTER.test(visible) && LETTER.test([...before].at(-1) ?? "") ? `…${visible}` : visible;
}

/** The last n characters of a text. @param {string} text @param {number} n */
export const lastOf = (text, n) => [...text].slice(-n).join("");

/** The end of a text, from a word's beginning on, with … where something is left out. @param {string} text */
export function tail(text) {
  const cut = lastOf(text, TAIL), space = cut.indexOf(" ");
  return cut.length === text.length ? text : `… ${cut.slice(space + 1) || cut}`;
}

/** What a reader has typed, cut. @param {unknown} given */
export const typed = (given) => [...String(given ?? "").trim()].slice(0, MOST_CHARACTERS).join("");

/** A whole number within bounds; null for what is none. @param {unknown} given */
export function whole(given, low, high) {
  const value = given === null || given === undefined || given === "" ? NaN : Math.trunc(Number(given));
  return Number.isNaN(value) ? null : Math.min(Math.max(value, low), high);
}

/** The nearest whole number, of two the even one, as Python rounds. @param {number} x of 0 or more */
export function roundEven(x) {
  const above = Math.round(x);
  return above - x === 0.5 && above % 2 ? above - 1 : above;
}

/** k whole numbers from 0 to n at even distances, each once, rising. */
export function spaced(n, k) {
  const step = k > 1 ? n / (k - 1) : 0;
  return [...new Set(Array.from({ length: k }, (_, i) => (i && i === k - 1 ? n : roundEven(i * step))))];
}
