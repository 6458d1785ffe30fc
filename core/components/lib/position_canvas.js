// What the position pictures share: theme colours, sharp canvases, native ranges, number formats.
import { byKeys } from "./by_keys.js";
import { unpack } from "./bytes.js";
import { readTheme, whenStyled } from "./theme.js";

/** Put values into a label's {names}. */
export function fill(template, values) {
  return (template ?? "").replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

/** Text into a node as text; _x and _{xy} become subscripts, ^{xy} superscripts. */
export function rich(node, text) {
  if (node.source === text) return;
  node.source = text;
  node.replaceChildren();
  for (const part of text.split(/([_^]\{[^}]*\}|_[^\s.,;:·()=])/)) {
    const mark = /^([_^])\{?([^}]*)\}?$/.exec(part);
    if (mark) make(mark[1] === "_" ? "sub" : "sup", "", node, mark[2]);
    else node.append(part);
  }
}

/** The same text without its marks, for screen readers. */
export const plain = (text) => text.replace(/[_^]\{([^}]*)\}/g, " $1").replaceAll("_", " ");

export function make(tag, className, parent, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

/** A canvas that follows its CSS size at the screen's own resolution; `draw(ctx, width, height)` in CSS pixels. */
export class Surface {
  constructor(parent, className, label) {
    this.canvas = make("canvas", className, parent);
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label ?? "");
    this.context = this.canvas.getContext("2d");
    this.width = 0;
    this.height = 0;
  }

  measure() {
    const box = this.canvas.getBoundingClientRect();
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    this.width = box.width;
    this.height = box.height;
    const [w, h] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    this.ratio = ratio;
  }

  begin() {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  /**
   * Call `act(x, y, phase)` for hover, press, drag, release ("up") and leave ("out"), in CSS pixels.
   *
   * cells() is {left, top, width, height, columns, rows, from}, or {places: [[x, y], …]}: where the arrow keys take
   * what a hover reads, beginning at the cell `from`. Without it the picture has no keys, because ranges beside it do
   * all that the pointer does.
   */
  point(act, cells = null) {
    if (cells) this.keys(act, cells);
    else this.canvas.dataset.ranges = "";
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.canvas.onpointerdown = (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      act(...at(event), "down");
    };
    this.canvas.onpointermove = (event) => act(...at(event), event.buttons ? "drag" : "hover");
    this.canvas.onpointerup = (event) => act(...at(event), "up");
    this.canvas.onpointercancel = (event) => act(...at(event), "out");
    this.canvas.onpointerleave = (event) => act(...at(event), "out");
  }

  keys(act, cells) {
    const walk = () => { const one = cells(); return one.places ? { columns: one.places.length, rows: 1 } : one; };
    const place = (column, row) => {
      const { places, left, top = 0, width, height, columns, rows } = cells();
      return places ? places[column] : [left + ((column + 0.5) * width) / columns, top + ((row + 0.5) * height) / rows];
    };
    byKeys(this.canvas, walk, (column, row, phase) => {
      if (phase !== "press") act(...place(column, row), phase);
      else for (const one of ["down", "up", "hover"]) act(...place(column, row), one);
    // a reading below the picture speaks for itself
    }, () => this.canvas.closest(".instrument").querySelector(".tip:not([hidden])")?.textContent ?? "");
  }
}

/** Values (rows × columns) as an off-screen picture, one pixel a cell; `at(row, column)` in [low, high].
    NaN stays empty. */
export function matrixPicture(rows, columns, at, table, low, high, reuse) {
  const canvas = reuse ?? document.createElement("canvas");
  if (canvas.width !== columns || canvas.height !== rows) {
    canvas.width = columns;
    canvas.height = rows;
  }
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = 255 / (high - low || 1);
  for (let r = 0; r < rows; r += 1) {
    for (let c = 0; c < columns; c += 1) {
      const value = at(r, c);
      if (value === value)
        pixels[r * columns + c] = table[Math.max(0, Math.min(255, Math.round((value - low) * scale)))];
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

export function placePicture(context, picture, x, y, width, height) {
  context.imageSmoothingEnabled = picture.width > width || picture.height > height;
  context.drawImage(picture, x, y, width, height);
}

/** Round whole numbers between 0 and `count` - 1, about `wanted` of them. */
export function wholeTicks(count, wanted) {
  const step = [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 256, 500, 512]
    .find((s) => count / s <= wanted + 0.5) ?? Math.ceil(count / wanted);
  return Array.from({ length: Math.ceil(count / step) }, (_, k) => k * step);
}

export function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

export function stroke(context, colour, width = 1, dash = []) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
}

export function write(context, text, x, y, colour, align = "left", baseline = "middle") {
  context.fillStyle = colour;
  context.textAlign = align;
  context.textBaseline = baseline;
  context.fillText(text, x, y);
}

/** A dot with a rim of the page's colour; hollow ones are told apart from full ones without colour. */
export function dot(context, x, y, radius, colour, page, hollow = false) {
  context.setLineDash([]);
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = hollow ? page : colour;
  context.fill();
  context.lineWidth = hollow ? 2 : 1.5;
  context.strokeStyle = hollow ? colour : page;
  context.stroke();
}

/** A native range with its name and value; `input` while the hand moves, `commit` on release or key. */
export class Range {
  constructor(parent, className, { input, commit }) {
    this.box = make("label", `range ${className}`, parent);
    this.name = make("span", "name", this.box);
    this.output = make("output", "value", this.box);
    this.node = make("input", "", this.box);
    this.node.type = "range";
    this.node.oninput = () => input(Number(this.node.value));
    this.node.onchange = () => commit();
  }

  title(label, hint = "") {
    rich(this.name, label);
    this.node.setAttribute("aria-label", plain(hint || label));
    this.box.title = hint;
  }

  set(low, high, step, value, text) {
    this.node.min = low;
    this.node.max = high;
    this.node.step = step;
    if (Number(this.node.value) !== value) this.node.value = value;
    this.output.textContent = text;
    this.node.setAttribute("aria-valuetext", text);
    const share = high > low ? (value - low) / (high - low) : 0;
    this.node.style.setProperty("--share", `${100 * share}%`);
  }
}

/** Gather the changes of one frame, draw once; `close()` stops it. */
export class Instrument {
  constructor(root) {
    this.root = root;
    this.frames = 0;
    this.pending = 0;
    this.unanswered = [];
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(root);
  }

  schedule() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      if (!this.root.clientWidth) return;   // hidden or taken out; the observer calls again as soon as there is room
      whenStyled(this.root, () => {
        this.theme = readTheme();
        this.draw();
        this.frames += 1;
      });
    });
  }

  /** Settings from Python, unless they are ones that this instrument sent itself: the hand may have gone on while they
      were on their way. */
  receive(data, send) {
    this.send = send;
    this.labels = data.labels;
    const incoming = JSON.stringify(data.settings), echo = this.unanswered.indexOf(incoming);
    if (echo >= 0) this.unanswered.splice(0, echo + 1);
    else if (incoming !== this.received) {
      Object.assign(this.settings, data.settings);
      this.sent = incoming;
      this.unanswered = [];
    }
    this.received = incoming;
  }

  /** Tell Python what stands, once the hand rests. */
  commit() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const outgoing = JSON.stringify(this.settings);
      if (outgoing === this.sent) return;
      this.sent = outgoing;
      this.unanswered.push(outgoing);
      this.send("settings", { ...this.settings });
    }, 120);
  }

  close() {
    cancelAnimationFrame(this.pending);
    clearTimeout(this.timer);
    this.observer.disconnect();
  }
}

/** The plain shape of a picture: a canvas with its caption above, in a grid cell. */
export function panelIn(parent, name) {
  const cell = make("div", `panel ${name}`, parent);
  const caption = make("p", "caption", cell);
  const surface = new Surface(cell, `canvas-${name}`);
  return { cell, caption, surface, say: (text) => {
    rich(caption, text);
    surface.canvas.setAttribute("aria-label", plain(text));
  } };
}

/** The body of every component's default export: one instrument of `kind` in the root, kept across reruns. */
export function mount(component, kind) {
  const { data, parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".instrument");
  const view = (root.view ??= new kind(root));
  const header = unpack(data);
  root.classList.toggle("present", Boolean(header.present));
  view.fontSize = header.present ? 16 : 12;
  view.receive(header, setStateValue);
  view.schedule();
  return () => { view.close(); root.replaceChildren(); delete root.view; };
}
