// Write a sentence with a few marks into a node: `code`, **strong**, *emphasis*. Text goes in only as text.
import { make } from "../lib/dom.js";

const MARKED = /(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/;
const TAGS = [["`", "code", 1], ["**", "b", 2], ["*", "i", 1]];

/** The parts of a sentence: [tag or "", text]. */
export function parts(sentence) {
  return sentence.split(MARKED).filter(Boolean).map((part) => {
    if (!MARKED.test(part) || part.match(MARKED)[0] !== part) return ["", part];
    const [, tag, n] = TAGS.find(([mark]) => part.startsWith(mark));
    return [tag, part.slice(n, -n)];
  });
}

export function inline(node, sentence) {
  for (const [tag, text] of parts(sentence))
    if (tag) make(tag, "", node, text).dir = "auto";
    else node.append(text);
  return node;
}
