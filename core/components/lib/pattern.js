// Shared by the wall and the opened head: the rows of packed weights, the colour scale, numbers, token chips.
import { pageScale, readTheme, whenStyled } from "./theme.js";

// The keys that each query may see stand from first[i] to last[i]; offset[i] is where row i begins among the
// packed values.
export function rowOffsets(first, last) {
  const offset = new Uint32Array(first.length + 1);
  for (let i = 0; i < first.length; i++) offset[i + 1] = offset[i] + last[i] - first[i] + 1;
  return offset;
}

export function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

const LONG_TOKEN = 12;

// A token as a chip; dir=auto lets right-to-left text read right to left inside it.
export function chip(token, meaning) {
  const node = element("span", `chip ${meaning || ""}`, token);
  node.dir = "auto";
  if (token.length > LONG_TOKEN) node.title = token;      // it may be cut
  return node;
}

// What is read under the pointer: where, query chip → key chip, the exact amount, and a line of further words.
export function reading(where, query, key, amount, note) {
  const pair = element("div", "pair");
  pair.append(element("b", "", where), chip(query, "query"), element("span", "", "→"), chip(key, "key"),
    element("output", "", amount));
  return [pair, element("small", "", note)];
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

// The height from `node` to the bottom of the window, as the page stands unscrolled, within [least, most]: the picture
// ends on the first screen. Present mode (its scale is above 1) has a bar at the bottom.
export function fitHeight(node, least, most, foot = 0) {
  const main = node.getRootNode().host?.closest('[data-testid="stMain"]');
  const top = node.getBoundingClientRect().top + (main?.scrollTop ?? 0);
  const below = pageScale() > 1 ? 70 : 20;
  return Math.max(least, Math.min(most, window.innerHeight - top - below - foot));
}

// Calls draw() when the node's width changes, when the window does, and once more when the page around has
// found its place.
export function keepFitted(node, draw) {
  const fit = () => whenStyled(node, draw);
  new ResizeObserver(fit).observe(node);
  window.addEventListener("resize", () => node.isConnected && fit());
  for (const later of [400, 1500]) setTimeout(fit, later);
}

// A canvas ready to be drawn on: its context, the page's colours by name and the diverging scale stand on the view; the
// last picture is gone.
export function beginDrawing(view, width = view.width) {
  const context = view.canvas.getContext("2d"), { ink, table } = readTheme();
  Object.assign(view, { context, ink, colours: table("div") });
  context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  context.clearRect(0, 0, width, view.height);
  context.textBaseline = "middle";
}

export function writeText(view, text, x, y,
  { align = "left", meaning = "text", bold = false, mono = false, room, size = 1 } = {}) {
  const { context, ink, type } = view;
  context.font = `${bold ? "700 " : ""}${type * size}px ${ink(mono ? "mono" : "font")}`;
  context.fillStyle = ink(meaning);
  context.textAlign = align;
  context.fillText(text, x, y, room);
}
