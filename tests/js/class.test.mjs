// A class: what a phone sends until it is kept, what the wall makes of the counts, the numbers as a file.
import assert from "node:assert/strict";
import { test } from "node:test";

import { classBits, cutWords, entropyOf, wordsOf } from "../../core/components/class_desk/games.js";
import { binOf, csvOf } from "../../core/components/class_desk/report.js";
import { mostWrong, mostWrongWord, percent, plain } from "../../core/components/class_tally/tally.js";
import { majority, rightShares } from "../../core/components/class_wall/wall.js";
import { masked } from "../../core/components/class_wall/words.js";
import { Outbox, phoneOf, storageOf } from "../../core/components/phone/connection.js";

class Storage {
  constructor() { this.kept = new Map(); }

  getItem(name) { return this.kept.get(name) ?? null; }

  setItem(name, value) { this.kept.set(name, value); }

  removeItem(name) { this.kept.delete(name); }
}

const FULL = { getItem() { throw new Error("no storage"); }, setItem() { throw new Error("no storage"); },
  removeItem() { throw new Error("no storage"); } };

/** An outbox whose server answers what `answers` holds, one after the other: a status, or 0 for no network. */
function outbox(answers, storage = new Storage()) {
  const sent = [], told = [], waits = [];
  const send = async (address, { body }) => {
    sent.push(JSON.parse(body));
    const status = answers.shift();
    if (!status) throw new TypeError("no network");
    return { ok: status === 200, status, json: async () => ({ kept: answers.kept ?? true }) };
  };
  const box = new Outbox({ code: "KXM4T", phone: "p", address: "/j/KXM4T/answer", storage, send,
    later: (go, ms) => waits.push([go, ms]), told: (state, answer) => told.push([state, answer.guess]) });
  return { box, sent, told, waits, storage };
}

const settled = () => new Promise((go) => setImmediate(() => setImmediate(go)));

test("an answer is sent again until the server has kept it", async () => {
  const { box, sent, told, waits, storage } = outbox([0, 503, 429, 200]);
  await box.put({ question: 1, guess: 2 });
  for (let i = 0; i < 3; i += 1) {
    assert.equal(storage.kept.size, 1);
    waits[i][0]();
    await settled();
  }
  assert.equal(sent.length, 4);
  assert.deepEqual(sent[3], { phone: "p", question: 1, guess: 2 });
  assert.deepEqual(told.map(([state]) => state), ["sending", "offline", "offline", "offline", "kept"]);
  assert.ok(waits[0][1] < waits[1][1] && waits[1][1] < waits[2][1]);
  assert.equal(storage.kept.size, 0);
});

test("a page that is opened again sends what waits", async () => {
  const storage = new Storage(), first = outbox([0], storage);
  await first.box.put({ question: 3, guess: "ball", sure: 60 });
  const second = outbox([200], storage);
  await settled();
  assert.deepEqual(second.sent, [{ phone: "p", question: 3, guess: "ball", sure: 60 }]);
  assert.deepEqual(second.told, [["kept", "ball"]]);
});

test("of two answers the newer one is kept, also when it came while the first was on its way", async () => {
  const { box, sent, told } = outbox([200, 200]);
  const first = box.put({ question: 1, guess: 0 });
  box.put({ question: 1, guess: 1 });
  await first;
  assert.deepEqual(sent.map(({ guess }) => guess), [0, 1]);
  assert.deepEqual(told.at(-1), ["kept", 1]);
  assert.ok(!told.some(([state, guess]) => state === "kept" && guess === 0));
});

test("what the server refuses or has closed is not sent again", async () => {
  for (const [status, kept] of [[404, true], [400, true], [200, false]]) {
    const answers = Object.assign([status], { kept }), { box, told, waits } = outbox(answers);
    await box.put({ question: 1, guess: 0 });
    assert.deepEqual(told.at(-1), ["closed", 0]);
    assert.equal(waits.length, 0);
  }
});

test("a browser that keeps nothing answers all the same", async () => {
  const { box, told } = outbox([0, 200], FULL);
  await box.put({ question: 1, guess: 0 });
  await box.try();
  assert.deepEqual(told.at(-1), ["kept", 0]);
  assert.match(phoneOf(FULL), /^[0-9a-f]{32}$/);
});

test("a page whose browser lets it keep nothing keeps its number itself", () => {
  const closed = { get localStorage() { throw new DOMException("Access is denied", "SecurityError"); } };
  const storage = storageOf(closed), phone = phoneOf(storage);
  assert.equal(phoneOf(storage), phone);
  storage.removeItem("transformer-phone");
  assert.notEqual(phoneOf(storage), phone);
  assert.equal(storageOf({ localStorage: FULL }), FULL);
});

test("a browser draws its number once", () => {
  const storage = new Storage(), phone = phoneOf(storage);
  assert.match(phone, /^[0-9a-f]{32}$/);
  assert.equal(phoneOf(storage), phone);
  assert.notEqual(phoneOf(new Storage()), phone);
  storage.setItem("transformer-phone", JSON.stringify("<script>"));
  assert.match(phoneOf(storage), /^[0-9a-f]{32}$/);
});

test("shares, the most frequent wrong answer and the majority, by hand", () => {
  assert.equal(percent(1, 3), "33\u00a0%");
  assert.equal(percent(0, 0), "–");
  assert.equal(mostWrong([1, 5, 3], 1), 2);
  assert.equal(mostWrong([2, 5, 2], 1), null);
  assert.equal(mostWrong([0, 5, 0], 1), null);
  assert.equal(majority({ n: 0, counts: [0, 0] }), null);
  assert.equal(majority({ n: 3, counts: [1, 2] }), 1);
  assert.equal(majority({ n: 3, counts: [1, 2], median: 41.5 }), 41.5);
  assert.equal(majority({ n: 3, words: [["ball", 2]], other: 1 }), "ball");
  assert.equal(majority({ n: 3, words: [], other: 3 }), null);
  assert.equal(rightShares({ tally: { n: 4, counts: [1, 3] }, first: { n: 4, counts: [3, 1] }, model: { answer: 1 } }),
    "25\u00a0% → 75\u00a0%");
  assert.equal(rightShares({ tally: { n: 4, counts: [1, 3] }, model: null }), "");
  assert.equal(rightShares({ tally: { n: 4, counts: [1, 3], median: 2 }, model: { answer: 1 } }), "");
  assert.equal(plain(" ·Ice  cream"), "ice cream");
});

test("the most frequent wrong word is called out only where no word that is not shown can be as frequent", () => {
  const words = [["ball", 5], ["dog", 4], ["cat", 2]];
  assert.equal(mostWrongWord({ words, other: 3 }, "·ball"), "dog");
  assert.equal(mostWrongWord({ words, other: 4 }, "·ball"), null);
  assert.equal(mostWrongWord({ words: [["dog", 2], ["cat", 2]], other: 0 }, "ball"), null);
  assert.equal(mostWrongWord({ words: [["ball", 5]], other: 0 }, "Ball"), null);
});

test("a rude word is masked where others see the list", () => {
  assert.equal(masked("damn"), "d•••");
  assert.equal(masked("x"), "x•");
});

test("the numbers as a file: a line for each answer that was given or is right, no formula, no person", () => {
  const text = { csv_number: "question", csv_question: "asked", csv_answer: "answer", csv_count: "how many",
    csv_model: "model" };
  const questions = [
    { question: 1, asked: { ask: 'Say "a", b', guess: { kind: "options", texts: ["=HYPERLINK()", "dog"] } },
      tally: { n: 3, counts: [1, 2] }, model: { answer: 1 } },
    { question: 2, asked: { ask: "Where?", guess: { kind: "cell", rows: ["r0"], columns: ["c0", "c1"] } },
      tally: { n: 1, counts: [0, 1] }, model: null },
    { question: 3, asked: { ask: "Word?", guess: { kind: "word" } }, tally: { n: 3, words: [["ball", 2]], other: 1 } },
    { question: 4, asked: { ask: "Word?", guess: { kind: "word" } }, tally: { n: 3, words: [["ball", 2]], other: 1 },
      model: { answer: "·Ball" } },
    { question: 5, asked: { ask: "Word?", guess: { kind: "word" } }, tally: { n: 1, words: [["ball", 1]], other: 0 },
      model: { answer: "·dog" } },
  ];
  assert.equal(csvOf(questions, text), [
    '"question","asked","answer","how many","model"',
    `"1","Say ""a"", b","'=HYPERLINK()","1",""`,
    '"1","Say ""a"", b","dog","2","x"',
    '"2","Where?","r0, c1","1",""',
    '"3","Word?","ball","2",""',
    '"3","Word?","…","1",""',
    '"4","Word?","ball","2","x"',
    '"4","Word?","…","1",""',
    '"5","Word?","ball","1",""',
    '"5","Word?","dog","0","x"',
  ].join("\r\n"));
});

test("a number of the model stands in the line of its part", () => {
  const guess = { kind: "number", low: 0, high: 24 }, counts = Array.from({ length: 24 }, (_, i) => Number(i === 2));
  const lines = csvOf([{ question: 1, asked: { ask: "How many?", guess }, tally: { n: 1, counts, median: 2 },
    model: { answer: 5.5 } }], {}).split("\r\n");
  assert.deepEqual(lines.slice(1), ['"1","How many?","2–3","1",""', '"1","How many?","5–6","0","5.5"']);
});

test("the parts of a slider are equal, those of a logarithmic one equal ratios", () => {
  assert.equal(binOf({ low: 0, high: 24 }, 24, 3), "3–4");
  assert.equal(binOf({ low: 1, high: 1e6, log: true }, 6, 2), "100–1000");
});

test("the words of a class are cut like a model's tokens", () => {
  const words = [["ball", 4], ["dog", 2], ["cat", 1], ["tree", 1]];
  const { rows, draw } = cutWords(words, {});
  assert.deepEqual(rows.map(([word, n, p]) => [word, n, p.toFixed(3)]),
    [["ball", 4, "0.500"], ["dog", 2, "0.250"], ["cat", 1, "0.125"], ["tree", 1, "0.125"]]);
  assert.deepEqual([0, 0.49, 0.5, 0.74, 0.75, 0.99].map(draw), [0, 0, 1, 1, 2, 3]);
  assert.deepEqual(cutWords(words, { top_k: 2 }).rows.map(([, , p]) => p.toFixed(3)),
    ["0.667", "0.333", "0.000", "0.000"]);
  assert.equal(cutWords(words, { top_p: 0.5 }).rows[0][2], 1);
  // p to the power 1/T: 16 : 4 : 1 : 1
  assert.deepEqual(cutWords(words, { temperature: 0.5 }).rows.map(([, , p]) => p.toFixed(3)),
    ["0.727", "0.182", "0.045", "0.045"]);
  assert.deepEqual(cutWords([], {}).rows, []);
});

test("the entropy of answers in bits", () => {
  assert.equal(entropyOf([1, 1, 2]), 1.5);
  assert.equal(entropyOf([3, 0]), 0);
  assert.equal(entropyOf([]), 0);
});

test("the bits of a class are those of the share that had the word", () => {
  assert.equal(classBits([["ball", 1], ["dog", 3]], 4, "Ball"), 2);
  assert.equal(classBits([["dog", 3]], 3, "ball"), null);
  assert.deepEqual(wordsOf("Once upon  a time,"), ["Once", " upon", "  a", " time,"]);
});
