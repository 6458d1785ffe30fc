// Concatenate and W^O at one position. A row for each head: its piece of the concatenated vector, that piece times the
// head's rows of W^O, and the length of this product.
import { unpack } from "../../core/components/lib/bytes.js";
import { beginDrawing, writeText } from "../../core/components/lib/canvas.js";
import { css } from "../../core/components/lib/colours.js";
import { button, make } from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { decimals, exact, significant } from "../../core/components/lib/numbers.js";
import { showTip } from "../../core/components/lib/pattern.js";
import { whenStyled } from "../../core/components/lib/theme.js";
import { fitHeight, keepFitted } from "../../core/components/lib/view.js";

const LABEL = 44, HEADING = 22, NARROW = 520, LEAST_ROW = 14;

/** output.py describes it.
 * @typedef {{ heads: number, d: number, d_v: number, names: string[], selected: number, text: Record<string,
 *   string>, least: number, most: number, scale: number, theme: string, outputs: Float32Array,
 *   written: Float32Array, norms: Float32Array, shares: Float32Array }} Message */

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".sum");
  const sum = (root.sum ??= build(root));
  Object.assign(sum, /** @type {Message} */ (unpack(data)), { send: setTriggerValue });
  const { heads, d, d_v } = sum;
  sum.rowsOf = [...sum.names, sum.text.bias, sum.text.sum];
  sum.reach = [largest(sum.outputs), largest(sum.written)];
  sum.pieces = (row) => (row < heads ? [sum.outputs.subarray(row * d_v, (row + 1) * d_v), row * d_v]
    : row > heads ? [sum.outputs, 0] : [new Float32Array(0), 0]);
  sum.vector = (row) => sum.written.subarray(row * d, (row + 1) * d);
  root.querySelector(".title").textContent = sum.text.title;
  sum.canvas.ariaLabel = sum.text.title;
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
  const room = fitHeight(sum.scroll, sum.least, sum.most);
  // the rows of many heads scroll
  sum.height = Math.max(room, HEADING + LEAST_ROW * sum.scale * sum.rowsOf.length);
  sum.scroll.style.maxHeight = sum.height > room ? `${room}px` : "";
  const between = width < NARROW ? 40 : 58, numbers = (width < NARROW ? 132 : 170) * sum.scale;
  const row = (sum.height - HEADING) / sum.rowsOf.length, half = (width - LABEL - between - numbers) / 2;
  Object.assign(sum, { ratio, row, half, between, numbers, type: 12 * sum.scale, right: LABEL + half + between,
    end: LABEL + 2 * half + between });
  sum.stage.style.height = `${sum.height}px`;
  sum.rows.replaceChildren(...sum.names.map((name, head) => rowButton(sum, name, head)));
  paint(sum);
}

function rowButton(sum, name, head) {
  const label = `${name}, ${sum.text.norm} ${exact(sum.norms[head])}, ${sum.text.share} ${exact(sum.shares[head])}`;
  const node = button(null, "", "", () => sum.send("picked", head), head === sum.selected ? "selected" : "");
  node.ariaLabel = label;
  Object.assign(node.style, { top: `${HEADING + head * sum.row + 1}px`, height: `${sum.row - 2}px` });
  return node;
}

function paint(sum) {
  const { row: tall, selected, right, end, rowsOf } = sum, last = rowsOf.length - 1;
  beginDrawing(sum, sum.stage.clientWidth);
  headings(sum);
  rowsOf.forEach((name, row) => {
    const y = HEADING + row * tall + 3, height = tall - 6, [piece, start] = sum.pieces(row);
    writeText(sum, name, 4, y + height / 2, { bold: row === last || row === selected, mono: true });
    strip(sum, piece, start, sum.heads * sum.d_v, LABEL, y, height, sum.reach[0]);
    strip(sum, sum.vector(row), 0, sum.d, right, y, height, sum.reach[1]);
    amounts(sum, row, y, height);
  });
  sum.context.fillStyle = sum.ink("text");
  sum.context.fillRect(LABEL, HEADING + last * tall, end - LABEL, 1);
}

function headings(sum) {
  const { text, half, between, right, end, numbers } = sum, y = HEADING / 2, meaning = "muted";
  writeText(sum, text.concat, LABEL, y, { meaning, room: half + between - 14 });
  writeText(sum, text.product, right, y, { meaning, room: half });
  writeText(sum, text.norm, end + 10, y, { meaning });
  writeText(sum, text.share, end + numbers - 6, y, { meaning, align: "right", room: numbers / 2 });
  writeText(sum, between < 50 ? "Wᴼ→" : "× Wᴼ →", LABEL + half + between / 2, HEADING + (sum.row * sum.heads) / 2,
    { align: "center", size: 1.1 });
}

// Values as cells of one strip, `start` cells in, of `count` that fill the width; the strip's whole extent is framed.
function strip({ context, ink, colours, half }, values, start, count, x, y, height, reach) {
  const cell = half / count;
  values.forEach((value, k) => {
    context.fillStyle = css(colours[Math.round(127.5 + (127.5 * value) / reach)]);
    context.fillRect(x + (start + k) * cell, y, cell + 0.4, height);
  });
  context.strokeStyle = ink("grid");
  context.strokeRect(x, y, half, height);
}

function amounts(sum, row, y, height) {
  const { context, norms, shares, numbers } = sum, x = sum.end + 10, centre = y + height / 2;
  const length = (norms[row] / largest(norms)) * (numbers - 66 * sum.scale) * 0.55;
  context.fillStyle = sum.ink("attention");
  context.fillRect(x, y + height * 0.2, length, height * 0.6);
  writeText(sum, significant(norms[row]), x + length + 5, centre, { mono: true });
  writeText(sum, decimals(shares[row], 3), sum.end + numbers - 6, centre, { mono: true, align: "right" });
}

function read(sum, event) {
  const box = sum.stage.getBoundingClientRect();
  readAt(sum, event.clientX - box.left, Math.floor((event.clientY - box.top - HEADING) / sum.row));
}

// Read a cell, counted from the left through both strips; a press picks the row's head.
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
  const index = Math.floor(((x - (left ? LABEL : sum.right)) / sum.half) * (left ? sum.heads * sum.d_v : sum.d))
    - (left ? start : 0);
  const value = (left ? piece : sum.vector(row))[index];
  if (value === undefined) return;
  const words = [make("b", "", null, sum.rowsOf[row]), make("small", "", null, ` ${index}  `),
    make("output", "", null, exact(value))];
  showTip(sum.tip, words, x, sum.stage.offsetTop + HEADING + row * sum.row - sum.scroll.scrollTop, sum.row);
}
