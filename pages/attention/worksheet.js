// Compare a reader's entries with the solution; Python's session keeps them.
import { button, draw, fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { plain, written } from "../../core/components/lib/numbers.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";

const GIVEN = ["X", "W_Q", "W_K", "W_V"];
const STEPS = ["Q", "K", "V", "products", "scaled", "masked", "weights", "output"];
const MEANING = { X: "residual", W_Q: "query", W_K: "key", W_V: "value", Q: "query", K: "key", V: "value",
  weights: "attention", output: "attention" };
const OF_A_CELL = ["mask", "hint", "show", "fill"];               // actions on the focused cell
const BY_KEY = ["products", "scaled", "masked", "weights"];      // their columns are keys
const FEWEST_DECIMALS = 2, REST = 500;

const number = (written) => (written === "-inf" ? -Infinity : written === null ? NaN : written);
const numbersIn = (matrices) => Object.fromEntries(
  Object.entries(matrices).map(([name, matrix]) => [name, matrix.map((row) => row.map(number))]));

/** Read an entry: {value, decimals}, or null if it is no number. A comma is a point, a/b a fraction, -inf
    and −∞ the mask. */
export function parse(typed) {
  const text = typed.trim().replace(/[−–]/g, "-").replace(",", ".").replace(/\s+/g, "");
  if (/^-(inf|infinity|∞|oo)$/i.test(text)) return { value: -Infinity, decimals: Infinity };
  const fraction = /^(-?\d{1,6})\/(\d{1,6})$/.exec(text);
  if (fraction && Number(fraction[2])) return { value: Number(fraction[1]) / Number(fraction[2]), decimals: Infinity };
  if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(text)) return null;
  return { value: Number(text), decimals: (text.split(".")[1] ?? "").length };
}

/** Whether a typed number is `value`, rounded to as many decimals as were typed. */
export function matches({ value: typed, decimals }, value) {
  if (!Number.isFinite(value) || !Number.isFinite(typed)) return typed === value;
  const step = Number.isFinite(decimals) ? 0.5 * 10 ** -decimals : 0;
  return Math.abs(typed - value) <= step * (1 + 1e-9) + 1e-9;
}

/** A number as the sheet asks for it: whole, or rounded to four decimals. */
const rounded = (value) =>
  (Number.isFinite(value) ? written(Number.isInteger(value) ? value : value.toFixed(4)) : plain(value));
const bracketed = (value) => (value < 0 ? `(${rounded(value)})` : rounded(value));

/** The softmax of one score among the visible ones, as a calculation to do by hand. */
function softmaxSum(scores, j, seen) {
  const powers = seen.map((k) => `e^${bracketed(scores[k])}`).join(" + ");
  const total = seen.reduce((sum, k) => sum + Math.exp(scores[k]), 0);
  return `e^${bracketed(scores[j])} / (${powers}) = ${rounded(Math.exp(scores[j]))} / ${rounded(total)}`;
}

const dot = (a, b) => a.map((x, k) => `${bracketed(x)}·${bracketed(b[k])}`).join(" + ");
const column = (matrix, c) => matrix.map((row) => row[c]);

/** A name such as W_Q or d_k with its index below the line. */
function named(node, name) {
  for (const [k, part] of name.split(/_(\w)/).entries()) node.append(k % 2 ? make("sub", "", null, part) : part);
}

/** solution by step, mistakes by step and slip; cells by "step.row.column": what was typed, and 1 where it was shown.
 * @typedef {Record<string, (number | "-inf" | null)[][]>} Matrices
 * @typedef {{ identity: string, tokens: string[], given: Matrices, solution: Matrices,
 *   mistakes: Record<string, Matrices>, cells: Record<string, [string, number]>,
 *   text: Record<string, string>, scale: number }} Message */

/** @typedef {{ input: HTMLInputElement, place: HTMLElement, step: string, i: number, j: number }} Field */
/** @typedef {{ given: Record<string, number[][]>, solution: Record<string, number[][]>, fields: Record<string, Field>,
 *   mistakes: Record<string, [string, number[][]][]>, counts: Record<string, HTMLElement> }} Sheet */

/** @extends {View<Pick<Message, "identity" | "tokens" | "cells"> & Sheet>} */
class Worksheet extends View {
  constructor(root) {
    super(root);
    this.bar = make("div", "bar", root);
    const head = make("div", "head", this.bar);
    this.title = make("div", "title", head);
    this.title.role = "status";
    const parts = make("div", "parts", head);
    this.parts = [0, 1].map((part) => button(parts, "", "", () => this.turn(part)));
    this.verdict = spokenLine(this.bar, "verdict");
    const acts = make("div", "acts", this.bar);
    this.buttons = Object.fromEntries([...OF_A_CELL, "reset"]
      .map((act) => [act, button(acts, "", "", () => this[act](), act)]));
    acts.onpointerdown = (event) => event.preventDefault();     // the cell keeps the focus
    this.sheet = make("div", "sheet", root);
    this.turn(0);
    const keeper = make("div", "keeper", root);
    keeper.ariaHidden = "true";
    this.svg = draw("svg", { class: "worksheet-picture" }, keeper);
    root.onfocusout = () => this.settle();
    onWidth(root, () => this.paintPicture());
  }

  /** @param {Message} header */
  receive(header) {
    const same = this.identity === header.identity;
    if (!same) this.settle();
    this.text = header.text;
    for (const [act, node] of Object.entries(this.buttons))
      Object.assign(node, { textContent: this.text[act], title: this.text[`${act}_help`] ?? "" });
    this.parts.forEach((node, part) => { node.textContent = this.text[`part_${part}`]; });
    if (same) return;
    const { identity, tokens, given, solution, mistakes, cells } = header;
    Object.assign(this, { identity, tokens, given: numbersIn(given), solution: numbersIn(solution),
      mistakes: Object.fromEntries(STEPS.map((step) => [step, Object.entries(numbersIn(mistakes[step]))])),
      cells: { ...cells }, at: null, fields: {}, counts: {} });
    this.matrices = { ...this.given, ...this.solution };
    this.sheet.replaceChildren();
    for (const name of [...GIVEN, ...STEPS]) this.matrix(name);
    this.paint();
    this.say();
  }

  /** Show two rows of matrices at a time of a sheet too high for a projector: worksheet.css. */
  turn(part) {
    this.sheet.dataset.part = part;
    this.parts.forEach((node, i) => { node.ariaPressed = String(i === part); });
  }

  matrix(name) {
    const rows = this.matrices[name], asked = STEPS.includes(name);
    const place = make("section", `matrix ${MEANING[name] ?? ""} ${rows[0].length < 4 ? "narrow" : ""}`, this.sheet);
    const heading = make("h3", "", place);
    named(make("span", "", heading), this.text[`name_${name}`]);
    if (asked) this.counts[name] = make("span", "count", heading);
    const table = make("table", "", place), byToken = !name.startsWith("W_");
    if (BY_KEY.includes(name)) {
      const head = make("tr", "", make("thead", "", table));
      make("th", "", head);
      for (const token of this.tokens) make("th", "", head, token).scope = "col";
    }
    const body = make("tbody", "", table);
    rows.forEach((row, i) => {
      const line = make("tr", "", body);
      make("th", "", line, byToken ? this.tokens[i] : "").scope = "row";
      row.forEach((value, j) => (asked ? this.field(make("td", "", line), name, i, j)
        : make("td", "given", line, rounded(value))));
    });
  }

  field(place, step, i, j) {
    const key = `${step}.${i}.${j}`, input = make("input", "cell", place);
    Object.assign(input,
      { type: "text", value: this.cells[key]?.[0] ?? "", maxLength: 12, autocomplete: "off", spellcheck: false });
    input.ariaLabel = this.where(step, i, j).replaceAll("_", "");
    input.dataset.key = key;
    this.fields[key] = { input, place, step, i, j };
    input.oninput = () => this.type(key, input.value);
    input.onfocus = () => { this.at = key; this.hinted = false; this.say(); };
    input.onkeydown = (event) => this.press(event, key);
  }

  where(step, i, j) {
    const [place, column] = BY_KEY.includes(step) ? ["where_pair", this.tokens[j]] : ["where_entry", j + 1];
    return fill(this.text[place], { name: this.text[`name_${step}`], row: this.tokens[i], column });
  }

  /** Enter goes to the next cell, the arrows to the neighbours; left and right only from the end of the text. */
  press(event, key) {
    const { input, step, i, j } = this.fields[key], keys = Object.keys(this.fields), pressed = event.key;
    const within = (pressed === "ArrowLeft" && input.selectionEnd > 0)
      || (pressed === "ArrowRight" && input.selectionStart < input.value.length);
    const to = { Enter: keys[keys.indexOf(key) + (event.shiftKey ? -1 : 1)], ArrowUp: `${step}.${i - 1}.${j}`,
      ArrowDown: `${step}.${i + 1}.${j}`, ArrowLeft: `${step}.${i}.${j - 1}`, ArrowRight: `${step}.${i}.${j + 1}` };
    if (within || !(pressed in to)) return;
    const next = this.fields[to[pressed]]?.input, sideways = ["ArrowLeft", "ArrowRight"].includes(pressed);
    event.stopPropagation();
    if (next || !sideways) event.preventDefault();
    if (next && !next.checkVisibility()) this.turn(1 - Number(this.sheet.dataset.part));
    next?.focus();
    next?.select();
  }

  type(key, typed) {
    if (typed.trim()) this.cells[key] = [typed.trim().slice(0, 12), 0];
    else delete this.cells[key];
    this.changed = true;
    this.hinted = false;
    this.paint(key);
    this.say();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.settle(), REST);
  }

  settle() {
    clearTimeout(this.resting);
    if (!this.changed) return;
    this.changed = false;
    this.paintPicture();
    this.send({ identity: this.identity, cells: this.cells });
  }

  /** {state, slip}: right, coarse (right as far as it goes), wrong, shown, or empty. */
  judge(key) {
    const { step, i, j } = this.fields[key], [typed, shown] = this.cells[key] ?? ["", 0];
    if (!typed) return { state: "" };
    if (shown) return { state: "shown" };
    const answer = parse(typed), value = this.solution[step][i][j];
    if (!answer) return { state: "wrong", slip: "unreadable" };
    if (matches(answer, value))
      return Number.isFinite(value) && answer.decimals < FEWEST_DECIMALS && Math.abs(answer.value - value) > 1e-9
        ? { state: "coarse", slip: "coarse" } : { state: "right" };
    return { state: "wrong", slip: this.slip(step, i, j, answer) };
  }

  slip(step, i, j, answer) {
    const masked = j > i;
    if (step === "masked" && masked) return answer.value === 0 ? "zero" : "forbidden";
    if (step === "weights" && masked) return "leak";
    if (answer.value === -Infinity)
      return BY_KEY.includes(step) && step !== "weights" ? (masked ? "later" : "allowed") : "infinite";
    const mistake = this.mistakes[step].find(([, matrix]) => !Number.isNaN(matrix[i][j])
      && matches(answer, matrix[i][j]) && Math.abs(matrix[i][j] - this.solution[step][i][j]) > 1e-9);
    if (mistake) return mistake[0];
    return Math.abs(answer.value - this.solution[step][i][j]) <= this.reach(step, i, j) ? "rounding" : "unknown";
  }

  /** The largest error of a number that comes from rounding earlier steps too early. */
  reach(step, i, j) {
    if (step !== "output") return { weights: 0.015, scaled: 0.02, masked: 0.02 }[step] ?? 0;
    return 0.01 * this.solution.V.slice(0, i + 1).reduce((sum, row) => sum + Math.abs(row[j]), 0);
  }

  paint(only) {
    for (const key of only ? [only] : Object.keys(this.fields)) {
      const { input, place } = this.fields[key], { state } = this.judge(key), typed = this.cells[key]?.[0] ?? "";
      if (input.value.trim() !== typed) input.value = typed;
      place.className = state;
      input.ariaInvalid = String(state === "wrong");
    }
    this.count();
    if (!only) this.paintPicture();
  }

  /** How many cells of each step and of the sheet are right, shown and wrong. */
  count() {
    const states = Object.entries(this.fields).map(([key, { step }]) => ({ step, state: this.judge(key).state }));
    const countOf = (...wanted) => states.filter(({ state }) => wanted.includes(state)).length;
    for (const step of STEPS) {
      const cells = states.filter((cell) => cell.step === step), done = cells.filter(({ state }) => state === "right");
      this.counts[step].textContent = `${done.length}/${cells.length}`;
      this.counts[step].closest(".matrix").classList.toggle("whole", done.length === cells.length);
    }
    const all = states.length, [done, shown, wrong] = [countOf("right"), countOf("shown"), countOf("wrong", "coarse")];
    const parts = done + shown === all ? ["finished"]
      : ["progress", ...(shown ? ["progress_shown"] : []), ...(wrong ? ["progress_wrong"] : [])];
    this.title.textContent = parts.map((name) => fill(this.text[name], { done, all, shown, wrong })).join(" · ");
  }

  say() {
    this.verdict.replaceChildren();
    for (const act of OF_A_CELL) this.buttons[act].disabled = !this.at;
    if (!this.at) { this.verdict.textContent = this.text.start; return; }
    const { step, i, j } = this.fields[this.at], { state, slip } = this.judge(this.at);
    named(make("b", "", this.verdict), `${this.where(step, i, j)}. `);
    named(this.verdict, this.text[slip ? `slip_${slip}` : `state_${state || "empty"}`]);
    if (this.hinted) make("div", "hinted", this.verdict, this.hintFor(step, i, j));
  }

  /** The sum that leads to the cell, with its numbers. */
  hintFor(step, i, j) {
    const { given, solution: s } = this, seen = [...Array(i + 1).keys()], root = Math.sqrt(s.Q[0].length);
    const product = rounded(s.products[i]?.[j]);
    const sums = {
      products: () => dot(s.Q[i], s.K[j]),
      scaled: () => `${product} / √${s.Q[0].length} = ${product} / ${rounded(root)}`,
      masked: () => this.text[j > i ? "hint_hidden" : "hint_visible"],
      weights: () => (j > i ? this.text.hint_leak : softmaxSum(s.masked[i], j, seen)),
      output: () => seen.map((k) => `${rounded(s.weights[i][k])}·${bracketed(s.V[k][j])}`).join(" + "),
    };
    return fill(this.text.hint_is, { sum: sums[step]?.() ?? dot(given.X[i], column(given[`W_${step}`], j)) });
  }

  mask() { this.type(this.at, "−∞"); }
  hint() { this.hinted = true; this.say(); }
  show() { this.put([this.at]); }
  fill() { this.put(Object.keys(this.fields).filter((key) => this.fields[key].step === this.fields[this.at].step)); }

  /** Writes the solution into cells that are not right; they count as shown, not as solved. */
  put(keys) {
    for (const key of keys) {
      const { step, i, j } = this.fields[key];
      if (this.judge(key).state !== "right") this.cells[key] = [rounded(this.solution[step][i][j]), 1];
    }
    this.redraw();
  }

  reset() {
    Object.assign(this, { cells: {}, hinted: false });
    this.redraw();
  }

  redraw() {
    this.changed = true;
    this.paint();
    this.say();
    this.settle();
  }

  /** Draws the present state of the sheet for the download. */
  paintPicture() {
    if (!this.fields) return;
    this.svg.replaceChildren();
    const [width, height, cell, line] = [280, 200, 52, 30];
    this.svg.setAttribute("viewBox", "0 0 1120 620");
    [...GIVEN, ...STEPS].forEach((name, k) => {
      const x = 10 + (k % 4) * width, y = 24 + Math.floor(k / 4) * height;
      const heading = draw("text", { x: x + 50, y, class: "sans strong", "font-size": 15 }, this.svg);
      const put = (text, left, top, anchor, size) =>
        draw("text", { x: left, y: top, "text-anchor": anchor, "font-size": size }, this.svg, text);
      this.text[`name_${name}`].split(/_(\w)/)
        .forEach((part, p) => draw("tspan", p % 2 ? { dy: 4, "font-size": 11 } : { dy: p ? -4 : 0 }, heading, part));
      this.matrices[name].forEach((row, i) => {
        if (!name.startsWith("W_")) put(this.tokens[i], x + 44, y + 30 + i * line, "end", 12);
        row.forEach((value, j) => {
          draw("rect", { x: x + 50 + j * cell, y: y + 11 + i * line, width: cell - 3, height: line - 3, fill: "none",
            stroke: "var(--tx-grid-ink)", "stroke-width": 1 }, this.svg);
          const shown = this.given[name] ? rounded(value) : this.cells[`${name}.${i}.${j}`]?.[0] ?? "";
          put(shown, x + 48 + (j + 0.5) * cell, y + 30 + i * line, "middle", 13);
        });
      });
    });
  }
}

export default mounted(Worksheet);
