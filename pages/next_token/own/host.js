// Next token in a file of its own: the whole distribution, and what a reader does with it.
import { ask, begin, fromAddress, keepAddress, rootOf, said, write } from "../../../core/components/lib/own_file.js";
import drawPanel from "../../../core/components/sampling_panel/panel.js";
import { NEUTRAL } from "../../../core/components/sampling_panel/truncation.js";

const KEPT = ["prompt", "panel"];       // of the state, in the address; panel: the settings as JSON

const state = { ...said.state, ...fromAddress(KEPT, []) };
let shown = 0, version = 1;

/** The panel's settings as the address has them, each only if it is of the kind that the panel has. */
function settings() {
  const start = JSON.parse(said.state.panel), names = Object.keys(start);
  let found = {};
  try { found = JSON.parse(state.panel) ?? {}; } catch { /* as the file began */ }
  const isKind = (name) => typeof found[name] === typeof start[name]
    || name === "top_k" && (found[name] === null || Number.isInteger(found[name]));
  const read = { ...start, ...Object.fromEntries(names.filter(isKind).map((name) => [name, found[name]])) };
  const isWhole = read.pinned && Object.keys(NEUTRAL).every((name) => name in read.pinned);
  return { ...read, pinned: isWhole ? read.pinned : null };
}

async function show() {
  const turn = ++shown;
  const data = await ask("message", { prompt: state.prompt, settings: settings(), version, named: null });
  if (turn === shown) drawPanel({ data, parentElement: rootOf(), setStateValue: (_, moved) => keep(moved),
    setTriggerValue: (_, token) => append(token) });
}

function keep({ move: _move, named: _named, sent: _sent, ...moved }) {
  state.panel = JSON.stringify(moved);
  keepAddress(KEPT, state);
}

async function append(token) {
  state.prompt += await ask("decoded", [token]);
  write(state.prompt);
  keepAddress(KEPT, state, { isNew: true });
  show();
}

begin({
  prompt: state.prompt, show,
  typed(prompt) {
    state.prompt = prompt;
    keepAddress(KEPT, state);
    show();
  },
  returned() {
    Object.assign(state, said.state, fromAddress(KEPT, []));
    version += 1;
    write(state.prompt);
    show();
  },
});
