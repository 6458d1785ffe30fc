// Four masks over the tokens of the prompt, each on a card with what a model of its kind sees, writes and is trained
// on, and with what the mask makes of the loaded model's next token. Rows are queries, columns keys; the pointer and
// the keys read a cell.
//
// header: tokens, prefix, kinds [{id, name, rows [[id, name, text]], open, targets, next {token, p, kl, own} or null,
// guess}], text. cells: for each kind N × N of HIDDEN, LEFT, RIGHT, CROSS.
import { chip, fill, make, rich, spokenLine } from "../../core/components/lib/dom.js";
import { Surface } from "../../core/components/lib/surface.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { mounted, redrawn, View } from "../../core/components/lib/view.js";

const [HIDDEN, , RIGHT, CROSS] = [0, 1, 2, 3];
const COLOURS = ["grid", "kept", "attention", "key"];       // meanings, by what a cell is
const HATCHED = 6;                                          // px of a cell from which a hidden one has a stroke

/** rows: id, name and text.
 * @typedef {{ id: string, name: string, rows: [string, string, string][], open: string, targets: string,
 *   next: { token: string, p: string, kl: string, own: boolean } | null }} Kind */
/** cells: for each kind N × N of HIDDEN, LEFT, RIGHT, CROSS.
 * @typedef {{ text: Record<string, string>, scale: number, tokens: string[], prefix: number, kinds: Kind[],
 *   cells: Uint8Array }} Message */

/** @extends {View<Message>} */
class Masks extends View {
  constructor(root) {
    super(root);
    this.row = make("div", "masks-row", root);
    this.foot = make("div", "foot", root);
    this.legend = make("span", "legend", this.foot);
    this.reading = spokenLine(this.foot, "reading");
    this.surfaces = new Map();
    redrawn(() => this.paint(), this.row);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    const ids = this.kinds.map(({ id }) => id).join();
    if (ids !== this.built) this.build();
    this.built = ids;
    this.kinds.forEach((kind) => this.card(kind));
    this.legend.replaceChildren();
    ["left", "right", "cross", "hidden"].forEach((what, i) => {
      make("i", `sample ${what}`, this.legend).style.setProperty("--fill", `var(--tx-${COLOURS[(i + 1) % 4]})`);
      make("span", "", this.legend, this.text[`key_${what}`]);
    });
    this.mark(null);
    this.paint();
  }

  build() {
    this.row.replaceChildren();
    this.surfaces.clear();
    this.kinds.forEach(({ id, name }, k) => {
      const card = make("section", `card ${id}`, this.row);
      make("h4", "", card, name);
      const surface = new Surface(make("div", "square", card), "mask", name);
      surface.point((x, y, phase) => this.mark(phase === "out" ? null : this.cellAt(k, x, y)),
        () => ({ left: 0, top: 0, width: surface.width, height: surface.height, columns: this.tokens.length,
          rows: this.tokens.length }));
      this.surfaces.set(id, { surface, words: make("div", "words", card) });
    });
  }

  card({ id, rows, open, targets, next }) {
    const { words } = this.surfaces.get(id);
    words.replaceChildren();
    make("div", "count", words, open);
    const list = make("dl", "", words);
    const add = (what, name) => {
      make("dt", what, list, name);
      return make("dd", what, list);
    };
    for (const [what, name, text] of rows) add(what, name).textContent = text;
    add("targets", this.text.row_targets).textContent = targets;
    const said = add("next", this.text.row_next);
    if (!next) said.textContent = this.text.two_stacks;
    else {
      chip(said, next.token);
      said.append(` ${next.p}`);
      make("span", "kl", said, next.own ? this.text.own : fill(this.text.kl, { kl: next.kl }));
    }
  }

  cellAt(k, x, y) {
    const { surface } = this.surfaces.get(this.kinds[k].id), n = this.tokens.length;
    const place = (at, side) => Math.max(0, Math.min(n - 1, Math.floor((at / side) * n)));
    return { k, query: place(y, surface.height), key: place(x, surface.width) };
  }

  what(k, query, key) {
    const n = this.tokens.length;
    return this.cells[(k * n + query) * n + key];
  }

  mark(cell) {
    this.marked = cell;
    if (!cell) this.reading.textContent = this.text.hint;
    else {
      const { k, query, key } = cell, what = ["hidden", "left", "right", "cross"][this.what(k, query, key)];
      rich(this.reading, fill(this.text[`reading_${what}`], { kind: this.kinds[k].name }),
        { query: { chip: this.tokens[query] }, key: { chip: this.tokens[key] } });
    }
    this.paint();
  }

  paint() {
    if (!this.kinds || !this.row.clientWidth) return;
    const theme = readTheme();
    this.kinds.forEach(({ id }, k) => this.square(this.surfaces.get(id).surface, k, theme));
  }

  square(surface, k, theme) {
    surface.measure();
    const context = surface.begin(), n = this.tokens.length, size = surface.width / n, gap = size > 4 ? 0.5 : 0;
    for (let query = 0; query < n; query++) {
      for (let key = 0; key < n; key++) {
        const what = this.what(k, query, key), [x, y, side] = [key * size + gap, query * size + gap, size - 2 * gap];
        if (what === HIDDEN) this.hidden(context, x, y, side, theme);
        else {
          context.fillStyle = theme.ink(COLOURS[what]);
          context.fillRect(x, y, side, side);
          if (what >= RIGHT && size > HATCHED)
            this.dot(context, x + side / 2, y + side / 2, what === CROSS, side, theme);
        }
      }
    }
    if (this.marked?.k !== k) return;
    context.strokeStyle = theme.ink("text");
    context.lineWidth = 2;
    context.strokeRect(this.marked.key * size, this.marked.query * size, size, size);
  }

  hidden(context, x, y, side, theme) {
    if (side < HATCHED) return;
    context.strokeStyle = theme.ink("grid");
    context.lineWidth = 0.6;
    context.beginPath();
    context.moveTo(x, y + side);
    context.lineTo(x + side, y);
    context.stroke();
  }

  /** A mark told by its form: a ring for a key of the other stack, a point for one to the right. */
  dot(context, x, y, ring, side, theme) {
    context.beginPath();
    context.arc(x, y, 0.18 * side, 0, 2 * Math.PI);
    context.fillStyle = context.strokeStyle = theme.ink("page");
    context.lineWidth = 0.8;
    context[ring ? "stroke" : "fill"]();
  }
}

export default mounted(Masks);
