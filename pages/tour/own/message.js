// The message to the tour without Python: what pages/tour/steps.py sends in the app, made from passes in the browser.
import { pack } from "../../../core/components/lib/bytes.js";
import { dice, learn, whole } from "./ending.js";
import { heads, layers, look } from "./looking.js";
import { near, numbers, pieces } from "./pieces.js";
import { Reading } from "./reading.js";
import { change, finish, write } from "./words.js";

const COMPUTE = { finish, write, change, pieces, near, numbers, look, heads, layers, dice, learn, map: whole };
// steps with a right guess
const GUESSED = ["finish", "change", "pieces", "near", "numbers", "look", "layers", "dice", "learn"];

/** @typedef {import("../../../core/components/engine/service.js").Own} Own */

/** The message about the step `at`, counted from 1. done: what the reader has done in each step; named: whether anybody
 * asked for this step. own.words: `text` the labels, `steps` their names, `title`, `sentences` offered where a step
 * needs one, `model`, `ends` the ids that end a text, `stories` whether the model has read English stories alone,
 * `learn` the step of that name, `prompt` the text that it is about.
 * @param {Own} own
 * @param {{ prompt: string, at: number, named: boolean, done: Record<string, any> }} settings @returns {Uint8Array} */
export function message(own, { prompt, at, named, done }) {
  const { text, steps, title, sentences, model, prompt: first } = own.words, run = new Reading(own, prompt);
  const name = steps[at - 1], step = COMPUTE[name](run, done);
  const said = name === "map" ? rightGuesses(run, done) : step.said ?? [];
  const labels = prompt === first ? text : { ...text, guesses_learn: text.guesses_learn_of };
  return pack({ text: labels, steps, at, named, scale: 1, of: `${model} (${run.ids.join(", ")})`, title, done,
    asks: step.asks, tells: step.tells ?? null, said, values: step.values ?? {}, leads: false,
    sentences: step.asks ? [] : sentences }, step.arrays);
}

/** How many of the reader's guesses were right, and how sure the first one was; nothing of who has guessed nothing.
    @returns {[string, object][]} */
function rightGuesses(run, done) {
  const told = new Map(GUESSED.filter((name) => name in done).map((name) => [name, COMPUTE[name](run, done)])
    .filter(([, { tells, said }]) => tells && said?.length).map(([name, { said }]) => [name, said[0]]));
  if (!told.size) return [];
  const right = [...told.values()].filter(([label]) => /_(same|right)$/.test(label)).length;
  const values = { right, n: told.size, ...told.get("finish")?.[1] };
  return [[told.has("finish") ? "told_map" : "told_map_unsure", values]];
}
