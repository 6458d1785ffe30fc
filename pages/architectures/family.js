// The GPT family as a tree: a box for each model in one of its lanes, in the order of their months; a solid line where
// its makers say what a model came from, a dashed one where that is inferred. The picked model's line is lit, and what
// it added stands below.
import { button, draw, fill, make, setText, sized, spokenLine } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted, onWidth, View } from "../../core/components/lib/view.js";

const LONG = 8;                   // em of a box that holds every name in one line
const WIDE = 50;                  // em from which the boxes stand in lanes, one column a step

/** parents: by id, whether its makers say so.
 * @typedef {{ id: string, name: string, released: string, lane: number, parents: Record<string, boolean>,
 *   ancestors: string[], added: string, more: string, size: string, source: string }} Member */
/** @typedef {{ text: Record<string, string>, scale: number, members: Member[], picked: string,
 *   lanes: string[] }} Message */

/** @extends {View<Message>} */
class Family extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    this.tree = make("div", "tree", root);
    this.svg = draw("svg", { "aria-hidden": "true" }, this.tree);
    this.key = make("div", "muted key", root);
    this.said = spokenLine(root, "said");
    onWidth(this.tree, () => this.paint());
  }

  /** @param {Message} header */
  receive(header) {
    const { picked } = this, moved = this.echoes.moves(header.picked);
    Object.assign(this, header);
    if (picked !== undefined && !moved) this.picked = picked;
    this.key.textContent = this.text.key;
    this.paint();
  }

  pick(id) {
    this.picked = id;
    this.echoes.tell(id);
    this.paint();
    this.send({ relative: id });
  }

  /** Place each box: by lanes if there is room, else below each other, moved in by its lane. */
  places() {
    const em = emOf(this.root), width = this.tree.clientWidth, columns = this.columns(), wide = width > WIDE * em;
    const count = Math.max(...Object.values(columns)) + 1, label = wide ? 5 * em : 0;
    const across = (width - label) / count, box = wide ? Math.min(9.4 * em, 0.82 * across) : 11 * em;
    const high = (box < LONG * em ? 3.4 : 2.6) * em, down = high + (wide ? 0.5 : 0.6) * em;
    return { em, wide, width, box, high, label, down,
      height: wide ? this.lanes.length * down : this.members.length * down,
      at: this.members.map(({ id, lane }, i) => (wide
        ? [Math.min(width - box, label + columns[id] * across + (across - box) / 2), lane * down + (down - high) / 2]
        : [lane * 3 * em, i * down])) };
  }

  /** The column of each model: one after its last parent, and after all that came before it in its own lane. */
  columns() {
    const columns = {}, last = {};
    for (const { id, lane, parents } of this.members) {
      columns[id] = Math.max(last[lane] ?? -1, ...Object.keys(parents).map((parent) => columns[parent])) + 1;
      last[lane] = columns[id];
    }
    return columns;
  }

  paint() {
    if (!this.members || !this.tree.clientWidth) return;
    const places = this.places(), { em, wide, width, box, high, height } = places;
    const lit = new Set([this.picked, ...this.members.find(({ id }) => id === this.picked).ancestors]);
    const held = this.tree.querySelector("button:focus")?.dataset.id;
    for (const node of [...this.tree.children].slice(1)) node.remove();
    this.svg.replaceChildren();
    sized(this.svg, width, height, "");
    this.tree.style.height = `${height}px`;
    if (wide) this.lanes.forEach((name, lane) => this.lane(name, lane, places));
    this.members.forEach((member, i) => {
      const [x, y] = places.at[i];
      for (const [parent, said] of Object.entries(member.parents))
        this.line(parent, [x, y], said, lit.has(member.id) && lit.has(parent), places);
      const node = button(this.tree, "", `${member.name}, ${member.released}: ${member.added}`,
        () => this.pick(member.id),
        ["member", lit.has(member.id) && "lit", member.id === this.picked && "picked"].filter(Boolean).join(" "));
      Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${box}px`, height: `${high}px` });
      node.dataset.id = member.id;
      node.ariaPressed = String(member.id === this.picked);
      make("b", "", node, member.name);
      make("small", "", node, member.released);
      if (member.id === held) node.focus({ preventScroll: true });
      if (!wide) Object.assign(make("span", "beside", this.tree, member.added).style,
        { left: `${x + box + 0.5 * em}px`, top: `${y}px`, height: `${high}px` });
    });
    this.tell();
  }

  lane(name, lane, { width, down, em }) {
    draw("rect", { x: 0, y: lane * down + 2, width, height: down - 4, class: lane % 2 ? "lane odd" : "lane" },
      this.svg);
    draw("text", { x: 0.5 * em, y: lane * down + 1.2 * em, class: "sans muted" }, this.svg, name);
  }

  /** From the right edge of a parent's box to the left edge of this one; on a narrow page along their left edges. */
  line(parent, [x, y], said, isLit, { at, box, high, wide, em }) {
    const [px, py] = at[this.members.findIndex(({ id }) => id === parent)];
    const name = `branch${said ? "" : " guessed"}${isLit ? " lit" : ""}`;
    const middle = y + high / 2, from = py + high / 2;
    if (!wide) {
      draw("path", { d: `M ${px + 0.8 * em} ${py + high} V ${middle} H ${x}`, class: name }, this.svg);
    } else if (x >= px + box) {
      const bend = (px + box + x) / 2;
      draw("path", { d: `M ${px + box} ${from} C ${bend} ${from} ${bend} ${middle} ${x} ${middle}`, class: name },
        this.svg);
    } else {
      const [start, end] = py < y ? [py + high, y] : [py, y + high];
      draw("path", { d: `M ${px + 0.75 * box} ${start} L ${x + 0.35 * box} ${end}`, class: name }, this.svg);
    }
  }

  tell() {
    const one = this.members.find(({ id }) => id === this.picked);
    setText(this.said, fill(this.text.reading, { name: one.name, date: one.released, size: one.size, more: one.more,
      source: one.source }));
  }
}

export default mounted(Family);
