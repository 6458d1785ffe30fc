"""Messages from Python to a component: a JSON header and arrays, as bytes. bytes.js reads them in the browser."""
import json
import struct
from collections.abc import Mapping

import numpy as np

ALIGNMENT = 8      # bytes: float64, the widest kind, must begin at a multiple of its own size to be read in place


def pack(header: Mapping, arrays: Mapping[str, np.ndarray] | None = None) -> bytes:
    """A JSON header and named uint8, uint16, int32, float32 or float64 arrays as one byte string for
    `unpack` of bytes.js.

    uint32 length of the header (little endian), the header, and each array flat, every part padded to a
    multiple of 8 bytes.
    """
    arrays = arrays or {}
    listed = [[name, str(values.dtype), int(values.size)] for name, values in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    flat = (np.ascontiguousarray(values).tobytes() for values in arrays.values())
    parts = [len(text).to_bytes(4, "little") + text, *flat]
    return b"".join(part + bytes(-len(part) % ALIGNMENT) for part in parts)


def with_heard(message: bytes, number: int) -> bytes:
    """A message followed by the number, as a float64 for `heardIn` of bytes.js, of the picture's last message that
    Python has heard, 0 for none.
    """
    return message + struct.pack("<d", number)
