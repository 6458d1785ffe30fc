// What the hand has set and Python is still to hear of.

/** Python says each setting back when its run is over; such an echo, late, must not move a hand that is further on. */
export class Echoes {
  constructor() {
    this.sent = new Set();
  }

  tell(value) {
    this.sent.add(value);
  }

  /** Whether Python's `value` moves the hand: it is neither what Python said before nor an echo. `now` is where
      the hand stands. */
  moves(value, now) {
    const moved = value !== this.known && !this.sent.has(value);
    this.known = value;
    if (moved || value === now) this.sent.clear();
    return moved;
  }
}
