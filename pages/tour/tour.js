// The hand goes from step to step by itself; Python follows, and sends what the step shows.
import { button, make, setText } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { isShortcut } from "../../core/components/lib/keys.js";
import { keepFree, mounted, View } from "../../core/components/lib/view.js";
import { Near, Numbers, Pieces } from "./cut.js";
import { Dice, Learn, Whole } from "./ending.js";
import { Change, Finish, Write } from "./first.js";
import { Fold } from "./fold.js";
import { Heads, Layers, Look } from "./looking.js";
import { actsOf, keepActs, remember, remembered } from "./memory.js";
import { say, spoken } from "./said.js";

const VIEWS = { finish: Finish, write: Write, change: Change, pieces: Pieces, near: Near, numbers: Numbers, look: Look,
  heads: Heads, layers: Layers, dice: Dice, learn: Learn, map: Whole };
const KEYS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const LATE = 400;                       // ms after which a step that is not there says that it is computed
const SWIPE = 60;                       // px that a finger goes across, at least twice as far as up or down

/** text: the labels; steps: their names; at: the open step's number; named: whether anybody asked for it; of: the
 * prompt under the model; asks, tells, said, values: as pages/tour/shared.py has them, asks and tells by the step;
 * done: the reader's acts by step; leads: whether there are pages to go on to.
 * @typedef {{ text: Record<string, string>, steps: string[], at: number, named: boolean, scale: number, of: string,
 *   title: string, done: Record<string, object>, asks: { variant?: string } | null, tells: object | null,
 *   said: [string, object][], values: Record<string, any>, sentences: string[], leads: boolean, tiles?: Uint8Array,
 *   logits?: Float32Array, row_0?: Float32Array, row_1?: Float32Array }} Message */

/** @extends {View} */
class Tour extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    /** @type {Map<number, Message>} */
    this.known = new Map();
    this.acted = false;
    this.nav = make("nav", "", root);
    this.dots = make("ol", "dots", this.nav);
    const head = make("header", "head", root);
    this.over = make("h1", "over", head);
    this.heading = make("h2", "", head);
    this.heading.tabIndex = -1;
    this.sentence = make("p", "sentence", head);
    this.stage = make("section", "stage", root);
    this.answer = make("div", "answer", root);
    this.told = make("p", "told", this.answer);
    this.told.ariaLive = "polite";
    this.symbol = make("p", "symbol", this.answer);
    this.foot = make("footer", "foot", root);
    this.spoken = make("div", "spoken", root);
    this.spoken.ariaLive = "polite";
    keepFree(root, 560, 980);
    this.ends = [this.onKeys(), this.onSwipe()];
  }

  get moves() { return !matchMedia("(prefers-reduced-motion: reduce)").matches; }

  get name() { return this.steps[this.at - 1]; }

  /** @param {Message} header */
  receive(header) {
    const isNew = !this.at;
    if (header.of !== this.of) this.known.clear();
    this.text = header.text;
    this.steps = header.steps;
    this.leads = header.leads;
    this.of = header.of;
    this.title = header.title;
    this.done = new Set(Object.keys(header.done));
    this.hold(header);
    this.known.set(header.at, header);
    if (isNew) this.frame();
    const goes = this.echoes.moves(header.at);
    const resumed = isNew && !header.named ? remembered().step : 0;
    if (Number.isInteger(resumed) && resumed > 1 && resumed <= this.steps.length) this.go(resumed, false);
    else if (isNew || goes && header.at !== this.at) this.enter(header.at);
    else if (header.at === this.at) this.fill();
    this.mark();
  }

  /** The acts live as long as the tab: a page that is loaded anew tells Python of them. */
  hold({ of, done }) {
    const kept = actsOf(of);
    if (this.done.size) keepActs(of, done);
    else if (Object.keys(kept).length && !this.isTold) this.trigger("again", kept);
    this.isTold = true;
  }

  /** Draw the parts common to all. */
  frame() {
    const { text } = this;
    this.nav.ariaLabel = text.way;
    this.marks = this.steps.map((name, i) => {
      const node = button(make("li", "", this.dots), "", "", () => this.go(i + 1), "dot");
      make("span", "point", node);
      make("span", "name", node, text[`name_${name}`]);
      node.ariaLabel = spoken(text.spoken, { i: i + 1, n: this.steps.length, title: text[`name_${name}`] });
      return node;
    });
    this.back = button(this.foot, text.back, "", () => this.go(this.at - 1), "step");
    const middle = make("span", "middle", this.foot);
    this.count = make("span", "count", middle);
    this.skip = button(middle, "", "", () => this.open("home"), "quiet");
    this.next = button(this.foot, text.next, "", () => this.go(this.at % this.steps.length + 1), "step next");
  }

  /** The reader goes to a step. */
  go(at, focus = true) {
    if (at < 1 || at > this.steps.length || at === this.at) return;
    this.echoes.tell(at);
    this.send({ at });
    this.enter(at);
    if (focus) this.heading.focus({ preventScroll: true });
    if (this.root.getBoundingClientRect().top < 0) this.root.scrollIntoView({ block: "start", behavior: "instant" });
    setText(this.spoken, spoken(this.text.spoken,
      { i: at, n: this.steps.length, title: this.heading.textContent }));
  }

  /** Opens a step: its words at once, its picture as soon as it is known. */
  enter(at) {
    const forward = at >= (this.at ?? 0);
    this.carry(at);
    this.at = at;
    this.view = null;
    this.shown = null;
    this.acted = false;
    remember({ step: at });
    this.stage.className = `stage of-${this.name}`;
    this.stage.replaceChildren();
    for (const node of [this.heading.parentElement, this.stage, this.answer]) {
      node.classList.remove("enters", "returns");
      void node.offsetWidth;            // so that the motion begins anew
      node.classList.add(forward ? "enters" : "returns");
    }
    setText(this.over, this.title);
    this.words({});
    this.told.replaceChildren();
    this.symbol.replaceChildren();
    clearTimeout(this.timer);
    if (this.known.has(at)) this.fill();
    else this.timer = setTimeout(() => { if (!this.view) make("p", "waiting", this.stage, this.text.waiting); }, LATE);
    this.mark();
  }

  /** The arcs of the step that is left stay for the one whose square they fold into. */
  carry(at) {
    this.folding?.end();
    this.folding = null;
    if (!(this.view instanceof Look) || this.steps[at - 1] !== "heads" || !this.moves) return;
    const arcs = this.view.curves(this.root.getBoundingClientRect());
    if (arcs.length) this.folding = new Fold(this.root, arcs);
  }

  /** The arcs that were left fold into a square of `side` rows. */
  foldInto(square, side) {
    const own = this.root.getBoundingClientRect(), box = square.getBoundingClientRect();
    const moved = new DOMMatrix(getComputedStyle(this.stage).transform).m41;        // the step itself still comes in
    this.folding?.into({ x: box.left - own.left - moved, y: box.top - own.top, size: box.width }, side);
    this.folding = null;
  }

  /** Title and sentence; before the step is known, without what depends on the model. */
  words(values) {
    const { text, name, shown } = this, variant = shown?.asks?.variant ?? "";
    this.heading.replaceChildren();
    this.sentence.replaceChildren();
    say(this.heading, text[`title_${name}`], { n: "…", ...values });
    say(this.sentence, text[`sentence_${name}_${variant}`] ?? text[`sentence_${name}`],
      { n: "…", top: "…", word: "…", last: "…", ...values });
  }

  /** The open step as Python has sent it. */
  fill() {
    const shown = this.shown = this.known.get(this.at), { name } = this;
    clearTimeout(this.timer);
    this.words(shown.values);
    if (!shown.asks) {
      this.needs(name === "learn" ? [] : shown.sentences);
      return;
    }
    if (!this.view) {
      this.stage.replaceChildren();
      this.view = new VIEWS[name](this.stage, this);
    }
    this.say(shown.said, shown.values, Boolean(shown.tells) || name === "map");
    this.view.show({ ...shown, acted: this.acted });
    if (this.acted) this.reveal();
    this.acted = false;
  }

  /** Nothing to act on: say what is missing, and offer sentences that have it. */
  needs(sentences) {
    const { text, stage } = this;
    this.view = null;
    this.carry(this.at);
    for (const node of [this.sentence, stage, this.told]) node.replaceChildren();
    make("p", "waiting", stage, sentences.length ? text.needs : text.needs_learn);
    const row = make("div", "acts sentences", stage);
    for (const sentence of sentences) button(row, sentence, "", () => this.trigger("prompt", sentence), "option");
  }

  /** The answer into sight, where the window is too low for the whole step. */
  reveal() {
    requestAnimationFrame(() => {
      if (this.answer.getBoundingClientRect().bottom > window.innerHeight - this.foot.offsetHeight)
        this.answer.scrollIntoView({ block: "end", behavior: this.moves ? "smooth" : "instant" });
    });
  }

  /** The answer: sentences, and small behind them the symbol. */
  say(said, values, isTold) {
    const written = JSON.stringify([said, isTold, this.at]);
    if (written !== this.written || !this.told.childNodes.length) {
      this.written = written;
      this.told.replaceChildren();
      for (const [label, own] of said) say(make("span", "", this.told), `${this.text[label]} `, own);
      this.extra = make("span", "", this.told);
    }
    this.symbol.replaceChildren();
    if (!isTold) return;
    make("span", "name", this.symbol, `${this.text.symbols}: `);
    say(this.symbol, this.text[`symbol_${this.name}`], values);
  }

  /** Follow the hand without Python. */
  live(template, values) {
    if (!this.extra) return;
    this.extra.replaceChildren();
    say(this.extra, template, values);
  }

  /** The reader's act in the open step. */
  act(act) {
    this.acted = true;
    this.trigger("act", { step: this.name, ...act });
  }

  /** Nothing is typed yet: say so, and let the reader type. */
  asksFor(input) {
    input.placeholder = this.text.empty;
    setText(this.spoken, this.text.empty);
    input.focus();
  }

  open(entrance) { this.trigger("open", entrance); }

  mark() {
    const { at, steps, done } = this, told = done.has(this.name);
    this.marks.forEach((node, i) => {
      node.classList.toggle("met", i + 1 < at || done.has(steps[i]));
      node.classList.toggle("here", i + 1 === at);
      node.tabIndex = i + 1 === at ? 0 : -1;        // one stop of the Tab key; the arrows lead from step to step
      if (i + 1 === at) node.ariaCurrent = "step";
      else node.ariaCurrent = null;
    });
    this.back.disabled = at === 1;
    this.skip.hidden = at === steps.length || !this.leads;
    setText(this.skip, at === 1 ? this.text.known : this.text.skip);
    setText(this.next, at === steps.length ? this.text.again : this.text.next);
    this.next.classList.toggle("ready", told);
    setText(this.count, spoken(this.text.step_of, { i: at, n: steps.length }));
  }

  /** Arrow keys and a presenter's remote, where no field, slider or picture has them. */
  onKeys() {
    const { root } = this, host = root.getRootNode().host ?? root;
    const pressed = (event) => {
      const outer = document.activeElement, inner = root.getRootNode().activeElement;
      const free = !outer || outer.contains(host) && !inner?.matches("input, [data-keys] *, [role=application]");
      if (!free || !(event.key in KEYS) || isShortcut(event) || event.shiftKey || !root.isConnected) return;
      event.preventDefault();
      this.go(this.at + KEYS[event.key]);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }

  onSwipe() {
    let begin = null;
    const down = (event) => {
      const [touch] = event.touches, [target] = event.composedPath();
      begin = event.touches.length === 1 && !target.closest?.("input") ? [touch.clientX, touch.clientY] : null;
    };
    const up = (event) => {
      if (!begin) return;
      const [touch] = event.changedTouches, x = touch.clientX - begin[0], y = touch.clientY - begin[1];
      if (Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(y)) this.go(this.at - Math.sign(x));
      begin = null;
    };
    this.root.addEventListener("touchstart", down, { passive: true });
    this.root.addEventListener("touchend", up);
    return () => {
      this.root.removeEventListener("touchstart", down);
      this.root.removeEventListener("touchend", up);
    };
  }

  close() {
    for (const end of this.ends) end();
    clearTimeout(this.timer);
  }
}

export default mounted(Tour);
