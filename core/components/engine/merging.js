// Byte pair encoding of one word: the rule that was learned first goes first, and of its places the leftmost.

/** A heap of numbers, the least on top. */
class Heap {
  #entries = [];

  push(value) {
    const entries = this.#entries;
    let at = entries.push(value) - 1;
    for (let above = (at - 1) >> 1; at && entries[above] > value; above = (at - 1) >> 1) {
      entries[at] = entries[above];
      at = above;
    }
    entries[at] = value;
  }

  /** The least number, which is taken out; undefined if there is none. */
  pop() {
    const entries = this.#entries, [least] = entries, value = entries.pop();
    let at = 0;
    for (let below = 1; below < entries.length; below = 2 * at + 1) {
      if (entries[below + 1] < entries[below]) below += 1;
      if (entries[below] >= value) break;
      entries[at] = entries[below];
      at = below;
    }
    if (entries.length) entries[at] = value;
    return least;
  }
}

/** The rules of a vocabulary, by the ids of the two tokens that each joins. */
export class Rules {
  #rules = new Map();
  #size;

  /**
   * @param {[left: number, right: number, made: number][]} rules in the order in which they were learned
   * @param {number} size of the vocabulary
   */
  constructor(rules, size) {
    this.#size = size;
    for (const [rank, [left, right, made]] of rules.entries())
      this.#rules.set(left * size + right, { rank, made });
  }

  /** The rule that joins two tokens; undefined if there is none, or one of them is missing. */
  of(left, right) {
    return this.#rules.get(left * this.#size + right);
  }
}

/**
 * The ids of a word, from those of its bytes.
 * @param {number[]} ids
 * @param {Rules} rules
 */
export function merged(ids, rules) {
  const n = ids.length, pieces = [...ids], next = ids.map((_, at) => at + 1), before = ids.map((_, at) => at - 1);
  const waiting = new Heap();                           // rank n + place
  const offer = (at) => {
    const rule = rules.of(pieces[at], pieces[next[at]]);
    if (rule) waiting.push(rule.rank * n + at);
  };
  for (let at = 0; at < n - 1; at += 1) offer(at);
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    const at = entry % n, right = next[at], rule = rules.of(pieces[at], pieces[right]);
    if (rule?.rank !== Math.floor(entry / n)) continue;     // one of the two has been joined to another since
    pieces[at] = rule.made;
    pieces[right] = undefined;
    next[at] = next[right];
    if (next[at] < n) before[next[at]] = at;
    offer(at);
    if (before[at] >= 0) offer(before[at]);
  }
  return pieces.filter((id) => id !== undefined);
}
