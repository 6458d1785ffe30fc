import { fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { line } from "../../core/components/lib/canvas.js";
import { buildHand } from "../../core/components/lib/hand.js";
import { unpack } from "../../core/components/lib/bytes.js";
import { pointedByKeys } from "../../core/components/lib/keys.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";

const DEPTHS = [8, 5, 3, 2, 1];      // stops of the scale for one layer, two, three, four, more

/** @import { Hand } from "../../core/components/lib/hand.js" */
/** hands: as routes.hand has them, named by their settings in the address; cells: n × n characters, "0" never, then the
 * number of layers from "1" on.
 * @typedef {{ text: Record<string, string>, scale: number, titled: string, n: number, hands: Hand[],
 *   patterns: { name: string, cells: string, lines: string[] }[] }} Message */

/** @extends {View<Message>} */
class SparsePatterns extends View {
  constructor(root) {
    super(root);
    root.classList.add("sparse");
    this.bar = make("div", "hands", root);
    this.title = spokenLine(root, "title");
    this.legend = make("div", "legend muted", root);
    this.masks = make("div", "masks", root);
    this.reading = make("div", "reading muted", root);
    onWidth(this.masks, (width) => { this.width = width; this.paint(); });
  }

  /** @param {Message} header */
  receive(header) {
    if (!this.handles) this.handles = header.hands.map(() => this.handle());
    if (header.hands.map((hand, k) => this.handles[k].receive(hand)).every(Boolean)) this.show(header);
  }

  // One slider. While it moves, the route answers with the fields that the settings change.
  handle() {
    const node = make("label", "hand", this.bar);
    for (const tag of ["span", "input", "output"]) make(tag, "", node);
    node.children[1].type = "range";
    return buildHand(node, (bytes) => this.show(unpack(bytes)), () => this.send(this.settings()),
      () => this.settings());
  }

  settings() {
    return Object.fromEntries(this.hands.map(({ name }, k) =>
      [name, Number(this.bar.children[k].querySelector("input").value)]));
  }

  show(header) {
    Object.assign(this, header);
    this.title.textContent = this.titled;
    this.reading.textContent = this.text.hint;
    this.legend.replaceChildren();
    DEPTHS.forEach((_, k) => this.swatch(k + 1,
      k === 0 ? this.text.layer : fill(k === DEPTHS.length - 1 ? this.text.more : this.text.layers, { n: k + 1 })));
    this.swatch(0, this.text.never);
    this.masks.replaceChildren();
    this.canvases = this.patterns.map((pattern) => this.figure(pattern));
    if (this.width) this.paint();           // otherwise as soon as the width is known
  }

  swatch(layers, text) {
    const entry = make("span", "", this.legend), sample = make("i", layers ? "swatch" : "swatch never", entry);
    if (layers) sample.style.background = `var(--tx-seq-${DEPTHS[layers - 1]})`;
    entry.append(text);
  }

  figure(pattern) {
    const figure = make("figure", "", this.masks), caption = make("figcaption", "", figure);
    make("div", "name", caption, pattern.name);
    const canvas = make("canvas", "", figure);
    canvas.ariaLabel = `${pattern.name}: ${pattern.lines.join("; ")}`;
    for (const line of pattern.lines) make("div", "muted", figure, line);
    pointedByKeys(canvas, () => ({ left: 0, top: 0, width: canvas.clientWidth, height: canvas.clientHeight,
      columns: this.n, rows: this.n }), () => this.reading.textContent);
    canvas.onpointermove = (event) => this.read(pattern, canvas, event);
    canvas.onpointerleave = () => { this.reading.textContent = this.text.hint; };
    return canvas;
  }

  read(pattern, canvas, event) {
    const box = canvas.getBoundingClientRect();
    const [query, key] = [(event.clientY - box.y) / box.height, (event.clientX - box.x) / box.width]
      .map((share) => Math.max(0, Math.min(this.n - 1, Math.floor(share * this.n))));
    const layers = pattern.cells.charCodeAt(query * this.n + key) - 48;
    this.reading.textContent = fill(layers ? this.text.cell : this.text.cell_never,
      { name: pattern.name, query, key, layers });
  }

  paint() {
    if (!this.canvases) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvases.forEach((canvas, p) => {
      const side = Math.max(1, Math.floor((canvas.clientWidth * ratio) / this.n));
      canvas.width = canvas.height = side * this.n;
      const context = canvas.getContext("2d");
      for (let i = 0; i < this.n * this.n; i++)
        this.cell(context, this.patterns[p].cells.charCodeAt(i) - 48, (i % this.n) * side,
          Math.floor(i / this.n) * side, side);
    });
  }

  cell(context, layers, x, y, side) {
    const { ink } = readTheme(), inner = side - (side > 4 ? 1 : 0);
    context.fillStyle = ink(layers ? `seq-${DEPTHS[Math.min(layers, DEPTHS.length) - 1]}` : "page");
    context.fillRect(x, y, inner, inner);
    if (layers) return;
    context.strokeStyle = ink("excluded");                               // never: a hatch, as for a masked cell
    context.lineWidth = Math.max(1, side / 12);
    line(context, x, y + side - 1, x + side - 1, y);
  }
}

export default mounted(SparsePatterns);
