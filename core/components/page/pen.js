// A pen over the whole window; its lines fade.
import { readTheme } from "../lib/theme.js";

const STAYS = 10_000, FADES = 2_000, WIDTH = 5;      // ms, ms, px

/** The strength of a line that was drawn `age` ms ago: 1, then less and less, then 0. */
export const strength = (age) => Math.max(0, Math.min(1, (STAYS + FADES - age) / FADES));

export class Pen {
  constructor(canvas) {
    this.canvas = canvas;
    this.isOn = false;
    this.strokes = [];
    this.drawing = null;
    canvas.hidden = true;
    canvas.onpointerdown = (event) => {
      this.drawing = { points: [], at: performance.now() };
      this.strokes.push(this.drawing);
      canvas.setPointerCapture(event.pointerId);
      this.add(event);
    };
    canvas.onpointermove = (event) => { if (this.drawing) this.add(event); };
    canvas.onpointerup = canvas.onpointercancel = () => { this.drawing = null; };
  }

  toggle() {
    this.isOn = !this.isOn;
    this.canvas.hidden = !this.isOn;
    this.strokes = [];
    if (this.isOn) this.paint();
  }

  add({ clientX, clientY }) {
    this.drawing.points.push([clientX, clientY]);
    this.drawing.at = performance.now();
    this.frame ??= requestAnimationFrame(() => this.paint());
  }

  /** Draw the lines that have not faded; again at the next frame, as long as there are any. */
  paint() {
    const { canvas } = this, ratio = window.devicePixelRatio, now = performance.now(), pen = canvas.getContext("2d");
    this.frame = null;
    canvas.width = window.innerWidth * ratio;
    canvas.height = window.innerHeight * ratio;
    pen.scale(ratio, ratio);
    const strokeStyle = readTheme().ink("drawn");
    Object.assign(pen, { strokeStyle, lineWidth: WIDTH, lineCap: "round", lineJoin: "round" });
    this.strokes = this.strokes.filter((stroke) => strength(now - stroke.at) > 0);
    for (const { points, at } of this.strokes) {
      pen.globalAlpha = strength(now - at);
      pen.beginPath();
      points.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.stroke();
    }
    if (this.strokes.length) this.frame = requestAnimationFrame(() => this.paint());
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.strokes = [];
  }
}
