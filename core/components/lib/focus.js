// Keeps the focus where the reader put it when the focused control is removed or disabled.

const PATIENCE = 10_000;    // ms within which the control may come back

/**
 * Keep the focus inside `root`, the document or a part of it. placeOf(node) is the place of a control, heirOf(place)
 * the control now at that place. Return a function that stops it.
 */
export function keepFocus(root, placeOf, heirOf) {
  let focused = null, since = 0;      // since: when it was taken away
  const forget = () => { focused = null; since = 0; };
  const listeners = {
    focusin: ({ target }) => { focused = { node: target, place: placeOf(target) }; since = 0; },
    // the reader went elsewhere
    focusout: ({ target }) => queueMicrotask(() => {
      if (focused?.node === target && target.isConnected && !target.disabled) forget();
    }),
    pointerdown: () => { if (document.activeElement === document.body) forget(); },
  };
  const observer = new MutationObserver(() => {
    if (focused && (!focused.node.isConnected || focused.node.disabled)) since ||= performance.now();
    if (!since || document.activeElement !== document.body) return;
    if (performance.now() - since > PATIENCE) { forget(); return; }
    const heir = focused.node.isConnected ? focused.node : heirOf(focused.place);
    if (heir?.tagName === focused.node.tagName && !heir.disabled) heir.focus({ preventScroll: true });
  });
  for (const [name, listener] of Object.entries(listeners)) root.addEventListener(name, listener);
  observer.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    observer.disconnect();
    for (const [name, listener] of Object.entries(listeners)) root.removeEventListener(name, listener);
  };
}
