// The tour in a file of its own: its steps, and what a reader does in them.
import { ask, begin, fromAddress, keepAddress, rootOf, said, write } from "../../../core/components/lib/own_file.js";
import drawTour from "../tour.js";

const KEPT = ["prompt", "at"], NUMBERS = ["at"];        // of the state, in the address

const state = { ...said.state, done: {}, ...read() };
let shown = 0, heard = 0;       // heard: the number of the tour's last word

// A step that the address names, if there is one.
function read() {
  const { at, ...kept } = fromAddress(KEPT, NUMBERS), isStep = Number.isInteger(at) && at > 0
    && at <= said.words.steps.length;
  return { ...kept, ...(isStep && { at }), named: isStep };
}

async function show() {
  const turn = ++shown;
  const data = withNumber(await ask("message", state), heard);
  if (turn === shown) drawTour({ data, parentElement: rootOf(), setStateValue: went,
    setTriggerValue: (name, value) => acts[name]?.(value) });
}

// The message, and after it the number of the last word that it has heard, as Python sends them.
function withNumber(message, number) {
  const whole = new Uint8Array(message.length + 8);
  whole.set(message);
  new DataView(whole.buffer).setFloat64(message.length, number, true);
  return whole;
}

function went(_, { at, sent }) {
  heard = sent;
  change({ at, named: true }, { isNew: true });
}

const acts = {
  act({ step, ...act }) {
    const added = step === "write" && "add" in act ? { added: [...state.done.write?.added ?? [], act.add] } : act;
    change({ done: { ...state.done, [step]: added } });
  },
  again: (done) => change({ done: { ...done, ...state.done } }),
  prompt(prompt) {
    write(prompt);
    change({ prompt, done: {} });
  },
};

/** @param {object} settings @param {{ isNew?: boolean }} options */
function change(settings, options = {}) {
  Object.assign(state, settings);
  keepAddress(KEPT, state, options);
  return show();
}

begin({ prompt: state.prompt, show, typed: (prompt) => change({ prompt, done: {} }), returned: () => {
  const { prompt } = state;
  Object.assign(state, said.state, read());
  if (state.prompt !== prompt) state.done = {};
  write(state.prompt);
  show();
} });
