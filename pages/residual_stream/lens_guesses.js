// The likeliest tokens of one position at the depth under the hand, as bars between 0 and 1.
import { unpack } from "../../core/components/lib/bytes.js";
import { make } from "../../core/components/lib/dom.js";
import { percent } from "../../core/components/lib/numbers.js";

function bar(list, token, p, marked) {
  const item = make("li", marked ? "marked" : "", list);
  item.title = `${token}: ${percent(p)}`;
  make("code", "", item, token);
  make("i", "", make("span", "", item)).style.width = `${100 * p}%`;
  make("output", "", item, percent(p));
}

/** tokens, marked, probs: of each depth.
 * @typedef {{ tokens: string[][], marked: number[][], depth: number, label: string, probs: Float32Array }} Message */

/** @param {{ data: Message, depth: number } & HTMLElement} list */
function draw(list) {
  const { tokens, marked, probs } = list.data, depth = Math.min(list.depth, tokens.length - 1);
  const n = tokens[depth].length;
  list.replaceChildren();
  tokens[depth].forEach((token, i) => bar(list, token, probs[depth * n + i], marked[depth][i]));
}

export default function ({ parentElement, data }) {
  const list = parentElement.querySelector(".guesses");
  list.data = unpack(data);
  list.depth = list.data.depth;
  list.ariaLabel = list.data.label;
  draw(list);
  if (!list.follow) {
    list.follow = ({ detail }) => { list.depth = detail; draw(list); };
    document.addEventListener("lens-depth", list.follow);
  }
  return () => document.removeEventListener("lens-depth", list.follow);
}
