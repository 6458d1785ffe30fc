import assert from "node:assert/strict";
import { test } from "node:test";

import { Echoes } from "../../core/components/lib/echo.js";

/** A hand and Python, which reads all that it has not heard of when it answers. `tell` is the hand's word, `answer()`
 * what Python then says: its value and the number of the last word it has heard, as it stood when it was written. */
class Talk {
  constructor(start) {
    Object.assign(this, { echoes: new Echoes(), python: start, heard: 0 });
    this.take(this.answer());
  }

  tell(value) {
    this.echoes.tell(value);
    this.told = { value, number: this.echoes.sent };
  }

  /** Python hears the hand's last word. */
  hear() { Object.assign(this, { python: this.told.value, heard: this.told.number }); }

  answer() { return { value: this.python, heard: this.heard }; }

  /** Whether an answer that arrives moves the hand. */
  take({ value, heard }) {
    this.echoes.hear(heard);
    return this.echoes.moves(value);
  }

  /** Python's answers to these words of the hand, all of them told before the first answer arrives. */
  answers(...values) {
    return values.map((value) => { this.tell(value); this.hear(); return this.answer(); });
  }

  moved(answers) { return answers.map((answer) => this.take(answer)); }
}

test("Python's first word moves the hand, and what it says again does not", () => {
  const echoes = new Echoes();
  assert.ok(echoes.moves("start"));
  assert.ok(!echoes.moves("start"));
});

test("what the hand has told comes back late and moves nothing", () => {
  const talk = new Talk("start");
  assert.deepEqual(talk.moved(talk.answers("a", "b")), [false, false]);
});

test("what Python says by itself moves the hand, though the hand was there before", () => {
  const talk = new Talk("start");
  talk.moved(talk.answers("a", "b"));
  for (const value of ["a", "start", "b"]) {
    talk.python = value;
    assert.ok(talk.take(talk.answer()), value);
  }
});

test("a hand that went to the same value twice is not moved by what it told in between, however late", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const talk = new Talk("start");
  for (const answer of talk.answers("a", "b", "a", "b", "a")) {
    assert.ok(!talk.take(answer), answer.value);
    context.mock.timers.tick(60_000);
  }
  talk.python = "b";
  assert.ok(talk.take(talk.answer()), "by itself");
});

test("nor where Python hears only the last of several words", () => {
  const talk = new Talk("start");
  for (const value of ["a", "b", "a"]) talk.tell(value);
  const early = talk.answer();
  talk.hear();
  assert.deepEqual(talk.moved([early, talk.answer()]), [false, false]);
  talk.python = "b";
  assert.ok(talk.take(talk.answer()), "by itself, at once");
});

test("what Python did before it heard the hand's last word does not move it, for that word comes after", () => {
  const talk = new Talk("start");
  talk.tell("a");
  talk.python = "other";
  assert.ok(!talk.take(talk.answer()));
  talk.hear();
  assert.ok(!talk.take(talk.answer()));
});

test("an undo that Python hears together with the hand's word wins", () => {
  const talk = new Talk("start");
  talk.tell("a");
  talk.hear();
  talk.python = "start";
  assert.ok(talk.take(talk.answer()));
  assert.ok(!talk.take(talk.answer()), "once");
});

test("what Python makes of the hand's word moves it", () => {
  const talk = new Talk(1);
  talk.tell(70);
  talk.hear();
  talk.python = 50;
  assert.ok(talk.take(talk.answer()));
});

test("a hand that has not told yet where it is stays there while Python says what both know", () => {
  const talk = new Talk("start");
  talk.tell("a");
  talk.hear();
  assert.deepEqual(talk.moved([talk.answer(), talk.answer()]), [false, false]);
});

test("a server that begins anew knows no word of the hand's, and is followed", () => {
  const talk = new Talk("start");
  talk.moved(talk.answers("a", "b"));
  Object.assign(talk, { python: "a", heard: 0 });
  assert.ok(talk.take(talk.answer()));
  assert.deepEqual(talk.moved(talk.answers("b", "a")), [false, false]);
  talk.python = "b";
  assert.ok(talk.take(talk.answer()));
});

test("a picture that is built anew takes over what Python says, whatever the one before told", () => {
  const talk = new Talk("start");
  talk.answers("a", "b");
  talk.echoes = new Echoes();
  assert.ok(talk.take(talk.answer()));
  const late = talk.answer();
  talk.tell("c");
  assert.ok(!talk.take({ ...late, value: "a" }), "it counts on where the one before stopped");
});

test("two pictures do not count each other's words as their own", () => {
  const one = new Talk("start"), other = new Talk("start");
  one.tell("a");
  other.tell("b");
  const answer = one.answer();
  one.hear();
  other.hear();
  assert.ok(!one.take(answer) && !one.take(one.answer()) && !other.take(other.answer()));
});
