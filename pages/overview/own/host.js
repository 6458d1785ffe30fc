// Overview in a file of its own: the picture, and what a reader does in it.
import { answerHere } from "../../../core/components/lib/answers.js";
import { ask, begin, fromAddress, keepAddress, rootOf, said, theme, write }
  from "../../../core/components/lib/own_file.js";
import drawMap from "../map.js";

const KEPT = ["prompt", "at", "edit", "position"], NUMBERS = ["position"];      // of the state, in the address

const state = { ...said.state, ...fromAddress(KEPT, NUMBERS), theme: "", scale: 1, canUndo: false };
const before = [];      // texts to which tokens were appended
let shown = 0;

async function show() {
  const turn = ++shown;
  state.theme = theme();
  state.canUndo = before.length > 0 && state.prompt.startsWith(before.at(-1)) && state.prompt !== before.at(-1);
  const data = await ask("message", state);
  if (turn === shown) drawMap({ data, parentElement: rootOf(), setTriggerValue: (name, value) => acts[name]?.(value) });
}

const acts = {
  picked: (position) => change({ position }),
  layer: (layer) => change({ layer }),
  went: ({ at, position, layer }) => change({ at, position, layer: layer ?? state.layer }, { isNew: true }),
  edited: (edit) => change({ edit }),
  appended: async (token) => {
    before.push(state.prompt);
    rewrite(state.prompt + await ask("decoded", [token]));
  },
  thrown: () => change({ xi: Math.random() }),
  undone: () => rewrite(before.pop() ?? state.prompt),
};

/** @param {object} settings @param {{ isNew?: boolean }} options */
function change(settings, options = {}) {
  Object.assign(state, settings);
  keepAddress(KEPT, state, options);
  return show();
}

function rewrite(prompt) {
  write(prompt);
  return change({ prompt, position: null });
}

answerHere((body) => ask("answer", body));
begin({ prompt: state.prompt, show, typed: (prompt) => change({ prompt, position: null }), returned: () => {
  Object.assign(state, said.state, fromAddress(KEPT, NUMBERS));
  write(state.prompt);
  show();
} });
