// Browsers give navigator.clipboard to pages of https and of their own machine alone; Streamlit's buttons ask for
// nothing else. What is selected by a press may be copied anywhere.
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
