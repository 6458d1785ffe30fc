// One head, large: the matrix of its weights or scores with tokens on both axes, or lines from queries to keys, or both
// side by side. They are in matrix.js and lines.js.
import { unpack } from "../lib/bytes.js";
import { buildHand } from "../lib/hand.js";
import { significant } from "../lib/numbers.js";
import { rowOffsets, valueIn } from "../lib/pattern.js";
import { fitHeight, keepFitted, mounted, View } from "../lib/view.js";
import { LEAST_ROW, layOutLines } from "./lines.js";
import { layOutMatrix, wireMatrix } from "./matrix.js";

const SMALLEST = 15;        // px, of a token's name on a projector
const BESIDE_FROM = 48;     // em, the least width of a picture with room for the lines beside the matrix

/** @import { Hand } from "../lib/hand.js" */
/** @typedef {{ n: number, heading: string, query: number | null, key: number | null,
 *   first: Uint16Array, last: Uint16Array, values: Float32Array }} Answer  to a hand */
/** @typedef {Answer & { tokens: string[], text: Record<string, string>, label: string, shows: "matrix" | "lines",
 *   beside: boolean, signed: boolean, hand: Hand | null, guess: [number, number] | null, foot: number, theme: string,
 *   height: number, most: number, type: number }} Message */
/** @typedef {Record<"title" | "parts" | "matrix" | "cells" | "overlay" | "lines" | "threads" | "queries" | "keys"
 *   | "spoken" | "tip", HTMLElement>} Parts */

/** @extends {View<Message & Parts & { fresh: boolean, offset: Uint32Array, room: number, width: number }>} */
class Head extends View {
  constructor(root) {
    super(root);
    const part = (name) => root.querySelector(name);
    Object.assign(this, { title: part(".title"), parts: part(".parts"), matrix: part(".matrix"),
      cells: part("canvas.cells"), overlay: part("canvas.overlay"), lines: part(".lines"),
      threads: part(".lines canvas"), queries: part(".queries"), keys: part(".keys"), spoken: part(".spoken"),
      tip: part(".tip") });
    this.handle = buildHand(part(".hand"), (bytes) => this.take(unpack(bytes)),
      (value) => this.trigger("moved", value));
    wireMatrix(this);
    keepFitted(root, () => this.first && this.layOut());
  }

  /** @param {Message} header */
  receive(header) {
    if (this.handle.receive(header.hand)) this.take(header);
  }

  take(header) {
    if (this.n !== header.n || this.shows !== header.shows) this.window = null;
    Object.assign(this, header, { fresh: true, offset: rowOffsets(header.first, header.last), cursor: null });
    this.window ??= [0, this.n, 0, this.n];
    this.reach = this.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
    this.describe();
    this.layOut();
  }

  describe() {
    const { root, text, heading, signed, reach } = this, part = (name) => root.querySelector(name);
    this.title.textContent = heading;
    this.cells.ariaLabel = `${heading} ${text.keys_help}`;
    root.classList.toggle("is-signed", signed);
    part(".scale").ariaLabel = text.scale;
    part(".low").textContent = signed ? `−${significant(reach)}` : "";
    part(".high").textContent = signed ? `+${significant(reach)}` : "";
  }

  layOut() {
    const { root, parts } = this, width = root.clientWidth;
    if (!width) return;
    const room = fitHeight(parts, this.height, this.most, this.foot);
    if (!this.fresh && room === this.room && width === this.width) return;
    this.both = this.beside && width >= BESIDE_FROM * this.type && room / (this.n + 3) >= LEAST_ROW;
    Object.assign(this, { fresh: false, room, width });
    root.classList.toggle("is-both", this.both);
    root.classList.toggle("is-lines", this.alone === "lines");
    if (this.alone !== "lines") layOutMatrix(this);
    if (this.alone !== "matrix") layOutLines(this);
  }

  /** The name of the one that is shown, null if both are. */
  get alone() { return this.both ? null : this.shows; }

  /** The size of the type: smaller if a projector's rows are low, so that every row keeps its token. */
  letterFor(row) {
    return this.type > SMALLEST ? Math.max(SMALLEST, Math.min(this.type, Math.round(row))) : this.type;
  }

  /** The value of a cell; NaN if the mask forbids it. */
  valueOf(query, key) {
    return valueIn(this, this.values, query, key);
  }
}

export default mounted(Head);
