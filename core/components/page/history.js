// One action of the reader is one entry in the browser's history.
//
// Streamlit makes an entry for every address that a run of the script writes, and for every page that it opens: one
// press would make several, and only the last is a state that the reader has seen. So the first address after an action
// is an entry, and further addresses without another action replace it.
const DEEDS = ["pointerdown", "keydown", "click"];
let installed = false;

export default function () {
  if (installed) return;
  installed = true;
  let deed = false;      // the reader has done something since the last entry
  /** @type {(event: any) => void} */
  const done = ({ repeat }) => { deed ||= !repeat; };
  for (const kind of DEEDS) addEventListener(kind, done, true);
  // An address that the script writes after the reader has gone to an entry belongs to that entry; a new one would cut
  // off the way forward.
  addEventListener("popstate", () => { deed = false; }, true);
  const push = history.pushState;
  history.pushState = (...entry) => {
    (deed ? push : history.replaceState).apply(history, entry);
    deed = false;
  };
}
