// The scrollable boxes around a component.

export const hostOf = (node) => node.getRootNode().host ?? node;

/** The contents that scroll with a node: of every scrollable box around it, the child that holds the node. */
export function contentsAround(node) {
  const contents = [], scrolls = (place) => ["auto", "scroll"].includes(getComputedStyle(place).overflowY);
  for (let box = hostOf(node); box.parentElement; box = box.parentElement)
    if (scrolls(box.parentElement)) contents.push(box);
  return contents;
}
