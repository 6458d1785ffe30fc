"""core/figures/style.py: contrast in both themes, scales that start at the page, and Streamlit's theme made of
the same colours.
"""
import itertools
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from core.figures import style
from tests.helpers.contrast import contrast

ROOT = Path(__file__).resolve().parents[3]
MARKS = tuple(m for m in style.MEANINGS if m not in ("page", "panel", "grid"))
HEX = re.compile(r"#[0-9A-Fa-f]{6}\b|#[0-9A-Fa-f]{3}\b|\b(?:rgb|hsl)a?\(\s*\d")


def test_contrast_of_known_pairs():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)  # the known grey just under 4.5
    assert contrast("#0072B2", "#0072B2") == 1.0


@pytest.mark.parametrize("theme", style.THEMES)
@pytest.mark.parametrize("ground", ["page", "panel"])
@pytest.mark.parametrize("meaning", MARKS)
def test_ink_is_readable_as_text(theme, ground, meaning):
    assert contrast(style.colour(meaning, theme, "ink"), style.colour(ground, theme)) >= 4.5


@pytest.mark.parametrize("meaning", MARKS)
def test_fill_reaches_3_to_1_on_the_dark_page(meaning):
    assert contrast(style.colour(meaning, "dark"), style.colour("page", "dark")) >= 3.0


def test_fills_are_the_sets_own_colours_in_the_light_theme():
    table = {"query": "#0072B2", "key": "#D55E00", "value": "#009E73", "residual": "#5E4FA2", "attention": "#CC79A7",
             "mlp": "#E69F00", "position": "#56B4E9", "kept": "#334E68", "drawn": "#F0E442"}
    assert {name: style.colour(name, "light") for name in table} == table


@pytest.mark.parametrize("theme", style.THEMES)
def test_sequential_runs_from_the_page_to_a_deep_tone_in_even_steps(theme):
    scale = style.sequential(theme)
    assert [place for place, _ in scale] == [i / 8 for i in range(9)]
    assert scale[0][1] == style.colour("page", theme)
    contrasts = [contrast(stop, scale[0][1]) for _, stop in scale]
    assert contrasts == sorted(contrasts) and contrasts[-1] > 10
    lightness = [style.oklab(style.linear_rgb(stop))[0] for _, stop in scale]
    steps = [abs(b - a) for a, b in zip(lightness, lightness[1:])]
    assert max(steps) < 1.35 * min(steps)


@pytest.mark.parametrize("theme", style.THEMES)
def test_diverging_has_the_page_in_the_middle_and_equally_strong_ends(theme):
    scale = style.diverging(theme)
    page = style.colour("page", theme)
    assert scale[4] == [0.5, page]
    assert scale[8][1] == style.sequential(theme)[8][1]
    low, high = (contrast(scale[i][1], page) for i in (0, 8))
    assert 0.75 < low / high < 1.34


@pytest.mark.parametrize("theme", style.THEMES)
def test_oklab_there_and_back_is_the_same_colour(theme):
    for meaning in style.MEANINGS:
        colour = style.colour(meaning, theme)
        assert style.hex_of(style.oklab(style.linear_rgb(colour))) == colour


@pytest.mark.parametrize("theme", style.THEMES)
def test_streamlit_theme_is_made_of_these_colours(theme):
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    meanings = {"primaryColor": "accent", "backgroundColor": "page", "secondaryBackgroundColor": "panel",
                "textColor": "text", "borderColor": "grid", "codeBackgroundColor": "panel", "codeTextColor": "text"}
    assert config["theme"][theme] == ({name: style.colour(meaning, theme) for name, meaning in meanings.items()}
                                      | {"linkColor": style.colour("query", theme, "ink")})


@pytest.mark.parametrize("theme", style.THEMES)
def test_css_variables_cover_every_meaning_and_stop(theme):
    names = style.css_variables(theme)
    assert names["--tx-query"] == style.colour("query", theme)
    assert names["--tx-query-ink"] == style.colour("query", theme, "ink")
    assert [names[f"--tx-seq-{i}"] for i in range(9)] == [stop for _, stop in style.sequential(theme)]
    assert [names[f"--tx-div-{i}"] for i in range(9)] == [stop for _, stop in style.diverging(theme)]
    assert {"--tx-page", "--tx-text", "--tx-muted", "--tx-grid", "--tx-font", "--tx-mono"} <= set(names)


@pytest.mark.parametrize("theme", style.THEMES)
def test_charts_take_the_themes_colours(theme):
    layout = style.template(theme, 1.0).layout
    assert layout.font.color == style.colour("text", theme)
    config = style.altair_theme(theme)
    assert config["range"]["heatmap"] == [stop for _, stop in style.sequential(theme)]
    assert style.template(theme, 1.5).layout.font.size == 1.5 * layout.font.size


def test_unknown_meanings_and_themes_are_refused():
    with pytest.raises(ValueError, match="meanings"):
        style.colour("teal", "light")
    with pytest.raises(ValueError, match="theme"):
        style.colour("query", "sepia")


def test_no_colour_literal_anywhere_else():
    files = [ROOT / "app.py", *(p for folder in ("core", "pages") for p in (ROOT / folder).rglob("*")
                                if p.suffix in {".py", ".js", ".css"})]
    offenders = [f"{path.relative_to(ROOT)}: {match.group()}" for path in files
                 if path != ROOT / "core/figures/style.py" and path.exists()
                 for match in HEX.finditer(path.read_text(encoding="utf-8"))]
    assert offenders == []


# What a reader with one kind of cones missing sees, on linear light: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes,
# "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1.
SIGHTS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# The meanings that stand together in one picture.
TOGETHER = {
    "one head step by step, and its sheet": ("query", "key", "value", "residual", "attention"),
    "the stream's lengths and contributions": ("residual", "attention", "mlp"),
    "positions added or put beside, and turned": ("position", "residual", "query", "key"),
    "candidates kept and cut": ("kept", "excluded", "query"),
    "right answers and wrong ones": ("key", "value", "kept"),
    "parts of a design, and its activations": ("kept", "mlp"),
    "what heads write": ("attention", "value", "kept"),
}
APART = 5       # hundredths of OKLab; two are just seen side by side
# Nearer than that for some eyes, and told by something else as well.
ALSO_TOLD = {
    ("light", "fill", "query", "residual"): "Q and the stream never touch: each is a matrix or a "
                                            "vector with its letter beside it",
}


def seen(colour: str, sight: str) -> np.ndarray:
    """The colour in OKLab as it looks to an eye."""
    return style.oklab((np.array(SIGHTS[sight]) @ style.linear_rgb(colour)).clip(0, 1))


def difference(one: str, other: str) -> float:
    """The least difference of two colours over all sights, in hundredths of OKLab."""
    return 100 * min(math.dist(seen(one, sight), seen(other, sight)) for sight in SIGHTS)


def test_the_simulated_eyes_leave_greys_grey_and_confuse_what_they_must():
    for sight in SIGHTS:
        assert seen("#777777", sight) == pytest.approx(style.oklab(style.linear_rgb("#777777")), abs=2e-3)
    red, green = "#D00000", "#4D7A00"       # of nearly the same lightness to a protanope
    assert (100 * math.dist(seen(red, "all cones"), seen(green, "all cones"))
            > 4 * 100 * math.dist(seen(red, "deuteranopia"), seen(green, "deuteranopia")))


@pytest.mark.parametrize("picture", TOGETHER)
@pytest.mark.parametrize("role", style.ROLES)
@pytest.mark.parametrize("theme", style.THEMES)
def test_colours_of_one_picture_differ_for_every_eye(theme, role, picture):
    near = {(theme, role, *pair): round(difference(*(style.colour(meaning, theme, role) for meaning in pair)), 1)
            for pair in itertools.combinations(sorted(TOGETHER[picture]), 2)}
    assert {pair: apart for pair, apart in near.items() if apart < APART and pair not in ALSO_TOLD} == {}
