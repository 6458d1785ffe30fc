// A picture is every canvas and top-level SVG inside the selected element, each at its place: plotly stacks several
// SVGs, a component may stack canvases. SVG styles are written into the copy, which has no style sheets and custom
// properties of its own.
import { button, draw, make, sized } from "../lib/dom.js";
import { readTheme } from "../lib/theme.js";

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-anchor",
  "dominant-baseline", "visibility", "display", "paint-order", "mix-blend-mode"];
const SVG = "http://www.w3.org/2000/svg";
const PNG_SCALE = 2;
const ICON = 24;        // px: a node no larger than this is a button of a chart, not a picture
const KINDS = { PNG: toPng, SVG: async (svg) => new Blob([svg], { type: "image/svg+xml" }), HTML: toHtml };

export default function ({ data, parentElement }) {
  const row = parentElement.querySelector(".row") ?? build(parentElement);
  row.wanted = data;
}

function build(parent) {
  const row = make("div", "row", parent);
  for (const [kind, toFile] of Object.entries(KINDS))
    button(row, kind, "", async () => {
      const { wanted } = row, svg = picture(wanted.selector);
      message.textContent = svg ? "" : wanted.missing;
      if (svg) save(await toFile(svg, wanted), `${wanted.name}.${kind.toLowerCase()}`);
    });
  const message = make("span", "message", row);
  message.role = "status";
  return row;
}

function find(root, selector) {
  const match = root.querySelector(selector);
  if (match) return match;
  for (const host of root.querySelectorAll("*")) {
    const inside = host.shadowRoot && find(host.shadowRoot, selector);
    if (inside) return inside;
  }
  return null;
}

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

function picture(selector) {
  const root = find(document, selector);
  const parts = root ? [...layers(root), ...(root.shadowRoot ? layers(root.shadowRoot) : [])].filter(visible) : [];
  if (!parts.length) return null;
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const left = Math.min(...boxes.map((b) => b.left)), top = Math.min(...boxes.map((b) => b.top));
  const width = Math.max(...boxes.map((b) => b.right)) - left, height = Math.max(...boxes.map((b) => b.bottom)) - top;
  const out = draw("svg", { xmlns: SVG });
  sized(out, width, height, "");
  draw("rect", { width, height, fill: readTheme().ink("page") }, out);
  parts.forEach((part, i) => {
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

async function toPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * PNG_SCALE;
  canvas.height = image.height * PNG_SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

async function toHtml(svg, { title, twin }) {
  const page = document.implementation.createHTMLDocument(title), charset = page.createElement("meta");
  page.documentElement.lang = document.documentElement.lang || "en";
  charset.setAttribute("charset", "utf-8");
  page.head.prepend(charset);
  make("h1", "", page.body, title);
  page.body.append(page.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
  make("p", "", page.body, twin);
  make("a", "", page.body, location.href).href = location.href;
  return new Blob(["<!doctype html>\n", page.documentElement.outerHTML], { type: "text/html" });
}

function save(blob, name) {
  const link = Object.assign(make("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
