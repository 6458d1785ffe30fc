import { powers } from "../../core/components/lib/axis.js";
import { draw, fill, make, marked, setRange } from "../../core/components/lib/dom.js";
import { Echoes } from "../../core/components/lib/echo.js";
import { readable, significant } from "../../core/components/lib/numbers.js";
import { emOf } from "../../core/components/lib/text.js";
import { keepFree, mounted, onWidth, View } from "../../core/components/lib/view.js";

const KINDS = ["scaled", "unscaled"], CLASS = { scaled: "with", unscaled: "without" };

/** An array has one entry for each d_k, that of heads one for each head of the model; weights: those of n keys.
 * @typedef {{ mean: number[], error: number[] }} Estimate
 * @typedef {Record<"scaled" | "unscaled", Estimate>} Estimates
 * @typedef {Record<"variance" | "scaled" | "unscaled", (number | null)[]>} Measures
 * @typedef {{ d_ks: number[], n: number, variance: Estimate, entropy: Estimates, gradient: Estimates,
 *   weights: Record<"scaled" | "unscaled", number[][]>, settings: { d: number },
 *   heads: { d: number, picked: number, names: string[] } & Measures | null,
 *   text: Record<string, string>, scale: number }} Message */

/** @extends {View<Message & Record<"em" | "left" | "right" | "upper" | "lower", number>>} */
class Scaling extends View {
  constructor(root) {
    super(root);
    this.echoes = new Echoes();
    const top = make("div", "top", root), label = make("label", "", top);
    this.value = make("b", "", label);
    this.slider = make("input", "", label);
    Object.assign(this.slider, { type: "range", min: 0, step: 1 });
    this.slider.oninput = () => { this.at = Number(this.slider.value); this.paint(); };
    this.slider.onchange = () => this.settle();
    this.key = make("div", "key", top);
    const charts = make("div", "scaling-charts", root);
    this.panels = Object.fromEntries(["variance", "softmax", "entropy", "gradient"].map((name) => {
      const place = make("div", "panel", charts), svg = draw("svg", { role: "img", class: `chart-${name}` }, place);
      svg.onclick = (event) => this.pick(event, svg);
      return [name, { place, svg }];
    }));
    keepFree(charts, 300, 760);
    onWidth(charts, () => this.paint());
    new ResizeObserver(() => this.paint()).observe(this.panels.variance.place);
  }

  /** @param {Message} header */
  receive(header) {
    const { d } = header.settings;
    Object.assign(this, header);
    if (this.echoes.moves(d)) this.at = this.d_ks.indexOf(d);
    this.slider.max = this.d_ks.length - 1;
    this.slider.ariaLabel = this.text.slider;
    this.legend();
    this.paint();
  }

  legend() {
    this.key.replaceChildren();
    const entry = (text, paint) => {
      const place = make("span", "", this.key), svg = draw("svg", { width: 26, height: 12 }, place);
      paint(svg);
      make("span", "", place, text);
    };
    for (const kind of KINDS) {
      entry(this.text[kind], (svg) => {
        rule(svg, 0, 6, 26, 6, CLASS[kind]);
        draw("circle", { cx: 13, cy: 6, r: 4, class: CLASS[kind], "stroke-width": 1.6 }, svg);
      });
    }
    if (this.heads) entry(this.text.heads, (svg) => draw("path", { d: diamond(13, 6, 5), class: "head picked" }, svg));
  }

  settle(head = this.heads?.picked) {
    const d = this.d_ks[this.at];
    this.echoes.tell(d);
    this.send({ d, head });
  }

  pick(event, svg) {
    if (svg === this.panels.softmax.svg) return;
    const box = svg.getBoundingClientRect();
    const part = (event.clientX - box.left - this.left) / (box.width - this.left - this.right);
    this.at = Math.max(0, Math.min(this.d_ks.length - 1, Math.round(part * (this.d_ks.length - 1))));
    this.paint();
    this.settle();
  }

  paint() {
    if (!this.d_ks || !this.panels.variance.place.clientWidth) return;
    const em = emOf(this.root), d = this.d_ks[this.at];
    Object.assign(this, { em, left: 3.4 * em, right: 0.8 * em, upper: 1.9 * em, lower: 2.3 * em });
    setRange(this.slider, this.at);
    this.slider.ariaValueText = `d_k = ${d}`;
    marked(this.value, `d_k = ${d}`);
    this.paintVariance();
    this.paintSoftmax();
    for (const name of ["entropy", "gradient"]) this.paintShares(name);
  }

  /** Clears a panel, writes its title, and returns its scales. */
  begin(name, title) {
    const { place, svg } = this.panels[name], { clientWidth: width, clientHeight: height } = place, { em, left } = this;
    svg.replaceChildren();
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, "font-size": 0.88 * em,
      "aria-label": title })) svg.setAttribute(key, value);
    const heading = draw("text", { x: 0, y: 0.95 * em, class: "name", "font-size": em }, svg, title);
    const length = heading.getComputedTextLength?.() ?? 0, end = width - this.right;
    if (length > width) heading.setAttribute("font-size", (em * width) / length);
    const x = (k) => left + (k / (this.d_ks.length - 1)) * (end - left);
    return { svg, end, x, top: this.upper, bottom: height - this.lower };
  }

  /** The name of a panel's horizontal axis. */
  axisName({ svg, end, bottom }, text) {
    words(svg, end, bottom + 2.05 * this.em, text, "sans", "end");
  }

  /** The d_k axis, with a line at the slider's d_k. */
  axis(frame) {
    const { svg, end, x, top, bottom } = frame, { em, left, at: now } = this;
    const every = (end + this.right - left) / this.d_ks.length < 2.4 * em ? 2 : 1;
    rule(svg, left, bottom, end, bottom, "axis");
    rule(svg, x(now), top, x(now), bottom, "guide");
    this.d_ks.forEach((d, k) => {
      if (k % every === 0 || k === now) words(svg, x(k), bottom + 1.05 * em, d, k === now ? "sans strong" : "sans");
    });
    this.axisName(frame, this.text.axis);
  }

  level({ svg, end }, value, y) {
    rule(svg, this.left, y, end, y, "axis");
    words(svg, this.left - 6, y + 0.32 * this.em, value, "sans", "end");
  }

  line({ svg, x }, values, y, name) {
    draw("path", { d: values.map((v, k) => `${k ? "L" : "M"}${x(k)} ${y(v)}`).join(""), class: name }, svg);
  }

  /** A measured value and its error at every d_k. */
  dots({ svg, x }, { mean, error }, y, name) {
    mean.forEach((v, k) => {
      rule(svg, x(k), y(v + error[k]), x(k), y(Math.max(v - error[k], 1e-9)), `error ${name}`);
      const dot = draw("circle",
        { cx: x(k), cy: y(v), r: k === this.at ? 5.5 : 3.4, class: name, "stroke-width": 1.6 }, svg);
      draw("title", {}, dot, `d_k = ${this.d_ks[k]}: ${significant(v, 4)} ± ${significant(error[k], 2)}`);
    });
  }

  paintVariance() {
    const { variance: { mean, error }, heads, text, at, d_ks, em } = this;
    const frame = this.begin("variance",
      fill(text.title_variance,
      { value: significant(mean[at]), error: significant(error[at], 2), root: significant(Math.sqrt(mean[at]), 2) }));
    const all = [...d_ks, ...mean, ...(heads?.variance ?? [])].filter((v) => v > 0).map(Math.log10);
    const [low, high] = [Math.min(...all) - 0.15, Math.max(...all) + 0.15];
    const y = (v) => frame.bottom - ((Math.log10(v) - low) / (high - low)) * (frame.bottom - frame.top);
    for (const power of powers(10 ** low, 10 ** high))
      this.level(frame, readable(10 ** power), y(10 ** power));
    this.axis(frame);
    this.line(frame, d_ks, y, "theory");
    words(frame.svg, frame.x(1.6), y(d_ks[2]) - 1.1 * em, text.theory, "sans strong");
    this.dots(frame, this.variance, y, "without");
    this.points(frame, "variance", y, "");
  }

  paintSoftmax() {
    const { text, n, em, left } = this, rows = KINDS.map((kind) => this.weights[kind][this.at]);
    const [scaled, unscaled] = rows.map((row) => significant(Math.max(...row)));
    const frame = this.begin("softmax", fill(text.title_softmax, { n, scaled, unscaled }));
    const { svg, end, bottom } = frame;
    const height = (bottom - frame.top - 0.5 * em) / 2, step = (end - left) / n, every = Math.ceil((2 * em) / step);
    KINDS.forEach((kind, r) => {
      const base = frame.top + (r + 1) * height + (r ? 0.5 * em : 0), y = (v) => base - v * (height - 0.5 * em);
      for (const value of [0, 1]) this.level(frame, value, y(value));
      rule(svg, left, y(1 / n), end, y(1 / n), "theory");
      rows[r].forEach((p, k) => {
        const bar = draw("rect", { x: left + (k + 0.14) * step, y: y(p), width: 0.72 * step,
          height: Math.max(base - y(p), 0.5), class: CLASS[kind], "stroke-width": 1.4 }, svg);
        draw("title", {}, bar, `${text[kind]}, ${k + 1}: ${significant(p, 4)}`);
      });
      words(svg, end, y(1) + 1.1 * em, text[kind], "sans strong", "end");
    });
    for (let k = 0; k < n; k += every) words(svg, left + (k + 0.5) * step, bottom + 1.05 * em, k + 1);
    this.axisName(frame, fill(text.axis_keys, { n }));
  }

  paintShares(name) {
    const measured = this[name], entropy = name === "entropy";
    const values = Object.fromEntries(KINDS.map((kind) => [kind, significant(measured[kind].mean[this.at])]));
    const frame = this.begin(name, fill(this.text[`title_${name}`], { n: this.n, ...values }));
    const most = entropy ? 1 : Math.max(...KINDS.flatMap((kind) => measured[kind].mean)) * 1.15;
    const y = (v) => frame.bottom - (v / most) * (frame.bottom - frame.top);
    for (const value of entropy ? [0, 0.5, 1] : [0, 0.1, 0.2, 0.3, 0.4, 0.5].filter((v) => v <= most))
      this.level(frame, value, y(value));
    this.axis(frame);
    for (const kind of KINDS) {
      this.line(frame, measured[kind].mean, y, CLASS[kind]);
      this.dots(frame, measured[kind], y, CLASS[kind]);
    }
    if (entropy) for (const kind of KINDS) this.points(frame, kind, y, kind === "unscaled" ? "open" : "");
  }

  /** The model's heads at their own d_k, the picked one named and on top. */
  points({ svg, x }, measure, y, extra) {
    const { heads } = this;
    if (!heads) return;
    const cx = x(Math.log2(heads.d)), isPicked = (k) => Number(k === heads.picked);
    for (const k of [...heads.names.keys()].sort((a, b) => isPicked(a) - isPicked(b))) {
      const value = heads[measure][k], chosen = k === heads.picked, name = heads.names[k];
      if (value === null || (measure === "variance" && value <= 0)) continue;
      const point = draw("path",
        { d: diamond(cx, y(value), chosen ? 6.5 : 3.6), class: `head ${extra} ${chosen ? "picked" : ""}` }, svg);
      draw("title", {}, point, `${name}: ${significant(value, 4)}`);
      point.onclick = (event) => { event.stopPropagation(); heads.picked = k; this.paint(); this.settle(k); };
      if (chosen && !extra) words(svg, cx + 11, y(value) + 0.32 * this.em, name, "head-name", "start");
    }
  }
}

/** A straight line. */
const rule = (svg, x1, y1, x2, y2, name) => draw("line", { x1, y1, x2, y2, class: name }, svg);

const words = (svg, x, y, text, name = "sans", anchor = "middle") =>
  draw("text", { x, y, "text-anchor": anchor, class: name }, svg, text);

const diamond = (x, y, r) => `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`;

export default mounted(Scaling);
