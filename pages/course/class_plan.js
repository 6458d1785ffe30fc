// A class step by step: when, which picture, what to ask, what to look for. The reader's own can be changed in place.
import { button, fill, labelled, make } from "../../core/components/lib/dom.js";

export function drawPlan(course) {
  const { header, text, bar, root } = course, { steps } = header;
  const minutes = steps.length ? steps.at(-1).from + steps.at(-1).minutes : 0;
  if (steps.length) {
    course.link(bar, "start", text.start, "go start");
    make("b", "", bar, fill(text.minutes, { n: steps.length, minutes }));
    if (!header.own) button(bar, text.mine, "", () => course.do("mine"));
    button(bar, text.handout, "", () => course.do("handout", { on: true }));
  }
  drawKeeping(course);
  if (header.about) make("p", "about", root, header.about);
  if (!steps.length) make("p", "muted", root, text.none);
  drawClock(course, minutes);
  const list = make("ol", "steps", root);
  steps.forEach((step, index) => (header.own ? drawOwnStep : drawStep)(course, list, step, index));
}

/** The steps on a line of time. */
export function drawClock(course, minutes) {
  const { root, header: { steps }, text } = course;
  const clock = make("div", "clock", root);
  clock.hidden = !steps.length;
  for (const step of steps) {
    const piece = make("div", "piece-of-class", clock);
    piece.style.flexGrow = step.minutes;
    make("span", "minute", piece, fill(text.minute, { minute: step.from }));
    make("span", "name", piece, step.name ?? step.lesson);
  }
  make("span", "minute last", clock, fill(text.minute, { minute: minutes }));
}

function drawStep(course, list, step) {
  const row = make("li", "step", list), { text } = course;
  make("span", "when", row, `${step.from}–${fill(text.minute, { minute: step.from + step.minutes })}`);
  const title = make("div", "what", row);
  course.link(title, step.id, step.title);
  make("span", "muted", title, step.lesson);
  for (const name of ["ask", "look"]) {
    const line = make("p", name, row);
    make("b", "", line, `${text[name]}: `);
    line.append(step[name]);
    if (name === "ask" && step.options) make("span", "muted", line, ` ${step.options.replaceAll("\n", " · ")}`);
  }
}

function drawOwnStep(course, list, step, index) {
  const row = make("li", "step own-step", list), { text } = course;
  const change = (name) => (event) => course.do("edit", { number: index, values: { [name]: event.target.value } });
  const field = (parent, tag, name, label) => {
    const node = labelled(make(tag, `field ${name}`, parent), `${label}, ${index + 1}`);
    node.value = step[name];
    node.placeholder = label;
    node.onchange = change(name);
    return node;
  };
  const when = make("div", "when", row), minutes = field(when, "input", "minutes", text.length);
  Object.assign(minutes, { type: "number", min: 1, max: 240 });
  make("span", "muted", when, `${step.from}–${fill(text.minute, { minute: step.from + step.minutes })}`);
  const title = make("div", "what", row);
  field(title, "input", "title", text.name);
  course.link(title, step.id, step.lesson);
  for (const name of ["ask", "options", "look"]) field(row, "textarea", name, text[name]).rows = 3;
  const order = make("div", "order", row), n = course.header.steps.length;
  button(order, "↑", `${text.up}, ${index + 1}`, () => course.do("move", { number: index, by: -1 })).disabled = !index;
  button(order, "↓", `${text.down}, ${index + 1}`,
    () => course.do("move", { number: index, by: 1 })).disabled = index === n - 1;
  button(order, "✕", `${text.remove}, ${index + 1}`, () => course.do("remove", { number: index }));
}

/** Undo, and the ways to keep a class: as a link, and as a file. */
function drawKeeping(course) {
  const { header, text, bar } = course, said = make("span", "muted said");
  if (header.own) button(bar, text.undo, "", () => course.do("undo")).disabled = !header.undo;
  if (header.steps.length) {
    button(bar, text.link, "", async () => {
      if (!header.fits) { said.textContent = text.too_long; return; }
      const query = new URLSearchParams({ course_view: "class", course_plan: header.packed });
      const here = (header.origin || location.origin) + location.pathname;
      await navigator.clipboard.writeText(new URL(`./course?${query}`, here).href);
      said.textContent = text.copied;
    });
    button(bar, text.save, "", () => save(header.file, "class.json", "application/json"));
  }
  const file = make("input", "", null);
  Object.assign(file, { type: "file", accept: ".json,application/json", hidden: true });
  file.onchange = async () => { if (file.files[0]) course.do("file", { text: await file.files[0].text() }); };
  bar.append(file);
  button(bar, text.open, "", () => file.click());
  said.role = "status";
  said.textContent = header.no_file ? text.no_file : "";
  bar.append(said);
}

/** A text as a file of that name. */
export function save(text, name, type) {
  const link = Object.assign(make("a"), { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
