// In a picture the keys read all that the pointer reads, and a screen reader speaks it: arrows go from cell to cell,
// Home and End to the ends of a row, Enter or Space acts as a press there, Escape leaves.
import { make } from "./dom.js";
import { showTip } from "./pattern.js";

const BY_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0],
  End: [Infinity, 0] };

const clamped = (value, count) => Math.max(0, Math.min(count - 1, value));

/** Whether a modifier key made this key press a shortcut of the browser or of the system. */
export const isShortcut = (event) => event.ctrlKey || event.metaKey || event.altKey;

const FREE = "button:not([role]), a[href], summary, input[type='checkbox']";

/** Whether a key belongs to the element with the focus, such as a field, a slider, a list or a picture, and not to the
    page: a button or a link leaves it to the page, as do `own`, which listens, and an element around the whole page,
    such as Streamlit's scrolling part once it has been clicked. */
export function takesKeys(event, own) {
  const [target] = event.composedPath(), host = own.getRootNode().host ?? own;
  return event.defaultPrevented || !(target.contains(host) || own.contains(target) || target.matches(FREE));
}

/** The [column, row] that an arrow, Home or End leads to within columns × rows; another key leads nowhere. */
export function stepped(key, [column, row], columns, rows) {
  const [across, down] = BY_KEYS[key] ?? [0, 0];
  return [clamped(column + across, columns), clamped(row + down, rows)];
}

export const isStep = (key) => key in BY_KEYS;

// Make `node` a stop of the Tab key. grid() is {columns, rows, from: [column, row] of the first cell};
// handler(column, row, phase) shows the cell or acts on it, phase "hover", "press" or "out"; reading() then gives in
// words what is shown.
export function byKeys(node, grid, handler, reading) {
  let cell = null;
  const spoken = make("div", "spoken");
  spoken.ariaLive = "polite";
  node.after(spoken);
  node.tabIndex = 0;
  node.role = "application";
  const show = (phase) => {
    handler(...cell, phase);
    // after the picture has been redrawn
    requestAnimationFrame(() => requestAnimationFrame(() => { spoken.textContent = reading(); }));
  };
  node.onkeydown = (event) => {
    const { columns, rows, from = [0, 0] } = grid(), isMove = isStep(event.key);
    if (isShortcut(event) || !columns || !rows) return;
    if (event.key === "Escape") { if (cell) handler(...cell, "out"); cell = null; return; }
    if (!isMove && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    cell = stepped(cell && event.key, cell ?? from, columns, rows);
    show(isMove ? "hover" : "press");
  };
  node.onblur = () => { if (cell) handler(...cell, "out"); };
}

/** Make `node` a stop of the Tab key that handles keys itself: go(steps()[key]) for each key in steps(). */
export function steppedByKeys(node, steps, go) {
  node.tabIndex = 0;
  node.role = "group";
  node.onkeydown = (event) => {
    const step = steps()[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    go(step);
  };
}

// Like `byKeys`, for pictures that only listen to the pointer: the keys send pointer events at the middle of a cell.
// grid() is {left, top, width, height, columns, rows} in the node's pixels.
export function pointedByKeys(node, grid, reading) {
  const send = (kind, x, y) => {
    const box = node.getBoundingClientRect();
    node.dispatchEvent(new PointerEvent(kind,
      { clientX: box.left + x, clientY: box.top + y, bubbles: kind !== "pointerleave", composed: true }));
  };
  byKeys(node, grid, (column, row, phase) => {
    const { left, top, width, height, columns, rows } = grid();
    send({ hover: "pointermove", press: "click", out: "pointerleave" }[phase],
      left + ((column + 0.5) * width) / columns, top + ((row + 0.5) * height) / rows);
  }, reading);
}

/** Let the keys read every drawing that has marks with titles and no keys of its own: they go from mark to mark, show
    and speak its title; Enter clicks it. */
export function marksByKeys(root) {
  let tip = null;
  const marks = (svg) => [...svg.querySelectorAll("title")].map((title) => title.parentNode);
  const showMark = (svg, index, phase) => {
    const mark = marks(svg)[index];
    tip ??= make("div", "tip", root);
    svg.querySelector(".by-keys")?.classList.remove("by-keys");
    tip.hidden = phase === "out" || !mark;
    if (tip.hidden) return;
    if (phase === "press") mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    // the click may have redrawn the mark
    const shown = marks(svg)[index] ?? mark, home = root.getBoundingClientRect(), box = shown.getBoundingClientRect();
    shown.classList.add("by-keys");
    showTip(tip, [shown.querySelector("title").textContent], box.left + box.width / 2 - home.left,
      box.top - home.top - 2, box.height + 8);
  };
  const wire = () => {
    for (const svg of root.querySelectorAll("svg")) {
      if (svg.onkeydown || svg.querySelectorAll("title").length < 2) continue;
      let inside = svg.parentNode;
      while (inside !== root && !inside.onkeydown) inside = inside.parentNode;
      if (inside === root)
        byKeys(svg, () => ({ columns: marks(svg).length, rows: 1 }),
          (index, _row, phase) => showMark(svg, index, phase), () => (tip.hidden ? "" : tip.textContent));
    }
  };
  new MutationObserver(wire).observe(root, { childList: true, subtree: true });
  wire();
}

/** Move the focus among `nodes`, one of which has it, by steps[event.key] places. */
export function focusNext(event, nodes, steps) {
  const step = steps[event.key], index = nodes.indexOf(event.target);
  if (!step || index < 0) return;
  event.preventDefault();
  nodes[clamped(index + step, nodes.length)].focus();
}
