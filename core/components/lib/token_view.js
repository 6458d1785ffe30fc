// Shared by pictures of tokens. Whatever a reader has typed reaches the page as textContent alone.
import { byKeys } from "./by_keys.js";
import { unpack } from "./bytes.js";
import { pageScale, readTheme, whenStyled } from "./theme.js";

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, name, parent, text) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  parent?.appendChild(node);
  return node;
}

export function draw(tag, attributes, parent, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent?.appendChild(node);
  return node;
}

export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

/** A template whose {names} become chips where the value is {chip: text}, and plain text otherwise. */
export function rich(node, template, values) {
  node.replaceChildren();
  for (const part of template.split(/(\{\w+\})/)) {
    const value = /^\{\w+\}$/.test(part) ? values[part.slice(1, -1)] : part;
    if (value && value.chip !== undefined) chip(node, value.chip);
    else node.append(String(value ?? ""));
  }
}

export function chip(parent, text, name = "chip") {
  const node = make("span", name, parent, text);
  node.dir = "auto";
  return node;
}

/** One component: built once on its root, fed again at every run. `send` tells Python what the reader has picked. */
export function mount({ parentElement, data, setStateValue }, View) {
  const root = parentElement.querySelector(".tokens-view");
  whenStyled(root, () => {
    if (!root.view) {
      root.view = new View(root);
      marksByKeys(root);
      keepFocus(root);
    }
    root.view.send = (settings) => setStateValue("settings", settings);
    const header = unpack(data);
    root.style.setProperty("--scale", header.scale);
    root.view.receive(header);
  });
}

/** Where a picture is built anew with the focus in it, the focus goes on to what then stands in the same place. */
function keepFocus(root) {
  const path = (node) => (node === root ? [] : [...path(node.parentNode), [...node.parentNode.children].indexOf(node)]);
  let held = null;
  root.addEventListener("focusin", ({ target }) => { held = { node: target, path: path(target) }; });
  // the reader went elsewhere
  root.addEventListener("focusout", ({ target }) => queueMicrotask(() => {
    if (held?.node === target && target.isConnected) held = null;
  }));
  new MutationObserver(() => {
    if (!held || held.node.isConnected || document.activeElement !== document.body) return;
    const heir = held.path.reduce((node, place) => node?.children[place], root);
    if (heir?.tagName === held.node.tagName) heir.focus({ preventScroll: true });
  }).observe(root, { childList: true, subtree: true });
}

/** Every drawing whose marks have titles, and that has no keys of its own, is read by the keys: from mark to mark, its
    title shown and spoken; Enter clicks it. */
function marksByKeys(root) {
  const tip = make("div", "mark-tip", root);
  const marks = (svg) => [...svg.querySelectorAll("title")].map((title) => title.parentNode);
  tip.hidden = true;
  const tell = (svg, k, phase) => {
    const mark = marks(svg)[k];
    svg.querySelector(".by-keys")?.classList.remove("by-keys");
    tip.hidden = phase === "out" || !mark;
    if (tip.hidden) return;
    if (phase === "press") mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    // a click may have drawn it anew
    const shown = marks(svg)[k] ?? mark, home = root.getBoundingClientRect(), box = shown.getBoundingClientRect();
    shown.classList.add("by-keys");
    tip.textContent = shown.querySelector("title").textContent;
    const left = box.left + box.width / 2 - home.left - tip.offsetWidth / 2, room = home.width - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(left, room))}px`;
    const above = box.top - home.top - tip.offsetHeight - 6;
    tip.style.top = `${above > 0 ? above : box.bottom - home.top + 6}px`;
  };
  const wire = () => {
    for (const svg of root.querySelectorAll("svg")) {
      if (svg.onkeydown || svg.querySelectorAll("title").length < 2) continue;
      let inside = svg.parentNode;
      while (inside !== root && !inside.onkeydown) inside = inside.parentNode;
      if (inside === root)
        byKeys(svg, () => ({ columns: marks(svg).length, rows: 1 }), (k, _row, phase) => tell(svg, k, phase),
          () => (tip.hidden ? "" : tip.textContent));
    }
  };
  new MutationObserver(wire).observe(root, { childList: true, subtree: true });
  wire();
}

/** What the hand has set and Python is still to hear of. Python says each back when its run is over; such an echo,
    late, must not move a hand that is further on. */
export class Echoes {
  constructor() {
    this.sent = new Set();
  }

  tell(value) {
    this.sent.add(value);
  }

  /** Whether Python's `value` moves the hand: it is neither what Python said before nor an echo. `now` is where
      the hand stands. */
  moves(value, now) {
    const moved = value !== this.known && !this.sent.has(value);
    this.known = value;
    if (moved || value === now) this.sent.clear();
    return moved;
  }
}

/** Calls again with the new width when the place has another width. */
export function onWidth(node, again) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) { width = now; again(now); }
  }).observe(node);
}

/** Sets --free on the node: the pixels from its top to the bottom of the window as the page stands unscrolled, within
    [least, most]; present mode has a bar at the bottom. */
export function keepFree(node, least, most) {
  const main = () => node.getRootNode().host?.closest('[data-testid="stMain"]');
  const fit = () => {
    if (!node.isConnected) { watch.disconnect(); return; }
    const below = pageScale() > 1 ? 68 : 14;
    const free = window.innerHeight - node.getBoundingClientRect().top - (main()?.scrollTop ?? 0) - below;
    node.style.setProperty("--free", `${Math.round(Math.max(least, Math.min(most, free)))}px`);
  };
  const watch = new ResizeObserver(fit), page = main()?.querySelector('[data-testid="stMainBlockContainer"]');
  // what stands above finds its place later: the page then has another height
  for (const one of [node, page]) if (one) watch.observe(one);
  window.addEventListener("resize", () => node.isConnected && fit());
  for (const later of [400, 1500]) setTimeout(fit, later);
}

export function emOf(root) {
  return parseFloat(getComputedStyle(root).fontSize);
}

const measurer = document.createElement("canvas").getContext("2d");
const widths = new Map();

/** The width of a text in pixels, measured once for each text and font. */
export function textWidth(text, font) {
  const key = `${font} ${text}`;
  if (!widths.has(key)) {
    measurer.font = font;
    if (widths.size > 20000) widths.clear();
    widths.set(key, measurer.measureText(text).width);
  }
  return widths.get(key);
}

/** Calls again once the code font is there: on a first visit texts may have been measured in another one. */
export function onFont(root, again) {
  document.fonts.load(monoFont(root, 16)).then(() => { widths.clear(); again(); });
}

export function monoFont(root, size) {
  return `${size}px ${readTheme().ink("mono")}`;
}

/** How wide and deep a tree of {text, children: [left, right] or null} stands: each leaf as wide as its text, a parent
    as its children or its own text. */
export function measureTree(node, em, font) {
  const own = Math.max(0.95 * em, textWidth(node.text, font) + 0.5 * em);
  if (!node.children) return Object.assign(node, { width: own, depth: 1 });
  node.children.forEach((child) => measureTree(child, em, font));
  const inner = node.children.reduce((sum, child) => sum + child.width, 0);
  return Object.assign(node,
    { width: Math.max(own, inner), inner, depth: 1 + Math.max(...node.children.map((child) => child.depth)) });
}

/** Draws a measured tree hanging from (x, y): the token on the line, under it the pieces it was made of. Returns the
    token's group. */
export function drawTree(svg, node, x, y, em, level = 0) {
  const height = level ? 1.35 * em : 1.75 * em;
  const group = draw("g", { class: level ? "piece below" : `piece ${node.marks || ""}` }, svg);
  draw("rect", { x: x + 1, y, width: Math.max(1, node.width - 2), height: height - 2, rx: 3 }, group);
  const label = draw("text",
    { x: x + node.width / 2, y: y + height / 2 - 0.5, "text-anchor": "middle", "dominant-baseline": "central" }, group,
    node.text);
  label.setAttribute("font-size", level ? 0.86 * em : em);
  if (node.children) {
    let left = x + (node.width - node.inner) / 2;
    for (const child of node.children) {
      drawTree(svg, child, left, y + height, em, level + 1);
      left += child.width;
    }
  }
  return group;
}

export function treeHeight(depth, em) {
  return (1.75 + 1.35 * (depth - 1)) * em;
}

export function button(parent, text, label, act, name = "") {
  const node = make("button", name, parent, text);
  node.type = "button";
  node.onclick = act;
  return labelled(node, label);
}

function labelled(node, label) {
  node.setAttribute("aria-label", label);
  node.title = label;
  return node;
}

/**
 * Written tokens from (x, y) on, in lines of `width`: items {text, p, marks, title}. A token's probability p is its
 * ground, and the length of the line under it for who cannot tell the shades; without p it is plain. A line break in
 * the text is one here where `breaks` says so. Returns {height, groups}.
 */
export function drawWritten(svg, items, x, y, width, em, breaks = true) {
  const font = monoFont(svg, em), line = 1.75 * em, groups = [];
  let at = x;
  for (const item of items) {
    const own = Math.min(width, textWidth(item.text, font) + 0.4 * em);
    if (at > x && at + own > x + width) { at = x; y += line; }
    const group = draw("g", { class: `token ${item.marks || ""}` }, svg), shade = Math.round(8 * (item.p ?? 0));
    draw("rect", { class: "ground", x: at, y, width: own - 2, height: 1.5 * em, rx: 3,
      fill: item.p === undefined ? "none" : `var(--tx-seq-${shade})` }, group);
    if (item.p !== undefined)
      draw("rect", { class: "share", x: at, y: y + 1.5 * em - 3, width: (own - 2) * item.p, height: 3,
        fill: "var(--tx-kept-ink)" }, group);
    draw("text", { x: at + own / 2 - 1, y: y + 0.98 * em, "text-anchor": "middle", "font-size": em,
      style: `fill: var(--tx-${item.p === undefined ? "muted-ink" : shade > 4 ? "page" : "text"})` }, group, item.text);
    if (item.title) draw("title", {}, group, item.title);
    groups.push(group);
    at += own;
    if (breaks && item.text.endsWith("⏎")) { at = x; y += line; }
  }
  return { height: y + (at > x ? line : 0), groups };
}

/** Size of a drawing, and the words that stand for it. */
export function sized(svg, width, height, label) {
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": label }))
    svg.setAttribute(name, value);
}

/** A text that is cut where it would be wider than there is room. */
export function shortened(text, font, room) {
  let shown = text;
  while (shown.length > 1 && textWidth(shown, font) > room) shown = `${shown.slice(0, shown.endsWith("…") ? -2 : -1)}…`;
  return shown;
}

/** A bar to go through the states 0 to `last`: to the next, to an end, by a slider, or by itself. `show()` draws state
 * `at`; `rest()` is called when hand or play have come to rest, `turn()` before a button or the play moves. `live` is
 * the node whose words are read out, but not while it plays. */
export class Player {
  constructor(parent, live, { show, rest, turn = () => {} }) {
    Object.assign(this, { live, show, rest, turn, last: 0, timer: null });
    this.bar = make("div", "bar", parent);
    this.buttons = make("div", "buttons", this.bar);
    const step = (sign, by) => button(this.buttons, sign, "", () => {
      this.stop();
      this.turn();
      this.go(this.at + by);
      this.rest();
    });
    this.steps = { start: step("«", -Infinity), back: step("◀", -1) };
    this.play = button(this.buttons, "", "", () => this.toggle(), "play");
    Object.assign(this.steps, { forward: step("▶", 1), end: step("»", Infinity) });
    this.slider = make("input", "", this.bar);
    Object.assign(this.slider, { type: "range", min: 0, step: 1 });
    this.slider.oninput = () => { this.stop(); this.go(Number(this.slider.value)); };
    this.slider.onchange = () => this.rest();
  }

  /** Names the parts by `text`, and sets the last state and the milliseconds that one stands while it plays. */
  receive(text, last, pause) {
    Object.assign(this, { text, last, pause });
    this.slider.max = last;
    this.slider.setAttribute("aria-label", text.slider);
    for (const [name, node] of Object.entries(this.steps)) labelled(node, text[name]);
    this.play.title = text.play;
    this.label();
  }

  get playing() {
    return this.timer !== null;
  }

  get ended() {
    return this.at >= this.last;
  }

  label() {
    this.play.textContent = this.playing ? this.text.pause : this.text.play;
    this.play.setAttribute("aria-label", this.play.textContent);
    this.live.setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  go(at) {
    this.at = Math.min(this.last, Math.max(0, at));
    this.show();
  }

  toggle() {
    if (this.playing) { this.stop(); this.rest(); return; }
    this.turn();
    if (this.ended) this.go(0);
    this.timer = setInterval(() => {
      if (!this.bar.isConnected) return this.stop();
      this.go(this.at + 1);
      if (this.ended) { this.stop(); this.rest(); }
    }, this.pause);
    this.label();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.label();
  }

  /** The slider where it stands, and what it says there. */
  value(said) {
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", said);
  }
}
