// The chances of the next word at a temperature, and which word a throw of the dice decides.

/** softmax(logits / temperature) in float64, of logits in falling order. */
export function heated(logits, temperature) {
  const weights = Float64Array.from(logits, (u) => Math.exp((u - logits[0]) / temperature));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** The place in `chances` whose share of [0, 1) holds xi. */
export function place(chances, xi) {
  let sum = 0;
  for (let i = 0; i < chances.length; i += 1) {
    sum += chances[i];
    if (xi < sum) return i;
  }
  return chances.length - 1;
}
