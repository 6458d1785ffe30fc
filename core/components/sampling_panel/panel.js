// The panel: it holds the settings, answers every move of the hand within one frame, and tells Python when
// the hand lets go.
import { alike } from "../lib/bytes.js";
import { button, fill, make, setText } from "../lib/dom.js";
import { byKeys } from "../lib/keys.js";
import { decimals, grouped, percent, probability, significant } from "../lib/numbers.js";
import { abridged } from "../lib/text.js";
import { pageFoot, whenStyled } from "../lib/theme.js";
import { mount, roomBelow, View } from "../lib/view.js";
import { BRIEF, Brief, holding, isBrief } from "./brief.js";
import { ALL_OFF, Controls, methodOf, METHODS } from "./controls.js";
import { niceTop, SmallPicture } from "./figure.js";
import { Picture } from "./picture.js";
import { firstAbove, KEPT, NEUTRAL, RULES, seededUniforms, spread, TOLERANCE, Truncation } from "./truncation.js";

const CANDIDATES = 40, DRAWS = 1000, SPEAK_DELAY = 500;

/** @typedef {{ tokens: string[], labels: Record<string, string>, settings: object, settings_version: number,
 *   named: number | null, scale: number, contexts: { name: string, text: string }[], logits: Float32Array,
 *   logits_key: string }} Message */

/** @extends {View} */
class Panel extends View {
  constructor(root) {
    super(root);
    this.frame = this.moves = 0;
  }

  /** Take new data from Python: logits only if they changed, settings only if Python set them again.
   * @param {Message} header */
  receive(header) {
    if (!this.labels) {
      this.labels = header.labels;
      this._build();
      const observer = new ResizeObserver(() => whenStyled(this.root, () => this._measure()));
      for (const node of [this.root, this.figure]) observer.observe(node);
    }
    if (header.logits_key !== this.logitsKey) {
      this.logitsKey = header.logits_key;
      this.tokens = header.tokens;
      this._truncate(header);
      this.controls.setVocabulary(this.tokens.length);
      this._contexts(header.contexts);
    }
    if (header.settings_version !== this.settingsVersion) {
      this.settingsVersion = header.settings_version;
      this.settings = { ...header.settings, named: header.named };
      this.draws = null;
    }
    this.unit = header.scale;
    this._measure();
  }

  /** Truncate each context; an unchanged one, such as the two below under another prompt, is not sorted again. */
  _truncate({ tokens: { length: size }, contexts, logits }) {
    this.truncations = contexts.map((_, row) => {
      const given = logits.subarray(row * size, (row + 1) * size), before = this.truncations?.[row] ?? {};
      return alike(before, { given }) ? before : new Truncation(given);
    });
    this.pinned = null;
  }

  /** Change settings; the whole panel stays open, whatever is turned off in it, until its switch is pressed. */
  change(values) {
    Object.assign(this.settings, this.brief ? {} : { all_cuts: true }, values);
    if ("seed" in values) this.draws = null;
    this.frame ||= requestAnimationFrame(() => this._show());
  }

  commit() {
    // numbered, so that the same settings sent again count as new
    this.send({ ...this.settings, move: ++this.moves });
  }

  _set(values) {
    this.change(values);
    this.commit();
  }

  _build() {
    const { root, labels } = this;
    const top = make("div", "top", root);
    this.headline = make("p", "headline", top);
    const turnCuts = () => this._set(isBrief(this.settings) ? { all_cuts: true } : BRIEF);
    this.allCuts = button(top, labels.all_cuts, "", turnCuts, "all-cuts");
    const bar = make("div", "bar", root);
    this.methods = Object.keys(METHODS).map((name) => {
      const take = () => this._set({ ...ALL_OFF, ...METHODS[name] });
      return Object.assign(button(bar, labels[`method_${name}`], "", take, "method"), { method: name });
    });
    make("span", "spring", bar);
    const turn = () => this._set({ logarithmic: !this.settings.logarithmic });
    this.logarithmic = button(bar, labels.logarithmic, "", turn, "toggle");
    this.pin = button(bar, labels.pin, "", () => this._pin(), "toggle");
    this.append = (token) => this.trigger("append", token);
    this.first = new Brief(make("div", "first", root), labels, (values) => this.change(values), () => this.commit(),
      this.append);
    const grid = make("div", "grid", root);
    this.controls = new Controls(make("div", "controls", grid), labels, (values) => this.change(values),
      () => this.commit(), this.append);
    this.figure = make("div", "figure", grid);
    this.picture = new Picture(this.figure);
    this.tip = make("div", "tip", this.figure);
    this.tip.hidden = true;
    this._side(make("div", "side", grid));
    this.contexts = make("div", "contexts", grid);
    this.spoken = make("p", "twin spoken", root);
    this.spoken.ariaLive = "polite";
    this.picture.point((x, y, phase) => this._point(x, y, phase));
    this._readByKeys(this.picture.canvas);
  }

  _side(side) {
    const { labels } = this, table = make("table", "numbers", side), head = make("tr", "", make("thead", "", table));
    for (const name of ["", labels.before, labels.after, "A"]) make("th", name === "A" ? "pinned" : "", head, name);
    const body = make("tbody", "", table);
    this.numbers = ["candidates", "entropy", "perplexity", "mass", "tail_mass"].map((name) => {
      const row = make("tr", "", body);
      make("th", "", row, labels[name]).scope = "row";
      return [make("td", "", row), make("td", "strong", row), make("td", "pinned", row)];
    });
    this.find = make("input", "find", side);
    Object.assign(this.find,
      { type: "search", placeholder: labels.find, ariaLabel: labels.find, autocomplete: "off", spellcheck: false });
    this.find.oninput = () => this._find(this.find.value, false);
    this.find.onchange = () => this._find(this.find.value, true);
    this.found = make("p", "found", side);
    this.found.ariaLive = "polite";
    const list = make("ol", "candidates", side);
    list.ariaLabel = labels.candidates_title;
    this.rows = spread(0, CANDIDATES - 1, (i) => this._candidate(list, i));
  }

  _candidate(list, i) {
    const node = button(make("li", "", list), "", "", () => this.append(this.truncations[0].tokenIds[i]), "candidate");
    node.title = this.labels.append;
    const parts = ["rank", "token", "y", "after"].map((name) => make("span", name, node));
    return { node, parts };
  }

  /** Find the token that a reader types: its visible form, with or without the mark of a leading space. */
  _find(text, done) {
    const written = text.replace(/^ /, "·"), exact = [written, `·${text}`];
    let id = text ? exact.map((form) => this.tokens.indexOf(form)).find((index) => index >= 0) : undefined;
    if (text && id === undefined) id = this.tokens.findIndex((token) => exact.some((form) => token.startsWith(form)));
    this.unknown = id === -1 ? text : "";
    this.change({ named: id === undefined || id === -1 ? null : id });
    if (done) this.commit();
  }

  /** Draw the contexts below, rebuilt only for other names or texts. */
  _contexts([, ...shown]) {
    if (!alike(this, { shown })) this._buildContexts(shown);
    this.small.forEach((context, i) => { context.truncation = this.truncations[i + 1]; });
  }

  _buildContexts(shown) {
    this.shown = shown;
    this.small = [];
    this.contexts.replaceChildren();
    if (!shown.length) return;
    make("h3", "", this.contexts, this.labels.contexts_title);
    const pair = make("div", "pair", this.contexts);
    this.small = shown.map(({ name, text }) => {
      const box = make("figure", "context", pair), caption = make("figcaption", "", box);
      make("b", "", caption, name);
      make("q", "", caption, text).dir = "auto";
      return { picture: new SmallPicture(box), lines: ["by_k", "by_p", "by_all"].map(() => make("p", "verdict", box)) };
    });
  }

  _measure() {
    if (!this.truncations || !this.root.clientWidth) return;
    this.words = {
      token: (id, most) => abridged(this.tokens[id], most),
      count: grouped,
      ruleNames: Object.fromEntries(RULES.map((name) => [name, this.labels[`rule_${name}`] ?? ""])),
    };
    this._turn();
    cancelAnimationFrame(this.frame);
    this._show();
  }

  /** Show the form that the settings ask for; lay out the whole panel if that is the form. */
  _turn() {
    this.brief = isBrief(this.settings);
    this.root.classList.toggle("brief", this.brief);
    this.allCuts.ariaPressed = !this.brief;
    if (this.brief) return;
    const size = this.tokens.length;
    this.picture.measure(size, this.unit, roomBelow(this.figure) - Math.max(12, pageFoot() + 2));
    for (const { picture } of this.small) picture.measure(size, this.unit);
  }

  /** One frame: compute, then draw and write everything that depends on it. */
  _show() {
    this.frame = 0;
    if (isBrief(this.settings) !== this.brief) this._turn();
    const { settings, labels, words } = this, truncation = this.truncations[0].update(settings);
    if (this.brief) {
      this._showBrief({ settings, truncation, words });
      return;
    }
    const pinned = settings.pinned && (this.pinned ??= new Truncation(truncation.given)).update(settings.pinned);
    const place = truncation.draw(settings.xi);
    const model = { settings, labels, words, truncation, place, pinned, inTail: 0, tailText: "" };
    if (settings.thousand) this._throwThousand(model);
    model.tailText = this._tailText(model);
    // canvases first: a canvas that sets a font after a change of the page waits for its style
    this.picture.draw(model);
    this._drawContexts();
    this.controls.show(model);
    this._numbers(model);
    this._candidates(model);
    this._writeContexts();
    const method = methodOf(settings);
    for (const node of this.methods) node.ariaPressed = node.method === method;
    this.logarithmic.ariaPressed = settings.logarithmic;
    this.pin.ariaPressed = Boolean(settings.pinned);
    setText(this.pin, labels[settings.pinned ? "unpin" : "pin"]);
    this._speak(model);
  }

  /** Like `_show`, in the first form. */
  _showBrief(model) {
    const { truncation, words } = model, sentence = fill(this.labels.headline_brief,
      { count: words.count(holding(truncation)), size: words.count(truncation.size) });
    setText(this.headline, sentence);
    this.first.show(model, this.unit, sentence);
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => setText(this.spoken, sentence), SPEAK_DELAY);
  }

  _throwThousand(model) {
    const { truncation, settings } = model;
    this.draws ??= seededUniforms(settings.seed, DRAWS);
    this.counts = this.counts?.length === truncation.size ? this.counts.fill(0) : new Int32Array(truncation.size);
    const all = truncation.nKept === truncation.size;
    let inTail = 0;
    for (const xi of this.draws) {
      this.counts[truncation.draw(xi)]++;
      const plain = firstAbove(truncation.cumulative, xi, truncation.size);
      if (all ? plain >= this.picture.scale.shown : truncation.cutBy[plain] !== KEPT) inTail++;
    }
    Object.assign(model, { counts: this.counts, draws: DRAWS, inTail });
  }

  /** The text on the mass of the tail: the tokens that are cut or, if there are none, those beyond the bars. */
  _tailText({ truncation, settings, inTail, words }) {
    const cut = truncation.size - truncation.nKept, { shown } = this.picture.scale, far = truncation.size - shown;
    if (!cut && far <= 0) return "";
    const mass = cut ? 1 - truncation.keptMass : 1 - truncation.cumulative[shown - 1];
    const values = { cut: words.count(cut), far: words.count(far), shown, mass: probability(mass),
      draws: words.count(DRAWS), expected: decimals(mass * DRAWS, 1), hits: inTail };
    return fill(this.labels[`${cut ? "tail" : "tail_far"}${settings.thousand ? "_draws" : ""}`], values);
  }

  _numbers({ truncation, words, pinned }) {
    const columns = [[words.count(truncation.size), truncation.entropyBefore, 1, 0],
      [words.count(truncation.nKept), truncation.entropyAfter, truncation.keptMass, 1 - truncation.keptMass]];
    if (pinned) columns.push([words.count(pinned.nKept), pinned.entropyAfter, pinned.keptMass, 1 - pinned.keptMass]);
    this.root.classList.toggle("compares", Boolean(pinned));
    columns.forEach(([count, entropy, mass, tail], column) => {
      const texts = [count, decimals(entropy, 3), significant(Math.exp(entropy)), probability(mass),
        probability(tail)];
      texts.forEach((text, row) => setText(this.numbers[row][column], text));
    });
    const key = truncation.nKept === 1 ? "headline_one" : truncation.nKept === truncation.size ? "headline_all"
      : "headline";
    setText(this.headline, fill(this.labels[key], this._values(truncation)));
  }

  _values(truncation) {
    const { settings, words, labels } = this, place = truncation.draw(settings.xi);
    return {
      T: settings.temperature, k: settings.top_k === null ? labels.off : words.count(settings.top_k),
      p: settings.top_p < 1 ? settings.top_p : labels.off,
      kept: words.count(truncation.nKept),
      size: words.count(truncation.size), mass: probability(truncation.keptMass),
      cut: words.count(truncation.size - truncation.nKept), tail: probability(1 - truncation.keptMass),
      first: this.tokens[truncation.tokenIds[0]], y: percent(truncation.probs[0]), xi: settings.xi.toFixed(4),
      drawn: this.tokens[truncation.tokenIds[place]], drawn_y: percent(truncation.renormalised[place]),
    };
  }

  _candidates({ truncation, place, words }) {
    this.rows.forEach(({ node, parts }, i) => {
      node.parentNode.hidden = i >= truncation.size;
      if (i >= truncation.size) return;
      const { id, cut, rank, rule, y, after } = this._facts(i);
      [rank, words.token(id, 14), y, cut ? rule : after].forEach((text, part) => setText(parts[part], text));
      node.classList.toggle("cut", cut);
      node.classList.toggle("hit", i === place);
    });
    setText(this.found, this._foundText(truncation));
  }

  _foundText(truncation) {
    const id = this.settings.named;
    if (id === null) return this.unknown ? fill(this.labels.find_none, { text: this.unknown }) : "";
    const facts = this._facts(truncation.rankOf[id]);
    return fill(this.labels[facts.cut ? "found_cut" : "found"], facts);
  }

  _drawContexts() {
    const { settings, words } = this;
    for (const { truncation } of this.small) truncation.update(settings);
    const top = niceTop(Math.max(0.01,
      ...this.small.map(({ truncation }) => truncation.renormalised[truncation.firstKept()])));
    for (const { picture, truncation } of this.small)
      picture.draw({ truncation, settings, words }, top);
  }

  /** Write under each context what k alone and p alone would keep of it, and what all rules together keep. */
  _writeContexts() {
    const { settings, words, labels } = this;
    for (const { lines, truncation } of this.small) {
      const values = (count) => ({ size: words.count(truncation.size), kept: words.count(count),
        mass: probability(truncation.cumulative[count - 1]) });
      const byK = Math.min(settings.top_k ?? truncation.size, truncation.possible);
      const byP = settings.top_p < 1
        ? 1 + firstAbove(truncation.cumulative, settings.top_p - 2 * TOLERANCE, truncation.size) : truncation.possible;
      setText(lines[0], settings.top_k === null ? labels.by_k_off
          : fill(labels.by_k, { ...values(byK), k: words.count(settings.top_k) }));
      setText(lines[1], settings.top_p === 1 ? labels.by_p_off
        : fill(labels.by_p, { ...values(byP), p: settings.top_p }));
      setText(lines[2], fill(labels.by_all, { size: words.count(truncation.size), kept: words.count(truncation.nKept),
        mass: probability(truncation.keptMass) }));
    }
  }

  /** Set the sentence for screen readers, the first at once, a later one when the hand rests, so that it is not spoken
   * sixty times a second.
   */
  _speak({ truncation }) {
    const speak = () => {
      const sentence = fill(this.labels.twin, this._values(truncation));
      setText(this.spoken, sentence);
      this.picture.canvas.ariaLabel = sentence;
      for (const { picture, lines } of this.small)
        picture.canvas.ariaLabel = lines.map((line) => line.textContent).join(" ");
    };
    if (!this.picture.canvas.ariaLabel) speak();
    clearTimeout(this.speaking);
    this.speaking = setTimeout(speak, SPEAK_DELAY);
  }

  _pin() {
    const { settings } = this;
    this._set({ pinned: settings.pinned ? null
      : Object.fromEntries(Object.keys(NEUTRAL).map((name) => [name, settings[name]])) });
  }

  _point(x, y, phase) {
    const { drag, place } = this.picture.under(x, y), ends = phase === "up" || phase === "out";
    if (phase === "down") {
      if (place !== undefined) this._name(place);
      this.dragging = drag;
    }
    if (ends && this.dragging) this.commit();
    if (ends) this.dragging = null;
    if (this.dragging) {
      this.tip.hidden = true;
      this.change({ [this.dragging]: this.picture.valueAt(this.dragging, x, y, this.truncations[0]) });
      return;
    }
    this.picture.canvas.style.cursor = drag ? (drag.startsWith("top_k") || drag === "xi" ? "ew-resize" : "ns-resize")
      : place === undefined ? "default" : "pointer";
    this._tell(phase === "out" ? undefined : place, x, y);
  }

  _readByKeys(canvas) {
    byKeys(canvas, () => ({ columns: this.picture.scale.shown, rows: 1 }), (place, _row, phase) => {
      if (phase === "press") this._name(place);
      else this._tell(phase === "out" ? undefined : place, this.picture.scale.x(place + 0.5), this.picture.bars.top);
    }, () => (this.tip.hidden ? "" : this.tip.textContent));
    canvas.ontouchstart = (event) => {            // a finger on a grip drags the line; elsewhere it scrolls the page
      const { left, top } = canvas.getBoundingClientRect(), { clientX, clientY } = event.touches[0];
      if (this.picture.under(clientX - left, clientY - top).drag) event.preventDefault();
    };
  }

  /** Name the token at a rank, counted from 0. */
  _name(place) {
    this._set({ named: this.truncations[0].tokenIds[place] });
  }

  /** The texts on the token at a rank, counted from 0, and whether it is cut. */
  _facts(place) {
    const truncation = this.truncations[0], id = truncation.tokenIds[place], rule = RULES[truncation.cutBy[place]];
    return { id, cut: Boolean(rule), token: this.tokens[id], rank: this.words.count(place + 1),
      rule: this.words.ruleNames[rule], y: percent(truncation.probs[place]),
      after: percent(truncation.renormalised[place]) };
  }

  /** Show the tip of the bar at a rank, counted from 0; without a rank hide the tip. */
  _tell(place, x, y) {
    this.tip.hidden = place === undefined;
    if (place === undefined) return;
    const { logits, probs, renormalised, cumulative } = this.truncations[0], facts = this._facts(place);
    setText(this.tip, fill(this.labels[facts.cut ? "tip_cut" : "tip"], { ...facts, u: decimals(logits[place]),
      y: String(probs[place]), after: String(renormalised[place]), cumulative: probability(cumulative[place]) }));
    this.tip.style.transform = `translate(${Math.min(x + 14, this.picture.width - 250)}px, ${y + 16}px)`;
  }
}

export default (component) => mount(component, Panel);
