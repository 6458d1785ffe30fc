// Drawing on a canvas.

/** Fill a box with faint diagonal lines: "nothing here", or "never seen". */
export function hatch(context, x, y, width, height, colour, spacing = 7) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash([]);
  context.beginPath();
  for (let at = -height; at < width; at += spacing) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}

/** The device pixels of a canvas. One that has them already keeps its memory, which is slow to get; what is drawn then
    begins with what it holds. */
export function resize(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
