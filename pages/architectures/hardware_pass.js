// The parts of a pass: all its operations as one bar, with the sliver that is no matrix product drawn once more, as
// wide as the whole; below, each part with its operands. A slider sets the number of tokens.
import { draw, drawText, fill, hatching, make, marked, sized } from "../../core/components/lib/dom.js";
import { Range } from "../../core/components/lib/instrument.js";
import { readable } from "../../core/components/lib/numbers.js";
import { textWidth } from "../../core/components/lib/text.js";
import { readTheme } from "../../core/components/lib/theme.js";

/** own: tokens of the prompt; at: the picked number of tokens; products: names.
 * @typedef {{ labels: Record<string, string>, own: number, at: number, products: string[], states: State[] }} Message
 */
/** @typedef {{ name: string, value: number, count: string, share: string, of: string }} Part */
/** @typedef {{ n: number, total: string, share: string, rest: string, parts: Part[] }} State */

export class PassPicture {
  constructor(root, host) {
    this.host = host;
    this.range = new Range(root, "tokens", { input: (at) => this.pick(at), commit: () => host.commit() });
    this.title = make("p", "title", root);
    this.title.ariaLive = "polite";
    this.svg = draw("svg", { role: "img", class: "pass" }, root);
    this.tables = make("div", "parts", root);
  }

  /** @param {Message} header */
  receive(header) {
    this.labels = header.labels;
    this.own = header.own;
    this.products = header.products;
    this.states = header.states;
    const last = header.states.findIndex((state) => state.n === header.at);
    if (this.place === undefined || header.at !== this.states[this.place]?.n) this.place = last;
    this.range.title(header.labels.tokens);
  }

  pick(place) {
    this.place = place;
    this.host.change({ machine_length: this.states[place].n });
  }

  draw() {
    const { states, labels, own } = this, state = states[this.place];
    this.range.set(0, states.length - 1, 1, this.place,
      fill(labels[state.n === own ? "tokens_own" : "tokens_n"], { n: state.n }));
    this.title.textContent = fill(labels.title, state);
    this.bars(state);
    this.table(state);
  }

  /** The whole pass as one bar, and its last sliver as another one. */
  bars(state) {
    const { svg, host: { em, present }, labels } = this, width = svg.clientWidth, tall = (present ? 1.9 : 2.5) * em;
    const products = state.parts.filter(({ name }) => this.products.includes(name));
    const rest = state.parts.filter(({ name }) => !this.products.includes(name));
    const total = sum(state.parts), first = 1.5 * em, second = first + tall + (present ? 2.4 : 3.3) * em;
    svg.replaceChildren();
    if (!width) return;
    sized(svg, width, second + tall + 1.5 * em, this.title.textContent);
    svg.setAttribute("font-size", em);
    hatching(svg, "hatch", { size: 6, thick: 2 });
    const edge = (width * sum(products)) / total, top = first + tall;
    draw("path", { class: "zoom", d: `M${edge} ${top}L0 ${second}H${width}L${width} ${top}Z` }, svg);
    this.bar(products, edge, first, tall, { kind: "products", label: -0.45 * em });
    draw("rect", { class: "part rest", x: edge, y: first, width: width - edge, height: tall }, svg);
    drawText(svg, 0, second - 0.6 * em, fill(labels.second, { ...state, times: readable(total / sum(rest), 2) }),
      { name: "sans strong" });
    this.bar(rest, width, second, tall, { kind: "others", label: tall + 1.15 * em });
  }

  /** The parts side by side on `width` pixels, each with its name where there is room for it. */
  bar(parts, width, top, tall, { kind, label }) {
    const { svg, host: { em }, labels } = this, whole = sum(parts), font = `600 ${em}px ${readTheme().ink("font")}`;
    let x = 0;
    for (const { name, value, share, count } of parts) {
      const wide = (width * value) / whole, short = labels[`${name}_short`];
      const group = draw("g", { class: `mark ${kind}`, "data-part": name, "data-value": value }, svg);
      draw("rect", { class: `part ${name}`, x, y: top, width: wide, height: tall }, group);
      draw("title", {}, group, `${labels[name]}: ${count}, ${share}`);
      const said = [`${short} ${share}`, short].find((text) => textWidth(text, font) < wide - 0.5 * em);
      if (said) drawText(group, x, top + label, said, { name: "sans strong" });
      x += wide;
    }
  }

  /** Two tables: the matrix products, and the rest. */
  table(state) {
    const { labels } = this;
    this.tables.replaceChildren();
    for (const isProduct of [true, false]) {
      const table = make("table", isProduct ? "products" : "others", this.tables);
      const head = make("tr", "", make("thead", "", table)), body = make("tbody", "", table);
      make("th", "", head, labels[isProduct ? "products" : "others"]);
      for (const name of ["of", "operations", "share"]) make("th", name, head, labels[`column_${name}`]);
      for (const part of state.parts.filter(({ name }) => this.products.includes(name) === isProduct)) {
        const row = make("tr", "", body), name = make("td", "", row);
        make("span", `swatch ${part.name}`, name);
        marked(make("span", "", name), labels[part.name]);
        make("td", "of", row, part.of);
        make("td", "operations", row, part.count);
        make("td", "share", row, part.share);
      }
    }
  }
}

const sum = (parts) => parts.reduce((total, { value }) => total + value, 0);
