"""Whatever an address says is read as a state that can be, or left out with a notice: more than 5,000 random addresses,
through everything that reads one, without drawing.

tests.helpers.random_pages opens whole pages at such addresses; its failures are pinned here.
"""
from __future__ import annotations

import contextlib
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.app.compute import cache
from core.app.state import address, lesson_settings, model_choice, reader
from core.app.state.setting import LARGEST, LONGEST, Setting
from core.base import catalogue, deployment, devices
from core.components.sampling_panel.settings import PanelSettings
from tests.helpers import hostile, random_pages
from tests.helpers.addresses import SETTINGS, SHARED
from tests.helpers.sessions import Query, stand_in

pytestmark = pytest.mark.long

N_DRAWN = 250             # each is put to every group of settings, of which there are 22
OFTEN = settings(max_examples=N_DRAWN, deadline=None, derandomize=True, database=None,
                 suppress_health_check=list(HealthCheck))

NUMBERS = st.one_of(st.integers().map(str), st.floats().map(str), st.integers(-3, 400).map(str),
                    st.sampled_from(["1e999", "-1e999", "nan", "0x10", "1_0", "٣", "²", " 7 ", "+3", "9" * 400, "-0",
                                     ".5", "1e-320", ""]))
TEXTS = st.one_of(
    st.text(max_size=40), st.text(string.ascii_letters + string.digits + "._-~:,;|^*+()[]{}<>#%&= ", max_size=60),
    st.sampled_from(hostile.SIGNS),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=8), st.sampled_from([1, 50, 4_000])))


# a whole number: that option of the setting, if it has any
VALUES = st.one_of(st.integers(0, 9), NUMBERS, TEXTS)
MODELS = st.one_of(
    st.sampled_from([*cache.model_names(), "stories-small@100", "folder:x", "hub:gpt2", "hub:../x", "blanks"]), TEXTS)
DRAWN = st.tuples(st.lists(VALUES, min_size=1, max_size=6), st.integers(0, 40),
                  st.dictionaries(st.sampled_from(SHARED), st.one_of(NUMBERS, TEXTS), max_size=4), MODELS)


def parameters_of(prefix: str, drawn: tuple) -> dict[str, str]:
    """The parameters of an address that speaks of some settings of a group, and of some of what all lessons share."""
    values, first, shared, model = drawn
    every = sorted(SETTINGS[prefix])
    names = [every[(first + 3 * i) % len(every)] for i in range(len(values))]
    own = {f"{prefix}_{name}": likely(SETTINGS[prefix][name], value) if isinstance(value, int) else value
           for name, value in zip(names, values)}
    return own | shared | ({"model": model} if "model" in shared else {})


def likely(setting: Setting, number: int) -> str:
    """Something that the setting can be."""
    several = setting.options or ("true", "false", str(setting.default))
    return several[number % len(several)]


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch):
    """visit(prefix, parameters) -> the session and the address after a fresh reader came with that address, and the
    settings that were read.
    """
    # which looks into the folder of models each time
    monkeypatch.setattr(cache, "model_names", lambda names=cache.model_names(): names)
    def visited(prefix: str, parameters: dict[str, str]) -> tuple[dict, Query, dict]:
        session, query = stand_in(monkeypatch, {}, Query(parameters))
        reader.begin()
        model_choice.enter("positions" if prefix.startswith("positions") else prefix)
        address.open_page()
        values = lesson_settings.read(prefix, SETTINGS[prefix])
        address.write_url_now()
        return session, query, values

    return visited


@OFTEN
@given(drawn=DRAWN)
def test_any_address_is_read_as_a_state_that_can_be(visit, drawn):
    assert N_DRAWN * len(SETTINGS) > 5_000
    for prefix in SETTINGS:
        read_and_looked_at(visit, prefix, parameters_of(prefix, drawn))


def read_and_looked_at(visit, prefix: str, parameters: dict[str, str]) -> None:
    session, query, values = visit(prefix, parameters)
    assert isinstance(session["prompt"], str) and len(session["prompt"]) <= deployment.current().prompt_characters
    assert cache.exists(session["model"]) or session["model"].startswith("hub:") and "/../" not in session["model"]
    assert (session["device"] in devices.available() and session["present"] in (True, False)
            and 0 <= session["class"] < 10 ** 9)
    assert all(0 <= number < 10 ** 9 for number in session["selection"].values())
    for name, setting in SETTINGS[prefix].items():
        value = values[name]
        assert type(value) is type(setting.default) and (not setting.options or value in setting.options), name
        if isinstance(value, str):
            assert len(value) <= max(LONGEST, len(setting.default)), name
        elif not isinstance(value, bool):
            assert ((-LARGEST if setting.low is None else setting.low) <= value
                    <= (LARGEST if setting.high is None else setting.high)), name
    assert not any(hostile.MARKUP.search(hostile.bare(notice)) for notice in session["notices"])
    # the address says what was read, to others as well
    again, _, same = visit(prefix, dict(query))
    assert (same == values
            and all(again[key] == session[key] for key in ("model", "device", "present", "class", "selection")))
    assert again["prompt"] == session["prompt"] or not address.fits_in_link(session["prompt"])


@OFTEN
@given(written=st.one_of(TEXTS, st.lists(st.one_of(st.builds(lambda letter, number: letter + number,
                                                             st.sampled_from(list("TkpmtxsA~")), NUMBERS), TEXTS),
                                         max_size=5).map("_".join)))
def test_any_text_of_the_sampling_panel_is_read_or_refused(written):
    try:
        read = PanelSettings.from_link(written)
    except ValueError:
        return
    assert PanelSettings.from_link(read.to_link()) == read


def test_every_number_of_an_address_has_bounds_and_every_lesson_is_among_these():
    assert {entry.id for entry in catalogue.existing()} - {"overview", "next_token"} <= set(SETTINGS) | {"positions"}
    for prefix, own in SETTINGS.items():
        for name, setting in own.items():
            for written in ("1e300", "-1e300", "9" * 5_000, "nan"):
                assert (value := setting.accept(written)) is None or len(str(value)) <= LONGEST, (prefix, name)


# found so, and mended
PINNED = [("next_token", {"next_token_panel": "A~"}), ("next_token", {"next_token_panel": "k" + "9" * 40}),
          ("overview", {"seed": "1e999", "xi": "2"}), ("heads", {"heads_map": "next_token"})]


@pytest.mark.parametrize("page, parameters", [*PINNED, *random_pages.addresses(5, seed=0)])
def test_a_page_stands_at_any_address(page: str, parameters: dict[str, str]):
    assert random_pages.failures(page, parameters) == []


def test_a_first_run_that_is_broken_off_at_any_line_leaves_a_session_that_begins(monkeypatch: pytest.MonkeyPatch):
    """As Streamlit breaks a run off where the reader does the next thing: by what is no Exception, at whatever
    touches the session.
    """
    class Session(dict):
        touches = 0

        def __setitem__(self, key, value):
            self.touches -= 1
            if not self.touches:
                raise KeyboardInterrupt
            super().__setitem__(key, value)

    def run() -> None:
        reader.begin()
        model_choice.enter("embeddings")
        address.open_page()

    monkeypatch.setattr(cache, "model_names", lambda names=cache.model_names(): names)
    for last in range(1, 25):
        session, query = Session(asked_for={"position": 3}), Query(prompt="The dog", layer="2", unknown="1",
                                                                   embeddings_view="maps")
        stand_in(monkeypatch, session, query)
        session.touches = last
        with contextlib.suppress(KeyboardInterrupt):
            run()
        session.touches = 0
        run()
        address.write_url_now()
        assert ((session["prompt"], session["selection"]) == ("The dog", {"layer": 2, "position": 3})
                and session["device"] in devices.available() and "asked_for" not in session), last
        # a name that is none of the app's is carried along no further
        assert set(query) == {"prompt", "layer", "position", "embeddings_view"}, last
    assert session["present"] is False
