// The picture that one walks into: which depth is open, and the way from one to the next.
import { screenRatio, sharpen, stroke } from "../../core/components/lib/canvas.js";
import { answered } from "../../core/components/lib/answers.js";
import { unpack } from "../../core/components/lib/bytes.js";
import { make, rich } from "../../core/components/lib/dom.js";
import { showTip } from "../../core/components/lib/pattern.js";
import { pageFoot, readTheme } from "../../core/components/lib/theme.js";
import { roomBelow } from "../../core/components/lib/view.js";
import { listen } from "./dive_hands.js";
import { eased, framesBeside, framesIn, LASTS } from "./dive_motion.js";
import { DEPTHS, isInside, placeIn, placeOf, WHOLE, within, written } from "./dive_path.js";
import { focusOn, writeChildren, writeCrumbs, writeRestore } from "./dive_words.js";
import { tileCorner } from "./paint.js";

const MOST_ANSWERS = 64;        // kept in the browser, so that the way back asks for nothing
const PATIENCE = 5000;          // ms in which Python answers what the reader did; meanwhile its older words say nothing
const WAITS = [500, 1000, 2000];        // ms until a busy server is asked again

const SHOWN = ["model", "block", "heads"];       // by the numbers of the map; of others Python is asked

/** Python has not answered: it refuses, or is away. */
class Unanswered extends Error {}

export class Dive {
  /** @param {any} map @param {(map: any) => void} arrange draws the map again */
  constructor(map, arrange) {
    const part = (name) => map.root.querySelector(`.${name}`);
    this.map = map;
    this.arrange = arrange;
    this.root = part("dive");
    this.crumbs = part("crumbs");
    this.canvas = part("depth");
    this.list = part("children");
    this.place = WHOLE;
    this.goal = WHOLE;          // where the reader is going
    this.scene = null;          // of the open depth; null in front of the whole
    this.turn = 0;              // of the way: a later one ends those before
    this.byKeys = false;        // whether the keys chose it: the focus goes along
    this.told = null;           // what Python was told last
    this.loading = null;        // of the functions that draw the depths
    this.hasDragged = false;    // whether the pointer has moved what it holds: its end is no press
    this.mark = null;           // the box around what a press would enter
    this.answers = new Map();   // of Python, by place
    this.words = new Map();     // the tokens whose logits were looked at, by id
    this.pictures = new Map();
    listen(this);
  }

  get isOpen() { return this.place.depth !== "model"; }

  /** Whether a way is still being asked for or gone. */
  get isGoing() { return this.root.classList.contains("asking"); }

  /** Whether the keys stand on what is inside. */
  get holdsFocus() { return this.list.contains(/** @type {ShadowRoot} */ (this.root.getRootNode()).activeElement); }

  get ink() { return readTheme().ink; }

  get table() { return readTheme().table; }

  /** What `make` made once for this text in this theme. */
  kept(name, made) {
    if (!this.pictures.has(name)) this.pictures.set(name, made());
    return this.pictures.get(name);
  }

  /** Take over Python's header, which the map has: another text, another place. */
  receive() {
    const { map } = this, run = JSON.stringify(map.question);
    const again = run !== this.run;
    if (again) this.answers.clear();
    this.pictures.clear();
    this.run = run;
    const said = placeIn(map.at, map);
    if (this.told && performance.now() - this.told.since < PATIENCE && map.at !== this.told.at) {
      map.position = this.told.position;
      return;
    }
    this.told = null;
    writeRestore(this);
    if (written(said) !== map.at) this.tell(said);          // this model or text has no such place
    this.goTo(said, { tells: false, again });
  }

  /** Draw the open depth again if the window, what stands above, or the theme has changed; not on the way. */
  fit() {
    const width = this.map.root.clientWidth;
    if (!width || this.isGoing) return;
    if (this.theme === readTheme() && width === this.width && this.tall() === this.height) return;
    this.pictures.clear();
    this.goTo(this.place, { tells: false, again: true });
  }

  /** Go to a place, through a picture in which both depths move; tells: Python, too; again: even if it is open. */
  async goTo(place, { tells = true, byKeys = false, again = false } = {}) {
    const goal = within(place, this.map);
    this.byKeys = byKeys || (this.isGoing && this.byKeys);
    if (this.isGoing ? !again && written(goal) === written(this.goal) : !this.isOpen && goal.depth === "model") return;
    this.goal = goal;
    this.root.classList.add("asking");
    const turn = ++this.turn;
    if (!await this.gone(turn, tells, again)) return;
    this.arrive();
    if (this.byKeys) focusOn(this);
    if (this.isOpen) this.fit();
  }

  // Whether the way was gone to its end, unless a later one began.
  async gone(turn, tells, again) {
    const old = this.place;
    const scene = await this.sceneOf(this.goal).catch((error) => {
      if (error instanceof Unanswered) return null;
      throw error;
    });
    if (turn !== this.turn) return false;
    if (!scene) this.refuse();
    else if (written(scene.place) !== written(old)) {
      if (tells) this.tell(scene.place);
      await this.travel(old, scene, turn);
    } else if (again) this.enterAgain(scene);
    return turn === this.turn;
  }

  // ---- what a depth shows ----

  async sceneOf(wanted) {
    const place = await this.deepest(wanted), { depth, at } = place, { names } = DEPTHS[depth], { map } = this;
    const token = at[names.findIndex((name) => name === "query" || name === "token")];
    if (token !== undefined) map.position = token;
    if (names.includes("query")) map.d_k = (await this.asked(placeOf("look", ...at))).q.length;
    const data = SHOWN.includes(depth) ? null : await this.asked(placeOf(depth === "product" ? "look" : depth, ...at));
    if (depth === "logit") this.words.set(at[1], data.token);
    const drawn = depth === "model" ? null : await this.drawings();
    this.measure();
    return drawn ? drawn.SCENES[depth](this, place, data) : this.wholeScene();
  }

  // The functions that draw the depths, which a reader loads who goes in.
  drawings() {
    this.loading ??= import("./dive_scenes.js").catch((error) => {
      this.loading = null;
      throw new Unanswered(String(error));
    });
    return this.loading;
  }

  // The place, or the look around it if its score is no product.
  async deepest(place) {
    if (!["product", "number"].includes(place.depth)) return place;
    const look = placeOf("look", ...place.at);
    return (await this.asked(look)).dots ? place : look;
  }

  /** Python's answer on a place, asked for once. */
  asked(place) {
    const { answers, map } = this, name = written(place);
    if (!answers.has(name)) {
      if (answers.size >= MOST_ANSWERS) answers.delete(answers.keys().next().value);
      const answer = answerTo(map.path, { ...map.question, place: name });
      answers.set(name, answer.catch((error) => { answers.delete(name); throw error; }));
    }
    return answers.get(name);
  }

  // The whole map: one picture, which grows, and in it the places of the blocks and their heads.
  wholeScene() {
    const { map } = this, { geometry: g } = map, [dx, dy] = this.offset();
    const whole = { id: "whole", box: [dx, dy, g.width, g.height], paint(context, [x, y, w, h]) {
      for (const canvas of [map.base, map.over]) context.drawImage(canvas, x, y, w, h);
    } };
    const where = (id) => {
      const [kind, l, head] = id.split(/[ .]/), block = g.blocks[l];
      const row = ({ x, w, edges }) => [x + dx, edges[l] + dy, w, Math.max(2, edges[Number(l) + 1] - edges[l])];
      if (g.wide && ["row", "last"].includes(kind)) return row(kind === "row" ? g.images[0] : g.h);
      if (!block || !g.wide) return null;
      if (kind === "tile") {
        const [x, y] = tileCorner(block.tiles, Number(head));
        return [x + dx, y + dy, block.tiles.size, block.tiles.size];
      }
      const rows = ({ x, w }, edges) => [x + dx, edges[0] + dy, w, edges.at(-1) - edges[0]];
      if (kind === "lanes") return rows({ x: block.x, w: block.inner }, block.lanes);
      if (kind === "mlp" && map.d_ff) return rows(block.mlp, block.mlp.edges);
      return ["block", "tiles"].includes(kind) ? [block.x + dx, block.top + dy, block.inner, block.bottom - block.top]
        : null;
    };
    return { place: WHOLE, anchor: "", frame: whole.box, parts: g.wide ? [whole] : [], where, children: [] };
  }

  // Where the map begins on the stage.
  offset() {
    const [map, own] = [this.map.area, this.canvas].map((node) => node.getBoundingClientRect());
    return own.width && map.width ? [map.left - own.left, map.top - own.top] : [0, 0];
  }

  // ---- the way ----

  // The stage ends at the foot of the first screen, as the map does.
  tall() {
    const { scale, scroll } = this.map, room = roomBelow(this.isOpen ? this.root : scroll);
    return Math.round(Math.max(420, Math.min(820 * scale, room - Math.max(14, pageFoot()))));
  }

  measure() {
    const { map } = this;
    this.em = 13 * map.scale;
    this.width = map.root.clientWidth;
    this.height = this.tall();
    this.theme = readTheme();
    this.context = sharpen(this.canvas, this.width, this.height, screenRatio());
  }

  async travel(old, scene, turn) {
    const { map } = this, to = scene.place, wasOpen = this.isOpen, opens = to.depth !== "model";
    const before = this.scene ?? this.wholeScene();
    map.root.classList.toggle("travels", map.geometry.wide && wasOpen !== opens);
    if (!opens) {
      map.root.classList.remove("inside");
      this.arrange(map);
    }
    const next = opens ? scene : this.wholeScene();
    const way = isInside(to, old) ? "in" : isInside(old, to) ? "out" : "beside";
    const differs = to.at.findIndex((number, k) => number !== old.at[k]);
    this.enter(scene);
    map.root.style.setProperty("--top", `${map.scroll.offsetTop}px`);      // over the map, on the way
    const frames = { in: (t) => framesIn(before, next, t), out: (t) => framesIn(next, before, 1 - t),
      beside: (t) => framesBeside(before, next, to.at[differs] > old.at[differs] ? 1 : -1, t) }[way];
    await this.play(frames, (t) => (!wasOpen ? t : opens ? 1 : 1 - t), turn);
  }

  // The way has ended.
  arrive() {
    this.root.classList.remove("asking");
    this.map.root.classList.remove("travels");
    this.rest();
  }

  play(frames, ground, turn) {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches, from = performance.now();
    return /** @type {Promise<void>} */ (new Promise((done) => {
      const frame = (now) => {
        const t = still ? 1 : Math.max(0, Math.min(1, (now - from) / LASTS));
        if (turn !== this.turn || t >= 1) { done(); return; }
        this.paint(frames(eased(t)), ground(eased(t)));
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    }));
  }

  /** @param {{ part: any, box: number[], alpha: number }[]} painted */
  paint(painted, ground = 1) {
    const { context, width, height } = this;
    context.clearRect(0, 0, width, height);
    context.globalAlpha = ground;
    context.fillStyle = this.ink("page");
    context.fillRect(0, 0, width, height);
    for (const { part, box, alpha } of painted) {
      if (!(alpha > 0)) continue;
      context.globalAlpha = alpha;
      context.setLineDash([]);
      part.paint(context, box);
    }
    context.globalAlpha = 1;
  }

  // The scene is the present one from here on, with its words; it may still be on its way.
  enter(scene) {
    const { map } = this;
    this.place = scene.place;
    this.scene = this.isOpen ? scene : null;
    this.mark = null;
    map.tip.hidden = true;
    if (this.isOpen && !map.root.classList.contains("inside"))
      map.root.style.setProperty("--legend", `${map.geometry.wide ? map.legend.offsetHeight : 0}px`);
    const opens = this.isOpen && !map.root.classList.contains("inside");
    map.root.classList.toggle("inside", this.isOpen);
    if (opens && !map.geometry.wide) map.root.scrollIntoView({ block: "nearest" });       // the map was taller
    writeCrumbs(this);
    if (this.isOpen) this.say();
    writeChildren(this, scene);
  }

  // The same depth, drawn anew: what the keys had chosen keeps the focus.
  enterAgain(scene) {
    const had = this.holdsFocus;
    this.enter(scene);
    if (had) focusOn(this);
  }

  say() {
    rich(this.map.caption, this.scene.title, this.scene.values);
    this.canvas.ariaLabel = this.map.caption.textContent;
  }

  /** Draw the open depth as a drag changes it. */
  preview(scene) {
    this.scene = scene;
    this.say();
    this.rest();
  }

  rest() {
    if (this.isOpen) this.paint(this.scene.parts.map((part) => ({ part, box: part.box, alpha: 1 })));
    if (this.mark) this.outline(this.mark);
  }

  outline([x, y, w, h]) {
    stroke(this.context, this.ink("accent-ink"), 2.5);
    this.context.strokeRect(x - 1, y - 1, w + 2, h + 2);
  }

  tell(to) {
    const [layer, head] = to.at, { position } = this.map, at = written(to);
    this.told = { at, position, since: performance.now() };
    Object.assign(this.map, { at });
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.map.send("went", { at, position, layer, head }), LASTS + 60);
  }

  refuse() {
    this.goal = this.place;
    const { tip, text, caption } = this.map;
    showTip(tip, [make("span", "", null, text.dive_away)], caption.offsetLeft, caption.offsetTop, caption.offsetHeight);
  }
}

// The page's own answer, or Python's, which is asked for again after some time if the server is busy or away: a whole
// class may follow one link.
async function answerTo(path, question) {
  const own = answered(question);
  if (own) return own;
  const body = JSON.stringify(question);
  for (const wait of [...WAITS, null]) {
    const answer = await fetch(path, { method: "POST", body }).catch(() => null);
    if (answer?.ok) return unpack(new Uint8Array(await answer.arrayBuffer()));
    if (wait === null || (answer && answer.status !== 503)) break;
    await new Promise((go) => { setTimeout(go, wait); });
  }
  throw new Unanswered();
}
