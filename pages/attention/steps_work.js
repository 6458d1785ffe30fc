// The numbers of one head for one query, each made from those before, in float64, as core/analysis/attention_steps.py
// has them. What the browser was given holds the keys of a window, and what those outside it come to.

export const product = (a, b) => a.reduce((sum, value, c) => sum + value * b[c], 0);

export const meanSquare = (values) => product(values, values) / values.length;

/** a − b, and exactly 0 where sums taken in another order differ by rounding alone. */
const nearly = (a, b) => (Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(b)) ? 0 : a - b);

/** A query or key over its root mean square, times the norm's gain: core/model/block.py's q_norm and k_norm. */
export function normed(values, gain, epsilon) {
  const rms = Math.sqrt(meanSquare(values) + epsilon);
  return Float64Array.from(values, (value, c) => (value / rms) * gain[c]);
}

/**
 * All numbers of a variant: `items`, one for each key of the window, with the dot product, its scaled form, the bias,
 * the score, e^(s − top), the weight α and α v; what the keys outside add (restAlpha, restAV); and the output `out`.
 * `given` is the header that Python packed, with its arrays.
 */
export function worked(given, simple) {
  const { window: keys, sizes, chosen, rest } = given, i = keys.indexOf(chosen.position);
  const vectors = vectorsOf(given, simple);
  const outside = simple ? rest.simple : rest.head, width = simple ? sizes.d : sizes.d_v;
  const divisor = !simple && given.scaled ? Math.sqrt(sizes.d_k) : 1;
  const items = keys.map((j, r) => {
    const dot = dotOf(given, vectors.q, vectors.K[r], simple), scale = dot / divisor, bias = simple ? 0 : given.bias[r];
    const score = scale + bias, seen = given.allowed[i * keys.length + r] > 0;
    const exp = seen ? Math.exp(nearly(score, outside.top)) : 0;
    return { j, r, X: vectors.X[r], K: vectors.K[r], V: vectors.V[r], dot, scale, bias, score, seen, exp };
  });
  const total = items.reduce((sum, item) => sum + item.exp, outside.sum);
  for (const item of items) {
    item.alpha = item.exp / total;
    item.AV = Float64Array.from(item.V, (value) => item.alpha * value);
  }
  const carried = simple ? given.rest_simple : given.rest_head;
  const restAV = Float64Array.from({ length: width }, (_, c) => (carried[c] ?? 0) / total);
  const sumOf = (_, c) => items.reduce((sum, item) => sum + item.AV[c], restAV[c]);
  const out = Float64Array.from({ length: width }, sumOf);
  return { items, i, q: vectors.q, total, top: outside.top, out, restAV, restAlpha: outside.sum / total, width };
}

const rowsOf = (given, values, width) => given.window.map((_, r) => values.subarray(r * width, (r + 1) * width));

/** The query, and the window's rows of X, K and V; the simple variant takes X for all of them. */
function vectorsOf(given, simple) {
  const { window: keys, chosen, sizes } = given, X = rowsOf(given, given.X, sizes.d);
  if (simple) return { X, q: X[keys.indexOf(chosen.position)], K: X, V: X };
  return { X, q: given.q, K: rowsOf(given, given.K, sizes.d_k), V: rowsOf(given, given.V, sizes.d_v) };
}

function dotOf({ score, v_S }, q, k, simple) {
  if (simple || score !== "additive") return product(q, k);
  return q.reduce((sum, value, c) => sum + v_S[c] * Math.tanh(value + k[c]), 0);
}

/** The query and the window's keys after each step that changes them: as the projections make them, normed, and as the
    scores take them. */
export function onTheWay(given, stages) {
  const { norm, sizes: { d_k } } = given, K = rowsOf(given, given.K_raw, d_k), found = { qkv: { q: given.q_raw, K } };
  if (norm) {
    const keys = K.map((k) => normed(k, given.k_gain, norm.epsilon));
    found.norm = { q: normed(given.q_raw, given.q_gain, norm.epsilon), K: keys };
  }
  if (stages.includes("turn")) found.turn = { q: given.q, K: rowsOf(given, given.K, d_k) };
  return found;
}
