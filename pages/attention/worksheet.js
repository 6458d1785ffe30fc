// header: identity; tokens [4]; given {X, W_Q, W_K, W_V}; solution and mistakes {step: matrix}, {step: {slip: matrix}},
// where a matrix is rows of numbers, "-inf" or null; cells {"step.row.column": [typed, 1 where it was shown]}; text.
// What a reader types is compared with the solution here, and kept in Python's session.
import { plain, written } from "../../core/components/lib/numbers.js";
import { draw, fill, make, mount, onWidth } from "../../core/components/lib/token_view.js";

const GIVEN = ["X", "W_Q", "W_K", "W_V"];
const STEPS = ["Q", "K", "V", "products", "scaled", "masked", "weights", "output"];
const MEANING = { X: "residual", W_Q: "query", W_K: "key", W_V: "value", Q: "query", K: "key", V: "value",
  weights: "attention", output: "attention" };
const BY_KEY = ["products", "scaled", "masked", "weights"];      // their columns are keys
const FEWEST_DECIMALS = 2, REST = 500;

const number = (written) => (written === "-inf" ? -Infinity : written === null ? NaN : written);
const numbers = (matrix) => matrix.map((row) => row.map(number));

/** What was typed: {value, decimals}, or null where it is no number. A comma is a point, a/b a fraction, -inf
    and −∞ the mask. */
function parse(typed) {
  const plain = typed.trim().replace(/[−–]/g, "-").replace(",", ".").replace(/\s+/g, "");
  if (/^-(inf|infinity|∞|oo)$/i.test(plain)) return { value: -Infinity, decimals: Infinity };
  const fraction = /^(-?\d{1,6})\/(\d{1,6})$/.exec(plain);
  if (fraction && Number(fraction[2])) return { value: Number(fraction[1]) / Number(fraction[2]), decimals: Infinity };
  if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(plain)) return null;
  return { value: Number(plain), decimals: (plain.split(".")[1] ?? "").length };
}

/** Whether a typed number is `value`, rounded to as many decimals as were typed. */
function matches({ value: typed, decimals }, value) {
  if (!Number.isFinite(value) || !Number.isFinite(typed)) return typed === value;
  const step = Number.isFinite(decimals) ? 0.5 * 10 ** -decimals : 0;
  return Math.abs(typed - value) <= step * (1 + 1e-9) + 1e-9;
}

/** As the sheet asks for it: a whole number, or rounded to four decimals. */
const rounded = (value) =>
  (Number.isFinite(value) ? written(Number.isInteger(value) ? value : value.toFixed(4)) : plain(value));
const bracketed = (value) => (value < 0 ? `(${rounded(value)})` : rounded(value));

/** The softmax of one score among those that are seen, as a sum to work out. */
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

class Worksheet {
  constructor(root) {
    this.root = root;
    this.bar = make("div", "bar", root);
    this.title = make("div", "title", this.bar);
    this.title.setAttribute("role", "status");
    this.verdict = make("div", "verdict", this.bar);
    this.verdict.setAttribute("aria-live", "polite");
    const acts = make("div", "acts", this.bar);
    this.buttons = {};
    for (const act of ["mask", "hint", "show", "fill", "reset"]) {
      this.buttons[act] = make("button", act, acts);
      this.buttons[act].type = "button";
      this.buttons[act].onpointerdown = (event) => event.preventDefault();     // the cell keeps the focus
      this.buttons[act].onclick = () => this[act]();
    }
    this.sheet = make("div", "sheet", root);
    const keeper = make("div", "keeper", root);
    keeper.setAttribute("aria-hidden", "true");
    this.svg = draw("svg", { class: "worksheet-picture" }, keeper);
    root.onfocusout = () => this.settle();
    onWidth(root, () => this.paintPicture());
  }

  receive(header) {
    const same = this.identity === header.identity;
    if (!same) this.settle();
    this.root.classList.toggle("present", header.scale > 1);
    this.text = header.text;
    for (const act of Object.keys(this.buttons)) {
      this.buttons[act].textContent = this.text[act];
      this.buttons[act].title = this.text[`${act}_help`] ?? "";
    }
    if (same) return;
    Object.assign(this, { identity: header.identity, tokens: header.tokens, at: null });
    this.given = Object.fromEntries(GIVEN.map((name) => [name, numbers(header.given[name])]));
    this.solution = Object.fromEntries(STEPS.map((step) => [step, numbers(header.solution[step])]));
    this.mistakes = Object.fromEntries(STEPS.map((step) =>
      [step, Object.entries(header.mistakes[step]).map(([slip, matrix]) => [slip, numbers(matrix)])]));
    this.cells = { ...header.cells };
    this.build();
    this.paint();
    this.say();
  }

  build() {
    this.sheet.replaceChildren();
    this.fields = {};
    this.counts = {};
    for (const name of [...GIVEN, ...STEPS]) this.matrix(name);
  }

  matrix(name) {
    const rows = this.given[name] ?? this.solution[name], asked = STEPS.includes(name);
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
    input.setAttribute("aria-label", this.where(step, i, j).replaceAll("_", ""));
    input.dataset.key = key;
    this.fields[key] = { input, place, step, i, j };
    input.oninput = () => this.type(key, input.value);
    input.onfocus = () => { this.at = key; this.hinted = false; this.say(); };
    input.onkeydown = (event) => this.press(event, key);
  }

  where(step, i, j) {
    const column = BY_KEY.includes(step) ? this.tokens[j] : j + 1;
    return fill(this.text[BY_KEY.includes(step) ? "where_pair" : "where_entry"],
      { name: this.text[`name_${step}`], row: this.tokens[i], column });
  }

  /** Enter goes on to the next cell, the arrows to the neighbours; left and right only from the text's end. */
  press(event, key) {
    const { input, step, i, j } = this.fields[key], keys = Object.keys(this.fields);
    let to = null;
    if (event.key === "Enter") to = keys[keys.indexOf(key) + (event.shiftKey ? -1 : 1)];
    else if (event.key === "ArrowUp") to = `${step}.${i - 1}.${j}`;
    else if (event.key === "ArrowDown") to = `${step}.${i + 1}.${j}`;
    else if (event.key === "ArrowLeft" && input.selectionEnd === 0) to = `${step}.${i}.${j - 1}`;
    else if (event.key === "ArrowRight" && input.selectionStart === input.value.length) to = `${step}.${i}.${j + 1}`;
    else return;
    event.stopPropagation();
    if (event.key === "Enter" || event.key.startsWith("ArrowU") || event.key.startsWith("ArrowD") || this.fields[to])
      event.preventDefault();
    if (this.fields[to]) this.go(to);
  }

  go(key) {
    this.fields[key].input.focus();
    this.fields[key].input.select();
  }

  type(key, typed, shown = 0) {
    if (typed.trim()) this.cells[key] = [typed.trim().slice(0, 12), shown];
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
    const given = parse(typed), value = this.solution[step][i][j];
    if (!given) return { state: "wrong", slip: "unreadable" };
    if (matches(given, value))
      return Number.isFinite(value) && given.decimals < FEWEST_DECIMALS && Math.abs(given.value - value) > 1e-9
        ? { state: "coarse", slip: "coarse" } : { state: "right" };
    return { state: "wrong", slip: this.slip(step, i, j, given) };
  }

  slip(step, i, j, given) {
    const masked = j > i;
    if (step === "masked" && masked) return given.value === 0 ? "zero" : "forbidden";
    if (step === "weights" && masked) return "leak";
    if (given.value === -Infinity)
      return BY_KEY.includes(step) && step !== "weights" ? (masked ? "later" : "allowed") : "infinite";
    const found = this.mistakes[step].find(([, matrix]) => !Number.isNaN(matrix[i][j]) && matches(given, matrix[i][j])
      && Math.abs(matrix[i][j] - this.solution[step][i][j]) > 1e-9);
    if (found) return found[0];
    const reach = step === "output"
      ? 0.01 * this.solution.V.slice(0, i + 1).reduce((sum, row) => sum + Math.abs(row[j]), 0)
      : step === "weights" ? 0.015 : step === "scaled" || step === "masked" ? 0.02 : 0;
    return Math.abs(given.value - this.solution[step][i][j]) <= reach ? "rounding" : "unknown";
  }

  paint(only) {
    for (const key of only ? [only] : Object.keys(this.fields)) {
      const { input, place } = this.fields[key], { state } = this.judge(key), typed = this.cells[key]?.[0] ?? "";
      if (input.value.trim() !== typed) input.value = typed;
      place.className = state;
      input.setAttribute("aria-invalid", String(state === "wrong"));
    }
    this.count();
    if (!only) this.paintPicture();
  }

  count() {
    const all = Object.keys(this.fields), of = (step) => all.filter((key) => this.fields[key].step === step);
    const states = Object.fromEntries(all.map((key) => [key, this.judge(key).state]));
    const right = (keys, state) => keys.filter((key) => states[key] === state).length;
    for (const step of STEPS) {
      const keys = of(step), done = right(keys, "right");
      this.counts[step].textContent = `${done}/${keys.length}`;
      this.counts[step].closest(".matrix").classList.toggle("whole", done === keys.length);
    }
    const done = right(all, "right"), shown = right(all, "shown"), wrong = right(all, "wrong") + right(all, "coarse");
    const parts = [["progress", true], ["progress_shown", shown], ["progress_wrong", wrong]].filter(([, said]) => said);
    this.title.textContent = done + shown === all.length ? fill(this.text.finished, { done, all: all.length, shown })
      : parts.map(([name]) => fill(this.text[name], { done, all: all.length, shown, wrong })).join(" · ");
  }

  say() {
    this.verdict.replaceChildren();
    const none = !this.at;
    for (const act of ["mask", "hint", "show", "fill"]) this.buttons[act].disabled = none;
    if (none) { this.verdict.textContent = this.text.start; return; }
    const { step, i, j } = this.fields[this.at], { state, slip } = this.judge(this.at);
    named(make("b", "", this.verdict), `${this.where(step, i, j)}. `);
    named(this.verdict, this.text[slip ? `slip_${slip}` : `state_${state || "empty"}`]);
    if (this.hinted) make("div", "hinted", this.verdict, this.hintFor(step, i, j));
  }

  /** The sum that leads to the cell, with its numbers. */
  hintFor(step, i, j) {
    const { given, solution: s } = this, seen = [...Array(i + 1).keys()], root = Math.sqrt(s.Q[0].length);
    const sums = {
      Q: () => dot(given.X[i], column(given.W_Q, j)), K: () => dot(given.X[i], column(given.W_K, j)),
      V: () => dot(given.X[i], column(given.W_V, j)), products: () => dot(s.Q[i], s.K[j]), scaled: () =>
        `${rounded(s.products[i][j])} / √${s.Q[0].length} = ${rounded(s.products[i][j])} / ${rounded(root)}`,
      masked: () => this.text[j > i ? "hint_hidden" : "hint_visible"],
      weights: () => (j > i ? this.text.hint_leak : softmaxSum(s.masked[i], j, seen)),
      output: () => seen.map((k) => `${rounded(s.weights[i][k])}·${bracketed(s.V[k][j])}`).join(" + "),
    };
    return fill(this.text.hint_is, { sum: sums[step]() });
  }

  mask() { if (this.at) { this.fields[this.at].input.value = "−∞"; this.type(this.at, "−∞"); } }
  hint() { if (this.at) { this.hinted = true; this.say(); } }
  show() { if (this.at) this.put([this.at]); }
  fill() {
    if (this.at)
      this.put(Object.keys(this.fields).filter((key) => this.fields[key].step === this.fields[this.at].step));
  }

  /** Writes the solution into cells that are not right, as shown and not as found. */
  put(keys) {
    for (const key of keys) {
      const { input, step, i, j } = this.fields[key];
      if (this.judge(key).state === "right") continue;
      input.value = rounded(this.solution[step][i][j]);
      this.cells[key] = [input.value, 1];
    }
    this.changed = true;
    this.paint();
    this.say();
    this.settle();
  }

  reset() {
    this.cells = {};
    this.changed = true;
    this.hinted = false;
    this.paint();
    this.say();
    this.settle();
  }

  /** The sheet as it stands, drawn for the download. */
  paintPicture() {
    if (!this.fields) return;
    this.svg.replaceChildren();
    const [width, height, cell, line] = [280, 200, 52, 30];
    this.svg.setAttribute("viewBox", "0 0 1120 620");
    [...GIVEN, ...STEPS].forEach((name, k) => {
      const x = 10 + (k % 4) * width, y = 24 + Math.floor(k / 4) * height;
      const rows = this.given[name] ?? this.solution[name];
      const heading = draw("text", { x: x + 50, y, class: "sans strong", "font-size": 15 }, this.svg);
      this.text[`name_${name}`].split(/_(\w)/)
        .forEach((part, p) => draw("tspan", p % 2 ? { dy: 4, "font-size": 11 } : { dy: p ? -4 : 0 }, heading, part));
      rows.forEach((row, i) => {
        if (!name.startsWith("W_"))
          draw("text", { x: x + 44, y: y + 30 + i * line, "text-anchor": "end", "font-size": 12 }, this.svg,
            this.tokens[i]);
        row.forEach((value, j) => {
          draw("rect", { x: x + 50 + j * cell, y: y + 11 + i * line, width: cell - 3, height: line - 3, fill: "none",
            stroke: "var(--tx-grid-ink)", "stroke-width": 1 }, this.svg);
          const typed = this.given[name] ? rounded(value) : this.cells[`${name}.${i}.${j}`]?.[0] ?? "";
          draw("text", { x: x + 48 + (j + 0.5) * cell, y: y + 30 + i * line, "text-anchor": "middle", "font-size": 13 },
            this.svg, typed);
        });
      });
    });
  }
}

export default function (component) {
  mount(component, Worksheet);
}
