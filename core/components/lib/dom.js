// Nodes of the document, SVG drawings, and text templates. A reader's text reaches the page only as textContent.
import { grouped } from "./numbers.js";

const SVG = "http://www.w3.org/2000/svg";

/** A new node, the last child of `parent` if that is given. */
export function make(tag, className, parent, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  parent?.appendChild(node);
  return node;
}

/** A new node of SVG. */
export function draw(tag, attributes, parent, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent?.appendChild(node);
  return node;
}

/** Set the size of a drawing, and its label for screen readers. */
export function sized(svg, width, height, label) {
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": label }))
    svg.setAttribute(name, value);
}

/** Set a text only if it differs: an unchanged text costs the browser nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A template with its {names} filled in; a name without a value stays. */
export function fill(template, values) {
  return (template ?? "").replace(/\{(\w+)\}/g, (whole, name) => said(name, values[name]) ?? whole);
}

/** A value as text: a number with commas between its thousands, but an id or a seed as it is. */
function said(name, value) {
  return typeof value === "number" && name !== "id" && name !== "seed" ? grouped(value) : value;
}

/** Write a template into a node: its {names} become chips, of the class `name` if given, where the value is
    {chip: text}, and plain text otherwise. */
export function rich(node, template, values) {
  node.replaceChildren();
  for (const part of template.split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1], value = name ? said(name, values[name]) : part;
    if (value && value.chip !== undefined) chip(node, value.chip, value.name);
    else node.append(String(value ?? ""));
  }
}

/** Set a slider to a number between its ends, and fill its rail as far. */
export function setRange(input, value) {
  if (Number(input.value) !== Number(value)) input.value = value;
  const low = Number(input.min), span = Number(input.max) - low;
  input.style.setProperty("--share", `${span > 0 ? (100 * (Number(value) - low)) / span : 0}%`);
}

/** Write a text with marks into a node: _x and _{xy} become subscripts, ^{xy} superscripts. */
export function marked(node, text) {
  if (node.source === text) return;
  node.source = text;
  node.replaceChildren();
  for (const part of text.split(/([_^]\{[^}]*\}|_[^\s.,;:·()=])/)) {
    const mark = /^([_^])\{?([^}]*)\}?$/.exec(part);
    if (mark) make(mark[1] === "_" ? "sub" : "sup", "", node, mark[2]);
    else node.append(part);
  }
}

/** Write a text from the tables, in which `_x` is an index and `^x` an exponent. */
export function indexed(node, text) {
  for (const part of text.split(/(_(?:ff|ij|<?\w)|\^(?:\([^)]*\)|−?\w))/)) {
    if (/^_./.test(part)) make("sub", "", node, part.slice(1));
    else if (/^\^./.test(part)) make("sup", "", node, part.slice(1).replace(/^\(|\)$/g, ""));
    else node.append(part);
  }
}

/** The same text without its marks, for screen readers. */
export const unmarked = (text) => text.replace(/[_^]\{([^}]*)\}/g, " $1").replaceAll("_", " ");

/** A token as a chip; dir=auto lets right-to-left text read right to left inside it. */
export function chip(parent, text, name = "chip") {
  const node = make("span", name, parent, text);
  node.dir = "auto";
  return node;
}

export function labelled(node, label) {
  node.ariaLabel = label;
  node.title = label;
  return node;
}

/** A button; `label` describes it if its text is not enough. */
export function button(parent, text, label, handler, name = "") {
  const node = make("button", name, parent, text);
  node.type = "button";
  node.onclick = handler;
  return label ? labelled(node, label) : node;
}

/** A text in a drawing with its start, middle or end (`anchor`) at (x, y). */
export function drawText(parent, x, y, text, { anchor = "start", size = undefined, name = "sans" } = {}) {
  const node = draw("text", { x, y, class: name, "text-anchor": anchor }, parent, text);
  if (size !== undefined) node.setAttribute("font-size", size);
  return node;
}

/** A line of a drawing from (x1, y1) to (x2, y2). */
export function drawLine(parent, x1, y1, x2, y2, attributes = {}) {
  return draw("line", { x1, y1, x2, y2, ...attributes }, parent);
}

/** Define a pattern for fill: url(#id): diagonal lines, `thick` pixels wide, one every `size` pixels. */
export function hatching(svg, id, { size, thick }) {
  const pattern = draw("pattern",
    { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    draw("defs", {}, svg));
  draw("rect", { width: thick, height: size, fill: "var(--tx-excluded)" }, pattern);
}

/** A line of text that is read out when it changes. */
export function spokenLine(parent, name) {
  const node = make("div", name, parent);
  node.ariaLive = "polite";
  return node;
}

/** An element that the Tab key reaches and that handles keys itself. */
export function keyPlace(parent, name, onkeydown) {
  const node = make("div", name, parent);
  node.tabIndex = 0;
  node.role = "group";
  node.onkeydown = onkeydown;
  return node;
}
