// The curves and norms of a pass, over numbers in flat arrays: LayerNorm, softmax, and the activations.

// ln(erfc(z) e^(z²) / t) as a polynomial in 2t − 1, t = 2 / (2 + z): a least-squares fit at 400 Chebyshev nodes, within
// 6e-9 of the truth for every z ≥ 0
const ERFC = [-0.671794085152, 0.672643154775, 0.047343417521, -0.04689364056, -0.00987453491813, 0.00880882536947,
  0.00177066611802, -0.00228876523877, -0.000182782140641, 0.00057376637219, -0.0000321137732158,
  -0.0000872838102893, 0.0000133715037822];

/** The complementary error function, within 1e-8 of its own size for every z ≥ 0, where it falls to nothing. */
export function erfc(z) {
  if (z < 0) return 2 - erfc(-z);
  const t = 2 / (2 + z), s = 2 * t - 1;
  let exponent = 0;
  for (let power = ERFC.length - 1; power >= 0; power -= 1) exponent = exponent * s + ERFC[power];
  return t * Math.exp(exponent - z * z);
}

/** x Φ(x), Φ the normal distribution function (Hendrycks and Gimpel 2016), and max(0, x). */
const CURVES = {
  gelu: (x) => x * 0.5 * erfc(-x * Math.SQRT1_2),
  relu: (x) => Math.max(0, x),
};

/** The curve of activation `name`, "gelu" or "relu", at each element. */
export const activated = (name, x) => x.map(CURVES[name]);

/**
 * LayerNorm of each row of x (n, d): (x − μ) / √(variance over d + ε), times the gain (d,), plus the bias (d,).
 * @returns {Float32Array}
 */
export function layerNorm(x, gain, bias, epsilon) {
  const d = gain.length, out = new Float32Array(x.length);
  for (let from = 0; from < x.length; from += d) {
    let mean = 0, variance = 0;
    for (let i = 0; i < d; i += 1) mean += x[from + i] / d;
    for (let i = 0; i < d; i += 1) variance += (x[from + i] - mean) ** 2 / d;
    const scale = 1 / Math.sqrt(variance + epsilon);
    for (let i = 0; i < d; i += 1) out[from + i] = (x[from + i] - mean) * scale * gain[i] + bias[i];
  }
  return out;
}

/** Write the softmax of numbers start … end − 1 of `scores` to the same places of `out`. */
export function softmaxInto(out, scores, start, end) {
  let largest = -Infinity, total = 0;
  for (let i = start; i < end; i += 1) largest = Math.max(largest, scores[i]);
  for (let i = start; i < end; i += 1) total += Math.exp(scores[i] - largest);
  for (let i = start; i < end; i += 1) out[i] = Math.exp(scores[i] - largest) / total;
}
