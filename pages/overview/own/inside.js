// Answers to a reader who goes into the picture, without Python: pages/overview/inside.py has the same at each depth.
import { logitsOf, normed, softmaxAt, unembedding } from "../../../core/components/engine/readout.js";
import { best, causalCells, causalRange, dot, lengthOf, lengths, rowOf, statistics }
  from "../../../core/components/engine/vectors.js";
import { lookAt, stepsOf } from "./steps.js";

const GUESSED = 3;          // tokens that the lens guesses at each depth
const OFFERED = 24;         // likeliest next tokens
const PROMOTED = 6;         // tokens, of all that a neuron promotes
const LIKE = 8;             // tokens whose rows are most like one
const MOST_READ = 24;       // neurons whose tokens are read in one answer

const DEPTHS = { head, look: lookAt, number, neurons, neuron, embedding, stream, end, logit };

/** @import { Pass } from "./steps.js" */

/** The numbers of a place that the model and its text have, such as "look.4.3.11": the fields and the arrays of the
 * answer of inside.py by their names. @param {any} model @param {any} tokenizer @param {any} trace
 * @param {any} change of the pass @param {string} place @returns {Record<string, any>} */
export function answer(model, tokenizer, trace, change, place) {
  const [depth, ...at] = place.split(".");
  return DEPTHS[depth]({ model, tokenizer, trace, change }, ...at.map(Number));
}

/** The parameter of a block, by its name in core's Block; null if the model has none.
    @returns {Float32Array | null} */
const weight = ({ tensors }, layer, name) => tensors.get(`blocks.${layer}.${name}`)?.data ?? null;

// Column c of a matrix of `width` columns that begins at entry `start`.
const column = (values, width, c, rows, start = 0) =>
  Float32Array.from({ length: rows }, (_, m) => values[start + m * width + c]);

const forms = (tokenizer, ids) => ids.map((id) => tokenizer.visible(id));

/** @param {Pass} pass */
function head({ trace: { n, blocks } }, layer, index) {
  const pattern = blocks[layer].pattern.subarray(index * n * n, (index + 1) * n * n);
  return { pattern: causalCells(pattern, n), ...causalRange(n) };
}

/** @param {Pass} pass */
function number({ model, trace }, layer, index, query, key, which) {
  const { d_model, d_k, n_heads, n_kv_heads } = model.config, { n, blocks: { [layer]: block } } = trace;
  const isKey = which >= d_k, c = which % d_k, name = isKey ? "K" : "Q", at = isKey ? key : query;
  const own = isKey ? Math.floor(index / (n_heads / n_kv_heads)) : index, place = (own * n + at) * d_k + c;
  const bias = weight(model, layer, `b_${name}`);
  return { bias: bias ? bias[own * d_k + c] : 0, value: block[name][place],
    used: isKey ? block.K_rotated[place] : stepsOf(model, trace, layer, index, query).q[c],
    x: rowOf(block.X, d_model, at).slice(),
    w: column(weight(model, layer, `W_${name}`), d_k, c, d_model, own * d_model * d_k) };
}

// ---- neurons ----

/** @param {Pass} pass */
function neurons(pass, layer, position) {
  const { model: { config: { d_model, d_ff } }, trace: { blocks: { [layer]: block } } } = pass;
  const post = rowOf(block.mlp_post, d_ff, position).slice(), pre = rowOf(block.mlp_pre, d_ff, position).slice();
  const writes = lengths(weight(pass.model, layer, "W_2"), d_model);
  const size = post.map((value, m) => Math.abs(value) * writes[m]);
  const read = best(size, MOST_READ).map((m) => ({ neuron: m, promotes: promoted(pass, layer, position, m).promotes }));
  return { read, pre, post, size };
}

/** @param {Pass} pass */
function neuron(pass, layer, position, m) {
  const { model, trace: { n, blocks: { [layer]: block } } } = pass, { d_model, d_ff } = model.config;
  const bias = weight(model, layer, "b_1"), at = position * d_ff + m;
  const x = normed(model, `blocks.${layer}.mlp_norm`, rowOf(block.resid_mid, d_model, position));
  return { bias: bias ? bias[m] : 0, pre: block.mlp_pre[at], post: block.mlp_post[at], up: null,
    ...promoted(pass, layer, position, m), fires: column(block.mlp_post, d_ff, m, n), x: Float32Array.from(x),
    w: column(weight(model, layer, "W_1"), d_ff, m, d_model) };
}

// The tokens whose logits a neuron raises most and lowers most as it fires at a position, and by how much each, on the
// direct path: the final norm with its σ frozen, then the unembedding.
/** @param {Pass} pass */
function promoted({ model, tokenizer, trace }, layer, position, m) {
  const { d_model, d_ff, norm_epsilon } = model.config, fired = trace.blocks[layer].mlp_post[position * d_ff + m];
  const gain = model.tensors.get("final_norm.weight").data, row = rowOf(weight(model, layer, "W_2"), d_model, m);
  const { scale } = statistics(rowOf(trace.resid_final, d_model, position), norm_epsilon);
  const written = Float64Array.from(row, (value) => fired * value), { mean } = statistics(written, norm_epsilon);
  const raised = logitsOf(model, written.map((value, c) => ((value - mean) / scale) * gain[c]));
  const ends = [best(raised, PROMOTED), best(raised.map((value) => -value), PROMOTED)];
  const [promotes, suppresses] = ends.map((ids) => forms(tokenizer, ids));
  return { promotes, suppresses, amounts: ends.flat().map((id) => raised[id]) };
}

// ---- both ends, and the stream between them ----

/** @param {Pass} pass */
function embedding({ model, tokenizer, trace }, position) {
  const { vocab_size, d_model } = model.config, E = model.tensors.get("E").data, own = trace.ids[position];
  const row = rowOf(E, d_model, own), length = lengthOf(row);
  const cosines = Float64Array.from({ length: vocab_size }, (_, id) => {
    const other = rowOf(E, d_model, id);
    return id === own ? -Infinity : dot(row, other) / (length * lengthOf(other)) || 0;
  });
  const ids = best(cosines, LIKE);
  return { ids, tokens: forms(tokenizer, ids), cosine: Float32Array.from(ids, (id) => cosines[id]) };
}

/** @param {Pass} pass */
function stream({ model, tokenizer, trace: { blocks, resid_final } }, position) {
  const { d_model } = model.config;
  const depths = [...blocks.map(({ resid_pre }) => resid_pre), resid_final].map((resid) =>
    rowOf(resid, d_model, position));
  const last = depths[depths.length - 1];
  const guesses = depths.map((resid) => {
    const logits = logitsOf(model, normed(model, "final_norm", resid)), ids = best(logits, GUESSED);
    const probs = softmaxAt(logits, ids).probs;
    return ids.map((id, k) => [tokenizer.visible(id), probs[k]]);
  });
  return { guesses, cosine: Float32Array.from(depths, (resid) =>
    dot(resid, last) / (lengthOf(resid) * lengthOf(last))) };
}

/** @param {Pass} pass */
function end({ model, tokenizer, trace }, position) {
  const logits = rowOf(trace.logits, model.config.vocab_size, position), ids = best(logits, OFFERED);
  return { ids, tokens: forms(tokenizer, ids), ...softmaxAt(logits, ids),
    logits: Float64Array.from(ids, (id) => logits[id]) };
}

/** @param {Pass} pass */
function logit({ model, tokenizer, trace }, position, id) {
  const { d_model, vocab_size } = model.config, x = rowOf(trace.h_final, d_model, position).slice();
  const w = rowOf(unembedding(model), d_model, id).slice();
  return { token: tokenizer.visible(id), bias: 0, value: dot(x, w), used: trace.logits[position * vocab_size + id],
    x, w };
}
