// The tour's sentences: words set apart, probabilities in percent.
import { chip, make } from "../../core/components/lib/dom.js";
import { grouped, readable } from "../../core/components/lib/numbers.js";

const LEAST = 1e-5;         // what is smaller is not written out
const MOST_DIGITS = 6;

/** A probability in percent for a reader who has not met one yet: two digits, never 0 or 100 unless it is that. */
export function percent(p) {
  if (p > 0 && p < LEAST) return `less than ${readable(100 * LEAST)}\u00a0%`;
  let text = readable(100 * p, 2);
  for (let digits = 3; p < 1 && Number(text) >= 100 && digits <= MOST_DIGITS; digits += 1)
    text = readable(100 * p, digits);
  return p < 1 && Number(text) >= 100 ? "almost 100\u00a0%" : `${text}\u00a0%`;
}

/** The same beside a bar, where a phone has little room. */
export const brief = (p) => percent(p).replace("less than ", "<\u00a0");

/** A template into a node: {names} become what `values` say: {word}, {share} in percent, or a plain text. */
export function say(node, template, values) {
  for (const part of (template ?? "").split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1], value = name && name in values ? values[name] : part;
    if (value?.word !== undefined) chip(node, value.word, "word");
    else if (value?.share !== undefined) make("b", "share", node, percent(value.share));
    else if (value !== "") node.append(typeof value === "number" ? grouped(value) : String(value));
  }
  return node;
}

/** The same as text alone, for names that are read out. */
export function spoken(template, values) {
  return (template ?? "").replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value === undefined ? whole : String(value?.word ?? (value?.share === undefined ? value
      : percent(value.share)));
  });
}
