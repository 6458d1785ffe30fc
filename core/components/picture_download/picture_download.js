// A picture is every canvas and top-level SVG inside the selected element, each at its place: plotly stacks several
// SVGs, a component may stack canvases. SVG styles are written into the copy, since style sheets and custom properties
// do not travel with it.
import { readTheme } from "../lib/theme.js";
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-anchor",
  "dominant-baseline", "visibility", "display", "paint-order", "mix-blend-mode"];
const SVG = "http://www.w3.org/2000/svg";
const PNG_SCALE = 2;

export default function ({ data, parentElement }) {
  let row = parentElement.querySelector(".row");
  if (!row) {
    row = document.createElement("div");
    row.className = "row";
    parentElement.appendChild(row);
    for (const kind of ["PNG", "SVG", "HTML"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      row.appendChild(button);
    }
    const message = document.createElement("span");
    message.className = "message";
    message.setAttribute("role", "status");
    row.appendChild(message);
  }
  const makers = { PNG: toPng, SVG: async (svg) => new Blob([svg], { type: "image/svg+xml" }),
    HTML: async (svg) => toHtml(svg, data) };
  for (const button of row.querySelectorAll("button")) {
    button.onclick = async () => {
      const drawn = picture(data.selector);
      row.querySelector(".message").textContent = drawn ? "" : data.missing;
      if (drawn) save(await makers[button.textContent](drawn), `${data.name}.${button.textContent.toLowerCase()}`);
    };
  }
}

function find(root, selector) {
  const own = root.querySelector(selector);
  if (own) return own;
  for (const host of root.querySelectorAll("*")) {
    const inside = host.shadowRoot && find(host.shadowRoot, selector);
    if (inside) return inside;
  }
  return null;
}

function layers(root) {
  if (root.matches?.("canvas, svg")) return [root];
  const found = [];
  for (const node of root.children) {
    if (node.matches("canvas, svg")) found.push(node);
    else found.push(...layers(node));
    if (node.shadowRoot) found.push(...layers(node.shadowRoot));
  }
  return found;
}

function visible(node) {
  const box = node.getBoundingClientRect();
  return box.width > 1 && box.height > 1 && getComputedStyle(node).visibility !== "hidden" && !node.closest(".modebar");
}

function picture(selector) {
  const root = find(document, selector);
  const parts = root ? [...layers(root), ...(root.shadowRoot ? layers(root.shadowRoot) : [])].filter(visible) : [];
  if (!parts.length) return null;
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const left = Math.min(...boxes.map((b) => b.left)), top = Math.min(...boxes.map((b) => b.top));
  const width = Math.max(...boxes.map((b) => b.right)) - left, height = Math.max(...boxes.map((b) => b.bottom)) - top;
  const out = document.createElementNS(SVG, "svg");
  set(out, { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  const ground = document.createElementNS(SVG, "rect");
  set(ground, { width, height, fill: readTheme().ink("page") });
  out.appendChild(ground);
  parts.forEach((part, i) => out.appendChild(layer(part, boxes[i], left, top)));
  return new XMLSerializer().serializeToString(out);
}

function layer(part, box, left, top) {
  const place = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
  if (part.tagName === "CANVAS") {
    const image = document.createElementNS(SVG, "image");
    set(image, { ...place, href: part.toDataURL("image/png") });
    return image;
  }
  const copy = part.cloneNode(true);
  const originals = [part, ...part.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    node.setAttribute("style", STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  set(copy, { ...place, overflow: "visible" });
  return copy;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
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

function toHtml(svg, data) {
  const page = document.implementation.createHTMLDocument(data.title);
  page.documentElement.lang = document.documentElement.lang || "en";
  const charset = page.createElement("meta");
  charset.setAttribute("charset", "utf-8");
  page.head.prepend(charset);
  const heading = page.createElement("h1"), twin = page.createElement("p"), link = page.createElement("a");
  heading.textContent = data.title;
  twin.textContent = data.twin;
  link.href = link.textContent = location.href;
  page.body.append(heading,
    page.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true), twin, link);
  return new Blob(["<!doctype html>\n", page.documentElement.outerHTML], { type: "text/html" });
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
