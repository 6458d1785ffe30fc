// A picture is every canvas and top-level SVG inside the selected element, each at its place: plotly stacks several
// SVGs, a component may stack canvases. SVG styles are written into the copy, which has no style sheets and custom
// properties of its own. If there is neither, as in a table, the element's boxes and words are drawn (written.js).
import { draw, sized } from "../lib/dom.js";
import { findAcross } from "../lib/find.js";
import { drawWritten } from "./written.js";

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-anchor",
  "dominant-baseline", "visibility", "display", "paint-order", "mix-blend-mode"];
const SVG = "http://www.w3.org/2000/svg";
const ICON = 24;        // px: a node no larger than this is a button of a chart, not a picture

function layers(root) {
  if (root.matches?.("canvas, svg")) return [root];
  const list = [];
  for (const node of root.children) {
    if (node.matches("canvas, svg")) list.push(node);
    else list.push(...layers(node));
    if (node.shadowRoot) list.push(...layers(node.shadowRoot));
  }
  return list;
}

function visible(node) {
  const box = node.getBoundingClientRect();
  return Math.max(box.width, box.height) > ICON && Math.min(box.width, box.height) > 1
    && getComputedStyle(node).visibility !== "hidden";
}

/** The picture inside the element that a selector finds, as SVG, on this page or on another; null if there is none. */
export function pictureOf(selector, page = document) {
  const root = findAcross(page, selector);
  const all = root ? [...layers(root), ...(root.shadowRoot ? layers(root.shadowRoot) : [])] : [];
  const isWritten = !all.length && root?.textContent.trim(), parts = isWritten ? [root] : all.filter(visible);
  if (!parts.length) return null;
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const left = Math.min(...boxes.map((b) => b.left)), top = Math.min(...boxes.map((b) => b.top));
  const width = Math.max(...boxes.map((b) => b.right)) - left, height = Math.max(...boxes.map((b) => b.bottom)) - top;
  const out = draw("svg", { xmlns: SVG });
  sized(out, width, height, "");
  draw("rect", { width, height, fill: getComputedStyle(page.documentElement).getPropertyValue("--tx-page") }, out);
  if (isWritten) drawWritten(root, draw("g", { transform: `translate(${-left} ${-top})` }, out));
  else parts.forEach((part, i) => {
    const { x, y, width, height } = boxes[i];
    out.append(layer(part, { x: x - left, y: y - top, width, height }));
  });
  return new XMLSerializer().serializeToString(out);
}

function layer(part, place) {
  if (part.tagName === "CANVAS") return draw("image", { ...place, href: part.toDataURL("image/png") });
  const copy = part.cloneNode(true), originals = [part, ...part.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    node.setAttribute("style", STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  for (const [name, value] of Object.entries({ ...place, overflow: "visible" })) copy.setAttribute(name, value);
  return copy;
}
