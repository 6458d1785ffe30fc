// Words and numbers of the map.
import { chip } from "../../core/components/lib/pattern.js";

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
