// Links to the next view.
import { make } from "../lib/dom.js";
import { followed, toTop } from "../lib/links.js";
import { pageScale } from "../lib/theme.js";

/** @param {import("../lib/view.js").Given<{ label: string, href: string }[]>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".component"), written = JSON.stringify(data);
  root.classList.toggle("present", pageScale() > 1);
  if (root.dataset.written === written) return;
  root.dataset.written = written;
  root.replaceChildren();
  for (const { label, href } of data) {
    const link = make("a", "next", root, label);
    link.href = href;
    followed(link, () => {
      toTop(root);
      setTriggerValue("go", href);
    });
  }
}
