// ms until the signal is sent again, then twice as long each time: it may have been lost with the connection
const PATIENCE = 5000;

// Mounted with the picture above it. Sends the signal when the browser is idle, after the picture's first painting, and
// is removed when Python has received it.
export default function ({ setTriggerValue }) {
  let timer, wait = PATIENCE, done = false;
  const signal = () => {
    if (done) return;
    setTriggerValue("stands", true);
    timer = setTimeout(signal, wait);
    wait *= 2;
  };
  if (window.requestIdleCallback) requestIdleCallback(signal, { timeout: 1000 });
  else setTimeout(signal, 200);
  return () => { done = true; clearTimeout(timer); };
}
