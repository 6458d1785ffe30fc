// What this browser remembers of the tour, and nobody else: {step}, the one that was open last.
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
