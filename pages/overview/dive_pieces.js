// What the depths are made of: words, tokens, pictures of numbers, strips and bars, each a part that is painted in any
// box.
import { hatch, matrixPicture, placePicture, stroke, write } from "../../core/components/lib/canvas.js";
import { shortened, textWidth } from "../../core/components/lib/text.js";

/** @import { Box, Part } from "./dive_motion.js" */
/** @import { Place } from "./dive_path.js" */
/** A part that answers: `into` is where a press leads and `read` what the pointer reads, at a point within [0, 1);
 * `edit` is what a press changes, and `drag` what a drag of so many pixels does, with the scene that shows it.
 * @typedef {Part & { into?: Place | ((x: number, y: number) => Place | null), edit?: string,
 *   read?: (x: number, y: number) => string[] | null,
 *   drag?: (pixels: number) => { edit: string, scene: any } }} Live */
/** What the parts are painted with. @typedef {{ em: number, ink(name: string): string, table(scale: string):
 *   Uint32Array }} Pen */

const LEAST_SIZE = 0.8;

/** @param {Pen} pen */
export const fontOf = (pen, { bold = false, mono = false, size = 1 } = {}) =>
  `${bold ? "600 " : ""}${pen.em * size}px ${pen.ink(mono ? "mono" : "font")}`;

/** A line of words whose start, middle or end stands at (x, y); smaller, or only what stands before its first comma or
    colon, or cut, where it is wider than `room`.
    @param {Pen} pen @returns {Live} */
export function words(pen, id, text, x, y, { align = "left", meaning = "text", bold = false, mono = false, size = 1,
  room = Infinity } = {}) {
  const [full, small] = [1, LEAST_SIZE].map((share) => fontOf(pen, { bold, mono, size: size * share }));
  const whole = [text, text.split(", ")[0], text.split(": ")[0]].find((one) => textWidth(one, small) <= room) ?? text;
  const font = textWidth(whole, full) <= room ? full : small, shown = shortened(whole, font, room);
  const wide = textWidth(shown, font), high = 1.3 * pen.em * size;
  const left = x - { left: 0, center: wide / 2, right: wide }[align];
  return { id, box: [left, y - high / 2, wide, high], paint(context, [bx, by, , bh]) {
    context.font = font;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = pen.ink(meaning);
    context.fillText(shown, bx, by + bh / 2);
  } };
}

/** A token as a chip whose right or left end stands at (x, y), cut to `room`.
    @param {Pen} pen @returns {Live} */
export function token(pen, id, text, x, y, { align = "left", room = 9 * pen.em, meaning = "", size = 1 } = {}) {
  const font = fontOf(pen, { mono: true, size, bold: Boolean(meaning) }), pad = 0.35 * pen.em;
  const shown = shortened(text, font, room - 2 * pad);
  const wide = textWidth(shown, font) + 2 * pad, high = 1.45 * pen.em * size;
  const left = x - { left: 0, center: wide / 2, right: wide }[align];
  return { id, box: [left, y - high / 2, wide, high], paint(context, [bx, by, , bh]) {
    if (meaning) {
      context.fillStyle = pen.ink("page");
      stroke(context, pen.ink(`${meaning}-ink`), 1.5);
      context.beginPath();
      context.roundRect(bx, by, wide, bh, 4);
      context.fill();
      context.stroke();
    }
    write(context, shown, bx + pad, by + bh / 2, pen.ink(meaning ? `${meaning}-ink` : "text"), "left", { font });
  } };
}

/** A picture of numbers with a thin frame; where it is empty, masked cells, hatched.
    @param {Pen} pen @param {HTMLCanvasElement} picture @returns {Live} */
export function image(pen, id, box, picture, { masked = false } = {}) {
  return { id, box, paint(context, [x, y, w, h]) {
    context.fillStyle = pen.ink("panel");
    context.fillRect(x, y, w, h);
    if (masked && w > 80) hatch(context, x, y, w, h, pen.ink("grid"), 9);
    placePicture(context, picture, x, y, w, h);
    stroke(context, pen.ink("grid-ink"), w > 80 ? 1 : 0.5);
    context.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  } };
}

/** Numbers as cells in a row, on the scale of −limit … limit; written into them where there is room.
    @param {Pen} pen @param {ArrayLike<number>} values @returns {Live} */
export function strip(pen, id, box, values, limit, said = null) {
  const picture = matrixPicture(1, values.length, (_, c) => values[c], pen.table("div"), -limit, limit);
  const font = fontOf(pen, { mono: true, size: 0.8 }), wide = said ? textWidth("−0.000", font) : Infinity;
  return { id, box, paint(context, [x, y, w, h]) {
    placePicture(context, picture, x, y, w, h);
    stroke(context, pen.ink("grid-ink"), 0.5);
    context.strokeRect(x, y, w, h);
    const cell = w / values.length;
    if (cell < wide || h < pen.em) return;
    for (let c = 0; c < values.length; c++)
      write(context, said(values[c]), x + (c + 0.5) * cell, y + h / 2,
        pen.ink(Math.abs(values[c]) > 0.55 * limit ? "page" : "text"), "center", { font });
  } };
}

/** Bars from the line of 0, up for numbers above it and down for those below.
    @param {Pen} pen @param {ArrayLike<number>} values @returns {Live} */
export function signedBars(pen, id, box, values, inks) {
  const all = Array.from(values), high = Math.max(0, ...all), span = high - Math.min(0, ...all) || 1;
  return { id, box, paint(context, [x, y, w, h]) {
    const cell = w / values.length, zero = y + (high / span) * h, gap = cell > 5 ? 1 : 0;
    for (let c = 0; c < values.length; c++) {
      const tall = (Math.abs(values[c]) / span) * h;
      context.fillStyle = pen.ink(inks[values[c] < 0 ? 1 : 0]);
      context.fillRect(x + c * cell + gap / 2, values[c] < 0 ? zero : zero - tall, Math.max(0.7, cell - gap), tall);
    }
    context.fillStyle = pen.ink("grid-ink");
    context.fillRect(x, zero - 0.5, w, 1);
  } };
}

/** One bar that begins at the left of its box, or at its right (`back`). @param {Pen} pen @returns {Live} */
export function bar(pen, id, box, meaning, { outlined = "" } = {}) {
  return { id, box, paint(context, [x, y, w, h]) {
    context.fillStyle = pen.ink(meaning);
    context.fillRect(x, y, Math.max(w, 0.7), h);
    if (!outlined) return;
    stroke(context, pen.ink(outlined), 2);
    context.strokeRect(x - 1, y - 1, Math.max(w, 0.7) + 2, h + 2);
  } };
}

/** A place that answers and paints nothing. @param {Box} box @returns {Live} */
export const area = (id, box, answers) => ({ id, box, paint() {}, ...answers });

/** The scene of these parts: where each is, and what is inside them (`within`, by its id). The children are what the
    keys go into, `chosen` the first of them; the title, with its values, is what the scene says.
    @param {{ within?: (id: string) => number[] | null, children: any[], chosen?: number, title: string,
      values: object }} more */
export function scene(place, anchor, frame, parts, more) {
  const { within } = more, boxes = new Map(parts.map(({ id, box }) => [id, box]));
  return { place, anchor, frame, parts, where: (id) => boxes.get(id) ?? within?.(id) ?? null, ...more };
}
