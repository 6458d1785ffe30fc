// ms until it speaks again, then twice as long each time: what was said may have been lost with the connection
const PATIENCE = 5000;

// Mounted with the picture above it. It speaks when the browser has nothing left to do, the picture's first painting
// included, and is gone when it has been heard.
export default function ({ setTriggerValue }) {
  let timer, wait = PATIENCE, heard = false;
  const speak = () => {
    if (heard) return;
    setTriggerValue("stands", true);
    timer = setTimeout(speak, wait);
    wait *= 2;
  };
  if (window.requestIdleCallback) requestIdleCallback(speak, { timeout: 1000 });
  else setTimeout(speak, 200);
  return () => { heard = true; clearTimeout(timer); };
}
