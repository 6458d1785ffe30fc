// Keep a text in the browser's own store, or report the text that is there.
/** @param {import("../lib/view.js").Given<{ name: string, text: string | null }>} component */
export default function ({ data: { name, text }, setTriggerValue }) {
  try {
    if (text === null) {
      const found = localStorage.getItem(name);
      if (found) setTriggerValue("found", found);
    } else if (text) localStorage.setItem(name, text);
    else localStorage.removeItem(name);
  } catch { /* a browser that keeps nothing: the text lasts as long as the session */ }
}
