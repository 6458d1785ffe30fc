// Steps 7 to 9, inside the model: one head, all heads, the layers.
import { matrixPicture } from "../../core/components/lib/canvas.js";
import { button, draw, make, setText, sized } from "../../core/components/lib/dom.js";
import { readTheme, whenStyled } from "../../core/components/lib/theme.js";
import { onWidth } from "../../core/components/lib/view.js";
import { actButton, Bars, Slider, walked } from "./parts.js";
import { written } from "./fold.js";
import { brief, percent, say, spoken } from "./said.js";

const LEAST_SHOWN = 0.03;       // of the attention: what is less gets no arc
const RISE = 38, LABEL = 18;    // px: how high an arc rises within a line, and the height of a share below a piece

/** Look back: the reader clicks a piece, then arcs show where one head looks. */
export class Look {
  constructor(stage, tour) {
    this.tour = tour;
    this.place = make("div", "looks", stage);
    this.svg = draw("svg", { "aria-hidden": "true" }, this.place);
    this.line = make("p", "line tokens", this.place);
    this.line.dir = "auto";
    this.begin = walked(this.line, tour.text.pieces_look);
    onWidth(this.place, () => this.arcs());
  }

  /** @param {{ asks: { tokens: string[], from: number }, tells: { weights: number[], guess: number } | null }} step */
  show({ asks, tells }) {
    this.tells = tells;
    const source = JSON.stringify(asks);
    if (source !== this.source) {
      this.source = source;
      this.line.replaceChildren();
      this.nodes = asks.tokens.map((token, i) => {
        const last = i === asks.tokens.length - 1;
        const name = last ? "token query" : "token";
        return button(this.line, token, "", () => this.tour.act({ key: asks.from + i }), name);
      });
      this.begin(this.nodes.length - 1);
    }
    this.nodes.forEach((node, i) => {
      const weight = tells?.weights[i];
      node.classList.toggle("mine", tells?.guess === i);
      node.dataset.you = this.tour.text.you;
      node.classList.toggle("seen", weight >= LEAST_SHOWN);
      node.classList.toggle("dim", weight < LEAST_SHOWN && tells.guess !== i && i < this.nodes.length - 1);
      node.dataset.share = weight >= LEAST_SHOWN ? percent(weight) : "";
      node.ariaLabel = weight === undefined ? node.textContent : `${node.textContent}, ${percent(weight)}`;
    });
    this.arcs();
  }

  /** A curve from the last piece to each that it looks at, as thick as the weight; in the gaps between the lines. */
  arcs() {
    this.svg.replaceChildren();
    const box = this.place.getBoundingClientRect();
    sized(this.svg, box.width, box.height, "");
    for (const { points, width, opacity } of this.curves(box)) {
      const path = draw("path", { d: written(points), "stroke-width": width, "stroke-opacity": opacity, pathLength: 1 },
        this.svg);
      if (this.tour.moves) path.classList.add("drawn");
    }
  }

  /** The arcs within a box of the window, as the next step folds them (fold.js). */
  curves(box) {
    if (!this.tells || !box.width) return [];
    const at = (node) => { const own = node.getBoundingClientRect();
      return { x: own.left + own.width / 2 - box.left, top: own.top - box.top, foot: own.bottom - box.top }; };
    const from = at(this.nodes.at(-1)), last = this.nodes.length - 1;
    return this.tells.weights.flatMap((weight, i) => {
      if (weight < LEAST_SHOWN || i === last) return [];
      const to = at(this.nodes[i]), level = to.foot > from.top, end = level ? to.top : to.foot + LABEL;
      const bend = level ? from.top - RISE : (from.top + end) / 2;
      return [{ points: [[from.x, from.top], [from.x, bend], [to.x, bend], [to.x, end]], back: last - i,
        width: 1.5 + 10 * weight, opacity: 0.35 + 0.6 * weight }];
    });
  }
}

/** All heads as tiles; a press switches one off or on, and the bars answer. */
export class Heads {
  constructor(stage, tour) {
    this.tour = tour;
    const { text } = tour, both = make("div", "both", stage);
    this.wall = make("div", "wall", both);
    const side = make("div", "beside", both);
    this.bars = new Bars(side, text);
    this.again = button(side, text.again_heads, "", () => this.tour.act({ off: [] }), "quiet");
    make("p", "note", side, text.note_heads);
    this.begin = walked(this.wall, text.wall_heads, () => this.asks.heads);
  }

  /** @param {{ asks: { layers: number, heads: number, side: number, met: number, rows: import("./parts.js").Row[] },
   *   tells: { off: number[] } | null, tiles: Uint8Array }} step */
  show({ asks, tells, tiles }) {
    this.asks = asks;
    this.off = new Set(tells?.off ?? []);
    whenStyled(this.wall, () => this.paint(tiles));
    this.bars.show(asks.rows);
    this.again.hidden = !this.off.size;
  }

  paint(tiles) {
    const { layers, heads, side, met } = this.asks;
    if (this.tiles !== tiles || this.nodes?.length !== layers * heads) {
      this.tiles = tiles;
      this.wall.style.setProperty("--columns", heads);
      this.wall.style.setProperty("--shape", String(heads / layers));
      this.wall.replaceChildren();
      this.nodes = Array.from({ length: layers * heads }, (_, i) => this.tile(i, side));
      this.begin(met);
      this.tour.foldInto(this.nodes[met].firstChild, side);
    }
    this.nodes.forEach((node, i) => {
      const name = `${Math.floor(i / heads)}.${i % heads}`, isOff = this.off.has(i);
      const label = spoken(this.tour.text[isOff ? "off_heads" : "tile_heads"], { head: name });
      node.ariaPressed = String(isOff);
      node.ariaLabel = i === met ? `${label}. ${this.tour.text.met_heads}` : label;
      node.title = node.ariaLabel;
      node.classList.toggle("met", i === met);
    });
  }

  tile(i, side) {
    const node = button(this.wall, "", "", () => this.toggle(i), "tile"), { tiles } = this, begin = i * side * side;
    const canvas = matrixPicture(side, side, (row, column) => (column > row ? NaN : tiles[begin + row * side + column]),
      readTheme().table("seq"), 0, 255);
    canvas.ariaHidden = "true";
    node.append(canvas);
    return node;
  }

  toggle(i) {
    const off = new Set(this.off);
    if (!off.delete(i)) off.add(i);
    this.off = off;
    this.tour.act({ off: [...off].sort((a, b) => a - b) });
  }
}

/** Layer by layer: guess after how many the word leads, then see who led when. */
export class Layers {
  constructor(stage, tour) {
    this.tour = tour;
    this.line = make("p", "line", stage);
    this.line.dir = "auto";
    this.row = make("div", "acts", stage);
    this.way = make("div", "columns", stage);
    this.note = make("p", "note", stage);
  }

  /** @param {{ asks: { n: number, top: string, text?: string }, tells: { rungs: { after: number, word: string,
   *   p: number, mine: boolean }[] } | null }} step */
  show({ asks, tells }) {
    const { text } = this.tour;
    if (!this.guess) {
      this.guess = new Slider(this.row, text.field_layers, { low: 0, high: asks.n, value: 0,
        words: (value) => spoken(text.after, { k: value }) });
      actButton(this.row, text.act_layers, () => this.tour.act({ guess: this.guess.value }));
    }
    this.line.hidden = !asks.text;
    setText(this.line, asks.text ? `${asks.text} ` : "");
    setText(make("span", "gap", this.line), asks.text ? asks.top : "");
    this.way.replaceChildren();
    this.note.replaceChildren();
    if (tells) say(this.note, text.note_layers, { top: { word: asks.top } });
    const rungs = tells?.rungs ?? Array.from({ length: Math.min(asks.n + 1, 9) }, (_, i) =>
      ({ after: Math.round((i * asks.n) / Math.min(asks.n, 8)) }));
    for (const rung of rungs) this.column(rung, asks.top);
  }

  /** @param {{ after: number, word?: string, p?: number, mine?: boolean }} rung */
  column({ after, word, p, mine }, top) {
    const { text } = this.tour, marks = { mine, leads: word === top, blank: word === undefined };
    const node = make("div", "column", this.way);
    for (const [mark, holds] of Object.entries(marks)) node.classList.toggle(mark, Boolean(holds));
    if (mine) node.dataset.you = text.you;
    make("span", "value", node, p === undefined ? "" : brief(p));
    const track = make("span", "track", node), fill = make("span", "fill", track);
    say(make("b", "guess", node), "{word}", { word: { word: word ?? "?" } });
    setText(make("span", "after", node), after ? spoken(text.rung, { k: after }) : text.rung_0);
    requestAnimationFrame(() => { fill.style.setProperty("--p", `${100 * (p ?? 0)}%`); });
  }
}
