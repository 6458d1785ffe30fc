// The map: in the middle the model, from text to the next token; before it the lessons, each with a line to the part
// that it opens; behind it the views of the lesson whose name or part is pointed at, has the focus, or is pressed. On a
// narrow screen the lessons stand below the drawing, and the views below their lesson.
import { button, draw, drawText, indexed, make, sized } from "../../core/components/lib/dom.js";
import { followed } from "../../core/components/lib/links.js";
import { keepFitted, keepFree, mounted, View } from "../../core/components/lib/view.js";
import { address } from "../course/places.js";

const WIDE = 900;                   // pixels from which the three stand beside each other
const LEAST = 470, MOST = 860;      // pixels of the drawing's height
const NOTES = 600;                  // pixels from which its parts have room for a second line
const REST = 90;                    // ms that the pointer rests on what it means, and does not only cross it
const LEFT = 14, SPINE = 46, RIGHT = 42;            // pixels from the left, and from the right
// The parts from top to bottom: the colour of each, how far down its middle stands, as a share of the drawing, and
// whether it stands beside the stream, to which it adds.
const PARTS = {
  text: ["kept", 0.085], tokens: ["kept", 0.165], vectors: ["kept", 0.245], positions: ["position", 0.325],
  attention: ["attention", 0.47, true], mlp: ["mlp", 0.625, true],
  scores: ["kept", 0.765], probabilities: ["kept", 0.855], draw: ["drawn", 0.945],
};
const WORDS = { whole: 0.024, block: 0.403, stream: 0.556 };       // parts that are a name alone
const BLOCK = [0.377, 0.706];

/** @typedef {{ id: string, name: string, part: string, section: string, says: string, views: { id: string,
 *   name: string, says: string, core: boolean }[] }} Lesson */
/** open: the lesson whose views are shown first; parts: the lessons of each; links: of lessons and views, base: what
 * their addresses share.
 * @typedef {{ text: Record<string, string>, scale: number, lessons: Lesson[], base: string, open: string,
 *   parts: Record<string, string[]>, links: Record<string, import("../course/places.js").Place> }} Message */

/** @extends {View} */
class ModelMap extends View {
  constructor(root) {
    super(root);
    this.field = make("div", "field", root);
    keepFree(this.field, LEAST, MOST);
    keepFitted(root, () => this.fit());
  }

  /** @param {Message} header */
  receive(header) {
    const written = JSON.stringify(header);
    if (this.written === written) return;
    this.written = written;
    this.header = header;
    this.text = header.text;
    this.field.replaceChildren();
    this.ties = draw("svg", { class: "ties", "aria-hidden": "true" }, this.field);      // behind the drawing
    this.lit = draw("svg", { class: "ties lit", "aria-hidden": "true" }, this.field);
    this.list = make("nav", "lessons", this.field);
    this.list.ariaLabel = this.text.lessons;
    this.drawing = make("div", "drawing", this.field);
    this.drawing.role = "group";
    this.drawing.ariaLabel = this.text.drawing;
    this.svg = draw("svg", { "aria-hidden": "true" }, this.drawing);
    this.panel = make("section", "panel", this.field);
    this.panel.onkeydown = (event) => { if (event.key === "Escape") this.from?.focus(); };
    this.names = new Map(header.lessons.map((lesson) => [lesson.id, this.name(lesson)]));
    this.parts = new Map(Object.keys(header.parts).map((part) => [part, this.part(part)]));
    this.show(header.open);
    this.fit();
  }

  /** The name of a lesson, under the heading of its section. */
  name(lesson) {
    if (this.section !== lesson.section) {
      make("h3", "", this.list, lesson.section);
      this.section = lesson.section;
    }
    const item = make("div", "item", this.list);
    return this.pointed(button(item, lesson.name, "", undefined, `name ${lesson.part}`), () => this.show(lesson.id));
  }

  /** A part of the drawing, which shows the first of its lessons. */
  part(part) {
    const node = button(this.drawing, "", "", undefined, `part ${part in WORDS ? "word" : "box"} ${part}`);
    make("b", "", node, this.text[`part_${part}`]);
    if (!(part in WORDS)) {
      make("span", "note", node, this.text[`note_${part}`]);
      node.style.setProperty("--own", `var(--tx-${PARTS[part][0]})`);
      node.classList.toggle("beside", Boolean(PARTS[part][2]));
    }
    return this.pointed(node, () => this.show(this.header.parts[part][0], part));
  }

  /** A button that shows something as soon as the pointer rests on it, the keys are on it, or it is pressed. A pressed
      one passes the keys on to what it shows. */
  pointed(node, show) {
    let timer;
    const later = ({ pointerType }) => {
      clearTimeout(timer);
      if (pointerType === "mouse" && this.isWide) timer = setTimeout(show, REST);
    };
    node.onpointermove = later;
    node.onpointerleave = () => clearTimeout(timer);
    node.onfocus = () => { if (this.isWide && node.matches(":focus-visible")) show(); };
    node.onclick = ({ detail }) => {
      show();
      this.from = node;
      if (!this.isWide) this.panel.previousElementSibling.scrollIntoView({ block: "start" });
      if (!detail) this.panel.querySelector("a").focus();       // pressed by a key
    };
    return node;
  }

  /** Shows the views of a lesson, as of a part of the drawing; without one, of the part that its line leads to. */
  show(id, part) {
    const lesson = this.header.lessons.find((each) => each.id === id), shown = part ?? lesson.part;
    if (this.shown === lesson && this.at === shown && this.panel.firstChild) return;
    this.shown = lesson;
    this.at = shown;
    this.panel.replaceChildren();
    this.panel.className = `panel ${lesson.part}`;
    const head = make("h3", "", this.panel);
    this.panel.ariaLabel = lesson.name;
    this.link(head, id, `${lesson.name} →`);
    make("p", "says", this.panel, lesson.says);
    const list = make("ul", "", this.panel);
    for (const view of lesson.views) {
      const row = make("li", view.core ? "core" : "deeper", list);
      this.link(row, view.id, view.name);
      indexed(make("span", "says", row), view.says);
    }
    this.others(this.header.parts[shown].filter((other) => other !== id), shown);
    this.foot(lesson, `inside ${shown}`);
    this.mark();
    this.fit();
  }

  /** The other lessons of the part. */
  others(ids, part) {
    if (!ids.length) return;
    const line = make("div", "others", this.panel, this.text.also);
    for (const id of ids) {
      const { name } = this.header.lessons.find((each) => each.id === id);
      button(line, name, "", ({ detail }) => {
        this.show(id, part);
        if (!detail) this.panel.querySelector("a").focus();
      }, "other");
    }
  }

  /** What the dots mean, and in the same line the way to the part's place inside the whole picture. */
  foot(lesson, inside) {
    const foot = make("div", "legend", this.panel), names = lesson.views.some((view) => !view.core)
      ? ["core", "deeper"] : [];
    for (const name of names) make("span", `key ${name}`, foot, this.text[name]);
    if (this.header.links[inside]) this.link(make("span", "inside", foot), inside, this.text.inside);
  }

  link(parent, key, name) {
    const link = make("a", "go", parent, name);
    link.href = address(this.header, this.header.links[key]);
    followed(link, () => this.send({ open: key, at: Date.now() }));
  }

  /** Marks what is shown: the lesson's name, and the part. */
  mark() {
    for (const [id, node] of this.names) node.ariaPressed = String(id === this.shown.id);
    for (const [part, node] of this.parts) node.ariaPressed = String(part === this.at);
  }

  /** Places everything for the width and the height that there are. */
  fit() {
    if (!this.panel || !this.root.clientWidth) return;        // hidden, as on a page that is left
    this.isWide = this.root.clientWidth >= WIDE;
    this.root.classList.toggle("wide", this.isWide);
    const place = this.isWide ? this.field : this.names.get(this.shown.id).parentNode;
    if (this.panel.parentNode !== place) place.append(this.panel);
    this.drawing.classList.toggle("low", this.drawing.clientHeight < NOTES * this.header.scale);
    this.model(this.drawing.clientWidth, this.drawing.clientHeight);
    this.panel.classList.remove("brief");
    this.panel.classList.toggle("brief", this.isWide && this.panel.scrollHeight > this.panel.clientHeight);
    this.lines();
  }

  /** The lines from the names to their parts, and from the part that is shown to its views. */
  lines() {
    const home = this.field.getBoundingClientRect(), { shown, at, drawing } = this, { scale } = this.header;
    const box = (node) => {
      const { left, right, top, height } = node.getBoundingClientRect();
      return { left: left - home.left, right: right - home.left, middle: top - home.top + height / 2 };
    };
    for (const svg of [this.ties, this.lit]) {
      svg.replaceChildren();
      sized(svg, home.width, home.height, "");
    }
    if (!this.isWide) return;
    const tie = (from, to, svg, part) => {
      const bend = (from.right + to.left) / 2;
      draw("path", { class: `tie ${part}`, d: `M${from.right} ${from.middle} C${bend} ${from.middle} ${bend} ${
        to.middle} ${to.left} ${to.middle}` }, svg);
    };
    const block = { left: box(drawing).left + LEFT, middle: (BLOCK[1] - 0.03) * home.height };
    for (const { id, part } of this.header.lessons)
      tie(box(this.names.get(id)), part === "block" ? block : box(this.parts.get(part)),
        id === shown.id ? this.lit : this.ties, part);
    tie(box(this.parts.get(at)), { left: box(this.panel).left, middle: 24 * scale }, this.lit, shown.part);
  }

  /** Draws the model behind its parts, and puts them in their places. */
  model(width, height) {
    const { svg } = this, y = (share) => share * height, right = width - RIGHT;
    const half = this.parts.get("text").offsetHeight / 2;
    svg.replaceChildren();
    sized(svg, width, height, "");
    draw("rect", { x: 1, y: 1, width: width - 2, height: height - 2, rx: 12, class: "whole-frame" }, svg);
    for (const behind of [10, 5, 0])
      draw("rect", { x: LEFT + behind, y: y(BLOCK[0]) - behind, width: right - LEFT, rx: 10,
        height: y(BLOCK[1] - BLOCK[0]), class: "block-frame" }, svg);
    const line = (from, to, name) => draw("line", { x1: SPINE, x2: SPINE, y1: y(PARTS[from][1]), y2: y(PARTS[to][1]),
      class: name }, svg);
    line("vectors", "scores", "stream");
    line("text", "vectors", "way");
    line("scores", "draw", "way");
    for (const [part, [, share, beside]] of Object.entries(PARTS)) {
      const from = beside ? SPINE + 34 : LEFT, { style } = this.parts.get(part);
      Object.assign(style, { top: `${y(share)}px`, left: `${from}px`, width: `${right - (beside ? 10 : 0) - from}px` });
      if (beside) this.branch(y(share), from, half);
    }
    for (const [part, share] of Object.entries(WORDS)) this.parts.get(part).style.top = `${y(share)}px`;
    this.again(right, y(PARTS.draw[1]), y(PARTS.text[1]), width);
  }

  /** Draw the token's way back into the text. */
  again(right, bottom, top, width) {
    const { svg, text, header } = this, out = width - 24;
    draw("path", { class: "again", d: `M${right} ${bottom} H${out} V${top} H${right + 2} m6 -5 l-6 5 l6 5` }, svg);
    const note = drawText(svg, 0, 0, text.again, { anchor: "middle", size: 12 * Math.sqrt(header.scale) });
    note.setAttribute("transform", `translate(${out + 15} ${(top + bottom) / 2}) rotate(-90)`);
  }

  /** The way from the stream through a part, whose middle is at y, and back: it is added. */
  branch(y, x, half) {
    const back = y + half + 14;
    const away = y - half - 12;
    draw("path", { class: "way", d: `M${SPINE} ${away} C${SPINE + 20} ${away} ${x - 18} ${y} ${x} ${y}` }, this.svg);
    draw("path", { class: "way", d: `M${x + 20} ${y + half} V${back} H${SPINE + 9}` }, this.svg);
    draw("circle", { cx: SPINE, cy: back, r: 9, class: "plus" }, this.svg);
    drawText(this.svg, SPINE, back + 5, "+", { anchor: "middle", size: 15, name: "strong" });
  }
}

export default mounted(ModelMap);
