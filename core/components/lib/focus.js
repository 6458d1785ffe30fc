// The focus stays where the reader put it when what has it is taken away or switched off.

const PATIENCE = 10_000;    // ms in which it may come back

/**
 * Keep the focus inside `root`, the document or a part of it. placeOf(node) says where a control stands, and
 * heirOf(place) what stands there now. Returns the function that ends it.
 */
export function keepFocus(root, placeOf, heirOf) {
  let held = null, since = 0;      // since: when it was taken away
  const forget = () => { held = null; since = 0; };
  const listeners = {
    focusin: ({ target }) => { held = { node: target, place: placeOf(target) }; since = 0; },
    // the reader went elsewhere
    focusout: ({ target }) => queueMicrotask(() => {
      if (held?.node === target && target.isConnected && !target.disabled) forget();
    }),
    pointerdown: () => { if (document.activeElement === document.body) forget(); },
  };
  const watch = new MutationObserver(() => {
    if (held && (!held.node.isConnected || held.node.disabled)) since ||= performance.now();
    if (!since || document.activeElement !== document.body) return;
    if (performance.now() - since > PATIENCE) { forget(); return; }
    const heir = held.node.isConnected ? held.node : heirOf(held.place);
    if (heir?.tagName === held.node.tagName && !heir.disabled) heir.focus({ preventScroll: true });
  });
  for (const [name, listener] of Object.entries(listeners)) root.addEventListener(name, listener);
  watch.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    watch.disconnect();
    for (const [name, listener] of Object.entries(listeners)) root.removeEventListener(name, listener);
  };
}
