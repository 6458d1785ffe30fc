"""What Python says back of an earlier setting, late, does not undo what the hand has set since; what it says
by itself does.
"""
from __future__ import annotations

import pytest

from tests.browser.views import opened

SLIDE = ("(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); "
         "slider.dispatchEvent(new Event('change')); }")
# (lesson, view): what the hand does for the k-th of two settings, and what then stands. `view` is the
# picture's own object.
HANDS = {
    ("language_models", "sentences"):
        ("(view, k) => view.list.querySelectorAll('.name')[k].click()",
         "(view) => view.list.querySelectorAll('.name').values().toArray().findIndex((b) => b.ariaPressed === 'true')"),
    ("language_models", "guess"): ("(view, k) => view.found(k)", "(view) => view.played.join('-')"),
    ("tokens", "methods"): ("(view, k) => view.table.querySelectorAll('th button')[k].click()",
                            "(view) => view.table.querySelectorAll('th button').values().toArray().findIndex((b) "
                            "=> b.ariaPressed === 'true')"),
    ("attention", "scaling"): (f"(view, k) => ({SLIDE})(view.slider, k)", "(view) => view.at"),
    ("architectures", "activations"): (f"(view, k) => ({SLIDE})(view.sliders.x.node, k)", "(view) => view.state.x"),
    ("limits", "facts"): (f"(view, k) => {{ ({SLIDE})(view.slider, k / 4); view.tell(null); }}",
                          "(view) => view.threshold"),
}
# The hand sets 1 and 2; then Python says 1 back, 2 back, and 1 again by itself (a link, a step back). What
# stands after each.
ECHOES = """(root, [hand, shown]) => {
  const view = root.view, told = [], stands = [], before = view.settings, guesses = (settings) =>
      (settings.guesses ?? "").split("-").filter(Boolean).map(Number);
  view.send = (settings) => told.push(settings);
  const python = (settings) => { view.receive({ ...view, guesses: guesses(settings), settings: { ...before,
      ...settings } }); stands.push(shown(view)); };
  for (const k of [1, 2]) { hand(view, k); stands.push(shown(view)); }
  for (const settings of [told[0], told.at(-1), told[0]]) python(settings);
  return stands;
}"""


@pytest.mark.parametrize(("lesson", "view"), HANDS)
def test_a_late_echo_does_not_undo_the_hand(open_page, lesson, view):
    page = opened(open_page, lesson, view)
    hand, shown = HANDS[lesson, view]
    first, second, *after = page.locator(".tokens-view").first.evaluate(
        f"(root) => ({ECHOES})(root, [{hand}, {shown}])")
    assert first != second and after == [second, second, first]
    assert page.errors == []
