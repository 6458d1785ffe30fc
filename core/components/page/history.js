// One deed of the reader is one entry of the browser's history.
//
// Streamlit makes an entry of every address that a run of the script writes, and of every page that it opens: what one
// press leads to would be several, of which only the last is a state that the reader has seen. So the first address
// after a deed is an entry, and those that follow without another deed take its place.
const DEEDS = ["pointerdown", "keydown", "click"];
let installed = false;

export default function () {
  if (installed) return;
  installed = true;
  let deed = false;      // the reader has done something since the last entry
  for (const kind of DEEDS) addEventListener(kind, (event) => { deed ||= !event.repeat; }, true);
  // What the script writes when the reader has gone to an entry belongs to that entry; another would cut off the way
  // forward.
  addEventListener("popstate", () => { deed = false; }, true);
  const push = history.pushState;
  history.pushState = (...entry) => {
    (deed ? push : history.replaceState).apply(history, entry);
    deed = false;
  };
}
