// The pictures of the course page, one kind each: lessons, lectures, class, handout, glossary, sheet. Links are real
// ones; a plain click opens the lesson in the same session.
import { button, fill, indexed, labelled, make } from "../../core/components/lib/dom.js";
import { followed } from "../../core/components/lib/links.js";
import { mounted, View } from "../../core/components/lib/view.js";
import { answers, forget, keepAll } from "../../core/components/prediction/memory.js";
import { drawClock, drawPlan } from "./class_plan.js";
import { drawHandout } from "./handout.js";
import { address } from "./places.js";

const DONE = "transformer-course-done";      // the lessons that a reader has ticked, in the browser's own store

/** @typedef {{ id: string, name: string }} Named */
/** @typedef {{ name?: string, from: number, minutes: number }} Timed */
/** @typedef {{ id: string, idea: string, seen: string, where: string | null }} Idea */
/** @typedef {Record<"term" | "symbol" | "shape" | "definition" | "lesson", string> & { where: string | null }} Term */
/** @typedef {{ lessons: (Named & { section: string, minutes: number, sentence: string, questions: string[],
 *   goals: string[] })[] }} Lessons */
/** @typedef {{ deck: string, parts: { name: string, ideas: Idea[] }[], steps: Timed[], questions: { id: string,
 *   ask: string }[], reading: { title: string, url: string, why: string }[] }} Lectures */
/** @typedef {{ steps: (Timed & Record<"id" | "title" | "ask" | "options" | "lesson" | "look", string>)[],
 *   title: string, about: string, own: boolean, undo: boolean, no_file: boolean, file: string, fits: boolean,
 *   packed: string, origin: string }} Class */
/** @typedef {{ file: string, name: string, n: number }} Handout */
/** @typedef {{ terms: Term[], lessons: Named[], term: string, group: "letters" | "lessons" }} Glossary */
/** files: without and with the solution. @typedef {{ files: [string, string], solved: boolean }} Sheet */
/** What all kinds have, and the fields of the kind.
 * @typedef {{ kind: "lessons" | "lectures" | "class" | "handout" | "glossary" | "sheet", scale: number,
 *   text: Record<string, string>, base: string,
 *   links: Record<string, import("./places.js").Place> }
 *   & Partial<Lessons & Lectures & Class & Handout & Glossary & Sheet>} Message */

/** @extends {View} */
class Course extends View {
  constructor(root) {
    super(root);
    this.find = "";
  }

  /** @param {Message} header */
  receive(header) {
    const written = JSON.stringify(header);
    if (this.written === written) return;
    this.written = written;
    this.header = header;
    this.text = header.text;
    this.root.replaceChildren();
    this.bar = make("div", "bar", this.root);
    this[header.kind]();
  }

  /** Sends settings to Python; the time makes equal ones, sent twice, new each time. */
  tell(settings) {
    this.send({ ...settings, at: Date.now() });
  }

  /** Tells what the reader does to the class. */
  do(deed, values = {}) {
    this.tell({ deed, ...values });
  }

  /** The address of one of the places of the header. */
  address(key) {
    return address(this.header, this.header.links[key]);
  }

  /** A link to one of the places of the header; plain text where there is no such place yet. */
  link(parent, key, label, name = "go") {
    if (!this.header.links[key]) return make("span", `${name} absent`, parent, label);
    const node = make("a", name, parent);
    indexed(node, label);
    node.href = this.address(key);
    followed(node, () => this.tell({ open: key }));
    return node;
  }

  // ---- lessons ------------------------------------------------------------------------------------------------------

  lessons() {
    const { lessons } = this.header, { bar } = this;
    const minutes = (list) => list.reduce((sum, lesson) => sum + lesson.minutes, 0);
    const total = minutes(lessons), done = new Set(stored());
    make("b", "", bar,
      fill(this.text.total, { n: lessons.length, hours: Math.floor(total / 60), minutes: total % 60 }));
    const track = make("div", "track", bar), status = make("span", "muted said", bar);
    const filled = make("div", "filled", track);
    const tell = () => {
      const rest = lessons.filter((lesson) => !done.has(lesson.id)), left = minutes(rest);
      filled.style.width = `${100 * (1 - left / total)}%`;
      status.textContent = fill(this.text.done, { done: lessons.length - rest.length, n: lessons.length, left });
    };
    const list = make("div", "lessons", this.root);
    lessons.forEach((lesson, index) => {
      if (index === 0 || lessons[index - 1].section !== lesson.section) make("h3", "section", list, lesson.section);
      const row = make("article", "lesson", list);
      make("span", "number", row, index + 1);
      const head = make("div", "head", row);
      this.link(head, lesson.id, lesson.name);
      make("p", "muted", head, lesson.sentence);
      this.predictions(head, lesson);
      const goals = make("div", "goals", row);
      make("span", "muted", goals, this.text.goal);
      const items = make("ul", "", goals);
      for (const goal of lesson.goals) indexed(make("li", "", items), goal.replaceAll("*", ""));
      const end = make("label", "end", row), tick = make("input", "", end);
      make("span", "", end, fill(this.text.minutes, { min: lesson.minutes }));
      Object.assign(labelled(tick, fill(this.text.tick, { lesson: lesson.name })),
        { type: "checkbox", checked: done.has(lesson.id) });
      const mark = () => row.classList.toggle("done", tick.checked);
      tick.onchange = () => {
        tick.checked ? done.add(lesson.id) : done.delete(lesson.id);
        store([...done]);
        mark();
        tell();
      };
      mark();
    });
    tell();
    this.score();
  }

  /** A reader's predictions in a lesson: a mark for each question. */
  predictions(parent, { id, name, questions }) {
    if (!questions.length) return;
    const made = answers(), row = make("div", "predictions", parent);
    row.role = "img";
    const told = questions.map((question) => made[`${id}/${question}`]).filter(Boolean);
    row.ariaLabel = fill(this.text.predicted, { lesson: name, n: questions.length,
      made: told.filter((answer) => !answer.looked).length, right: told.filter((answer) => answer.right).length });
    for (const question of questions) {
      const answer = made[`${id}/${question}`];
      const mark = make("span", !answer ? "open" : answer.looked ? "looked" : answer.right ? "right" : "other", row);
      mark.title = !answer ? this.text.open : answer.looked ? this.text.looked
        : `${answer.question}\n${fill(this.text.guess, { guess: answer.guess, truth: answer.truth })}`;
    }
  }

  /** How many questions were answered and how many as it turned out, and the way to forget them. */
  score() {
    const all = Object.values(answers()), guesses = all.filter((answer) => !answer.looked);
    const place = make("p", "score muted", this.root);
    const n = this.header.lessons.reduce((sum, lesson) => sum + lesson.questions.length, 0);
    place.append(fill(guesses.length ? this.text.score : this.text.score_none,
      { made: guesses.length, n, right: guesses.filter((answer) => answer.right).length }));
    const sure = guesses.filter((answer) => Number.isFinite(answer.sure));
    if (sure.length > 1) {
      const percent = (values) => Math.round(100 * values.reduce((sum, value) => sum + value, 0) / values.length);
      place.append(` ${fill(this.text.sure, { n: sure.length, sure: percent(sure.map((answer) => answer.sure / 100)),
        right: percent(sure.map((answer) => Number(answer.right))) })}`);
    }
    if (all.length) button(place, this.text.forget, "", () => this.forgetAll(), "link");
  }

  forgetAll() {
    const kept = answers();
    const again = () => { this.written = ""; this.receive(this.header); };
    forget();
    again();
    const undo = () => { keepAll(kept); again(); };
    button(this.root.querySelector(".score"), this.text.unforget, "", undo, "link").focus();
  }

  // ---- lectures -----------------------------------------------------------------------------------------------------

  lectures() {
    const { parts, deck, steps } = this.header, { bar, text } = this;
    const minutes = steps.at(-1).from + steps.at(-1).minutes;
    make("b", "", bar, deck);
    make("span", "muted", bar,
      fill(text.title, { ideas: parts.reduce((sum, part) => sum + part.ideas.length, 0), parts: parts.length }));
    make("h3", "", this.root, fill(text.plan, { minutes }));
    drawClock(this, minutes);
    const teach = make("p", "teach", this.root);
    this.link(teach, "start", text.start, "go start");
    this.link(teach, "plan", text.whole_plan);
    const place = make("div", "parts", this.root);
    parts.forEach((part, index) => {
      const block = make("section", "part", place);
      make("h3", "", block, `${index + 1}. ${part.name}`);
      for (const idea of part.ideas) {
        const row = make("div", "idea", block);
        const says = make("div", "says", row);
        indexed(make("span", "", says), idea.idea);
        if (idea.seen) indexed(make("span", "seen", says), fill(text.seen, { seen: idea.seen }));
        this.link(row, idea.id, idea.where ?? text.missing, "go where");
      }
    });
    this.summary();
  }

  /** The questions answered by the lecture, and further reading. */
  summary() {
    const { header: { questions, reading }, text } = this, place = make("div", "parts summary", this.root);
    const block = (title, kind, name) => {
      const section = make("section", "part", place);
      make("h3", "", section, title);
      return make(kind, name, section);
    };
    const asked = block(text.questions, "ol", "asked"), list = block(text.reading, "ul", "reading");
    for (const { id, ask } of questions) {
      const row = make("li", "", asked);
      indexed(make("span", "", row), ask);
      this.link(row, id, text.answer);
    }
    for (const { title, url, why } of reading) {
      const row = make("li", "", list), link = make("a", "go", row, title);
      Object.assign(link, { href: url, target: "_blank", rel: "noopener" });
      make("span", "", row, `: ${why}`);
    }
  }

  class() { drawPlan(this); }

  handout() { drawHandout(this); }

  // ---- glossary -----------------------------------------------------------------------------------------------------

  glossary() {
    const { header, text, bar } = this, field = make("input", "find", bar);
    Object.assign(field, { type: "search", placeholder: text.find, value: this.find });
    field.ariaLabel = text.find;
    const choice = make("div", "choice", bar);
    for (const group of ["letters", "lessons"]) {
      const pick = button(choice, text[group], text[group], () => this.tell({ group }));
      pick.ariaPressed = String(header.group === group);
    }
    const status = make("span", "muted said", bar), list = make("div", "glossary", this.root);
    const groups = this.groups().map((group) => this.group(list, group));
    const filter = () => {
      this.find = field.value;
      const wanted = field.value.trim().toLowerCase();
      let shown = 0;
      for (const { node, cards } of groups) {
        const hits = cards.filter(([card, term]) =>
          !(card.hidden = wanted && !`${term.term} ${term.symbol} ${term.definition}`.toLowerCase().includes(wanted)));
        node.hidden = !hits.length;
        shown += hits.length;
      }
      status.textContent = shown ? fill(text.count, { n: shown }) : fill(text.none, { find: field.value });
    };
    field.oninput = filter;
    filter();
    const named = list.querySelector(".named");
    // after the page around has settled
    if (named) setTimeout(() => named.scrollIntoView({ block: "center" }), 150);
  }

  groups() {
    const { terms, lessons, group } = this.header, groups = new Map();
    if (group === "lessons") for (const lesson of lessons) groups.set(lesson.name, []);
    for (const term of terms) {
      const name = group === "lessons" ? lessons.find((lesson) => lesson.id === term.lesson)?.name ?? this.text.missing
        : term.term[0].toUpperCase();
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(term);
    }
    return [...groups].filter(([, list]) => list.length);
  }

  group(list, [name, terms]) {
    const node = make("section", "letter", list), cards = make("div", "cards", node);
    node.prepend(make("h3", "section", null, name));
    return { node, cards: terms.map((term) => [this.card(cards, term), term]) };
  }

  card(parent, term) {
    const card = make("article",
      this.header.term.toLowerCase() === term.term.toLowerCase() ? "term named" : "term", parent);
    const head = make("div", "head", card);
    make("b", "", head, term.term);
    if (term.symbol) indexed(make("span", "code", head), term.symbol);
    if (term.shape) indexed(make("span", "muted code", head), term.shape);
    indexed(make("p", "", card), term.definition);
    const foot = make("div", "row", card);
    make("span", "muted", foot, this.text.see);
    this.link(foot, term.term, term.where ?? this.text.missing);
    const link = make("a", "own", foot, "#");
    link.href = `./course?term=${encodeURIComponent(term.term)}`;
    link.title = this.text.link;
    link.ariaLabel = `${this.text.link}: ${term.term}`;
    link.onclick = (event) => { event.preventDefault(); this.tell({ term: term.term }); };
    return card;
  }

  // ---- a sheet ------------------------------------------------------------------------------------------------------

  sheet() {
    const { files, solved } = this.header, { bar } = this, label = make("label", "switch", bar);
    const tick = make("input", "", label);
    Object.assign(tick, { type: "checkbox", checked: solved });
    make("span", "", label, this.text.show_solution);
    const paper = make("iframe", "paper", this.root);
    paper.title = this.text.preview;
    paper.sandbox = "allow-same-origin allow-modals";      // this page reads and prints it, but none of its scripts run
    paper.onload = () => { paper.style.height = `${paper.contentDocument.documentElement.scrollHeight + 4}px`; };
    paper.srcdoc = files[Number(solved)];
    tick.onchange = () => {
      paper.srcdoc = files[Number(tick.checked)];
      this.tell({ solved: tick.checked });
    };
    button(bar, this.text.print, this.text.print, () => paper.contentWindow.print(), "print");
  }
}

function stored() {
  try { return JSON.parse(localStorage.getItem(DONE)) ?? []; } catch { return []; }
}

function store(done) {
  try {
    localStorage.setItem(DONE, JSON.stringify(done));
  } catch { /* a browser that keeps nothing: the marks last as long as the page */ }
}

export default mounted(Course);
