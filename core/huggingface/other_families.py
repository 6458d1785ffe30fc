"""Families that are not read: the part that this program does not show, and the nearest model that opens."""
import re

from core.huggingface.tables import NEAREST, NOT_READ


def reason(family: object) -> str:
    """The part of a family that this program does not show, as the end of "one …"; "" if it is not known."""
    return NOT_READ.get(family, "") if isinstance(family, str) else ""


def nearest(family: object) -> str:
    """The name on the Hub of a model that opens and is built much like those of a family; "" if none is known.

    >>> nearest("qwen3_5"), nearest("vit")
    ('Qwen/Qwen3-0.6B', '')
    """
    named = family if isinstance(family, str) else ""
    return next((model for pattern, model in NEAREST.items() if re.search(pattern, named)), "")
