// On the left E, a row for each of a few tokens, and below it the context's vector h; on the right E turned round, a
// column for each of them, and below it u = h Eᵀ and y = softmax(u). The picked token's row and column are framed.
import {
  beginDrawing, deepest, matrixPicture, placePicture, stroke, writeText,
} from "../../core/components/lib/canvas.js";
import { fill, make, marked } from "../../core/components/lib/dom.js";
import { exact } from "../../core/components/lib/numbers.js";
import { heardIn, unpack } from "../../core/components/lib/bytes.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { showTip, tokenChip } from "../../core/components/lib/pattern.js";
import { readTheme, whenStyled } from "../../core/components/lib/theme.js";
import { fitHeight, keepFitted } from "../../core/components/lib/view.js";

const NARROW = 560;         // px: below it E stands above Eᵀ, with as few tokens as have room side by side
const FEW = 6;

/** widths: of E and U, whose rows are those of the shown tokens.
 * @typedef {{ ids: number[], tokens: string[], picked: number, out: string,
 *   text: Record<"in" | "out" | "h" | "terms" | "u" | "y" | "entry" | "number" | "keys", string>,
 *   products: string[], u: string[], y: number[], percent: string[], reads: string[], sums: string[],
 *   widths: [number, number], least: number, most: number, foot: number, scale: number, theme: string,
 *   E: Float32Array, U: Float32Array, h: Float32Array }} Message */

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".pair-view");
  const view = (root.view ??= build(root)), { echoes } = view;
  Object.assign(view, /** @type {Message} */ (unpack(data)),
    { send: (picked) => setStateValue("settings", { picked, sent: echoes.sent }) });
  echoes.hear(heardIn(data));
  // a hand that has gone on stays where it is, if its token is still shown
  if (!echoes.moves(view.ids[view.picked])) view.picked = Math.max(0, view.ids.indexOf(echoes.value));
  view.stage.ariaLabel = view.text.keys;
  view.terms = termsOf(view);
  whenStyled(root, () => arrange(view));
}

/** The products h_c E_{j,c} of every shown token j: their sum is its logit. */
export function termsOf({ h, U }) {
  return Float32Array.from(U, (value, k) => value * h[k % h.length]);
}

function build(root) {
  const [stage, canvas, tip, sum] = [".stage", "canvas", ".tip", ".sum"].map((name) => root.querySelector(name));
  const view = { stage, canvas, tip, sum, echoes: new Echoes() };
  stage.onpointermove = (event) => read(view, event);
  stage.onpointerleave = () => { tip.hidden = true; };
  stage.onclick = (event) => {
    const cell = cellAt(view, event);
    if (cell?.k !== undefined) pick(view, cell.k);
  };
  stage.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const { order } = view, place = order.indexOf(view.picked) + step;
    pick(view, order[Math.max(0, Math.min(order.length - 1, place))]);
  };
  keepFitted(root, () => view.text && arrange(view));
  return view;
}

function pick(view, k) {
  view.picked = k;
  arrange(view);
  view.echoes.tell(view.ids[k]);
  view.send(view.ids[k]);
}

/** The places of the shown ones of n tokens: all, or the first few with the picked one among them. */
export function shownOf(n, picked, isNarrow) {
  const all = Array.from({ length: n }, (_, k) => k);
  if (!isNarrow) return all;
  return picked < FEW ? all.slice(0, FEW) : [...all.slice(0, FEW - 1), picked];
}

function arrange(view) {
  const width = view.stage.clientWidth;
  if (!width) return;
  const isNarrow = width < NARROW, type = 12 * view.scale;
  Object.assign(view, { width, type, ratio: window.devicePixelRatio || 1, names: 92 * view.scale, gap: 74 * view.scale,
    strip: 1.8 * type, line: 1.7 * type, order: shownOf(view.ids.length, view.picked, isNarrow) });
  Object.assign(view, isNarrow ? oneBelowTheOther(view) : sideBySide(view));
  Object.assign(view, { row: view.left.height / view.order.length, column: view.right.width / view.order.length });
  view.stage.style.height = `${view.height}px`;
  paint(view);
}

function sideBySide(view) {
  const { stage, width, type, names, gap, strip, line } = view;
  const height = fitHeight(stage, view.least, view.most, view.foot);
  const top = 4.6 * type, foot = height - 4, inner = foot - 2 * (line + strip) - 0.6 * type - top;
  const wide = (width - names - gap) * 0.37, left = { x: names, y: top, width: wide, height: inner };
  const right = { x: names + wide + gap, y: top, width: width - names - wide - gap - 2, height: inner };
  const h = { x: names, y: top + inner + 0.6 * type + line, width: wide, height: strip };
  const terms = { ...h, y: h.y + strip + line };
  const bars = { x: right.x, y: h.y + 0.6 * type, width: right.width, height: foot - h.y - 0.6 * type };
  return { height, left, right, h_box: h, terms_box: terms, bars };
}

function oneBelowTheOther(view) {
  const { width, type, names, gap, strip, line, order } = view;
  const left = { x: names, y: 4.6 * type, width: width - names - 2, height: 2 * type * order.length };
  const h = { x: names, y: left.y + left.height + 0.6 * type + line, width: left.width, height: strip };
  const terms = { ...h, y: h.y + strip + line };
  const right = { x: gap, y: terms.y + strip + 5.4 * type, width: width - gap - 2, height: 16 * type };
  const bars = { x: right.x, y: right.y + right.height + 1.2 * type, width: right.width, height: 8 * type };
  return { height: bars.y + bars.height + 4, left, right, h_box: h, terms_box: terms, bars };
}

function paint(view) {
  beginDrawing(view);
  marked(view.sum, view.sums[view.picked]);
  headings(view);
  strips(view);
  namesOf(view);
  vectors(view);
  results(view);
  framed(view);
}

function headings(view) {
  const { left, right, text, type, picked } = view;
  for (const [{ x, y, width }, heading, more] of [[left, text.in, view.reads[picked]], [right, text.out, ""]]) {
    const [symbol, shape] = heading.split("|");
    writeText(view, symbol, x, y - 3.85 * type, { bold: true, room: width });
    writeText(view, more ? `${shape}; ${more}` : shape, x, y - 2.5 * type, { meaning: "muted", room: width });
  }
}

/** E with a row for each shown token, and its other use with a column for each. */
function strips(view) {
  const { context, left, right, order, E, U, widths: [e, d], row, column } = view, n = order.length;
  const table = readTheme().table("div"), most = Math.max(deepest(E), deepest(U));
  const rows = matrixPicture(n, e, (place, c) => E[order[place] * e + c], table, -most, most);
  const columns = matrixPicture(d, n, (c, place) => U[order[place] * d + c], table, -most, most);
  placePicture(context, rows, left.x, left.y, left.width, left.height);
  placePicture(context, columns, right.x, right.y, right.width, right.height);
  context.fillStyle = view.ink("page");
  for (let k = 1; k < n; k += 1) {
    context.fillRect(left.x, left.y + k * row - 1, left.width, 2);
    context.fillRect(right.x + k * column - 2, right.y, 4, right.height);
  }
}

/** The tokens' names: beside the rows with the one-hot entry that picks them, and above the columns. */
function namesOf(view) {
  const { left, right, order, tokens, row, column, type, picked, names } = view;
  order.forEach((k, place) => {
    const y = left.y + (place + 0.5) * row, bold = k === picked, meaning = bold ? "text" : "muted";
    writeText(view, tokens[k], names - 2 * type, y, { align: "right", mono: true, bold, meaning,
      room: names - 2.2 * type });
    writeText(view, bold ? "1" : "0", names - 0.8 * type, y, { align: "center", bold,
      meaning: bold ? "residual-ink" : "muted" });
    writeText(view, tokens[k], right.x + (place + 0.5) * column, right.y - 0.85 * type, { align: "center", mono: true,
      bold, meaning, room: column - 4 });
  });
}

/** h, and its products with the picked column. */
function vectors(view) {
  const { context, text, h, terms, h_box: above, terms_box: below, picked, tokens, type } = view, d = h.length;
  const table = readTheme().table("div"), own = terms.subarray(picked * d, (picked + 1) * d);
  for (const [values, box, words] of [[h, above, text.h], [own, below, fill(text.terms, { token: tokens[picked],
    u: view.products[picked] })]]) {
    const most = deepest(values);
    const picture = matrixPicture(1, d, (_, c) => values[c], table, -most, most);
    placePicture(context, picture, box.x, box.y, box.width, box.height);
    const room = Math.min(box.width + view.gap * 0.9, view.width - box.x);
    writeText(view, words, box.x, box.y - 0.7 * type, { room });
  }
  writeText(view, "h", above.x - 0.8 * type, above.y + above.height / 2, { align: "center", bold: true });
}

/** Below each column its u, and y as a bar with its number. */
function results(view) {
  const { bars, column, order, picked, type, text, right, u, y, percent } = view, most = Math.max(...y);
  const first = bars.y + 0.2 * type, foot = bars.y + bars.height, room = bars.height - 3.2 * type;
  for (const [words, at] of [[text.u, first], [text.y, foot - 0.8 * type]])
    writeText(view, words, right.x - 0.5 * type, at, { align: "right", bold: true, room: view.gap - type });
  order.forEach((k, place) => {
    const x = right.x + (place + 0.5) * column, bold = k === picked, tall = Math.max(1, (y[k] / most) * room);
    writeText(view, u[k], x, first, { align: "center", bold, room: column - 4 });
    view.context.fillStyle = view.ink(bold ? "residual" : "kept");
    view.context.fillRect(x - column * 0.3, foot - tall, column * 0.6, tall);
    writeText(view, percent[k], x, foot - tall - 0.75 * type, { align: "center", bold, room: column - 4 });
  });
}

/** The picked token's row and column, and the entry of u that they make with h. */
function framed(view) {
  const { context, left, right, row, column, bars, type } = view, place = view.order.indexOf(view.picked);
  const x = right.x + place * column;
  stroke(context, view.ink("residual-ink"), 2.5);
  context.strokeRect(left.x - 1, left.y + place * row, left.width + 2, row - 1);
  context.strokeRect(x + 1, right.y - 1, column - 2, right.height + 2);
  stroke(context, view.ink("residual-ink"), 1.5);
  context.strokeRect(x + 2, bars.y - 0.75 * type, column - 4, 1.9 * type);
}

/** The cell under the pointer: its part, its token k if it has one, its number c, and the place of the tip.
 * @returns {{ x: number, y: number, part: string, k?: number, of?: number, c: number } | null} */
function cellAt(view, event) {
  const box = view.stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const { left, right, row, column, order, widths: [e, d], h_box: h, terms_box: terms, names, picked, type } = view;
  const within = (start, length) => (value) => value >= start && value < start + length;
  const place = { x, y }, share = (value, from, size, count) => Math.floor(((value - from) / size) * count);
  if (x < left.x + left.width && within(left.y, left.height)(y)) {
    const k = order[Math.min(order.length - 1, Math.floor((y - left.y) / row))];
    return { ...place, part: "E", k, c: x < names ? undefined : share(x, left.x, left.width, e) };
  }
  if (within(right.x, right.width)(x) && y > right.y - 2 * type) {
    const k = order[Math.min(order.length - 1, Math.floor((x - right.x) / column))];
    return { ...place, part: "U", k, c: within(right.y, right.height)(y) ? share(y, right.y, right.height, d)
      : undefined };
  }
  for (const [part, area] of [["h", h], ["terms", terms]])
    if (within(area.x, area.width)(x) && within(area.y, area.height)(y))
      return { ...place, part, of: picked, c: share(x, area.x, area.width, d) };
  return null;
}

function read(view, event) {
  const cell = cellAt(view, event);
  view.tip.hidden = cell?.c === undefined;
  if (view.tip.hidden) return;
  const { part, k, of, c, x, y } = cell, { text, ids, tokens, h, E, U, widths: [e, d] } = view;
  const words = k === undefined ? [] : [tokenChip(tokens[k], "")];
  const say = (name, value) => words.push(make("small", "", null, ` ${name} `), make("output", "", null, value));
  if (part === "E") say(fill(text.entry, { symbol: "E", row: String(ids[k]), c }), exact(E[k * e + c]));
  if (part === "U") say(fill(text.entry, { symbol: view.out, row: c, c: String(ids[k]) }), exact(U[k * d + c]));
  if (part === "h") say(fill(text.number, { c }), exact(h[c]));
  if (part === "terms") say(fill(text.number, { c }),
    `${exact(h[c])} · ${exact(U[of * d + c])} = ${exact(h[c] * U[of * d + c])}`);
  showTip(view.tip, words, x - view.stage.parentElement.scrollLeft, y - 12, 30);
}
