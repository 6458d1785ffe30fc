// A class's results: as CSV, a line for each answer that was given or is right, with its count; and as a page to print.
// They name nobody.
import { plain, showTally } from "../class_tally/tally.js";
import { pictureAt, reasonOf } from "../class_wall/pictures.js";
import { fill, make } from "../lib/dom.js";
import { inline } from "../prediction/inline.js";
import { shareOf } from "../prediction/told.js";

const PARTS = 24;        // of a slider: BINS of tally.py

/** A cell: quoted, without a formula that a spreadsheet would compute; a number is no formula. */
const cell = (value) => (typeof value === "number" ? `"${value}"`
  : `"${String(value ?? "").replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`);

/** A text without the marks of code in it. */
const bare = (written) => written.replaceAll("`", "");

/** The answers of a question's tally, and the model's word if nobody has given it: [text, count]. */
export function rowsOf({ guess, tally, model }) {
  const { kind } = guess;
  if (kind === "options" || kind === "place") return guess.texts.map((text, i) => [text, tally.counts[i]]);
  if (kind === "cell")
    return tally.counts.map((n, i) => [`${guess.rows[Math.floor(i / guess.columns.length)]}, ${
      guess.columns[i % guess.columns.length]}`, n]);
  if (kind === "number") return tally.counts.map((n, i) => [binOf(guess, tally.counts.length, i), n]);
  const own = model?.answer ? plain(model.answer) : "", isNew = own && !tally.words.some(([word]) => word === own);
  return [...tally.words, ...(isNew ? [[own, 0]] : []), ["…", tally.other]];
}

/** The ends of part i of n equal parts of a slider. */
export function binOf({ low, high, log }, n, i) {
  const at = (share) => Number((log ? low * (high / low) ** share : low + share * (high - low)).toPrecision(4));
  return `${at(i / n)}–${at((i + 1) / n)}`;
}

export function csvOf(questions, text) {
  const lines = [[text.csv_number, text.csv_question, text.csv_answer, text.csv_count, text.csv_model]];
  for (const { question, asked, tally, model } of questions)
    rowsOf({ guess: asked.guess, tally, model }).forEach(([answer, n], i) => {
      const right = modelSays(asked.guess, model, i, answer);
      if (n || right !== "") lines.push([question, asked.ask, bare(answer), n, right]);
    });
  return lines.map((line) => line.map(cell).join(",")).join("\r\n");
}

/** Open a page with each question, the answers of the class and of the model, and print it. */
export function printed(questions, { text, data }, styles) {
  const page = window.open("", "_blank");
  if (!page) return;
  const { document: paper } = page;
  paper.title = `${text.desk_title} · ${data.code}`;
  const style = make("style", "", paper.head), sheet = make("main", "component sheet", paper.body);
  style.textContent = `:root { ${variables()} } ${styles} ${SHEET}`;
  make("h1", "", sheet, `${text.desk_title} · ${data.code} · ${new Date().toLocaleDateString()}`);
  for (const { asked, tally, model } of questions) {
    const part = make("section", "", sheet);
    inline(make("h2", "", part), asked.ask);
    if (asked.prompt) make("p", "prompt", part, asked.prompt);
    make("p", "kicker", part, fill(text.answered, { n: tally.n }));
    showTally(part, { asked, tally, model, mine: null, text });
    const picture = pictureAt(asked.about);
    if (picture) make("img", "", part).src = picture;
    if (reasonOf(asked.about)) inline(make("p", "", part), reasonOf(asked.about));
  }
  const images = [...paper.images].map((image) => image.decode().catch(() => {}));
  Promise.all(images).then(() => { page.focus(); page.print(); });
}

const SHEET = `body { margin: 2cm; background: var(--tx-page); color: var(--tx-text); }
  .sheet section { break-inside: avoid; margin-bottom: 1.5em; max-width: 45em; } .sheet h1 { font-size: 1.3em; }
  .sheet h2 { font-size: 1.1em; }
  .sheet img { max-width: 100%; margin-top: 1em; border: 1px solid var(--tx-grid); }`;

/** The page's colours and fonts, as rules. */
function variables() {
  const style = getComputedStyle(document.documentElement), found = [];
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules ?? [])
      if (rule instanceof CSSStyleRule && rule.selectorText === ":root") found.push(...rule.style);
  return [...new Set(found)].filter((name) => name.startsWith("--tx-"))
    .map((name) => `${name}: ${style.getPropertyValue(name)};`).join(" ");
}

/** The entry in the model's column for answer i: "x" if it is the model's; for a number, the number. */
function modelSays(guess, model, i, answer) {
  if (!model) return "";
  if (guess.kind === "number") return placeOf(guess, model.answer) === i ? model.answer : "";
  return (guess.kind === "word" ? plain(model.answer ?? "") === answer : model.answer === i) ? "x" : "";
}

/** The index of the tally's part that contains a number. */
const placeOf = (guess, value) => Math.min(Math.floor(shareOf(guess, value) * PARTS), PARTS - 1);
