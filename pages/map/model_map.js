// The map: in the middle the model, from text to the next token; around it the lessons, each with its views, and a line
// from each to the part that it opens. On a narrow screen the lists stand below the drawing, without lines.
import { draw, drawText, indexed, make, sized } from "../../core/components/lib/dom.js";
import { followed } from "../../core/components/lib/links.js";
import { mounted, onWidth } from "../../core/components/lib/view.js";
import { address } from "../course/places.js";

const WIDE = 960;                   // pixels from which the lists stand beside the drawing
const NARROW_HEIGHT = 760;          // pixels of the drawing above them
const WIDTH = 270, BOX = 42, SPINE = 78, LEFT = 8;
// The parts from top to bottom: the colour of each, how far down it stands, as a share of the drawing, and whether it
// stands beside the stream, to which it adds.
const PARTS = {
  text: ["kept", 0.04], tokens: ["kept", 0.12], vectors: ["kept", 0.2], positions: ["position", 0.28],
  attention: ["attention", 0.43, true], mlp: ["mlp", 0.59, true],
  scores: ["kept", 0.75], probabilities: ["kept", 0.85], draw: ["drawn", 0.95],
};
const BLOCK = [0.35, 0.675], STREAM = 0.51;

class ModelMap {
  constructor(root) {
    this.root = root;
    onWidth(root, () => this.lines());
  }

  receive(header) {
    const written = JSON.stringify(header);
    if (this.written === written) return;
    Object.assign(this, { written, header, text: header.text });
    this.root.replaceChildren();
    const legend = make("div", "legend", this.root);
    for (const name of ["core", "deeper"]) make("span", `key ${name}`, legend, this.text[name]);
    const field = make("div", "field", this.root);
    this.places = Object.fromEntries(["left", "drawing", "right"].map((side) => [side, make("div", side, field)]));
    this.places.below = make("div", "below", this.root);
    this.svg = draw("svg", { role: "img" }, this.places.drawing);
    this.ties = draw("svg", { class: "ties", "aria-hidden": "true" }, field);
    this.cards = header.lessons.map((lesson) => this.card(lesson));
    this.lines();
  }

  card(lesson) {
    const card = make("section", `card ${lesson.part}`, this.places[lesson.side]), head = make("h3", "", card);
    this.link(head, lesson.id, lesson.name);
    if (lesson.side === "below") make("span", "part", head, this.text[`part_${lesson.part}`]);
    if (lesson.says) make("p", "says", card, lesson.says);
    const list = make("ul", "", card);
    for (const view of lesson.views) {
      const row = make("li", view.core ? "core" : "deeper", list);
      this.link(row, view.id, view.name);
      indexed(make("span", "says", row), view.says);
    }
    const lit = (is) => () => {
      card.classList.toggle("lit", is);
      this.paths?.get(card)?.classList.toggle("lit", is);
    };
    Object.assign(card, { onpointerenter: lit(true), onpointerleave: lit(false), onfocusin: lit(true),
      onfocusout: lit(false) });
    return { card, lesson };
  }

  link(parent, key, name) {
    const link = make("a", "go", parent, name);
    link.href = address(this.header, this.header.links[key]);
    followed(link, () => this.send({ open: key, at: Date.now() }));
  }

  /** Draws the model as high as the lists beside it, and the lines between them. */
  lines() {
    if (!this.svg) return;
    const wide = this.root.clientWidth >= WIDE, { left, right, drawing } = this.places, { scale } = this.header;
    this.root.classList.toggle("wide", wide);
    const height = wide ? Math.max(left.scrollHeight, right.scrollHeight) / scale : NARROW_HEIGHT;
    this.svg.replaceChildren();
    sized(this.svg, WIDTH, height, this.text.drawing);
    this.svg.style.width = `${WIDTH * scale}px`;
    this.svg.style.height = `${height * scale}px`;
    this.model(height);
    this.ties.replaceChildren();
    this.paths = new Map();
    if (!wide) return;
    const home = this.ties.parentNode.getBoundingClientRect(), place = drawing.getBoundingClientRect();
    sized(this.ties, home.width, home.height, "");
    for (const { card, lesson } of this.cards) {
      if (lesson.side === "below") continue;
      const box = card.getBoundingClientRect(), onLeft = lesson.side === "left", end = this.end(lesson.part, height);
      const x1 = (onLeft ? box.right : box.left) - home.left, y1 = box.top - home.top + 16;
      const x2 = place.left - home.left + scale * (onLeft ? end.left : end.right);
      const y2 = scale * end.y + place.top - home.top;
      const middle = (x1 + x2) / 2;
      this.paths.set(card, draw("path", { d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`,
        class: `tie ${lesson.part}` }, this.ties));
    }
  }

  /** Where a line ends at a part. */
  end(part, height) {
    if (part === "whole") return { left: 0, right: WIDTH, y: 8 };
    if (part === "stream") return { left: LEFT, right: WIDTH - 18, y: STREAM * height };
    const [, share, beside] = PARTS[part];
    return { left: beside ? SPINE + 34 : LEFT + 24, right: WIDTH - 24, y: share * height };
  }

  model(height) {
    const { svg, text } = this, y = (share) => share * height;
    draw("rect", { x: 1, y: 1, width: WIDTH - 2, height: height - 2, rx: 12, class: "whole-frame" }, svg);
    for (const behind of [10, 5, 0])
      draw("rect", { x: LEFT + 24 + behind, y: y(BLOCK[0]) - behind, width: WIDTH - LEFT - 42, rx: 10,
        height: y(BLOCK[1] - BLOCK[0]), class: "block-frame" }, svg);
    drawText(svg, WIDTH - 28, y(BLOCK[0]) + 18, text.blocks, { anchor: "end", size: 12 });
    draw("line", { x1: SPINE, x2: SPINE, y1: y(PARTS.vectors[1]), y2: y(PARTS.scores[1]), class: "stream" }, svg);
    draw("line", { x1: SPINE, x2: SPINE, y1: y(PARTS.text[1]), y2: y(PARTS.vectors[1]), class: "way" }, svg);
    draw("line", { x1: SPINE, x2: SPINE, y1: y(PARTS.scores[1]), y2: y(PARTS.draw[1]), class: "way" }, svg);
    const middle = y(STREAM);
    drawText(svg, SPINE + 14, middle + 4, text.part_stream, { size: 13, name: "sans strong stream-name" });
    for (const [part, [colour, share, beside]] of Object.entries(PARTS)) this.part(part, colour, y(share), beside);
    // what was drawn becomes part of the text
    const top = y(PARTS.text[1]), bottom = y(PARTS.draw[1]);
    draw("path", { class: "again",
      d: `M${LEFT + 24} ${bottom} H${LEFT + 12} V${top} H${LEFT + 22} m-6 -5 l6 5 l-6 5` }, svg);
    const note = drawText(svg, 0, 0, text.again, { anchor: "middle", size: 12 });
    note.setAttribute("transform", `translate(${LEFT + 7} ${(top + bottom) / 2}) rotate(-90)`);
  }

  part(part, colour, y, beside) {
    const { svg, text } = this, x = beside ? SPINE + 34 : LEFT + 24, width = WIDTH - x - 24;
    if (beside) {
      draw("path", { class: "way", d: `M${SPINE} ${y - BOX} C${SPINE + 20} ${y - BOX} ${x - 18} ${y} ${x} ${y}` }, svg);
      draw("path", { class: "way", d: `M${x + 20} ${y + BOX / 2} V${y + BOX} H${SPINE + 9}` }, svg);
      draw("circle", { cx: SPINE, cy: y + BOX, r: 9, class: "plus" }, svg);
      drawText(svg, SPINE, y + BOX + 5, "+", { anchor: "middle", size: 15, name: "strong" });
    }
    draw("rect", { x, y: y - BOX / 2, width, height: BOX, rx: 7, class: "box" }, svg);
    draw("rect", { x, y: y - BOX / 2, width: 6, height: BOX, rx: 3, fill: `var(--tx-${colour})` }, svg);
    drawText(svg, x + 16, y - 2, text[`part_${part}`], { size: 14, name: "sans strong" });
    drawText(svg, x + 16, y + 14, text[`note_${part}`], { size: 12 });
  }
}

export default mounted(ModelMap);
