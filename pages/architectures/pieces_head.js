// One attention head over the patches of an image, alone or after the words of a text. Its map to d numbers is random,
// and its W^Q, W^K and W^V leave a vector as it is: q = k = v. No weight of it was learned.
import { seededUniforms } from "../../core/components/sampling_panel/truncation.js";

export const WIDTH = 64;          // d, and d_k of the one head
const SEED = { patches: 1, order: 8, words: 3 }, BASE = 10_000;

/** n numbers of a normal distribution with mean 0 and variance 1 (Box and Muller 1958). */
export function normals(n, seed) {
  const u = seededUniforms(seed, 2 * n);
  return Float64Array.from({ length: n }, (_, i) =>
    Math.sqrt(-2 * Math.log(1 - u[2 * i])) * Math.cos(2 * Math.PI * u[2 * i + 1]));
}

/** The patches of an image row by row, each as its numbers between −0.5 and 0.5: red, green and blue of each point.
    pixels: (side · side · 4) as getImageData gives them. */
export function patchesOf(pixels, side, patch) {
  const across = side / patch;
  return Array.from({ length: across ** 2 }, (_, k) => {
    const left = (k % across) * patch, top = Math.floor(k / across) * patch, row = new Float64Array(3 * patch ** 2);
    for (let y = 0, at = 0; y < patch; y++)
      for (let x = 0; x < patch; x++)
        for (let colour = 0; colour < 3; colour++)
          row[at++] = pixels[4 * ((top + y) * side + left + x) + colour] / 255 - 0.5;
    return row;
  });
}

/** LayerNorm: the vector less its mean, over its deviation. */
export function normed(x) {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const deviation = Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length) || 1;
  return x.map((value) => (value - mean) / deviation);
}

/** The vectors of the patches: their numbers times one random matrix, normed. */
export function embedded(patches) {
  const n = patches[0].length, E = normals(n * WIDTH, SEED.patches);
  return patches.map((row) => normed(Float64Array.from({ length: WIDTH }, (_, c) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += row[i] * E[i * WIDTH + c];
    return sum;
  })));
}

/** Vectors of words: those of the patches that some of them name (word -> vector), else random. */
export const wordVectors = (words, named = {}) =>
  words.map((word, k) => named[word] ?? normed(normals(WIDTH, SEED.words + k)));

/** The vectors with the sine and cosine waves of their places in the row added, normed again. */
export const placed = (X) => X.map((x, n) => normed(x.map((value, c) => {
  const angle = n / BASE ** ((c - (c % 2)) / WIDTH);
  return value + (c % 2 ? Math.cos(angle) : Math.sin(angle));
})));

/** The attention square, N rows of N weights: softmax of x_i · x_j / √d. */
export function weightsOf(X) {
  return X.map((q) => {
    const e = Float64Array.from(X, (k) => {
      let dot = 0;
      for (let c = 0; c < WIDTH; c++) dot += q[c] * k[c];
      return Math.exp(dot / Math.sqrt(WIDTH));        // at most e^√d: the vectors are normed
    });
    const total = e.reduce((sum, value) => sum + value, 0);
    return e.map((value) => value / total);
  });
}

/** A random order of n things, always the same one: order[place] = which of them stands there. */
export function orderOf(n) {
  const u = seededUniforms(SEED.order, n), order = Array.from({ length: n }, (_, k) => k);
  for (let k = n - 1; k > 0; k--) {
    const other = Math.floor(u[k] * (k + 1));
    [order[k], order[other]] = [order[other], order[k]];
  }
  return order;
}

/** The greatest change of a weight from `before` to `after`, in which order[place] stands at each place. */
export function greatestChange(before, after, order) {
  let most = 0;
  order.forEach((i, row) => order.forEach((j, column) => {
    most = Math.max(most, Math.abs(after[row][column] - before[i][j]));
  }));
  return most;
}

/** How much of a query's weight goes to the text and to the image, on average: [[text → text, text → image],
    [image → text, image → image]]; the first n tokens are the text's. */
export function shares(weights, n) {
  const mean = (rows) => rows.reduce((sum, row) => sum + row.slice(0, n).reduce((a, b) => a + b, 0), 0) / rows.length;
  return [weights.slice(0, n), weights.slice(n)].map(mean).map((toText) => [toText, 1 - toText]);
}
