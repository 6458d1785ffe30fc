// Which word is newer: the hand's, or that in Python's message.
import { nextNumber } from "./events.js";

/** The words of a picture and of Python on one value. An answer to an earlier word must not move a hand that has gone
    on: each word has a number, and each of Python's messages has the number of the last word that Python had heard. */
export class Echoes {
  constructor() {
    this.sent = this.heard = 0;     // the numbers of the hand's last word, and of the last that Python had heard
  }

  /** Note that the hand goes to `value`; its next word to Python says so, with the number `sent`. */
  tell(value) {
    this.value = value;
    this.sent = nextNumber();
  }

  /** Take a message of Python, written when `number` was the last word that Python had heard. */
  hear(number) {
    // a session that began again with its server will never hear the words to the previous session
    if (number < this.heard) this.sent = 0;
    this.heard = number;
  }

  /** Whether the `value` in Python's message should move the hand: it is no older than the hand's last word, and
      differs from the last value that either has said. */
  moves(value) {
    if (this.heard < this.sent) return false;
    const moved = value !== this.value;
    this.value = value;
    return moved;
  }
}
