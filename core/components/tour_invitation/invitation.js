// data: text, href. Shown in the first visit alone, until the tour is taken to its end or waved away. A visit lasts as
// long as the tab; the page's style gives it room only while <html> says that it is there, so nothing moves for others.
import { button, fill, make } from "../lib/dom.js";
import { followed } from "../lib/links.js";
import { isFirstVisit, remember, remembered } from "./memory.js";

const SHOWN = "tourInvites";        // in the dataset of <html>

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".component"), { text, href } = data;
  const { step, ended, skipped } = remembered();
  root.replaceChildren();
  const close = () => { delete document.documentElement.dataset[SHOWN]; };
  if (!isFirstVisit() || ended || skipped) { close(); return; }
  document.documentElement.dataset[SHOWN] = "";
  make("b", "", root, text.title);
  make("span", "text", root, text.text);
  const way = make("a", "way", root, step > 1 ? fill(text.resume, { i: step }) : text.start);
  way.href = href;
  followed(way, () => { close(); setTriggerValue("take", true); });
  button(root, text.skip, "", () => { remember({ skipped: true }); close(); }, "skip");
}
