// The teacher's side of a class: its state with counts, and the actions that the key allows. All of a page's components
// share one connection, since a browser opens few to one server.

const links = new Map();

/** The link to a class; address: {events, act} of the server, key: the teacher's. */
export function linkTo(code, key, address) {
  const name = `${code} ${key}`;
  if (!links.has(name)) links.set(name, new ClassLink(name, key, address));
  return links.get(name);
}

class ClassLink {
  constructor(name, key, address) {
    // asked: the names of the questions that were asked since the page was loaded
    this.name = name;
    this.key = key;
    this.address = address;
    this.ears = new Set();
    this.shown = null;
    this.asked = new Set();
  }

  /** Call hear(shown) now and at each change; return a function that ends it. shown: an event of the class, or null at
      first. */
  listen(hear) {
    this.ears.add(hear);
    if (!this.events) this.connect();
    hear(this.shown);
    return () => {
      this.ears.delete(hear);
      if (this.ears.size) return;
      this.events.close();
      this.events = undefined;
    };
  }

  connect() {
    this.events = new EventSource(this.address.events);
    this.events.onmessage = ({ data }) => {
      this.shown = JSON.parse(data);
      if (this.shown.phase === "over") this.over();
      for (const hear of [...this.ears]) hear(this.shown);
    };
    this.events.onerror = () => {
      if (this.events?.readyState !== EventSource.CLOSED) return;
      // a refusal ends it for good; a request with the key tells whether the class is over
      setTimeout(async () => {
        const answer = await this.act("check");
        if (answer.status === 404) {
          this.over();
          for (const hear of [...this.ears]) hear({ phase: "over" });
        } else if (this.ears.size) this.connect();
      }, 2000);
    };
  }

  over() {
    this.events?.close();
    links.delete(this.name);
  }

  /** Do an action that the key allows; {status, ...the server's answer}. status 0: the server was not reached. */
  async act(what, more = {}) {
    try {
      const answer = await fetch(this.address.act, { method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ key: this.key, do: what, ...more }) });
      return { status: answer.status, ...await answer.json().catch(() => ({})) };
    } catch {
      return { status: 0 };
    }
  }
}
