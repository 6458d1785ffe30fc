// The header of the bytes that Python packed, with its arrays as entries by their names.
// uint32 length of the JSON header, the header, zeros up to a multiple of 4, then the arrays it names, each padded to a multiple of 4.
export function unpack(bytes) {
  const aligned = bytes.byteOffset % 4 ? bytes.slice() : bytes;
  const { buffer, byteOffset } = aligned;
  const length = new Uint32Array(buffer, byteOffset, 1)[0];
  const header = JSON.parse(new TextDecoder().decode(aligned.subarray(4, 4 + length)));
  const kinds = { uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array };
  const padded = (n) => n + ((4 - (n % 4)) % 4);
  let at = padded(4 + length);
  for (const [name, kind, count] of header.arrays) {
    header[name] = new kinds[kind](buffer, byteOffset + at, count);
    at += padded(header[name].byteLength);
  }
  return header;
}

// Whether `state` holds all that a message says, but for the fields named: Streamlit gives a component its data anew with every run.
export function alike(state, given, ...but) {
  const same = (a, b) => (ArrayBuffer.isView(b) ? a?.length === b.length && b.every((value, at) => Object.is(value, a[at])) : JSON.stringify(a) === JSON.stringify(b));
  return Object.entries(given).every(([name, value]) => but.includes(name) || same(state[name], value));
}
