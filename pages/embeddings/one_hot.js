// One-hot (N × |V|) times E (|V| × d) is X (N × d): the tokens of the prompt as rows on the left and on the right, the
// picked one's row of E between them; on a phone the rows on the left stand above the others.
import { beginDrawing, stroke, writeText } from "../../core/components/lib/canvas.js";
import { css } from "../../core/components/lib/colours.js";
import { fill, make } from "../../core/components/lib/dom.js";
import { exact } from "../../core/components/lib/numbers.js";
import { unpack } from "../../core/components/lib/bytes.js";
import { showTip, tokenChip } from "../../core/components/lib/pattern.js";
import { whenStyled } from "../../core/components/lib/theme.js";
import { fitHeight, keepFitted } from "../../core/components/lib/view.js";

const HEADING = 40, GAP = 46, FOOT = 6;
const LEAST_ROW = 720;          // px of width with room for all three beside each other

/** window: the shown rows of E, window_ids and window_tokens their tokens; product: (N, d).
 * @typedef {{ n: number, d: number, vocab_size: number, ids: number[], tokens: string[], marked: number[],
 *   window_ids: number[], window_tokens: string[], picked: number,
 *   text: Record<"one_hot" | "result" | "column" | "entry" | "keys" | "matrix", string>, least: number,
 *   most: number, foot: number, scale: number, theme: string, window: Float32Array, product: Float32Array }} Message */

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".product");
  const view = (root.view ??= build(root));
  Object.assign(view, /** @type {Message} */ (unpack(data)), { send: setTriggerValue });
  view.reach = [view.window, view.product].reduce(
    (most, values) => values.reduce((larger, value) => Math.max(larger, Math.abs(value)), most), 0) || 1;
  view.stage.ariaLabel = view.text.keys;
  whenStyled(root, () => arrange(view));
}


function build(root) {
  const [stage, canvas, tip, spoken] = [".stage", "canvas", ".tip", ".spoken"].map((name) => root.querySelector(name));
  const view = { stage, canvas, tip, spoken };
  stage.onpointermove = (event) => read(view, event);
  stage.onpointerleave = () => { tip.hidden = true; };
  stage.onclick = (event) => {
    const cell = cellAt(view, event);
    if (cell && cell.part !== view.middle) pick(view, cell.row);
  };
  stage.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    pick(view, Math.max(0, Math.min(view.n - 1, view.picked + step)));
  };
  keepFitted(root, () => view.text && arrange(view));
  return view;
}

function pick(view, row) {
  view.picked = row;
  view.spoken.textContent = `${view.tokens[row]}, ${view.ids[row]}`;
  view.send("picked", row);
}

function arrange(view) {
  const { stage, scale } = view, width = stage.clientWidth, ratio = window.devicePixelRatio || 1;
  if (!width) return;
  const tall = fitHeight(stage, view.least, view.most, view.foot), names = 78 * scale, ids = 128 * scale;
  const stacked = width < LEAST_ROW, below = stacked ? tall : 0, room = width - ids - GAP - (stacked ? 0 : names + GAP);
  const part = (x, wide, top) => ({ x, width: wide, end: x + wide, top: top + HEADING });
  const left = part(names, stacked ? width - names - 4 : room * 0.3, 0), from = stacked ? 0 : left.end + GAP;
  const middle = part(from + ids, room * (stacked ? 0.5 : 0.35), below);
  const right = part(middle.end + GAP, middle.width - 4, below);
  Object.assign(view, { width, height: below + tall, ratio, type: 12 * scale, names, left, from, middle, right, stacked,
    inner: tall - HEADING - FOOT });
  stage.style.height = `${view.height}px`;
  paint(view);
}

// The place of row i of n rows of a part: [top, height]. Few rows do not fill the height.
function place(view, part, i, n) {
  const height = Math.min(view.inner / n, 48 * view.scale);
  return [part.top + i * height, height];
}

function paint(view) {
  beginDrawing(view);
  headings(view);
  oneHot(view);
  rows(view, view.middle, view.window, view.window_ids.length, (i) => view.window_ids[i] === view.ids[view.picked]);
  rows(view, view.right, view.product, view.n, (i) => i === view.picked);
  frames(view, view.right, view.n, view.marked, { dash: [4, 3], meaning: "text" });
  windowNames(view);
  signs(view);
}

function headings(view) {
  const { left, from, middle, right, stacked, text } = view, start = stacked ? from + 20 : middle.x;
  const over = { ...middle, x: start, width: middle.end - start };
  for (const [{ x, width, top }, heading] of [[left, text.one_hot], [over, text.matrix], [right, text.result]]) {
    const [symbol, shape] = heading.split("|"), y = top - HEADING;
    writeText(view, symbol, x, y + 10, { bold: true, room: width });
    writeText(view, shape, x, y + 26, { meaning: "muted", room: width });
  }
}

// A line for each token, with its 1 at the place of its id between 0 and |V|; all other entries are 0.
function oneHot(view) {
  const { left, n } = view, [, height] = place(view, left, 0, n);
  const every = Math.max(1, Math.ceil((view.type * 1.15) / height));
  for (let i = 0; i < n; i++) {
    const [top] = place(view, left, i, n), y = top + height / 2, chosen = i === view.picked;
    const x = oneAt(view, i), near = x > left.end - 20;
    if (chosen) fillBox(view, "panel", 0, top, left.end, height);
    fillBox(view, "grid", left.x, y - 0.5, left.width, 1);
    const tall = chosen ? Math.max(5, Math.min(height * 0.8, 14)) : Math.max(2, Math.min(height * 0.55, 8));
    const wide = chosen ? 6 : 3;
    fillBox(view, chosen ? "residual" : "muted", x - wide / 2, y - tall / 2, wide, tall);
    if (chosen || (i % every === 0 && Math.abs(i - view.picked) * height >= view.type))
      writeText(view, view.tokens[i], view.names - 8, y,
        { align: "right", mono: true, bold: chosen, room: view.names - 10 });
    if (chosen)
      writeText(view, "1", x + (near ? -6 : 6), y, { align: near ? "right" : "left", bold: true,
        meaning: "residual-ink" });
  }
}

// The x of a token's 1.
const oneAt = ({ left, ids, vocab_size: v }, i) => left.x + ((ids[i] + 0.5) / v) * left.width;

function fillBox({ context, ink }, meaning, x, y, width, height) {
  context.fillStyle = ink(meaning);
  context.fillRect(x, y, width, height);
}

// Rows of d entries as cells, the chosen one framed.
function rows(view, part, values, n, chosen) {
  const { context, d } = view, cell = part.width / d;
  for (let i = 0; i < n; i++) {
    const [y, height] = place(view, part, i, n), gap = height > 6 ? 1 : 0;
    for (let c = 0; c < d; c++) {
      context.fillStyle = css(view.colours[Math.round(127.5 + (127.5 * values[i * d + c]) / view.reach)]);
      context.fillRect(part.x + c * cell, y, cell + 0.4, height - gap);
    }
  }
  frames(view, part, n, [...Array(n).keys()].filter(chosen), {});
}

// Frames round some of n rows.
function frames(view, part, n, chosen, { dash = [], meaning = "residual-ink" }) {
  stroke(view.context, view.ink(meaning), dash.length ? 1.5 : 2.5, dash);
  for (const i of chosen) {
    const [y, height] = place(view, part, i, n);
    view.context.strokeRect(part.x - 1, y - 1, part.width + 2, Math.max(height, 4) + 1);
  }
  view.context.setLineDash([]);
}

function windowNames(view) {
  const { middle, scale, window_ids: ids } = view, from = view.from - 6;
  ids.forEach((id, i) => {
    const [top, height] = place(view, middle, i, ids.length), y = top + height / 2;
    const chosen = id === view.ids[view.picked];
    if (chosen) fillBox(view, "panel", from, top, middle.x - from - 2, height);
    const style = { align: "right", mono: true, bold: chosen, meaning: chosen ? "text" : "muted" };
    writeText(view, view.window_tokens[i], middle.x - 8 - 42 * scale, y, { ...style, room: 76 * scale });
    writeText(view, String(id), middle.x - 8, y, style);
  });
}

// × and =, and the paths from the 1 to the row of E and on to the product.
function signs(view) {
  const { context, left, from, middle, right, stacked, picked, n, window_ids: ids } = view;
  const centre = (part, i, n) => { const [y, height] = place(view, part, i, n); return y + height / 2; };
  const one = centre(left, picked, n), via = centre(middle, ids.indexOf(view.ids[picked]), ids.length);
  stroke(context, view.ink("residual-ink"), 1.5);
  if (stacked) path(context, [oneAt(view, picked), one + 8], [middle.x + middle.width / 2, via - 4], false);
  else path(context, [left.end + 2, one], [from - 8, via]);
  path(context, [middle.end + 3, via], [right.x - 4, centre(right, picked, n)]);
  const sign = { align: "center", bold: true, size: 1.5 }, y = middle.top - HEADING + 12;
  writeText(view, "×", stacked ? from + 8 : left.end + GAP / 2, y, sign);
  writeText(view, "=", middle.end + GAP / 2, y, sign);
}

// A curve that begins and ends level, or upright.
function path(context, [x1, y1], [x2, y2], isLevel = true) {
  const x = (x1 + x2) / 2, y = (y1 + y2) / 2;
  context.beginPath();
  context.moveTo(x1, y1);
  if (isLevel) context.bezierCurveTo(x, y1, x, y2, x2, y2);
  else context.bezierCurveTo(x1, y, x2, y, x2, y2);
  context.stroke();
}

// The part and the row under the pointer, the pointer's x, and the height of a row; null between the parts.
function cellAt(view, event) {
  const box = view.stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const { left, middle, right, stacked } = view, isLeft = stacked ? y < middle.top - HEADING : x < left.end;
  const part = isLeft ? left : [middle, right].find((other) => x >= other.x && x < other.end);
  const n = part === middle ? view.window_ids.length : view.n, [, height] = place(view, left, 0, n);
  const row = Math.floor((y - part?.top) / height);
  return part && row >= 0 && row < n ? { part, row, x, height } : null;
}

function read(view, event) {
  const { left, middle, text, d } = view, cell = cellAt(view, event);
  view.tip.hidden = !cell;
  if (!cell) return;
  const { part, row, x, height } = cell, ofE = part === middle;
  const token = (ofE ? view.window_tokens : view.tokens)[row], id = (ofE ? view.window_ids : view.ids)[row];
  const words = [tokenChip(token, "")];
  if (part === left) {
    words.push(make("small", "", null, ` ${fill(text.column, { id })}`));
  } else {
    const c = Math.floor(((x - part.x) / part.width) * d), symbol = ofE ? "E" : "X";
    words.push(make("small", "", null, ` ${fill(text.entry, { symbol, id: ofE ? id : row, c })} `),
      make("output", "", null, exact((ofE ? view.window : view.product)[row * d + c])));
  }
  showTip(view.tip, words, x, part.top + row * height, height);
}
