// The messages that Python packs in bytes.py: a JSON header and named arrays; and the same made in the browser.

const KINDS = {
  uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array, float64: Float64Array,
};
const ALIGNMENT = 8;

const padded = (length) => Math.ceil(length / ALIGNMENT) * ALIGNMENT;

/**
 * The header of a message, with its arrays as entries by name.
 * The arrays are views of the message's own bytes, copied only if these do not begin at a multiple of 8.
 */
export function unpack(bytes) {
  const { buffer, byteOffset } = bytes.byteOffset % ALIGNMENT ? bytes.slice() : bytes;
  const length = new DataView(buffer, byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, byteOffset + 4, length)));
  let offset = padded(4 + length);
  for (const [name, kind, count] of header.arrays) {
    header[name] = new KINDS[kind](buffer, byteOffset + offset, count);
    offset += padded(header[name].byteLength);
  }
  return header;
}

/**
 * A JSON header and named arrays of the kinds above as bytes for `unpack`, as `pack` of bytes.py writes them.
 * @param {object} header @param {Record<string, Uint8Array | Uint16Array | Int32Array | Float32Array | Float64Array>}
 *   arrays @returns {Uint8Array}
 */
export function pack(header, arrays = {}) {
  const listed = Object.entries(arrays).map(([name, values]) => [name, kindOf(values), values.length]);
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays: listed }));
  const flat = Object.values(arrays).map(({ buffer, byteOffset, byteLength }) =>
    new Uint8Array(buffer, byteOffset, byteLength));
  const packed = new Uint8Array(flat.reduce((sum, part) => sum + padded(part.length), padded(4 + text.length)));
  new DataView(packed.buffer).setUint32(0, text.length, true);
  packed.set(text, 4);
  let offset = padded(4 + text.length);
  for (const part of flat) {
    packed.set(part, offset);
    offset += padded(part.length);
  }
  return packed;
}

const kindOf = (values) => Object.keys(KINDS).find((kind) => values instanceof KINDS[kind]);

/** The number after a message to a picture whose settings Python keeps: that of the last word that Python had heard. */
export const heardIn = (bytes) =>
  new DataView(bytes.buffer, bytes.byteOffset + bytes.byteLength - ALIGNMENT).getFloat64(0, true);

const sameArray = (a, b) => a?.length === b.length && b.every((value, index) => Object.is(value, a[index]));
const same = (a, b) => (ArrayBuffer.isView(b) ? sameArray(a, b) : JSON.stringify(a) === JSON.stringify(b));

/**
 * Whether `state` equals a message in all fields but those named in `except`.
 * Streamlit passes a component its data again with every run.
 */
export function alike(state, message, ...except) {
  return Object.entries(message).every(([name, value]) => except.includes(name) || same(state[name], value));
}
