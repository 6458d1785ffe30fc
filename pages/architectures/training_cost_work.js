// The numbers of a training and of writing, as core/cost/scaling_laws.py has them.
import { readable } from "../../core/components/lib/numbers.js";
import { prefixed } from "./hardware_work.js";

export const SITE = 5e9;                  // watts of the lecture's site
export const YEAR = 365.25 * 86400;       // seconds
const UNITS = [{ unit: "days", length: 86400 }, { unit: "hours", length: 3600 }, { unit: "minutes", length: 60 }];

/**
 * The cost of a training: N parameters and D tokens, both in billions; `share` of the peak in percent, `price` of a
 * device-hour in dollars. operations, hours over all devices, days on all of them, energy in watt hours, dollars, the
 * seconds in which a site of SITE gives that energy, and operations for each token that is then written.
 */
export function trainingOf({ parameters, tokens, devices, share, pue, price }, { peak, watts }) {
  const operations = 6 * parameters * 1e9 * tokens * 1e9, hours = operations / (peak * share / 100) / 3600;
  const energy = hours * watts * pue;
  return { operations, hours, days: hours / devices / 24, energy, dollars: hours * price,
    site: energy / SITE * 3600, written: 2 * parameters * 1e9 };
}

/** The powers of ten around some positive values, at least from `low` to `high`. */
export function decadesAround(values, low, high) {
  const powers = values.map(Math.log10);
  return [Math.min(low, Math.floor(Math.min(...powers))), Math.max(high, Math.ceil(Math.max(...powers)))];
}

/** A time as it is told: a number, and the name of its unit. */
export function lasting(seconds) {
  for (const { unit, length } of UNITS)
    if (seconds >= 2 * length) return { unit, n: readable(seconds / length) };
  return { unit: "seconds", n: readable(seconds) };
}

/** Dollars, large ones with a prefix: $ 7.11 M. */
export const money = (dollars) => `$ ${dollars < 1000 ? readable(dollars) : prefixed(dollars, "")}`;

/** The first place {x, y, anchor} around a dot at which its name, `width` by `height`, covers no taken box
    [left, top, right, bottom] and stays in `bounds`, with the box that it then takes; null if there is none. */
export function nameAt({ x, y }, width, height, taken, bounds) {
  const above = y - height, below = y + 1.7 * height;
  const places = [{ x: x + height, y: y + 0.35 * height, anchor: "start" },
    { x: x - height, y: y + 0.35 * height, anchor: "end" }, { x, y: above, anchor: "middle" },
    { x, y: below, anchor: "middle" }, { x, y: below, anchor: "end" }, { x, y: above, anchor: "end" },
    { x, y: above, anchor: "start" }, { x, y: below, anchor: "start" }];
  const boxOf = (place) => {
    const left = place.x - { start: 0, middle: width / 2, end: width }[place.anchor], air = 0.3 * height;
    return [left - air, place.y - 0.8 * height, left + width + air, place.y + 0.2 * height];
  };
  const isFree = (box) => box[0] >= bounds[0] && box[1] >= bounds[1] && box[2] <= bounds[2] && box[3] <= bounds[3]
    && taken.every((other) => box[2] <= other[0] || other[2] <= box[0] || box[3] <= other[1] || other[3] <= box[1]);
  const place = places.find((each) => isFree(boxOf(each)));
  return place ? { ...place, box: boxOf(place) } : null;
}
