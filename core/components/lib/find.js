// Elements by their CSS selectors, in the components' own trees too.

/** The first element that a selector names, in a component's own tree too; null where none is. */
function find(root, selector) {
  const match = root.querySelector(selector);
  if (match) return match;
  for (const host of root.querySelectorAll("*")) {
    const inside = host.shadowRoot && find(host.shadowRoot, selector);
    if (inside) return inside;
  }
  return null;
}

/** The same where the element's first part is outside of the component that holds the rest. */
export function findAcross(page, selector) {
  const [place, ...inside] = selector.split(" "), outer = find(page, place);
  return find(page, selector) ?? (outer && inside.length ? find(outer, inside.join(" ")) : null);
}
