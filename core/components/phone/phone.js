// The page of a phone: join by a code, answer, change the answer until the question is closed, see the class beside the
// model.
import { showTally } from "../class_tally/tally.js";
import { button, fill, make, setText } from "../lib/dom.js";
import { contentsAround } from "../lib/scrolled.js";
import { guessOf } from "../prediction/guesses.js";
import { inline } from "../prediction/inline.js";
import { Outbox, phoneOf, storageOf } from "./connection.js";

const { text, base } = JSON.parse(document.getElementById("told").textContent);
const root = document.querySelector(".phone");
const GONE = 404, FULL = 409, BUSY = 429;
const FIT_EVERY = 1000, LEAST_HEIGHT = 200, MOST_HEIGHT = 4000, MOST_WIDTH = 1100;     // ms; pixels of a frame

class Phone {
  constructor(code) {
    this.code = code;
    const storage = storageOf(window);
    this.phone = phoneOf(storage);
    this.line = make("header", "line", root);
    make("b", "code", this.line, code).translate = false;
    this.net = make("span", "net", this.line, text.joining);
    this.net.role = "status";
    this.card = make("section", "card", root);
    this.mine = null;
    this.outbox = new Outbox({ code, phone: this.phone, address: `${base}/${code}/answer`, storage,
      told: (state, answer) => this.hear(state, answer) });
    this.connect();
  }

  connect() {
    const events = new EventSource(`${base}/${this.code}/events?phone=${this.phone}`);
    events.onopen = () => setText(this.net, text.joined);
    // a browser that is offline hears nothing, not even of its connection
    window.onoffline = () => setText(this.net, text.offline);
    window.ononline = () => { if (events.readyState === EventSource.OPEN) setText(this.net, text.joined); };
    events.onmessage = ({ data }) => this.receive(JSON.parse(data), events);
    events.onerror = () => {
      // a refusal ends it for good, and only another request tells the reason
      if (events.readyState === EventSource.CLOSED) this.find();
      else setText(this.net, text.offline);
    };
  }

  async find() {
    const status = await fetch(`${base}/${this.code}/events?phone=${this.phone}`)
      .then((answer) => { answer.body?.cancel(); return answer.status; }).catch(() => 0);
    if (status === GONE) join(fill(text.none, { code: this.code }));
    else {
      setText(this.net, status === FULL ? text.full : text.offline);
      setTimeout(() => this.connect(), status === BUSY ? 10_000 : 2_000);
    }
  }

  receive(shown, events) {
    if (shown.phase === "over") {
      events.close();
      setText(this.net, "");
      this.card.replaceChildren();
      make("p", "say", this.card, text.over);
      return;
    }
    if (shown.mine) this.mine = shown.mine;
    const isNew = shown.question !== this.shown?.question || shown.phase !== this.shown?.phase
      || JSON.stringify(shown.tally) !== JSON.stringify(this.shown?.tally);
    this.shown = shown;
    if (isNew) this.draw();
    this.showFollow();
  }

  /** This phone's answer to the present question, or null. */
  get answer() {
    return this.mine?.question === this.shown.question ? this.mine.guess : null;
  }

  draw() {
    const { phase, asked } = this.shown;
    this.card.replaceChildren();
    this.card.dataset.phase = phase;
    if (phase === "waiting" || !asked) {
      make("p", "say", this.card, text.look);
      return;
    }
    if (this.shown.compares) make("p", "kicker", this.card, text.second);
    const ask = inline(make("h1", "question", this.card), asked.ask);
    ask.id = "asked";
    ask.tabIndex = -1;
    if (asked.prompt && asked.guess.kind !== "place") Object.assign(make("p", "prompt", this.card, asked.prompt),
      { dir: "auto", translate: false });
    const draws = { open: () => this.offer(asked, ask), closed: () => this.tellClosed(),
      revealed: () => this.reveal(asked) };
    draws[phase]();
    ask.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  offer(asked, ask) {
    const form = make("form", "answer", this.card), send = make("button", "commit", undefined, text.send);
    const picked = guessOf(asked.guess, text, (is) => { send.disabled = !is; setText(send, this.sendText()); }, ask);
    form.append(picked.node, send);
    send.type = "submit";
    send.disabled = true;
    this.send = send;
    this.said = make("p", "said", form);
    this.said.role = "status";
    if (this.answer !== null) {
      setText(this.said, text.kept);
      this.mark(picked.node, asked.guess.kind);
    }
    form.onsubmit = (event) => {
      event.preventDefault();
      if (send.disabled) return;
      send.disabled = true;
      this.outbox.put({ question: this.shown.question, ...picked.told() });
    };
  }

  sendText() {
    return this.answer === null ? text.send : text.change;
  }

  /** Show the earlier answer in the form. */
  mark(node, kind) {
    const inputs = node.querySelectorAll("input");
    if (kind === "word") inputs[0].value = this.answer;
    else if (kind !== "number") for (const input of inputs) input.checked = Number(input.value) === this.answer;
    else setText(node.querySelector("output"), String(this.answer));
  }

  hear(state, answer) {
    if (state === "kept") this.mine = answer;
    if (answer.question !== this.shown?.question || !this.said?.isConnected) return;
    setText(this.said, { sending: text.sending, kept: text.kept, closed: text.too_late, offline: text.waits }[state]);
    this.said.dataset.state = state;
    setText(this.send, this.sendText());
  }

  tellClosed() {
    make("p", "say", this.card, this.answer === null ? text.closed_without : text.closed);
  }

  reveal(asked) {
    const { tally, first, model } = this.shown;
    make("p", "kicker", this.card, fill(text.answered, { n: tally.n }));
    showTally(this.card, { asked, tally, first, model, mine: this.answer, text });
  }

  /** Show the picture on the wall, which follows the teacher and can only be read; and a link to a picture of one's
      own. */
  showFollow() {
    const { follow: link } = this.shown;
    if (link === this.followed) return;
    this.followed = link;
    if (!this.place) this.place = make("section", "follow", root);
    if (!link) { this.place.replaceChildren(); this.frame = undefined; clearInterval(this.fitting); return; }
    if (this.frame) { this.frame.style.width = ""; this.frame.src = looking(link); }
    else {
      this.place.replaceChildren();
      button(this.place, text.follow, "", () => this.openFrame(), "quiet");
    }
    this.own?.remove();
    this.own = make("a", "", this.place, text.explore);
    Object.assign(this.own, { href: link, target: "_blank" });
  }

  openFrame() {
    this.place.querySelector("button")?.remove();
    this.frame = make("iframe", "", undefined);
    clearInterval(this.fitting);
    this.fitting = setInterval(() => fit(this.frame), FIT_EVERY);
    Object.assign(this.frame, { src: looking(this.followed), title: text.follow, inert: true });
    this.place.prepend(this.frame);
  }
}

/** Fit a frame that cannot be scrolled: make it as high and as wide as its picture needs, and draw it smaller if the
    phone is narrower. */
function fit(frame) {
  const any = frame.contentDocument?.querySelector("[class*=st-key-]"), content = any && contentsAround(any).at(-1);
  if (!content) return;
  const wide = Math.min(frame.clientWidth + overflow(content), MOST_WIDTH);
  if (wide > frame.clientWidth + 8) frame.style.width = `${wide}px`;
  const scale = frame.parentNode.clientWidth / frame.offsetWidth;
  const height = Math.min(Math.ceil(content.scrollHeight), MOST_HEIGHT);
  if (height > LEAST_HEIGHT && Math.abs(height - frame.clientHeight) > 8) frame.style.height = `${height}px`;
  frame.style.scale = String(scale);
  frame.style.marginBottom = `${(scale - 1) * frame.offsetHeight}px`;
}

/** The pixels by which the widest part that scrolls sideways is wider than its place. */
function overflow(root) {
  const nodes = [...root.querySelectorAll("*")];
  return Math.max(0, ...nodes.map((node) => Math.max(node.shadowRoot ? overflow(node.shadowRoot) : 0,
    /auto|scroll/.test(getComputedStyle(node).overflowX) ? node.scrollWidth - node.clientWidth : 0)));
}

/** The address of a link's page with its picture alone, only to be looked at. */
const looking = (link) => `${link}&look=true`;

/** Draw the field for the code. why: the fault of the previous code. */
function join(why = "") {
  root.replaceChildren();
  const form = make("form", "join", root), label = make("label", "", form, text.code);
  const input = make("input", "", label);
  Object.assign(input, { type: "text", autocomplete: "off", autocapitalize: "characters", spellcheck: false,
    maxLength: 12 });
  const go = button(form, text.join, "", null, "commit");
  go.type = "submit";
  make("p", "said", form, why).role = "alert";
  form.onsubmit = (event) => {
    event.preventDefault();
    const code = input.value.toUpperCase().replace(/[\s-]/g, "");
    if (/^[A-Z0-9]+$/.test(code)) location.assign(`${base}/${code}`);
  };
  input.focus();
}

const [written, page] = location.pathname.slice(base.length + 1).split("/");
if (page === "lead") import("./lead.js").then(({ lead }) => lead(root, written.toUpperCase(), base, text));
else if (written) new Phone(written.toUpperCase());
else join();
