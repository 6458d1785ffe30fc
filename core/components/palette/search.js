// Find the places that a typed question means. Little words ("why is the …") do not count if there are others. Each
// word that counts may stand in the name of a place, in a synonym of it, in its lesson's name, or in the line that says
// what it is: whole, as a beginning, in another form, or inside another word; else with a typing error (a slip).
const KINDS = { lesson: 6, page: 5, view: 4, term: 3, try: 2, idea: 1 };    // order of two that fit equally well
const OPENING = ["lesson", "page"];                 // kinds listed before anything is typed
const NAME = [60, 40], WHERE = 12, SAYS = 8;        // points for a word: for the first of a name, and its others; …
const SYNONYM = [100, 12];           // … in a synonym: for its first target, and the loss for each later one
const WHOLE_NAME = 100, BEGINNING = 30, ALL_WORDS = 10_000;
const SHORT = 3;                    // characters from which a word also counts in the middle of another
const MOST_WORDS = 12;              // of the typed text
const ENDING = 3;                   // most characters by which one form of a word may be longer than another
const GOOD = 0.65;                  // a fit at least this good is preferred to a word that is one slip away
const SLIPS = [4, 8];               // characters from which a word may be typed with one slip, and alone with two

/** The most characters of the typed text that are read. */
export const LONGEST = 200;

/** A text in its form for comparison: small letters without accents; raised and lowered letters, as in d_k, as plain
    ones. */
export const normal = (text) => text.normalize("NFKD").replace(/[\p{M}_^]/gu, "").toLowerCase();

/** The words of a text, in their form for comparison. */
export const wordsOf = (text) => normal(text).replace(/['’]/g, "").match(/[\p{L}\p{N}]+/gu) ?? [];

/** The index for `find`: the places, and each of their words with the places and synonyms that contain it.
    synonyms: pairs of phrases and the numbers of the places that they mean, the best first. */
export function prepared({ places, synonyms, little }) {
  const index = { places: places.map((place) => ({ ...place, plain: wordsOf(place.name).join(" ") })),
    little: new Set(little.flatMap(wordsOf)), words: new Map(), phrases: [] };
  places.forEach((place, at) => {
    const name = wordsOf(place.name);
    name.forEach((word, i) => placed(index, word, at, NAME[Math.min(i, 1)]));
    name.slice(1).forEach((word, i) => placed(index, name[i] + word, at, NAME[1]));     // KVcache, feedforward
    for (const word of wordsOf(place.where)) placed(index, word, at, WHERE);
    for (const word of wordsOf(place.says)) placed(index, word, at, SAYS);
  });
  index.phrases = synonyms.flatMap(([phrases, targets]) => phrases.map((phrase) => (
    { words: [...new Set(wordsOf(phrase))], targets })));
  index.phrases.forEach(({ words }, at) => words.forEach((word) => entry(index, word).phrases.push(at)));
  return index;
}

function entry({ words }, word) {
  if (!words.has(word)) words.set(word, { places: new Map(), phrases: [] });
  return words.get(word);
}

function placed(index, word, place, weight) {
  const { places } = entry(index, word);
  places.set(place, Math.max(weight, places.get(place) ?? 0));
}

/** The words that count: all but the little ones, or all if there are no others; each once. A little word counts if
    the whole of a synonym that contains it is typed, such as "make up". */
function counting({ little, phrases }, words) {
  const typed = (word) => words.some((each) => each === word || form(each, word));
  const spoken = phrases.filter((phrase) => phrase.words.every(typed));
  const belongs = (word) => spoken.some((phrase) => phrase.words.some((each) => each === word || form(word, each)));
  const others = words.filter((word) => !little.has(word) || belongs(word));
  return [...new Set(others.length ? others : words)];
}

/** The likeness of a typed word to another, from 0 to 1. */
function likeness(typed, word) {
  if (typed === word) return 1;
  if (word.startsWith(typed)) return 0.5 + 0.4 * typed.length / word.length;
  return form(typed, word) || (typed.length >= SHORT && word.includes(typed) ? 0.25 : 0);
}

/** The likeness of two forms of one word, such as token and tokens, cache and caching; 0 for two different words. */
function form(a, b) {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  const rests = [a.length - same, b.length - same], shorter = Math.min(...rests), longer = Math.max(...rests);
  const most = same > SHORT ? ENDING : 1;
  return same >= SHORT && shorter <= (same > SHORT ? 1 : 0) && longer <= most ? 0.9 - 0.1 * longer : 0;
}

/** The least number of letters to add, drop, change, or swap with the next to turn `a` into `b`; Infinity if it is more
    than `most`. */
export function slips(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return Infinity;
  let before = [], last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + Number(a[i - 1] !== b[j - 1]),
        exchanged ? before[j - 2] + 1 : Infinity);
    }
    if (Math.min(...row) > most) return Infinity;
    [before, last] = [last, row];
  }
  return last[b.length] <= most ? last[b.length] : Infinity;
}

/** The word of a name or a synonym that is nearest to a typed one, with at most `most` slips; "" if none is near. */
function nearest({ words }, typed, most) {
  let found = "";
  for (const [word, { places, phrases }] of words) {
    if (!phrases.length && Math.max(...places.values()) < NAME[1]) continue;
    const n = slips(typed, word, most);
    if (n <= most) [found, most] = [word, n - 1];
  }
  return found;
}

/** The words of the index that a typed word may mean, each with its likeness; and the word it was read as.
    isAlone: no other word was typed that could tell what is meant. */
function reading(index, typed, isAlone) {
  const fits = new Map(), most = SLIPS.slice(0, isAlone ? 2 : 1).filter((length) => typed.length >= length).length;
  for (const word of index.words.keys()) {
    const fit = likeness(typed, word);
    if (fit) fits.set(word, fit);
  }
  if (Math.max(...fits.values()) >= GOOD) return { fits, meant: typed };
  const meant = nearest(index, typed, fits.size ? Math.min(most, 1) : most);
  return meant ? { fits: new Map([[meant, 1]]), meant } : { fits, meant: fits.size ? typed : "" };
}

/** For each place that has some of the words, the points of each word. */
function counts(index, readings) {
  const found = new Map(), spoken = new Map();
  const count = (place, word, value) => {
    if (!found.has(place)) found.set(place, readings.map(() => 0));
    found.get(place)[word] = Math.max(found.get(place)[word], value);
  };
  readings.forEach(({ fits }, at) => {
    for (const [word, fit] of fits) {
      const { places, phrases } = index.words.get(word);
      for (const [place, weight] of places) count(place, at, fit * weight);
      for (const phrase of phrases) {
        if (!spoken.has(phrase)) spoken.set(phrase, new Map());
        const said = spoken.get(phrase);
        if ((said.get(word)?.fit ?? 0) < fit) said.set(word, { fit, at });
      }
    }
  });
  for (const [phrase, said] of spoken) {
    const { words, targets } = index.phrases[phrase];
    if (said.size < words.length) continue;
    targets.forEach((place, rank) => said.forEach(({ fit, at }) =>
      count(place, at, fit * Math.max(SYNONYM[0] - rank * SYNONYM[1], NAME[1]))));
  }
  return found;
}

/** The points of a name that is the typed text, or begins with it. */
function named(name, typed) {
  const whole = (text) => text.replaceAll(" ", "");
  if (typed.some((text) => whole(text) === whole(name))) return WHOLE_NAME;
  return typed.some((text) => `${name} `.startsWith(`${text} `)) ? BEGINNING : 0;
}

/** The result for a typed text: `places`, best first, at most `most`, those with all of its words before those with
    some; the `words` that were searched; and whether one of them is only the `nearest` to the typed one. Without a
    word: the lessons and pages. */
export function find(index, typed, most) {
  const all = wordsOf(typed.slice(0, LONGEST)).slice(0, MOST_WORDS), asked = counting(index, all);
  if (!typed.trim()) return { places: index.places.filter(({ kind }) => OPENING.includes(kind)), words: [],
    nearest: false };
  const readings = asked.map((word) => reading(index, word, asked.length === 1));
  const words = readings.map(({ meant }) => meant);
  const names = [all.join(" "), words.join(" ")];
  const score = ([at, each]) => each.reduce((sum, value) => sum + value,
    (KINDS[index.places[at].kind] ?? 0) + (each.every(Boolean) ? ALL_WORDS : 0) + named(index.places[at].plain, names));
  const sorted = [...counts(index, readings)].map((each) => ({ at: each[0], score: score(each) }))
    .sort((a, b) => b.score - a.score || a.at - b.at);
  return { places: sorted.slice(0, most).map(({ at }) => index.places[at]), words: words.filter(Boolean),
    nearest: words.some((word, i) => word && word !== asked[i]) };
}
