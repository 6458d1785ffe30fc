// The page of a file that works by itself: what Python has said once, the worker, the field of the text, the address.
const TYPED = 150;      // ms after the last key until the model reads the text

export const said = JSON.parse(document.getElementById("said").textContent);
const field = /** @type {HTMLTextAreaElement} */ (document.getElementById("prompt"));
const status = document.getElementById("status"), stage = document.getElementById("stage");

// ---- the worker: each question gets its answer by the question's number ----

const questions = new Map();
let asked = 0;
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

/** The worker's answer. @param {string} what @param {any} given @returns {Promise<any>} */
export function ask(what, given) {
  return new Promise((resolve, reject) => {
    const number = ++asked;
    questions.set(number, { resolve, reject });
    worker.postMessage({ number, what, given });
  });
}

// ---- the address: a reload, Back, and a bookmark bring the same picture ----

/** The settings of these names that the address has; those in `numbers` as numbers.
    @param {string[]} names @param {string[]} numbers @returns {Record<string, any>} */
export function fromAddress(names, numbers) {
  const kept = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return Object.fromEntries(names.filter((name) => name in kept).map((name) =>
    [name, numbers.includes(name) ? Number(kept[name]) : kept[name]]));
}

/** Write the settings of these names that are not as the file began. isNew: as an entry of its own. */
export function keepAddress(names, state, { isNew = false } = {}) {
  const kept = names.filter((name) => state[name] !== said.state[name] && state[name] !== null)
    .map((name) => [name, String(state[name])]);
  const hash = `#${new URLSearchParams(kept)}`;
  if (hash !== (location.hash || "#")) history[isNew ? "pushState" : "replaceState"](null, "", hash);
}

// ---- the field ----

/** Put a text into the field, which is as tall as its text. @param {string} text */
export function write(text) {
  field.value = text;
  fit();
}

function fit() {
  field.style.height = "";
  field.style.height = `${Math.min(160, field.scrollHeight + 2)}px`;
}

/** Tell of each text that is typed, once the hand rests or presses Enter. @param {(text: string) => void} typed */
function onTyped(typed) {
  let waits = 0;
  field.oninput = () => {
    fit();
    clearTimeout(waits);
    waits = setTimeout(() => typed(field.value), TYPED);
  };
  field.onkeydown = (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    clearTimeout(waits);
    typed(field.value);
  };
  window.addEventListener("resize", fit);
}

// The other pages of a site open on the same text.
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("nav a"))) {
  if (link.pathname === location.pathname) link.ariaCurrent = "page";
  link.onclick = () => {
    const isOwn = field.value === said.state.prompt;
    link.hash = isOwn ? "" : String(new URLSearchParams({ prompt: field.value }));
  };
}

// ---- the picture ----

/** The root of the component, in a shadow root as in the app. @returns {any} */
export function rootOf() {
  if (stage.shadowRoot) return stage.shadowRoot;
  const content = /** @type {HTMLTemplateElement} */ (document.getElementById("content"));
  const root = stage.attachShadow({ mode: "open" });
  root.append(content.content.cloneNode(true));
  return root;
}

/** The look that the reader's system asks for. */
export const theme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

/** Begin: unpack the model, draw the picture, and draw it again for another text, another look, or another entry of the
 * history. show: draws the picture as it stands. typed: takes another text. returned: takes the address again.
 * @param {{ prompt: string, show(): Promise<void>, typed(text: string): void, returned(): void }} page */
export function begin({ prompt, show, typed, returned }) {
  write(prompt);
  onTyped(typed);
  window.addEventListener("popstate", returned);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    window.dispatchEvent(new Event("resize"));
    show();
  });
  const weights = document.getElementById("weights");
  ask("start", { weights: weights.textContent, tokenizer: said.tokenizer, words: said.words })
    .then(() => { weights.remove(); return show(); })
    .then(() => status.remove(), (error) => { status.textContent = `${said.failed} (${error.message})`; });
}
