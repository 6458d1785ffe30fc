"""Whole pages at random addresses: each must stand, with the app's plain words at most for what its address asks
and cannot be.

    python -m tests.helpers.random_pages --number 300 --seed 1

It prints every address whose page fails. What is mended is pinned in tests.core.app.state.test_reader.
"""
from __future__ import annotations

import argparse
import random
import urllib.parse
from collections.abc import Iterator

from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.base import catalogue
from tests.helpers import hostile, lessons
from tests.helpers.addresses import OTHERS, SETTINGS, SHARED
from tests.helpers.prompts import PROMPTS

PAGES = tuple(sorted(catalogue.pages()))
NUMBERS = ("0", "1", "-1", "2", "7", "31", "999", "1e9", "-1e9", "1e999", "nan", "0.5", "1e-12", "٣",
           "", " ", "9" * 400)
WORDS = ("", "a", "true", "false", "0.0 0.1 1.*", "1-3-1", "x" * 9_000, "שלום", "a\x00b\u202e\U0010fffe", "\n\n",
         "[a] [b]", *hostile.SIGNS)


def addresses(number: int, seed: int) -> Iterator[tuple[str, dict[str, str]]]:
    """`number` (page, parameters), the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(number):
        page = chance.choice(PAGES)
        own = {f"{prefix}_{name}": _value(chance, setting.options) for prefix, each in SETTINGS.items()
               if prefix == page or prefix.startswith(f"{page}_") for name, setting in each.items()
               if chance.random() < 0.4}
        shared = {key: _shared(chance, key) for key in SHARED if chance.random() < 0.25}
        others = {key: chance.choice((*NUMBERS, *WORDS)) for key in OTHERS
                  if key.startswith(page) and chance.random() < 0.5}
        yield page, own | shared | others


def _value(chance: random.Random, options: tuple[str, ...]) -> str:
    return chance.choice(options) if options and chance.random() < 0.8 else chance.choice((*NUMBERS, *WORDS))


def _shared(chance: random.Random, key: str) -> str:
    if key == "prompt":
        return chance.choice((hostile.PROMPT, *(prompt for prompt in PROMPTS.values() if prompt is not None), *WORDS))
    return (chance.choice((*cache.model_names(), "stories-small@100", "folder:x", *WORDS)) if key == "model"
            else chance.choice(NUMBERS))


def failures(page: str, parameters: dict[str, str]) -> list[str]:
    """The faults of the page at that address."""
    at: AppTest = lessons.open_at(page, **parameters)
    return [f"{one.type}: {one.value[:300]}" for one in (*at.exception, *at.error)] + hostile.markup(at)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--number", type=int, default=300)
    asked.add_argument("--seed", type=int, default=1)
    given, failed = asked.parse_args(), 0
    for page, parameters in addresses(given.number, given.seed):
        try:
            found = failures(page, parameters)
        except Exception as error:      # noqa: BLE001 (a page that never comes to rest is told as any other)
            found = [repr(error)]
        if found:
            failed += 1
            print(f"{page}?{urllib.parse.urlencode(parameters)[:1500]}\n    " + "\n    ".join(found), flush=True)
    print(f"seed {given.seed}: {failed} of {given.number} pages failed")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
