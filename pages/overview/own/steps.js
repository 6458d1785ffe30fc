// The attention of one head for one query, step by step in float64 from the vectors that the pass kept, as
// core/analysis/attention_steps.py has it.
import { dot, largest, rowOf } from "../../../core/components/engine/vectors.js";

/** A pass over a text, of a model with its tokenizer; `change` is what the reader has changed of it.
 * @typedef {{ model: any, tokenizer: any, trace: any, change: any }} Pass */

/** The steps up to the scores, of a query (d_k) at the keys from the first to its own: keys (keys · d_k) and values
 * (keys · d_v) float32; `products`, `scaled` by the divisor, and `bias` (keys) float64, whose sum is the score.
 * @typedef {{ q: Float64Array, K: Float32Array, V: Float32Array, products: Float64Array, scaled: Float64Array,
 *   bias: Float64Array, divisor: number, dots: boolean }} Steps */

/** @param {any} model @param {any} trace @returns {Steps} */
export function stepsOf({ config, tensors }, { n, blocks }, layer, head, query) {
  const { d_k, d_v, n_heads, n_kv_heads, positions } = config, block = blocks[layer], keys = query + 1;
  const own = Math.floor(head / (n_heads / n_kv_heads));
  const weight = (name) => tensors.get(`blocks.${layer}.${name}`)?.data;
  const cut = (values, width) => values.slice(own * n * width, (own * n + keys) * width);
  const K = cut(block.K_rotated, d_k), V = cut(block.V, d_v), W_S = weight("W_S"), v_S = weight("v_S");
  const read = Float64Array.from(rowOf(block.Q_rotated, d_k, head * n + query));
  const q = W_S ? times(read, W_S.subarray(head * d_k * d_k)) : read;
  const v = v_S && rowOf(v_S, d_k, head), product = (key) =>
    (v ? v.reduce((sum, one, c) => sum + one * Math.tanh(q[c] + key[c]), 0) : dot(q, key));
  const products = Float64Array.from({ length: keys }, (_, j) => product(rowOf(K, d_k, j)));
  const divisor = v ? 1 : Math.sqrt(d_k), scaled = products.map((one) => one / divisor);
  const scores = rowOf(block.scores, n, head * n + query), isBiased = ["alibi", "relative"].includes(positions);
  return { q, K, V, products, scaled, bias: scaled.map((one, j) => (isBiased ? scores[j] - one : 0)), divisor,
    dots: !v };
}

// A row vector times a square matrix.
const times = (x, W) => x.map((_, c) => x.reduce((sum, one, m) => sum + one * W[m * x.length + c], 0));

const isOf = (layer, head, query) => ([l, h, i]) => l === layer && h === head && i === query;

/** A query's look at its keys, from the vectors to what is fetched, as `look` of inside.py. @param {Pass} pass */
export function lookAt({ model, trace, change }, layer, head, query) {
  const { q, K, V, products, scaled, bias, divisor, dots } = stepsOf(model, trace, layer, head, query);
  const isHere = isOf(layer, head, query), { d_v } = model.config;
  for (const [, , , key, score] of (change.scores ?? []).filter(isHere))
    if (key <= query) bias[key] += score - (scaled[key] + bias[key]);
  const scores = scaled.map((one, j) => one + bias[j]), top = largest(scores);
  const exponentials = scores.map((one) => Math.exp(one - top)), total = exponentials.reduce((sum, one) => sum + one);
  const weights = exponentials.map((one) => one / total);
  for (const [, , , key] of (change.weights ?? []).filter(isHere)) if (key <= query) weights[key] = 0;
  const output = Float32Array.from({ length: d_v }, (_, c) =>
    weights.reduce((sum, one, j) => sum + one * V[j * d_v + c], 0));
  return { from: 0, total, top, cap: 0, dots, divisor, sunk: 0, products, scaled, bias, scores, exponentials, weights,
    q: Float32Array.from(q), K, V, output, allowed: new Uint8Array(query + 1).fill(1) };
}
