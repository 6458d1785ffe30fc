// Mounted with the picture above it. It speaks when the browser has nothing left to do, the picture's first painting included.
export default function ({ setTriggerValue }) {
  const speak = () => setTriggerValue("stands", true);
  if (window.requestIdleCallback) requestIdleCallback(speak, { timeout: 1000 });
  else setTimeout(speak, 200);
}
