"""What Python sends to a component in one piece: a JSON header and arrays, as bytes. message.js reads it in the browser."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# A slider that answers while it moves, as hand.js has it.
HAND_HTML = '<label class="hand" hidden><span></span><input type="range"><output></output></label>'
HAND_CSS = HERE / "hand.css"


def pack(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    """A JSON header and named uint8, uint16, int32 or float32 arrays as one byte string, which `unpack` of message.js reads.

    uint32 length of the header (little endian), the header, and each array flat, every part padded to a multiple of 4 bytes.
    """
    listed = [[name, str(values.dtype), int(values.size)] for name, values in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    parts = [len(text).to_bytes(4, "little") + text, *(np.ascontiguousarray(values).tobytes() for values in arrays.values())]
    return b"".join(part + bytes(-len(part) % 4) for part in parts)
