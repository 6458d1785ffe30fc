// One head, large: the matrix of its weights or scores with tokens on both axes, or lines from queries to keys. The
// views are in matrix.js and lines.js.
import { significant } from "../lib/numbers.js";
import { fitHeight, keepFitted, rowOffsets } from "../lib/pattern.js";
import { buildHand } from "../lib/hand.js";
import { unpack } from "../lib/bytes.js";
import { whenStyled } from "../lib/theme.js";
import { layOutLines } from "./lines.js";
import { layOutMatrix, wireMatrix } from "./matrix.js";

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".view");
  const view = (root.view ??= build(root));
  view.send = setTriggerValue;
  const header = unpack(data);
  if (view.handle.lay(header.hand)) receive(view, header);
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
  const view = { root, title: part(".title"), matrix: part(".matrix"), cells: part("canvas.cells"),
    overlay: part("canvas.overlay"), lines: part(".lines"), threads: part(".lines canvas"), queries: part(".queries"),
    keys: part(".keys"), live: part(".live"), tip: part(".tip") };
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
  root.querySelector(".low").textContent = view.signed ? `−${significant(view.reach)}` : "";
  root.querySelector(".high").textContent = view.signed ? `+${significant(view.reach)}` : "";
}

function layOut(view) {
  if (!view.root.clientWidth) return;
  const room = fitHeight(view.shows === "lines" ? view.lines : view.matrix, view.height, view.most, view.foot);
  const width = view.root.clientWidth;
  if (!view.fresh && room === view.room && width === view.width) return;
  Object.assign(view, { fresh: false, room, width });
  if (view.shows === "lines") layOutLines(view);
  else layOutMatrix(view);
}

function largest(view) {
  return view.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
}

