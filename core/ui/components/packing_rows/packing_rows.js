// header: n; rows [{cells [text], only (text of the target behind the last place), counted [bool], documents [number, −1 for end of text], first [bool]}]; lengths {packed [[bool]], padded [number]};
// picked [row, place]; height (px); text (labels: reads, ignored, only, packed, padded, row).
class Packing {
  constructor(root) {
    this.root = root;
    this.title = make("div", "title", root);
    this.title.setAttribute("aria-live", "polite");
    this.place = make("div", "scroll rows", root);
    this.place.tabIndex = 0;
    this.place.setAttribute("role", "group");
    this.place.onkeydown = (event) => this.key(event);
    this.aside = make("div", "aside", root);
    this.small = ["packed", "padded"].map((name) => [name, make("p", "", this.aside), draw("svg", { role: "img" }, this.aside)]);
    onWidth(this.aside, () => this.rows && this.maps());
  }

  receive(header) {
    Object.assign(this, header);
    this.root.style.setProperty("--free", `${header.height}px`);
    this.root.style.setProperty("--n", header.n);
    this.place.setAttribute("aria-label", this.text.keys);
    this.build();
    this.maps();
  }

  key(event) {
    const across = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.n, ArrowDown: this.n }[event.key];
    if (!across) return;
    event.preventDefault();
    event.stopPropagation();
    const at = this.picked[0] * this.n + this.picked[1] + across;
    if (at >= 0 && at < this.rows.length * this.n) this.pick(Math.floor(at / this.n), at % this.n);
  }

  pick(row, place) {
    this.picked = [row, place];
    this.mark();
    this.send({ row_place: row * this.n + place });
  }

  build() {
    this.place.replaceChildren();
    this.cells = this.rows.map((row, r) => {
      const line = make("div", "row", this.place);
      make("span", "number", line, String(r + 1));
      const cells = row.cells.map((text, c) => {
        const end = row.documents[c] < 0, names = ["cell", end ? "end" : row.documents[c] % 2 ? "odd" : "even", row.counted[c] ? "" : "free", row.first[c] ? "first" : ""];
        const cell = make("div", names.join(" "), line, text);
        cell.title = this.words(r, c);
        cell.onclick = () => this.pick(r, c);
        return cell;
      });
      cells.push(make("div", "cell only", line, row.only ?? ""));
      if (row.only === null) cells.at(-1).style.visibility = "hidden";
      return cells;
    });
    this.mark();
  }

  words(r, c) {
    const row = this.rows[r], next = c + 1 < this.n ? row.cells[c + 1] : row.only;
    const form = !row.counted[c] ? this.text.ignored : c + 1 === this.n ? this.text.only : this.text.reads;
    return fill(form, { row: r + 1, place: c + 1, token: row.cells[c], target: next ?? "" });
  }

  mark() {
    const [r, c] = this.picked;
    for (const cell of this.cells.flat()) cell.classList.remove("picked", "target");
    this.cells[r][c].classList.add("picked");
    if (this.rows[r].counted[c]) this.cells[r][c + 1].classList.add("target");
    this.title.textContent = this.words(r, c);
  }

  /** Every place of every row as a small square: full where it teaches something, hollow where it does not. */
  maps() {
    const width = this.aside.clientWidth, em = emOf(this.root);
    if (!width) return;
    const padded = this.lengths.padded.map((used) => Array.from({ length: this.n }, (_, c) => c < used)), all = { packed: this.rows.map((row) => row.counted), padded };
    const step = Math.min((width - 2) / this.n, Math.max(2.5, (this.height - 5 * em) / (all.packed.length + padded.length)), 12);
    for (const [name, caption, svg] of this.small) {
      caption.textContent = this.text[name];
      sized(svg, width, step * all[name].length + 2, this.text[name]);
      svg.replaceChildren();
      all[name].forEach((row, r) => row.forEach((used, c) => draw("rect", { class: used ? "used" : "lost", x: 1 + c * step, y: 1 + r * step, width: Math.max(1, step - 1.5), height: Math.max(1, step - 1.5) }, svg)));
    }
  }
}

export default function (component) {
  mount(component, Packing);
}
