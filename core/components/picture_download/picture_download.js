import { button, make } from "../lib/dom.js";
import { pictureOf } from "./picture.js";

const PNG_SCALE = 2;
const KINDS = { PNG: toPng, SVG: async (svg) => new Blob([svg], { type: "image/svg+xml" }), HTML: toHtml };

export default function ({ data, parentElement }) {
  const row = parentElement.querySelector(".row") ?? build(parentElement);
  row.wanted = data;
}

function build(parent) {
  const row = make("div", "row", parent);
  for (const [kind, toFile] of Object.entries(KINDS))
    button(row, kind, "", async () => {
      const { wanted } = row, svg = pictureOf(wanted.selector);
      message.textContent = svg ? "" : wanted.missing;
      if (svg) save(await toFile(svg, wanted), `${wanted.name}.${kind.toLowerCase()}`);
    });
  const message = make("span", "message", row);
  message.role = "status";
  return row;
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
