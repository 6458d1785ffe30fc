// A question on the wall: the number of answers, and buttons to close it and to reveal them; then the class beside the
// model, and the second vote.
import { percent, plain, showTally } from "../class_tally/tally.js";
import { button, fill, make, setText } from "../lib/dom.js";
import { readable } from "../lib/numbers.js";
import { inline } from "../prediction/inline.js";
import { square } from "../prediction/square.js";

/** @import { Guess } from "../prediction/prediction.js"
 * @typedef {{ ask: string, prompt: string, about: string, guess: Guess }} Asked  a question */

/** The most frequent answer; null if there is none. tally: of options, places or cells, words or numbers. */
export function majority(tally) {
  if (!tally?.n) return null;
  if (tally.words) return tally.words[0]?.[0] ?? null;
  if (tally.median !== undefined) return tally.median;
  return tally.counts.indexOf(Math.max(...tally.counts));
}

/** The share of right answers in the class, before and after: "41 % → 83 %", or "" if the right answer is unknown. */
export function rightShares({ tally, first, model }) {
  if (!model || !tally?.counts || typeof model.answer !== "number" || tally.median !== undefined) return "";
  const now = percent(tally.counts[model.answer], tally.n);
  return first ? `${percent(first.counts[model.answer], first.n)} → ${now}` : now;
}

/** "class: ball 41 % · model: ball 63 %": the class's most frequent word beside the model's likeliest. */
function wordsLine({ tally, model }, text) {
  const [most] = tally.words ?? [], [likeliest] = model?.bars ?? [];
  return [most && fill(text.word_class, { word: most[0], p: percent(most[1], tally.n) }),
    likeliest && fill(text.word_model, { word: plain(likeliest[0]), p: percent(likeliest[1], 1) })]
    .filter(Boolean).join(" · ");
}

/** "41 % as the model"; the number of answers if there is nothing to compare. */
export function summaryOf(shown, text) {
  const shares = rightShares(shown), { tally } = shown;
  const unit = shown.asked.guess.unit ? `\u00a0${shown.asked.guess.unit}` : "", isLine = tally.median !== undefined;
  return [shares && fill(shown.model.seen ? text.seen_share : text.right_share, { p: shares }),
    isLine && tally.n > 0 && fill(shown.model ? text.middles : text.middles_class,
      { value: `${readable(tally.median)}${unit}`, model: shown.model && `${readable(shown.model.answer)}${unit}` }),
    tally.words && wordsLine(shown, text)].filter(Boolean).join(" · ") || fill(text.answered, { n: tally.n });
}

/**
 * The card of one question. asked: {ask, prompt, guess, about}; link: a ClassLink; text: labels.
 * reveal(majority): reveals it, if the page must find the model's answer first; else it is revealed at once.
 * look(): shows the picture without the class. inStrip: its summary stands above it, and the revealed answers stay when
 * something else is asked. isStep: a plan's step, whose question stands above in large type; it is asked at once, and
 * revealed when the plan goes on to its picture.
 */
export class Wall {
  constructor(parent, { asked, link, text, reveal = undefined, look = undefined, model = null, inStrip = false,
    isStep = false }) {
    this.asked = asked;
    this.link = link;
    this.text = text;
    this.reveal = reveal;
    this.look = look;
    this.model = model;
    this.inStrip = inStrip;
    this.isStep = isStep;
    this.node = make("section", "wall", parent);
    this.node.ariaLabel = asked.ask;
    this.end = link.listen((shown) => this.receive(shown));
  }

  close() {
    this.end();
    this.node.remove();
  }

  /** Whether the phones have this question before them. */
  get isAsked() {
    return this.shown?.asked?.about === this.asked.about;
  }

  receive(shown) {
    if (shown?.phase === "over") { this.node.replaceChildren(); make("p", "say", this.node, this.text.over); return; }
    if (this.inStrip && this.state?.startsWith("revealed") && shown?.asked?.about !== this.asked.about) return;
    this.shown = shown;
    this.heed(shown?.signal);
    if (shown) this.askAtOnce();
    const state = this.isAsked ? `${shown.phase} ${shown.question} ${JSON.stringify(shown.tally)}` : "new";
    if (state !== this.state) this.draw(state);
    this.count();
  }

  /** Ask a step's question as soon as it is shown, but not again when the plan comes back to it. */
  askAtOnce() {
    const { asked: known } = this.link, isNew = !known.has(this.asked.about);
    if (this.isAsked || this.isStep) known.add(this.asked.about);
    if (this.isStep && isNew && !this.isAsked) this.link.act("ask", { asked: this.asked });
  }

  /** Do the next thing: ask, or reveal. */
  goOn() {
    this.node.querySelector(".row .commit:not(:disabled)")?.click();
  }

  /** Do what the teacher's second device asks for; a step's bar hears it as a key. */
  heed([number, what] = [0, ""]) {
    const isNew = this.heard !== undefined && number > this.heard;
    this.heard = number;
    if (this.isStep || !isNew || what !== "reveal" || !this.isAsked) return;
    if (["open", "closed"].includes(this.shown.phase)) this.press();
  }

  draw(state) {
    this.state = state;
    const had = this.node.contains(this.node.getRootNode().activeElement);
    this.node.replaceChildren();
    this.node.dataset.phase = this.isAsked ? this.shown.phase : "new";
    this.counted = undefined;
    if (this.isAsked && this.shown.compares) make("p", "kicker", this.node, this.text.second);
    if (!this.isStep) {
      inline(make("h3", "question", this.node), this.asked.ask);
      if (this.asked.prompt) make("p", "prompt", this.node, this.asked.prompt).dir = "auto";
    }
    ({ open: () => this.offer(), closed: () => this.offer(), revealed: () => this.tell() })[this.node.dataset.phase]?.()
      ?? this.offer();
    if (had) this.node.querySelector("button")?.focus({ preventScroll: true });
  }

  offer() {
    const { guess } = this.asked, phase = this.node.dataset.phase;
    if (guess.kind === "options" && !this.isStep) this.listChoices(guess);
    const row = make("div", "row", this.node);
    if (phase !== "new") this.counted = make("p", "count", row);
    if (phase === "new") this.add(row, "ask_phones", () => this.link.act("ask", { asked: this.asked }), "commit");
    if (phase === "open") this.add(row, "close", () => this.link.act("close"), "");
    if (phase === "closed") {
      this.add(row, "reopen", () => this.link.act("reopen"), "");
      this.add(row, "again", () => this.link.act("ask", { asked: this.asked, compares: true }), "");
    }
    if (phase !== "new" && !this.isStep) this.add(row, "reveal", () => this.press(), "commit");
    if (this.look) button(row, this.text.look, "", this.look, "quiet look");
    return true;
  }

  /** List the answers to choose from; folded in a strip, where the picture must stay in sight: phones show them. */
  listChoices({ texts, pictures }) {
    const parent = this.inStrip ? make("details", "statements-asked", this.node) : this.node;
    if (this.inStrip) make("summary", "", parent, this.text.statements);
    const list = make("ol", "choices", parent);
    texts.forEach((text, i) => {
      const item = make("li", "", list);
      if (pictures) square(item, pictures[i]);
      inline(make("span", "", item), text).dir = "auto";
    });
  }

  add(row, name, act, style) {
    const node = button(row, this.text[name], "", async () => {
      node.disabled = true;
      const { status } = await act() ?? {};
      if (status !== undefined && status !== 200) { node.disabled = false; this.fail(status); }
    }, style || "quiet");
    return node;
  }

  fail(status) {
    if (!this.failed) this.failed = make("p", "failed");
    this.failed.role = "alert";
    setText(this.failed, status === 400 ? this.text.refused : this.text.no_server);
    this.node.append(this.failed);
  }

  /** Reveal the answers: at once, or once the page knows the model's answer. */
  async press() {
    if (!this.reveal) return this.link.act("reveal", { model: this.model });
    const { status, questions } = await this.link.act("report");
    if (status !== 200) return { status };
    const now = questions.find((one) => one.question === this.shown.question);
    this.reveal(majority(now?.tally));
    return { status };
  }

  count() {
    if (!this.counted || !this.shown) return;
    const { answered, there, phase } = this.shown;
    setText(this.counted, fill(this.text[phase === "closed" ? "count_closed" : "count"], { n: answered, all: there }));
  }

  tell() {
    const { tally, first, model } = this.shown;
    if (!this.inStrip) make("p", "kicker", this.node, summaryOf(this.shown, this.text));
    showTally(this.node, { asked: this.asked, tally, first, model, mine: null, text: this.text });
    return true;
  }
}

