import { amountColour, drawCell, drawKinds, drawMask } from "./shared.js";
import { button, chip, draw, fill, make, rich, sized } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { percent, probability } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { abridged, emOf, monoFont, textWidth } from "../../core/components/lib/text.js";
import { pageFoot } from "../../core/components/lib/theme.js";
import { mounted, redrawn, roomBelow, View } from "../../core/components/lib/view.js";

const SHAPES = { encoder: "full", cross: "cross", decoder: "triangle" };
const PAUSE = 650;      // milliseconds per token while it plays
const LETTERS = 11;     // at most, of a label

/** @typedef {"encoder" | "decoder" | "cross"} Attention */
/** tops: of each step; aligned: per block, each head and their mean; guess: the source token that the reader expected
 * in the first row of the cross-attention, `you` its name; head −1: the mean; step −1: all written; encoder: (L, h, M,
 * M), decoder: (L, h, N, N), cross: (L, h, N, M).
 * @typedef {{ text: Record<string, string>, scale: number, step_text: Record<string, string>,
 *   masks_text: Record<string, string>, source: string[], target: string[], inputs: string[], shown: string[],
 *   tops: { token: string, p: number, shown: string }[][], sizes: { n: number, m: number, h: number },
 *   blocks: Record<Attention, number>, heads: number, aligned: number[][] | null, verdict: string, right: boolean,
 *   n_measured: number, cut: string, guess: number | null, you: string, settings: { attention: Attention,
 *   block: number, head: number, step: number }, encoder: Float32Array, decoder: Float32Array,
 *   cross: Float32Array }} Message */

/** @extends {View<Message>} */
class Translate extends View {
  constructor(root) {
    super(root);
    this.hover = null;
    this.echoes = new Echoes();
    const left = make("div", "left", root), right = make("div", "right", root);
    this.picks = make("div", "picks", right);
    this.bars = make("div", "bars", right);
    this.title = make("div", "title", right);
    this.place = make("div", "scroll place", right);
    this.svg = draw("svg", { class: "heat", role: "img", tabindex: 0 }, this.place);
    this.svg.onkeydown = (event) => this.walk(event);
    this.svg.onpointerleave = () => this.point(null);
    this.note = make("div", "muted note", right);
    this.sourceTitle = make("div", "muted", left);
    this.sourceRow = make("div", "tokens-row source", left);
    this.targetTitle = make("div", "muted", left);
    this.targetRow = make("div", "tokens-row target", left);
    this.player = new Player(left, this.title, { show: () => this.redraw(), rest: () => this.settle() });
    this.count = make("span", "muted count", this.player.bar);
    this.candidates = make("div", "candidates", left);
    this.verdictLine = make("p", "verdict", left);
    this.kinds = make("div", "kinds", left);
    redrawn(() => this.paint(), this.place);
  }

  /** How many tokens are written. */
  get step() {
    return this.player.at + 1;
  }

  /** @param {Message} header */
  receive(header) {
    const other = this.target
      && (header.target.join("\n") !== this.target.join("\n") || header.source.join("\n") !== this.source.join("\n"));
    Object.assign(this, header);
    this.patterns = { encoder: header.encoder, decoder: header.decoder, cross: header.cross };
    this.player.receive(this.step_text, this.target.length - 1, PAUSE);
    if (this.echoes.moves(JSON.stringify(header.settings)) || other) {
      const { attention, block, head, step } = header.settings;
      this.attention = attention;
      this.block = block;
      this.head = head;
      this.player.at = Math.min(step < 1 ? Infinity : step - 1, this.player.last);
      this.player.stop();
    }
    this.hover = null;
    this.sourceTitle.textContent = fill(this.text.source, { m: this.source.length }) + (this.cut ? ` ${this.cut}` : "");
    this.verdictLine.textContent = this.verdict;
    drawKinds(this.kinds, this.masks_text, "encoder-decoder", this.sizes);
    this.verdictLine.classList.toggle("doubt", !this.right);
    this.redraw();
  }

  // ---- what is picked ----

  // The settings as Python names them.
  picked() {
    const { attention, block, head, player, step } = this;
    return { attention, block, head, step: player.ended ? -1 : step };
  }

  settle() {
    this.echoes.tell(JSON.stringify(this.picked()));
    this.send(this.picked());
  }

  pick(values) {
    Object.assign(this, values);
    this.redraw();
    this.settle();
  }

  go(step) {
    this.player.stop();
    this.player.go(step - 1);
    this.settle();
  }

  // ---- the weights ----

  /** Rows and columns of the picked attention, with their names. */
  axes() {
    if (this.attention === "encoder") return [this.source, this.source];
    return [this.target, this.attention === "cross" ? this.source : this.inputs];
  }

  blockOf(attention) {
    return Math.min(this.block, this.blocks[attention] - 1);
  }

  /** The weight of one cell: of the picked head, or the mean over the block's heads. */
  weight(attention, row, column) {
    const rows = attention === "encoder" ? this.source.length : this.target.length;
    const columns = attention === "decoder" ? this.target.length : this.source.length;
    const block = this.blockOf(attention);
    const weightOf = (head) => this.patterns[attention][((block * this.heads + head) * rows + row) * columns + column];
    if (this.head >= 0) return weightOf(Math.min(this.head, this.heads - 1));
    return Array.from({ length: this.heads }, (_, head) => weightOf(head))
      .reduce((sum, weight) => sum + weight) / this.heads;
  }

  headName() {
    const block = this.blockOf(this.attention), head = `${block}.${Math.min(this.head, this.heads - 1)}`;
    return fill(this.head < 0 ? this.text.head_mean : this.text.head_named, { block, head });
  }

  // ---- drawing ----

  redraw() {
    this.lists();
    this.choices();
    this.paint();
  }

  /** The highlighted row: the one under the pointer, or else the last token written; in the encoder's own attention the
      source's last. */
  row() {
    return this.hover ? this.hover.row : this.attention === "encoder" ? this.source.length - 1 : this.step - 1;
  }

  lists() {
    const step = this.attention === "encoder" ? this.step - 1 : this.row();
    // what is said of the whole translation would tell tokens that are not written yet
    this.verdictLine.classList.toggle("waits", !this.player.ended);
    this.count.textContent = fill(this.text.count, { step: this.step, n: this.target.length });
    this.player.value(this.count.textContent);
    // a disabled button would lose the focus
    for (const [name, node] of Object.entries(this.player.steps))
      node.ariaDisabled = String(name === "start" || name === "back" ? this.step === 1 : this.player.ended);
    this.sourceRow.replaceChildren();
    this.source.forEach((token, m) => {
      const node = chip(this.sourceRow, token), amount = this.weight("cross", step, m);
      node.style.borderBottom = `5px solid ${amountColour(amount)}`;
      node.title = probability(amount);
    });
    this.targetTitle.textContent = fill(this.text.target, { n: this.target.length });
    this.targetRow.replaceChildren();
    this.target.forEach((token, n) => this.written(token, n));
    this.top(Math.min(step, this.target.length - 1));
  }

  written(token, n) {
    const later = n >= this.step, now = n === this.row() && this.attention !== "encoder";
    const node = button(this.targetRow, "", "", () => this.go(n + 1),
      `written${later ? " later" : ""}${now ? " now" : ""}`);
    chip(node, later ? "?" : token);
    make("small", "", node, later ? "" : this.shown[n]);
    node.title = fill(this.text[later ? "not_written" : "written_token"], { token, p: this.shown[n], n: n + 1 });
    node.onpointerenter = () => {
      if (this.attention !== "encoder" && !later) this.point({ row: n, column: null }, false);
    };
    node.onpointerleave = () => this.point(null, false);
  }

  top(step) {
    this.candidates.replaceChildren();
    make("div", "muted", this.candidates, fill(this.text.candidates, { n: step + 1 }));
    for (const entry of this.tops[step]) {
      const line = make("div", "candidate", this.candidates);
      chip(line, entry.token);
      make("i", "", make("span", "track", line)).style.width = `${100 * entry.p}%`;
      make("span", "number", line, entry.shown);
    }
  }

  choices() {
    this.picks.replaceChildren();
    for (const [name, shape] of Object.entries(SHAPES)) {
      const node = button(this.picks, "", "", () => this.pick({ attention: name }), "pick");
      press(node, name === this.attention);
      drawMask(node, shape, 6, { "aria-hidden": "true" });
      const words = make("span", "", node);
      make("b", "", words, this.text[`attention_${name}`]);
      make("span", "muted", words, fill(this.text[`shape_${name}`], this.sizes));
    }
    this.bars.replaceChildren();
    const group = (label, entries) => {
      const box = make("div", "group", this.bars);
      make("span", "muted", box, label);
      for (const [text, lit, handler, title] of entries) press(button(box, text, title, handler, "choice"), lit);
    };
    const block = this.blockOf(this.attention), aligned = this.attention === "cross" && this.aligned?.[block];
    const share = (k) => (aligned && this.scale === 1 ? ` ${percent(aligned[k], 0)}` : "");
    group(this.text.block, Array.from({ length: this.blocks[this.attention] },
      (_, b) => [String(b), b === block, () => this.pick({ block: b }), fill(this.text.block_named, { block: b })]));
    const title = (k, name) => name
      + (aligned ? fill(this.text.aligned, { share: percent(aligned[k]), n: this.n_measured }) : "");
    group(aligned && this.scale === 1 ? this.text.head_aligned : this.text.head, [
      ...Array.from({ length: this.heads }, (_, k) => [`${k}${share(k)}`, k === this.head, () => this.pick({ head: k }),
        title(k, fill(this.text.head_named, { head: `${block}.${k}` }))]),
      [`${this.text.mean}${share(this.heads)}`, this.head < 0, () => this.pick({ head: -1 }),
        title(this.heads, fill(this.text.head_mean, { block }))]]);
  }

  paint() {
    const room = this.place.clientWidth, em = emOf(this.root);
    if (!room || !this.target) return;
    const [rows, columns] = this.axes(), font = monoFont(0.95 * em);
    const width = (names) => Math.max(...names.map((name) => textWidth(abridged(name, LETTERS), font)));
    const left = width(rows) + 1.2 * em, above = 0.75 * width(columns) + em * (this.scale > 1 ? 1 : 1.4);
    const tall = Math.max(150, roomBelow(this.place) - Math.max(34, pageFoot() + 16) - above);
    const cell = Math.max(0.8 * em, Math.min(2.3 * em, (room - left - 2.2 * em) / columns.length, tall / rows.length));
    this.cell = cell;
    this.left = left;
    this.above = above;
    this.svg.replaceChildren();
    sized(this.svg, left + columns.length * cell + 2.2 * em, above + rows.length * cell + 3, this.text.heat);
    this.svg.setAttribute("font-size", Math.min(0.95 * em, cell));
    columns.forEach((name, j) => this.label(name, left + (j + 0.5) * cell, above - 0.4 * em, "key", j, true));
    rows.forEach((name, i) => this.line(name, i, columns));
    if (this.guess !== null && this.attention === "cross") this.markGuess();
    this.frame = draw("rect", { class: "frame", x: left, width: columns.length * cell, height: cell }, this.svg);
    this.mark();
  }

  label(text, x, y, meaning, index, turned) {
    const node = draw("text", { x, y, class: `label ${meaning}`, "text-anchor": turned ? "start" : "end",
      "dominant-baseline": turned ? "auto" : "central", "data-at": index }, this.svg, abridged(text, LETTERS));
    if (turned) node.setAttribute("transform", `rotate(-50 ${x} ${y})`);
    draw("title", {}, node, text);
  }

  line(name, i, columns) {
    const { cell, left, above } = this, y = above + i * cell, later = this.attention !== "encoder" && i >= this.step;
    this.label(later ? "?" : name, left - 0.5 * emOf(this.root), y + cell / 2, "query", i, false);
    columns.forEach((_, j) => {
      const masked = this.attention === "decoder" && j > i, hatched = masked || later;
      const rect = drawCell(this.svg, left + j * cell, y, cell, masked ? "forbidden" : "cell", hatched);
      rect.style.fill = hatched ? "none" : amountColour(this.weight(this.attention, i, j));
      if (later) return;
      rect.onpointerenter = () => this.point({ row: i, column: masked ? null : j });
      rect.onclick = () => { if (this.attention !== "encoder") this.go(i + 1); };
    });
  }

  /** The cell of the reader's guess, dashed, with its name inside. */
  markGuess() {
    const { cell, left, above, guess } = this, x = left + guess * cell;
    draw("rect", { class: "mine", x: x + 1, y: above + 1, width: cell - 2, height: cell - 2 }, this.svg);
    draw("text", { class: "mine-name", x: x + cell / 2, y: above + cell / 2, "text-anchor": "middle",
      "dominant-baseline": "central", "font-size": Math.max(0.42 * cell, 0.85 * emOf(this.root)) }, this.svg, this.you);
  }

  point(hover, redraw = true) {
    this.hover = hover;
    if (redraw) this.lists();
    this.mark();
  }

  /** Frames the highlighted row, marks its strongest column or the one under the pointer, and names both above. */
  mark() {
    const [rows, columns] = this.axes(), row = Math.min(this.row(), rows.length - 1), { cell, above } = this;
    this.frame.setAttribute("y", above + row * cell);
    const shown = columns.map((_, j) =>
      (this.attention === "decoder" && j > row ? 0 : this.weight(this.attention, row, j)));
    this.strongest = shown.indexOf(Math.max(...shown));
    const column = this.hover?.column ?? this.strongest;
    for (const node of this.svg.querySelectorAll(".label"))
      node.classList.toggle("strong", Number(node.dataset.at) === (node.classList.contains("query") ? row : column));
    rich(this.title, this.text[this.attention === "encoder" ? "title_encoder" : "title"], { head: this.headName(),
      row: { chip: rows[row] }, column: { chip: columns[column] }, weight: probability(shown[column]) });
    this.note.textContent = this.text[`note_${this.attention}`];
  }

  walk(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) { this.point(null); return; }
    const [rows, columns] = this.axes(), most = this.attention === "encoder" ? rows.length : this.step;
    const row = Math.min(most - 1, Math.max(0, this.row() + step[0]));
    const last = this.attention === "decoder" ? row : columns.length - 1;
    this.point({ row, column: Math.min(last, Math.max(0, (this.hover?.column ?? this.strongest) + step[1])) });
  }
}

function press(node, lit) {
  node.classList.toggle("lit", lit);
  node.ariaPressed = lit;
}

export default mounted(Translate);
