// A slider over the rows of the grid: slider, picked row, the sentence above and the guesses beside it move together in
// the browser; Python hears of it when the hand has let go.
import { draw, reveal, show } from "../../core/components/residual_grid/grid.js";
import { rich, setRange } from "../../core/components/lib/dom.js";
import { percent } from "../../core/components/lib/numbers.js";

/** slider: its name and its title; titles: the sentence of a row and of the last one.
 * @typedef {import("../../core/components/residual_grid/grid.js").Message & { slider: [string, string],
 *   titles: [string, string] }} Message */
/** @typedef {{ data: Message, picked: { row: number, column: number }, texts: Int32Array, values: Float32Array,
 *   title: HTMLElement, input: HTMLInputElement, amount: HTMLElement, said?: number, saidOf?: Message }} State */

/** @param {State} state */
function follow(state) {
  const { data, picked, input, amount } = state;
  if (!picked || picked.row === state.said && data === state.saidOf) return;
  Object.assign(state, { said: picked.row, saidOf: data });
  setRange(input, picked.row);
  input.ariaValueText = data.row_labels[picked.row];
  amount.textContent = String(picked.row);
  sayWhere(state);
  document.dispatchEvent(new CustomEvent("lens-depth", { detail: picked.row }));
}

/** The sentence of the picked row, with its tokens as chips. @param {State} state */
function sayWhere({ data, picked: { row, column }, texts, values, title }) {
  const last = data.rows - 1, guess = (at) => ({ chip: data.vocabulary[texts[at * data.columns + column]] });
  const p = (at) => percent(values[at * data.columns + column]);
  rich(title, data.titles[row === last ? 1 : 0], { where: data.row_labels[row], guess: guess(row), p: p(row),
    token: { chip: data.column_labels[column] }, last: guess(last), last_p: p(last) });
}

function slide(state, row) {
  state.picked = { ...state.picked, row };
  reveal(state);
  draw(state);
}

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".residual-lens"), hand = root.querySelector(".hand");
  const [label, input, amount] = hand.children;
  Object.assign(input, { min: 0, step: 1 });
  const more = { also: follow, title: root.querySelector(".title"), input, amount };
  const held = root.state?.held, state = show(root, data, setTriggerValue, more);
  // what Python drew for an earlier depth must not undo the hand
  if (held !== undefined) state.picked.row = held;
  input.max = state.data.rows - 1;
  follow(state);
  [label.textContent, hand.title] = state.data.slider;
  hand.hidden = state.data.rows < 2;
  input.oninput = () => { state.held = Number(input.value); slide(state, state.held); };
  input.onchange = () => { state.held = undefined; setTriggerValue("depth", Number(input.value)); };
}
