"""What Python packs, the browser unpacks: header and arrays of every kind."""
import numpy as np
import pytest

from core.components.lib.bytes import pack
from tests.helpers.javascript import evaluate

ARRAYS = {
    "a": np.array([1, 2, 255], np.uint8), "b": np.array([65535], np.uint16), "c": np.array([-3, 2**31 - 1], np.int32),
    "d": np.array([[0.1, -0.0], [1e-40, np.float32(1e30)]], np.float32), "e": np.array([0.1, 5e-324]),
    "f": np.zeros(0, np.float32),
}


@pytest.mark.parametrize("begins", [0, 1, 4, 8])
@pytest.mark.parametrize("word", ["", "שלום", "é\ud800", "x" * 11])
def test_a_message_is_read_as_it_was_packed_wherever_its_bytes_begin(word, begins):
    message = list(pack({"word": word, "n": 3}, ARRAYS))
    read = evaluate("core/components/lib/bytes.js", "m.unpack(Uint8Array.from(bytes).subarray(begins))",
                    bytes=[7] * begins + message, begins=begins)
    assert read["word"] == word and read["n"] == 3
    assert {name: read[name] for name in ARRAYS} == {name: values.ravel().tolist() for name, values in ARRAYS.items()}


def test_a_header_alone_is_a_message():
    assert evaluate("core/components/lib/bytes.js", "m.unpack(Uint8Array.from(bytes))", bytes=list(pack({"n": 3}))) == {
        "n": 3, "arrays": []}
