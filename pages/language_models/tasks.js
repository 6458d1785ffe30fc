import { button, chip, draw, drawText, fill, make, sized } from "../../core/components/lib/dom.js";
import { emOf, monoFont, textWidth } from "../../core/components/lib/text.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";

/** template: before, the reader's own, after; shots: solved examples before it; bars and bars_title of a choice; of an
 * answer that is written, steps instead, of which settings.step is shown; counts: rows are true, columns said.
 * @typedef {{ name: string, p: number, shown: string, first: boolean }[]} Bars
 * @typedef {{ identity: string, template: [string, string, string], shots: string, answer: string, bars: Bars,
 *   bars_title: string, steps: { token: string, title: string, bars: Bars }[], settings: { step: number },
 *   verdict_line: string, note: string, classes: string[], counts: number[][] | null,
 *   answers: { ask: string, said: string, should: string, right: boolean }[],
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {View<Message>} */
class Tasks extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    const place = make("div", "task", root);
    const left = make("div", "", place), right = make("div", "", place);
    make("div", "part prompt-title", left);
    this.prompt = make("div", "prompt", left);
    this.answerPlace = make("div", "answer-steps", left);
    make("div", "part bars-title", left);
    this.svg = draw("svg", { class: "bars tasks-chart", role: "img", "font-size": "0.95em" }, left);
    this.verdict = make("div", "title", right);
    this.remark = make("div", "muted", right);
    this.table = make("table", "confusion", make("div", "scroll", right));
    this.list = make("div", "list", right);
    this.list.tabIndex = 0;
    onWidth(left, () => this.plot());
  }

  /** @param {Message} header */
  receive(header) {
    const isNew = this.identity !== header.identity;
    Object.assign(this, header);
    if (this.echoes.moves(header.settings.step) || isNew) this.step = header.settings.step;
    this.root.querySelector(".prompt-title").textContent = this.text.prompt;
    this.list.ariaLabel = this.text.list;
    this.prompt.replaceChildren(this.shots + this.template[0]);
    chip(this.prompt, this.template[1], "own");
    this.prompt.append(this.template[2]);
    make("span", "answer", this.prompt, this.answer);
    this.prompt.scrollTop = this.prompt.scrollHeight;
    this.verdict.textContent = header.verdict_line;
    this.remark.textContent = header.note;
    this.confusion();
    this.list.replaceChildren();
    for (const item of this.answers) {
      const entry = make("div", item.right ? "entry" : "entry wrong", this.list);
      make("span", "mark", entry, item.right ? "✓" : "✗").ariaLabel = item.right ? this.text.right : this.text.wrong;
      make("span", "ask", entry, item.ask);
      make("span", "said", entry, item.said);
      if (!item.right) make("span", "should", entry, fill(this.text.should, { answer: item.should }));
    }
    this.showStep();
  }

  /** The answer's tokens, each a button that opens the distribution from which it was taken. */
  showStep() {
    const shown = this.steps[this.step], place = this.answerPlace;
    place.hidden = !shown;
    place.replaceChildren();
    if (shown) {
      make("span", "muted", place, `${this.text.open} `);
      this.steps.forEach(({ token, bars }, k) => {
        const node = button(place, token, "", () => this.pick(k), k === this.step ? "step picked" : "step");
        node.ariaPressed = String(k === this.step);
        node.title = `${token} ${bars[0].shown}`;
      });
    }
    this.root.querySelector(".bars-title").textContent = shown ? shown.title : this.bars_title;
    if (shown) this.bars = shown.bars;
    this.plot();
  }

  pick(step) {
    this.step = step;
    this.echoes.tell(step);
    this.showStep();
    this.answerPlace.querySelectorAll("button")[step]?.focus();
    this.send({ step });
  }

  confusion() {
    this.table.replaceChildren();
    this.table.hidden = !this.counts;
    if (!this.counts) return;
    const head = make("tr", "", make("thead", "", this.table)), body = make("tbody", "", this.table);
    make("th", "", head);
    for (const label of this.classes) make("th", "", head, fill(this.text.says, { label }));
    this.counts.forEach((row, i) => {
      const line = make("tr", "", body);
      make("th", "", line, fill(this.text.is, { label: this.classes[i] })).scope = "row";
      row.forEach((count, j) => make("td", i === j ? "right" : "", line, String(count)));
    });
  }

  plot() {
    const width = this.svg.parentElement.clientWidth, em = emOf(this.root), step = 1.75 * em;
    if (!width || !this.bars) return;
    const height = Math.max(1, this.bars.length * step), font = monoFont(0.95 * em);
    this.svg.replaceChildren();
    sized(this.svg, width, height, this.bars.map((bar) => `${bar.name} ${bar.shown}`).join(", "));
    const left = Math.min(0.4 * width, Math.max(...this.bars.map((bar) => textWidth(bar.name, font))) + em);
    const room = width - left - 5.5 * em;
    this.bars.forEach((bar, k) => {
      const y = k * step;
      drawText(this.svg, left - 0.5 * em, y + 1.1 * em, bar.name, { anchor: "end", name: "" });
      draw("rect", { x: left, y: y + 0.2 * em, width: Math.max(1, bar.p * room), height: 1.2 * em,
        class: bar.first ? "" : "rest" }, this.svg);
      drawText(this.svg, left + bar.p * room + 0.4 * em, y + 1.1 * em, bar.shown,
        { name: bar.first ? "sans strong" : "sans" });
    });
  }
}

export default mounted(Tasks);
