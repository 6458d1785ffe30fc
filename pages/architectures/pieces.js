// An image that is cut into patches, its patches in a row as the tokens that a transformer would read, and the squares
// of pairs of a text, an image, a sound and a protein, to one scale. The image is drawn here, point by point the same
// everywhere. A patch under the pointer is named with the first of its numbers.
//
// header: side (points of the image), sizes (of a patch), patch, lengths {kind: tokens}, protein (a letter a residue),
// text.
import { draw, drawText, fill, make, setRange, sized, spokenLine } from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { grouped } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { mounted, TitledView } from "../../core/components/lib/view.js";

const SHOWN = 48;                 // patches of the row; the rest is counted
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

class Pieces extends TitledView {
  constructor(root) {
    super(root);
    const bar = make("label", "size", root);
    this.name = make("span", "", bar);
    this.slider = Object.assign(make("input", "", bar), { type: "range", min: 0, step: 1 });
    this.slider.oninput = () => this.pick(this.sizes[Number(this.slider.value)]);
    this.slider.onchange = () => {
      this.echoes.tell(this.patch);
      this.send({ patch: this.patch });
    };
    this.body = make("div", "pieces", root);
    this.image = make("canvas", "image", this.body);
    this.image.role = "img";
    this.image.onpointermove = (event) => this.point(event);
    this.image.onpointerleave = () => this.mark(null);
    byKeys(this.image, () => ({ columns: this.across, rows: this.across }),
      (column, row, phase) => this.mark(phase === "out" ? null : row * this.across + column),
      () => this.reading.textContent);
    const right = make("div", "right", this.body);
    this.row = make("canvas", "row", right);
    this.row.role = "img";
    this.reading = spokenLine(right, "reading");
    this.chain = make("div", "chain code", right);
    this.squares = draw("svg", { role: "img" }, right);
  }

  receive(header) {
    const picked = this.patch, moved = this.echoes.moves(header.patch);
    Object.assign(this, header);
    if (picked !== undefined && !moved) this.patch = picked;
    this.scene ??= scene(this.side);
    this.slider.max = this.sizes.length - 1;
    this.chain.textContent = fill(this.text.protein_chain, { chain: `${this.protein.slice(0, 21)} · `
      + this.protein.slice(21) });
    this.pick(this.patch);
  }

  get across() {
    return this.side / this.patch;
  }

  pick(patch) {
    this.patch = patch;
    this.lengths.image = this.across ** 2;
    const said = { patch, n: this.lengths.image, flat: 3 * patch ** 2, side: this.side, across: this.across };
    this.name.textContent = fill(this.text.size, said);
    this.slider.ariaLabel = this.name.textContent;
    setRange(this.slider, this.sizes.indexOf(patch));
    this.title.textContent = fill(this.text.title, said);
    this.row.ariaLabel = this.image.ariaLabel = this.title.textContent;
    this.paintRow();
    this.mark(null);
    this.paintSquares();
  }

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

  /** The image with its grid, and the k-th patch marked. */
  mark(k) {
    const { image, side, patch, across } = this, zoom = 2, context = image.getContext("2d");
    image.width = image.height = side * zoom;
    context.scale(zoom, zoom);
    context.drawImage(this.scene, 0, 0);
    context.strokeStyle = readTheme().ink("page");
    context.lineWidth = 0.8;
    for (let i = 0; i <= across; i++) {
      context.strokeRect(i * patch, 0, 0, side);
      context.strokeRect(0, i * patch, side, 0);
    }
    this.picked = k;
    if (k === null) { this.reading.textContent = fill(this.text.rest, { more: this.more }); return; }
    const [x, y] = [(k % across) * patch, Math.floor(k / across) * patch];
    context.strokeStyle = readTheme().ink("text");
    context.lineWidth = 2.5;
    context.strokeRect(x, y, patch, patch);
    const [r, g, b] = this.scene.getContext("2d").getImageData(x, y, 1, 1).data;
    const numbers = [r, g, b].map((value) => (value / 255).toFixed(2)).join(" ");
    this.reading.textContent = fill(this.text.reading, { token: k, row: y / patch, column: x / patch, numbers,
      flat: 3 * patch ** 2 });
  }

  get more() {
    const left = this.lengths.image - SHOWN;
    return left > 0 ? fill(this.text.more, { left }) : "";
  }

  point(event) {
    const box = this.image.getBoundingClientRect(), place = (at, start, size) =>
      Math.max(0, Math.min(this.across - 1, Math.floor(((at - start) / size) * this.across)));
    this.mark(place(event.clientY, box.top, box.height) * this.across + place(event.clientX, box.left, box.width));
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
}

export default mounted(Pieces);
