// One row a token, one column a component.
import { matrixPicture } from "../../core/components/lib/canvas.js";
import { fill, make, spokenLine } from "../../core/components/lib/dom.js";
import { byKeys } from "../../core/components/lib/keys.js";
import { readable } from "../../core/components/lib/numbers.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { mounted, View } from "../../core/components/lib/view.js";

/** lengths, dots: of each token; tall: px of a row; slopes, x: token by token.
 * @typedef {{ text: Record<string, string>, scale: number, tokens: string[], d: number, lengths: string[],
 *   dots: string[], tall: number, settings: { token: number, component: number }, slopes: Float32Array,
 *   x: Float32Array }} Message */

/** @extends {View<Message>} */
class Components extends View {
  constructor(root) {
    super(root);
    this.grid = make("div", "grid", root);
    this.names = make("div", "names", this.grid);
    this.map = make("div", "map", this.grid);
    this.sums = make("div", "sums", this.grid);
    this.reading = spokenLine(root, "reading");
    make("p", "key", root);
    byKeys(this.map, () => ({ columns: this.d, rows: this.tokens.length, from: [this.at[1], this.at[0]] }),
      (c, i, phase) => this.point(phase === "out" ? null : [i, c], phase === "press"), () => this.reading.textContent);
    this.map.onpointermove = (event) => this.point(this.cellAt(event));
    this.map.onclick = (event) => this.point(this.cellAt(event), true);
    this.map.onpointerleave = () => this.point(null);
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.at = [header.settings.token, header.settings.component];
    this.root.querySelector(".key").textContent = this.text.key;
    this.build();
    this.point(null);
  }

  cellAt(event) {
    const { left, top, width, height } = this.map.getBoundingClientRect(), last = this.tokens.length - 1;
    const share = (at, start, size) => Math.min(0.9999, Math.max(0, (at - start) / size));
    return [Math.min(last, Math.floor(share(event.clientY, top, height) * (last + 1))),
      Math.floor(share(event.clientX, left, width) * this.d)];
  }

  build() {
    const { map, names, sums, d, tokens, slopes, tall } = this;
    const most = slopes.reduce((top, value) => Math.max(top, Math.abs(value)), 1e-12);
    map.replaceChildren();
    map.ariaLabel = this.text.picture;
    const picture = matrixPicture(tokens.length, d, (i, c) => slopes[i * d + c], readTheme().table("div"), -most, most,
      make("canvas", "", map));
    picture.role = "img";
    picture.style.height = `${tall * tokens.length}px`;
    this.mark = make("i", "mark", map);
    // rows that are flatter than their names: every second or third has one
    const size = this.scale > 1 ? 15 : Math.max(11, Math.min(13, tall + 1)), every = Math.ceil(size / (tall + 1));
    for (const [place, texts] of [[names, tokens], [sums, this.dots]]) {
      place.replaceChildren();
      texts.forEach((text, i) => {
        const name = make("span", "", place, i % every ? "" : text);
        name.dir = "auto";
        name.style.height = name.style.lineHeight = `${tall}px`;
        name.style.fontSize = `${size}px`;
      });
    }
  }

  /** Read one cell (null: the picked one) and, on a press, pick it. */
  point(cell, press = false) {
    if (!this.tokens) return;
    if (press) {
      this.at = cell;
      this.send({ token: cell[0], component: cell[1] });
    }
    const [i, c] = cell ?? this.at, { d, tokens } = this;
    this.mark.style.left = `${(100 * c) / d}%`;
    this.mark.style.width = `${100 / d}%`;
    this.mark.style.top = `${(100 * i) / tokens.length}%`;
    this.mark.style.height = `${100 / tokens.length}%`;
    this.reading.textContent = fill(this.text.reading, { token: tokens[i], c, x: readable(this.x[i * d + c]),
      slope: readable(this.slopes[i * d + c]), length: this.lengths[i], dot: this.dots[i] });
  }
}

export default mounted(Components);
