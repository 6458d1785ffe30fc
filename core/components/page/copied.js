// Browsers give navigator.clipboard only to pages over https and on their own machine, and Streamlit's buttons know no
// other way. A selection made by a press may be copied on any page.
export default function () {
  if (!navigator.clipboard) Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText } });
}

async function writeText(text) {
  const selection = getSelection();
  const before = Array.from({ length: selection.rangeCount }, (_, i) => selection.getRangeAt(i));
  const place = document.createElement("span");
  place.textContent = text;
  Object.assign(place.style, { position: "fixed", top: 0, opacity: 0, whiteSpace: "pre", userSelect: "text" });
  document.body.append(place);
  try {
    selection.selectAllChildren(place);
    if (!document.execCommand("copy"))
      throw new DOMException("The browser lets this page copy nothing.", "NotAllowedError");
  } finally {
    selection.removeAllRanges();
    for (const range of before) selection.addRange(range);
    place.remove();
  }
}
