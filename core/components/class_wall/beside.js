// What a class has answered stands in a column beside its picture, never over it, and folds to one line by itself.
const FOLDS_AFTER = 20_000;             // ms, unless somebody has the hand or the keys in it
// classes of the document: page.css gives the picture the room that the column leaves
const COLUMN = "tx-class-beside", LINE = "tx-class-line";

const taken = { [LINE]: new Set(), [COLUMN]: new Set() };       // by whom

/** Whether `owner` takes a place; return whether that changes anything. */
function take(place, owner, is) {
  const owners = taken[place], { classList } = document.documentElement;
  owners[is ? "add" : "delete"](owner);
  return classList.contains(place) !== classList.toggle(place, owners.size > 0);
}

/** Whether a line about the class stands in the place of the prompt, by its strip. */
export function takeLine(owner, is) {
  if (take(LINE, owner, is) && is) fitLine();
}

/** The line is as wide as the place of the prompt, once the bar has the room and the type that it has beside it. */
function fitLine() {
  requestAnimationFrame(() => {
    const place = document.querySelector(".st-key-prompt_place");
    if (place) document.documentElement.style.setProperty("--tx-line", `${place.getBoundingClientRect().width}px`);
  });
}

export class Beside {
  /** isBeside: whether it takes a column of the wall in present mode; else it stands above its picture and stays.
      isFolded: whether it begins as a line. */
  constructor(strip, button, text, { isBeside, isFolded = false }) {
    Object.assign(this, { strip, button, text, isBeside, isShown: false });
    this.set(isFolded);
    if (!isBeside) return;
    strip.onpointerenter = strip.onfocusin = () => clearTimeout(this.folding);
    strip.onpointerleave = () => this.wait();
  }

  /** Whether there is anything to show; from then on its time runs. */
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

  /** Something is asked in it. */
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

  /** The pictures fit themselves to the room that they have now. */
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
