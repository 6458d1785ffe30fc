// A button for each kind of file. What makes the files is loaded with the first one.
import { button, make } from "../lib/dom.js";

const KINDS = ["PNG", "SVG", "HTML"];

/** __init__.py describes it.
 * @typedef {Record<"selector" | "name" | "title" | "twin" | "missing", string>} Message */

/** @param {import("../lib/view.js").Given<Message>} component */
export default function ({ data, parentElement }) {
  const row = parentElement.querySelector(".row") ?? build(parentElement);
  row.wanted = data;
}

function build(parent) {
  const row = make("div", "row", parent);
  for (const kind of KINDS)
    button(row, kind, "", async () => {
      const { saved } = await import("./files.js");
      message.textContent = await saved(kind, row.wanted) ? "" : row.wanted.missing;
    });
  const message = make("span", "message", row);
  message.role = "status";
  return row;
}
