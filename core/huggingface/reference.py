"""The keys of a config.json that transformers itself declares or reads: any other key has no effect there.

reference_keys.json is made from its source by tests/helpers/reference_keys.py, and holds too many names rather than too
few: refusing a key by mistake costs a model, passing one over by mistake gives a wrong picture.
"""
import functools
import json
from pathlib import Path

FILE = Path(__file__).with_name("reference_keys.json")


@functools.cache
def _known(family: str) -> frozenset[str]:
    """The names that count for a family, or for "rope": within a table of rotary positions."""
    table = json.loads(FILE.read_text(encoding="utf-8"))
    return frozenset(table["rope"] if family == "rope" else [*table["common"], *table["families"][family]])


def knows(name: str, family: str) -> bool:
    """Whether transformers declares or reads this key of a family's config.json.

    >>> knows("n_special", "gpt2"), knows("scale_attn_weights", "gpt2"), knows("is_causal", "gpt2")
    (False, True, True)
    """
    return name in _known(family)


def knows_of_positions(name: str) -> bool:
    """Whether transformers reads this key of a table of rotary positions."""
    return name in _known("rope")
