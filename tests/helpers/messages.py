"""The browser's input: a component's bytes, read as it reads them, and the formulas of a page."""
import json
import re

import numpy as np
from streamlit.testing.v1 import AppTest

from core.figures.numbers import DOT, PLAIN

KINDS = {"uint8": np.uint8, "uint16": np.uint16, "int32": np.int32, "float32": np.float32, "float64": np.float64}


def unpacked(sent: bytes) -> dict:
    """Header and arrays, read as `unpack` of bytes.js reads them; behind them may stand the number that `with_heard` of
    bytes.py adds.
    """
    length = int.from_bytes(sent[:4], "little")
    header = json.loads(sent[4:4 + length])
    at_byte = 4 + length + -(4 + length) % 8
    for name, kind, count in header["arrays"]:
        header[name] = np.frombuffer(sent, KINDS[kind], count, at_byte)
        at_byte += header[name].nbytes + -header[name].nbytes % 8
    assert len(sent) - at_byte in (0, 8)
    return header


def formulas(at: AppTest) -> list[str]:
    """The LaTeX of every formula that stands by itself, in order, its numbers without the commas of their thousands."""
    return [latex.replace("{,}", "") for element in at.markdown
            for latex in re.findall(r"\$\$\n(.*?)\n\$\$", element.value, re.DOTALL)]


def given(at: AppTest, component: str) -> dict:
    """The message to the first component of that name: header and arrays."""
    return unpacked(next(element.proto.bytes for element in at.get("bidi_component")
                         if element.proto.component_name == component))


def value_of(written: str) -> float:
    """The number that a text says, as core/figures/numbers.py writes it; what is in percent is a number from 0 to 1."""
    if (text := written.strip()).endswith("%"):
        return value_of(text[:-1]) / 100
    mantissa, _, power = text.lstrip("<> ").replace("−", "-").replace(",", "").partition(f"{DOT}10")
    return float(f"{mantissa}e{power.translate(PLAIN)}" if power else mantissa)


def numbers_in(latex: str, whole: bool = False) -> list[float]:
    """The decimals of a formula in order, powers of ten put in; with `whole` also whole numbers."""
    digits = r"-?\d+(?:\.\d+)?" if whole else r"-?\d+\.\d+"
    return [float(value) * 10 ** int(power or 0)
            for value, power in re.findall(rf"({digits})(?: \\cdot 10\^\{{(-?\d+)\}})?", latex)]
