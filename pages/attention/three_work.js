// Attention for the last of a few vectors of two numbers, in float64, as pages/attention/three.py has it.

/** A row vector times a matrix [[a, b], [c, d]]. */
const times = ([x, y], [first, second]) => [x * first[0] + y * second[0], x * first[1] + y * second[1]];

const dot = (a, b) => a[0] * b[0] + a[1] * b[1];

/**
 * Every number on the way to the output of the last point: q, and for each point k, v, its score, e^score, weight alpha
 * and part alpha·v; the sum of the exponentials, and the output out. matrices: {W_Q, W_K, W_V}, or null: without
 * weights q, k and v are the points themselves, and the score is not divided.
 */
export function attend(points, matrices) {
  const through = (name, point) => (matrices ? times(point, matrices[name]) : point);
  const q = through("W_Q", points.at(-1)), divisor = matrices ? Math.sqrt(q.length) : 1;
  const items = points.map((x) => {
    const k = through("W_K", x), score = dot(q, k) / divisor;
    return { x, k, v: through("W_V", x), score, exp: Math.exp(score) };
  });
  const total = items.reduce((sum, { exp }) => sum + exp, 0);
  for (const item of items) {
    item.alpha = item.exp / total;
    item.part = item.v.map((value) => item.alpha * value);
  }
  const out = [0, 1].map((c) => items.reduce((sum, { part }) => sum + part[c], 0));
  return { q, items, total, out };
}
