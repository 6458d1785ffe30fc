// What this browser remembers of the tour, and nobody else: {step, ended, skipped, visited}.
const KEY = "tour";

/** What was kept last; {} in a browser that keeps nothing. */
export function remembered() {
  try { return JSON.parse(localStorage.getItem(KEY)) ?? {}; } catch { return {}; }
}

export function remember(what) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...remembered(), ...what }));
  } catch { /* a browser that keeps nothing: the tour begins at its first step next time */ }
}

/** Whether this tab is the first that came to the home page; a browser that keeps nothing has never been here. */
export function isFirstVisit() {
  try {
    if (remembered().visited && !sessionStorage.getItem(KEY)) return false;
    sessionStorage.setItem(KEY, "first");
    remember({ visited: true });
  } catch { /* as above */ }
  return true;
}
