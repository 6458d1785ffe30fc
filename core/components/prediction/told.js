// A guess beside the truth, small enough to stand above its picture.
import { draw, fill, make, sized } from "../lib/dom.js";
import { percent, readable } from "../lib/numbers.js";
import { inline } from "./inline.js";

const NEIGHBOURS = 2;       // tokens shown on each side of the guess and of the answer

/** @param {import("./prediction.js").Message} header */
export function shownGuess(parent, header) {
  ({ options: chips, place: chips, cell: cells, number: line, word: bars })[header.guess.kind](parent, header);
}

/** Write "you: said" and "the answer: said" below the value that each names. */
function tags(parent, header, value) {
  const { mine, answer, own, said, text } = header;
  if (value === mine) make("span", "tag mine", parent, [text.mine, own].filter(Boolean).join(" · "));
  if (value === answer) make("span", "tag answer", parent, [text.answer, said].filter(Boolean).join(" · "));
}

const classOf = ({ mine, answer }, value) =>
  `choice${value === mine ? " mine" : ""}${value === answer ? " answer" : ""}`;

/** The places among n that are shown: those near the guess and the answer; a gap between them is a null. */
export function around(n, ...places) {
  const near = [...Array(n).keys()].filter((i) => places.some((place) => Math.abs(i - place) <= NEIGHBOURS));
  return near.flatMap((i, k) => (k && near[k - 1] !== i - 1 ? [null, i] : [i]));
}

function chips(parent, header) {
  const { texts, kind } = header.guess, isPlace = kind === "place";
  const row = make("div", `choices ${kind}`, parent);
  const shown = isPlace ? around(texts.length, header.mine, header.answer) : [...texts.keys()];
  for (const i of shown) {
    if (i === null) { make("span", "gap", row, "…"); continue; }
    if (!isPlace && i !== header.mine && i !== header.answer) continue;
    const box = make("div", classOf(header, i), row);
    inline(make("span", "text", box), texts[i]).dir = "auto";
    tags(box, header, i);
  }
}

function cells(parent, header) {
  const { rows, columns } = header.guess, size = 11;
  const place = make("div", "cells-told", parent);
  const svg = draw("svg", { role: "img" }, place);
  const nameOf = (i) => `${columns[i % columns.length]}, ${rows[Math.floor(i / columns.length)]}`;
  sized(svg, columns.length * size, rows.length * size,
    `${header.text.mine}: ${nameOf(header.mine)}. ${header.text.answer}: ${nameOf(header.answer)}.`);
  rows.forEach((_, r) => columns.forEach((_, c) => {
    const i = r * columns.length + c;
    draw("rect",
      { x: c * size + 1, y: r * size + 1, width: size - 2, height: size - 2, class: classOf(header, i) }, svg);
  }));
  const row = make("div", "choices", place);
  for (const i of new Set([header.mine, header.answer])) {
    const box = make("div", classOf(header, i), row);
    make("span", "text", box, nameOf(i));
    tags(box, header, i);
  }
}

/** The position of a number between the ends, as a share. */
export function shareOf({ low, high, log }, value) {
  const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.min(Math.max(share, 0), 1);
}

function line(parent, header) {
  const { guess, mine, answer, text } = header, unit = guess.unit ? ` ${guess.unit}` : "";
  const place = make("div", "numberline", parent);
  const ends = guess.log ? [guess.low, guess.high] : [Math.min(guess.low, answer), Math.max(guess.high, answer)];
  const scale = { ...guess, low: Math.min(ends[0], answer > 0 || !guess.log ? answer : ends[0]),
    high: Math.max(ends[1], answer) };
  for (const [name, value, label] of [["mine", mine, text.mine], ["answer", answer, text.answer]]) {
    const share = shareOf(scale, value), mark = make("div", `mark ${name}${share > 0.5 ? " left" : ""}`, place);
    mark.style.setProperty("--at", `${100 * share}%`);
    make("span", "tag", mark, `${label}: ${readable(value)}${unit}`);
  }
}

function bars(parent, header) {
  const { mine, sure, bars: shown, text, answer, guess } = header;
  const table = make("div", "bars", parent);
  for (const [word, p, isMine] of shown) {
    const row = make("div", `bar${isMine ? " mine" : ""}${word === answer ? " answer" : ""}`, table);
    make("span", "text", row, word).dir = "auto";
    const track = make("span", "track", row);
    make("i", "", track).style.width = `${100 * Math.max(0, p)}%`;
    if (isMine && sure !== null) make("b", "", track).style.left = `${sure}%`;
    make("span", "p", row, guess.chance ? percent(p) : readable(p));
  }
  if (sure !== null) make("p", "muted", parent, fill(text.was_sure, { p: sure, word: mine }));
}
