// Tokens drawn: trees of merges, and text as it was written.
import { draw } from "./dom.js";
import { monoFont, textWidth } from "./text.js";

/** Measure the width and depth of a tree of {text, children: [left, right] or null}: each leaf is as wide as its text,
    a parent as wide as its children or its own text. */
export function measureTree(node, em, font) {
  const width = Math.max(0.95 * em, textWidth(node.text, font) + 0.5 * em);
  if (!node.children) return Object.assign(node, { width: width, depth: 1 });
  node.children.forEach((child) => measureTree(child, em, font));
  const inner = node.children.reduce((sum, child) => sum + child.width, 0);
  return Object.assign(node,
    { width: Math.max(width, inner), inner, depth: 1 + Math.max(...node.children.map((child) => child.depth)) });
}

/** Draw a measured tree that hangs from (x, y): the token on the line, under it the pieces it was made of. Return the
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

/**
 * Write tokens from (x, y) on, in lines of `width`: items {text, p, marks, title}. A token's probability p is shown by
 * the colour of its background, and by the length of the line under it for readers who cannot tell the shades apart;
 * without p it is plain. Line breaks of the text are kept if `breaks` is set. Return {height, groups}.
 */
export function drawWritten(svg, items, x, y, width, em, breaks = true) {
  const font = monoFont(em), line = 1.75 * em, groups = [];
  let left = x;
  for (const item of items) {
    const advance = Math.min(width, textWidth(item.text, font) + 0.4 * em);
    if (left > x && left + advance > x + width) { left = x; y += line; }
    const group = draw("g", { class: `token ${item.marks || ""}` }, svg), shade = Math.round(8 * (item.p ?? 0));
    draw("rect", { class: "ground", x: left, y, width: advance - 2, height: 1.5 * em, rx: 3,
      fill: item.p === undefined ? "none" : `var(--tx-seq-${shade})` }, group);
    if (item.p !== undefined)
      draw("rect", { class: "share", x: left, y: y + 1.5 * em - 3, width: (advance - 2) * item.p, height: 3,
        fill: "var(--tx-kept-ink)" }, group);
    draw("text", { x: left + advance / 2 - 1, y: y + 0.98 * em, "text-anchor": "middle", "font-size": em,
      style: `fill: var(--tx-${item.p === undefined ? "muted-ink" : shade > 4 ? "page" : "text"})` }, group, item.text);
    if (item.title) draw("title", {}, group, item.title);
    groups.push(group);
    left += advance;
    if (breaks && item.text.endsWith("⏎")) { left = x; y += line; }
  }
  return { height: y + (left > x ? line : 0), groups };
}
