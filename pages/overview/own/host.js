// Overview in a file of its own: the field of the text, the picture, and the worker that computes in Python's place.
import { answerHere } from "../../../core/components/lib/answers.js";
import drawMap from "../map.js";

const TYPED = 150;      // ms after the last key until the model reads the text
const KEPT = ["prompt", "at", "edit", "position"];       // of the state, in the address

const said = JSON.parse(document.getElementById("said").textContent);
const field = /** @type {HTMLTextAreaElement} */ (document.getElementById("prompt"));
const status = document.getElementById("status"), stage = document.getElementById("stage");

// The field is as tall as its text.
function fitField() {
  field.style.height = "";
  field.style.height = `${Math.min(160, field.scrollHeight + 2)}px`;
}

const state = { ...said.state, ...fromAddress(), theme: "", scale: 1, canUndo: false };
const before = [];      // texts to which tokens were appended
let turns = 0, typing = 0;

/** The worker: each question gets its answer by the question's number. */
const questions = new Map();
const worker = startWorker();

function startWorker() {
  const script = new Blob([document.getElementById("engine").textContent], { type: "text/javascript" });
  const made = new Worker(URL.createObjectURL(script));
  made.onmessage = ({ data: { number, answer, error } }) => {
    const { resolve, reject } = questions.get(number);
    questions.delete(number);
    if (error) reject(new Error(error));
    else resolve(answer);
  };
  return made;
}

function ask(what, given) {
  return new Promise((resolve, reject) => {
    const number = ++turns;
    questions.set(number, { resolve, reject });
    worker.postMessage({ number, what, given });
  });
}

// ---- the address: a reload, Back, and a bookmark bring the same picture ----

function fromAddress() {
  const kept = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const known = Object.fromEntries(KEPT.filter((name) => name in kept).map((name) => [name, kept[name]]));
  return "position" in known ? { ...known, position: Number(known.position) } : known;
}

function keepAddress({ isNew = false } = {}) {
  const kept = KEPT.filter((name) => state[name] !== said.state[name] && state[name] !== null)
    .map((name) => [name, String(state[name])]);
  const hash = `#${new URLSearchParams(kept)}`;
  if (hash !== (location.hash || "#")) history[isNew ? "pushState" : "replaceState"](null, "", hash);
}

// ---- the picture ----

let shown = 0;

async function show() {
  const turn = ++shown;
  state.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  state.canUndo = before.length > 0 && state.prompt.startsWith(before.at(-1)) && state.prompt !== before.at(-1);
  const data = await ask("message", state);
  if (turn === shown) drawMap({ data, parentElement: stage.shadowRoot ?? built(), setTriggerValue: told });
}

// The component's first content and its styles, in a shadow root as in the app.
function built() {
  const content = /** @type {HTMLTemplateElement} */ (document.getElementById("content"));
  const root = stage.attachShadow({ mode: "open" });
  root.append(content.content.cloneNode(true));
  return root;
}

const acts = {
  picked: (position) => change({ position }),
  layer: (layer) => change({ layer }),
  went: ({ at, position, layer }) => change({ at, position, layer: layer ?? state.layer }, { isNew: true }),
  edited: (edit) => change({ edit }),
  appended: async (token) => {
    before.push(state.prompt);
    write(state.prompt + await ask("decoded", [token]));
  },
  thrown: () => change({ xi: Math.random() }),
  undone: () => write(before.pop() ?? state.prompt),
};

function told(name, value) { acts[name]?.(value); }

function change(settings, options) {
  Object.assign(state, settings);
  keepAddress(options);
  return show();
}

function write(text) {
  field.value = text;
  fitField();
  return change({ prompt: text, position: null });
}

field.oninput = () => {
  fitField();
  clearTimeout(typing);
  typing = setTimeout(() => change({ prompt: field.value, position: null }), TYPED);
};
field.onkeydown = (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  clearTimeout(typing);
  change({ prompt: field.value, position: null });
};
window.addEventListener("popstate", () => {
  Object.assign(state, said.state, fromAddress());
  field.value = state.prompt;
  fitField();
  show();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  window.dispatchEvent(new Event("resize"));
  show();
});

answerHere((body) => ask("answer", body));
field.value = state.prompt;
fitField();
window.addEventListener("resize", fitField);
const weights = document.getElementById("weights");
ask("start", { weights: weights.textContent, tokenizer: said.tokenizer, words: said.words })
  .then(() => { weights.remove(); return show(); })
  .then(() => status.remove(), (error) => { status.textContent = `${said.failed} (${error.message})`; });
