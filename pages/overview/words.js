// Words of the map.
import { tokenChip } from "../../core/components/lib/pattern.js";

// A template as nodes, its places filled, those named in `tokens` as chips.
export function phrase(template, values, tokens) {
  return template.split(/(\{\w+\})/).map((piece) => {
    const name = piece.slice(1, -1);
    return piece[0] !== "{" ? piece : tokens.includes(name) ? tokenChip(values[name], name === "token" ? "query" : "")
      : String(values[name] ?? piece);
  });
}

// A token isolated, so that right-to-left letters do not turn the sentence.
export const named = (map, i) => `\u2068${map.tokens[i]}\u2069`;
