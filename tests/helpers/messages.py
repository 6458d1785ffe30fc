"""The browser's input: a component's bytes, read as it reads them, and the formulas of a page."""
import json
import math
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


def differences(own: object, python: object, close: float = 1e-5, at: str = "") -> list[str]:
    """The places where two messages differ by more than `close` as a share of a number, or of an array's largest."""
    if isinstance(python, dict) and isinstance(own, dict):
        return [found for key in sorted(python.keys() | own.keys())
                for found in differences(own.get(key, "missing"), python.get(key, "missing"), close, f"{at}.{key}")]
    if isinstance(python, list) and isinstance(own, list) and len(own) == len(python):
        return [found for k, (one, other) in enumerate(zip(own, python))
                for found in differences(one, other, close, f"{at}.{k}")]
    if isinstance(python, np.ndarray):
        return [] if _same_array(own, python, close) else [at]
    if isinstance(python, float) and type(own) in (int, float):       # JSON of a browser has no 1.0
        is_same = math.isclose(own, python, rel_tol=close, abs_tol=1e-7)
    else:
        is_same = type(own) is type(python) and own == python
    return [] if is_same else [f"{at}: {own!r}, not {python!r}"]


def _same_array(own: object, python: np.ndarray, close: float) -> bool:
    if not isinstance(own, np.ndarray) or (own.dtype, own.shape) != (python.dtype, python.shape):
        return False
    most = 1 if own.dtype == np.uint8 else close * np.abs(python).max(initial=0) if own.dtype.kind == "f" else 0
    return bool((np.abs(own.astype(float) - python.astype(float)) <= most).all())
