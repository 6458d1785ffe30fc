// Steps 4 to 6: the text becomes pieces, the pieces lie near or far, and each is a list of numbers.
// pages/tour/pieces.py without Python.
import { dot, lengthOf, rowOf } from "../../../core/components/engine/vectors.js";
import { MOST_CHARACTERS, spaced, typed, whole, word } from "./reading.js";

/** @import { Reading, Step } from "./reading.js" */

const MOST_BYTES = 160;         // of the text that is cut before the reader's eyes
const MOST_FRAMES = 12;         // moments of the cutting that are shown
const NEIGHBOURS = 7;
const SIZES = [2, 32, 10_000];  // what may stand beside the true length of a list

/** Cut into pieces: from single characters to tokens, rule by rule. @param {Reading} run @returns {Step} */
export function pieces(run, done) {
  if (!run.nWords) return { asks: null };
  const { frames, rules } = framesOf(run);
  const [first, last] = [frames[0], frames[frames.length - 1]].map((frame) => frame.flat().length);
  const isPart = frames[0].flat().join("") !== run.text.replaceAll(" ", "·");
  const asks = { signs: frames[0], n: first, ...(isPart && { variant: "part" }) };
  const guess = done.pieces ? whole(done.pieces.guess, 1, first) : null;
  if (guess === null) return { asks };
  const values = { guess, n: last, signs: first, rules };
  return { asks, tells: { frames }, said: [guess === last ? "told_pieces_same" : "told_pieces", "told_pieces_dot",
    "told_pieces_start"].map((label) => [label, values]) };
}

// At most MOST_FRAMES moments of the merging of the text's last words, each a list of words of pieces, and how many
// rules were applied; the first has single bytes, the last the tokens.
function framesOf({ tokenizer, text }) {
  const words = [];
  let bytes = 0;
  for (const part of tokenizer.words(text).reverse()) {
    if (words.length && bytes + part.length > MOST_BYTES) break;
    words.unshift(part);
    bytes += part.length;
  }
  const states = [words];
  for (let next = joined(words, tokenizer.rules); next; next = joined(next, tokenizer.rules)) states.push(next);
  const rules = states.length - 1, at = spaced(rules, Math.min(states.length, MOST_FRAMES));
  return { rules, frames: at.map((i) => states[i].map((part) => part.map((id) => tokenizer.visible(id)))) };
}

// The words after the rule that was learned first of those that apply, everywhere at once; null if none applies.
function joined(words, rules) {
  let first = null;
  for (const part of words)
    for (let i = 1; i < part.length; i++) {
      const rule = rules.of(part[i - 1], part[i]);
      if (rule && !(first?.rank <= rule.rank)) first = { ...rule, left: part[i - 1], right: part[i] };
    }
  if (!first) return null;
  const { left, right, made } = first;
  return words.map((part) => part.reduce((now, id) => {
    if (id === right && now.at(-1) === left) now[now.length - 1] = made;
    else now.push(id);
    return now;
  }, /** @type {number[]} */ ([])));
}

/** Near and far: the reader's guess among the neighbours of a word. @param {Reading} run @returns {Step} */
export function near(run, done) {
  const act = done.near, asked = typedWord(run, done), asks = { word: asked }, token = pieceOf(asked, run);
  const guess = act ? typed(act.guess) : "";
  if (!guess) return { asks };
  if (token === null)
    return { asks: { ...asks, offers: offered(run) }, tells: null, said: [["told_near_cut", { typed: word(asked) }]] };
  const { scores, order } = neighbours(run, token), { tokenizer } = run, mine = pieceOf(guess, run);
  const closest = order.slice(0, NEIGHBOURS), name = tokenizer.visible(token);
  /** @type {{ word: string, near: number, mine?: boolean }[]} */
  const around = closest.map((id) => ({ word: tokenizer.visible(id), near: scores[id] }));
  const values = { word: word(name), first: word(around[0].word), n: order.length };
  const tells = { centre: name, around, far: median(scores) }, shown = { value: around[0].near.toFixed(2) };
  /** @type {(label: string, more?: object) => Step} */
  const step = (label, more = {}) => ({ asks, tells, said: [[label, { ...values, ...more }]], values: shown });
  if (mine === null) return step("told_near_guess_cut", { guess: word(guess) });
  if (mine === token) return step("told_near_itself");
  const rank = order.indexOf(mine) + 1;
  if (rank <= around.length) around[rank - 1].mine = true;
  else around.push({ word: tokenizer.visible(mine), near: scores[mine], mine: true });
  return step(rank === 1 ? "told_near_same" : "told_near", { guess: word(tokenizer.visible(mine)), rank });
}

// The cosine of every row of E with the token's, and the ids of the others, the nearest first.
function neighbours({ model, config: { vocab_size, d_model } }, token) {
  const E = model.tensors.get("E").data, own = rowOf(E, d_model, token), length = lengthOf(own);
  const scores = Float64Array.from({ length: vocab_size }, (_, id) => {
    const row = rowOf(E, d_model, id);
    return dot(row, own) / (length * lengthOf(row)) || 0;
  });
  const order = [...scores.keys()].sort((one, other) => scores[other] - scores[one] || one - other);
  return { scores, order: order.filter((id) => id !== token) };
}

// The lower one of the two in the middle, as torch takes it.
const median = (scores) => Float64Array.from(scores).sort()[Math.floor((scores.length - 1) / 2)];

const typedWord = ({ own: { words } }, done) =>
  [...String(done.near?.word || words.text.near_word)].slice(0, MOST_CHARACTERS).join("");

// Words that are one piece for this model, in place of one that it cuts.
const offered = (run) => run.own.words.text.near_words.split(", ").filter((name) => pieceOf(name, run) !== null);

// The one token of a typed word, with the space before it that words have in a text where that is one; null for a word
// that the model cuts.
function pieceOf(given, { tokenizer }) {
  const bare = given.trim().replace(/^·/, "").trim();
  const cuts = bare ? [` ${bare}`, bare].map((spelled) => tokenizer.encode(spelled)) : [];
  return cuts.find((ids) => ids.length === 1)?.[0] ?? null;
}

/** A list of numbers: how long it is, and the word's own list beside its nearest neighbour's.
    @param {Reading} run @returns {Step} */
export function numbers(run, done) {
  const { d_model: d, vocab_size } = run.config, { tokenizer } = run, E = run.model.tensors.get("E").data;
  const found = [typedWord(run, done), ...offered(run)].map((name) => pieceOf(name, run)).find((id) => id !== null);
  const token = found ?? run.ids.at(-1), name = tokenizer.visible(token);
  const asks = { options: [...new Set([...SIZES, d])].sort((a, b) => a - b) };
  const values = { word: word(name), d, n: vocab_size };
  const guess = done.numbers ? whole(done.numbers.guess, 0, Infinity) : null;
  if (guess === null || !asks.options.includes(guess)) return { asks, values };
  const [other] = neighbours(run, token).order;
  return { asks, tells: { words: [name, tokenizer.visible(other)], guess }, values,
    said: [[guess === d ? "told_numbers_same" : "told_numbers", { ...values, guess }], ["told_numbers_read", values]],
    arrays: { row_0: rowOf(E, d, token).slice(), row_1: rowOf(E, d, other).slice() } };
}
