// A class's numbers as CSV: a line for each answer that could be given, with how many gave it. Nobody is in it.

/** A cell: quoted, with no formula that a spreadsheet would compute. */
const cell = (value) => `"${String(value ?? "").replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;

/** The answers of a question's tally: [text, count]. */
export function rowsOf({ guess, tally }) {
  const { kind } = guess;
  if (kind === "options" || kind === "place") return guess.texts.map((text, i) => [text, tally.counts[i]]);
  if (kind === "cell")
    return tally.counts.map((n, i) => [`${guess.rows[Math.floor(i / guess.columns.length)]}, ${
      guess.columns[i % guess.columns.length]}`, n]);
  if (kind === "number") return tally.counts.map((n, i) => [binOf(guess, tally.counts.length, i), n]);
  return [...tally.words, ["…", tally.other]];
}

/** The ends of the part i of n equal parts of a slider. */
export function binOf({ low, high, log }, n, i) {
  const at = (share) => Number((log ? low * (high / low) ** share : low + share * (high - low)).toPrecision(4));
  return `${at(i / n)}–${at((i + 1) / n)}`;
}

export function csvOf(questions, text) {
  const lines = [[text.csv_number, text.csv_question, text.csv_answer, text.csv_count, text.csv_model]];
  for (const { question, asked, tally, model } of questions)
    rowsOf({ guess: asked.guess, tally }).forEach(([answer, n], i) =>
      lines.push([question, asked.ask, answer, n, isModels(asked.guess, model, i, answer) ? "x" : ""]));
  return lines.map((line) => line.map(cell).join(",")).join("\r\n");
}

function isModels({ kind }, model, i, answer) {
  if (!model) return false;
  return kind === "word" ? model.answer === answer : kind !== "number" && model.answer === i;
}
