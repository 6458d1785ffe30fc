// Calls draw() once the page's colours are there: on a first visit they may arrive after the component, and a canvas
// painted without them stays black.
export function whenStyled(node, draw) {
  if (getComputedStyle(node).getPropertyValue("--tx-page")) draw();
  else if (node.isConnected) requestAnimationFrame(() => whenStyled(node, draw));
}

// The device pixels of a canvas. One that has them already keeps its memory, which is slow to get; what is drawn then
// begins with what it holds.
export function resize(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
