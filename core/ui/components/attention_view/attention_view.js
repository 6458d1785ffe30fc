// One head, large: the matrix of its weights or scores with tokens on both axes, or lines from queries to keys. The views are in matrix.js and lines.js.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".view");
  const view = (root.view ??= build(root));
  view.send = setTriggerValue;
  root.answered = (bytes) => {
    const header = unpack(bytes);
    if (view.handle.lay(header.hand)) receive(view, header);
  };
  root.answered(data);
}

function receive(view, header) {
  const { root } = view;
  if (view.n !== header.n || view.shows !== header.shows) view.window = null;
  Object.assign(view, header, { fresh: true, offset: rowOffsets(header.first, header.last), cursor: null });
  view.window ??= [0, view.n, 0, view.n];
  view.reach = largest(view);
  describe(view);
  whenStyled(root, () => layOut(view));
}

function build(root) {
  const part = (name) => root.querySelector(name);
  const view = { root, title: part(".title"), matrix: part(".matrix"), cells: part("canvas.cells"), overlay: part("canvas.overlay"),
    lines: part(".lines"), threads: part(".lines canvas"), queries: part(".queries"), keys: part(".keys"), live: part(".live"), tip: part(".tip") };
  view.handle = buildHand(part(".hand"), (bytes) => receive(view, unpack(bytes)), (value) => view.send("moved", value));
  wireMatrix(view);
  keepFitted(root, () => view.first && layOut(view));
  return view;
}

function describe(view) {
  const { root, text } = view;
  view.title.textContent = view.heading;
  view.cells.setAttribute("aria-label", `${view.heading} ${text.keys_help}`);
  root.classList.toggle("is-lines", view.shows === "lines");
  root.classList.toggle("is-signed", view.signed);
  for (const scale of root.querySelectorAll(".scale")) scale.setAttribute("aria-label", text.scale);
  root.querySelector(".low").textContent = view.signed ? `−${view.reach.toPrecision(3)}` : "";
  root.querySelector(".high").textContent = view.signed ? `+${view.reach.toPrecision(3)}` : "";
}

function layOut(view) {
  if (!view.root.clientWidth) return;
  const room = fitHeight(view.shows === "lines" ? view.lines : view.matrix, view.height, view.most, view.foot), width = view.root.clientWidth;
  if (!view.fresh && room === view.room && width === view.width) return;
  Object.assign(view, { fresh: false, room, width });
  if (view.shows === "lines") layOutLines(view);
  else layOutMatrix(view);
}

// The value of a cell; NaN where the mask forbids.
function valueOf(view, query, key) {
  if (key < view.first[query] || key > view.last[query]) return NaN;
  return view.values[view.offset[query] + key - view.first[query]];
}

function largest(view) {
  return view.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
}

// 0..255 on the colour scale: square root of a weight, or a score against the largest one, zero in the middle; −1 masked.
function levelOf(view, value) {
  if (Number.isNaN(value)) return -1;
  return Math.round(view.signed ? 127.5 + 127.5 * (value / (view.reach || 1)) : 255 * Math.sqrt(value));
}

const shown = (view, value) => (Number.isNaN(value) ? view.text.masked : exact(value));

function inks(root) {
  const style = getComputedStyle(root);
  const ink = (name) => style.getPropertyValue(`--tx-${name}`).trim();
  return { text: ink("text"), muted: ink("muted"), page: ink("page"), grid: ink("grid"), query: ink("query-ink"), key: ink("key-ink"), mono: ink("mono"), font: ink("font") };
}

function shorten(token, most) {
  const letters = [...token];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : token;
}
