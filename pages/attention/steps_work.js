// The numbers of one head for one query, each computed from those before, in float64, as in
// core/analysis/attention_steps.py. The browser has the keys of a window, and the totals of those outside it.

/** @import { Message } from "./steps.js" */
/** @typedef {Record<"j" | "r" | "dot" | "scale" | "cap" | "bias" | "score" | "exp", number> & { seen: boolean,
 *   alpha?: number, AV?: Float64Array, token?: string, k?: ArrayLike<number> }
 *   & Record<"X" | "K" | "V", Float32Array>} Item */

export const product = (a, b) => a.reduce((sum, value, c) => sum + value * b[c], 0);

/** a − b, and exactly 0 where a and b differ only by the rounding of sums in another order. */
const nearly = (a, b) => (Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(b)) ? 0 : a - b);

/** A query or key less `mean` over `scale`, times the norm's gain: core/model/block.py's q_norm and k_norm. They are 0
    and a root mean square, its own or that of its token's heads together; or its own mean and standard deviation. */
export const normed = (values, gain, mean, scale) =>
  Float64Array.from(values, (value, c) => ((value - mean) / scale) * gain[c]);

/** c tanh(x / c), or x itself for a cap of 0. */
export const capped = (x, cap) => (cap ? cap * Math.tanh(x / cap) : x);

/**
 * All numbers of a variant: `items`, one for each key of the window, with the dot product, its scaled form, that form
 * capped, the bias, the score, e^(s − top), the weight α and α v; what the keys outside add (restAlpha, restAV); what
 * the head's sink takes (sinkExp, sinkAlpha; 0 without one); and the output `out`.
 * @param {Message} header
 */
export function numbersOf(header, simple) {
  const { window: keys, sizes, chosen, rest } = header, i = keys.indexOf(chosen.position);
  const vectors = vectorsOf(header, simple);
  const outside = simple ? rest.simple : rest.head, width = simple ? sizes.d : sizes.d_v;
  const divisor = simple ? Math.sqrt(sizes.d) : header.scaled ? header.divisor : 1;
  /** @type {Item[]} */
  const items = keys.map((j, r) => {
    const dot = dotOf(header, vectors.q, vectors.K[r], simple), scale = dot / divisor;
    const cap = simple ? scale : capped(scale, header.cap), bias = simple ? 0 : header.bias[r], score = cap + bias;
    const seen = header.allowed[i * keys.length + r] > 0;
    const exp = seen ? Math.exp(nearly(score, outside.top)) : 0;
    return { j, r, X: vectors.X[r], K: vectors.K[r], V: vectors.V[r], dot, scale, cap, bias, score, seen, exp };
  });
  const sinkExp = simple || header.sink === null ? 0 : Math.exp(header.sink - outside.top);
  const total = items.reduce((sum, item) => sum + item.exp, outside.sum + sinkExp);
  for (const item of items) {
    item.alpha = item.exp / total;
    item.AV = Float64Array.from(item.V, (value) => item.alpha * value);
  }
  const carried = simple ? header.rest_simple : header.rest_head;
  const restAV = Float64Array.from({ length: width }, (_, c) => (carried[c] ?? 0) / total);
  const sumOf = (_, c) => items.reduce((sum, item) => sum + item.AV[c], restAV[c]);
  const out = Float64Array.from({ length: width }, sumOf);
  const sinkAlpha = sinkExp / total, restAlpha = outside.sum / total;
  return { items, i, q: vectors.q, total, top: outside.top, out, restAV, restAlpha, sinkExp, sinkAlpha, width };
}

/** @param {Message} header @param {Float32Array} values */
const rowsOf = (header, values, width) => header.window.map((_, r) => values.subarray(r * width, (r + 1) * width));

/** The query, and the window's rows of X, K and V; the simple variant takes the stream for all of them.
    @param {Message} header */
function vectorsOf(header, simple) {
  const { window: keys, chosen, sizes } = header, X = rowsOf(header, simple ? header.stream : header.X, sizes.d);
  if (simple) return { X, q: X[keys.indexOf(chosen.position)], K: X, V: X };
  return { X, q: header.q, K: rowsOf(header, header.K, sizes.d_k), V: rowsOf(header, header.V, sizes.d_v) };
}

/** @param {Message} header */
function dotOf({ score, v_S }, q, k, simple) {
  if (simple || score !== "additive") return product(q, k);
  return q.reduce((sum, value, c) => sum + v_S[c] * Math.tanh(value + k[c]), 0);
}

/** The query and the window's keys after each step that changes them: after the projections, after the norm, and as the
    scores use them. @param {Message} header */
export function levelsOf(header, stages) {
  const { norm, sizes: { d_k } } = header, K = rowsOf(header, header.K_raw, d_k);
  const levels = { qkv: { q: header.q_raw, K } };
  if (norm) {
    const keys = K.map((k, r) => normed(k, header.k_gain, header.k_mean[r], header.k_scale[r]));
    levels.norm = { q: normed(header.q_raw, header.q_gain, header.q_mean[0], header.q_scale[0]), K: keys };
  }
  if (stages.includes("turn")) levels.turn = { q: header.q, K: rowsOf(header, header.K, d_k) };
  return levels;
}
