// The row is rebuilt only if its data has changed; a stage with a lesson is a real link, which can be copied or opened
// in a new tab.
import { make } from "../lib/dom.js";
import { isShortcut } from "../lib/keys.js";

/** stages: with a lesson they are links; blocks: said of the repeated ones.
 * @typedef {{ stage: string, label: string, hint: string, lit: boolean, repeated: boolean, colour: string,
 *   href: string | null }} Stage */
/** @typedef {{ name: string, blocks: string, stages: Stage[] }} Message */

/** @param {import("../lib/view.js").Given<Message>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const written = JSON.stringify(data), row = parentElement.querySelector("nav") ?? make("nav", "", parentElement);
  if (row.dataset.written === written) return;
  row.dataset.written = written;
  row.ariaLabel = data.name;
  row.className = data.stages.every((stage) => stage.lit) ? "whole" : "";
  row.replaceChildren();
  let blocks = null;        // the box of the repeated stages
  data.stages.forEach((stage, index) => {
    const enters = stage.repeated && !blocks;
    if (!stage.repeated) blocks = null;
    if (index) make("span", "arrow", blocks ?? row).ariaHidden = "true";
    if (enters) {
      blocks = make("span", "blocks", row);
      make("span", "times", blocks, data.blocks);
    }
    addStage(blocks ?? row, stage, setTriggerValue);
  });
  const lit = row.querySelector(".lit");
  if (lit && row.scrollWidth > row.clientWidth) row.scrollLeft = Math.max(0, lit.offsetLeft - row.clientWidth / 3);
}

function addStage(parent, stage, setTriggerValue) {
  const node = make(stage.href ? "a" : "span", stage.lit ? "stage lit" : "stage", parent, stage.label);
  node.title = stage.hint;
  node.style.setProperty("--own", `var(--tx-${stage.colour})`);
  if (stage.lit) node.ariaCurrent = "step";
  if (!stage.href) return;
  node.href = stage.href;
  node.onclick = (event) => {
    if (isShortcut(event) || event.shiftKey || event.button) return;
    event.preventDefault();
    setTriggerValue("go", stage.stage);
  };
}
