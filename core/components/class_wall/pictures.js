// The pictures that stood beside the answers of a class, and the reasons, for the page of results: only this page has
// them, no server.
import { pictureOf } from "../picture_download/picture.js";

const MOST = 40;
const kept = new Map();         // by the name of the question: SVG
const reasons = new Map();      // and the reason of its answer

/** Keep the present picture of the lesson that a question is about, without `strip`, which is above it. */
export function keepPicture(about, lesson, strip) {
  const { display } = strip.style;
  strip.style.display = "none";
  const svg = pictureOf(`.st-key-${lesson}_stage`);
  strip.style.display = display;
  if (!svg) return;
  strip.dataset.kept = "true";
  kept.delete(about);
  kept.set(about, svg);
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
}

export const keepReason = (about, reason) => reasons.set(about, reason);

export const reasonOf = (about) => reasons.get(about) ?? "";

/** The picture that was kept for a question, as a data URL; "" if there is none. */
export const pictureAt = (about) =>
  (kept.has(about) ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(kept.get(about))}` : "");
