// Truncated sampling in the browser: the same definition, in the same float64 and the same order of additions, as
// core/model/sampling.py. Tokens are sorted once for each row of logits; after that every setting costs a few passes
// over typed arrays that already exist, so a hand on a slider never waits for memory.

export const RULES = ["", "minus_infinity", "temperature", "top_k", "top_p", "min_p", "typical_p"];
const [KEPT, MINUS_INFINITY, TEMPERATURE, TOP_K, TOP_P, MIN_P, TYPICAL_P] = RULES.keys();
export { KEPT, TEMPERATURE, TOP_K, TOP_P, MIN_P, TYPICAL_P };
export const TOLERANCE = 1e-12;

export class Truncation {
  /** given: the logits (|V|,), Float32Array or Float64Array, by token id; finite or -Infinity, at least one finite. */
  constructor(given) {
    const size = given.length;
    Object.assign(this, { given, size });
    for (const name of ["logits", "z", "w", "probs", "cumulative", "renormalised", "intervalEnds", "distance"]) {
      this[name] = new Float64Array(size);
    }
    this.tokenIds = new Int32Array(size);
    this.rankOf = new Int32Array(size);
    this._sort();
    this.possible = size;
    while (this.logits[this.possible - 1] === -Infinity) this.possible--;
    this.cutBy = new Uint8Array(size);
    this.left = new Int32Array(RULES.length);     // tokens left after each rule, by index into RULES
  }

  /** Apply {temperature, top_k, top_p, min_p, typical_p}; all arrays and numbers of this object follow. */
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
    const { cutBy, left } = this;
    cutBy.fill(KEPT);
    let n = this.size;
    const keepFirst = (count, rule) => {
      cutBy.fill(rule, count, n);
      n = left[rule] = count;
    };
    left[KEPT] = n;
    keepFirst(this.possible, MINUS_INFINITY);
    keepFirst(config.temperature === 0 ? 1 : n, TEMPERATURE);
    keepFirst(config.top_k === null ? n : Math.min(config.top_k, n), TOP_K);
    keepFirst(config.top_p < 1 ? this._reachTopP(n, config.top_p) : n, TOP_P);
    keepFirst(this._reachMinP(n, config.min_p), MIN_P);
    left[TYPICAL_P] = config.typical_p < 1 ? this._cutUntypical(n, config.typical_p) : n;
    this.prefix = n;                               // places that all rules but the last one left
    this.nKept = left[TYPICAL_P];
  }

  _reachTopP(n, topP) {
    const { w } = this;
    let total = 0;
    for (let i = 0; i < n; i++) total += w[i];
    let running = 0, count = 0;
    do running += w[count++]; while (count < n && running / total < topP - TOLERANCE);
    return count;
  }

  _reachMinP(n, minP) {
    const least = minP * (1 - TOLERANCE);
    while (n > 1 && this.w[n - 1] < least) n--;
    return n;
  }

  /** Cut the tokens whose surprisal is further from the entropy than the bound; return how many stay. */
  _cutUntypical(n, typicalP) {
    const { z, distance, cutBy } = this;
    let total = 0;
    for (let i = 0; i < n; i++) total += this.w[i];
    const logTotal = Math.log(total), entropy = this._entropy(n, false);
    for (let i = 0; i < n; i++) distance[i] = Math.abs(logTotal - z[i] - entropy);
    const bound = this._typicalBound(n, total, typicalP, logTotal - entropy);
    let count = 0;
    for (let i = 0; i < n; i++) {
      if (distance[i] > bound + TOLERANCE) cutBy[i] = TYPICAL_P;
      else count++;
    }
    return count;
  }

  /** The distance at which the mass reaches typicalP. Surprisal rises with i, so distances fall and then rise: two
      pointers walk outwards from the minimum in rising order of distance, and no sort is needed. */
  _typicalBound(n, total, typicalP, typicalZ) {
    const { z, w, distance } = this;
    let right = 0;
    while (right < n && z[right] > typicalZ) right++;
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
