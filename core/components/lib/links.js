// Links that lead to another picture of the app.
import { isShortcut } from "./keys.js";

/** Let a plain click on a link call go(), which opens its place in the same session; with a key held, or with another
    button, the browser follows the address. */
export function followed(link, go) {
  link.onclick = (event) => {
    if (isShortcut(event) || event.shiftKey || event.button) return;
    event.preventDefault();
    go();
  };
}

/** To the top of the page, where the new picture begins. The control that led there lets go of the keys: the page has
    them again. */
export function toTop() {
  document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  document.activeElement?.blur();
}
