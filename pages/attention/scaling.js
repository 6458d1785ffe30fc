// header: d_ks [D]; n; variance {mean, error} [D]; entropy, gradient {scaled: {mean, error}, unscaled: …} [D]; weights
// {scaled, unscaled} [D][n];
// heads: null or {d, variance, scaled, unscaled, names, picked}, one entry a head of the model; settings {d}; text.
import { grouped, significant } from "../../core/components/lib/numbers.js";
import { draw, Echoes, emOf, fill, keepFree, make, mount, onWidth } from "../../core/components/lib/token_view.js";

const KINDS = ["scaled", "unscaled"], CLASS = { scaled: "with", unscaled: "without" };

class Scaling {
  constructor(root) {
    this.root = root;
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

  receive(header) {
    const { d } = header.settings;
    Object.assign(this, header);
    if (this.echoes.moves(d, this.d_ks[this.at])) this.at = this.d_ks.indexOf(d);
    this.root.classList.toggle("present", header.scale > 1);
    this.slider.max = this.d_ks.length - 1;
    this.slider.setAttribute("aria-label", this.text.slider);
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
        draw("line", { x1: 0, x2: 26, y1: 6, y2: 6, class: CLASS[kind] }, svg);
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
    this.slider.value = this.at;
    this.paint();
    this.settle();
  }

  paint() {
    if (!this.d_ks || !this.panels.variance.place.clientWidth) return;
    const em = emOf(this.root), d = this.d_ks[this.at];
    Object.assign(this, { em, left: 3.4 * em, right: 0.8 * em, upper: 1.9 * em, lower: 2.3 * em });
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", `d_k = ${d}`);
    this.value.replaceChildren("d");
    make("sub", "", this.value, "k");
    this.value.append(` = ${d}`);
    this.paintVariance(d);
    this.paintSoftmax();
    for (const name of ["entropy", "gradient"]) this.paintShares(name);
  }

  /** Clears a panel, writes its title, and returns its scales. */
  begin(name, title) {
    const { place, svg } = this.panels[name], width = place.clientWidth, height = place.clientHeight, { em } = this;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("font-size", 0.88 * em);
    svg.setAttribute("aria-label", title);
    const heading = draw("text", { x: 0, y: 0.95 * em, class: "name", "font-size": em }, svg, title);
    const wide = heading.getComputedTextLength?.() ?? 0;
    if (wide > width) heading.setAttribute("font-size", (em * width) / wide);
    const x = (at) => this.left + (at / (this.d_ks.length - 1)) * (width - this.left - this.right);
    return { svg, width, height, x, top: this.upper, bottom: height - this.lower };
  }

  /** The d_k axis, with a line where the slider stands. */
  axis({ svg, width, x, top, bottom }) {
    const { em } = this, every = (width - this.left) / this.d_ks.length < 2.4 * em ? 2 : 1;
    draw("line", { x1: this.left, x2: width - this.right, y1: bottom, y2: bottom, class: "axis" }, svg);
    draw("line", { x1: x(this.at), x2: x(this.at), y1: top, y2: bottom, class: "guide" }, svg);
    this.d_ks.forEach((d, at) => {
      if (at % every === 0 || at === this.at)
        draw("text", { x: x(at), y: bottom + 1.05 * em, "text-anchor": "middle",
          class: at === this.at ? "sans strong" : "sans" }, svg, d);
    });
    const name = draw("text", { x: width - this.right, y: bottom + 2.05 * em, "text-anchor": "end", class: "sans" },
      svg, "");
    name.textContent = this.text.axis;
  }

  level(frame, value, y) {
    draw("line", { x1: this.left, x2: frame.width - this.right, y1: y, y2: y, class: "axis" }, frame.svg);
    draw("text", { x: this.left - 6, y: y + 0.32 * this.em, "text-anchor": "end", class: "sans" }, frame.svg, value);
  }

  curve(frame, { mean, error }, y, kind, joined = true) {
    const { svg, x } = frame;
    if (joined)
      draw("path", { d: mean.map((v, at) => `${at ? "L" : "M"}${x(at)} ${y(v)}`).join(""), class: CLASS[kind] }, svg);
    mean.forEach((v, at) => {
      draw("line", { x1: x(at), x2: x(at), y1: y(v + error[at]), y2: y(Math.max(v - error[at], 1e-9)),
        class: `error ${CLASS[kind]}` }, svg);
      const point = draw("circle",
        { cx: x(at), cy: y(v), r: at === this.at ? 5.5 : 3.4, class: CLASS[kind], "stroke-width": 1.6 }, svg);
      draw("title", {}, point, `d_k = ${this.d_ks[at]}: ${significant(v, 4)} ± ${significant(error[at], 2)}`);
    });
  }

  paintVariance(d) {
    const { variance: { mean, error }, heads } = this;
    const frame = this.begin("variance",
      fill(this.text.title_variance, { d, value: significant(mean[this.at]), error: significant(error[this.at], 2) }));
    const all = [...this.d_ks, ...mean, ...(heads?.variance ?? [])].filter((v) => v > 0).map(Math.log10);
    const [low, high] = [Math.min(...all) - 0.15, Math.max(...all) + 0.15];
    const y = (v) => frame.bottom - ((Math.log10(v) - low) / (high - low)) * (frame.bottom - frame.top);
    for (let power = Math.ceil(low); power <= high; power++)
      this.level(frame, power < 0 ? String(10 ** power) : grouped(10 ** power), y(10 ** power));
    this.axis(frame);
    draw("path", { d: this.d_ks.map((v, at) => `${at ? "L" : "M"}${frame.x(at)} ${y(v)}`).join(""), class: "theory" },
      frame.svg);
    draw("text", { x: frame.x(1.6), y: y(this.d_ks[2]) - 1.1 * this.em, class: "sans strong", "text-anchor": "middle" },
      frame.svg, this.text.theory);
    this.curve(frame, this.variance, y, "unscaled", false);
    this.points(frame, "variance", y, "");
  }

  paintSoftmax() {
    const rows = KINDS.map((kind) => this.weights[kind][this.at]), most = rows.map((row) => Math.max(...row));
    const shown = { n: this.n, scaled: significant(most[0]), unscaled: significant(most[1]) };
    const frame = this.begin("softmax", fill(this.text.title_softmax, shown)), { em } = this;
    const height = (frame.bottom - frame.top - 0.5 * em) / 2, step = (frame.width - this.left - this.right) / this.n;
    KINDS.forEach((kind, r) => {
      const base = frame.top + (r + 1) * height + (r ? 0.5 * em : 0), y = (v) => base - v * (height - 0.5 * em);
      for (const value of [0, 1]) this.level(frame, value, y(value));
      draw("line", { x1: this.left, x2: frame.width - this.right, y1: y(1 / this.n), y2: y(1 / this.n),
        class: "theory" }, frame.svg);
      rows[r].forEach((p, k) => {
        const bar = draw("rect", { x: this.left + (k + 0.14) * step, y: y(p), width: 0.72 * step,
          height: Math.max(base - y(p), 0.5), class: CLASS[kind], "stroke-width": 1.4 }, frame.svg);
        draw("title", {}, bar, `${this.text[kind]}, ${k + 1}: ${significant(p, 4)}`);
      });
      draw("text", { x: frame.width - this.right, y: y(1) + 1.1 * em, "text-anchor": "end", class: "sans strong" },
        frame.svg, this.text[kind]);
    });
    const every = Math.ceil((2 * em) / step);
    rows[0].forEach((_, k) => {
      if (k % every === 0)
        draw("text", { x: this.left + (k + 0.5) * step, y: frame.bottom + 1.05 * em, "text-anchor": "middle",
          class: "sans" }, frame.svg, k + 1);
    });
    draw("text", { x: frame.width - this.right, y: frame.bottom + 2.05 * em, "text-anchor": "end", class: "sans" },
      frame.svg, fill(this.text.axis_keys, { n: this.n }));
  }

  paintShares(name) {
    const of = this[name];
    const values = Object.fromEntries(KINDS.map((kind) => [kind, significant(of[kind].mean[this.at])]));
    const frame = this.begin(name, fill(this.text[`title_${name}`], { n: this.n, ...values }));
    const most = name === "entropy" ? 1 : Math.max(...KINDS.flatMap((kind) => of[kind].mean)) * 1.15;
    const y = (v) => frame.bottom - (v / most) * (frame.bottom - frame.top);
    for (const value of name === "entropy" ? [0, 0.5, 1] : [0, 0.1, 0.2, 0.3, 0.4, 0.5].filter((v) => v <= most))
      this.level(frame, value, y(value));
    this.axis(frame);
    for (const kind of KINDS) this.curve(frame, of[kind], y, kind);
    if (name === "entropy") for (const kind of KINDS) this.points(frame, kind, y, kind === "unscaled" ? "open" : "");
  }

  /** The model's heads at their own d_k, the picked one named. */
  points(frame, measure, y, extra) {
    if (!this.heads) return;
    const { heads } = this, at = Math.log2(heads.d);
    const order = heads.names.map((_, k) => k).sort((a, b) => (a === heads.picked) - (b === heads.picked));
    for (const k of order) {
      const value = heads[measure][k], chosen = k === heads.picked;
      if (value === null || (measure === "variance" && value <= 0)) continue;
      const point = draw("path",
        { d: diamond(frame.x(at), y(value), chosen ? 6.5 : 3.6), class: `head ${extra} ${chosen ? "picked" : ""}` },
        frame.svg);
      draw("title", {}, point, `${heads.names[k]}: ${significant(value, 4)}`);
      point.onclick = (event) => { event.stopPropagation(); this.heads.picked = k; this.paint(); this.settle(k); };
      if (chosen && !extra)
        draw("text", { x: frame.x(at) + 11, y: y(value) + 0.32 * this.em, class: "head-name" }, frame.svg,
          heads.names[k]);
    }
  }
}

const diamond = (x, y, r) => `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`;

export default function (component) {
  mount(component, Scaling);
}
