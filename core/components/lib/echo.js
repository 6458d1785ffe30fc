// Whose word is the newer one: the hand's, or that of Python's message.
import { nextNumber } from "./events.js";

/** What a picture and Python tell each other of one value. An answer to an earlier word must not move a hand that has
    gone on: each word has a number, and each of Python's messages says which word was the last that it had heard. */
export class Echoes {
  constructor() {
    this.sent = this.heard = 0;     // the numbers of the hand's last word, and of the last that Python had heard
  }

  /** The hand goes to `value`; its next word to Python says so, with the number `sent`. */
  tell(value) {
    this.value = value;
    this.sent = nextNumber();
  }

  /** Python's message is here, written when `number` was the last word that it had heard. */
  hear(number) {
    // a session that began anew with its server will never hear of what the one before was told
    if (number < this.heard) this.sent = 0;
    this.heard = number;
  }

  /** Whether the `value` of Python's message should move the hand: it is no older than the hand's last word, and says
      another value than the last of the two said. */
  moves(value) {
    if (this.heard < this.sent) return false;
    const moved = value !== this.value;
    this.value = value;
    return moved;
  }
}
