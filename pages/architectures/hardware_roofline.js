// The roofline: operations a second over operations a byte, on logarithmic axes. Each device is a slope, its memory,
// and a flat roof, its peak. On the roof of the picked device stand one pass that reads N tokens at once, and one that
// writes a token of each of some texts; a line goes through the writing of 1 to 1,024 texts.
import { columns, levels, logScale, powers } from "../../core/components/lib/axis.js";
import { button, draw, drawLine, drawText, fill, make, sized } from "../../core/components/lib/dom.js";
import { Range } from "../../core/components/lib/instrument.js";
import { grouped, percent, readable } from "../../core/components/lib/numbers.js";
import { textWidth } from "../../core/components/lib/text.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { fitHeight } from "../../core/components/lib/view.js";
import { attained, devicesFor, prefixed, readingOf, writingOf } from "./hardware_work.js";

const LEAST = { x: 0.5, y: 2.5e11 }, MOST = { x: 20000, y: 2e15 };      // the axes show more where a dot lies beyond
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raised = (power) => [...String(power)].map((digit) => RAISED[Number(digit)]).join("");

/** @typedef {Record<"n" | "operations" | "bytes" | "written" | "fixed" | "each" | "cache", number>} State */
/** @typedef {Record<"id" | "name" | "short" | "source", string>
 *   & Record<"peak" | "bandwidth" | "bytes", number>} Device */
/** weights: their bytes.
 * @typedef {{ labels: Record<string, string>, states: State[], batches: number[], weights: number,
 *   devices: Device[] }} Message */

export class RoofPicture {
  constructor(root, host) {
    this.host = host;
    const bar = make("div", "hands", root);
    this.variants = make("div", "variants", bar);
    this.variants.role = "radiogroup";
    this.tokens = new Range(bar, "tokens", { input: (at) => this.pick(at), commit: () => host.commit() });
    this.texts = new Range(bar, "texts", { input: (at) => this.write(at), commit: () => host.commit() });
    this.title = make("p", "title", root);
    this.title.ariaLive = "polite";
    const stage = make("div", "stage", root);
    this.svg = draw("svg", { role: "img", class: "roof" }, stage);
    const side = make("div", "side", stage);
    this.table = make("table", "", side);
    this.note = make("p", "note", side);
  }

  /** @param {Message} header */
  receive(header) {
    this.labels = header.labels;
    this.states = header.states;
    this.batches = header.batches;
    this.weights = header.weights;
    this.devices = header.devices;
    this.place = this.nearest(this.host.settings.machine_context);
    this.variants.ariaLabel = header.labels.device;
    this.variants.replaceChildren();
    for (const device of this.devices) {
      const choice = button(this.variants, device.short, "", () => this.host.change({ machine_device: device.id }));
      choice.role = "radio";
      choice.title = `${device.name}: ${device.source}`;
    }
    this.tokens.title(header.labels.tokens);
    this.texts.title(header.labels.texts);
  }

  nearest(n) {
    const apart = this.states.map((state) => Math.abs(state.n - n));
    return apart.indexOf(Math.min(...apart));
  }

  pick(place) {
    this.place = place;
    this.host.change({ machine_context: this.states[place].n });
  }

  write(place) {
    this.host.change({ machine_batch: this.batches[place] });
  }

  get batch() {
    const apart = this.batches.map((batch) => Math.abs(batch - this.host.settings.machine_batch));
    return this.batches[apart.indexOf(Math.min(...apart))];
  }

  get device() {
    return this.devices.find(({ id }) => id === this.host.settings.machine_device) ?? this.devices[0];
  }

  /** So many tokens or texts, in words. */
  said(what, n) {
    return fill(this.labels[`${what}_${n > 1 ? "many" : "one"}`], { n });
  }

  draw() {
    const { labels, states, batches, batch, device } = this, state = states[this.place];
    this.tokens.set(0, states.length - 1, 1, this.place, fill(labels.tokens_n, { n: state.n }));
    this.texts.set(0, batches.length - 1, 1, batches.indexOf(batch), fill(labels.texts_n, { n: batch }));
    [...this.variants.children].forEach((node, i) => { node.ariaChecked = String(this.devices[i] === device); });
    const read = this.found(readingOf(state), state.n, 1), write = this.found(writingOf(state, batch), batch, batch);
    this.title.textContent = fill(labels[batch > 1 ? "title_more" : "title_one"], {
      read: percent(read.share), write: percent(write.share, write.share < 0.1 ? 2 : 1), device: device.short,
      tokens: this.said("token", state.n), batch });
    this.fillTable(read, write);
    this.chart(state, read, write);
  }

  /** A pass on the picked device: what it reaches, by what it is bound, and on as many devices as have room for it, the
      time and the tokens a second. */
  found(work, tokens, texts) {
    const { device, weights, states } = this, rate = attained(work.intensity, device);
    const count = devicesFor(weights, states[this.place].cache, texts, device);
    const seconds = work.operations / rate / count;
    return { ...work, rate, share: rate / device.peak, isBound: rate < device.peak, count, seconds,
      speed: tokens / seconds };
  }

  fillTable(read, write) {
    const { table, labels, note, device } = this;
    table.replaceChildren();
    const head = make("tr", "", make("thead", "", table)), body = make("tbody", "", table);
    for (const name of ["", "read", "write"]) make("th", name, head, name && labels[`column_${name}`]);
    const rows = { operations: (work) => prefixed(work.operations, "FLOP"), bytes: (work) => prefixed(work.bytes, "B"),
      intensity: (work) => readable(work.intensity), bound: (work) => labels[work.isBound ? "memory" : "computing"],
      share: (work) => percent(work.share, work.share < 0.1 ? 2 : 0), devices: (work) => String(work.count),
      time: (work) => prefixed(work.seconds, "s"), speed: (work) => readable(work.speed) };
    for (const [name, says] of Object.entries(rows)) {
      const row = make("tr", name, body);
      make("td", "", row, fill(labels[`row_${name}`], { device: device.short }));
      for (const [kind, work] of [["read", read], ["write", write]]) make("td", kind, row, says(work));
    }
    note.textContent = fill(labels.note, { device: device.short, room: prefixed(device.bytes, "B"),
      weights: prefixed(this.weights, "B"), cache: prefixed(this.batch * this.states[this.place].cache, "B") });
  }

  // ---- the chart ----------------------------------------------------------------------------------------------------

  chart(state, read, write) {
    const { svg, host: { em }, device, title, labels } = this;
    svg.style.height = `${fitHeight(svg, 250, 470)}px`;
    const width = svg.clientWidth, height = svg.clientHeight;
    svg.replaceChildren();
    if (!width || !height) return;
    sized(svg, width, height, title.textContent);
    svg.setAttribute("font-size", em);
    const trail = this.batches.map((batch) => writingOf(state, batch));
    const xs = [read.intensity, ...trail.map(({ intensity }) => intensity)];
    const low = Math.min(LEAST.x, ...xs), high = Math.max(MOST.x, ...xs);
    const left = 3.6 * em, right = width - 0.4 * em, top = 1.6 * em, floor = height - 3.1 * em;
    const bottom = Math.min(LEAST.y, (low * device.bandwidth) / 2, device.peak / 2);
    this.x = logScale(low, high, left, right);
    this.y = logScale(bottom, MOST.y, floor, top);
    this.box = { left, right, top, floor, low, high, bottom };
    this.axes();
    this.zones();
    const places = trail.map(({ intensity }) => [this.x(intensity), this.y(attained(intensity, device))]);
    const ridge = [this.x(device.peak / device.bandwidth), this.y(device.peak)];
    const bend = places[0][0] < ridge[0] && ridge[0] < places.at(-1)[0] ? [ridge] : [];
    const along = [...places, ...bend].sort((a, b) => a[0] - b[0]);
    draw("path", { class: "trail", d: `M${along.map((place) => place.join(" ")).join("L")}` }, svg);
    for (const one of this.devices) this.roof(one, one === device);
    for (const [x, y] of places) draw("circle", { class: "step", cx: x, cy: y, r: 0.2 * em }, svg);
    this.names();
    this.dot(write, "write", fill(labels.dot_write, { texts: this.said("text", this.batch) }));
    this.dot(read, "read", fill(labels.dot_read, { tokens: this.said("token", state.n) }));
  }

  axes() {
    const { svg, host: { em }, labels, box, box: { right, floor, low, high, bottom } } = this;
    columns(svg, powers(low, high), (power) => this.x(10 ** power), box, em, (power) => grouped(10 ** power));
    levels(svg, powers(bottom, MOST.y), (power) => this.y(10 ** power), box, em, (power) => `10${raised(power)}`);
    drawText(svg, right, floor + 2.6 * em, labels.axis_x, { anchor: "end", name: "sans axis" });
    drawText(svg, 0, 0.9 * em, labels.axis_y, { name: "sans axis" });
  }

  /** On which side of the picked device's ridge memory is the bound, and on which computing. */
  zones() {
    const { svg, host: { em }, labels, device, box: { left, right, floor } } = this;
    const ridge = device.peak / device.bandwidth, x = this.x(ridge), y = this.y(device.peak);
    drawLine(svg, x, y, x, floor, { class: "ridge" });
    drawText(svg, x, floor - 0.5 * em, fill(labels.ridge, { value: readable(ridge) }), { anchor: "middle",
      name: "sans strong" });
    drawText(svg, (left + x) / 2, floor - 0.5 * em, labels.zone_memory, { anchor: "middle", name: "sans zone" });
    drawText(svg, (x + right) / 2 + em, floor - 0.5 * em, labels.zone_computing, { anchor: "middle",
      name: "sans zone" });
  }

  roof(device, isPicked) {
    const { svg, box: { low, high } } = this, ridge = device.peak / device.bandwidth;
    const points = [low, ridge, high].map((at) => `${this.x(at)} ${this.y(attained(at, device))}`);
    const group = draw("g", { class: "mark", "data-device": device.id }, svg);
    draw("path", { class: isPicked ? "roofline picked" : "roofline", d: `M${points.join("L")}` }, group);
    const { name, peak, bandwidth } = device;
    draw("title", {}, group, `${name}: ${prefixed(peak, "FLOP/s")}, ${prefixed(bandwidth, "B/s")}`);
  }

  /** The devices' names at the right, each by its roof, below it where another one is close. */
  names() {
    const { svg, host: { em }, box: { right }, device } = this;
    const sorted = [...this.devices].sort((a, b) => b.peak - a.peak);
    let last = -Infinity, isBelow = false;
    for (const one of sorted) {
      const y = this.y(one.peak);
      isBelow = y - last < (isBelow ? 2.6 : 1.3) * em;
      drawText(svg, right, y + (isBelow ? 1.1 : -0.4) * em, one.short, { anchor: "end",
        name: one === device ? "sans strong" : "sans halo" });
      last = y;
    }
  }

  dot({ intensity, rate }, kind, said) {
    const { svg, host: { em }, box: { left }, device } = this, x = this.x(intensity), y = this.y(rate);
    const group = draw("g", { class: `mark dot ${kind}`, "data-intensity": intensity, "data-rate": rate }, svg);
    draw("circle", { cx: x, cy: y, r: 0.55 * em }, group);
    draw("title", {}, group, fill(this.labels.dot, { said, intensity: readable(intensity),
      rate: prefixed(rate, "FLOP/s") }));
    if (kind === "write") {
      const isFlat = attained(intensity, device) >= device.peak;
      drawText(group, x + (isFlat ? 0 : 0.9) * em, y + (isFlat ? 1.7 : 1.25) * em, said,
        { anchor: isFlat ? "middle" : "start", name: "sans strong" });
      return;
    }
    const isRoomy = textWidth(said, `600 ${em}px ${readTheme().ink("font")}`) < x - left - 0.8 * em;
    drawText(group, x + (isRoomy ? 0.3 : -0.5) * em, y - (isRoomy ? 0.9 : 3.3) * em, said,
      { anchor: isRoomy ? "end" : "start", name: "sans strong" });
  }
}
