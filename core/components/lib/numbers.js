// Numbers as a reader sees them, never rounded into a falsehood: only 0 is written as 0, and a number below 1 never as
// 1. The probability that a model gives to a word, a class or an answer is written in percent, an attention weight as a
// number. This is the rule of core/figures/numbers.py; the tests hold both to the same numbers.

const MINUS = "\u2212", SPACE = "\u00a0";

const LEAST = 5e-4;               // a smaller size, in significant digits, is written with its power of ten
const LEAST_DECIMAL = 1e-4;       // the same for decimals, where rounding would leave nothing
const MOST_DIGITS = 17;           // enough to tell any two float64 numbers apart
const SUPERSCRIPT = {
  "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹",
};

/** write(digits), with more digits as long as claims(size) finds that the written size is untrue. */
function honest(write, digits, claims) {
  let text = write(digits);
  for (let more = digits + 1; more <= MOST_DIGITS && claims(Math.abs(Number(text))); more += 1) text = write(more);
  return text;
}

/** The nearest number of so many digits; half way between two, the even one, as Python has it. */
function nearest(value, digits) {
  const up = value.toPrecision(digits), half = value.toPrecision(digits + 1);
  if (!/[13579]$/.test(up) || !/\.\d*5$/.test(half)) return up;
  const whole = value.toPrecision(100), isHalf = whole.startsWith(half) && !/[1-9]/.test(whole.slice(half.length));
  return isHalf ? half.slice(0, -1).replace(/\.$/, "") : up;
}

function precise(value, digits) {
  return honest((n) => nearest(value, n), digits, (size) => Math.abs(value) < 1 && size >= 1);
}

function special(value) {
  if (Number.isNaN(value)) return "–";
  return value > 0 ? "∞" : `${MINUS}∞`;
}

/** A number as it is, with a true minus: an id, a place, a year. */
export function written(value) {
  return String(value).replaceAll("-", MINUS);
}

/** A number as it is, or a text of digits, with commas between its thousands. */
export function grouped(value) {
  const [whole, decimal] = written(value).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (decimal ? `.${decimal}` : "");
}

/** 1.2 · 10⁻⁷, of `digits` significant digits; 0 for 0. */
export function powerOfTen(value, digits = 2) {
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return `${written(mantissa)}${SPACE}·${SPACE}10${[...exponent].map((sign) => SUPERSCRIPT[sign]).join("")}`;
}

/** `digits` significant digits, with zeros at the end; a whole number if it has more digits before the point; for a
    number just below 1, that it is above 0.9999. */
export function significant(value, digits = 3) {
  if (!Number.isFinite(value)) return special(value);
  if (value !== 0 && Math.abs(value) < LEAST) return powerOfTen(value);
  if (Math.abs(value) < 1 && Number(Math.abs(value).toPrecision(digits + 1)) >= 1)
    return `${value > 0 ? "> 0." : `< ${MINUS}0.`}${"9".repeat(digits + 1)}`;      // one more digit would still say 1
  const text = precise(value, digits);
  return grouped(text.includes("e") || Math.abs(value) >= 10 ** digits ? Math.round(value) : text);
}

/** Like `significant`, without zeros at the end: `readable` of numbers.py. */
export function readable(value, digits = 3) {
  const text = significant(value, digits);
  return /^\D?\d[\d,]*\.\d+$/.test(text) ? text.replace(/\.?0+$/, "") : text;
}

/** A probability or a share, which rounding may have left a little above 1, in percent with `places` decimals, and
    below 1 % with `places` + 1 significant digits; only 0 is written as 0 % and only 1 as 100 %. */
export function percent(share, places = 1) {
  const value = 100 * share;
  if (!Number.isFinite(value)) return "–";
  const text = value > 0 && value < LEAST ? powerOfTen(value) : written(hundredths(value, places));
  return `${text}${SPACE}%`;
}

function hundredths(value, places) {
  if (value === 0 || (value >= 100 && value < 100 + LEAST)) return value.toFixed(0);
  const few = value.toPrecision(places + 1), more = value.toFixed(places + 1);
  if (Math.abs(Number(few)) < 1) return few;
  if (value < 100 && Number(more) === 100) return `> 99.${"9".repeat(places + 1)}`;     // one more digit would say 100
  return Number(value.toFixed(places)) === 100 ? more : value.toFixed(places);
}

/** A number in [0, 1] that is not written in percent, such as an attention weight: `digits` significant digits, or a
    bare 0 or 1, also for a number that rounding has left a little above 1. */
export function probability(p, digits = 3) {
  if (p === 0) return "0";
  return p >= 1 ? "1" : significant(p, digits);
}

/** A number with `places` decimals, as by `plain_number` of numbers.py; a power of ten has two digits here. */
export function decimals(value, places = 4) {
  if (!Number.isFinite(value)) return special(value);
  const size = Math.abs(value), claims = (shown) => shown !== size && (shown === 0 || shown === 1);
  if (size < LEAST_DECIMAL && claims(Number(size.toFixed(places)))) return powerOfTen(value);
  return grouped(honest((n) => value.toFixed(n), places, claims));
}

/** A whole number as it is, any other number with `places` decimals. */
export function plain(value, places = 3) {
  return Number.isInteger(value) ? grouped(value) : decimals(value, places);
}

/** A number under the pointer: four significant digits, a whole number as it is, a power of ten if small or large. */
export function exact(value) {
  if (Number.isInteger(value)) return grouped(value);
  const text = precise(value, 4);
  return text.includes("e") ? powerOfTen(value, 4) : grouped(text);
}
