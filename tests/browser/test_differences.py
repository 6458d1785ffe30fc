"""The difference of two photographs, on some pixels."""
from __future__ import annotations

import numpy as np

from tests.browser.differences import RED, TOLERANCE, difference, marked


def test_a_pixel_differs_beyond_the_tolerance_in_any_channel():
    before = np.full((4, 6, 3), 100, np.uint8)
    after = before.copy()
    after[1, 2, 0] += TOLERANCE
    assert difference(before, after) is None
    after[1, 2, 1] -= TOLERANCE + 1
    after[3, 4, 2] = 255
    found = difference(before, after)
    assert np.argwhere(found.mask).tolist() == [[1, 2], [3, 4]]
    assert found.share == 2 / 24 and found.box == (2, 1, 5, 4)


def test_what_one_photograph_has_and_the_other_has_not_differs():
    before, after = np.zeros((4, 6, 3), np.uint8), np.zeros((5, 3, 3), np.uint8)
    found = difference(before, after)
    assert found.mask.shape == (5, 6) and found.mask.sum() == 4 * 3 + 3      # not the corner that neither has
    assert found.box == (0, 0, 6, 5)


def test_the_picture_of_what_differs_has_it_in_red():
    before, after = np.zeros((2, 3, 3), np.uint8), np.zeros((2, 3, 3), np.uint8)
    after[0, 1] = 255
    picture = marked(after, difference(before, after))
    assert (picture == RED).all(2).tolist() == [[False, True, False], [False, False, False]]
