"""Colours in the browser: the contrast of two is what Python computes."""
import pytest

from core.figures import style
from tests.helpers.contrast import contrast
from tests.helpers.javascript import evaluate


@pytest.mark.parametrize("theme", style.THEMES)
def test_the_contrast_of_two_colours_is_pythons(theme):
    names = [style.colour(meaning, theme) for meaning in style.MEANINGS]
    pairs = list(zip(names, names[1:] + names[:1]))
    contrasts = evaluate("core/components/lib/colours.js", "pairs.map(([a, b]) => m.contrast(m.rgb(a), m.rgb(b)))",
                         pairs=pairs)
    assert contrasts == pytest.approx([contrast(*pair) for pair in pairs], abs=1e-9)
