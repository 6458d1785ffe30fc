// The lines: queries left, keys right, the thickness of a line is its weight. The query under the pointer, or else the
// picked one, is highlighted.
import { sharpen } from "../lib/canvas.js";
import { button, make } from "../lib/dom.js";
import { exact, significant } from "../lib/numbers.js";
import { tokenChip } from "../lib/pattern.js";
import { readTheme } from "../lib/theme.js";

export const LEAST_ROW = 15;       // px
const NAMED = 0.05;       // least weight of a token that keeps its name in rows with little room
const FAINTEST = 0.01;    // a weight under this draws no line: it would be a tenth of a pixel

export function layOutLines(view) {
  const { both } = view, most = 30 * (view.type / 12), letter = view.letterFor(view.room / view.n);
  // beside the matrix the rows have the matrix's height
  const height = both ? view.tall : Math.max(LEAST_ROW, Math.min(most, view.room / view.n));
  fillTokens(view, view.queries, "query", (i) => view.trigger("picked", [i, view.key ?? i]));
  fillTokens(view, view.keys, "key", (j) => view.trigger("picked", [view.query ?? view.n - 1, j]));
  view.lines.style.maxHeight = both ? "none" : `${view.room}px`;
  view.lines.style.marginTop = both ? `${view.above}px` : "0";
  view.lines.style.setProperty("--row", `${height}px`);
  view.lines.style.setProperty("--letter", `${both ? view.letter : letter}px`);
  view.tight = height < 1.6 * letter;
  view.lines.classList.toggle("tight", view.tight);
  view.row = height;
  view.threads.style.width = "100%";
  view.across = view.threads.clientWidth;
  if (view.query !== null && view.query !== view.scrolledTo)
    view.lines.scrollTop = (view.query + 1) * height - view.room * 0.8;
  view.scrolledTo = view.query;
  drawThreads(view, view.query);
}

function fillTokens(view, column, meaning, pick) {
  column.replaceChildren();
  view.tokens.forEach((token, i) => {
    const node = button(column, "", "", () => pick(i), i === view[meaning] ? "picked" : "");
    node.append(tokenChip(token, meaning), make("span", "amount"));
    if (meaning === "key") return;
    node.onpointerenter = node.onfocus = () => drawThreads(view, i);
    node.onpointerleave = node.onblur = () => drawThreads(view, view.query);
  });
}

export function drawThreads(view, focus) {
  const context = sharpen(view.threads, view.across, view.row * view.n), { ink } = readTheme();
  context.strokeStyle = ink("muted");
  context.globalAlpha = 0.16;
  for (let i = 0; i < view.n; i++) if (i !== focus) threadsOf(view, context, i);
  context.globalAlpha = 0.9;
  context.strokeStyle = ink("query-ink");
  if (focus !== null) threadsOf(view, context, focus);
  context.globalAlpha = 1;
  [...view.keys.children].forEach((key, j) => {
    const value = focus === null ? NaN : view.valueOf(focus, j), visible = value >= (view.tight ? NAMED : FAINTEST);
    key.lastChild.textContent = !visible ? "" : view.tight ? significant(value) : exact(value);
    key.classList.toggle("reached", visible);
  });
  [...view.queries.children].forEach((query, i) => query.classList.toggle("reached", i === focus));
}

function threadsOf(view, context, query) {
  const { row, across } = view, thickest = Math.min(12, row * 0.6);
  for (let j = view.first[query]; j <= view.last[query]; j++) {
    const value = view.valueOf(query, j);
    if (!(value >= FAINTEST)) continue;
    context.lineWidth = value * thickest;
    context.beginPath();
    context.moveTo(0, (query + 0.5) * row);
    context.bezierCurveTo(across * 0.4, (query + 0.5) * row, across * 0.6, (j + 0.5) * row, across, (j + 0.5) * row);
    context.stroke();
  }
}
