// Attention with every step kept. h heads (h_kv of them with keys and values of their own), n queries, M keys: those of
// earlier tokens, which a cache holds, and the queries' own.
import { softmaxInto } from "./curves.js";
import { editHeads, editPattern, editScores, editSublayer } from "./edits.js";
import { matrix, product, transposed } from "./linear.js";
import { turned } from "./positions.js";

/** Head number `head` of an array (heads, rows, columns). */
const headOf = (data, head, rows, columns) => matrix(data, rows, columns, head * rows * columns);

/** The number of the head whose keys and values a query head reads (Ainslie et al. 2023). */
const sharedBy = (head, { n_heads, n_kv_heads }) => Math.floor(head * n_kv_heads / n_heads);

/** (heads, n, k): X W + b for every head, X (n, d), W (heads, d, k), b (heads, k). */
function projected(X, n, W, b) {
  const [heads, d, k] = W.shape, out = new Float32Array(heads * n * k), x = matrix(X, n, d);
  for (let head = 0; head < heads; head += 1)
    product(x, headOf(W.data, head, d, k), out, head * n * k, b.data.subarray(head * k, (head + 1) * k));
  return out;
}

/** (h, n, d_k): each head's queries times its W_S. */
function multiplied(Q, n, { data, shape: [h, d_k] }) {
  const out = new Float32Array(Q.length);
  for (let head = 0; head < h; head += 1)
    product(headOf(Q, head, n, d_k), headOf(data, head, d_k, d_k), out, head * n * d_k);
  return out;
}

/** Scores v·tanh(q + k) of one head, written to `at` and on (Bahdanau et al. 2015). */
function addInto(scores, at, Q, K, v) {
  for (let i = 0, to = at; i < Q.rows; i += 1)
    for (let j = 0; j < K.rows; j += 1, to += 1) {
      let score = 0;
      for (let c = 0; c < v.length; c += 1)
        score += v[c] * Math.tanh(Q.data[Q.at + i * Q.down + c] + K.data[K.at + j * K.down + c]);
      scores[to] = score;
    }
}

/** (h, n, M) how well each query matches each key, as the model compares them; nothing is masked or added yet. */
function matched(block, Q, K, { config, n, total }) {
  const { n_heads: h, d_k, score } = config, scores = new Float32Array(h * n * total);
  const queries = score === "multiplicative" ? multiplied(Q, n, block.W_S) : Q;
  for (let head = 0; head < h; head += 1) {
    const q = headOf(queries, head, n, d_k), k = headOf(K, sharedBy(head, config), total, d_k), at = head * n * total;
    if (score === "additive") addInto(scores, at, q, k, block.v_S.data.subarray(head * d_k, (head + 1) * d_k));
    else product(q, transposed(k), scores, at);
  }
  return score === "additive" ? scores : scores.map((value) => value / Math.sqrt(d_k));
}

/** Add what positions add to the scores. */
function addBias(scores, block, { config, n, total, start, bias }) {
  if (!bias) return;
  for (let head = 0, at = 0; head < config.n_heads; head += 1)
    for (let i = start; i < start + n; i += 1)
      for (let j = 0; j < total; j += 1, at += 1) scores[at] += bias(block.r, head, i - j);
}

/** (h, n, M) the softmax of each row of scores over the keys up to the query's own, and 0 beyond. */
function patternOf(scores, { config, n, total, start }) {
  const pattern = new Float32Array(scores.length);
  for (let row = 0; row < config.n_heads * n; row += 1)
    softmaxInto(pattern, scores, row * total, row * total + start + row % n + 1);
  return pattern;
}

/** (h, n, d_v): the pattern times the values. */
function fetched(pattern, V, { config, n, total }) {
  const { n_heads: h, d_v } = config, out = new Float32Array(h * n * d_v);
  for (let head = 0; head < h; head += 1)
    product(headOf(pattern, head, n, total), headOf(V, sharedBy(head, config), total, d_v), out, head * n * d_v);
  return out;
}

/** (n, d): every head's output times its W_O, summed, plus b_O. */
function written(head_out, W_O, b_O, n) {
  const [h, d_v, d] = W_O.shape, beside = new Float32Array(n * h * d_v);
  for (let head = 0; head < h; head += 1)
    for (let i = 0; i < n; i += 1) {
      const from = (head * n + i) * d_v;
      beside.set(head_out.subarray(from, from + d_v), (i * h + head) * d_v);
    }
  return product(matrix(beside, n, h * d_v), matrix(W_O.data, h * d_v, d), new Float32Array(n * d), 0, b_O.data);
}

/**
 * One block's attention over X (n, d).
 * @param {import("./block.js").Parameters} block
 * @param {import("./block.js").Pass} pass
 * @returns the fields of core's BlockTrace from Q to attn_out
 */
export function attend(block, X, pass, layer) {
  const { config, n, turns, change, cache } = pass;
  const Q = projected(X, n, block.W_Q, block.b_Q), K = projected(X, n, block.W_K, block.b_K);
  const V = projected(X, n, block.W_V, block.b_V);
  const Q_rotated = turned(Q, turns, n, config.d_k), K_rotated = turned(K, turns, n, config.d_k);
  const { keys, values } = cache?.extend(layer, K_rotated, V, config.n_kv_heads) ?? { keys: K_rotated, values: V };
  const scores = matched(block, Q_rotated, keys, pass);
  addBias(scores, block, pass);
  editScores(scores, change, layer, n);
  const pattern = patternOf(scores, pass);
  editPattern(pattern, change, layer, n);
  const head_out = fetched(pattern, values, pass);
  editHeads(head_out, change, layer, n * config.d_v);
  const attn_out = written(head_out, block.W_O, block.b_O, n);
  editSublayer(attn_out, change, layer, "attention");
  return { Q, K, V, Q_rotated, K_rotated, scores, pattern, head_out, attn_out };
}
