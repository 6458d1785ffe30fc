// Drawing on a canvas.
import { cut } from "./text.js";
import { readTheme } from "./theme.js";

/** Values (rows × columns) as an off-screen picture, one pixel a cell; `at(row, column)` in [low, high].
    NaN stays empty. */
export function matrixPicture(rows, columns, valueAt, table, low, high, reuse) {
  const canvas = reuse ?? document.createElement("canvas");
  resize(canvas, columns, rows);
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = 255 / (high - low || 1);
  for (let r = 0; r < rows; r += 1) {
    for (let c = 0; c < columns; c += 1) {
      const value = valueAt(r, c);
      if (value === value)
        pixels[r * columns + c] = table[Math.max(0, Math.min(255, Math.round((value - low) * scale)))];
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The absolute value that gets the deepest colour: 99 of 100 values are within it, and larger ones share its colour,
    so that one outlier does not fade the others. At most about 4,000 values are looked at. */
export function deepest(values) {
  const step = Math.max(1, Math.floor(values.length / 4000)), count = Math.ceil(values.length / step);
  const sizes = new Float32Array(count).map((_, k) => Math.abs(values[k * step])).sort();
  return sizes[Math.floor(count * 0.99)] || sizes[count - 1] || 1;
}

export function placePicture(context, picture, x, y, width, height) {
  context.imageSmoothingEnabled = picture.width > width || picture.height > height;
  context.drawImage(picture, x, y, width, height);
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

/** Fill the context's closed path with a thin tone of a meaning, and draw its edge dashed.
    @param {(meaning: string) => string} ink */
export function shade(context, ink, meaning, opacity) {
  context.globalAlpha = opacity;
  context.fillStyle = ink(meaning);
  context.fill();
  context.globalAlpha = 1;
  stroke(context, ink(`${meaning}-ink`), 1, [4, 3]);
  context.stroke();
}

/** A text at a point; `halo` is the colour of a rim that sets it off from its background.
    @param {{baseline?: CanvasTextBaseline, font?: string, halo?: string}} options */
export function write(context, text, x, y, colour, align = "left", options = {}) {
  const { baseline = "middle", font, halo } = options;
  if (font) context.font = font;
  context.textAlign = align;
  context.textBaseline = baseline;
  if (halo) {
    context.lineWidth = 4;
    context.strokeStyle = halo;
    context.lineJoin = "round";
    context.strokeText(text, x, y);
  }
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** A text in the context's font, cut if it would be wider than `room`. */
export function clipped(context, text, room) {
  return cut(text, (shown) => context.measureText(shown).width <= room);
}

/** A dot with a rim of the page's colour; hollow and full dots can be told apart without colour. */
export function dot(context, x, y, radius, colour, page, hollow = false) {
  stroke(context, hollow ? colour : page, hollow ? 2 : 1.5);
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = hollow ? page : colour;
  context.fill();
  context.stroke();
}

/** A diamond with a dark rim: a weighted sum of values, at which there is no token. */
export function diamond(context, x, y, radius, colour, rim) {
  context.beginPath();
  for (const [dx, dy] of [[0, -radius], [radius, 0], [0, radius], [-radius, 0]]) context.lineTo(x + dx, y + dy);
  context.closePath();
  context.fillStyle = colour;
  context.fill();
  stroke(context, rim, 2);
  context.stroke();
}

/** Fill a box with faint diagonal lines: "nothing here", or "never seen". */
export function hatch(context, x, y, width, height, colour, spacing = 7) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  stroke(context, colour);
  context.beginPath();
  for (let shift = -height; shift < width; shift += spacing) {
    context.moveTo(x + shift, y + height);
    context.lineTo(x + shift + height, y);
  }
  context.stroke();
  context.restore();
}

/** Set the size of a canvas in device pixels. A canvas of that size already keeps its contents and its memory, which
    is slow to allocate. */
export function resize(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/** Device pixels per CSS pixel, at most 3: more would cost time and show nothing. */
export const screenRatio = () => Math.min(3, window.devicePixelRatio || 1);

/** Empty a canvas of a size in CSS pixels, sharp on the screen; returns its context, which measures in CSS pixels. */
export function sharpen(canvas, width, height, ratio = screenRatio()) {
  const context = canvas.getContext("2d");
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  resize(canvas, Math.round(width * ratio), Math.round(height * ratio));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Clear a view's canvas, and set the view's context, ink (the page's colours by name) and colours (the diverging
    scale). */
export function beginDrawing(view, width = view.width) {
  const { ink, table } = readTheme(), context = sharpen(view.canvas, width, view.height, view.ratio);
  Object.assign(view, { context, ink, colours: table("div") });
  context.textBaseline = "middle";
}

export function writeText(view, text, x, y,
  { align = "left", meaning = "text", bold = false, mono = false, room = undefined, size = 1 } = {}) {
  const { context, ink, type } = view;
  context.font = `${bold ? "700 " : ""}${type * size}px ${ink(mono ? "mono" : "font")}`;
  context.fillStyle = ink(meaning);
  context.textAlign = align;
  context.fillText(text, x, y, room);
}
