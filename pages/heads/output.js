// Concatenate and W^O at one position. A row for each head: its piece of the concatenated vector, what its rows of W^O
// make of it, how long that is.
import { css } from "../../core/components/lib/colours.js";
import { decimals, exact, significant } from "../../core/components/lib/numbers.js";
import { element, fitHeight, keepFitted, showTip } from "../../core/components/lib/pattern.js";
import { byKeys } from "../../core/components/lib/by_keys.js";
import { unpack } from "../../core/components/lib/bytes.js";
import { readTheme, whenStyled } from "../../core/components/lib/theme.js";

const LABEL = 44, HEADING = 22, NARROW = 520, LEAST_ROW = 14;

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".sum");
  const sum = (root.sum ??= build(root));
  Object.assign(sum, unpack(data), { send: setTriggerValue });
  const { heads, d, d_v } = sum;
  sum.rowsOf = [...sum.names, sum.text.bias, sum.text.sum];
  sum.reach = [largest(sum.outputs), largest(sum.written)];
  sum.pieces = (row) => (row < heads ? [sum.outputs.subarray(row * d_v, (row + 1) * d_v), row * d_v]
    : row > heads ? [sum.outputs, 0] : [new Float32Array(0), 0]);
  sum.vector = (row) => sum.written.subarray(row * d, (row + 1) * d);
  root.querySelector(".title").textContent = sum.text.title;
  sum.canvas.setAttribute("aria-label", sum.text.title);
  whenStyled(root, () => arrange(sum));
}

function build(root) {
  const sum = { root, scroll: root.querySelector(".scroll"), stage: root.querySelector(".stage"),
    canvas: root.querySelector("canvas"), rows: root.querySelector(".rows"), tip: root.querySelector(".tip") };
  sum.stage.onpointermove = (event) => read(sum, event);
  sum.stage.onpointerleave = sum.canvas.onpointerleave = () => { sum.tip.hidden = true; };
  byKeys(sum.canvas, () => ({ columns: sum.heads * sum.d_v + sum.d, rows: sum.rowsOf.length }),
    (column, row, phase) => readCell(sum, column, row, phase), () => (sum.tip.hidden ? "" : sum.tip.textContent));
  keepFitted(root, () => sum.text && arrange(sum));
  return sum;
}

const largest = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;

function arrange(sum) {
  const width = sum.stage.clientWidth, ratio = window.devicePixelRatio || 1;
  if (!width) return;
  const room = fitHeight(sum.scroll, sum.least, sum.most, sum.foot);
  // of many heads the rows scroll
  sum.height = Math.max(room, HEADING + LEAST_ROW * sum.scale * sum.rowsOf.length);
  sum.scroll.style.maxHeight = sum.height > room ? `${room}px` : "";
  const between = width < NARROW ? 40 : 58, numbers = (width < NARROW ? 132 : 170) * sum.scale;
  const row = (sum.height - HEADING) / sum.rowsOf.length, half = (width - LABEL - between - numbers) / 2;
  Object.assign(sum,
    { ratio, row, half, between, numbers, right: LABEL + half + between, end: LABEL + 2 * half + between });
  sum.stage.style.height = `${sum.height}px`;
  Object.assign(sum.canvas.style, { width: `${width}px`, height: `${sum.height}px` });
  [sum.canvas.width, sum.canvas.height] = [Math.round(width * ratio), Math.round(sum.height * ratio)];
  sum.rows.replaceChildren(...sum.names.map((name, head) => rowButton(sum, name, head)));
  paint(sum);
}

function rowButton(sum, name, head) {
  const button = element("button", head === sum.selected ? "selected" : "");
  button.type = "button";
  button.setAttribute("aria-label",
    `${name}, ${sum.text.norm} ${exact(sum.norms[head])}, ${sum.text.share} ${exact(sum.shares[head])}`);
  Object.assign(button.style, { top: `${HEADING + head * sum.row + 1}px`, height: `${sum.row - 2}px` });
  button.onclick = () => sum.send("picked", head);
  return button;
}

function paint(sum) {
  const context = sum.canvas.getContext("2d"), { ink, table } = readTheme();
  const scale = table("div"), type = 12 * sum.scale;
  context.setTransform(sum.ratio, 0, 0, sum.ratio, 0, 0);
  context.textBaseline = "middle";
  heading(sum, context, ink, type);
  const longest = largest(sum.norms);
  sum.rowsOf.forEach((name, row) => {
    const y = HEADING + row * sum.row + 3, height = sum.row - 6, total = row === sum.rowsOf.length - 1;
    context.fillStyle = ink("text");
    context.font = `${total || row === sum.selected ? "700 " : ""}${type}px ${ink("mono")}`;
    context.textAlign = "left";
    context.fillText(name, 4, y + height / 2);
    const [piece, start] = sum.pieces(row);
    strip(context, piece, start, sum.heads * sum.d_v, LABEL, y, sum.half, height, sum.reach[0], scale, ink);
    strip(context, sum.vector(row), 0, sum.d, sum.right, y, sum.half, height, sum.reach[1], scale, ink);
    amounts(sum, context, row, y, height, longest, ink, type);
  });
  const line = HEADING + (sum.rowsOf.length - 1) * sum.row;
  context.fillStyle = ink("text");
  context.fillRect(LABEL, line, sum.end - LABEL, 1);
}

function heading(sum, context, ink, type) {
  context.font = `${type}px ${ink("font")}`;
  context.fillStyle = ink("muted");
  context.textAlign = "left";
  context.fillText(sum.text.concat, LABEL, HEADING / 2, sum.half + sum.between - 14);
  context.fillText(sum.text.product, sum.right, HEADING / 2, sum.half);
  context.fillText(sum.text.norm, sum.end + 10, HEADING / 2);
  context.textAlign = "right";
  context.fillText(sum.text.share, sum.end + sum.numbers - 6, HEADING / 2, sum.numbers / 2);
  context.textAlign = "center";
  context.fillStyle = ink("text");
  context.font = `${type * 1.1}px ${ink("font")}`;
  context.fillText(sum.between < 50 ? "Wᴼ→" : "× Wᴼ →", LABEL + sum.half + sum.between / 2,
    HEADING + (sum.row * sum.heads) / 2);
}

// Values as cells of one strip, `start` cells in, of `count` that fill the width; the strip's whole extent is framed.
function strip(context, values, start, count, x, y, width, height, reach, scale, ink) {
  const cell = width / count;
  values.forEach((value, k) => {
    context.fillStyle = css(scale[Math.round(127.5 + (127.5 * value) / reach)]);
    context.fillRect(x + (start + k) * cell, y, cell + 0.4, height);
  });
  context.strokeStyle = ink("grid");
  context.strokeRect(x, y, width, height);
}

function amounts(sum, context, row, y, height, longest, ink, type) {
  const x = sum.end + 10, room = sum.numbers - 66 * sum.scale;
  context.fillStyle = ink("attention");
  context.fillRect(x, y + height * 0.2, (sum.norms[row] / longest) * room * 0.55, height * 0.6);
  context.fillStyle = ink("text");
  context.font = `${type}px ${ink("mono")}`;
  context.textAlign = "left";
  context.fillText(significant(sum.norms[row]), x + (sum.norms[row] / longest) * room * 0.55 + 5, y + height / 2);
  context.textAlign = "right";
  context.fillText(decimals(sum.shares[row], 3), sum.end + sum.numbers - 6, y + height / 2);
}

function read(sum, event) {
  const box = sum.stage.getBoundingClientRect();
  readAt(sum, event.clientX - box.left, Math.floor((event.clientY - box.top - HEADING) / sum.row));
}

// A cell of both strips counted on from the left; a press picks the row's head.
function readCell(sum, column, row, phase) {
  const pieces = sum.heads * sum.d_v, left = column < pieces;
  if (phase === "out") sum.tip.hidden = true;
  else if (phase === "press" && row < sum.heads) sum.send("picked", row);
  else
    readAt(sum, left ? LABEL + ((column + 0.5) * sum.half) / pieces
        : sum.right + ((column - pieces + 0.5) * sum.half) / sum.d, row);
}

function readAt(sum, x, row) {
  sum.tip.hidden = true;
  if (row < 0 || row >= sum.rowsOf.length) return;
  const [piece, start] = sum.pieces(row), left = x < LABEL + sum.half;
  const at = Math.floor(((x - (left ? LABEL : sum.right)) / sum.half) * (left ? sum.heads * sum.d_v : sum.d))
    - (left ? start : 0);
  const value = (left ? piece : sum.vector(row))[at];
  if (value === undefined) return;
  const words = [element("b", "", sum.rowsOf[row]), element("small", "", ` ${at}  `),
    element("output", "", exact(value))];
  showTip(sum.tip, words, x, sum.stage.offsetTop + HEADING + row * sum.row - sum.scroll.scrollTop, sum.row);
}
