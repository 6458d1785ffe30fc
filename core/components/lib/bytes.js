// The messages that Python packs in bytes.py: a JSON header and named arrays.

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
