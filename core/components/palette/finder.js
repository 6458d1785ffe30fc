// The dialog: a field, and the places that fit what is typed into it, read by a screen reader as a list of suggestions.
import { button, fill, indexed, make, spokenLine } from "../lib/dom.js";
import { isShortcut } from "../lib/keys.js";
import { toTop } from "../lib/links.js";
import { LONGEST, find, normal, prepared } from "./search.js";

const MOST = 40;            // places in the list
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };

export class Finder {
  constructor(root) {
    this.dialog = make("dialog", "finder", root);
    const head = make("div", "head", this.dialog);
    this.field = make("input", "field", head);
    Object.assign(this.field, { type: "text", role: "combobox", ariaExpanded: "true", ariaAutoComplete: "list",
      autocomplete: "off", spellcheck: false, enterKeyHint: "go", maxLength: LONGEST });
    this.field.setAttribute("aria-controls", "found");
    this.close = button(head, "✕", "", () => this.dialog.close(), "close");
    this.said = spokenLine(this.dialog, "said");
    this.list = make("div", "found", this.dialog);
    Object.assign(this.list, { id: "found", role: "listbox" });
    this.foot = make("div", "foot", this.dialog);
    this.field.oninput = () => this.search();
    this.field.onkeydown = (event) => this.key(event);
    this.dialog.onclick = (event) => { if (event.target === this.dialog) this.dialog.close(); };     // beside it
  }

  /** @param {{ data: import("./palette.js").Message, go(id: string): void }} told */
  open({ data, go }) {
    if (this.dialog.open) { this.field.select(); return; }
    this.text = data.text;
    this.go = go;
    const { text } = data;
    this.dialog.ariaLabel = this.list.ariaLabel = this.field.ariaLabel = text.find_title;
    this.field.placeholder = text.find_field;
    this.close.ariaLabel = this.close.title = text.find_close;
    this.foot.textContent = text.find_hint;
    this.field.value = "";
    this.dialog.showModal();
    this.field.focus();
    if (this.places) this.search();
    else this.load(data.path);
  }

  /** Ask for all places, once as long as the page is open. */
  async load(path) {
    this.said.textContent = this.text.find_waits;
    try {
      const answer = await fetch(path, { method: "POST", body: "{}" });
      if (!answer.ok) throw new Error(answer.statusText);
      this.places = prepared(await answer.json());
      this.search();
    } catch {
      this.said.textContent = this.text.find_failed;
    }
  }

  search() {
    if (!this.places) return;
    const query = this.field.value, { places, words, nearest } = find(this.places, query, MOST);
    this.found = places;
    this.list.replaceChildren(...places.map((place, index) => this.option(place, index, words)));
    this.list.scrollTop = 0;
    const said = !places.length ? "find_none" : nearest ? "find_nearest" : "find_count";
    this.said.textContent = fill(this.text[said], { n: places.length, query: query.trim(), words: words.join(" ") });
    this.mark(0);
  }

  /** Draw one place; words: the question's, which are marked in its name. */
  option(place, index, words) {
    const node = make("div", `option ${place.kind}`);
    Object.assign(node, { id: `found-${index}`, role: "option" });
    const line = make("div", "line", node);
    emphasised(make("b", "", line), place.name, words);
    if (place.where) make("span", "where", line, place.where);
    make("span", "kind", node, this.text[`find_${place.kind}`]);
    if (place.says) indexed(make("div", "says", node), place.says);
    node.onpointermove = () => { if (this.at !== index) this.mark(index); };
    node.onclick = () => this.choose(index);
    return node;
  }

  /** Mark the option that Enter opens. */
  mark(index) {
    const options = [...this.list.children];
    this.at = options.length ? Math.max(0, Math.min(options.length - 1, index)) : -1;
    options.forEach((node, i) => { node.ariaSelected = String(i === this.at); });
    this.field.setAttribute("aria-activedescendant", this.at < 0 ? "" : `found-${this.at}`);
  }

  key(event) {
    if (event.isComposing) return;
    if (event.key in STEPS) {
      event.preventDefault();
      const step = STEPS[event.key], last = this.list.children.length - 1;
      // from the last to the first, and the reverse
      this.mark(Math.abs(step) > 1 ? this.at + step : this.at + step > last ? 0 : this.at + step < 0 ? last
        : this.at + step);
      this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.choose(this.at);
    }
    if (!isShortcut(event)) event.stopPropagation();            // the page behind it does not hear the keys
  }

  choose(index) {
    const place = this.found?.[index];
    if (!place) return;
    this.dialog.close();
    toTop(this.dialog);
    this.go(place.id);
  }
}

/** Write a name, with the first of the words that occurs in it marked. */
function emphasised(node, name, words) {
  const plain = normal(name), word = words.find((each) => plain.includes(each));
  const at = word === undefined ? -1 : plain.indexOf(word);
  // a name with marks has other lengths
  if (at < 0 || plain.length !== name.length) { indexed(node, name); return; }
  node.append(name.slice(0, at));
  make("mark", "", node, name.slice(at, at + word.length));
  node.append(name.slice(at + word.length));
}
