// The row is rebuilt only when its data has changed; a stage with a lesson is a real link, so it can be copied or
// opened in a new tab.
export default function ({ data, parentElement, setTriggerValue }) {
  const written = JSON.stringify(data);
  let row = parentElement.querySelector("nav");
  if (row && row.dataset.written === written) return;
  if (!row) {
    row = document.createElement("nav");
    parentElement.appendChild(row);
  }
  row.dataset.written = written;
  row.setAttribute("aria-label", data.name);
  row.className = data.stages.every((stage) => stage.lit) ? "whole" : "";
  row.replaceChildren();
  let blocks = null;
  data.stages.forEach((stage, index) => {
    if (index && !(stage.repeated && !blocks) && !(blocks && !stage.repeated)) (blocks || row).appendChild(arrow());
    if (stage.repeated && !blocks) {
      row.appendChild(arrow());
      blocks = element("span", "blocks");
      row.appendChild(blocks);
      const name = element("span", "times");
      name.textContent = data.blocks;
      blocks.appendChild(name);
    }
    if (!stage.repeated && blocks) {
      blocks = null;
      row.appendChild(arrow());
    }
    (blocks || row).appendChild(chip(stage, setTriggerValue));
  });
  const lit = row.querySelector(".lit");
  if (lit && row.scrollWidth > row.clientWidth) row.scrollLeft = Math.max(0, lit.offsetLeft - row.clientWidth / 3);
}

function chip(stage, setTriggerValue) {
  const node = element(stage.href ? "a" : "span", stage.lit ? "stage lit" : "stage");
  node.textContent = stage.label;
  node.title = stage.hint;
  node.style.setProperty("--own", `var(--tx-${stage.colour})`);
  if (stage.lit) node.setAttribute("aria-current", "step");
  if (stage.href) {
    node.href = stage.href;
    node.onclick = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      setTriggerValue("go", stage.lesson);
    };
  }
  return node;
}

function arrow() {
  const node = element("span", "arrow");
  node.setAttribute("aria-hidden", "true");
  return node;
}

function element(tag, name) {
  const node = document.createElement(tag);
  node.className = name;
  return node;
}
