// Which of many places a few typed words mean: every word must stand in a place, and counts most in its name.
const KINDS = { lesson: 6, page: 5, view: 4, term: 3, try: 2, idea: 1 };    // which comes first of two that fit alike
const SHORT = 3;            // characters from which a word counts in the middle of another, too

/** A text as it is compared: small letters without accents; raised and lowered letters, d_k too, as plain ones. */
export const normal = (text) => text.normalize("NFKD").replace(/[\p{M}_^]/gu, "").toLowerCase();

/** Places, each with its texts as they are compared. */
export const prepared = (places) => places.map((place) => (
  { ...place, texts: [place.name, place.where, place.says].map(normal) }));

const begins = (text, word) => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!at || !/[\p{L}\p{N}]/u.test(text[at - 1])) return true;
  return false;
};

function inText(text, word, [first, later, inside]) {
  if (text.startsWith(word)) return first;
  if (begins(text, word)) return later;
  return word.length >= SHORT && text.includes(word) ? inside : 0;
}

function score({ kind, texts: [name, where, says] }, words, query) {
  let sum = KINDS[kind] ?? 0;
  for (const word of words) {
    const found = Math.max(inText(name, word, [60, 40, 15]), inText(where, word, [12, 12, 4]),
      inText(says, word, [8, 8, 3]));
    if (!found) return 0;
    sum += found;
  }
  if (name === query) sum += 100;
  else if (name.startsWith(query)) sum += 30;
  return sum;
}

/** The prepared places that fit `typed`, best first, `most` of them; without a word the lessons and pages. */
export function find(places, typed, most) {
  const query = normal(typed).trim(), words = query.split(/\s+/).filter(Boolean);
  if (!words.length) return places.filter(({ kind }) => kind === "lesson" || kind === "page");
  return places.map((place, index) => ({ place, index, score: score(place, words, query) }))
    .filter((found) => found.score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, most).map(({ place }) => place);
}
