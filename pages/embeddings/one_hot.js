// One-hot (N × |V|) times E (|V| × d) is X (N × d): the tokens of the prompt as rows on the left and on the right, the
// picked one's row of E between them.
import { css } from "../../core/components/lib/colours.js";
import { exact } from "../../core/components/lib/numbers.js";
import {
  beginDrawing, chip, element, fitHeight, keepFitted, showTip, writeText,
} from "../../core/components/lib/pattern.js";
import { unpack } from "../../core/components/lib/bytes.js";
import { whenStyled } from "../../core/components/lib/theme.js";

const HEADING = 40, GAP = 46, FOOT = 6;

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".product");
  const view = (root.view ??= build(root));
  view.send = setTriggerValue;
  receive(view, data);
}

function receive(view, data) {
  Object.assign(view, unpack(data));
  view.reach = Math.max(largest(view.window), largest(view.product)) || 1;
  view.stage.setAttribute("aria-label", view.text.keys);
  whenStyled(view.root, () => arrange(view));
}

const largest = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

function build(root) {
  const view = { root, stage: root.querySelector(".stage"), canvas: root.querySelector("canvas"),
    tip: root.querySelector(".tip"), spoken: root.querySelector(".spoken") };
  view.stage.onpointermove = (event) => read(view, event);
  view.stage.onpointerleave = () => { view.tip.hidden = true; };
  view.stage.onclick = (event) => { const row = rowAt(view, event); if (row !== null) pick(view, row); };
  view.stage.onkeydown = (event) => {
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
  const width = view.stage.clientWidth, ratio = window.devicePixelRatio || 1;
  if (!width) return;
  const height = fitHeight(view.stage, view.least, view.most, view.foot), type = 12 * view.scale;
  const names = 78 * view.scale;
  const room = width - names - 2 * GAP - 128 * view.scale;
  const left = { x: names, width: room * 0.3 };
  const middle = { x: names + room * 0.3 + GAP + 128 * view.scale, width: room * 0.35 };
  const right = { x: middle.x + middle.width + GAP, width: room * 0.35 - 4 };
  Object.assign(view,
    { width, height, ratio, type, names, left, middle, right, top: HEADING, inner: height - HEADING - FOOT });
  view.stage.style.height = `${height}px`;
  Object.assign(view.canvas.style, { width: `${width}px`, height: `${height}px` });
  [view.canvas.width, view.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  paint(view);
}

// Where row i of n rows stands: [top, height]. Few rows do not fill the height.
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
  windowNames(view);
  signs(view);
}

function headings(view) {
  const { left, middle, right, text } = view;
  for (const [part, symbol, shape, start] of [[left, ...text.one_hot.split("|"), left.x],
    [middle, ...text.matrix.split("|"), middle.x], [right, ...text.result.split("|"), right.x]]) {
    writeText(view, symbol, start, 10, { bold: true, room: part.width });
    writeText(view, shape, start, 26, { meaning: "muted", room: part.width });
  }
}

// A line for each token, with its 1 where its id stands between 0 and |V|; all else on the line is 0.
function oneHot(view) {
  const { context, ink, left, n } = view, [, height] = place(view, 0, n);
  const every = Math.max(1, Math.ceil((view.type * 1.15) / height));
  for (let i = 0; i < n; i++) {
    const [y] = place(view, i, n), chosen = i === view.picked;
    const at = left.x + ((view.ids[i] + 0.5) / view.vocab_size) * left.width;
    if (chosen) {
      context.fillStyle = ink("panel");
      context.fillRect(0, y, left.x + left.width, height);
    }
    context.fillStyle = ink("grid");
    context.fillRect(left.x, y + height / 2 - 0.5, left.width, 1);
    context.fillStyle = ink(chosen ? "residual" : "muted");
    const size = chosen ? Math.max(5, Math.min(height * 0.8, 14)) : Math.max(2, Math.min(height * 0.55, 8));
    context.fillRect(at - (chosen ? 3 : 1.5), y + height / 2 - size / 2, chosen ? 6 : 3, size);
    const near = Math.abs(i - view.picked) * height < view.type;
    if (chosen || (i % every === 0 && !near))
      writeText(view, view.tokens[i], view.names - 8, y + height / 2,
        { align: "right", mono: true, bold: chosen, room: view.names - 10 });
    if (chosen)
      writeText(view, "1", at + (at > left.x + left.width - 20 ? -6 : 6), y + height / 2,
        { align: at > left.x + left.width - 20 ? "right" : "left", bold: true, meaning: "residual-ink" });
  }
}

// Rows of d entries as cells, the chosen one framed.
function rows(view, part, values, n, chosen) {
  const { context, ink, d } = view, cell = part.width / d;
  for (let i = 0; i < n; i++) {
    const [y, height] = place(view, i, n), gap = height > 6 ? 1 : 0;
    for (let c = 0; c < d; c++) {
      context.fillStyle = css(view.colours[Math.round(127.5 + (127.5 * values[i * d + c]) / view.reach)]);
      context.fillRect(part.x + c * cell, y, cell + 0.4, height - gap);
    }
  }
  for (let i = 0; i < n; i++) {
    if (!chosen(i)) continue;
    const [y, height] = place(view, i, n);
    context.strokeStyle = ink("residual-ink");
    context.lineWidth = 2.5;
    context.strokeRect(part.x - 1, y - 1, part.width + 2, Math.max(height, 4) + 1);
  }
}

function windowNames(view) {
  const n = view.window_ids.length;
  view.window_ids.forEach((id, i) => {
    const [y, height] = place(view, i, n), chosen = id === view.ids[view.picked];
    if (chosen) {
      view.context.fillStyle = view.ink("panel");
      view.context.fillRect(view.left.x + view.left.width + GAP - 6, y,
        view.middle.x - view.left.x - view.left.width - GAP + 4, height);
    }
    writeText(view, `${view.window_tokens[i]}`, view.middle.x - 8 - 42 * view.scale, y + height / 2,
      { align: "right", mono: true, bold: chosen, meaning: chosen ? "text" : "muted", room: 76 * view.scale });
    writeText(view, `${id}`, view.middle.x - 8, y + height / 2,
      { align: "right", mono: true, bold: chosen, meaning: chosen ? "text" : "muted" });
  });
}

// × and =, and the way from the 1 to the row of E and on to the product.
function signs(view) {
  const { context, ink, left, middle, right } = view, [yLeft, h] = place(view, view.picked, view.n);
  const row = view.window_ids.indexOf(view.ids[view.picked]);
  const [yMiddle, hMiddle] = place(view, row, view.window_ids.length), from = yLeft + h / 2;
  const via = yMiddle + hMiddle / 2;
  context.strokeStyle = ink("residual-ink");
  context.lineWidth = 1.5;
  for (const [x1, y1, x2, y2] of [[left.x + left.width + 2, from, left.x + left.width + GAP - 8, via],
    [middle.x + middle.width + 3, via, right.x - 4, from]]) {
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
    context.stroke();
  }
  writeText(view, "×", left.x + left.width + GAP / 2, 12, { align: "center", bold: true, size: 1.5 });
  writeText(view, "=", middle.x + middle.width + GAP / 2, 12, { align: "center", bold: true, size: 1.5 });
}

function rowAt(view, event) {
  const box = view.stage.getBoundingClientRect(), x = event.clientX - box.left, [, height] = place(view, 0, view.n);
  const row = Math.floor((event.clientY - box.top - view.top) / height);
  const outside = x > view.left.x + view.left.width && x < view.right.x;
  return outside || row < 0 || row >= view.n ? null : row;
}

function read(view, event) {
  const box = view.stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  view.tip.hidden = true;
  const inside = (part) => x >= part.x && x < part.x + part.width, scrolled = view.stage.parentElement.scrollLeft;
  const middle = inside(view.middle), n = middle ? view.window_ids.length : view.n, [, height] = place(view, 0, n);
  const row = Math.floor((y - view.top) / height);
  if (row < 0 || row >= n || !(x < view.left.x + view.left.width || middle || inside(view.right))) return;
  const token = middle ? view.window_tokens[row] : view.tokens[row], id = middle ? view.window_ids[row] : view.ids[row];
  const part = middle ? view.middle : view.right;
  const words = [chip(token, "")];
  if (x < view.left.x + view.left.width) words.push(element("small", "", ` ${view.text.column.replace("{id}", id)}`));
  else {
    const c = Math.floor(((x - part.x) / part.width) * view.d), values = middle ? view.window : view.product;
    const where = view.text.entry.replace("{id}", middle ? id : row).replace("{c}", c);
    words.push(element("small", "", ` ${where.replace("{symbol}", middle ? "E" : "X")} `));
    words.push(element("output", "", exact(values[row * view.d + c])));
  }
  showTip(view.tip, words, x - scrolled, view.top + row * height, height);
}
