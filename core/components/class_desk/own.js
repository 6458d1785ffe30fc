// A question of the teacher's own: what names it, and what it may be.
import { fill } from "../lib/dom.js";

const NAMED = "own ", MOST_OPTIONS = 6;

/** Whether a question is a teacher's own, by what names it. */
export const isOwn = ({ about }) => about.startsWith(NAMED);

/** A question that a teacher has written: its answers, one a line; a word where there are none. */
export function ownAsked(ask, options) {
  const texts = options.split("\n").map((line) => line.trim()).filter(Boolean);
  return { ask: ask.trim(), prompt: "", about: `${NAMED}${Date.now()}`,
    guess: texts.length ? { kind: "options", texts } : { kind: "word", chance: false } };
}

/** What is wrong with such a question; "" for nothing. */
export function wrongOf({ ask, guess }, text) {
  const { texts } = guess;
  if (!ask) return text.own_no_ask;
  return texts && (texts.length < 2 || texts.length > MOST_OPTIONS) ? fill(text.own_wrong, { most: MOST_OPTIONS }) : "";
}
