// The likeliest tokens of one position at the depth under the hand, as bars between 0 and 1.
import { unpack } from "../../core/components/lib/bytes.js";
import { significant } from "../../core/components/lib/numbers.js";

function bar(token, p, marked) {
  const item = document.createElement("li");
  const [name, track, amount] = ["code", "span", "output"].map((tag) => item.appendChild(document.createElement(tag)));
  name.textContent = token;
  track.appendChild(document.createElement("i")).style.width = `${100 * p}%`;
  amount.textContent = significant(p);
  item.classList.toggle("marked", Boolean(marked));
  item.title = `${token}: ${p}`;
  return item;
}

function draw(list) {
  const { tokens, marked, probs } = list.data, depth = Math.min(list.depth, tokens.length - 1);
  const n = tokens[depth].length;
  list.replaceChildren(...tokens[depth].map((token, i) => bar(token, probs[depth * n + i], marked[depth][i])));
}

export default function ({ parentElement, data }) {
  const list = parentElement.querySelector(".guesses");
  list.data = unpack(data);
  list.depth = list.data.depth;
  list.setAttribute("aria-label", list.data.label);
  draw(list);
  if (!list.follow) {
    list.follow = ({ detail }) => { list.depth = detail; draw(list); };
    document.addEventListener("lens-depth", list.follow);
  }
  return () => document.removeEventListener("lens-depth", list.follow);
}
