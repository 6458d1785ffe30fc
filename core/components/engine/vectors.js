// Vectors and rows of matrices: products, lengths, the largest entries. All sums are float64.

/** Row i of a matrix, as a view. @param {Float32Array} values @param {number} width */
export const rowOf = (values, width, i) => values.subarray(i * width, (i + 1) * width);

/** The inner product of two vectors of one length. @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  let sum = 0;
  for (let c = 0; c < a.length; c++) sum += a[c] * b[c];
  return sum;
}

export const lengthOf = (vector) => Math.sqrt(dot(vector, vector));

/** The lengths of the rows of a matrix, float32. @param {Float32Array} values @param {number} width */
export const lengths = (values, width) =>
  Float32Array.from({ length: values.length / width }, (_, i) => lengthOf(rowOf(values, width, i)));

/** The largest of some values, -Infinity of none. @param {Iterable<number>} values */
export function largest(values) {
  let most = -Infinity;
  for (const value of values) if (value > most) most = value;
  return most;
}

/** The indices of the `most` largest values, the largest first; of equal ones the lower index.
    @param {ArrayLike<number>} values @param {number} most @returns {number[]} */
export function best(values, most) {
  const found = [];
  for (let k = 0; k < values.length; k++) {
    if (found.length === most && values[k] <= values[found[most - 1]]) continue;
    let place = found.length;
    while (place > 0 && values[k] > values[found[place - 1]]) place--;
    found.splice(place, 0, k);
    if (found.length > most) found.pop();
  }
  return found;
}

/** The mean of a vector, and its standard deviation as a LayerNorm takes it, the root of the variance plus epsilon.
    @param {ArrayLike<number>} x @param {number} epsilon */
export function statistics(x, epsilon) {
  let sum = 0, square = 0;
  for (let c = 0; c < x.length; c++) sum += x[c];
  const mean = sum / x.length;
  for (let c = 0; c < x.length; c++) square += (x[c] - mean) ** 2;
  return { mean, scale: Math.sqrt(square / x.length + epsilon) };
}

/** The cells of an n × n matrix that a causal mask allows, row after row, float32: the (n + 1) n / 2 below its diagonal
    and on it. @param {Float32Array} matrix @param {number} n */
export function causalCells(matrix, n) {
  const cells = new Float32Array((n * (n + 1)) / 2);
  for (let i = 0, at = 0; i < n; at += ++i) cells.set(matrix.subarray(i * n, i * n + i + 1), at);
  return cells;
}

/** The first and the last key that each of n queries sees under a causal mask. @param {number} n */
export const causalRange = (n) => ({ first: new Uint16Array(n), last: Uint16Array.from({ length: n }, (_, i) => i) });
