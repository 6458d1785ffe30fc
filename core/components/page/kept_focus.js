const KEY = "st-key-";      // Streamlit's class of an element with a key
const LEVELS = 3;           // places around a control in which its heir is looked for: its own, its row, the rows
const PATIENCE = 10_000;    // ms in which it may come back
const CONTROL = "button, input, textarea, a[href], summary, [tabindex]";

// Where a control stands: the selectors of the innermost places that have a key, each with its rank among the
// controls there.
function places(node) {
  const found = [];
  for (let place = node.closest(`[class*="${KEY}"]`); place && found.length < LEVELS;
      place = place.parentElement.closest(`[class*="${KEY}"]`)) {
    const key = [...place.classList].find((name) => name.startsWith(KEY));
    found.push({ selector: `.${CSS.escape(key)}`, rank: [...place.querySelectorAll(CONTROL)].indexOf(node) });
  }
  return found;
}

function heirOf({ node, stood }) {
  if (node.isConnected) return node;
  return stood.map(({ selector, rank }) => document.querySelector(selector)?.querySelectorAll(CONTROL)[rank])
    .find((heir) => heir?.tagName === node.tagName);
}

export default function () {
  let held = null, since = 0;      // since: when it was taken away
  const inside = ({ target }) => { held = { node: target, stood: places(target) }; since = 0; };
  const forget = () => { held = null; since = 0; };
  // the reader went elsewhere
  const outside = ({ target }) => queueMicrotask(() => {
    if (held?.node === target && target.isConnected && !target.disabled) forget();
  });
  const pressed = () => { if (document.activeElement === document.body) forget(); };
  const watch = new MutationObserver(() => {
    if (held && (!held.node.isConnected || held.node.disabled)) since ||= performance.now();
    if (!since || document.activeElement !== document.body) return;
    const heir = performance.now() - since < PATIENCE ? heirOf(held) : forget();
    if (heir && !heir.disabled) heir.focus({ preventScroll: true });
  });
  document.addEventListener("focusin", inside);
  document.addEventListener("focusout", outside);
  document.addEventListener("pointerdown", pressed);
  watch.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    watch.disconnect();
    document.removeEventListener("focusin", inside);
    document.removeEventListener("focusout", outside);
    document.removeEventListener("pointerdown", pressed);
  };
}
