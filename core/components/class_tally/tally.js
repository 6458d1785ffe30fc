// The answers of a class beside the model's: bars for options and words, counts in the text for places, a grid for
// cells, a line for numbers. A phone marks its own answer.
import { draw, fill, make, sized } from "../lib/dom.js";
import { percent as chance, readable } from "../lib/numbers.js";
import { inline } from "../prediction/inline.js";
import { shareOf } from "../prediction/told.js";

const HEIGHT = 90, WIDTH = 480;      // of the line of numbers

/** "41 %", or "–" if there are none. */
export const percent = (n, all) => (all ? `${Math.round(100 * n / all)}\u00a0%` : "–");

/** The most frequent wrong answer, or null if there is none, or two are equally frequent. */
export function mostWrong(counts, answer) {
  const others = counts.map((n, i) => [n, i]).filter(([n, i]) => n && i !== answer).sort(([a], [b]) => b - a);
  return !others.length || others[1]?.[0] === others[0][0] ? null : others[0][1];
}

/** The most frequent wrong word among those shown; null if a hidden word may be as frequent. */
export function mostWrongWord({ words: shown, other }, answer) {
  const wrong = shown.filter(([word]) => word !== plain(answer)), [first, second] = wrong;
  return first && first[1] > Math.max(second?.[1] ?? 0, other) ? first[0] : null;
}

/**
 * Show it. shown: {asked, tally, first, model, mine, text}, as in a class's events; mine: this phone's answer, or null;
 * first: the tally of the first vote, if this was the second; text: the labels.
 */
export function showTally(parent, shown) {
  const box = make("div", `tally of-${shown.asked.guess.kind}`, parent);
  const kinds = { options: bars, place: places, cell: grid, number: line, word: words };
  box.classList.toggle("compares", Boolean(shown.first));
  kinds[shown.asked.guess.kind](box, shown);
  return box;
}

/** Draw the marks of an answer: the phone's own, the model's, the most frequent wrong one. */
function marks(parent, { mine, model, tally, text }, value, counts) {
  if (mine === value) make("span", "note mine", parent, text.mine);
  if (model?.answer === value)
    make("span", "note answer", parent, [`✓ ${model.seen ? text.picture : text.model}`, model.said]
      .filter(Boolean).join(" · "));
  if (model && counts && mostWrong(counts, model.answer) === value && tally.n > 2)
    make("span", "note often", parent, text.often);
}

/** Draw a bar of the class, and a hollow bar of its first vote, with the share as text. */
function bar(row, n, all, first, of) {
  const track = make("span", "track", row);
  if (first) make("i", "first", track).style.width = `${100 * first / of}%`;
  make("i", "", track).style.width = `${all ? 100 * n / all : 0}%`;
  make("span", "share", row, of ? `${percent(first, of)} → ${percent(n, all)}` : percent(n, all));
}

function bars(box, shown) {
  const { asked, tally, first } = shown;
  asked.guess.texts.forEach((text, i) => {
    const row = make("div", `row${shown.model?.answer === i ? " right" : ""}`, box);
    const name = make("div", "name", row);
    inline(make("span", "", name), text).dir = "auto";
    marks(name, shown, i, tally.counts);
    bar(row, tally.counts[i], tally.n, first?.counts[i] ?? 0, first?.n);
  });
}

function places(box, shown) {
  const { asked, tally } = shown, most = Math.max(1, ...tally.counts);
  asked.guess.texts.forEach((text, i) => {
    const n = tally.counts[i], place = make("span", "place", box);
    const token = make("span", "token", place, text);
    Object.assign(token, { dir: "auto", translate: false });
    place.style.setProperty("--share", n / most);
    place.classList.toggle("right", shown.model?.answer === i);
    place.classList.toggle("mine", shown.mine === i);
    if (n) make("span", "n", place, percent(n, tally.n));
  });
  nameAll(box, shown, (i) => asked.guess.texts[i]);
}

/** Name in words the phone's own answer, the model's, the most frequent wrong one; nameOf(i) is an answer's name. */
function nameAll(box, { mine, model, tally, first, text }, nameOf) {
  const named = make("p", "named", box), often = model && mostWrong(tally.counts, model.answer);
  if (mine !== null) make("span", "note mine", named, `${text.mine}: ${nameOf(mine)}`);
  if (model) make("span", "note answer", named, `✓ ${text.model}: ${nameOf(model.answer)}`);
  if (first && model) make("span", "note", named,
    `${percent(first.counts[model.answer], first.n)} → ${percent(tally.counts[model.answer], tally.n)}`);
  if (often !== null && often !== undefined && tally.n > 2)
    make("span", "note", named, `${text.often}: ${nameOf(often)}`);
}

function grid(box, shown) {
  const { rows, columns } = shown.asked.guess, most = Math.max(1, ...shown.tally.counts);
  const table = make("table", "", box), head = make("tr", "", make("thead", "", table));
  const body = make("tbody", "", table);
  make("td", "", head);
  for (const column of columns) make("th", "", head, column);
  rows.forEach((name, r) => {
    const line_ = make("tr", "", body);
    make("th", "", line_, name);
    columns.forEach((_, c) => {
      const i = r * columns.length + c, n = shown.tally.counts[i], cell = make("td", "hit", line_, n || "");
      cell.style.setProperty("--share", n / most);
      cell.classList.toggle("right", shown.model?.answer === i);
      cell.classList.toggle("mine", shown.mine === i);
    });
  });
  nameAll(box, shown, (i) => `${rows[Math.floor(i / columns.length)]}, ${columns[i % columns.length]}`);
}

function line(box, shown) {
  const { asked: { guess }, tally, model, mine, first, text } = shown, unit = guess.unit ? ` ${guess.unit}` : "";
  const svg = draw("svg", { role: "img" }, box);
  const most = Math.max(1, ...tally.counts), step = WIDTH / tally.counts.length;
  const middle = tally.median === null ? "" : fill(text.median, { value: `${readable(tally.median)}${unit}` });
  sized(svg, WIDTH, HEIGHT, middle);
  tally.counts.forEach((n, i) => {
    const high = HEIGHT * n / most;
    draw("rect", { x: i * step + 1, y: HEIGHT - high, width: step - 2, height: high, class: "bin" }, svg);
  });
  draw("line", { x1: 0, y1: HEIGHT, x2: WIDTH, y2: HEIGHT, class: "axis" }, svg);
  const ends = make("div", "ends", box);
  make("span", "", ends, readable(guess.low));
  make("span", "", ends, `${readable(guess.high)}${unit}`);
  for (const [name, value] of [["mine", mine], ["answer", model?.answer]]) {
    if (typeof value !== "number") continue;
    const x = WIDTH * shareOf(guess, value);
    draw("line", { x1: x, y1: 0, x2: x, y2: HEIGHT, class: name }, svg);
  }
  const said = make("p", "named", box);
  if (typeof mine === "number") make("span", "note mine", said, `${text.mine}: ${readable(mine)}${unit}`);
  if (model) make("span", "note answer", said, `✓ ${text.model}: ${readable(model.answer)}${unit}`);
  if (middle) make("span", "note", said, middle);
  if (first?.median !== undefined && first.n)
    make("span", "note", said, fill(text.before, { value: `${readable(first.median)}${unit}` }));
}

function words(box, shown) {
  const { tally, model, text } = shown;
  const known = byWord(model?.known ?? model?.bars), counts = new Map(tally.words);
  for (const word of new Set([...counts.keys(), ...byWord(model?.bars).keys()])) {
    const row = make("div", "row", box);
    nameWord(row, word, shown);
    bar(row, counts.get(word) ?? 0, tally.n, 0, 0);
    make("span", "p", row, known.has(word) ? `${text.model} ${chance(known.get(word))}` : "");
  }
  const named = make("p", "named", box);
  if (tally.other) make("span", "", named, fill(text.others, { n: tally.other }));
  if (tally.sure !== null) make("span", "", named, fill(text.sure_mean, { p: tally.sure }));
}

/** Draw a word with its marks: the phone's own, the model's, the most frequent wrong one. */
function nameWord(row, word, { tally, model, mine, text }) {
  const name = make("div", "name", row), isModels = Boolean(model) && word === plain(model.answer);
  row.classList.toggle("right", isModels);
  Object.assign(make("span", "", name, word), { dir: "auto", translate: false });
  if (mine !== null && word === plain(mine)) make("span", "note mine", name, text.mine);
  if (isModels) make("span", "note answer", name, `✓ ${text.model}`);
  if (model && tally.n > 2 && word === mostWrongWord(tally, model.answer)) make("span", "note", name, text.often);
}

/** The tokens [token, p] by their words; the likeliest of all tokens that give the same word. */
function byWord(tokens = []) {
  const words = new Map();
  for (const [token, p] of tokens) if (!words.has(plain(token))) words.set(plain(token), p);
  return words;
}

/** A word in its form for counting: the rule of core/app/classroom/words.py. */
export function plain(word) {
  const typed = word.normalize("NFKC").replace(/[‘’‚‛ʼʹ′`´]/g, "'").replace(/[“”„‟«»″]/g, '"')
    .replace(/[‐‑‒–—―−]/g, "-").replaceAll("·", " ");
  return typed.replace(/\p{Cc}/gu, " ").replace(/(?![\u200c\u200d])\p{Cf}/gu, "").split(/\s+/).filter(Boolean).join(" ")
    .toUpperCase().toLowerCase();
}
