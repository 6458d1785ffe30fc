// The keys go through the marks of a chart as the pointer does, and press them.
import { isShortcut } from "../lib/keys.js";
import { CHARTS } from "./chart_keys.js";
import { marksOf } from "./chart_marks.js";

const BY = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const NEAR = 0.5;       // pixels: less is the same place

// The next mark in a direction: the nearest along it, and among several side by side the one most nearly straight
// ahead. Up and down go through points above each other, as on several lines; left and right follow a point's own line.
// In a crowd it is the nearest of the marks that are more along the direction than across it.
function next(marks, from, [dx, dy]) {
  const along = (mark) => (dx ? dx * (mark.x - from.x) : dy * (mark.y - from.y));
  const across = (mark) => Math.abs(dx ? mark.y - from.y : mark.x - from.x);
  let ahead = marks.filter((mark) => along(mark) > NEAR);
  if (from.crowded)
    return nearest(ahead.filter((mark) => across(mark) <= along(mark)),
      (mark) => Math.hypot(along(mark), across(mark)));
  if (dy && from.point && marks.filter((mark) => across(mark) <= NEAR).length > 1)
    ahead = ahead.filter((mark) => across(mark) <= NEAR);
  const first = nearest(ahead, along), beside = ahead.filter((mark) => along(mark) <= along(first) + NEAR);
  const line = beside.filter((mark) => dx && from.point && mark.tone === from.tone);
  return nearest(line.length ? line : beside, across);
}

function nearest(marks, distance) {
  return marks.reduce((best, mark) => (best && distance(best) <= distance(mark) ? best : mark), undefined);
}

// The mark that a key leads to from the present one; the first key shows the picture's first mark.
function reached(key, marks, here) {
  if (key === "Home") return marks[0];
  if (key === "End") return marks.at(-1);
  if (!here) return marks.find((mark) => mark.begins) ?? marks[0];
  return key in BY ? next(marks, here, BY[key]) ?? here : here;
}

// The titles of the axes, the picture's description if the page has one, and the hint about the keys.
function labelOf(chart, hint) {
  const axes = [...chart.querySelectorAll(
    ".role-axis-title text, .role-title-text text, .g-xtitle text, .g-ytitle text")].map((title) => title.textContent);
  /** @type {HTMLElement} */
  const twin = document.querySelector(".st-key-lesson_twin");
  return [axes.join(", "), twin?.innerText, hint].filter(Boolean)
    .map((part) => part.replace(/[.\s]*$/, ".")).join(" ");
}

let lost = null;        // the box that was removed from the page with the focus in it

// Pass the focus on to the box that replaces it. The new box may come before the old one goes, and on a slow machine
// become readable before that.
function handOn() {
  if (!lost || lost.isConnected || document.activeElement !== document.body) return;
  /** @type {HTMLElement} */
  const heir = document.querySelector(`.chart-keys[data-place="${lost.dataset.place}"]`);
  if (heir) lost = null;
  heir?.focus({ preventScroll: true });
}

// Make a chart's box a stop of the Tab key. The box stays when the chart in it is redrawn, so the mark is kept as a
// place in the box; when Streamlit replaces the box as well, as with Plotly, the new box takes over the focus.
export function readable(box, hint) {
  const chart = box.querySelector(CHARTS), ring = document.createElement("div"), label = document.createElement("div");
  let spot = null;
  ring.className = "chart-ring";
  label.className = "chart-label";
  label.role = "status";
  box.append(ring, label);
  box.classList.add("chart-keys");
  box.tabIndex = 0;
  box.role = "application";
  const name = () => { box.ariaLabel = labelOf(chart, hint); };
  const leave = () => { spot = null; ring.hidden = true; label.textContent = ""; };
  const show = (mark) => {
    const { left, top, width } = box.getBoundingClientRect();
    spot = { x: mark.x - left, y: mark.y - top };
    ring.hidden = false;
    for (const part of [ring, label]) Object.assign(part.style, { left: `${spot.x}px`, top: `${spot.y}px` });
    label.classList.toggle("before", spot.x > width / 2);
    label.textContent = mark.text;
  };
  name();
  leave();
  box.dataset.place = box.closest("[class*=st-key-]")?.className.match(/st-key-\S+/)[0] ?? "";
  box.onfocus = name;
  box.onblur = ({ relatedTarget }) => {
    leave();
    if (relatedTarget) return;
    lost = box;
    setTimeout(() => {
      if (box.isConnected && lost === box) lost = null;
      handOn();
    });
  };
  box.onkeydown = (event) => {
    if (event.target !== box || isShortcut(event)) return;
    if (event.key === "Escape") return leave();
    if (!(event.key in BY) && !["Home", "End", "Enter", " "].includes(event.key)) return;
    event.preventDefault();
    const marks = marksOf(box.querySelector(CHARTS)), { left, top } = box.getBoundingClientRect();
    if (!marks.length) return;
    const here = spot && nearest(marks, (mark) => Math.hypot(mark.x - left - spot.x, mark.y - top - spot.y));
    const to = reached(event.key, marks, here);
    show(to);
    if (here && (event.key === "Enter" || event.key === " ")) to.press();
  };
  handOn();
}
