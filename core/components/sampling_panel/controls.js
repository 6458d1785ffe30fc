// The controls, in the order in which the rules work: each step with its setting and the number of tokens it leaves.
import { NEUTRAL, STEPS } from "./truncation.js";
import { button, make, setRange, setText } from "../lib/dom.js";
import { grouped, probability } from "../lib/numbers.js";

const MOST_SEED = 2 ** 32 - 1;

// The methods of the lesson: each sets all cutting rules; temperature is left unchanged.
export const METHODS = Object.assign({}, ...STEPS.map(({ methods }) => methods));
export const USUAL = NEUTRAL.temperature;
export const ALL_OFF = Object.fromEntries(Object.entries(NEUTRAL).filter(([name]) => name !== "temperature"));

function nearest(values, value) {
  if (value === null) return values.length - 1;
  const distance = (entry) => (entry === null ? Infinity : Math.abs(entry - value));
  return values.reduce((best, entry, i) => (distance(entry) < distance(values[best]) ? i : best), 0);
}

export class Controls {
  /** change(settings) while the hand moves, commit() when it lets go; append(token) continues the text. */
  constructor(parent, labels, change, commit, append) {
    this.labels = labels;
    this.change = change;
    this.commit = commit;
    this.append = append;
    const list = make("ol", "steps", parent);
    const head = make("li", "heads", list);
    make("span", "", head, labels.order);
    make("span", "", head, labels.left);
    this.rows = STEPS.map((step) => this._step(list, step));
    const last = make("li", "step result", list);
    make("span", "name", last, labels.renormalise);
    this.divisor = make("output", "value", last);
    this._draw(make("li", "step draw", list));
    this._thousand(make("li", "step thousand", list));
  }

  /** Draw a setting's name with its symbol, its value, and its range. */
  _slider(item, id, name, symbol, input) {
    const label = make("label", "name", item, name), value = make("output", "value", item);
    const range = make("input", "range", item);
    make("i", "symbol", label, symbol);
    label.htmlFor = range.id = id;
    Object.assign(range, { type: "range", min: 0, step: 1, onchange: this.commit,
      oninput: () => this.change(input(Number(range.value))) });
    return { value, range };
  }

  _step(list, step) {
    const item = make("li", "step", list);
    const slider = this._slider(item, `step-${step.name}`, this.labels[step.name], step.symbol,
      (place) => ({ [step.name]: step.values(this.size)[place] }));
    return { ...step, item, ...slider, left: make("span", "left", item) };
  }

  _draw(item) {
    const { labels } = this;
    this.xi = this._slider(item, "step-xi", labels.draw, "ξ", (xi) => ({ xi }));
    Object.assign(this.xi.range, { step: 0.0001, max: 0.9999 });
    button(item, labels.throw, "", () => this._set({ xi: Math.floor(Math.random() * 1e4) / 1e4 }), "throw");
    this.drawn = button(item, "", "", () => this.append(this.drawnToken), "drawn");
    this.drawn.title = labels.append;
  }

  _thousand(item) {
    const { labels } = this;
    this.thousand = button(item, labels.thousand, "", () => this._set({ thousand: !this.settings.thousand }), "toggle");
    this.seed = this._seed(item);
    const reseed = () => this._set({ seed: this.settings.seed + 1, thousand: true });
    button(item, labels.again, "", reseed, "again");
    this.tail = make("p", "tail", item);
  }

  /** Draw the field for a seed, as in other lessons; an invalid number is put back. */
  _seed(item) {
    const label = make("label", "seed", item, this.labels.seed), field = make("input", "", label);
    Object.assign(field, { type: "number", min: 0, max: MOST_SEED, step: 1, required: true });
    field.onchange = () => {
      if (field.checkValidity()) this._set({ seed: Number(field.value), thousand: true });
      else field.value = this.settings.seed;
    };
    return field;
  }

  _set(values) {
    this.change(values);
    this.commit();
  }

  setVocabulary(size) {
    this.size = size;
    for (const row of this.rows) row.range.max = row.values(size).length - 1;
  }

  show({ settings, truncation, place, words, tailText }) {
    this.settings = settings;
    for (const row of this.rows) {
      const value = settings[row.name], text = this._valueText(row, value), left = truncation.left[row.name];
      setRange(row.range, nearest(row.values(this.size), value));
      row.range.ariaValueText = text;
      setText(row.value, text);
      setText(row.left, words.count(left));
      row.left.style.setProperty("--share", Math.log(left + 1) / Math.log(this.size + 1));
      row.item.classList.toggle("off", value === row.neutral);
    }
    setText(this.divisor, `÷ ${probability(truncation.keptMass)}`);
    setRange(this.xi.range, settings.xi);
    setText(this.xi.value, settings.xi.toFixed(4));
    this.drawnToken = truncation.tokenIds[place];
    setText(this.drawn, words.token(this.drawnToken, 16));
    this.thousand.ariaPressed = settings.thousand;
    if (this.seed.matches(":not(:focus)")) this.seed.value = settings.seed;      // not while a reader types
    setText(this.tail, tailText);
  }

  _valueText(row, value) {
    if (row.name === "temperature") return value === 0 ? this.labels.argmax : String(value);
    return value === row.neutral ? this.labels.off : row.name === "top_k" ? grouped(value) : String(value);
  }
}

/** The name of the method that the settings amount to, or undefined. */
export function methodOf(settings) {
  const active = (values) => Object.keys(ALL_OFF).filter((name) => values[name] !== ALL_OFF[name]).sort().join();
  if (settings.top_k === 1 || settings.temperature === 0) return "greedy";
  return Object.keys(METHODS)
    .find((name) => name !== "greedy" && active({ ...ALL_OFF, ...METHODS[name] }) === active(settings));
}
