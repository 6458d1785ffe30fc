// The life of a component: built once on its root, fed at every run, fitted to its place and to the window.
import { heardIn, unpack } from "./bytes.js";
import { spokenLine } from "./dom.js";
import { Echoes } from "./echo.js";
import { keepFocus } from "./focus.js";
import { marksByKeys } from "./keys.js";
import { contentsAround, hostOf } from "./scrolled.js";
import { pageFoot, whenStyled } from "./theme.js";

const LEAST_SCALE = 1.1, FULL_AT_1 = 800;       // px: on a wall this wide scale 1 is as large as 1.6 on 1280
const SETTLED = [400, 1500];      // ms after which the layout around has settled, even on a first visit

/**
 * The body of a component's default export: one Picture on its root, built once and fed again at every run.
 * view.send(settings) sends Python the reader's settings, view.trigger(name, value) the reader's actions. A view with
 * `echoes` numbers its settings as words, and Python's messages name the last word that Python has heard.
 * view.close(), if there is one, ends it.
 */
export function mount({ parentElement, data, setStateValue, setTriggerValue }, Picture) {
  const root = parentElement.querySelector(".component");
  root.latest = data;
  whenStyled(root, () => {
    if (root.latest !== data) return;       // drawn again when the fonts came, after a later message
    const isNew = !root.view;
    if (isNew) {
      root.view = new Picture(root);
      followFocus(root);
      marksByKeys(root);
      // when a picture is rebuilt, the node in the same place gets the focus
      keepFocus(root, (node) => pathTo(root, node),
        (path) => path.reduce((node, place) => node?.children[place], root));
    }
    const { view } = root, { echoes } = view, header = unpack(data);
    view.send = (settings) => setStateValue("settings", echoes ? { ...settings, sent: echoes.sent } : settings);
    view.trigger = setTriggerValue;
    if (header.scale) {
      header.scale = scaleOf(header.scale);
      root.style.setProperty("--scale", header.scale);
      root.classList.toggle("present", header.scale > 1);
    }
    echoes?.hear(heardIn(data));
    view.receive(header);
    if (isNew) takeFocusOver(root);
  });
  return () => {
    if (!root.view?.close) return;
    root.view.close();
    root.replaceChildren();
    delete root.view;
  };
}

/** The scale at which a wall draws: on a wall of less than 1280 pixels, marks take the same share of it as on 1280. */
export const scaleOf = (scale) => (scale > 1 ? Math.max(LEAST_SCALE, Math.min(scale, window.innerWidth / FULL_AT_1))
  : scale);

/** The default export of a picture that is one class. */
export const mounted = (Picture) => (component) => mount(component, Picture);

/** A base of pictures as a type, for `@extends {View<Message>}` above a picture: its class has the base's members, what
 * mount() gives it, and the fields that receive() takes over from a message.
 * @template Base @typedef {new <Fields = object>(root: any) => Base & Sending & Fields} BaseOf */
/** @typedef {{ send(settings: object): void, trigger(name: string, value: any): void }} Sending */
/** What Streamlit calls the default export of a component with.
 * @template Message
 * @typedef {{ data: Message, parentElement: any, setTriggerValue(name: string, value: any): void }} Given */

class ViewBase {
  constructor(root) {
    this.root = root;
  }
}

/** The base of a picture. */
export const View = /** @type {BaseOf<ViewBase>} */ (ViewBase);

class TitledBase extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    this.title = spokenLine(root, "title");
    root.classList.add("titled");
  }
}

/** The base of most pictures of tokens: a title that is read out, and the echoes of the hand's settings. */
export const TitledView = /** @type {BaseOf<TitledBase>} */ (TitledBase);

let focused = null;         // the root of the picture that has the focus, or had it when the picture left the page

function followFocus(root) {
  root.addEventListener("focusin", () => { focused = root; });
  // the reader went elsewhere
  root.addEventListener("focusout", () => queueMicrotask(() => {
    if (root.isConnected && focused === root && !root.getRootNode().activeElement) focused = null;
  }));
}

/** A picture that left the page while its result was computed passes the focus to its replacement. */
function takeFocusOver(root) {
  if (!focused || focused.isConnected || focused.className !== root.className) return;
  if (document.activeElement === document.body) root.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  focused = null;
}

/** The places of a node among its siblings, from `root` down. */
const pathTo = (root, node) =>
  (node === root ? [] : [...pathTo(root, node.parentNode), [...node.parentNode.children].indexOf(node)]);

/** Call again(width) whenever the width of a node has changed. */
export function onWidth(node, again) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) { width = now; again(now); }
  }).observe(node);
}

/** Call draw() when the width of a place changes. */
export function redrawn(draw, ...places) {
  for (const place of places) onWidth(place, draw);
}

/** The pixels from the top of a node to the bottom of the window, on a page that is not scrolled. */
export function roomBelow(node) {
  let scrolled = 0;
  for (let box = hostOf(node).parentElement; box; box = box.parentElement) scrolled += box.scrollTop;
  return window.innerHeight - node.getBoundingClientRect().top - scrolled;
}

/** The room below a node, within [least, most]: the picture ends on the first screen, above the bar of present mode. */
export function fitHeight(node, least, most, foot = 0) {
  return Math.max(least, Math.min(most, roomBelow(node) - Math.max(20, pageFoot() + 12) - foot));
}

/** Call again() whenever the room below a node has changed because the parts above have found their height; return the
    observer. */
export function onRoom(node, again) {
  let room = Math.round(roomBelow(node));
  const watch = new ResizeObserver(() => {
    const now = Math.round(roomBelow(node));
    if (now !== room) { room = now; again(); }
  });
  for (const box of contentsAround(node)) watch.observe(box);
  return watch;
}

/** Keep the variable --free of a node at the room below it, within [least, most]. */
export function keepFree(node, least, most) {
  const fit = () => {
    if (!node.isConnected) { watch.disconnect(); return; }
    const free = roomBelow(node) - Math.max(14, pageFoot() + 10);
    node.style.setProperty("--free", `${Math.round(Math.max(least, Math.min(most, free)))}px`);
  };
  const watch = new ResizeObserver(fit);
  // the parts above may settle later and change the height of the page
  for (const box of [node, ...contentsAround(node)]) watch.observe(box);
  window.addEventListener("resize", () => node.isConnected && fit());
  for (const later of SETTLED) setTimeout(fit, later);
}

/** Call draw() when a node or the window changes its size, when the parts above give the node more room or take some,
    and when the page around it has settled. */
export function keepFitted(node, draw) {
  const fit = () => whenStyled(node, draw);
  new ResizeObserver(fit).observe(node);
  onRoom(node, fit);
  window.addEventListener("resize", () => node.isConnected && fit());
  for (const later of SETTLED) setTimeout(fit, later);
}
