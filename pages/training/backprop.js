// One small network: the pass forward, the same pass backwards, step by step, and steps of gradient descent. Every
// number opens to the product that it is, and each input and weight can be moved.
import { levels, multiples, niceStep } from "../../core/components/lib/axis.js";
import { button, draw, drawLine, drawText, fill, make, marked, sized } from "../../core/components/lib/dom.js";
import { Instrument, Range } from "../../core/components/lib/instrument.js";
import { decimals, readable, significant } from "../../core/components/lib/numbers.js";
import { Player } from "../../core/components/lib/player.js";
import { emOf } from "../../core/components/lib/text.js";
import { mounted } from "../../core/components/lib/view.js";
import { drawGraph, FORWARD, layout, SINCE, symbol, UPDATE } from "./backprop_graph.js";
import { backward, descend, forward, gradient, lossAt, NAMES, product } from "./backprop_work.js";

const WIDEST = 3, PAUSE = 1400, POINTS = 90, LEAST_STEPS = 10, MOVE = 1e-4;
const four = (value) => decimals(value, 4);
const isLeaf = (name) => NAMES.includes(name);

/** autograd: in the order of NAMES, of the numbers after the updates.
 * @typedef {{ numbers: number[], true: number, activation: string, seed: number, optimizer: string, rate: number,
 *   tokens: string[], numbers_now: number[], autograd: number[] }} Net */
/** settings.net: the twelve numbers behind the seed, "" as drawn.
 * @typedef {{ settings: { net: string, net_updates: number, net_at: number, net_picked: string }, net: Net,
 *   labels: Record<string, string>, height: number, present: boolean }} Message */

/** @extends {Instrument<Pick<Message, "settings">>} */
class Backprop extends Instrument {
  constructor(root) {
    super(root);
    this.opened = [];
    this.moved = null;
    const graph = make("div", "graph", root), panel = make("div", "panel", root), foot = make("div", "foot", root);
    this.svg = draw("svg", { role: "img", class: "net" }, graph);
    this.caption = make("p", "caption", foot);
    this.player = new Player(foot, this.caption,
      { show: () => this.go(this.player.at), rest: () => this.commit() });
    this.player.bar.onkeydown = (event) => this.step(event);
    this.setting(panel);
    this.lines = make("div", "lines", panel);
    this.checks = make("p", "checks", panel);
    this.plots = make("div", "plots", panel);
    this.curve = draw("svg", { role: "img", class: "curve" }, this.plots);
    this.descent(make("div", "descent", foot));
  }

  /** The slider and the field of an input or a weight. */
  setting(panel) {
    const box = make("div", "setting", panel);
    this.range = new Range(box, "value", { input: (value) => this.move(value), commit: () => this.settle() });
    this.field = make("input", "typed", box);
    Object.assign(this.field, { type: "number", step: 0.01, min: -WIDEST, max: WIDEST });
    this.field.onchange = () => {
      const value = Number(this.field.value);
      if (this.field.value === "" || !Number.isFinite(value)) { this.schedule(); return; }
      this.move(Math.max(-WIDEST, Math.min(WIDEST, value)));
      this.settle();
    };
    this.box = box;
  }

  descent(place) {
    this.buttons = make("div", "buttons", place);
    const add = (by) => button(this.buttons, "", "", () => this.update(by));
    this.updates = { one: add(1), ten: add(10), reset: add(-Infinity) };
    this.said = make("span", "said", place);
    this.losses = draw("svg", { role: "img", class: "losses" }, this.plots);
  }

  /** @param {Message} data */
  receive(data) {
    const { net } = data, fresh = JSON.stringify([net.seed, net.true, net.activation]);
    if (this.fresh !== fresh) this.moved = null;
    this.fresh = fresh;
    this.own = net;
    this.high = data.present ? Math.max(300, 0.44 * window.innerHeight) : data.height;
    super.receive(data);
    this.player.receive(data.labels, UPDATE, PAUSE);
    for (const [name, node] of Object.entries(this.updates)) node.textContent = data.labels[name];
    this.player.begin(this.settings.net_at, fresh, this.settings.net_at !== this.player.at);
    this.field.ariaLabel = data.labels.typed;
  }

  /** The network before any update. */
  get start() {
    const { numbers, true: true_, activation, seed } = this.own, [of, list] = this.settings.net.split(":");
    const own = list && Number(of) === seed ? list.split(",").map(Number) : numbers;
    return { numbers: own, true: true_, activation };
  }

  get picked() {
    return this.settings.net_picked;
  }

  states(optimizer = this.own.optimizer, n = this.settings.net_updates) {
    return descend(this.start, optimizer, this.own.rate, n);
  }

  go(at) {
    this.settings.net_at = at;
    this.schedule();
  }

  step(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.target.matches("input")) return;
    event.preventDefault();
    event.stopPropagation();
    this.player.stop();
    this.player.go(this.player.at + by);
    this.commit();
  }

  pick(name) {
    if (/^[py]/.test(name) || name === "L") this.opened = [name];
    else this.opened = [];
    this.settings.net_picked = name;
    this.moved = null;
    this.commit();
    this.schedule();
  }

  /** The picked input or weight gets another value; the updates so far become the start of a new descent. */
  move(value) {
    const net = this.net, place = NAMES.indexOf(this.picked);
    if (!this.moved?.isOn)
      this.moved = { isOn: true, from: net.numbers[place], loss: forward(net).loss, slope: gradient(net)[place] };
    const numbers = net.numbers.map((own, i) => (i === place ? value : own));
    this.settings.net = `${this.own.seed}:${numbers.map((number) => Number(number.toFixed(4))).join(",")}`;
    this.settings.net_updates = 0;
    this.schedule();
  }

  settle() {
    if (this.moved) this.moved.isOn = false;
    this.commit();
  }

  update(by) {
    this.settings.net_updates = Math.max(0, Math.min(200, this.settings.net_updates + by));
    if (by < 0) this.settings.net = "";
    this.moved = null;
    this.commit();
    this.schedule();
  }

  draw() {
    const states = this.states(), [after] = descend(states.at(-1).net, "sgd", 0, 0);
    this.settings.net_updates = states.length - 1;
    this.net = after.net;
    this.em = emOf(this.root);
    const next = this.nextNet(states.length - 1), now = forward(this.net), back = backward(this.net);
    const { labels, settings } = this, width = this.svg.parentNode.clientWidth;
    if (!width) return;
    const size = layout(width, this.high, this.em);
    const names = Object.fromEntries(NAMES.map((name, i) => [name, next.numbers[i]]).slice(2));
    drawGraph(this.svg, size, this.em, { at: settings.net_at, now, back, next: names, nextLoss: forward(next).loss,
      picked: this.picked, tokens: this.own.tokens, title: (name) => this.words(name, now, back),
      pick: (name) => this.pick(name) }, labels.twin);
    const values = { L: significant(now.loss), after: significant(forward(next).loss),
      token: this.own.tokens[this.own.true], p: significant(now.p[this.own.true]),
      push: significant(now.p[this.own.true] - 1), n: settings.net_updates };
    marked(this.caption, fill(labels[`step_${settings.net_at}`], values));
    this.root.classList.toggle("backwards", settings.net_at > FORWARD);
    this.player.value(this.caption.textContent);
    this.panel(now, back);
    this.drawCurve(now, back);
    this.drawLosses(states);
  }

  /** The network after one more update: the last of n + 1, so that Adam's m and v are those of the whole way. */
  nextNet(n) {
    return this.states(this.own.optimizer, n + 1).at(-1).net;
  }

  words(name, now, back) {
    const value = this.valueOf(name, now), slope = this.slopeOf(name, back), { net_at: at } = this.settings;
    if (at < SINCE[name[0]]) return symbol(name);
    const said = `${symbol(name)} = ${four(value)}`;
    return slope === null || at < SINCE[`d${name[0]}`] ? said : `${said}, ${symbol(`d${name}`)} = ${four(slope)}`;
  }

  valueOf(name, now) {
    const [kind, i, j] = [name[0], Number(name[1]) - 1, Number(name[2]) - 1];
    return name === "L" ? now.loss : kind === "w" ? now.W[i][j] : kind === "v" ? now.V[i][j] : now[kind][i];
  }

  slopeOf(name, back) {
    const [kind, i, j] = [name[0], Number(name[1]) - 1, Number(name[2]) - 1];
    if (/^[pyL]/.test(name)) return null;
    return kind === "w" ? back.W[i][j] : kind === "v" ? back.V[i][j] : back[kind][i];
  }

  // ---- the number that is opened ------------------------------------------------------------------------------------

  panel(now, back) {
    const { picked, labels, range } = this, leaf = isLeaf(picked), at = this.settings.net_at;
    this.box.hidden = !leaf;
    if (leaf) {
      const value = this.valueOf(picked, now);
      range.title(symbol(picked), fill(labels.drag, { name: symbol(picked) }));
      range.set(-WIDEST, WIDEST, 0.01, value, four(value));
      if (this.root.getRootNode().activeElement !== this.field) this.field.value = String(Number(value.toFixed(4)));
    }
    const slope = this.slopeOf(picked, back), told = slope !== null && at >= SINCE[`d${picked[0]}`];
    this.lines.replaceChildren();
    if (!leaf && at >= SINCE[picked[0]]) this.line(picked, 0, now);
    if (told) this.line(`d${picked}`, 0, now);
    else if (leaf) make("p", "later", this.lines, labels.later);
    if (told && !this.opened.length) make("p", "later", this.lines, labels.press);
    this.check(told && leaf ? slope : null);
  }

  /** One number as the product that it is; below it the lines of those of its factors that the reader has opened. */
  line(name, depth, now) {
    const made = product(this.net, name), row = make("div", "line", this.lines);
    row.style.setProperty("--depth", String(depth));
    make("span", "name", row, `${symbol(name)} =`);
    if (!made) { make("span", "number", row, this.spelled(name, now)); return; }
    const factors = made.terms.flat();
    made.terms.forEach((term, i) => {
      if (i) row.append("+");
      term.forEach((factor, k) => {
        if (k) row.append("·");
        this.factor(row, factor);
      });
    });
    make("span", "result", row, `= ${four(made.value)}`);
    for (const { name: factor } of factors) if (this.opened.includes(factor)) this.line(factor, depth + 1, now);
  }

  factor(row, { name, value, leaf }) {
    const isOpen = this.opened.includes(name);
    const node = button(row, "", fill(this.labels.open, { name: symbol(name) }), () => {
      if (leaf) { this.pick(name); return; }
      this.opened = isOpen ? this.opened.filter((other) => other !== name) : [...this.opened, name];
      this.schedule();
    }, name[0] === "d" ? "factor back" : "factor");
    if (!leaf) node.ariaExpanded = String(isOpen);
    make("small", "", node, symbol(name));
    make("span", "", node, four(value));
  }

  /** Quantities that are no product of numbers on the drawing, in numbers. */
  spelled(name, now) {
    const [kind, place] = [name[name[0] === "d" ? 1 : 0], Number(name.at(-1)) - 1];
    const { p, y, z, h, u, loss } = now;
    if (name[0] === "d") return `p − y = ${four(p[place])} − ${y[place]} = ${four(p[place] - y[place])}`;
    if (kind === "L") return `−ln p = −ln ${four(p[this.own.true])} = ${four(loss)}`;
    if (kind === "y") return String(y[place]);
    if (kind === "p") {
      const total = u.reduce((sum, value) => sum + Math.exp(value), 0);
      return `e^u / Σ e^u = ${four(Math.exp(u[place]))} / ${four(total)} = ${four(p[place])}`.replace("e^u", "eᵘ")
        .replace("e^u", "eᵘ");
    }
    const isTanh = this.own.activation === "tanh";
    if (kind === "h") return `${isTanh ? "tanh" : "max"}(${isTanh ? "" : "0, "}${four(z[place])}) = ${four(h[place])}`;
    return isTanh ? `1 − h² = 1 − ${four(h[place])}² = ${four(1 - h[place] ** 2)}`
      : `${z[place] > 0 ? 1 : 0}${this.labels[z[place] > 0 ? "is_on" : "is_off"]}`;
  }

  /** The derivative a second and a third time, and how the next step moves this weight. */
  check(slope) {
    this.checks.hidden = slope === null;
    if (slope === null) return;
    const { net, own, labels, picked, settings } = this, place = NAMES.indexOf(picked), value = net.numbers[place];
    const near = (lossAt(net, picked, value + MOVE) - lossAt(net, picked, value - MOVE)) / (2 * MOVE);
    const isTold = own.numbers_now.every((number, i) => Math.abs(number - net.numbers[i]) < 1e-9);
    const said = [fill(labels.check, { autograd: isTold ? four(own.autograd[place]) : "…", near: four(near) })];
    if (this.moved) {
      const { from, loss, slope: before } = this.moved, by = value - from;
      if (Math.abs(by) > 1e-9)
        said.push(fill(labels.moved, { by: readable(by), change: four(forward(net).loss - loss),
          ratio: four((forward(net).loss - loss) / by), slope: four(before) }));
    }
    if (place >= 2) {
      const move = (optimizer) => {
        const states = descend(this.start, own.optimizer, own.rate, settings.net_updates), g = gradient(net)[place];
        if (optimizer === "sgd") return [-own.rate * g];
        const t = states.length, { m, s } = states.at(-1);
        const m_ = 0.9 * m[place] + 0.1 * g, s_ = 0.999 * s[place] + 0.001 * g * g;
        return [-own.rate * m_ / (1 - 0.9 ** t) / (Math.sqrt(s_ / (1 - 0.999 ** t)) + 1e-8), m_, s_];
      };
      const [adam, m, s] = move("adam");
      said.push(fill(labels.moves, { sgd: four(move("sgd")[0]), adam: four(adam), m: significant(m),
        s: significant(s) }));
    }
    marked(this.checks, said.join("\n"));
  }

  // ---- the loss as a function of one number, and of the steps -------------------------------------------------------

  drawCurve(now, back) {
    const { picked, labels, em } = this, slope = this.slopeOf(picked, back), svg = this.curve;
    const isShown = slope !== null && this.settings.net_at >= FORWARD;
    svg.classList.toggle("empty", !isShown);
    const frame = this.frame(svg, isShown ? fill(labels.curve, { name: symbol(picked) }) : "");
    if (!isShown || !frame) return;
    const value = this.valueOf(picked, now), [low, high] = isLeaf(picked) && Math.abs(value) <= WIDEST
      ? [-WIDEST, WIDEST] : [value - 2, value + 2];
    const xs = Array.from({ length: POINTS + 1 }, (_, i) => low + (i / POINTS) * (high - low));
    const losses = xs.map((x) => lossAt(this.net, picked, x)), most = Math.max(...losses, now.loss) * 1.08;
    const x = frame.x(low, high), y = frame.y(most);
    this.axes(svg, frame, [[low, x(low)], [value, x(value)], [high, x(high)]], most, y, symbol(picked));
    const clip = draw("clipPath", { id: "plot" }, draw("defs", {}, svg));
    const { left, right, top, floor } = frame;
    draw("rect", { x: left, y: top, width: right - left, height: floor - top }, clip);
    const inside = draw("g", { "clip-path": "url(#plot)" }, svg);
    draw("path", { class: "loss", d: `M${xs.map((at, i) => `${x(at).toFixed(1)} ${y(losses[i]).toFixed(1)}`)
      .join("L")}` }, inside);
    if (this.settings.net_at >= SINCE[`d${picked[0]}`]) {
      const line = (at) => y(now.loss + slope * (at - value));
      drawLine(inside, x(low), line(low), x(high), line(high), { class: "tangent" });
      drawText(svg, frame.left + 0.5 * em, frame.top + 0.5 * em, fill(labels.slope, { slope: significant(slope) }),
        { name: "slope halo" });
    }
    if (this.moved && Math.abs(this.moved.from - value) > 1e-9) {
      drawLine(inside, x(this.moved.from), y(this.moved.loss), x(value), y(now.loss), { class: "secant" });
      draw("circle", { cx: x(this.moved.from), cy: y(this.moved.loss), r: 0.3 * em, class: "was" }, svg);
    }
    draw("circle", { cx: x(value), cy: y(now.loss), r: 0.42 * em, class: "dot" }, svg);
  }

  frame(svg, label) {
    const { em } = this, width = svg.clientWidth, height = svg.clientHeight;
    svg.replaceChildren();
    if (!width || !height) return null;
    sized(svg, width, height, label);
    svg.setAttribute("font-size", 0.95 * em);
    const left = 2.6 * em, right = width - 0.8 * em, top = 0.7 * em, floor = height - 1.6 * em;
    return { left, right, top, floor,
      x: (low, high) => (value) => left + ((value - low) / (high - low)) * (right - left),
      y: (most) => (value) => floor - (value / most) * (floor - top) };
  }

  axes(svg, { left, right, floor }, ticks, most, y, name) {
    const { em } = this, step = Math.max(0.1, niceStep(most / 3.5));
    levels(svg, multiples(step, 0, most), y, { left, right }, em, readable, { drop: 0.3, zero: "zero" });
    drawText(svg, 0, y(most) + 0.9 * em, "L", { name: "sans strong" });
    const last = ticks.length - 1;
    ticks.forEach(([value, at], i) => {
      if (i === 1 && last === 2 && (at - left < 4 * em || right - at < 6.5 * em)) return;
      drawText(svg, at, floor + 1.2 * em, i === last ? `${readable(value)} ${name}` : readable(value),
        { anchor: i === 0 ? "start" : i === last ? "end" : "middle" });
    });
  }

  drawLosses(states) {
    const { labels, settings, own, em } = this, n = settings.net_updates, most_n = Math.max(LEAST_STEPS, n);
    const paths = Object.fromEntries(["sgd", "adam"].map((optimizer) =>
      [optimizer, this.states(optimizer, most_n).map(({ net }) => forward(net).loss)]));
    const losses = states.map(({ net }) => forward(net).loss), first = significant(losses[0]);
    this.said.textContent = fill(labels[n ? "descended" : "not_descended"],
      { n, first, now: significant(losses.at(-1)), optimizer: labels[own.optimizer] });
    this.updates.reset.disabled = !n && !settings.net;
    const frame = this.frame(this.losses, fill(labels.losses, { n: most_n }));
    if (!frame) return;
    const most = Math.max(...paths.sgd, ...paths.adam) * 1.08, x = frame.x(0, most_n), y = frame.y(most);
    this.axes(this.losses, frame, [[0, x(0)], [most_n, x(most_n)]], most, y, labels.steps);
    for (const [name, values] of Object.entries(paths)) {
      const points = values.map((value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`);
      draw("path", { class: `loss ${name}${name === own.optimizer ? " own" : ""}`, d: `M${points.join("L")}` },
        this.losses);
      const row = frame.top + (name === "sgd" ? 0.5 : 1.9) * em, isOwn = name === own.optimizer;
      drawLine(this.losses, frame.right - 5.6 * em, row, frame.right - 3.6 * em, row,
        { class: `loss ${name}${isOwn ? " own" : ""}` });
      drawText(this.losses, frame.right, row + 0.3 * em, labels[name],
        { anchor: "end", name: isOwn ? "halo strong" : "halo" });
    }
    draw("circle", { cx: x(n), cy: y(losses.at(-1)), r: 0.42 * em, class: "dot" }, this.losses);
  }
}

export default mounted(Backprop);
