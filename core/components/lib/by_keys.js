// What the pointer reads in a picture the keys read too, and say it: arrows go from place to place, Home and End to the
// ends of a row, Enter or Space does what a press does there, Escape lets go.
const BY_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0],
  End: [Infinity, 0] };

// Makes `node` a stop of the Tab key. walk() is {columns, rows, from: [column, row] to begin at}; act(column, row,
// "hover", "press" or "out") shows and does; said() is what is shown then, in words.
export function byKeys(node, walk, act, said) {
  let at = null;
  const spoken = document.createElement("div");
  spoken.className = "spoken";
  spoken.setAttribute("aria-live", "polite");
  node.after(spoken);
  node.tabIndex = 0;
  node.setAttribute("role", "application");
  const show = (phase) => {
    act(...at, phase);
    // once the picture is drawn anew
    requestAnimationFrame(() => requestAnimationFrame(() => { spoken.textContent = said(); }));
  };
  node.onkeydown = (event) => {
    const by = BY_KEYS[event.key], { columns, rows, from = [0, 0] } = walk();
    if (event.ctrlKey || event.metaKey || event.altKey || !columns || !rows) return;
    if (event.key === "Escape") { if (at) act(...at, "out"); at = null; return; }
    if (!by && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    const inside = (value, count) => Math.max(0, Math.min(count - 1, value)), [column, row] = at ?? from;
    at = by && at ? [inside(column + by[0], columns), inside(row + by[1], rows)]
      : [inside(column, columns), inside(row, rows)];
    show(by ? "hover" : "press");
  };
  node.onblur = () => { if (at) act(...at, "out"); };
}

// As the pointer's own events at the middle of a cell, for pictures that listen to those; grid() is {left, top, width,
// height, columns, rows} in the node's pixels.
export function pointedByKeys(node, grid, said) {
  const send = (kind, x, y) => {
    const box = node.getBoundingClientRect();
    node.dispatchEvent(new PointerEvent(kind,
      { clientX: box.left + x, clientY: box.top + y, bubbles: kind !== "pointerleave", composed: true }));
  };
  byKeys(node, grid, (column, row, phase) => {
    const { left, top, width, height, columns, rows } = grid();
    send({ hover: "pointermove", press: "click", out: "pointerleave" }[phase],
      left + ((column + 0.5) * width) / columns, top + ((row + 0.5) * height) / rows);
  }, said);
}
