// Instruments on sharp canvases: ranges and panels, drawn at most once a frame while the hand moves.
import { make, marked, setRange, unmarked } from "./dom.js";
import { Echoes } from "./echo.js";
import { Surface } from "./surface.js";
import { readTheme, whenStyled } from "./theme.js";
import { onRoom, View } from "./view.js";

/** @import { BaseOf } from "./view.js" */

const REST = 120;      // ms from the hand's last move until the settings are sent to Python

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
    marked(this.name, label);
    this.node.ariaLabel = unmarked(hint || label);
    this.box.title = hint;
  }

  set(low, high, step, value, text) {
    this.node.min = low;
    this.node.max = high;
    this.node.step = step;
    setRange(this.node, value);
    this.output.textContent = text;
    this.node.ariaValueText = text;
  }
}

/** @typedef {{ labels: Record<string, string>, settings?: object, present?: boolean }} Header */

/** @extends {View<{ draw(): void, settings: object }>} */
class InstrumentBase extends View {
  constructor(root) {
    super(root);
    this.settings = {};
    this.frames = 0;
    this.pending = 0;
    this.echoes = new Echoes();
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(root);
    this.room = onRoom(root, () => this.schedule());
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

  /** Take over Python's header, except settings that only echo the hand's own.
   * @param {Header} header */
  receive(header) {
    this.labels = header.labels;
    this.root.classList.toggle("present", Boolean(header.present));
    this.fontSize = header.present ? 19.2 : 12;
    if (this.echoes.moves(JSON.stringify(header.settings))) Object.assign(this.settings, header.settings);
    this.schedule();
  }

  /** Send the settings to Python once the hand rests. */
  commit() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const outgoing = JSON.stringify(this.settings);
      if (outgoing === this.echoes.value) return;
      this.echoes.tell(outgoing);
      this.send({ ...this.settings });
    }, REST);
  }

  close() {
    cancelAnimationFrame(this.pending);
    clearTimeout(this.timer);
    this.observer.disconnect();
    this.room.disconnect();
  }
}

/** Gather the changes of one frame, draw once; `close()` stops it. */
export const Instrument = /** @type {BaseOf<InstrumentBase>} */ (InstrumentBase);

/** The plain shape of a picture: a canvas with its caption above, in a grid cell. */
export function panelIn(parent, name) {
  const cell = make("div", `panel ${name}`, parent);
  const caption = make("p", "caption", cell);
  const surface = new Surface(cell, `canvas-${name}`);
  return { cell, caption, surface, say: (text) => {
    marked(caption, text);
    surface.canvas.ariaLabel = unmarked(text);
  } };
}
