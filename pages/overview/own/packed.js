// One forward pass as the arrays that the map draws: pages/overview/packing.py without Python.
import { best, causalCells, causalRange, largest, lengthOf, lengths, rowOf }
  from "../../../core/components/engine/vectors.js";

const EXACT_TOKENS = 48;        // up to so many tokens, of a model with many heads fewer, values travel as float32
const TILE_SIDE = 64;           // most cells on a side of a tile in a long prompt
const MLP_COLUMNS = 64;         // of the strip of neurons, each the strongest of its neighbours
const CANDIDATES = 8;           // next tokens listed for every position
const HEADS = 48;               // with more heads each sends less
const LISTED_ENDS = 40;         // of the intervals of a draw

/** The most cells on a side of each of so many tiles that together have no more than HEADS tiles of side × side. */
const mostCells = (tiles, side) => Math.min(side, Math.floor(Math.sqrt((side * side * HEADS) / tiles)));

/** Sizes and arrays of the map that do not depend on the picked position. @param {any} config @param {any} trace */
export function passArrays(config, trace) {
  const { n_layers, n_heads, d_model, d_ff, vocab_size } = config, { n } = trace;
  const images = imagesOf(config, trace), isExact = n <= mostCells(n_layers * n_heads, EXACT_TOKENS);
  const each = (value) => Array(n_layers).fill(value), scales = {}, arrays = {};
  for (const [name, blocks] of Object.entries(images)) {
    const packed = blocks.map(quantised), sizes = packed.map(({ scale }) => scale);
    scales[name] = name === "mlp" ? sizes : sizes[0];
    arrays[name] = isExact ? joined(Float32Array, blocks) : joined(Uint8Array, packed.map(({ bytes }) => bytes));
  }
  const { step, patterns } = isExact ? exactPatterns(trace) : patternPictures(config, trace);
  const sizes = { n, d: d_model, layers: n_layers, heads: n_heads, vocabulary: vocab_size, experts: each(0),
    neurons: each(d_ff ?? 0), d_ff, columns: images.mlp ? images.mlp[0].length / n : 0, exact: isExact,
    long: n > EXACT_TOKENS, step, scales };
  return { sizes, arrays: { ...arrays, ...patterns, ...normArrays(config, trace) } };
}

// E, P and h, and the neurons of each block, each as a list of matrices that have scales of their own.
function imagesOf({ d_ff }, { n, embedding, position, h_final, blocks }) {
  return { E: [embedding], ...(position && { P: [position] }), h: [h_final],
    ...(d_ff && { mlp: blocks.map(({ mlp_post }) => strongest(mlp_post, n, d_ff)) }) };
}

// Neighbouring columns of an n × m matrix in groups, each by its largest value.
function strongest(values, n, m) {
  const width = Math.ceil(m / Math.min(m, MLP_COLUMNS)), columns = Math.ceil(m / width);
  return Float32Array.from({ length: n * columns }, (_, k) => {
    const row = Math.floor(k / columns) * m, from = (k % columns) * width;
    return largest(values.subarray(row + from, row + Math.min(m, from + width)));
  });
}

// Signed values as bytes, value ≈ (byte − 128) / 127 · scale, with the largest size as the scale.
function quantised(values) {
  const scale = largest(values.map(Math.abs)) || 1;
  return { bytes: Uint8Array.from(values, (value) => Math.round((value / scale) * 127) + 128), scale };
}

function joined(Kind, parts) {
  const whole = new Kind(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// The lengths of vectors, a row for each block: stream (L + 1, N), middle, attention and feed_forward (L, N).
function normArrays({ d_model, d_ff }, { blocks, resid_final }) {
  const norms = (matrices) => joined(Float32Array, matrices.map((matrix) => lengths(matrix, d_model)));
  return { stream: norms(depthsOf({ blocks, resid_final })), middle: norms(blocks.map(({ resid_mid }) => resid_mid)),
    attention: norms(blocks.map(({ attn_out }) => attn_out)),
    ...(d_ff && { feed_forward: norms(blocks.map(({ mlp_out }) => mlp_out)) }) };
}

/** The stream (N, d) before each block, and after the last. @param {any} trace @returns {Float32Array[]} */
export const depthsOf = ({ blocks, resid_final }) => [...blocks.map(({ resid_pre }) => resid_pre), resid_final];

// The patterns of all heads of all blocks, each n × n.
const patternsOf = ({ n, blocks }) => blocks.flatMap(({ pattern }) =>
  Array.from({ length: pattern.length / (n * n) }, (_, head) => rowOf(pattern, n * n, head)));

function rangesOf(n, side) {
  const { first, last } = causalRange(n), { first: cell_first, last: cell_last } = causalRange(side);
  return { first, last, cell_first, cell_last };
}

// Every weight that a query may give.
function exactPatterns(trace) {
  const { n } = trace, cells = patternsOf(trace).map((pattern) => causalCells(pattern, n));
  return { step: 1, patterns: { ...rangesOf(n, n), patterns: joined(Float32Array, cells) } };
}

// A byte for each block of step × step weights, the largest, and for each weight the mean over a block's heads.
function patternPictures({ n_heads }, trace) {
  const { n, blocks } = trace, all = patternsOf(trace), step = Math.ceil(n / mostCells(all.length, TILE_SIDE));
  const side = Math.ceil(n / step), bytes = (matrix, size) => causalCells(matrix, size).map((weight) =>
    Math.round(Math.sqrt(weight) * 255));
  const means = blocks.map((_, l) => {
    const mean = new Float32Array(n * n);
    for (const pattern of all.slice(l * n_heads, (l + 1) * n_heads))
      for (let k = 0; k < mean.length; k++) mean[k] += pattern[k] / n_heads;
    return bytes(mean, n);
  });
  const cells = all.map((pattern) => bytes(largestCells(pattern, n, step, side), side));
  return { step, patterns: { ...rangesOf(n, side), patterns: joined(Uint8Array, cells),
    mean: joined(Uint8Array, means) } };
}

// Blocks of step × step cells of an n × n matrix, each with its largest weight: (side, side).
function largestCells(pattern, n, step, side) {
  const cells = new Float32Array(side * side);
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      const cell = Math.floor(i / step) * side + Math.floor(j / step);
      cells[cell] = Math.max(cells[cell], pattern[i * n + j]);
    }
  return cells;
}

/** What differs between two passes over texts of one length: `differs` (L · h), the most by which a weight of each head
 * differs, and `shifted` (L + 1, N), the length of the stream's difference as a share of the plain one's.
 * @param {any} config @param {any} plain @param {any} changed */
export function difference({ d_model }, plain, changed) {
  const others = patternsOf(changed), streams = depthsOf(changed);
  const differs = patternsOf(plain).map((pattern, k) => largest(pattern.map((one, m) => Math.abs(one - others[k][m]))));
  const shifted = depthsOf(plain).map((stream, l) => Float32Array.from({ length: plain.n }, (_, i) => {
    const row = rowOf(stream, d_model, i), other = rowOf(streams[l], d_model, i);
    return lengthOf(row.map((one, c) => one - other[c])) / Math.max(lengthOf(row), 1e-12);
  }));
  return { differs: Float32Array.from(differs), shifted: joined(Float32Array, shifted) };
}

/** For every position the likeliest next tokens, [visible form, id, probability], the likeliest first.
 * @param {any} config @param {any} trace @param {any} tokenizer @returns {[string, number, number][][]} */
export function candidates({ vocab_size }, { n, logits }, tokenizer) {
  return Array.from({ length: n }, (_, i) => {
    const row = rowOf(logits, vocab_size, i), top = largest(row);
    let total = 0;
    for (let id = 0; id < vocab_size; id++) total += Math.exp(row[id] - top);
    return best(row, CANDIDATES).map((id) => [tokenizer.visible(id), id, Math.exp(row[id] - top) / total]);
  });
}

/** The draw as the map shows it: ξ, the token whose interval holds it with that interval, and where the first intervals
 * end. @param {any} truncation of truncation.js @param {number} xi @param {any} tokenizer */
export function thrown(truncation, xi, tokenizer) {
  const { tokenIds, renormalised, intervalEnds: ends } = truncation, place = truncation.draw(xi), id = tokenIds[place];
  return { xi, id, token: tokenizer.visible(id), place, probability: renormalised[place],
    from: place ? ends[place - 1] : 0, to: ends[place], ends: [...ends.subarray(0, LISTED_ENDS)] };
}
