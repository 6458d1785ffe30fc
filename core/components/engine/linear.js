// Products of matrices: sums in float64, results in float32.

const TILE = 4;         // columns computed together: with two rows their sums still fit into a processor's registers

/**
 * A matrix in a flat array: `data[at + row * down + column * across]`.
 * @typedef {{ data: Float32Array, rows: number, columns: number, at: number, down: number, across: number }} Matrix
 */

/** @returns {Matrix} rows × columns of `data`, row after row, from `at` on */
export const matrix = (data, rows, columns, at = 0) => ({ data, rows, columns, at, down: columns, across: 1 });

/** @returns {Matrix} the transpose, of the same numbers */
export const transposed = (M) => ({ ...M, rows: M.columns, columns: M.rows, down: M.across, across: M.down });

/**
 * A B, plus a bias for each column: written into `out`, row after row, from `at` on.
 * @param {Matrix} A (n, k)
 * @param {Matrix} B (k, m)
 * @param {Float32Array} out
 * @param {ArrayLike<number> | null} bias (m,)
 */
export function product(A, B, out, at = 0, bias = null) {
  // a single row would use each panel once: not worth making
  if (A.rows === 1 && B.across === 1) return rowProduct(A, B, out, at, bias);
  const panel = new Float64Array(A.columns * TILE), sums = new Float64Array(2 * TILE), m = B.columns;
  for (let column = 0; column < m; column += TILE) {
    const width = Math.min(TILE, m - column);
    fillPanel(panel, B, column, width);
    for (let row = 0; row < A.rows; row += 2) {
      const isPair = row + 1 < A.rows;
      if (isPair) sumPair(A, row, panel, sums);
      else sumRow(A, row, panel, sums);
      write(sums, 0, out, at + row * m + column, width, bias, column);
      if (isPair) write(sums, TILE, out, at + (row + 1) * m + column, width, bias, column);
    }
  }
  return out;
}

/** Some columns of B beside each other, as all rows of A read them; what is beyond the last one stays as it is. */
function fillPanel(panel, { data, rows, at, down, across }, column, width) {
  for (let k = 0, row = at + column * across, to = 0; k < rows; k += 1, row += down, to += TILE)
    for (let c = 0, from = row; c < width; c += 1, from += across) panel[to + c] = data[from];
}

/** Two rows of A times a panel: eight sums. */
function sumPair({ data, columns, at, down, across }, row, panel, sums) {
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0, one = at + row * down, other = one + down;
  for (let p = 0, end = columns * TILE; p < end; p += TILE, one += across, other += across) {
    const a = data[one], b = data[other];
    const w0 = panel[p], w1 = panel[p + 1], w2 = panel[p + 2], w3 = panel[p + 3];
    s0 += a * w0; s1 += a * w1; s2 += a * w2; s3 += a * w3;
    t0 += b * w0; t1 += b * w1; t2 += b * w2; t3 += b * w3;
  }
  sums[0] = s0; sums[1] = s1; sums[2] = s2; sums[3] = s3; sums[4] = t0; sums[5] = t1; sums[6] = t2; sums[7] = t3;
}

/** One row of A times a panel: four sums. */
function sumRow({ data, columns, at, down, across }, row, panel, sums) {
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (let p = 0, end = columns * TILE, from = at + row * down; p < end; p += TILE, from += across) {
    const a = data[from];
    s0 += a * panel[p]; s1 += a * panel[p + 1]; s2 += a * panel[p + 2]; s3 += a * panel[p + 3];
  }
  sums[0] = s0; sums[1] = s1; sums[2] = s2; sums[3] = s3;
}

/** One row of A times B, whose rows lie together in memory: these, weighted and summed four at a time. */
function rowProduct({ data: weights, at: first, across }, { data, rows, columns, at, down }, out, to, bias) {
  const sums = new Float64Array(columns), weight = (k) => weights[first + k * across], whole = rows - rows % 4;
  for (let k = 0; k < whole; k += 4) {
    const a = weight(k), b = weight(k + 1), c = weight(k + 2), d = weight(k + 3), row = at + k * down;
    for (let j = 0, p = row, q = p + down, r = q + down, s = r + down; j < columns; j += 1)
      sums[j] += a * data[p + j] + b * data[q + j] + c * data[r + j] + d * data[s + j];
  }
  for (let k = whole; k < rows; k += 1)
    for (let j = 0, p = at + k * down; j < columns; j += 1, p += 1) sums[j] += weight(k) * data[p];
  write(sums, 0, out, to, columns, bias, 0);
  return out;
}

function write(sums, first, out, to, width, bias, column) {
  for (let c = 0; c < width; c += 1) out[to + c] = sums[first + c] + (bias ? bias[column + c] : 0);
}

/** @returns {Float32Array} a + b, element by element */
export function sum(a, b) {
  const out = new Float32Array(a.length);
  for (let i = 0; i < out.length; i += 1) out[i] = a[i] + b[i];
  return out;
}
