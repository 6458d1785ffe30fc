// The model at work beside the page, so that typing stays smooth: it makes the messages that Python sends in the app.
import { Model } from "../../../core/components/engine/model.js";
import { Tokenizer } from "../../../core/components/engine/tokenizer.js";
import { edited } from "./edit.js";
import { answer } from "./inside.js";
import { message } from "./message.js";

let model, tokenizer, words;
const passes = new Map();       // the last two: the plain one and the edited one
const MOST_PASSES = 2;

async function start({ weights, tokenizer: json, words: said }) {
  const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  const whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  model = new Model(new Uint8Array(await new Response(whole).arrayBuffer()));
  tokenizer = new Tokenizer(json);
  words = said;
}

/** The tokens of a text: its last ones, as many as the model has positions for. */
function idsOf(text) {
  const own = tokenizer.encode(text), { begin } = tokenizer;
  return [...begin, ...own.slice(Math.max(0, own.length - model.config.n_context + begin.length))];
}

/** The pass over tokens under a change, computed once. */
function passOf(ids, change) {
  const key = JSON.stringify([ids, change]), pass = passes.get(key) ?? model.trace(ids, change);
  passes.delete(key);         // the one that was asked for last comes last
  passes.set(key, pass);
  if (passes.size > MOST_PASSES) passes.delete(passes.keys().next().value);
  return pass;
}

const asks = {
  start,
  message: (settings) => message(model, tokenizer, idsOf(settings.prompt), settings, words, passOf),
  answer: (body) => {
    const { ids: plain, edit, place } = body, { ids, change } = edited(model, plain, edit);
    return answer(model, tokenizer, passOf(ids, change), change, place);
  },
  decoded: (ids) => tokenizer.decode(ids),
};

onmessage = async ({ data: { number, what, given } }) => {
  try {
    postMessage({ number, answer: await asks[what](given) });
  } catch (error) {
    postMessage({ number, error: String(error) });
  }
};
