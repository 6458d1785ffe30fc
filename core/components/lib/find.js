// Elements by their CSS selectors, in the components' own trees too.

/** The first element that a selector finds, also in a component's own tree; null if there is none. */
function find(root, selector) {
  const match = root.querySelector(selector);
  if (match) return match;
  for (const host of root.querySelectorAll("*")) {
    const inside = host.shadowRoot && find(host.shadowRoot, selector);
    if (inside) return inside;
  }
  return null;
}

/** Like `find`, for a selector whose first part lies outside of the component that holds the rest. */
export function findAcross(page, selector) {
  const [place, ...inside] = selector.split(" "), outer = find(page, place);
  return find(page, selector) ?? (outer && inside.length ? find(outer, inside.join(" ")) : null);
}
