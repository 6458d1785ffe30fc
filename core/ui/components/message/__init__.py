"""What Python sends to a component in one piece: a JSON header and arrays, as bytes. MESSAGE_JS reads it in the browser."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
STYLED_JS = (HERE / "styled.js").read_text(encoding="utf-8")
BY_KEYS_JS = (HERE / "by_keys.js").read_text(encoding="utf-8")  # lets the keys read what the pointer reads
MESSAGE_JS = (HERE / "message.js").read_text(encoding="utf-8") + STYLED_JS + BY_KEYS_JS
LIVE_JS = (HERE / "live.js").read_text(encoding="utf-8")        # asks the routes of core/ui/live.py; the two below need it
AHEAD_JS = (HERE / "ahead.js").read_text(encoding="utf-8")      # draws another text before its page does: core/ui/ahead.py
HAND_JS = (HERE / "hand.js").read_text(encoding="utf-8")        # a slider that answers while it moves
HAND_HTML = '<label class="hand" hidden><span></span><input type="range"><output></output></label>'
HAND_CSS = (HERE / "hand.css").read_text(encoding="utf-8")


def pack(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    """A JSON header and named uint8, uint16, int32 or float32 arrays as one byte string, which `unpack` of message.js reads.

    uint32 length of the header (little endian), the header, and each array flat, every part padded to a multiple of 4 bytes.
    """
    listed = [[name, str(values.dtype), int(values.size)] for name, values in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    parts = [len(text).to_bytes(4, "little") + text, *(np.ascontiguousarray(values).tobytes() for values in arrays.values())]
    return b"".join(part + bytes(-len(part) % 4) for part in parts)
