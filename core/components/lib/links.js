// Links that lead to another picture of the app.
import { isShortcut } from "./keys.js";
import { contentsAround } from "./scrolled.js";

/** Let a plain click on a link call go(), which opens its place in the same session; with a key held, or with another
    button, the browser follows the address. */
export function followed(link, go) {
  link.onclick = (event) => {
    if (isShortcut(event) || event.shiftKey || event.button) return;
    event.preventDefault();
    go();
  };
}

/** Scroll to the top of the page around a node, where the new picture begins. The control that led there loses the
    focus, so that the page has the keys again. */
export function toTop(node) {
  for (const content of contentsAround(node)) content.parentElement.scrollTo(0, 0);
  /** @type {HTMLElement} */ (document.activeElement)?.blur();
}
