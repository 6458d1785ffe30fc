// A model at work beside the page of a file, so that typing stays smooth: what the page asks, it answers.
import { Model } from "./model.js";
import { Tokenizer } from "./tokenizer.js";

const MOST_PASSES = 4;

/** What a picture's messages are made from. words: what Python says once. idsOf: the tokens of a text, its last ones,
 * as many as the model has positions for. passOf: the pass over tokens under a change; the last few are kept.
 * @typedef {{ model: any, tokenizer: any, words: any, idsOf(text: string): number[],
 *   passOf(ids: number[], change: object): any }} Own */

/** @param {any} model @param {any} tokenizer @param {any} words @returns {Own} */
export function owned(model, tokenizer, words) {
  const passes = new Map();
  return {
    model, tokenizer, words,
    idsOf(text) {
      const own = tokenizer.encode(text), { begin } = tokenizer;
      return [...begin, ...own.slice(Math.max(0, own.length - model.config.n_context + begin.length))];
    },
    passOf(ids, change) {
      const key = JSON.stringify([ids, change]), pass = passes.get(key) ?? model.trace(ids, change);
      passes.delete(key);         // the one that was asked for last comes last
      passes.set(key, pass);
      if (passes.size > MOST_PASSES) passes.delete(passes.keys().next().value);
      return pass;
    },
  };
}

async function start({ weights, tokenizer, words }) {
  const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  const whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return owned(new Model(new Uint8Array(await new Response(whole).arrayBuffer())), new Tokenizer(tokenizer), words);
}

/** Answer the page: the question "start" unpacks the model, every other one is the name of an answer of `answers`.
 * @param {Record<string, (own: Own, given: any) => any>} answers */
export function serve(answers) {
  let own = null;
  onmessage = async ({ data: { number, what, given } }) => {
    try {
      if (what === "start") own = await start(given);
      postMessage({ number, answer: what === "start" ? null : await answers[what](own, given) });
    } catch (error) {
      postMessage({ number, error: String(error) });
    }
  };
}
