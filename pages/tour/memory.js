// This browser's memory of the tour, sent nowhere: {step}, the one that was open last; and as long as the tab is open,
// what the reader has done in each step with a prompt.
const KEY = "tour", ACTS = "tour-acts";

/** The last record; {} in a browser that keeps nothing. */
export function remembered() {
  try { return JSON.parse(localStorage.getItem(KEY)) ?? {}; } catch { return {}; }
}

export function remember(what) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...remembered(), ...what }));
  } catch { /* a browser that keeps nothing: the tour begins at its first step next time */ }
}

/** The acts by step, as Python takes them, with this prompt under this model. */
export function actsOf(of) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(ACTS));
    return kept.of === of ? kept.acts : {};
  } catch { return {}; }
}

export function keepActs(of, acts) {
  try { sessionStorage.setItem(ACTS, JSON.stringify({ of, acts })); } catch { /* a reload begins anew */ }
}
