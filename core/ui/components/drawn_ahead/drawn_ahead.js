// A prompt that is sent, and a press on a control of the view, are asked for over HTTP before the page hears of them. What comes back is given to the pictures as if the page had drawn them;
// then the event goes on. The page's own run makes the browser go over everything on it, which takes several times as long.
//
// What is asked depends on all that was done before, as the page's address says it. While the page has not heard of something yet, that may not be so: then the pictures are asked for once more, of
// the state that the page has come to. The page itself gives nothing to a picture that gets what it was given last.
const SOON = 400;       // milliseconds in which a page begins to run for what is done
const MOST_IN_VAIN = 2; // answers to one control that no picture takes, for the page will draw others: it is not held back for a third

export default function ({ data, parentElement }) {
  const watched = (parentElement.watched ??= watch());
  watched.page = unpack(data);
  return () => { watched.end(); delete parentElement.watched; };
}

function watch() {
  const watched = {}, inVain = new Map();
  const later = holdBack((bytes) => {
    const answer = unpack(bytes), taken = show(watched.page, answer);
    if (!answer.busy) inVain.set(control, taken ? 0 : (inVain.get(control) ?? 0) + 1);
  });
  let control = "", clickedOn = null, did = -Infinity, askedAt = did, rested = true, unsure = false, timer = null;
  const rests = () => !later.holds && document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning" && performance.now() - did > SOON;
  const ask = (asker, keys, question) => {
    const { path, page, theme, text } = watched.page, there = keys.filter((key) => pictureOf(page, key));
    if (there.length) asker(path, { page, theme, text, query: address(), keys: there, ...question });
  };
  const hold = (event, name, keys, question, again) => ask((path, asked) => {
    const pressed = [asked.page, new URLSearchParams(location.search).get(`${asked.page}_view`), name].join();       // of a view: some controls, and the prompt, are those of several
    if (inVain.get(pressed) >= MOST_IN_VAIN) return;
    control = pressed;
    later.hold(event, () => { did = performance.now(); again(); }, path, asked);        // the page has that long to begin from when it is told
    if (unsure || !rested) askAgain();
  }, keys, question);
  const corrector = liveAsker((bytes) => {
    if (did === askedAt && rests()) show(watched.page, unpack(bytes));
    else if (!unsure) askAgain();           // of a state that the page may have left
  }, () => {});
  const askAgain = () => {
    clearTimeout(timer);
    unsure = true;
    timer = setTimeout(() => {
      if (!rests()) { askAgain(); return; }
      unsure = false;
      askedAt = did;
      ask(corrector.ask, [...watched.page.keys, ...watched.page.of_no_prompt], { again: true });
    }, SOON);
  };
  const keyed = (event) => {
    const { field, text, keys } = watched.page;
    if (later.holds || !isSent(event, field) || event.target.value === text) return;
    hold(event, "prompt", keys, { text: event.target.value }, () => sendAgain(event));
  };
  const clicked = (event) => {
    if (!event.isTrusted) {                 // what was held back, or a program's own
      if (later.holds && event.target.contains(clickedOn)) later.swallow(event);       // React Aria's, which clicks by itself where it has seen no click for 80 ms
      return;
    }
    clickedOn = event.target;
    const { page, keys, of_no_prompt } = watched.page, { name, question } = pressed(event.target, page) ?? {};
    if (question) hold(event, name, [...keys, ...of_no_prompt], question, () => event.target.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, composed: true })));
  };
  const goOn = (event) => { if (event.isTrusted) later.release(); };      // what the reader does next comes after what is held back
  const noted = (event) => {
    if (!event.isTrusted) return;
    rested = rests();
    if (event.type !== "keydown" || !event.target.matches("input, textarea")) did = performance.now();      // typing alone changes nothing
  };
  const listened = [["click", noted], ["keydown", noted], ["change", noted], ["pointerdown", goOn], ["keydown", goOn], ["keydown", keyed], ["click", clicked]];
  for (const [type, listener] of listened) window.addEventListener(type, listener, true);
  watched.end = () => {
    clearTimeout(timer);
    for (const [type, listener] of listened) window.removeEventListener(type, listener, true);
  };
  return watched;
}

// Where a picture takes bytes that the page has not sent: a component of ours has put `answered` on an element of its own.
function pictureOf(page, key) {
  const inside = [...document.querySelectorAll(`.st-key-${page}_stage .st-key-${CSS.escape(key)} *`)], host = inside.find((node) => node.shadowRoot);
  return host ? [...host.shadowRoot.querySelectorAll("*")].find((node) => node.answered) : chartAmong(inside);
}

// A chart that stands takes tables through its view, which Vega's marks lead to, where all else of it stays as it is (core/ui/charts.py). Streamlit adds to a table that was empty: that is left to it.
function chartAmong(nodes) {
  const mark = nodes.find((node) => node.__data__?.mark?.group?.context), view = mark?.__data__.mark.group.context.dataflow;
  return view && {
    answered(bytes) {
      const { written_as, tables } = unpack(bytes), all = Object.entries(tables).map(([name, columns]) => [name, rows(columns)]);
      if (view.signal("written_as") !== written_as || all.some(([name, table]) => !table.length || !view.data(name).length)) return false;
      for (const [name, table] of all) view.data(name, table);
      const width = view.width();
      view.resize().run();
      if (view.width() !== width) view.resize().run();        // what lies beside the marks takes its room from theirs
      return true;
    },
  };
}

function rows(columns) {
  const names = Object.keys(columns);
  return (columns[names[0]] ?? []).map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}

// Gives the pictures what is answered; whether any of them takes it.
function show({ page }, answer) {
  const taken = answer.arrays.map(([key]) => { const picture = pictureOf(page, key); return picture && picture.answered(answer[key].slice()) !== false; });
  return taken.some(Boolean);
}

// The page's query without the prompt, which may be too long for it.
function address() {
  const query = new URLSearchParams(location.search);
  query.delete("prompt");
  return query.toString();
}

// Which control a press on this node is of, and what it asks of a view: a setting in the address, or the option of the control by its place among all. Null where it changes no setting of one.
function pressed(node, page) {
  const option = node.closest("[role=option]"), named = option?.closest("[role=listbox]").getAttribute("aria-labelledby")?.split(" ").at(-1);
  const control = (option ? document.getElementById(named) : node)?.closest("[data-testid=stSelectbox], [data-testid=stButtonGroup], [data-testid=stCheckbox]");
  const key = control?.closest(`.st-key-${page}_stage`) && control.closest("[class*=st-key-]").className.match(/st-key-(\S+)/)[1], query = new URLSearchParams(address());
  if (!key || control.querySelector("input:disabled, button:disabled")) return null;
  const shared = key.match(/_pick_(layer|head|position)$/)?.[1], setting = key.match(/(\S+)_widget$/)?.[1];
  if (control.dataset.testid === "stCheckbox") {
    if (!setting || node.closest("button")) return null;                 // the sign that explains it
    query.set(setting, !control.querySelector("input").checked);
    return { name: key, question: { query: query.toString() } };
  }
  const choices = [...control.querySelectorAll("[role=radio]")], chosen = option ?? node.closest("[role=radio]");
  if (!chosen || (chosen.getAttribute("aria-checked") ?? chosen.getAttribute("aria-selected")) === "true") return null;
  const n = choices.length || Number(option.getAttribute("aria-setsize")) || option.closest("[role=listbox]").querySelectorAll("[role=option]").length;     // a long list draws some of them
  const index = option ? Number(option.dataset.key) : choices.indexOf(chosen);
  if (shared) {
    query.set(shared, index);
    return { name: key, question: { query: query.toString() } };
  }
  return setting && index < n ? { name: key, question: { pressed: [setting, index, n] } } : null;     // a list may be filtered by what is typed
}
