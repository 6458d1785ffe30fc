// Steps 7 to 9, inside the model: one head that looks back, all heads, and the blocks one after the other.
// pages/tour/looking.py without Python.
import { logitsOf, normed, softmax, unembedding } from "../../../core/components/engine/readout.js";
import { best, dot, largest, rowOf, statistics } from "../../../core/components/engine/vectors.js";
import { BARS, likeliest, plain, roundEven, share, spaced, whole, word } from "./reading.js";

/** @import { Reading, Step } from "./reading.js" */

const MOST_LOOKED_AT = 48;          // tokens of a long text that are shown, its last ones
const MOST_TILE_CELLS = 200_000;    // of the wall, all tiles together
const MOST_RUNGS = 9;               // depths that are shown of a model of many blocks

/** Look back: the token that the reader would look at, and where one head looks.
    @param {Reading} run @returns {Step} */
export function look(run, done) {
  if (run.nWords < 3) return { asks: null };
  const { n } = run, begin = Math.max(0, n - MOST_LOOKED_AT);
  const names = run.tokens.map((token, i) => (i ? token : run.own.words.text.start_mark));
  const [layer, head] = tellingHead(run), weights = [...patternOf(run, layer, head, n - 1)];
  const asks = { tokens: names.slice(begin), from: begin };
  const values = { last: word(names[n - 1]), head: `${layer}.${head}`, heads: nHeads(run) };
  const guess = done.look ? whole(done.look.key, begin, n - 1) : null;
  if (guess === null) return { asks, values };
  const key = weights.indexOf(largest(weights)), isSame = names[guess] === names[key];
  const told = { ...values, seen: word(names[key]), share: share(weights[key]), guess: word(names[guess]),
    mine: share(weights[guess]) };
  return { asks, tells: { weights: weights.slice(begin), guess: guess - begin }, values,
    said: [[isSame ? "told_look_same" : "told_look", told], ["told_look_on", told]] };
}

// The weights of a query, from the first key to the last.
const patternOf = ({ trace, n }, layer, head, query) => rowOf(trace.blocks[layer].pattern, n, head * n + query);

/** [block, head] of the head with the largest product of its largest weight and its addition to the likeliest next
 * token's logit, among heads whose largest weight is on an earlier token of the text; among all if there is none.
 * @param {Reading} run @returns {[number, number]} */
export function tellingHead(run) {
  const { n_layers, n_heads } = run.config, { id } = run.first, last = run.n - 1, written = frozen(run, id);
  const heads = Array.from({ length: n_layers * n_heads }, (_, k) => {
    const layer = Math.floor(k / n_heads), head = k % n_heads, weights = patternOf(run, layer, head, last);
    const most = largest(weights), at = weights.indexOf(most);
    return { at: [layer, head], value: written(layer, head) * most, isBack: at >= 1 && at < last };
  });
  const back = heads.filter(({ isBack }) => isBack), among = back.length ? back : heads;
  return /** @type {[number, number]} */ (among.reduce((one, other) => (other.value > one.value ? other : one)).at);
}

// What a head adds to a token's logit after the last token, with the σ of the final norm frozen.
function frozen({ model, config, trace, n }, id) {
  const { d_model: d, d_v, norm_epsilon } = config, gain = model.tensors.get("final_norm.weight").data;
  const { scale } = statistics(rowOf(trace.resid_final, d, n - 1), norm_epsilon);
  const row = rowOf(unembedding(model), d, id);
  const weighted = Float64Array.from(row, (value, c) => (value * gain[c]) / scale);
  const mean = weighted.reduce((sum, value) => sum + value, 0) / d, centred = weighted.map((value) => value - mean);
  return (layer, head) => {
    const W_O = model.tensors.get(`blocks.${layer}.W_O`).data;
    const fetched = rowOf(trace.blocks[layer].head_out, d_v, head * n + n - 1);
    return fetched.reduce((sum, value, c) => sum + value * dot(rowOf(W_O, d, head * d_v + c), centred), 0);
  };
}

const nHeads = ({ config: { n_layers, n_heads } }) => n_layers * n_heads;

/** All heads, and what is left of the likeliest next token when the reader switches some off.
    @param {Reading} run @returns {Step} */
export function heads(run, done) {
  if (run.nWords < 3) return { asks: null };
  const { n_layers: layers, n_heads: h } = run.config, n = nHeads(run), { first, probs } = run;
  const [layer, head] = tellingHead(run), { side, tiles } = wallOf(run);
  const asks = { layers, heads: h, side, met: layer * h + head }, arrays = { tiles };
  const values = { n, top: word(first.word), h, layers };
  const off = [...new Set((done.heads?.off ?? []).map(Math.trunc))].filter((i) => i >= 0 && i < n)
    .sort((a, b) => a - b);
  if (!off.length) {
    const rows = [{ word: first.word, p: first.p, before: first.p }];
    return { asks: { ...asks, rows }, tells: done.heads ? { off: [], rows } : null, values, arrays };
  }
  const without = run.changed({ heads: off.map((i) => [Math.floor(i / h), i % h]) });
  const ids = [...new Set([first.id, ...likeliest(without, BARS - 2)])], [now] = best(without, 1);
  const rows = run.words(ids).map((name, k) => ({ word: name, p: without[ids[k]], before: probs[ids[k]] }));
  const told = { off: off.length, n, top: word(first.word), before: share(first.p), p: share(without[first.id]),
    now: word(plain(run.tokenizer.visible(now), run.text)), p_now: share(without[now]) };
  const kind = (off.length === 1 ? "one_" : "") + (now === first.id ? "stays" : "lost");
  return { asks: { ...asks, rows }, tells: { off, rows }, said: [[`told_heads_${kind}`, told]], values, arrays };
}

// The side of a tile, and every head's pattern over the last `side` tokens, by the square root of the weight.
function wallOf(run) {
  const { n, trace } = run, { n_heads } = run.config;
  const side = Math.min(n, Math.max(4, Math.floor(Math.sqrt(MOST_TILE_CELLS / nHeads(run)))));
  const tiles = new Uint8Array(nHeads(run) * side * side);
  let at = 0;
  for (const { pattern } of trace.blocks)
    for (let head = 0; head < n_heads; head++)
      for (let i = n - side; i < n; i++)
        for (let j = n - side; j < n; j++, at++) {
          const root = Math.fround(Math.sqrt(Math.max(0, pattern[(head * n + i) * n + j])));
          tiles[at] = roundEven(Math.fround(root * 255));
        }
  return { side, tiles };
}

/** Layer by layer: the block from which on the likeliest next token leads, in the text or, if only the last block
 * decides there, in the tour's own sentence. @param {Reading} own @returns {Step} */
export function layers(own, done) {
  const { n_layers: n } = own.config, run = toldEarly(own), { word: top } = run.first;
  const asks = { n, top, ...(run !== own && { variant: "other", text: run.text }) };
  const values = { n, top: word(top) };
  const guess = done.layers ? whole(done.layers.guess, 0, n) : null;
  if (guess === null) return { asks, values };
  const { leaders, chances } = lensOf(run), first = leadOf(leaders), names = run.words(leaders);
  const changes = leaders.filter((id, k) => k && id !== leaders[k - 1]).length;
  const at = [...new Set([...spaced(n, Math.min(n + 1, MOST_RUNGS)), first, guess])].sort((a, b) => a - b);
  const rungs = at.map((k) => ({ after: k, word: names[k], p: chances[k], mine: k === guess, first: k === first }));
  const told = { ...values, guess, first, changes, last: word(names[0]), own: word(own.first.word) };
  const leads = !first ? "told_layers_start" : first === n ? "told_layers_end" : "told_layers_from";
  const said = [guess === first ? "told_layers_right" : "told_layers_wrong", leads,
    ...(leaders[0] === run.ids.at(-1) ? ["told_layers_repeats"] : []),
    ...(changes > 1 ? ["told_layers_changes"] : []), ...(run !== own ? ["told_layers_own"] : [])];
  return { asks, tells: { rungs }, said: said.map((label) => [label, told]), values };
}

function toldEarly(run) {
  const isEarly = (one) => leadOf(lensOf(one).leaders) < run.config.n_layers;
  if (isEarly(run)) return run;
  const other = run.withText(run.own.words.text.text_layers);
  return isEarly(other) ? other : run;
}

/** After how many blocks the last one of the leading tokens leads, and stays ahead. @param {number[]} leaders */
export const leadOf = (leaders) => leaders.findLastIndex((leader) => leader !== leaders[leaders.length - 1]) + 1;

// If the model stopped after 0, 1, … L blocks: the token that would be likeliest next, and the probability of the one
// that is likeliest in the end.
function lensOf({ model, config: { d_model }, trace: { blocks, resid_final }, n, first }) {
  const depths = [...blocks.map(({ resid_pre }) => resid_pre), resid_final];
  const rows = depths.map((resid) =>
    softmax(logitsOf(model, normed(model, "final_norm", rowOf(resid, d_model, n - 1)))));
  return { leaders: rows.map((probs) => best(probs, 1)[0]), chances: rows.map((probs) => probs[first.id]) };
}
