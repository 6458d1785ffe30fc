// What is read off a head's pattern: the rows of its packed weights, and the words under the pointer.
import { chip, make } from "./dom.js";

// The keys that each query may see stand from first[i] to last[i]; offset[i] is where row i begins among the
// packed values.
export function rowOffsets(first, last) {
  const offset = new Uint32Array(first.length + 1);
  for (let i = 0; i < first.length; i++) offset[i + 1] = offset[i] + last[i] - first[i] + 1;
  return offset;
}

const LONG_TOKEN = 12;

// A token as a chip that may be cut: a long one says itself in full under the pointer.
export function tokenChip(token, meaning) {
  const node = chip(null, token, `chip ${meaning || ""}`);
  if (token.length > LONG_TOKEN) node.title = token;
  return node;
}

// What is read under the pointer: where, query chip → key chip, the exact amount, and a line of further words.
export function reading(where, query, key, amount, note) {
  const pair = make("div", "pair");
  pair.append(make("b", "", null, where), tokenChip(query, "query"), make("span", "", null, "→"), tokenChip(key, "key"),
    make("output", "", null, amount));
  return [pair, make("small", "", null, note)];
}

// Shows `content` centred above the point (x, y) of its parent, below where there is no room (y + drop), and never
// outside the parent.
export function showTip(tip, content, x, y, drop) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const room = tip.parentElement.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x - tip.offsetWidth / 2, room))}px`;
  const above = y - tip.offsetHeight - 4;
  tip.style.top = `${above >= 0 ? above : y + drop}px`;
}
