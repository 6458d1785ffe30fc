// Steps 10 to 12: the dice, how the model learned, and the whole map. pages/tour/ending.py without Python.
import { plain, share, whole as wholeNumber, word } from "./reading.js";

/** @import { Reading, Step } from "./reading.js" */

/** From scores to one word: what the temperature does to the likeliest. @param {Reading} run @returns {Step} */
export function dice(run, done) {
  const { logits, first } = run;
  const order = [...logits.keys()].sort((one, other) => logits[other] - logits[one] || one - other);
  const asks = { names: run.words(order), top: first.word };
  const arrays = { logits: Float32Array.from(order, (id) => logits[id]) };
  const values = { top: word(first.word), p: share(first.p) }, guess = String(done.dice?.guess ?? "");
  if (!["more", "less"].includes(guess)) return { asks, values, arrays };
  return { asks, tells: { guess }, said: [[guess === "less" ? "told_dice_right" : "told_dice_wrong", values]], values,
    arrays };
}

/** How it learned: Python's step as it was when the file was made, since the models of those moments are not in it.
    @param {Reading} run @returns {Step} */
export function learn(run, done) {
  const { asks, values, told, options } = run.own.words.learn ?? {};
  if (!asks) return { asks: null };
  const { guess, at: asked } = done.learn ?? {};
  if (!asks.options.includes(guess)) return { asks, values };
  const at = wholeNumber(asked, 0, asks.moments.length - 1) || 0;
  const right = [guess === "frequent" ? "told_learn_right" : "told_learn_wrong", { ...told, guess: options[guess] }];
  return { asks, tells: { at, guess }, values, said: /** @type {[string, object][]} */ (
    [...(told.pieces ? [right] : []), ...(at ? [] : [["told_learn_on", {}]])]) };
}

/** The whole map. @param {Reading} run @returns {Step} */
export function whole(run) {
  const { d_model: d, n_layers: layers, n_heads, vocab_size: v } = run.config, { first, tokens } = run;
  const values = { n: run.nWords, d, heads: layers * n_heads, layers, top: word(first.word), p: share(first.p), v,
    last: word(plain(tokens[tokens.length - 1], "")) };
  return { asks: { ways: [] }, said: [], values };
}
