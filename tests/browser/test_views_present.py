"""The lessons of several views in present mode, in a real Chromium: every picture stands whole above the bar."""
from __future__ import annotations

import pytest

from tests.browser.views import LESSONS, end_of, reach

# pixels between a picture and the bar below it in present mode: another build of Chromium sets its type a
# few pixels higher
AIR = 12


@pytest.mark.parametrize("lesson", LESSONS)
def test_present_mode_shows_every_picture_whole_above_its_bar(open_page, lesson):
    page = open_page(f"{lesson}?present=true", width=1280, height=720)
    for name in LESSONS[lesson]:
        view = reach(page, lesson, name)
        bar, stage = (page.locator(place).bounding_box() for place in (".st-key-try_step", f".st-key-{lesson}_stage"))
        assert end_of(page, view) + AIR <= bar["y"], name
        # what is said below a picture belongs to it
        assert not view.whole or stage["y"] + stage["height"] <= bar["y"], name
