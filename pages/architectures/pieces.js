// An image that is cut into patches, and what reads them. "lengths": its patches in a row as the tokens that a
// transformer would read, and the squares of pairs of a text, an image, a sound and a protein, to one scale. "head":
// one attention head with random numbers reads the patches, the weights of one patch laid over the image; "joined": so
// it does with the words of a text before them. The image is drawn here, point by point the same everywhere.
import { button, chip, draw, drawText, fill, make, setRange, sized, spokenLine }
  from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { decimals, grouped, percent, probability } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { keepFree, mounted, TitledView } from "../../core/components/lib/view.js";
import { embedded, greatestChange, orderOf, patchesOf, placed, shares, weightsOf, wordVectors } from "./pieces_head.js";
import { EDGE, WeightSquare } from "./pieces_square.js";
import { amountColour, tableBody, tableRow } from "./shared.js";

const SHOWN = 48;                 // patches of the row; the rest is counted
const SQUARE = 300, LEAST_FREE = 200;   // px of the attention square's side; of what is free for it on a low window
const FADED = 0.9;                      // how much a patch without weight fades
const LEAST_CHANGE = 1e-12;             // of a weight: less comes from rounding
const LARGEST = [150, 92];              // px of the largest square, usually and in present mode
const SCENE = [                   // areas of one colour (red, green, blue) and their corners
  { colour: [142, 197, 232], corners: [[0, 0], [224, 0], [224, 224], [0, 224]] },
  { colour: [95, 158, 110], corners: [[0, 130], [70, 90], [150, 140], [224, 105], [224, 224], [0, 224]] },
  { colour: [201, 178, 124], corners: [[0, 180], [224, 160], [224, 224], [0, 224]] },
  { colour: [181, 81, 60], corners: [[60, 140], [95, 108], [130, 140]] },
  { colour: [241, 230, 210], corners: [[66, 140], [124, 140], [124, 188], [66, 188]] },
  { colour: [107, 74, 52], corners: [[88, 158], [103, 158], [103, 188], [88, 188]] },
  { colour: [107, 74, 52], corners: [[172, 130], [180, 130], [180, 190], [172, 190]] },
];
const DISCS = [
  { colour: [246, 207, 74], x: 180, y: 42, radius: 22 }, { colour: [47, 107, 67], x: 176, y: 112, radius: 30 },
  { colour: [255, 255, 255], x: 52, y: 48, radius: 14 }, { colour: [255, 255, 255], x: 72, y: 44, radius: 18 },
];
const NAMED = { sun: [180, 42], house: [80, 150], tree: [176, 112] };       // a point of what a word names

function scene(side) {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d", { willReadFrequently: true });
  canvas.width = canvas.height = side;
  const area = (colour, trace) => {
    context.fillStyle = `rgb(${colour})`;
    context.beginPath();
    trace();
    context.fill();
  };
  for (const { colour, corners } of SCENE)
    area(colour, () => { for (const [x, y] of corners) context.lineTo(x, y); });
  for (const { colour, x, y, radius } of DISCS) area(colour, () => context.arc(x, y, radius, 0, 2 * Math.PI));
  return canvas;
}

/** side: points of the image; sizes: of a patch; lengths: in tokens; protein: a letter a residue; piece: the patch that
 * asks; of the words before them −1 is the last.
 * @typedef {{ text: Record<string, string>, scale: number, side: number, sizes: number[], patch: number,
 *   lengths: Record<"text" | "image" | "sound" | "protein", number>, protein: string, words: string[],
 *   settings: { sequence: "lengths" | "head" | "joined", piece: number, placed: boolean, mixed: boolean } }} Message */

/** @extends {TitledView<Message>} */
class Pieces extends TitledView {
  constructor(root) {
    super(root);
    const bar = make("div", "controls", root), label = make("label", "size", bar);
    this.name = make("span", "", label);
    this.slider = Object.assign(make("input", "", label), { type: "range", min: 0, step: 1 });
    this.slider.oninput = () => this.pick(this.sizes[Number(this.slider.value)]);
    this.slider.onchange = () => this.settle();
    this.switches = Object.fromEntries(["placed", "mixed"].map((name) => [name, this.checkbox(bar, name)]));
    this.words_row = make("div", "words", root);
    this.body = make("div", "pieces", root);
    this.image = make("canvas", "image", this.body);
    this.image.role = "img";
    this.image.onpointermove = (event) => this.mark(this.patchAt(event));
    this.image.onpointerleave = () => this.mark(null);
    this.image.onclick = (event) => this.ask(this.patchAt(event));
    byKeys(this.image, () => ({ columns: this.across, rows: this.across }), (column, row, phase) => {
      if (phase === "press") this.ask(row * this.across + column);
      else this.mark(phase === "out" ? null : row * this.across + column);
    }, () => this.reading.textContent);
    this.square = new WeightSquare(this.body, (row, phase) => {
      if (phase === "press") this.ask(this.placeOf(row));
      else this.mark(phase === "out" ? null : this.placeOf(row));
    });
    const right = make("div", "right", this.body);
    this.row = make("canvas", "row", right);
    this.row.role = "img";
    this.reading = spokenLine(right, "reading");
    this.chain = make("div", "chain code", right);
    this.squares = draw("svg", { class: "lengths", role: "img" }, right);
    this.table = make("table", "shares", right);
    this.proof = make("p", "proof", right);
    this.note = make("p", "muted", right);
    keepFree(this.body, LEAST_FREE, SQUARE + 2 * EDGE);
  }

  checkbox(parent, name) {
    const label = make("label", "switch", parent), input = make("input", "", label);
    input.type = "checkbox";
    make("span", "", label);
    input.onchange = () => {
      this.settings[name] = input.checked;
      this.pick(this.patch);
      this.settle();
    };
    return input;
  }

  settle() {
    const said = { patch: this.patch, piece: this.settings.piece, placed: this.settings.placed,
      mixed: this.settings.mixed };
    this.echoes.tell(JSON.stringify(said));
    this.send(said);
  }

  /** @param {Message} header */
  receive(header) {
    const { patch: picked, settings: own } = this, { patch, settings } = header;
    const { sequence, ...told } = settings, moved = this.echoes.moves(JSON.stringify({ patch, ...told }));
    Object.assign(this, header);
    if (picked !== undefined && !moved && this.sizes.includes(picked)) {
      this.patch = picked;
      this.settings = { ...own, sequence };
    }
    if (!this.scene) this.scene = scene(this.side);
    if (!this.pixels) this.pixels = this.scene.getContext("2d").getImageData(0, 0, this.side, this.side).data;
    this.slider.max = this.sizes.length - 1;
    this.chain.textContent = fill(this.text.protein_chain, { chain: `${this.protein.slice(0, 21)} · `
      + this.protein.slice(21) });
    for (const [name, input] of Object.entries(this.switches)) {
      input.checked = this.settings[name];
      input.nextSibling.textContent = this.text[name];
    }
    this.root.dataset.state = sequence;
    this.pick(this.patch);
  }

  get across() {
    return this.side / this.patch;
  }

  get isRead() {
    return this.settings.sequence !== "lengths";
  }

  /** The words before the patches. */
  get nText() {
    return this.settings.sequence === "joined" ? this.words.length : 0;
  }

  get isMixed() {
    return this.settings.mixed && this.settings.sequence === "head";
  }

  pick(patch) {
    const old = this.drawn ?? patch, { settings } = this;
    this.patch = this.drawn = patch;
    if (old !== patch && settings.piece >= 0) settings.piece = this.moved(settings.piece, old);
    this.lengths.image = this.across ** 2;
    settings.piece = Math.max(-this.nText, Math.min(this.lengths.image - 1, settings.piece));
    const n = this.lengths.image, said = { patch, n, flat: 3 * patch ** 2, side: this.side, across: this.across,
      words: this.nText, all: n + this.nText, pairs: grouped((n + this.nText) ** 2) };
    this.name.textContent = fill(this.text.size, said);
    this.slider.ariaLabel = this.name.textContent;
    setRange(this.slider, this.sizes.indexOf(patch));
    this.title.textContent = fill(this.text[this.isRead ? `title_${settings.sequence}` : "title"], said);
    this.row.ariaLabel = this.image.ariaLabel = this.title.textContent;
    if (this.isRead) this.read();
    else {
      this.paintRow();
      this.paintSquares();
    }
    this.mark(null);
  }

  /** The patch that covers the middle of what patch k was while patches had `old` points a side. */
  moved(k, old) {
    const across = this.side / old;
    return this.patchOf(((k % across) + 0.5) * old, (Math.floor(k / across) + 0.5) * old);
  }

  // ---- lengths ----

  /** The first patches side by side, read row by row. */
  paintRow() {
    const { row, patch, across, lengths } = this, shown = Math.min(SHOWN, lengths.image), cell = 26, columns = 24;
    row.width = columns * (cell + 3);
    row.height = Math.ceil(shown / columns) * (cell + 3);
    const context = row.getContext("2d");
    for (let k = 0; k < shown; k++)
      context.drawImage(this.scene, (k % across) * patch, Math.floor(k / across) * patch, patch, patch,
        (k % columns) * (cell + 3), Math.floor(k / columns) * (cell + 3), cell, cell);
  }

  get more() {
    const left = this.lengths.image - SHOWN;
    return left > 0 ? fill(this.text.more, { left }) : "";
  }

  /** A square for each sequence, its side as long as the sequence, all to one scale. */
  paintSquares() {
    const most = Math.max(...Object.values(this.lengths)), type = 13 * this.scale, wide = 150 * this.scale;
    const largest = LARGEST[Number(this.scale > 1)], kinds = Object.keys(this.lengths), tall = largest + 3 * type + 4;
    this.squares.replaceChildren();
    sized(this.squares, kinds.length * (wide + 30), tall, this.text.squares);
    kinds.forEach((kind, i) => {
      const n = this.lengths[kind], side = Math.max(2, (largest * n) / most), x = i * (wide + 30);
      draw("rect", { class: `square ${kind}`, x, y: largest - side, width: side, height: side, "data-n": n },
        this.squares);
      const name = fill(this.text[kind], { n });
      drawText(this.squares, x, largest + 1.4 * type, name, { size: type, name: "sans strong" });
      drawText(this.squares, x, largest + 2.7 * type, fill(this.text.pairs, { pairs: grouped(n * n) }), { size: type });
    });
  }
  // ---- one head ----

  /** Let the head read the sequence: its weights, in the order in which the patches stand. */
  read() {
    const { settings, words, nText } = this, X = embedded(patchesOf(this.pixels, this.side, this.patch));
    const order = orderOf(X.length), mixed = order.map((k) => X[k]);
    this.order = this.isMixed ? order : X.map((_, k) => k);
    const named = Object.fromEntries(Object.entries(NAMED).map(([word, [x, y]]) => [word, X[this.patchOf(x, y)]]));
    const tokens = [...wordVectors(words.slice(0, nText), named), ...(this.isMixed ? mixed : X)];
    this.weights = weightsOf(nText || settings.placed ? placed(tokens) : tokens);
    this.square.paint({ weights: this.weights, nText, side: SQUARE, scale: this.scale, names: [this.text.of_text,
      this.text.of_image], label: this.title.textContent });
    if (nText) this.listShares(words);
    else this.prove(X, mixed, order);
    this.note.textContent = this.text[nText ? "note_joined" : "note_head"];
  }

  /** How much the weights change where the patches change places, without positions and with them. */
  prove(X, mixed, order) {
    const [without, within] = [(tokens) => tokens, placed].map((put) =>
      greatestChange(weightsOf(put(X)), weightsOf(put(mixed)), order));
    this.proof.textContent = fill(this.text.proof, { without: without < LEAST_CHANGE ? "0" : decimals(without),
      within: decimals(within) });
  }

  listShares(words) {
    const body = tableBody(this.table, [this.text.asks, this.text.to_text, this.text.to_image]);
    shares(this.weights, words.length).forEach((row, k) =>
      tableRow(body, this.text[k ? "image_asks" : "text_asks"], row.map((share) => percent(share))));
  }

  /** The patch, or the word, in a row of the square. */
  placeOf(row) {
    return row < this.nText ? row - this.nText : this.order[row - this.nText];
  }

  /** The row of the square in which a patch or a word asks. */
  rowOf(piece) {
    return piece < 0 ? piece + this.nText : this.order.indexOf(piece) + this.nText;
  }

  ask(piece) {
    this.settings.piece = piece;
    this.mark(null);
    if (this.isRead) this.settle();
  }

  showRow(piece) {
    const row = this.rowOf(piece), weights = this.weights[row];
    this.square.mark(row);
    this.words_row.replaceChildren();
    if (this.nText) this.words.forEach((word, k) => {
      const node = button(this.words_row, "", "", () => this.ask(k - this.nText), "word");
      chip(node, word).style.borderBottom = `5px solid ${amountColour(weights[k])}`;
      node.ariaPressed = String(k === row);
    });
    const toImage = [...weights].slice(this.nText).reduce((sum, weight) => sum + weight, 0);
    const name = piece < 0 ? this.words[row] : fill(this.text.patch_named, { token: piece });
    this.reading.textContent = fill(this.text[this.nText ? "reading_joined" : "reading_head"], { name,
      own: probability(weights[row]), n: this.lengths.image, half: half(weights), image: percent(toImage),
      text: percent(1 - toImage) });
  }

  // ---- the image ----

  /** The image with its grid, and a patch marked: the k-th, or where a head reads them the one that asks. */
  mark(k) {
    const { image, side, patch, across } = this, zoom = 2, context = image.getContext("2d");
    const piece = this.isRead ? k ?? this.settings.piece : k;
    image.width = image.height = side * zoom;
    context.scale(zoom, zoom);
    if (this.isRead) {
      this.showRow(piece);
      this.layOver(context, piece);
    } else context.drawImage(this.scene, 0, 0);
    context.strokeStyle = readTheme().ink("page");
    context.lineWidth = 0.8;
    for (let i = 0; i <= across; i++) {
      context.strokeRect(i * patch, 0, 0, side);
      context.strokeRect(0, i * patch, side, 0);
    }
    if (!this.isRead) this.spell(piece);
    if (piece === null || piece < 0) return;
    const place = this.isRead ? this.order.indexOf(piece) : piece;
    context.strokeStyle = readTheme().ink("text");
    context.lineWidth = 2.5;
    context.strokeRect((place % across) * patch, Math.floor(place / across) * patch, patch, patch);
  }

  /** The patches where they stand, each the more faded the less weight it gets. */
  layOver(context, piece) {
    const { patch, across, nText } = this, weights = [...this.weights[this.rowOf(piece)]].slice(nText);
    const most = Math.max(...weights);
    this.order.forEach((which, place) => {
      const [x, y] = [(place % across) * patch, Math.floor(place / across) * patch];
      context.drawImage(this.scene, (which % across) * patch, Math.floor(which / across) * patch, patch, patch, x, y,
        patch, patch);
      context.globalAlpha = FADED * (1 - Math.sqrt(weights[place] / most));
      context.fillStyle = readTheme().ink("page");
      context.fillRect(x, y, patch, patch);
      context.globalAlpha = 1;
    });
  }

  /** Say which token the k-th patch is, with the first of its numbers. */
  spell(k) {
    const { patch, across, side } = this;
    if (k === null) { this.reading.textContent = fill(this.text.rest, { more: this.more }); return; }
    const [row, column] = [Math.floor(k / across), k % across], at = 4 * (row * patch * side + column * patch);
    const numbers = [...this.pixels.slice(at, at + 3)].map((value) => (value / 255).toFixed(2)).join(" ");
    this.reading.textContent = fill(this.text.reading, { token: k, row, column, numbers, flat: 3 * patch ** 2 });
  }

  /** The place in the grid that covers a point of the image. */
  patchOf(x, y) {
    const [column, row] = [x, y].map((at) => Math.max(0, Math.min(this.across - 1, Math.floor(at / this.patch))));
    return row * this.across + column;
  }

  /** The patch under the pointer. */
  patchAt(event) {
    const box = this.image.getBoundingClientRect();
    const k = this.patchOf(((event.clientX - box.left) / box.width) * this.side,
      ((event.clientY - box.top) / box.height) * this.side);
    return this.isRead ? this.order[k] : k;
  }
}

/** How many of the greatest weights make half of their sum. */
function half(weights) {
  const falling = Float64Array.from(weights).sort().reverse();
  let sum = 0;
  return falling.findIndex((weight) => (sum += weight) >= 0.5) + 1;
}

export default mounted(Pieces);
