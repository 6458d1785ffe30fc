// The answers of a class stand in a column beside its picture, never over it, and fold to one line by themselves.
const FOLDS_AFTER = 20_000;             // ms, unless somebody uses it by hand or keys
// classes of the document: page.css gives the picture the room that the column leaves
const COLUMN = "tx-class-beside", LINE = "tx-class-line";

const taken = { [LINE]: new Set(), [COLUMN]: new Set() };       // by whom

/** Note whether `owner` takes a place; return whether that changes anything. */
function take(place, owner, is) {
  const owners = taken[place], { classList } = document.documentElement;
  owners[is ? "add" : "delete"](owner);
  return classList.contains(place) !== classList.toggle(place, owners.size > 0);
}

/** Note whether a line about the class takes the place of the prompt, by its strip. */
export function takeLine(owner, is) {
  if (take(LINE, owner, is) && is) fitLine();
}

/** Make the line as wide as the place of the prompt, once the bar has its room and type beside the column. */
function fitLine() {
  requestAnimationFrame(() => {
    const place = document.querySelector(".st-key-prompt_place");
    if (place) document.documentElement.style.setProperty("--tx-line", `${place.getBoundingClientRect().width}px`);
  });
}

export class Beside {
  /** isBeside: whether it takes a column of the wall in present mode; else it stays above its picture.
      isFolded: whether it begins as a line. */
  constructor(strip, button, text, { isBeside, isFolded = false }) {
    this.strip = strip;
    this.button = button;
    this.text = text;
    this.isBeside = isBeside;
    this.isShown = false;
    this.set(isFolded);
    if (!isBeside) return;
    strip.onpointerenter = strip.onfocusin = () => clearTimeout(this.folding);
    strip.onpointerleave = () => this.wait();
  }

  /** Set whether there is anything to show; from then on its time runs. */
  show(is) {
    this.strip.hidden = !is;
    if (is === this.isShown) return;
    this.isShown = is;
    this.set(this.isFolded);
    if (is) this.wait();
  }

  wait() {
    clearTimeout(this.folding);
    if (this.isBeside && !this.stays) this.folding = setTimeout(() => this.set(true), FOLDS_AFTER);
  }

  /** Stay open, since a question is asked in it. */
  stay() {
    this.stays = true;
    clearTimeout(this.folding);
  }

  fold() {
    this.set(!this.isFolded);
  }

  set(folded) {
    this.isFolded = folded;
    this.strip.classList.toggle("folded", folded);
    this.button.textContent = folded ? this.text.unfold : this.text.fold;
    this.button.ariaExpanded = String(!folded);
    this.give(this.isBeside && this.isShown, folded);
  }

  /** Take, or give back, the room of a line and of a column; the pictures fit themselves to the rest. */
  give(line, folded) {
    takeLine(this.strip, line);
    if (!take(COLUMN, this.strip, line && !folded)) return;
    fitLine();
    window.dispatchEvent(new Event("resize"));
  }

  close() {
    clearTimeout(this.folding);
    this.give(false, true);
  }
}
