// One link, to the view that comes next.
import { make } from "../lib/dom.js";
import { followed, toTop } from "../lib/links.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".component"), link = root.querySelector("a") ?? make("a", "next", root);
  link.textContent = data.label;
  link.href = data.href;
  followed(link, () => {
    toTop();
    setTriggerValue("go", data.href);
  });
}
