// Truncated sampling in the browser: the same definition, in the same float64 and the same order of additions, as
// core/model/sampling.py. Tokens are sorted once for each row of logits; after that every setting costs a few passes
// over typed arrays that already exist, so a hand on a slider never waits for memory.

export const TOLERANCE = 1e-12;
export const TEMPERATURES = [0, ...spread(-65, 65, (s) => Number((10 ** (s / 50)).toPrecision(3)))];
const SHARES = spread(1, 99, (s) => s / 100);

/** The rules in the order in which they cut: the values of each one's slider, for a vocabulary's size, the methods of
    the lesson that it brings, and cuts(truncation, n, value), which tells of the first n places, one after the other,
    whether they are cut, or false; only the last rule cuts a place before one that stays. */
export const STEPS = [
  { name: "temperature", symbol: "T", neutral: 1, values: () => TEMPERATURES, methods: { random: {} },
    cuts: (_, n, temperature) => temperature === 0 && ((i) => i > 0) },
  { name: "top_k", symbol: "k", neutral: null, values: topKValues,
    methods: { greedy: { top_k: 1 }, top_k: { top_k: 40 } }, cuts: (_, n, k) => (i) => i >= k },
  { name: "top_p", symbol: "p", neutral: 1, values: () => [...SHARES, 0.995, 0.999, 1],
    methods: { top_p: { top_p: 0.9 }, both: { top_k: 40, top_p: 0.9 } },
    cuts({ w }, n, p) {
      const total = mass(w, n);
      let before = 0;
      return (i) => {
        const isCut = i > 0 && before / total >= p - TOLERANCE;
        before += w[i];
        return isCut;
      };
    } },
  { name: "min_p", symbol: "m", neutral: 0,
    values: () => [0, ...spread(-48, 0, (s) => Number((10 ** (s / 12)).toPrecision(2)))],
    methods: { min_p: { min_p: 0.1 } }, cuts: ({ w }, n, least) => (i) => w[i] < least * (1 - TOLERANCE) },
  { name: "typical_p", symbol: "τ", neutral: 1, values: () => [...SHARES, 1],
    methods: { typical: { typical_p: 0.9 } },
    cuts(truncation, n, p) {
      const { distance } = truncation, bound = truncation.typicalBound(n, p);
      return (i) => distance[i] > bound + TOLERANCE;
    } },
];
export const NEUTRAL = Object.fromEntries(STEPS.map(({ name, neutral }) => [name, neutral]));
export const RULES = ["", "minus_infinity", ...Object.keys(NEUTRAL)];
export const KEPT = 0, MINUS_INFINITY = 1;

export function spread(first, last, value) {
  return Array.from({ length: last - first + 1 }, (_, i) => value(first + i));
}

/** 1, 2, 3, ... and then 24 steps per power of ten, up to the vocabulary; the last value is "no limit". */
export function topKValues(size) {
  const steps = spread(0, Math.ceil(24 * Math.log10(size)), (s) => Math.round(10 ** (s / 24)));
  return [...new Set([...spread(1, Math.min(20, size), (k) => k), ...steps.filter((k) => k > 20 && k < size)]), null];
}

export class Truncation {
  /** given: the logits (|V|,), Float32Array or Float64Array, by token id; finite or -Infinity, at least one finite. */
  constructor(given) {
    const size = given.length;
    this.given = given;
    this.size = size;
    this.logits = new Float64Array(size);
    this.z = new Float64Array(size);
    this.w = new Float64Array(size);
    this.probs = new Float64Array(size);
    this.cumulative = new Float64Array(size);
    this.renormalised = new Float64Array(size);
    this.intervalEnds = new Float64Array(size);
    this.distance = new Float64Array(size);
    this.tokenIds = new Int32Array(size);
    this.rankOf = new Int32Array(size);
    this._sort();
    this.possible = size;
    while (this.logits[this.possible - 1] === -Infinity) this.possible--;
    this.cutBy = new Uint8Array(size);
    this.left = {};     // tokens left after each rule, by name
  }

  /** Apply the rules' values by name, as NEUTRAL has them; all arrays and numbers of this object follow. */
  update(config) {
    this._weigh(config.temperature);
    this._cut(config);
    this._renormalise();
    return this;
  }

  /** The place i with intervalEnds[i-1] <= xi < intervalEnds[i]. */
  draw(xi) {
    return firstAbove(this.intervalEnds, xi, this.size);
  }

  /** The first and the last place that may be drawn: typical sampling can cut the head. */
  firstKept() {
    return this.cutBy.indexOf(KEPT);
  }

  lastKept() {
    return this.cutBy.lastIndexOf(KEPT);
  }

  /** Sort places in falling order of the logits, equal logits by id. The browser sorts bare numbers an order of
      magnitude faster than by a function; each token then finds its place among them. */
  _sort() {
    const { given, size } = this, rising = given.slice().sort(), equal = new Int32Array(size);
    for (let id = 0; id < size; id++) {
      const larger = size - firstAbove(rising, given[id], size + 1), place = larger + equal[larger]++;
      this.rankOf[id] = place;
      this.tokenIds[place] = id;
      this.logits[place] = given[id];
    }
  }

  _weigh(temperature) {
    const { size, logits, z, w, probs, cumulative } = this;
    let total = 0;
    for (let i = 0; i < size; i++) {
      z[i] = temperature === 0 ? (i ? -Infinity : 0) : (logits[i] - logits[0]) / temperature;
      w[i] = Math.exp(z[i]);
      total += w[i];
      cumulative[i] = total;
    }
    for (let i = 0; i < size; i++) {
      probs[i] = w[i] / total;
      cumulative[i] /= total;
    }
    this.total = total;
    this.entropyBefore = this._entropy(size, false);
  }

  _cut(config) {
    const { cutBy, possible } = this;
    cutBy.fill(KEPT).fill(MINUS_INFINITY, possible);
    let n = possible, kept = possible;
    for (const { name, neutral, cuts } of STEPS) {
      const value = config[name], rule = RULES.indexOf(name), isCut = value !== neutral && cuts(this, n, value);
      if (isCut) {
        for (let i = 0; i < n; i++) if (isCut(i)) {
          cutBy[i] = rule;
          kept--;
        }
        n = this.lastKept() + 1;
      }
      this.left[name] = kept;
    }
    this.nKept = kept;
  }

  /** The distance from the entropy of the surprisal at which the mass reaches typicalP. Surprisal rises with i, so
      distances fall and then rise: two pointers walk outwards from the minimum in rising order of distance, and no sort
      is needed. */
  typicalBound(n, typicalP) {
    const { z, w, distance } = this, total = mass(w, n), logTotal = Math.log(total), entropy = this._entropy(n, false);
    for (let i = 0; i < n; i++) distance[i] = Math.abs(logTotal - z[i] - entropy);
    let right = 0;
    while (right < n && z[right] > logTotal - entropy) right++;
    let left = right - 1, running = 0, reached = 0;
    while (left >= 0 || right < n) {
      const place = right >= n || (left >= 0 && distance[left] <= distance[right]) ? left-- : right++;
      running += w[place];
      reached = distance[place];
      if (running / total >= typicalP - TOLERANCE) break;
    }
    return reached;
  }

  _renormalise() {
    const { size, w, cutBy, renormalised, intervalEnds } = this;
    let kept = 0;
    for (let i = 0; i < size; i++) {
      if (cutBy[i] === KEPT) kept += w[i];
      intervalEnds[i] = kept;
    }
    for (let i = 0; i < size; i++) {
      renormalised[i] = cutBy[i] === KEPT ? w[i] / kept : 0;
      intervalEnds[i] /= kept;
    }
    this.keptMass = kept / this.total;
    this.entropyAfter = this._entropy(size, true);
  }

  /** The entropy, in nats, of the weights of the first n places, or only of the kept ones. */
  _entropy(n, keptOnly) {
    const { w, z, cutBy } = this;
    let total = 0, weighted = 0;
    for (let i = 0; i < n; i++) {
      if (w[i] > 0 && !(keptOnly && cutBy[i] !== KEPT)) {
        total += w[i];
        weighted += w[i] * z[i];
      }
    }
    return Math.max(0, Math.log(total) - weighted / total);
  }
}

function mass(w, n) {
  let total = 0;
  for (let i = 0; i < n; i++) total += w[i];
  return total;
}

/** The first of `size` places whose value in a rising array is above x; the last one if none is. */
export function firstAbove(rising, x, size) {
  let low = 0, high = size - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** n numbers in [0, 1) from a whole-number seed (mulberry32): the same on every machine and in Python. */
export function seededUniforms(seed, n) {
  let state = seed >>> 0;
  return Float64Array.from({ length: n }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  });
}
