// Waiting for the losses of N places: a row of a recurrent network, whose places follow each other, and a row of a
// transformer, whose blocks follow each other while its places go through each at once. One step of the player is one
// thing that had to wait for the one before.
import { chip, fill, make } from "../../core/components/lib/dom.js";
import { Player } from "../../core/components/lib/player.js";
import { mounted, TitledView } from "../../core/components/lib/view.js";

const PAUSE = 450;      // ms of a step

/** losses: in nats; blocks: how many.
 * @typedef {{ tokens: string[], losses: Record<"recurrent" | "transformer", number[]>, blocks: number,
 *   identity: (number | string)[], text: Record<string, string>, scale: number }} Message */

/** @extends {TitledView<Message>} */
class Waiting extends TitledView {
  constructor(root) {
    super(root);
    this.player = new Player(root, this.title, { show: () => this.paint(), rest: () => {} });
    this.grid = make("div", "rows", make("div", "scroll", root));
  }

  /** @param {Message} header */
  receive(header) {
    Object.assign(this, header);
    this.n = this.tokens.length;
    this.player.receive(this.text, Math.max(this.n, this.blocks), PAUSE);
    this.player.begin(Math.min(this.n, this.blocks), this.identity.join(), false);
    this.build();
    this.paint();
  }

  build() {
    this.grid.replaceChildren();
    this.grid.style.setProperty("--places", this.n);
    make("span", "name", this.grid);
    for (const token of this.tokens) chip(make("span", "place", this.grid), token);
    this.cells = {};
    for (const row of ["recurrent", "transformer"]) {
      make("span", "name", this.grid, this.text[row]);
      this.cells[row] = this.losses[row].map(() => make("span", `place loss ${row}`, this.grid));
    }
  }

  /** Steps after which a place of a row has its loss. */
  due(row, place) {
    return row === "recurrent" ? place + 1 : this.blocks;
  }

  paint() {
    const { at } = this.player, done = {};
    for (const [row, cells] of Object.entries(this.cells)) {
      cells.forEach((cell, place) => {
        const due = this.due(row, place), share = row === "recurrent" ? Number(at >= due) : Math.min(1, at / due);
        cell.classList.toggle("done", at >= due);
        cell.classList.toggle("now", row === "recurrent" ? at === due : at > 0 && at <= due);
        cell.style.setProperty("--share", `${100 * share}%`);
        cell.textContent = at >= due ? this.losses[row][place].toFixed(2) : "";
      });
      done[row] = cells.filter((cell) => cell.classList.contains("done")).length;
    }
    this.title.textContent = fill(this.text.title, { step: at, n: this.n, ...done });
    this.player.value(fill(this.text.title, { step: at, n: this.n, ...done }));
  }
}

export default mounted(Waiting);
