// The words of the map on a hidden canvas of their own: the downloaded picture, made of canvases, must have them.
import { sharpen } from "../../core/components/lib/canvas.js";

const FRAMED = ".chips .chip:not([hidden]), .met, .do, .track, .track i, .stick, .stick i";

export function printSoon(map) {
  clearTimeout(map.printing);
  map.printing = setTimeout(() => printWords(map), 400);
}

function printWords(map) {
  const area = map.area.getBoundingClientRect(), context = sharpen(map.print, area.width, area.height, map.ratio);
  context.translate(-area.left, -area.top);
  for (const node of map.area.querySelectorAll(FRAMED)) printFrame(context, node);
  const walker = document.createTreeWalker(map.area, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) printText(context, walker.currentNode);
}

function printFrame(context, node) {
  const box = node.getBoundingClientRect(), style = getComputedStyle(node);
  if (!box.width) return;
  context.globalAlpha = Number(style.opacity);
  context.fillStyle = style.backgroundColor;
  context.fillRect(box.left, box.top, box.width, box.height);
  context.strokeStyle = style.borderTopColor;
  if (parseFloat(style.borderTopWidth)) context.strokeRect(box.left, box.top, box.width, box.height);
}

function printText(context, text) {
  const range = document.createRange();
  range.selectNodeContents(text);
  const box = range.getBoundingClientRect(), style = getComputedStyle(text.parentElement);
  if (!box.width || !text.data.trim()) return;
  context.save();
  context.globalAlpha = Number(style.opacity);
  context.fillStyle = style.color;
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.textBaseline = "middle";
  context.direction = "ltr";
  context.translate(box.left, (box.top + box.bottom) / 2);
  if (style.writingMode !== "horizontal-tb") {
    context.translate(box.width / 2, 0);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
  }
  context.fillText(text.data, 0, 0);
  context.restore();
}
