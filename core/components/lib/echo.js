// Settings that the hand has made and Python has not heard of yet.

/** Python sends each setting back when its run is over. A late echo must not move a hand that has gone on. */
export class Echoes {
  constructor() {
    this.sent = new Set();
  }

  tell(value) {
    this.sent.add(value);
  }

  /** Whether Python's `value` should move the hand: it is neither Python's last value nor an echo. `now` is the
      hand's own value. */
  moves(value, now) {
    const moved = value !== this.known && !this.sent.has(value);
    this.known = value;
    if (moved || value === now) this.sent.clear();
    return moved;
  }
}
