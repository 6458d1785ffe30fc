// Words and numbers of the map.
import { chip, exact } from "../../core/components/lib/pattern.js";

// A template's {places} filled; a token is isolated, so that right-to-left letters do not turn the sentence.
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// The same as nodes, with the places named in `tokens` as chips.
export function phrase(template, values, tokens) {
  return template.split(/(\{\w+\})/).map((piece) => {
    const name = piece.slice(1, -1);
    return piece[0] !== "{" ? piece : tokens.includes(name) ? chip(values[name], name === "token" ? "query" : "")
      : String(values[name] ?? piece);
  });
}

export const named = (map, i) => `\u2068${map.tokens[i]}\u2069`;

// Three significant digits, and more where three would say that something below 1 is 1; no exponent above a millionth.
export function short(value) {
  let digits = 3, shown = value.toPrecision(digits);
  while (Math.abs(value) < 1 && Math.abs(Number(shown)) >= 1 && digits < 17) shown = value.toPrecision(++digits);
  return shown.includes("e") ? (Math.abs(value) >= 1000 ? Math.round(value).toString() : exact(value)) : shown;
}
