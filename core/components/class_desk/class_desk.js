// A class of phones, in the prompt bar: a button that opens it and then shows its code and the number of phones. What a
// class needs is loaded with the first one.
import { button } from "../lib/dom.js";

// in the storage of this tab: "CODE KEY"; and the same with the phones' way to follow the wall
const KEPT = "transformer-class";
export const FOLLOWED = "transformer-class-followed";

export function kept(name = KEPT) {
  try {
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

export function keep(text, name = KEPT) {
  try {
    if (text) sessionStorage.setItem(name, text);
    else sessionStorage.removeItem(name);
  } catch { /* a browser that keeps nothing: the class lasts as long as the page */ }
}

/** Say on the button that it opens a class.
 * @param {HTMLElement} opener @param {import("./desk.js").Message} message */
export function offer(opener, { text, present }) {
  opener.replaceChildren(text.open);
  opener.title = text.open_title;
  opener.className = present ? "opener present" : "opener";
}

/** @param {import("../lib/view.js").Given<import("./desk.js").Message>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".component");
  root.latest = { data, tell: setTriggerValue };
  root.opener ??= button(root, "", "", async () => (root.desk ?? await deskOf(root))?.press(), "opener");
  if (root.desk || data.code || kept()) deskOf(root);
  else offer(root.opener, data);
  // the desk of a page that is left would also hear the second device's wishes
  return () => { root.desk?.close(); root.desk = root.opener = null; root.replaceChildren(); };
}

/** The desk with the latest data; null if the page was left meanwhile. */
async function deskOf(root) {
  const { opener } = root, { Desk } = await import("./desk.js");
  if (root.opener !== opener) return null;
  root.desk ??= new Desk(root);
  root.desk.receive(root.latest);
  return root.desk;
}
