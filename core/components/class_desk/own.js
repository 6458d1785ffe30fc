// A teacher's own question: its name, and the rules for it.
import { fill } from "../lib/dom.js";

const NAMED = "own ", MOST_OPTIONS = 6;

/** Whether a question is a teacher's own, by its name. */
export const isOwn = ({ about }) => about.startsWith(NAMED);

/** A question that a teacher has written; options: its answers, one a line; without any it asks for a word. */
export function ownAsked(ask, options) {
  const texts = options.split("\n").map((line) => line.trim()).filter(Boolean);
  return { ask: ask.trim(), prompt: "", about: `${NAMED}${Date.now()}`,
    guess: texts.length ? { kind: "options", texts } : { kind: "word", chance: false } };
}

/** The fault of such a question, as a sentence; "" for none. */
export function wrongOf({ ask, guess }, text) {
  const { texts } = guess;
  if (!ask) return text.own_no_ask;
  return texts && (texts.length < 2 || texts.length > MOST_OPTIONS) ? fill(text.own_wrong, { most: MOST_OPTIONS }) : "";
}
