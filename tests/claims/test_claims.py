"""Every claim stands in the text."""
from importlib import import_module
from pathlib import Path

import pytest

from tests.claims import CLAIMS

HERE = Path(__file__).parent
TEXT = HERE.parents[1] / "assets" / "text" / "en"
for module in sorted(HERE.glob("test_*.py")):
    if module != Path(__file__):
        import_module(f"tests.claims.{module.stem}")


@pytest.mark.parametrize("file", sorted(CLAIMS))
def test_what_is_recomputed_stands_in_the_text(file):
    text = " ".join((TEXT / file).read_text().split())
    assert [s for s in CLAIMS[file] if " ".join(s.split()) not in text] == []
