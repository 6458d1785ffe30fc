// The position of a planet at a time, as each structure predicts it, with the numbers of core/learning/kepler.py.

export const TURN = 2 * Math.PI;

function inSpace(X, Y, p, q) {
  const s = 1 / (1 + p * p + q * q);
  return [s * (X * (1 - p * p + q * q) + Y * 2 * p * q), s * (X * 2 * p * q + Y * (1 + p * p - q * q)),
    s * (-2 * p * X + 2 * q * Y)];
}

function eccentricLongitude(longitude, h, k) {
  let K = longitude + 0.85 * Math.hypot(h, k) * Math.sign(k * Math.sin(longitude) - h * Math.cos(longitude));
  for (let i = 0; i < 50; i += 1) {
    const step = (K + h * Math.cos(K) - k * Math.sin(K) - longitude) / (1 - h * Math.sin(K) - k * Math.cos(K));
    K -= step;
    if (Math.abs(step) < 1e-14) break;
  }
  return K;
}

/** @type {Record<"ellipse" | "equant" | "circle" | "polynomial",
 *   (numbers: number[], t: number, trained?: number) => number[]>} */
export const MOTIONS = {
  ellipse([a, h, k, p, q, longitude, period], t) {
    const K = eccentricLongitude(longitude + (TURN * t) / period, h, k), beta = 1 / (1 + Math.sqrt(1 - h * h - k * k));
    const c = Math.cos(K), s = Math.sin(K);
    return inSpace(a * ((1 - beta * h * h) * c + beta * h * k * s - k),
      a * ((1 - beta * k * k) * s + beta * h * k * c - h), p, q);
  },
  equant([a, h, k, p, q, longitude, period], t) {
    const angle = longitude + (TURN * t) / period, c = Math.cos(angle), s = Math.sin(angle), across = k * s - h * c;
    const away = a * (k * c + h * s + Math.sqrt(Math.max(0, 1 - across * across)));
    return inSpace(away * c - 2 * a * k, away * s - 2 * a * h, p, q);
  },
  circle([a, p, q, longitude, period], t) {
    const angle = longitude + (TURN * t) / period;
    return inSpace(a * Math.cos(angle), a * Math.sin(angle), p, q);
  },
  polynomial(numbers, t, trained) {
    const s = (2 * t) / trained - 1, point = [0, 0, 0];
    let [before, now] = [1, s];
    for (let n = 0; 3 * n < numbers.length; n += 1) {
      const power = n === 0 ? 1 : now;
      for (let c = 0; c < 3; c += 1) point[c] += power * numbers[3 * n + c];
      if (n > 0) [before, now] = [now, ((2 * n + 1) * s * now - n * before) / (n + 1)];
    }
    return point;
  },
};

/** Points of one revolution, or of the years that the path was fitted to. */
export function pathOf(structure, numbers, trained, points = 240) {
  const period = structure === "polynomial" ? trained : numbers.at(-1);
  return Array.from({ length: points + 1 }, (_, i) => MOTIONS[structure](numbers, (period * i) / points, trained));
}

/** How far one position is from another: rms over the three coordinates, as an angle at the Sun in minutes of arc. */
export function apart(position, true_) {
  const [dx, dy, dz] = position.map((value, c) => value - true_[c]);
  return ((Math.hypot(dx, dy, dz) / Math.hypot(...true_)) * (180 / Math.PI) * 60) / Math.sqrt(3);
}
