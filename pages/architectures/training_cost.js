// The time, energy and money of a training. Two charts over its operations, on logarithmic axes: hours over all
// devices, and energy. Each kind of device is a line, published trainings are dots, and the training that the sliders
// set is a ring on the line of the picked device.
import { columns, levels, multiples } from "../../core/components/lib/axis.js";
import { button, draw, drawLine, drawText, fill, make, sized } from "../../core/components/lib/dom.js";
import { Instrument, Range } from "../../core/components/lib/instrument.js";
import { grouped, percent, powerOfTen, readable } from "../../core/components/lib/numbers.js";
import { emOf, textWidth } from "../../core/components/lib/text.js";
import { readTheme } from "../../core/components/lib/theme.js";
import { fitHeight, mounted } from "../../core/components/lib/view.js";
import { prefixed } from "./hardware_work.js";
import { decadesAround, lasting, money, nameAt, trainingOf, YEAR } from "./training_cost_work.js";

// what a slider goes over, of which scale and step, and how its value is written
const SLIDERS = {
  parameters: { low: 0.1, high: 1e4, text: (value) => `${readable(value)} B` },
  tokens: { low: 1, high: 1e5, text: (value) => `${readable(value)} B` },
  devices: { low: 10, high: 1e6, text: grouped },
  share: { low: 1, high: 100, step: 1, text: (value) => percent(value / 100, 0) },
  pue: { low: 1, high: 2, step: 0.01, text: (value) => value.toFixed(2) },
  price: { low: 0.1, high: 10, step: 0.1, text: (value) => `$ ${value.toFixed(2)}` },
};
const LOG_STEP = 0.05;                                          // decades; a whole number of devices changes at each
const CHARTS = { hours: [4, 7], energy: [7, 10] };              // powers of ten that the axis shows at rest
const OPERATIONS = [22, 24];

/** @typedef {{ id: string, short: string, name: string, peak: number, watts: number, source: string }} Device */
/** parameters, tokens: in billions; device: an id; share: in percent; null where not published.
 * @typedef {{ name: string, source: string, parameters: number, tokens: number, hardware: string, device: string,
 *   devices: number, operations: number, energy: number, share: number | null, reported: number | null,
 *   hours: number | null, days: number | null }} Model */
/** @typedef {{ labels: Record<string, string>, devices: Device[], models: Model[],
 *   settings: Record<"parameters" | "tokens" | "devices" | "share" | "pue" | "price",
 *   number> & { hardware: string } }} Message */

/** @extends {Instrument<Message>} */
class TrainingCost extends Instrument {
  constructor(root) {
    super(root);
    const kinds = make("div", "hands kinds", root);
    this.presets = make("div", "variants presets", kinds);
    this.kinds = make("div", "variants devices", kinds);
    for (const group of [this.presets, this.kinds]) group.role = "radiogroup";
    const bar = make("div", "hands", root);
    this.title = make("p", "title", root);
    this.title.ariaLive = "polite";
    const stage = make("div", "stage", root), charts = make("div", "charts", stage);
    this.svgs = Object.keys(CHARTS).map((name) => draw("svg", { role: "img", class: `chart ${name}` }, charts));
    const side = make("div", "side", stage);
    this.table = make("table", "", side);
    const own = make("div", "hands more", side);
    this.note = make("p", "note", side);
    this.ranges = {};
    for (const name of Object.keys(SLIDERS)) {
      this.ranges[name] = new Range(name === "pue" || name === "price" ? own : bar, name,
        { input: (at) => this.slide(name, at), commit: () => this.commit() });
    }
  }

  /** @param {Message} header */
  receive(header) {
    this.devices = header.devices;
    this.models = header.models;
    super.receive(header);
    const { labels } = this;
    for (const [name, range] of Object.entries(this.ranges)) range.title(labels[name], labels[`${name}_hint`]);
    this.choices(this.presets, labels.published, this.models.filter(({ share }) => share), ({ name }) => name,
      ({ parameters, tokens, device, devices, share }) => ({ parameters, tokens, hardware: device, devices, share }));
    this.choices(this.kinds, labels.device, this.devices, ({ short }) => short, ({ id }) => ({ hardware: id }));
  }

  choices(group, label, offered, named, settings) {
    if (group.childElementCount) return;
    group.ariaLabel = label;
    for (const each of offered) {
      const choice = button(group, named(each), "", () => this.change(settings(each)));
      choice.role = "radio";
      choice.title = each.source ?? "";
    }
  }

  slide(name, at) {
    const { step } = SLIDERS[name], value = step ? at : Number((10 ** at).toPrecision(3));
    this.change({ [name]: name === "devices" ? Math.round(value) : value });
  }

  change(settings) {
    Object.assign(this.settings, settings);
    this.schedule();
    this.commit();
  }

  get device() {
    return this.devices.find(({ id }) => id === this.settings.hardware);
  }

  /** The published model of as many parameters and tokens. */
  get model() {
    const { parameters, tokens } = this.settings;
    return this.models.find((one) => one.parameters === parameters && one.tokens === tokens);
  }

  draw() {
    const { labels, settings, device, model, title } = this;
    this.em = emOf(this.root);
    for (const [name, range] of Object.entries(this.ranges)) this.setRange(name, range);
    const mark = (group, picked) => [...group.children].forEach((node) => {
      node.ariaChecked = String(node.textContent === picked);
    });
    mark(this.presets, model?.name);
    mark(this.kinds, device.short);
    this.found = trainingOf(settings, device);
    const { operations, days, energy, dollars } = this.found;
    title.textContent = fill(labels.title, { n: prefixed(settings.parameters * 1e9, ""),
      d: prefixed(settings.tokens * 1e9, ""), operations: powerOfTen(operations, 3), days: readable(days),
      devices: settings.devices, device: device.short, energy: prefixed(energy, "Wh"), price: money(dollars) });
    this.fillTable();
    this.svgs.forEach((svg, i) => this.chart(svg, Object.keys(CHARTS)[i]));
  }

  setRange(name, range) {
    const { low, high, step, text } = SLIDERS[name], value = this.settings[name];
    if (step) range.set(low, high, step, value, text(value));
    else range.set(Math.log10(low), Math.log10(high), LOG_STEP, Math.log10(value), text(value));
  }

  fillTable() {
    const { table, labels, found, model, settings, note } = this, time = lasting(found.site);
    const rows = {
      operations: [powerOfTen(found.operations, 3), model?.reported && powerOfTen(model.reported, 3)],
      hours: [prefixed(found.hours, ""), model?.hours && prefixed(model.hours, "")],
      days: [readable(found.days), model?.days && readable(model.days)],
      energy: [prefixed(found.energy, "Wh"), model?.energy && prefixed(model.energy, "Wh")],
      dollars: [money(found.dollars)],
      site: [fill(labels[time.unit], { n: time.n })],
      written: [prefixed(found.written, "FLOP")],
    };
    table.replaceChildren();
    const head = make("tr", "", make("thead", "", table)), body = make("tbody", "", table);
    for (const name of ["", "computed", "published"]) make("th", name, head, name && labels[`column_${name}`]);
    for (const [name, [computed, published]] of Object.entries(rows)) {
      const row = make("tr", name, body);
      make("td", "", row, fill(labels[`row_${name}`], { devices: settings.devices }));
      make("td", "computed", row, computed);
      make("td", "published", row, published || "–");
    }
    note.textContent = fill(labels.note, { share: percent(found.site / YEAR, 1) });
  }

  // ---- the charts ---------------------------------------------------------------------------------------------------

  chart(svg, name) {
    const { em, title, models, found } = this;
    svg.style.height = `${fitHeight(svg, 220, 420)}px`;
    const width = svg.clientWidth, height = svg.clientHeight;
    svg.replaceChildren();
    if (!width || !height) return;
    sized(svg, width, height, `${this.said(name)}. ${title.textContent}`);
    svg.setAttribute("font-size", em);
    const dots = models.filter((model) => model[name]);
    const x = decadesAround([found.operations], ...OPERATIONS), y = decadesAround([found[name]], ...CHARTS[name]);
    const left = 4.2 * em, right = width - 3.8 * em, top = 2.7 * em, floor = height - 3 * em;
    this.box = { left, right, top, floor, x, y };
    this.x = (value) => left + (Math.log10(value) - x[0]) / (x[1] - x[0]) * (right - left);
    this.y = (value) => floor - (Math.log10(value) - y[0]) / (y[1] - y[0]) * (floor - top);
    this.axes(svg, name);
    this.lines(svg, name);
    draw("circle", { class: "own", cx: this.x(found.operations), cy: this.y(found[name]), r: 0.8 * em,
      "data-operations": found.operations, "data-value": found[name] }, svg);
    this.dots(svg, name, dots);
  }

  /** A chart's title, and the settings of its lines. */
  said(name) {
    const { share, pue } = this.settings;
    return fill(this.labels[`axis_${name}`], { share: percent(share / 100, 0), pue: pue.toFixed(2) });
  }

  axes(svg, name) {
    const { em, labels, box, box: { right, floor, x, y } } = this;
    columns(svg, multiples(1, ...x), (power) => this.x(10 ** power), box, em,
      (power) => powerOfTen(10 ** power, 1).split("·").at(-1).trim());
    levels(svg, multiples(1, ...y), (power) => this.y(10 ** power), box, em,
      (power) => prefixed(10 ** power, name === "energy" ? "Wh" : ""));
    drawText(svg, right, floor + 2.5 * em, labels.axis_operations, { anchor: "end", name: "sans axis" });
    drawText(svg, 0, 0.9 * em, this.said(name), { name: "sans axis" });
  }

  /** A line for each kind of device at the same share of its peak. */
  lines(svg, name) {
    const { devices, device, settings, box: { left, right, top, floor, x, y } } = this;
    const clip = `training-${name}`;
    draw("rect", { x: left, y: top, width: right - left, height: floor - top },
      draw("clipPath", { id: clip }, draw("defs", {}, svg)));
    const ends = devices.map((one) => {
      const slope = trainingOf(settings, one)[name] / this.found.operations;
      const [first, last] = x.map((power) => 10 ** power);
      const line = drawLine(svg, left, this.y(first * slope), right, this.y(last * slope),
        { class: one === device ? "line picked" : "line", "clip-path": `url(#${clip})`, "data-device": one.id });
      draw("title", {}, line, one.name);
      const out = 10 ** y[1] / slope;
      return { one, isAbove: out < last, at: out < last ? this.x(out) : this.y(last * slope) };
    });
    this.names(svg, ends);
  }

  /** The devices' names where their lines end: beside each other above the chart, where the picked device's leaves
      room, or below each other at its right. */
  names(svg, ends) {
    const { em, device, box: { right, top, floor } } = this, above = [];
    let beside = -Infinity;
    ends.sort((a, b) => a.at - b.at);
    const picked = ends.filter(({ one, isAbove }) => one === device && isAbove);
    for (const { one, isAbove, at } of new Set([...picked, ...ends])) {
      const kind = one === device ? "sans strong" : "sans halo";
      if (isAbove && above.every((other) => Math.abs(other - at) > 3.4 * em)) {
        drawText(svg, at, top - 0.4 * em, one.short, { anchor: "middle", name: kind });
        above.push(at);
      } else if (!isAbove && at < floor) {
        beside = Math.max(at, beside + 1.15 * em);
        drawText(svg, right + 0.3 * em, beside + 0.35 * em, one.short, { name: kind });
      }
    }
  }

  dots(svg, name, models) {
    const { em, labels, settings, box: { left, right, top, floor } } = this;
    const boxOf = ({ x, y }) => [x - 0.5 * em, y - 0.5 * em, x + 0.5 * em, y + 0.5 * em];
    const places = models.map((model) => ({ model, x: this.x(model.operations), y: this.y(model[name]) }))
      .sort((a, b) => b.x - a.x);
    const reach = 0.8 * em, [x, y] = [this.x(this.found.operations), this.y(this.found[name])];
    const covered = [[x - reach, y - reach, x + reach, y + reach]];      // first by the ring, then by names too
    for (const place of places) {
      const { model } = place;
      const group = draw("g", { class: `mark dot ${model.device === settings.hardware ? "same" : ""}`,
        "data-model": model.name }, svg);
      draw("circle", { cx: place.x, cy: place.y, r: 0.36 * em }, group);
      draw("title", {}, group, fill(labels.dot, { name: model.name, hardware: model.hardware,
        operations: powerOfTen(model.operations, 3),
        value: prefixed(model[name], name === "energy" ? "Wh" : "") }));
      const wide = textWidth(model.name, `600 ${em}px ${readTheme().ink("font")}`);
      const others = places.filter((other) => other !== place).map(boxOf);
      const named = nameAt(place, wide, em, [...others, ...covered], [left, top, right, floor]);
      if (!named) continue;          // who points at the dot is told its name
      covered.push(named.box);
      drawText(group, named.x, named.y, model.name, { anchor: named.anchor, name: "sans strong" });
    }
  }
}

export default mounted(TrainingCost);
