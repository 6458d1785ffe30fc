import oneEntryADeed from "./history.js";

// ms until the signal is sent again, then twice as long each time: it may have been lost with the connection
const PATIENCE = 5000;
// ms after which a browser that is never idle sends it all the same: a slow machine paints a picture after seconds
const LATEST = 5000;

// Mounted with the picture above it, or called again with another one. Sends the signal when the browser is idle, after
// the picture's first painting, and is removed when Python has received it.
//
// Python then writes the address, and the history entry that this makes must be counted: on a slow connection the
// page's other helpers may still be on their way.
//
// A reader who goes back or forward meanwhile leaves this picture, and the next picture sends its own signal. This one
// would carry the old page's settings along and undo the step back.
export default function ({ parentElement, setTriggerValue }) {
  parentElement.end?.();
  oneEntryADeed();
  let timer, wait = PATIENCE, done = false, left = false;
  const signal = () => {
    if (done) return;
    if (!left) setTriggerValue("stands", true);
    left = false;
    timer = setTimeout(signal, wait);
    wait *= 2;
  };
  const leave = () => { left = true; };
  addEventListener("popstate", leave, true);
  if (window.requestIdleCallback) requestIdleCallback(signal, { timeout: LATEST });
  else setTimeout(signal, 200);
  parentElement.end = () => { done = true; clearTimeout(timer); removeEventListener("popstate", leave, true); };
  return parentElement.end;
}
