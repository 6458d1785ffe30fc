import { drawKinds, tableBody } from "./shared.js";
import { button, chip, fill, make, rich } from "../../core/components/lib/dom.js";
import { grouped } from "../../core/components/lib/numbers.js";
import { mounted, View } from "../../core/components/lib/view.js";

/** @typedef {{ rows: { token: string, p: number, shown: string, rank: number, true: boolean, mine: boolean,
 *   class: number | null, sure?: string }[], others: number, rest: number, rest_shown: string }} Side */
/** @typedef {{ title: string, hint: string, rows: { name: string, p: number, shown: string, best: boolean,
 *   whole: string }[], others: string, hides: string }} Classes */
/** special: what its title says of a token that is no part of the text, or ""; classes: of a classifier, in the place
 * of both sides; you: what names the reader's own word.
 * @typedef {{ text: Record<string, string>, scale: number, masks_text: Record<string, string>, you: string,
 *   sizes: { n: number }, picked: number | null, n_cut: number, tokens: { token: string, true: string | null,
 *   how: string, can: boolean, special: string }[], notes: { encoder: string, decoder: string },
 *   encoder: Side | null, decoder: Side | null, classes?: Classes | null, losses: string[], mean: string,
 *   verdict: { place: string, index: number, p: number, shown: string,
 *   names: string[] } | null }} Message */

/** @extends {View<Message>} */
class Blank extends View {
  constructor(root) {
    super(root);
    this.sent = 0;
    this.hint = make("div", "muted hint", root);
    this.row = make("div", "sentence", root);
    this.class = make("div", "class", root);
    this.picture = make("div", "blank-picture", root);
    this.kinds = make("div", "kinds", root);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    const cut = this.n_cut ? ` ${fill(this.text.cut, { n: this.n_cut })}` : "";
    this.hint.textContent = (this.classes ? this.classes.hint : this.text.click) + cut;
    this.sentence();
    this.classify();
    this.picture.replaceChildren();
    if (this.classes) this.classRows();
    else if (this.picked === null) make("p", "muted", this.picture, this.text.nothing);
    else {
      this.side("encoder", this.text.both, this.notes.encoder);
      this.side("decoder", this.text.left, this.notes.decoder);
    }
    this.objective();
    drawKinds(this.kinds, this.masks_text, "encoder", this.sizes);
  }

  tell(act, position) {
    this.send({ act, position, n: ++this.sent + Date.now() });
  }

  sentence() {
    this.row.replaceChildren();
    this.tokens.forEach((token, position) => {
      const asked = token.how !== "seen";
      const unknown = token.how === "unknown", picked = position === this.picked;
      const node = button(this.row, unknown || token.how === "hidden" ? this.text.mask : token.token,
        token.special || fill(this.text[`word_${token.how}`], { token: token.true, shown: token.token }),
        () => this.tell(unknown || (asked && !picked) ? "pick" : "toggle", position),
        `word ${token.how}${picked ? " picked" : ""}`);
      node.dir = "auto";
      node.disabled = Boolean(token.special) || (!asked && !token.can);
      if (asked && !unknown) make("small", "", node, token.true).dir = "auto";
    });
  }

  /** One model's candidates: bars from 0 to 1, the true word marked by its outline and sign; the encoder's with the
      class that follows from each. */
  side(name, title, note) {
    const box = make("div", `side ${name}`, this.picture), model = this[name];
    make("div", "title", box, title);
    make("div", "muted note", box, note);
    if (!model) return;
    const classes = model.rows[0].class !== null;
    const body = tableBody(make("table", "", box), [this.text.candidate, [this.text.p, "bar"],
      ...(classes ? [[this.text.class_with, "sure"]] : [])]);
    for (const entry of model.rows) {
      const row = make("tr", ["true", "mine"].filter((what) => entry[what]).join(" "), body);
      const cell = make("td", "name", row);
      chip(cell, entry.token);
      if (entry.true) make("span", "mark", cell, fill(this.text.true_rank, { rank: grouped(entry.rank) }));
      if (entry.mine) make("span", "mark mine", cell, this.you);
      this.bar(row, entry.p, entry.shown);
      if (classes)
        make("td", `sure c${entry.class}`, row,
          `${entry.class ? "+" : "−"} ${entry.sure}`).title = this.verdict.names[entry.class];
    }
    const rest = make("tr", "rest", body);
    make("td", "name muted", rest, fill(this.text.others, { n: grouped(model.others) }));
    this.bar(rest, model.rest, model.rest_shown);
    if (classes) make("td", "", rest);
  }

  /** The classes of a sentence, the most probable first, with their bars; where words are hidden, what each has with
      nothing hidden. */
  classRows() {
    const box = make("div", "side classes", this.picture), { rows, others, hides, title } = this.classes;
    make("div", "title", box, title);
    make("div", "muted note", box, this.notes.encoder);
    const body = tableBody(make("table", "", box), [this.text.class, [this.text.p, "bar"],
      ...(hides ? [[this.text.whole, "sure"]] : [])]);
    for (const entry of rows) {
      const row = make("tr", entry.best ? "best" : "", body);
      make("td", "name", row, entry.name).dir = "auto";
      this.bar(row, entry.p, entry.shown);
      if (hides) make("td", "sure", row, entry.whole);
    }
    if (others) make("p", "muted", this.picture, fill(this.text.others, { n: grouped(others) }));
  }

  bar(row, p, shown) {
    const cell = make("td", "bar", row), track = make("span", "track", cell);
    make("i", "", track).style.width = `${100 * p}%`;
    make("span", "number", cell, shown);
  }

  classify() {
    const verdict = this.verdict;
    this.class.replaceChildren();
    if (!verdict) return;
    rich(make("span", "", this.class), this.text.class_says,
      { cls: { chip: verdict.place }, name: verdict.names[verdict.index], p: verdict.shown });
    const scale = make("span", "scale", this.class), positive = verdict.index ? verdict.p : 1 - verdict.p;
    make("span", "muted", scale, verdict.names[0]);
    const track = make("span", "track", scale);
    make("b", `at c${verdict.index}`, track).style.left = `${100 * positive}%`;
    make("span", "muted", scale, verdict.names[1]);
  }

  objective() {
    if (!this.mean) return;
    const line = make("p", "objective", this.picture);
    line.append(fill(this.text.objective,
      { mean: this.mean, terms: this.losses.join(" + "), n: this.losses.length }));
  }
}

export default mounted(Blank);
