// The means to guess: options, a token of a text, a cell of a grid, a number, a word.
import { fill, make } from "../lib/dom.js";
import { isShortcut } from "../lib/keys.js";
import { readable } from "../lib/numbers.js";
import { inline } from "./inline.js";
import { square } from "./square.js";

const STEPS = 200;          // of a slider with equal ratios
const SURE = 50;            // percent: the first value of the slider "how sure"

/**
 * The controls for one guess: {node, told()}. ready(is) is called with whether there is a guess; `asked` is the node of
 * the question, which names the controls.
 * @param {import("./prediction.js").Guess} guess
 */
export function guessOf(guess, labels, ready, asked) {
  const make_ = { options: radios, place: radios, cell: grid, number: slider, word: field }[guess.kind];
  const made = make_(guess, labels, ready);
  made.node.setAttribute("aria-labelledby", asked.id);
  return made;
}

/** A radio button in its label, in the group of the question. */
function radio(parent, name, value, label, ready) {
  const box = make("label", name, parent), input = make("input", "", box);
  Object.assign(input, { type: "radio", name: "guess", value });
  input.onchange = () => ready(true);
  if (label) input.ariaLabel = label;
  return box;
}

const picked = (node) => ({ guess: Number(node.querySelector("input:checked").value) });

function radios({ kind, texts, offered, pictures }, labels, ready) {
  const node = make("div", kind, undefined);
  node.role = "radiogroup";
  node.translate = kind !== "place";        // tokens are in the model's language
  texts.forEach((text, i) => {
    if (offered?.length && !offered.includes(i)) {
      make("span", "token", node, text).dir = "auto";
      return;
    }
    const box = radio(node, kind === "place" ? "token" : "option", i, "", ready);
    if (kind === "options") make("kbd", "", box, String(i + 1));
    if (pictures) square(box, pictures[i]);
    inline(make("span", "", box), text).dir = "auto";
  });
  if (kind === "options") byDigits(node, ready);
  return { node, told: () => picked(node) };
}

/** Let the digits pick the options, wherever on the card the focus is. */
function byDigits(node, ready) {
  node.onkeydown = (event) => {
    const option = node.querySelectorAll("input")[Number(event.key) - 1];
    if (isShortcut(event) || !option) return;
    option.checked = true;
    option.focus();
    ready(true);
  };
}

function grid({ rows, columns }, labels, ready) {
  const node = make("table", "cells"), head = make("tr", "", make("thead", "", node)), body = make("tbody", "", node);
  node.role = "radiogroup";
  make("td", "", head);
  for (const column of columns) make("th", "", head, column);
  rows.forEach((row, r) => {
    const line = make("tr", "", body);
    make("th", "", line, row);
    columns.forEach((column, c) =>
      radio(make("td", "", line), "cell", r * columns.length + c, `${row}, ${column}`, ready));
  });
  return { node, told: () => picked(node) };
}

/** The value of a slider at a share of its length. */
export function valueAt({ low, high, step, log }, share) {
  if (log) {
    const value = low * (high / low) ** share, digits = Math.max(0, 1 - Math.floor(Math.log10(value)));
    return Number(value.toFixed(Math.min(digits, 12)));
  }
  return Number((low + Math.round(share * (high - low) / step) * step).toFixed(10));
}

function slider(guess, labels, ready) {
  const node = make("div", "number"), output = make("output", "", node, "?"), input = make("input", "", node);
  const steps = guess.log ? STEPS : Math.round((guess.high - guess.low) / guess.step);
  Object.assign(input, { type: "range", min: 0, max: steps, step: 1, value: Math.round(steps / 2) });
  const ends = make("div", "ends", node), unit = guess.unit ? ` ${guess.unit}` : "";
  make("span", "", ends, readable(guess.low));      // the unit once, at the other end: no "1 steps"
  if (guess.log) make("span", "", ends, labels.log);
  make("span", "", ends, `${readable(guess.high)}${unit}`);
  const value = () => valueAt(guess, Number(input.value) / steps);
  input.ariaLabel = labels.number;
  const set = () => {
    output.textContent = `${readable(value())}${unit}`;
    input.ariaValueText = output.textContent;
    ready(true);
  };
  input.oninput = set;
  input.onclick = set;      // a reader who means the middle presses it
  return { node, told: () => ({ guess: value() }) };
}

function field({ most, chance }, labels, ready) {
  const node = make("div", "word"), input = make("input", "text", node);
  Object.assign(input, { type: "text", maxLength: most, autocomplete: "off", spellcheck: false, dir: "auto" });
  input.placeholder = labels.word;
  input.ariaLabel = labels.word;
  input.oninput = () => ready(Boolean(input.value.trim()));
  if (!chance) return { node, told: () => ({ guess: input.value }) };
  const line = make("label", "sure", node), said = make("span", "", line), range = make("input", "", line);
  Object.assign(range, { type: "range", min: 0, max: 100, step: 5, value: SURE });
  const say = () => { said.textContent = fill(labels.sure, { p: range.value }); };
  range.oninput = say;
  say();
  return { node, told: () => ({ guess: input.value, sure: Number(range.value) }) };
}
