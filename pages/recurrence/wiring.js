// The wiring of an unrolled network: how what a layer reads leads from the strips below into its own, and which of
// these ways the path takes. A stem stands in the gap between two layers; where a layer has two directions, the
// backward strip is the upper one, and lines go round a strip that is not theirs.

/** From the top of a strip to the stem above it; of a lower strip (round), past the upper one on its left.
    size: {thick, side, gap} of strips, the way round them, and the gap between them. */
export function wayOut({ top }, round, x, stem, { thick, side, gap }) {
  if (!round) return [[x, top - 2], [x, stem]];
  const start = x - thick / 4, beside = x - side, y = top - gap / 2;
  return [[start, top - 2], [start, y], [beside, y], [beside, stem], [x, stem]];
}

/** From the stem into the bottom of a strip; of the upper one (round), past the lower one on its right. */
export function wayIn({ bottom }, round, x, stem, { thick, side, gap }) {
  if (!round) return [[x, stem], [x, bottom + 3]];
  const end = x + thick / 4, beside = x + side, y = bottom + gap / 2;
  return [[x, stem], [beside, stem], [beside, y], [end, y], [end, bottom + 3]];
}

/** The direction from which the path comes to a layer at a step (-1: from the token), and the one that it enters,
    {from, to}; null beside it. route: the direction of the first layer that carries token `source` to the picked step,
    or null. The path ends in the picked strip. */
export function carried({ route, source, picked }, step, layer) {
  if (route === null || layer > picked.layer || step !== (layer ? picked.step : source)) return null;
  return { from: layer ? route : -1, to: layer && layer === picked.layer ? picked.direction : route };
}
