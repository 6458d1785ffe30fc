import {
  button, draw, drawLine, drawText, fill, hatching, keyPlace, make, rich, sized,
} from "../../core/components/lib/dom.js";
import { grouped, percent, plain, probability } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { emOf, monoFont, shortened } from "../../core/components/lib/text.js";
import { drawWritten } from "../../core/components/lib/tokens.js";
import { mounted, redrawn, TitledView } from "../../core/components/lib/view.js";

const PAUSE = 350, ROW = 1.62, FEW = 5;      // bars in present mode, whose type is larger

/** cut: whether the prompt's start is left out; a candidate's y: its p, and rule: the number of the rule that cut it, 0
 * for none; size: |V|; settings.written −1 is all, settings.picked −1 the last.
 * @typedef {[id: number, text: string, place: number, y: number, renormalised: number, rule: number, start: number,
 *   end: number]} Candidate
 * @typedef {{ token: string, p: number, surprisal: number, xi: number, hand: boolean, place: number, kept: number,
 *   mass: number, candidates: Candidate[] }} Step
 * @typedef {{ identity: string, prompt: string[], cut: boolean, steps: Step[], active: number, rules: string[],
 *   texts: { from: number, tokens: string[], p: number[], log_prob: number }[], size: number, seed: number,
 *   ends: boolean, full: boolean, settings: { written: number, picked: number },
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Writing extends TitledView {
  constructor(root) {
    super(root);
    const columns = make("div", "columns written-picture", root), left = make("div", "left", columns);
    this.place = keyPlace(left, "scroll text", (event) => this.key(event));
    this.svg = draw("svg", { class: "written-text", role: "img" }, this.place);
    this.player = new Player(left, this.title,
      { show: () => this.paint(), rest: () => this.settle(), turn: () => { this.picked = -1; } });
    // the time makes a second press count too
    this.take = button(this.player.bar, "", "", () => { if (this.n) this.settle({ take: true, when: Date.now() }); },
      "take");
    this.hint = make("div", "muted hint", left);
    this.branches = make("div", "branches", left);
    const right = make("div", "right", columns);
    this.head = make("div", "head", right);
    this.chart = make("div", "chart", right);
    this.bars = draw("svg", { class: "written-bars", role: "img" }, this.chart);
    redrawn(() => this.paint(), this.place, this.chart);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.last = this.steps.length;
    this.player.receive(this.text, this.last, PAUSE);
    this.take.textContent = this.text.take;
    const { written, picked } = header.settings, moved = this.echoes.moves(`${written} ${picked}`);
    if (this.player.begin(written, header.identity, moved)) this.picked = picked;
    this.list();
    this.paint();
  }

  /** Tokens written so far. */
  get n() {
    return this.player.at;
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) this.pick(Math.min(this.n - 1, Math.max(0, this.at + step)));
    else if (event.key === " ") this.player.toggle();
    else return;
    event.preventDefault();
  }

  /** The step that is shown; −1 while nothing is written. */
  get at() {
    return this.picked < 0 ? this.n - 1 : Math.min(this.picked, this.n - 1);
  }

  /** The step whose distribution is shown: the first one while nothing is written, without what is drawn from it. */
  get step() {
    return this.steps[Math.max(0, this.at)];
  }

  pick(step) {
    this.picked = step === this.n - 1 ? -1 : step;
    this.paint();
    if (!this.player.playing) this.settle();
  }

  get told() {
    return `${this.player.told} ${this.picked}`;
  }

  settle(more = {}) {
    this.echoes.tell(this.told);
    this.send({ written: this.player.told, picked: this.picked, branch: this.active, choose: null, take: false,
      ...more });
  }

  paint() {
    if (!this.steps) return;
    this.player.value(fill(this.text.value, { n: this.n, all: this.last }));
    this.take.ariaDisabled = String(!this.n);       // a disabled button would lose the focus
    this.write();
    this.say();
    this.distribution();
  }

  write() {
    const width = this.place.clientWidth, em = 1.08 * emOf(this.root);
    if (!width) return;
    this.svg.replaceChildren();
    /** @type {{text: string, marks: string, p?: number, title?: string}[]} */
    const items = [...(this.cut ? ["…"] : []), ...this.prompt].map((text) => ({ text, marks: "plain" }));
    const before = items.length;
    this.steps.slice(0, this.n).forEach((step, i) => items.push({
      text: step.token, p: step.p, marks: [i === this.at && "picked", step.hand && "hand"].filter(Boolean).join(" "),
      title: fill(step.hand ? this.text.hover_hand : this.text.hover, { token: step.token, step: i + 1,
        p: percent(step.p), surprisal: plain(step.surprisal), place: step.place + 1 }) }));
    const { height, groups } = drawWritten(this.svg, items, 2, 2, width - 4, em);
    groups.slice(before).forEach((group, i) => { group.style.cursor = "pointer"; group.onclick = () => this.pick(i); });
    sized(this.svg, width, Math.max(height, em) + 4, items.map((item) => item.text).join(""));
  }

  say() {
    const { step } = this;
    this.hint.textContent = `${this.text.note} ${this.full ? this.text.full : this.text.hint}`.trim();
    this.head.textContent = "";
    if (!this.n) this.title.textContent = this.last ? this.text.begin : this.text.nothing;
    if (!step) return;
    const values = { token: { chip: step.token }, n: this.at + 1, all: this.last, p: percent(step.p),
      place: step.place + 1, xi: step.xi.toFixed(4), kept: grouped(step.kept), mass: probability(step.mass),
      size: grouped(this.size) };
    if (!this.n) { this.head.textContent = fill(this.text.waits, values); return; }
    rich(this.title, step.hand ? this.text.title_hand : this.text.title, values);
    if (this.ends && this.at === this.last - 1) this.title.append(` ${this.text.ended}`);
    rich(this.head, this.text.head, values);
  }

  /** The candidates of the step as bars, above them the line from 0 to 1 with ξ, which decides. */
  distribution() {
    const width = this.chart.clientWidth, em = emOf(this.root), { step, bars: svg } = this, waits = !this.n;
    if (!width) return;
    // redrawing must not take the focus away
    const focused = svg.getRootNode().activeElement?.closest?.(".written-bars .row")?.dataset.id;
    svg.replaceChildren();
    if (!step) { sized(svg, width, em, ""); return; }
    const isDrawn = (entry) => !waits && entry[2] === step.place, few = this.scale === 1 ? this.size : FEW;
    // a token that was drawn from further down comes last
    const shown = step.candidates.filter((entry, k) => isDrawn(entry) || k < few && !(waits && entry[2] > k));
    hatching(svg, "cut", { size: 5, thick: 2 });
    const name = 7.2 * em, left = name + 1.5 * em, right = 8.4 * em, most = Math.max(...shown.map((entry) => entry[3]));
    const room = Math.max(10, width - left - right);
    let y = this.line(step, width, em);
    for (const entry of shown) {
      this.candidate(entry, isDrawn(entry), { y, em, name, left, length: (entry[3] / most) * room });
      y += ROW * em;
    }
    const others = this.size - shown.length, rest = Math.max(0, 1 - shown.reduce((sum, entry) => sum + entry[3], 0));
    drawText(svg, 0, y + 1.1 * em, fill(this.text.others, { n: grouped(Math.max(0, others)), mass: percent(rest) }),
      { size: 0.92 * em });
    sized(svg, width, y + 1.6 * em,
      waits ? this.head.textContent : fill(this.text.bars, { token: step.token, p: percent(step.p) }));
    // a token that has been taken cannot be chosen any more: the focus goes to the text
    if (focused) (svg.querySelector(`.choosable[data-id="${focused}"]`) ?? this.place).focus({ preventScroll: true });
  }

  /** One candidate's row: its token, its bar, and its probability before and after truncation. */
  candidate([id, text, place, prob, renormalised, rule, start, end], taken, { y, em, name, left, length }) {
    const row = draw("g", { class: taken ? "row taken" : "row" }, this.bars);
    draw("rect", { class: "hit", x: 0, y, width: this.chart.clientWidth, height: ROW * em, fill: "transparent" }, row);
    drawText(row, name, y + 1.12 * em, shortened(text, monoFont(em), name - 0.3 * em),
      { anchor: "end", size: em, name: "" });
    draw("rect", { class: rule ? "cut" : "kept", x: left, y: y + 0.28 * em, width: Math.max(1, length),
      height: 1.06 * em, fill: rule ? "url(#cut)" : "var(--tx-kept)" }, row);
    if (taken)
      draw("circle", { class: "die", cx: name + 0.75 * em, cy: y + 0.82 * em, r: 0.42 * em, fill: "var(--tx-drawn)",
        stroke: "var(--tx-text)", "stroke-width": 1.5 }, row);
    const after = rule ? this.rules[rule] : percent(renormalised);
    const changed = rule || Math.abs(renormalised - prob) >= 5e-7, arrow = rule ? "" : "→ ";
    drawText(row, left + Math.max(1, length) + 0.4 * em, y + 1.12 * em,
      `${percent(prob)} ${changed ? arrow + after : ""}`, { size: 0.92 * em });
    draw("title", {}, row, fill(this.text.candidate, { token: text, place: place + 1, y: percent(prob), after,
      from: start.toFixed(4), to: end.toFixed(4) }));
    if (!taken && !this.full && this.n) this.choosable(row, id, text);
  }

  choosable(row, id, text) {
    row.classList.add("choosable");
    row.dataset.id = id;
    row.role = "button";
    row.setAttribute("tabindex", "0");
    row.ariaLabel = fill(this.text.choose, { token: text, step: this.at + 1 });
    const choose = () => { this.player.stop(); this.settle({ choose: [this.at, id] }); };
    row.onclick = choose;
    row.onkeydown = (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
    };
  }

  line(step, width, em) {
    const svg = this.bars, x = (value) => 0.6 * em + value * (width - 1.2 * em), top = 1.5 * em;
    draw("rect", { x: x(0), y: top, width: x(1) - x(0), height: 0.95 * em, fill: "var(--tx-panel)",
      stroke: "var(--tx-grid-ink)" }, svg);
    for (const [, text, place, , , rule, start, end] of step.candidates) {
      if (rule) continue;
      const part = draw("rect", { x: x(start), y: top, width: Math.max(0.5, x(end) - x(start)), height: 0.95 * em,
        fill: this.n && place === step.place ? "var(--tx-drawn)" : "var(--tx-kept)", stroke: "var(--tx-page)",
        "stroke-width": 1 }, svg);
      draw("title", {}, part, `${text} [${start.toFixed(4)}, ${end.toFixed(4)})`);
    }
    if (!this.n) return top + 1.35 * em;
    const tip = x(step.xi);
    draw("path", { d: `M${tip} ${top - 1} l${-0.4 * em} ${-0.6 * em} h${0.8 * em} z`, fill: "var(--tx-drawn)",
      stroke: "var(--tx-text)", "stroke-width": 1.3 }, svg);
    drawLine(svg, tip, top - 1, tip, top + 1.05 * em, { stroke: "var(--tx-text)", "stroke-width": 1.5 });
    const side = step.xi < 0.55;
    drawText(svg, tip + (side ? 0.7 : -0.7) * em, 0.95 * em, `ξ = ${step.xi.toFixed(4)}`,
      { anchor: side ? "start" : "end", size: 0.95 * em, name: "sans strong" });
    return top + 1.35 * em;
  }

  /** The kept texts, each from the step at which it branches off another. */
  list() {
    this.branches.replaceChildren();
    if (this.texts.length < 2) return;
    this.texts.forEach((text, number) => {
      const row = button(this.branches, "", "", () => {
        this.player.stop();
        this.active = number;
        this.settle({ branch: number, written: -1, picked: number ? text.from : -1 });
      }, number === this.active ? "branch active" : "branch");
      row.ariaPressed = String(number === this.active);
      const name = make("span", "name", row);
      rich(name, number ? this.text.branch : this.text.trunk,
        { token: { chip: text.tokens[text.from] ?? "" }, step: text.from + 1, seed: this.seed });
      const cells = make("span", "cells", row);
      text.p.forEach((p, i) => {
        const cell = make("span", i < text.from ? "cell shared" : number && i === text.from ? "cell fork" : "cell",
          cells);
        if (i >= text.from) cell.style.background = `var(--tx-seq-${Math.round(8 * p)})`;
      });
      make("span", "muted", row, `ln P = ${plain(text.log_prob, 2)}`);
    });
  }
}

export default mounted(Writing);
