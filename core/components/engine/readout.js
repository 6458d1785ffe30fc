// What is read off a vector of the stream: the final norm, the logits, and probabilities. All sums are float64.
import { largest, statistics } from "./vectors.js";

/** (|V|, d) the rows that are multiplied with the last vectors for the logits. @returns {Float32Array} */
export const unembedding = ({ tensors }) => (tensors.get("W_U") ?? tensors.get("E")).data;

/** (d) the norm of a vector, with the parameters of that name. @param {any} model @param {string} name
    @param {ArrayLike<number>} x @returns {Float64Array} */
export function normed({ tensors, config: { norm_epsilon } }, name, x) {
  const { mean, scale } = statistics(x, norm_epsilon);
  const gain = tensors.get(`${name}.weight`).data, bias = tensors.get(`${name}.bias`)?.data;
  return Float64Array.from(x, (value, c) => ((value - mean) / scale) * gain[c] + (bias ? bias[c] : 0));
}

/** (|V|) a vector times each row of the unembedding. @param {any} model @param {Float64Array} vector */
export function logitsOf(model, vector) {
  const rows = unembedding(model), d = vector.length, logits = new Float64Array(rows.length / d);
  for (let id = 0, at = 0; id < logits.length; id++)
    for (let c = 0; c < d; c++, at++) logits[id] += vector[c] * rows[at];
  return logits;
}

/** The softmax of some of the logits, with the largest of all and the sum of e^(u − that) over all.
    @param {Float32Array | Float64Array} logits @param {number[]} ids */
export function softmaxAt(logits, ids) {
  const top = largest(logits);
  let total = 0;
  for (let id = 0; id < logits.length; id++) total += Math.exp(logits[id] - top);
  return { top, total, probs: Float64Array.from(ids, (id) => Math.exp(logits[id] - top) / total) };
}

/** (|V|) the softmax of logits. @param {Float32Array | Float64Array} logits @returns {Float64Array} */
export function softmax(logits) {
  const top = largest(logits), powers = Float64Array.from(logits, (value) => Math.exp(value - top));
  const total = powers.reduce((sum, value) => sum + value, 0);
  return powers.map((value) => value / total);
}
