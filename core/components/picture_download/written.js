// HTML as SVG: the boxes of its elements, and its words line by line. The words stay text, and any program that reads
// SVG draws them, unlike an HTML element inside an SVG.
import { draw, drawLine } from "../lib/dom.js";

const SIDES = ["Top", "Right", "Bottom", "Left"];
const WORDS = ["font-family", "font-size", "font-weight", "font-style"];
const SAME_LINE = 2;        // px between the tops of two words of a line, at most

const isNothing = (ink) => ink.startsWith("rgba") && ink.endsWith(" 0)");

/** Draw an element, and all in it, at its places in the window. */
export function drawWritten(root, into) {
  for (const node of [root, ...root.querySelectorAll("*")]) {
    if (!node.checkVisibility()) continue;
    drawBox(node, getComputedStyle(node), into);
    for (const text of node.childNodes)
      if (text.nodeType === Node.TEXT_NODE) drawWords(text, getComputedStyle(node), into);
  }
}

/** Draw an element's background and border: one frame, or a line at each side that has a border. */
function drawBox(node, style, into) {
  const box = node.getBoundingClientRect(), borders = SIDES.map((side) => ({ side,
    width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    ink: style[`border${side}Color`], dash: style[`border${side}Style`] === "solid" ? "none" : "4 3" }));
  const drawn = borders.filter(({ width, ink }) => width && !isNothing(ink)), [{ width, ink, dash }] = borders;
  const isFramed = drawn.length === SIDES.length, inset = isFramed ? width / 2 : 0;
  if (isFramed || !isNothing(style.backgroundColor))
    draw("rect", { x: box.x + inset, y: box.y + inset, width: Math.max(0, box.width - 2 * inset),
      height: Math.max(0, box.height - 2 * inset), rx: parseFloat(style.borderTopLeftRadius) || 0,
      fill: style.backgroundColor, stroke: isFramed ? ink : "none", "stroke-width": width, "stroke-dasharray": dash },
    into);
  if (!isFramed) for (const border of drawn) drawSide(box, border, into);
}

function drawSide({ left, right, top, bottom }, { side, width, ink, dash }, into) {
  const [x, y] = [side === "Right" ? right : left, side === "Bottom" ? bottom : top];
  drawLine(into, x, y, side === "Left" ? left : right, side === "Top" ? top : bottom,
    { stroke: ink, "stroke-width": width, "stroke-dasharray": dash });
}

/** Draw the words of a text node, one text for each line, as wide as on the page: a program without the page's font
    uses another one. */
function drawWords(node, style, into) {
  const range = node.ownerDocument.createRange();
  let line = null;
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    if (line && Math.abs(line.top - box.top) <= SAME_LINE) line.text.textContent += ` ${word}`;
    else line = { top: box.top, left: box.x, text: draw("text", { x: box.x, y: box.y + box.height / 2,
      fill: style.color, "dominant-baseline": "central", lengthAdjust: "spacingAndGlyphs",
      style: WORDS.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";") }, into, word) };
    line.text.setAttribute("textLength", box.right - line.left);
  }
}
