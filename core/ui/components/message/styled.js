// Calls draw() once the page's colours are there: on a first visit they may arrive after the component, and a canvas painted without them stays black.
function whenStyled(node, draw) {
  if (getComputedStyle(node).getPropertyValue("--tx-page")) draw();
  else if (node.isConnected) requestAnimationFrame(() => whenStyled(node, draw));
}
