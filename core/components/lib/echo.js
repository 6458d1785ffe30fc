// Settings that the hand has made and Python has not heard of yet.
const LATE = 5000;      // ms in which Python has answered all that a hand told it that rests now

/** Python sends each setting back when its run is over. A late echo must not move a hand that has gone on. */
export class Echoes {
  constructor() {
    this.sent = [];     // what was told and did not come back yet, in its order, for Python may leave out some of it
    this.until = Infinity;
  }

  tell(value) {
    this.sent.push(value);
    this.until = Infinity;
  }

  /** Whether Python's `value` should move the hand: it is neither Python's last value nor an echo. `now` is the
      hand's own value. Where the hand went there twice, nobody knows of which time this is the echo: what was told in
      between may still come. */
  moves(value, now) {
    if (Date.now() > this.until) this.sent = [];
    const isNew = value !== this.known, at = isNew ? this.sent.indexOf(value) : -1, moved = isNew && at < 0;
    this.known = value;
    this.sent = moved ? [] : this.sent.slice(at + 1);
    if (value === now) this.until = this.sent.includes(value) ? Date.now() + LATE : 0;
    return moved;
  }
}
