// The handout of a class: the page as it is printed, and the pictures of its steps, which are fetched one after the
// other from the app's own pages, each opened out of sight as a reader would see it.
import { button, fill, make } from "../../core/components/lib/dom.js";
import { pictureOf } from "../../core/components/picture_download/picture.js";
import { save } from "./class_plan.js";

const PATIENCE = 60_000, LOOK = 300, RESTS = 1_200;      // ms; RESTS: a picture that is there is drawn to its end
const WIDTH = 1100, HEIGHT = 800;

const fetched = new Map();          // by address: the picture as SVG, or null

export function drawHandout(course) {
  const { header, text, bar, root } = course;
  button(bar, text.back, "", () => course.do("handout", { on: false }));
  const get = button(bar, text.fetch, "", () => fetchAll(course, paper, get, said), "go start");
  button(bar, text.print, "", () => paper.contentWindow.print());
  button(bar, text.file, "", () => save(`<!doctype html>\n${paper.contentDocument.documentElement.outerHTML}`,
    "handout.html", "text/html"));
  const said = make("span", "muted said", bar);
  said.role = "status";
  const paper = make("iframe", "paper", root);
  paper.title = text.preview;
  paper.sandbox = "allow-same-origin allow-modals";      // this page reads and prints it, but none of its scripts run
  paper.onload = () => {
    for (let number = 1; number <= header.n; number++) fillIn(course, paper, number);
    paper.style.height = `${paper.contentDocument.documentElement.scrollHeight + 4}px`;
  };
  paper.srcdoc = header.file;
}

async function fetchAll(course, paper, get, said) {
  const { header, text } = course;
  get.disabled = true;
  for (let number = 1; number <= header.n && paper.isConnected; number++) {
    said.textContent = fill(text.fetching, { i: number, n: header.n });
    const address = course.address(String(number));
    if (!fetched.get(address)) fetched.set(address, await fetchPicture(address));
    fillIn(course, paper, number);
  }
  said.textContent = "";
  get.disabled = false;
}

/** Put a step's picture in its place on the page; what to look for where it could not be had. */
function fillIn(course, paper, number) {
  const address = course.address(String(number));
  const figure = paper.contentDocument?.querySelectorAll("figure")[number - 1];
  if (!figure || !fetched.has(address)) return;
  const svg = fetched.get(address);
  figure.replaceChildren();
  if (svg) make("img", "", figure).src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  else make("p", "", figure, figure.dataset.text);
}

/** The picture at an address of the app, as SVG; null if none came in time. */
async function fetchPicture(address) {
  const frame = make("iframe", "", document.body);
  // not beside the window, where a browser draws nothing
  Object.assign(frame.style, { position: "fixed", inset: "0", width: `${WIDTH}px`, height: `${HEIGHT}px`, border: "0",
    opacity: "0", zIndex: "-1", pointerEvents: "none" });
  Object.assign(frame, { ariaHidden: "true", tabIndex: -1 });
  frame.src = `${address}&ask=false&embed=true&embed_options=light_theme`;
  const pause = (ms) => new Promise((go) => setTimeout(go, ms)), end = Date.now() + PATIENCE;
  try {
    while (Date.now() < end && frame.isConnected) {
      await pause(LOOK);
      const page = frame.contentDocument, wanted = page && selectorOf(page);
      if (!wanted || !pictureOf(wanted, page)) continue;
      await pause(RESTS);
      return pictureOf(wanted, page);
    }
    return null;
  } finally {
    frame.remove();
  }
}

/** The selector of a page's picture, as its downloads have it: there is one once the picture stands. */
function selectorOf(page) {
  for (const host of page.querySelectorAll(".st-key-lesson_downloads *")) {
    const row = host.shadowRoot?.querySelector(".row");
    if (row?.wanted) return row.wanted.selector;
  }
  return null;
}
