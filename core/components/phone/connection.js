// A phone's answers to its class: each is sent until it is kept. An answer given without a network waits in the
// browser's storage; a page that is opened again sends it.

const PHONE = "transformer-phone", WAITS = "transformer-answer-";
const AGAIN = [500, 1000, 2000, 4000];            // ms between two tries; the last one repeats

/** The browser's storage; if it does not let pages keep anything, a storage in the page itself. */
export function storageOf(browser) {
  try {
    return browser.localStorage;
  } catch {
    const kept = new Map();
    return { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text),
      removeItem: (name) => kept.delete(name) };
  }
}

function stored(storage, name) {
  try {
    return JSON.parse(storage.getItem(name));
  } catch {
    return null;
  }
}

function store(storage, name, value) {
  try {
    if (value === null) storage.removeItem(name);
    else storage.setItem(name, JSON.stringify(value));
  } catch { /* a browser that keeps nothing: the answer lasts as long as the page */ }
}

/** The random number by which the class distinguishes this browser, the same in all of its tabs. */
export function phoneOf(storage, random = crypto) {
  const known = stored(storage, PHONE);
  if (/^[0-9a-f]{32}$/.test(known ?? "")) return known;
  const phone = [...random.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  store(storage, PHONE, phone);
  return phone;
}

/**
 * Send only the newest answer, until the server has kept or refused it.
 * told(state) hears "sending", "kept", "closed" or "offline" with the answer {question, guess, sure}.
 */
export class Outbox {
  constructor({ code, phone, address, storage, send = fetch.bind(globalThis),
    later = (go, ms) => setTimeout(go, ms), told }) {
    this.phone = phone;
    this.address = address;
    this.storage = storage;
    this.send = send;
    this.later = later;
    this.told = told;
    this.name = WAITS + code;
    this.tries = 0;
    this.waiting = stored(storage, this.name);
    if (this.waiting) this.try();
  }

  put(answer) {
    this.waiting = answer;
    this.tries = 0;
    store(this.storage, this.name, answer);
    this.told("sending", answer);
    return this.busy ? undefined : this.try();
  }

  async try() {
    const answer = this.waiting;
    if (!answer) return;
    this.busy = true;
    const state = await this.ask(answer);
    this.busy = false;
    if (this.waiting !== answer) { await this.try(); return; }      // another came meanwhile
    if (state === "offline") {
      this.told(state, answer);
      this.later(() => this.busy || this.try(), AGAIN[Math.min(this.tries, AGAIN.length - 1)]);
      this.tries += 1;
      return;
    }
    this.waiting = null;
    store(this.storage, this.name, null);
    this.told(state, answer);
  }

  /** Send an answer; return "kept", "closed", or "offline" if it must be sent again. */
  async ask(answer) {
    try {
      const response = await this.send(this.address, { method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ phone: this.phone, ...answer }) });
      if (response.ok) return (await response.json()).kept ? "kept" : "closed";
      return response.status === 429 || response.status >= 500 ? "offline" : "closed";
    } catch {
      return "offline";
    }
  }
}
