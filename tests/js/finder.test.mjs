import assert from "node:assert/strict";
import { test } from "node:test";

import { find, normal, prepared, slips, wordsOf } from "../../core/components/palette/search.js";

const place = (id, kind, name, where = "", says = "") => ({ id, kind, name, where, says });
const PLACES = [
  place("lesson heads", "lesson", "Heads", "Inside a block", "Each head learns to look for something else."),
  place("page map", "page", "Map"),
  place("view steps", "view", "Step by step", "Attention", "One head, one query."),
  place("view scaling", "view", "Why ÷ √dₖ", "Attention", "Long vectors have large dot products."),
  place("term head", "term", "head", "Heads", "One attention with projections of its own."),
  place("term Ångström", "term", "Ångström"),
  place("idea A5", "idea", "Scores are divided by √d_k.", "Attention › Why ÷ √dₖ"),
  place("view facts", "view", "Made-up facts", "Limits", "It answers all the same."),
  place("term feed-forward part", "term", "feed-forward part"),
];
const INDEX = prepared({ places: PLACES, little: "a how i is it make the up why of by".split(" "), synonyms: [
  [["switch off", "ablate"], [4, 0]], [["make up", "hallucination"], [7]], [["chatgpt", "chat gpt"], [1, 2, 3, 0]],
] });
const found = (typed, most = 9) => find(INDEX, typed, most);
const ids = (typed, most) => found(typed, most).places.map(({ id }) => id);

test("without a word the lessons and the pages are shown", () => {
  assert.deepEqual(ids("  "), ["lesson heads", "page map"]);
});

test("the whole name comes first, then another form of it, then what only speaks of it", () => {
  assert.deepEqual(ids("head"), ["term head", "lesson heads", "view steps"]);
  assert.deepEqual(ids("heads"), ["lesson heads", "term head", "view steps"]);
});

test("what has every word comes before what has some, in whatever order and field", () => {
  for (const typed of ["attention step", "step attention"])
    assert.deepEqual(ids(typed), ["view steps", "view scaling", "idea A5", "term head"], typed);
  assert.deepEqual(ids("step qqq"), ["view steps"]);
});

test("little words do not count while others are there, and are searched for alone", () => {
  assert.deepEqual(ids("why is it a head"), ids("head"));
  assert.equal(ids("why")[0], "view scaling");
  assert.equal(ids("is it the")[0], "view facts");
});

test("a synonym finds what it means, the best first; little words may belong to one", () => {
  assert.deepEqual(ids("chatgpt"), ["page map", "view steps", "view scaling", "lesson heads"]);
  assert.deepEqual(ids("chat-GPT"), ids("chatgpt"));
  assert.deepEqual(ids("how do I switch it off").slice(0, 2), ["term head", "lesson heads"]);
  assert.equal(ids("why it makes the facts up")[0], "view facts");
  assert.deepEqual(ids("switch"), []);              // only a part of one
});

test("another form of a word, or it without its hyphen, is the same word", () => {
  for (const typed of ["steps", "stepped"]) assert.equal(ids(typed)[0], "view steps", typed);
  for (const typed of ["feedforward", "feed forward", "Feed-Forward"])
    assert.equal(ids(typed)[0], "term feed-forward part", typed);
});

test("a slip of the hand finds the nearest word, and it is said which", () => {
  for (const [typed, word] of [["halucination", "hallucination"], ["hallucinatoin", "hallucination"],
    ["angtsrom", "angstrom"], ["haed", "head"], ["chatgtp", "chatgpt"]]) {
    assert.deepEqual([found(typed).words, found(typed).nearest], [[word], true], typed);
    assert.deepEqual(ids(typed), ids(word), typed);
  }
  assert.equal(found("hallucination").nearest, false);
  assert.deepEqual(found("halucinatoin").words, ["hallucination"]);
  assert.deepEqual(found("head halucinatoin").words, ["head"]);        // two slips are too many beside another word
  for (const typed of ["zzzz", "qqq", "hxyd"])
    assert.deepEqual(found(typed), { places: [], words: [], nearest: false }, typed);
});

test("the slips between two words are the fewest, exchanges among them", () => {
  const cases = [["token", "token", 0], ["tokne", "token", 1], ["toke", "token", 1], ["tolen", "token", 1],
    ["kitten", "sitting", 3], ["", "ab", 2], ["abcd", "wxyz", Infinity]];
  for (const [a, b, n] of cases) assert.equal(slips(a, b, 3), n, `${a} ${b}`);
});

test("accents, case, and raised or lowered letters do not matter", () => {
  assert.equal(normal("√dₖ Wᵀ"), "√dk wt");
  assert.deepEqual(wordsOf("What’s √d_k, then?"), ["whats", "dk", "then"]);
  assert.deepEqual(ids("angstrom"), ["term Ångström"]);
  for (const typed of ["dk", "√dk", "d_k"]) assert.deepEqual(ids(typed), ["view scaling", "idea A5"], typed);
});

test("one or two letters count at the beginning of a word alone, and of many the best are kept", () => {
  assert.deepEqual(ids("tt"), []);
  assert.equal(ids("h", 2).length, 2);
});

test("whatever is typed breaks nothing and takes no time", () => {
  const odd = ["(.*", "\u0000\u0007\u001b", "<script>alert(1)</script>", "😀🏽‍👩", "ما هي الرموز", "a".repeat(1e7),
    "head ".repeat(2e6), "__proto__ constructor", "\ud800", "%s ${x} {n}"];
  for (const typed of odd) {
    const start = performance.now();
    assert.ok(Array.isArray(ids(typed)));
    assert.ok(performance.now() - start < 1000, typed.slice(0, 20));
  }
  for (const typed of odd.slice(0, 2)) assert.deepEqual(ids(typed), []);
  assert.equal(ids("head ".repeat(2e6))[0], "term head");
});
