// The way between two depths: what both show moves from its old place to its new one, and all else grows or shrinks
// with the part that was pressed.

/** @typedef {[number, number, number, number]} Box x, y, width and height in pixels */
/** A part of a scene: what it shows, where, and how it is painted in any box.
 * @typedef {{ id: string, box: Box, paint(context: CanvasRenderingContext2D, box: Box): void }} Part */
/** `frame`: the box that is filled by what the reader pressed to come here, the part `anchor` of the scene around it.
 * @typedef {{ parts: Part[], frame: Box, anchor: string, where(id: string): Box | null }} Scene */
/** What is painted in one frame. @typedef {{ part: Part, box: Box, alpha: number }} Painted */

export const LASTS = 340;       // ms

/** 0 … 1, slow at both ends. */
export const eased = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);

/** The box at share t of the way. @returns {Box} */
export const between = (from, to, t) => /** @type {Box} */ (from.map((value, k) => value + (to[k] - value) * t));

/** The map that takes the box `from` to the box `to`, for every box around or inside it. */
export function zoom(from, to) {
  const [across, down] = [to[2] / Math.max(1, from[2]), to[3] / Math.max(1, from[3])];
  return ([x, y, w, h]) => /** @type {Box} */ (
    [to[0] + (x - from[0]) * across, to[1] + (y - from[1]) * down, w * across, h * down]);
}

const share = (t, from, to) => Math.max(0, Math.min(1, (t - from) / (to - from)));

/** The parts of both scenes at share t of the way in, from the outer one (0) to the inner one (1).
    @param {Scene} outer @param {Scene} inner @returns {Painted[]} */
export function framesIn(outer, inner, t) {
  const pressed = outer.where(inner.anchor) ?? inner.frame, now = between(pressed, inner.frame, t);
  const grow = zoom(pressed, now), shrink = zoom(inner.frame, now), kept = new Set(inner.parts.map(({ id }) => id));
  const leaving = outer.parts.filter(({ id }) => !kept.has(id))
    .map((part) => ({ part, box: grow(part.box), alpha: 1 - share(t, 0, 0.6) }));
  const coming = inner.parts.map((part) => {
    const old = outer.where(part.id);
    return old ? { part, box: between(old, part.box, t), alpha: 1 }
      : { part, box: shrink(part.box), alpha: share(t, 0.35, 1) };
  });
  return [...leaving, ...coming];
}

/** The same from a scene to the one beside it, which comes from the right (`step` 1) or the left (−1).
    @param {Scene} old @param {Scene} next @returns {Painted[]} */
export function framesBeside(old, next, step, t) {
  const slide = old.frame[2] * 0.06 * step, kept = new Set(next.parts.map(({ id }) => id));
  const moved = ([x, y, w, h], dx) => /** @type {Box} */ ([x + dx, y, w, h]);
  return [
    ...old.parts.filter(({ id }) => !kept.has(id))
      .map((part) => ({ part, box: moved(part.box, -slide * t), alpha: 1 - t })),
    ...next.parts.map((part) => {
      const same = old.where(part.id);
      return same ? { part, box: between(same, part.box, t), alpha: 1 }
        : { part, box: moved(part.box, slide * (1 - t)), alpha: t };
    }),
  ];
}
