// The lines: queries left, keys right, the thickness of a line is its weight. The query under the pointer, else the
// picked one, stands out.
import { exact } from "../lib/numbers.js";
import { chip, element } from "../lib/pattern.js";
import { inks, valueOf } from "./cells.js";

const FAINTEST = 0.01;    // a weight under this draws no line: it would be a tenth of a pixel

export function layOutLines(view) {
  const height = Math.max(17, Math.min(30, view.room / view.n)) * (view.type / 12);
  fillTokens(view, view.queries, "query", (i) => view.send("picked", [i, view.key ?? i]));
  fillTokens(view, view.keys, "key", (j) => view.send("picked", [view.query ?? view.n - 1, j]));
  view.lines.style.maxHeight = `${view.room}px`;
  view.lines.style.setProperty("--row", `${height}px`);
  const ratio = window.devicePixelRatio || 1, canvas = view.threads;
  canvas.style.height = `${height * view.n}px`;
  canvas.style.width = "100%";
  const width = canvas.clientWidth;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * view.n * ratio)];
  Object.assign(view, { ratio, row: height, across: width });
  if (view.query !== null && view.query !== view.scrolledTo)
    view.lines.scrollTop = (view.query + 1) * height - view.room * 0.8;
  view.scrolledTo = view.query;
  drawThreads(view, view.query);
}

function fillTokens(view, column, meaning, pick) {
  column.replaceChildren(...view.tokens.map((token, i) => {
    const button = element("button");
    const label = chip(token, meaning);
    button.type = "button";
    button.append(label, element("span", "amount"));
    if (i === view[meaning]) button.className = "picked";
    button.onclick = () => pick(i);
    if (meaning === "query") {
      button.onpointerenter = button.onfocus = () => drawThreads(view, i);
      button.onpointerleave = button.onblur = () => drawThreads(view, view.query);
    }
    return button;
  }));
}

function drawThreads(view, focus) {
  const { threads, ratio, n } = view, context = threads.getContext("2d"), ink = inks();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, threads.width, threads.height);
  context.strokeStyle = ink.muted;
  context.globalAlpha = 0.16;
  for (let i = 0; i < n; i++) if (i !== focus) threadsOf(view, context, i);
  context.globalAlpha = 0.9;
  context.strokeStyle = ink.query;
  if (focus !== null) threadsOf(view, context, focus);
  context.globalAlpha = 1;
  [...view.keys.children].forEach((button, j) => {
    const value = focus === null ? NaN : valueOf(view, focus, j), visible = value >= FAINTEST;
    button.lastChild.textContent = visible ? exact(value) : "";
    button.classList.toggle("reached", visible);
  });
  [...view.queries.children].forEach((button, i) => button.classList.toggle("reached", i === focus));
}

function threadsOf(view, context, query) {
  const { row, across } = view, thickest = Math.min(12, row * 0.6);
  for (let j = view.first[query]; j <= view.last[query]; j++) {
    const value = valueOf(view, query, j);
    if (!(value >= FAINTEST)) continue;
    context.lineWidth = value * thickest;
    context.beginPath();
    context.moveTo(0, (query + 0.5) * row);
    context.bezierCurveTo(across * 0.4, (query + 0.5) * row, across * 0.6, (j + 0.5) * row, across, (j + 0.5) * row);
    context.stroke();
  }
}
