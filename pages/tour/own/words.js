// Steps 1 to 3, on words alone: finish the sentence, write on, change one word. pages/tour/words.py without Python.
import { NEUTRAL, seededUniforms, Truncation } from "../../../core/components/sampling_panel/truncation.js";
import { BARS, lastOf, likeliest, plain, share, TAIL, tail, typed, whole, word } from "./reading.js";

/** @import { Reading, Step } from "./reading.js" */

const MOST_WRITTEN = 60;        // tokens
const SEED = 1;
const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;
const UNKNOWN = 1e-5;           // the probability of a word that the model has hardly ever read
const CUT = 2;                  // pieces a word of a text that it has never read the like of
const MOVED = 0.1;              // of all probability: so much has to move for a word to count
const LETTER = /^[\p{L}\p{N}]/u;

/** Finish the sentence: the reader's word, and how sure of it, beside the model's likeliest.
    @param {Reading} run @returns {Step} */
export function finish(run, done) {
  const act = done.finish, asks = { text: tail(run.text) }, given = act ? typed(act.word) : "";
  if (!given) return { asks };
  const sure = (whole(act.sure, 0, 100) || 0) / 100, [own, p, about] = counted(run, given), { first, probs } = run;
  const ids = likeliest(probs);
  const rows = run.words(ids).map((name, k) => ({ word: name, p: probs[ids[k]] }));
  let mine = rows.find((row) => row.word === own);
  if (!mine) rows.push(mine = { word: own, p });
  Object.assign(mine, { sure });
  const values = { word: word(own), sure: share(sure), p: share(mine.p), top: word(first.word), p_top: share(first.p) };
  return { asks, tells: { rows },
    said: [[mine === rows[0] ? "told_finish_same" : "told_finish", values], ...about] };
}

// The word that counts, its probability, and what is said of it: the typed one with a small letter, if that fits
// better.
function counted(run, given) {
  const p = probabilityOf(run, given), small = given.toLowerCase(), pSmall = small === given ? 0
    : probabilityOf(run, small);
  if (pSmall > Math.max(p, UNKNOWN))
    return [small, pSmall, [["told_finish_small", { typed: word(given), small: word(small) }]]];
  const isForeign = p < UNKNOWN || run.nWords >= CUT * Math.max(1, run.text.split(/\s+/).filter(Boolean).length);
  return [given, p, isForeign && run.own.words.stories ? [["told_finish_foreign", {}]] : []];
}

/** A typed word as it would go on a text: with a space before it, unless the text ends with one or the word is a sign.
    @param {string} text @param {string} given */
export const spelling = (text, given) =>
  (text && !/\s$/.test(text) && LETTER.test(given) ? ` ${given}` : given);

// The probability that the text goes on with the typed word: the product over its tokens.
function probabilityOf(run, given) {
  const { n_context } = run.config, ids = run.tokenizer.encode(spelling(run.text, given)).slice(0, n_context - 1);
  const before = run.ids.slice(-(n_context - ids.length + 1));
  return ids.reduce((product, id, k) => product * run.after([...before, ...ids.slice(0, k)])[id], 1);
}

/** Write on: each press is the same question, asked of a longer text. The act is a list of tokens: ids that the reader
    took, or null for one that the dice decide. @param {Reading} run @returns {Step} */
export function write(run, done) {
  const asked = (done.write?.added ?? []).slice(0, MOST_WRITTEN), ids = [];
  let ended = false;
  for (const given of asked) {
    const next = given === null ? thrown(probsAfter(run, ids), ids.length) : Number(given);
    ended = run.own.words.ends.includes(next);
    if (ended) break;
    ids.push(next);
  }
  const text = run.text + run.tokenizer.decode(ids), probs = probsAfter(run, ids), top = likeliest(probs);
  const rows = run.words(top, text).map((name, k) => ({ word: name, p: probs[top[k]], id: top[k] }));
  const tells = { added: text.slice(run.text.length), rows, full: ended || ids.length === MOST_WRITTEN };
  return { asks: { text: tail(run.text), shows: tells }, tells: asked.length ? tells : null,
    said: saidOfWriting(ids.length, ended) };
}

/** @returns {[string, object][]} */
function saidOfWriting(n, ended) {
  if (!n) return [];
  return ended ? [["told_write_ended", {}]] : [[n === 1 ? "told_write_one" : "told_write", { n }]];
}

// (|V|) what comes after the text and these tokens.
const probsAfter = (run, ids) => run.after([...run.ids, ...ids].slice(-run.config.n_context));

// The token that the n-th throw of the dice decides.
function thrown(probs, n) {
  const cut = new Truncation(probs.map(Math.log)).update(NEUTRAL);
  return cut.tokenIds[cut.draw(seededUniforms(SEED, n + 1)[n])];
}

/** Change one word: the next word before and after. @param {Reading} run @returns {Step} */
export function change(run, done) {
  const words = [...run.text.matchAll(WORD)], start = run.text.length - lastOf(run.text, TAIL).length;
  const shown = words.filter(({ index }) => index >= start);
  if (!shown.length || run.nWords < 2) return { asks: null };
  const asks = { pieces: cut(run.text, shown), from: words.length - shown.length,
    left_out: shown.length < words.length, place: suggested(run, words) };
  const act = done.change, given = act ? typed(act.word) : "";
  const place = act ? whole(act.place, 0, words.length - 1) : null;
  if (!given || place === null || typeof act.moves !== "boolean") return { asks };
  const { 0: old, index } = words[place];
  const after = run.withText(run.text.slice(0, index) + given + run.text.slice(index + old.length));
  const { rows, said } = compared(run, after, old, given), isRight = act.moves === (said[0][0] === "told_change");
  return { asks, tells: { rows, place, word: given },
    said: [[isRight ? "told_change_right" : "told_change_wrong", {}], ...said] };
}

/** The bars of both texts, and what is said of them.
    @returns {{ rows: { word: string, p: number, before: number }[], said: [string, object][] }} */
function compared(run, after, old, given) {
  const p = run.probs, q = after.probs;
  const ids = [...new Set([...likeliest(q, BARS - 2), ...likeliest(p, BARS - 2)])];
  const rows = run.words(ids).map((name, k) => ({ word: name, p: q[ids[k]], before: p[ids[k]] }))
    .sort((one, other) => other.p - one.p);
  const was = run.first, now = after.first;
  const values = { old: word(old), new: word(given), before: word(was.word), p_before: share(was.p),
    top: word(now.word), p: share(now.p), p_same: share(q[was.id]) };
  const moved = p.reduce((sum, value, id) => sum + Math.abs(value - q[id]), 0) / 2;
  return { rows, said: [[was.id === now.id ? "told_change_stays" : "told_change", values],
    [moved >= MOVED ? "told_change_counts" : "told_change_little", values]] };
}

// The text from the first shown word on, as [piece, whether it is a word].
function cut(text, shown) {
  const pieces = [], isLong = [...text].length > TAIL;
  let at = isLong ? shown[0].index : 0;
  for (const { 0: found, index } of shown) {
    if (index > at) pieces.push([text.slice(at, index), false]);
    pieces.push([found, true]);
    at = index + found.length;
  }
  return at < text.length ? [...pieces, [text.slice(at), false]] : pieces;
}

// The word to begin with: where the likeliest next word stands in the text already, else the longest one of the last
// sentence's end.
function suggested(run, words) {
  const top = plain(run.first.word, "").toLowerCase();
  const same = words.findLastIndex(([found]) => found.toLowerCase() === top);
  if (same >= 0) return same;
  const sizes = words.map(([found]) => [...found].length), from = Math.max(0, words.length - 6);
  return sizes.indexOf(Math.max(...sizes.slice(from)), from);
}
