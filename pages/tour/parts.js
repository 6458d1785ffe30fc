// The controls of the tour: fields, choices, sliders, rows of words, bars.
import { button, chip, make, setText } from "../../core/components/lib/dom.js";
import { isShortcut, isStep, stepped } from "../../core/components/lib/keys.js";
import { brief, percent } from "./said.js";

const MOST = 60;            // characters of a typed word
const VISIBLE = 0.004;      // between a bar and what it was before
const WIDE = 0.75;          // a bar whose name stands inside it

/** A word as a bar: p, what p was before, how sure the reader was.
 * @typedef {{ word: string, p: number, before?: number, sure?: number, id?: number }} Row */

/** A field with its name above it; `done` is called at Enter. */
export function field(parent, label, { value = "", done = () => {}, name = "" } = {}) {
  const box = make("label", `field ${name}`, parent);
  const title = make("span", "name", box, label), input = make("input", "", box);
  Object.assign(input, { type: "text", value, maxLength: MOST, autocomplete: "off", spellcheck: false, dir: "auto" });
  input.onkeydown = (event) => {
    if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); done(); }
  };
  return { box, title, input };
}

/** The one button that acts. */
export const actButton = (parent, text, act) => button(parent, text, "", act, "act");

/** A slider with its name and value in words. */
export class Slider {
  constructor(parent, label, { low, high, step = 1, value, words, input = null, commit = null }) {
    this.box = make("label", "slider", parent);
    make("span", "name", this.box, label);
    this.output = make("output", "", this.box);
    this.node = make("input", "", this.box);
    this.node.ariaLabel = label;            // the label's own control is the output, which comes first
    this.words = words;
    Object.assign(this.node, { type: "range", min: low, max: high, step, value });
    this.node.oninput = () => { this.say(); input?.(this.value); };
    this.node.onchange = () => commit?.(this.value);
    this.say();
  }

  get value() { return Number(this.node.value); }

  set(value) {
    this.node.value = value;
    this.say();
  }

  say() {
    const { min, max } = this.node, share = (this.value - Number(min)) / (Number(max) - Number(min) || 1);
    setText(this.output, this.words(this.value));
    this.node.ariaValueText = this.words(this.value);
    this.node.style.setProperty("--share", `${100 * share}%`);
  }
}

/** Buttons in a row, or in `columns`, that are one stop of the Tab key: the arrow keys walk among them. */
export function walked(box, label, columns = () => Infinity) {
  const nodes = () => /** @type {HTMLElement[]} */ ([...box.querySelectorAll("button")]);
  box.role = "group";
  box.ariaLabel = label;
  box.dataset.keys = "";
  const begin = (at) => nodes().forEach((node, i) => { node.tabIndex = i === at ? 0 : -1; });
  box.onkeydown = (event) => {
    const all = nodes(), at = all.indexOf(event.target);
    if (!isStep(event.key) || isShortcut(event) || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const across = Math.min(columns(), all.length), rows = Math.ceil(all.length / across);
    const flat = across === all.length;
    const key = flat ? { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }[event.key] ?? event.key : event.key;
    const [column, row] = stepped(key, [at % across, Math.floor(at / across)], across, rows);
    const to = all[Math.min(all.length - 1, row * across + column)];
    begin(all.indexOf(to));
    to.focus();
  };
  box.addEventListener("focusin", (event) => begin(nodes().indexOf(event.target)));
  return begin;
}

/**
 * Bars of probabilities. A row: {word, p, before: what it was, sure: what the reader gave it}. A row keeps its node
 * while its word stays, so that its bar grows and shrinks. pick(row): what a press on a row does, with its name in
 * `pickLabel(row)`.
 */
export class Bars {
  constructor(parent, text, { pick = null, pickLabel = null } = {}) {
    this.text = text;
    this.pick = pick;
    this.pickLabel = pickLabel;
    this.rows = new Map();
    this.box = make("div", "bars", parent);
  }

  show(rows) {
    const kept = new Map();
    if (this.box.classList.contains("blank")) this.box.replaceChildren();
    for (const row of rows) {
      const node = this.rows.get(row.word) ?? this.build();
      kept.set(row.word, node);
      node.line.role = "listitem";
      this.fill(node, row);
      this.box.append(node.line);
    }
    for (const [word, node] of this.rows) if (!kept.has(word)) node.line.remove();
    this.rows = kept;
    this.box.classList.remove("blank");
    this.box.role = rows.length ? "list" : "presentation";
  }

  /** The places of n bars that are still to come. */
  blank(n) {
    this.show([]);
    this.box.classList.add("blank");
    this.box.replaceChildren();
    for (let i = 0; i < n; i += 1) {
      const { line, name, fill } = this.build();
      setText(name, "?");
      fill.remove();
      line.ariaHidden = "true";
      this.box.append(line);
    }
  }

  build() {
    const line = make("div", "bar");
    const row = this.pick ? button(line, "", "", () => this.pick(row.row), "row") : make("div", "row", line);
    const name = chip(row, "", "word"), track = make("span", "track", row), value = make("span", "value", row);
    return { line, row, name, value, before: make("span", "before", track), fill: make("span", "fill", track),
      sure: make("span", "sure", track) };
  }

  fill(node, row) {
    node.row.row = row;
    setText(node.name, row.word);
    setText(node.value, brief(row.p));
    node.line.className = row.sure === undefined ? "bar" : "bar mine";
    node.sure.dataset.you = row.sure === undefined ? "" : `${this.text.you}: ${percent(row.sure)}`;
    node.sure.classList.toggle("wide", row.sure > WIDE);
    node.before.hidden = !(Math.abs(row.before - row.p) > VISIBLE);
    node.before.style.width = `${100 * (row.before ?? 0)}%`;
    node.sure.hidden = row.sure === undefined;
    node.sure.style.width = `${100 * (row.sure ?? 0)}%`;
    // the next frame, so that a new bar grows from nothing
    requestAnimationFrame(() => { node.fill.style.width = `${100 * row.p}%`; });
    if (this.pick) node.row.ariaLabel = this.pickLabel(row);
  }
}
