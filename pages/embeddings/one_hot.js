// One-hot (N × |V|) times E (|V| × d) is X (N × d): the tokens of the prompt as rows on the left and on the right, the
// picked one's row of E between them.
import { beginDrawing, stroke, writeText } from "../../core/components/lib/canvas.js";
import { css } from "../../core/components/lib/colours.js";
import { fill, make } from "../../core/components/lib/dom.js";
import { exact } from "../../core/components/lib/numbers.js";
import { unpack } from "../../core/components/lib/bytes.js";
import { showTip, tokenChip } from "../../core/components/lib/pattern.js";
import { whenStyled } from "../../core/components/lib/theme.js";
import { fitHeight, keepFitted } from "../../core/components/lib/view.js";

const HEADING = 40, GAP = 46, FOOT = 6;

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".product");
  const view = (root.view ??= build(root));
  Object.assign(view, unpack(data), { send: setTriggerValue });
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
  const height = fitHeight(stage, view.least, view.most, view.foot), names = 78 * scale, ids = 128 * scale;
  const room = width - names - 2 * GAP - ids;
  const part = (x, wide) => ({ x, width: wide, end: x + wide });
  const left = part(names, room * 0.3), middle = part(left.end + GAP + ids, room * 0.35);
  const right = part(middle.end + GAP, room * 0.35 - 4);
  Object.assign(view, { width, height, ratio, type: 12 * scale, names, left, middle, right, top: HEADING,
    inner: height - HEADING - FOOT });
  stage.style.height = `${height}px`;
  paint(view);
}

// The place of row i of n rows: [top, height]. Few rows do not fill the height.
function place(view, i, n) {
  const height = Math.min(view.inner / n, 48 * view.scale);
  return [view.top + i * height, height];
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
  const { left, middle, right, text } = view;
  for (const [{ x, width }, heading] of [[left, text.one_hot], [middle, text.matrix], [right, text.result]]) {
    const [symbol, shape] = heading.split("|");
    writeText(view, symbol, x, 10, { bold: true, room: width });
    writeText(view, shape, x, 26, { meaning: "muted", room: width });
  }
}

// A line for each token, with its 1 at the place of its id between 0 and |V|; all other entries are 0.
function oneHot(view) {
  const { left, n } = view, [, height] = place(view, 0, n);
  const every = Math.max(1, Math.ceil((view.type * 1.15) / height));
  for (let i = 0; i < n; i++) {
    const [top] = place(view, i, n), y = top + height / 2, chosen = i === view.picked;
    const x = left.x + ((view.ids[i] + 0.5) / view.vocab_size) * left.width, near = x > left.end - 20;
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

function fillBox({ context, ink }, meaning, x, y, width, height) {
  context.fillStyle = ink(meaning);
  context.fillRect(x, y, width, height);
}

// Rows of d entries as cells, the chosen one framed.
function rows(view, part, values, n, chosen) {
  const { context, d } = view, cell = part.width / d;
  for (let i = 0; i < n; i++) {
    const [y, height] = place(view, i, n), gap = height > 6 ? 1 : 0;
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
    const [y, height] = place(view, i, n);
    view.context.strokeRect(part.x - 1, y - 1, part.width + 2, Math.max(height, 4) + 1);
  }
  view.context.setLineDash([]);
}

function windowNames(view) {
  const { left, middle, scale, window_ids: ids } = view, from = left.end + GAP - 6;
  ids.forEach((id, i) => {
    const [top, height] = place(view, i, ids.length), y = top + height / 2, chosen = id === view.ids[view.picked];
    if (chosen) fillBox(view, "panel", from, top, middle.x - from - 2, height);
    const style = { align: "right", mono: true, bold: chosen, meaning: chosen ? "text" : "muted" };
    writeText(view, view.window_tokens[i], middle.x - 8 - 42 * scale, y, { ...style, room: 76 * scale });
    writeText(view, String(id), middle.x - 8, y, style);
  });
}

// × and =, and the paths from the 1 to the row of E and on to the product.
function signs(view) {
  const { context, left, middle, right, window_ids: ids } = view;
  const centre = (i, n) => { const [y, height] = place(view, i, n); return y + height / 2; };
  const from = centre(view.picked, view.n), via = centre(ids.indexOf(view.ids[view.picked]), ids.length);
  stroke(context, view.ink("residual-ink"), 1.5);
  for (const [x1, y1, x2, y2] of [[left.end + 2, from, left.end + GAP - 8, via],
    [middle.end + 3, via, right.x - 4, from]]) {
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
    context.stroke();
  }
  for (const [sign, part] of [["×", left], ["=", middle]])
    writeText(view, sign, part.end + GAP / 2, 12, { align: "center", bold: true, size: 1.5 });
}

// The part and the row under the pointer, the pointer's x, and the height of a row; null between the parts.
function cellAt(view, event) {
  const box = view.stage.getBoundingClientRect(), x = event.clientX - box.left, { left, middle, right } = view;
  const part = x < left.end ? left : [middle, right].find((other) => x >= other.x && x < other.end);
  const n = part === middle ? view.window_ids.length : view.n, [, height] = place(view, 0, n);
  const row = Math.floor((event.clientY - box.top - view.top) / height);
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
  showTip(view.tip, words, x - view.stage.parentElement.scrollLeft, view.top + row * height, height);
}
