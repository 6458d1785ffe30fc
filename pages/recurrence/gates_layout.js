// The layout of a gated cell: the lane of its state on top, its gates in a row below, and the lines between
// them. Lengths are in em. A gate keeps its place from the LSTM to the GRU.

/** @import { Cell } from "./gates.js" */

const SIDE = 5, STATE = 1.9, TIMES = 5.9, GATE = 10.7, BUS = 14.1, HEIGHT = 16.1;      // em
const TALL = 4, LOW = 2.7, MOST_WIDE = 6;                                              // em of boxes
export const NODE = 0.7;                                                                    // em, radius of × and +
const GATES = ["f", "i", "g", "o"];

/** Whether a cell tells c from the h that it shows. names: its symbols by their place, which is that in an LSTM. */
export const tells = (names) => names.state === "c";

/** The parts of a cell that hold a number: {place, pick, symbol, value, kind, derived}.
    @param {Cell} cell */
export function partsOf({ names, blocks, values }) {
  const { state } = names;
  const gates = GATES.filter((name) => names[name]).map((name) => ({ place: name, pick: name, symbol: names[name],
    value: values[name], kind: "gate", derived: !blocks.includes(name) }));
  const lane = [["old", "ₜ₋₁"], ["new", "ₜ"]].map(([place, index]) => ({ place, pick: "state",
    symbol: `${state}${index}`, value: values[place], kind: `state ${state}`, derived: false }));
  const shown = tells(names) ? [{ place: "shown", pick: "shown", symbol: "hₜ", value: values.h, kind: "state h",
    derived: false }] : [];
  return [...gates, ...lane, ...shown];
}

/** The products and sums of a cell with their numbers: what is kept, what is let in, and what is shown.
    @param {Cell} cell */
export function productsOf({ names, values }) {
  const { f, i, g, old, new: state } = values;
  return { kept: f * old, let: i * g, ...(tells(names) ? { squashed: Math.tanh(state) } : {}) };
}

/** The places of everything in a cell `width` em wide: boxes {x, y, width, height}, lines {kind, points, arrow}, nodes
    {x, y, sign}, and numbers beside lines {x, y, name}. */
export function arrangement(width, { names, blocks }) {
  const slot = (width - 2 * SIDE) / GATES.length, wide = Math.min(MOST_WIDE, slot - 0.5);
  const [f, i, g, o] = GATES.map((_, k) => SIDE + (k + 0.5) * slot), across = { f, i, g, o };
  const middle = (i + g) / 2, end = width - SIDE + 0.3, top = GATE - TALL / 2;
  const gate = { y: GATE, width: wide, height: TALL };
  const boxes = Object.fromEntries(GATES.map((name) => [name, { x: across[name], ...gate }]));
  const side = { width: SIDE - 0.6, height: LOW };
  Object.assign(boxes, { old: { x: SIDE / 2 - 0.2, y: STATE, ...side },
    new: { x: width - SIDE / 2 + 0.2, y: STATE, ...side }, shown: { x: width - SIDE / 2 + 0.2, y: TIMES, ...side } });
  const lane = names.state;
  const lines = [
    { kind: lane, points: [[SIDE - 0.5, STATE], [f - NODE, STATE]], arrow: true },
    { kind: lane, points: [[f + NODE, STATE], [middle - NODE, STATE]], arrow: true },
    { kind: lane, points: [[middle + NODE, STATE], [end - 0.3, STATE]], arrow: true },
    { kind: "gate", points: [[f, top], [f, STATE + NODE]], arrow: true },
    { kind: "gate", points: [[i, top], [i, TIMES], [middle - NODE, TIMES]], arrow: true },
    { kind: "gate", points: [[g, top], [g, TIMES], [middle + NODE, TIMES]], arrow: true },
    { kind: "gate", points: [[middle, TIMES - NODE], [middle, STATE + NODE]], arrow: true },
    ...reads(blocks, across, wide), ...last(names, across, wide, end)];
  const nodes = [{ x: f, y: STATE, sign: "×" }, { x: middle, y: TIMES, sign: "×" }, { x: middle, y: STATE, sign: "+" },
    ...(tells(names) ? [{ x: o, y: TIMES, sign: "×" }] : [])];
  const numbers = [{ x: f + 0.5, y: STATE - NODE - 0.1, name: "kept" },
    { x: middle + 0.4, y: (STATE + TIMES) / 2 + 0.4, name: "let" },
    ...(tells(names) ? [{ x: o + 0.4, y: (STATE + TIMES) / 2 + 0.4, name: "squashed" }] : [])];
  return { boxes, lines, nodes, numbers, height: HEIGHT, slot, under: { x: f - wide / 2, y: BUS + 1.3 },
    resets: { x: o, y: top } };
}

/** The gates' input: a line under all that have weights, and the rest to the one that has none. */
function reads(blocks, across, wide) {
  const { f, i } = across, own = GATES.filter((name) => blocks.includes(name));
  const bus = { kind: "read", points: [[f - wide / 2, BUS], [across[own.at(-1)], BUS]], arrow: false };
  const up = own.map((name) => ({ kind: "read", points: [[across[name], BUS], [across[name], GATE + TALL / 2]],
    arrow: true }));
  const left = { kind: "gate", points: [[f + wide / 2, GATE], [i - wide / 2, GATE]], arrow: true };
  return [bus, ...up, ...(own.includes("i") ? [] : [left])];
}

/** The lines at the place of the output gate: c shown through it, or what a reset gate scales. */
function last(names, { g, o }, wide, end) {
  const top = GATE - TALL / 2;
  if (tells(names)) return [
    { kind: "c", points: [[o, STATE], [o, TIMES - NODE]], arrow: true },
    { kind: "gate", points: [[o, top], [o, TIMES + NODE]], arrow: true },
    { kind: "h", points: [[o + NODE, TIMES], [end - 0.3, TIMES]], arrow: true }];
  if (!names.o) return [];
  const x = g + wide / 4, y = top - 1.2;
  return [{ kind: "gate", points: [[o, top], [o, y], [x, y], [x, top]], arrow: true }];
}
