// The first form of the panel: temperature, a bar for each of the ten most probable tokens, and a bar for all others.
import { button, draw, fill, make, setRange, setText, sized } from "../lib/dom.js";
import { grouped, percent } from "../lib/numbers.js";
import { ALL_OFF, USUAL } from "./controls.js";
import { firstAbove, TEMPERATURES, TOLERANCE } from "./truncation.js";

const BARS = 10, ROW = 30, NAME = 120, SHARES = 64;      // px: row height, width of a token's name, of its share
const SHARE = 0.9;

/** Whether these settings need no more than temperature and bars. */
export function isBrief(settings) {
  return !settings.all_cuts && !settings.thousand && !settings.logarithmic && !settings.pinned
    && Object.keys(ALL_OFF).every((name) => settings[name] === ALL_OFF[name]);
}

/** The settings that lead back to this form. */
export const BRIEF = { ...ALL_OFF, all_cuts: false, thousand: false, logarithmic: false, pinned: null };

/** The number of the most probable tokens that hold nine tenths of the probability. */
export function holding({ cumulative, size }) {
  return 1 + firstAbove(cumulative, SHARE - 2 * TOLERANCE, size);
}

export class Brief {
  /** change(settings) while the hand moves, commit() when it lets go; append(token) continues the text. */
  constructor(parent, labels, change, commit, append) {
    this.labels = labels;
    this.append = append;
    const row = make("label", "brief-temperature", parent);
    make("span", "name", row, labels.temperature);
    this.range = make("input", "range", row);
    Object.assign(this.range, { type: "range", min: 0, max: TEMPERATURES.length - 1, step: 1, onchange: commit,
      oninput: () => change({ temperature: TEMPERATURES[Number(this.range.value)] }) });
    this.value = make("output", "value", row);
    this.usual = button(row, labels.usual, "", () => { change({ temperature: USUAL }); commit(); }, "usual");
    this.figure = make("div", "brief-figure", parent);
    this.svg = draw("svg", { role: "group" }, this.figure);
    make("p", "brief-hint", parent, labels.brief_hint);
  }

  show({ settings, truncation, words }, unit, sentence) {
    const { temperature } = settings, at = TEMPERATURES.reduce((best, value, i) =>
      (Math.abs(value - temperature) < Math.abs(TEMPERATURES[best] - temperature) ? i : best), 0);
    setRange(this.range, at);
    setText(this.value, temperature === 0 ? this.labels.argmax : String(temperature));
    this.range.ariaValueText = this.value.textContent;
    this.range.ariaLabel = this.labels.temperature;
    this.usual.disabled = temperature === USUAL;
    this._bars(truncation, words, unit, sentence);
  }

  _bars(truncation, words, unit, sentence) {
    const { probs, cumulative, tokenIds, size } = truncation, n = Math.min(BARS, size);
    const width = Math.max(260, this.figure.clientWidth), height = (n + Number(size > n)) * ROW * unit;
    sized(this.svg, width, height, sentence);
    this.svg.replaceChildren();
    const place = { from: NAME * unit, to: width - SHARES * unit };
    for (let i = 0; i < n; i += 1)
      this._row(i, words.token(tokenIds[i], 12), probs[i], unit, place, tokenIds[i]);
    if (size > n)
      this._row(n, fill(this.labels.others, { count: grouped(size - n) }), Math.max(0, 1 - cumulative[n - 1]), unit,
        place);
  }

  /** Draw a bar on the scale from 0 to 1; a press on a token's row continues the text. */
  _row(i, name, p, unit, { from, to }, token) {
    const row = draw("g", { class: token === undefined ? "brief-row others" : "brief-row" }, this.svg);
    const top = i * ROW * unit, middle = top + (ROW * unit) / 2;
    draw("rect", { class: "hit", x: 0, y: top, width: to + SHARES * unit, height: ROW * unit }, row);
    const text = (said, x, anchor) => {
      draw("text", { x, y: middle, "text-anchor": anchor, "dominant-baseline": "central" }, row).textContent = said;
    };
    text(name, from - 8 * unit, "end");
    const bar = Math.max(1, p * (to - from));
    draw("rect", { class: "mass", x: from, y: top + 4 * unit, width: bar, height: (ROW - 8) * unit }, row);
    text(percent(p), from + bar + 6 * unit, "start");
    if (token === undefined) return;
    const append = () => this.append(token);
    row.setAttribute("role", "button");
    row.setAttribute("tabindex", "0");
    row.setAttribute("aria-label", fill(this.labels.append_named, { token: name, percent: percent(p) }));
    row.onclick = append;
    row.onkeydown = ({ key }) => { if (key === "Enter" || key === " ") append(); };
  }
}
