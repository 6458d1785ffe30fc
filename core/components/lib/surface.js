// A canvas that the pointer and the keys read.
import { resize, screenRatio } from "./canvas.js";
import { make } from "./dom.js";
import { byKeys } from "./keys.js";

/** A canvas that follows its CSS size at the screen's own resolution; `draw(ctx, width, height)` in CSS pixels. */
export class Surface {
  constructor(parent, className, label) {
    this.canvas = make("canvas", className, parent);
    this.canvas.role = "img";
    this.canvas.ariaLabel = label ?? "";
    this.context = this.canvas.getContext("2d");
    this.width = 0;
    this.height = 0;
  }

  measure() {
    const { width, height } = this.canvas.getBoundingClientRect(), ratio = screenRatio();
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    resize(this.canvas, Math.round(width * ratio), Math.round(height * ratio));
  }

  begin() {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  /**
   * Call `handler(x, y, phase)`, in CSS pixels, when the pointer moves ("hover", "drag"), is pressed ("down") or
   * released ("up"), and when it leaves ("out").
   *
   * cells() is the grid that the arrow keys walk, {left, top, width, height, columns, rows, from: the first cell}, or
   * {places: [[x, y], …]}. Without it the picture has no keys, because ranges beside it do all that the pointer does.
   */
  point(handler, cells = null) {
    const { canvas } = this;
    if (cells) this.keys(handler, cells);
    else canvas.dataset.ranges = "";
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.onpointerdown = (event) => {
      canvas.setPointerCapture(event.pointerId);
      handler(...point(event), "down");
    };
    canvas.onpointermove = (event) => handler(...point(event), event.buttons ? "drag" : "hover");
    canvas.onpointerup = (event) => handler(...point(event), "up");
    canvas.onpointercancel = canvas.onpointerleave = (event) => handler(...point(event), "out");
  }

  keys(handler, cells) {
    const grid = () => { const area = cells(); return area.places ? { columns: area.places.length, rows: 1 } : area; };
    const place = (column, row) => {
      const { places, left, top = 0, width, height, columns, rows } = cells();
      return places ? places[column] : [left + ((column + 0.5) * width) / columns, top + ((row + 0.5) * height) / rows];
    };
    byKeys(this.canvas, grid, (column, row, phase) => {
      if (phase !== "press") handler(...place(column, row), phase);
      else for (const step of ["down", "up", "hover"]) handler(...place(column, row), step);
    // A picture with a reading below it has no tip: the reading is spoken already. The canvas may have gone by then.
    }, () => this.canvas.closest(".component")?.querySelector(".tip:not([hidden])")?.textContent ?? "");
  }
}
