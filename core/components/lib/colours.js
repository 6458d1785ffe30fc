// Colours as numbers: [red, green, blue] of 0 … 255, and packed into 32 bits in ImageData's order.

const LEVELS = 256;

/** [r, g, b] of #rrggbb. */
export function rgb(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

/** [r, g, b] at a share (0 … 1) of the way through a scale's stops; beyond it the nearest end, for NaN the first. */
export function between(stops, share) {
  const last = stops.length - 1, place = Math.min(1, Math.max(0, share || 0)) * last;
  const low = Math.min(last - 1, Math.floor(place));
  return stops[low].map((from, channel) => Math.round(from + (stops[low + 1][channel] - from) * (place - low)));
}

/** The opaque colour packed for ImageData. @param {number[]} colour */
export function packed([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** 256 packed colours through the stops. */
export function tableOf(stops) {
  return Uint32Array.from({ length: LEVELS }, (_, level) => packed(between(stops, level / (LEVELS - 1))));
}

/** [r, g, b] or a packed colour as CSS. */
export function css(colour) {
  const [r, g, b] = Array.isArray(colour) ? colour : [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
  return `rgb(${r} ${g} ${b})`;
}

/** WCAG 2's relative luminance of [r, g, b], from 0 (black) to 1 (white). */
export function luminance(colour) {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = colour.map((channel) => linear(channel / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** WCAG 2's contrast ratio of two colours [r, g, b], from 1 to 21. */
export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
