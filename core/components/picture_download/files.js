// The picture as a file of one of three kinds.
import { make } from "../lib/dom.js";
import { pictureOf } from "./picture.js";

const PNG_SCALE = 2;
const KINDS = { PNG: toPng, SVG: async (svg) => new Blob([svg], { type: "image/svg+xml" }), HTML: toHtml };

/** Save the picture inside the element that `wanted` selects, as a file of a kind; false if there is none. */
export async function saved(kind, wanted) {
  const svg = pictureOf(wanted.selector);
  if (svg) save(await KINDS[kind](svg, wanted), `${wanted.name}.${kind.toLowerCase()}`);
  return Boolean(svg);
}

async function toPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * PNG_SCALE;
  canvas.height = image.height * PNG_SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

async function toHtml(svg, { title, twin }) {
  const page = document.implementation.createHTMLDocument(title), charset = page.createElement("meta");
  page.documentElement.lang = document.documentElement.lang || "en";
  charset.setAttribute("charset", "utf-8");
  page.head.prepend(charset);
  make("h1", "", page.body, title);
  page.body.append(page.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
  make("p", "", page.body, twin);
  make("a", "", page.body, location.href).href = location.href;
  return new Blob(["<!doctype html>\n", page.documentElement.outerHTML], { type: "text/html" });
}

function save(blob, name) {
  const link = Object.assign(make("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
