"""The panel of the whole distribution, the fields below it, and what the panel is given of a run."""
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.base.markdown import code
from core.app.compute import cache
from core.app.frame import Lesson, Reading
from core.app.frame.named_token import look_up
from core.app.state import Run, reader
from core.components.sampling_panel import Context, PanelSettings, message, sampling_panel
from pages.next_token import below
from pages.next_token.shared import PANEL, SETTINGS, given, take_settings

FRESH = "next_token_fresh"        # in the session: the whole page runs, the panel may be new, and is told everything
PANEL_BOX = "next_token_view"


def draw(page: Lesson, run: Run) -> Reading:
    """The panel: what the hand let go of redraws this and what follows from it, and the panel itself stays as it is."""
    position = reader.selection().position
    picture = st.container(key=PANEL_BOX)
    row = st.container(horizontal=True, vertical_alignment="bottom", key="next_token_below")
    others = _fields(page, row)     # first, because a link sets them
    told, named, version = given(anew=st.session_state.pop(FRESH, False))
    with picture:
        if position < len(run.token_ids) - 1:
            st.caption(earlier(page, run, position))
        sent = message(contexts(page, run, position, others), vocabulary(run), panel_labels(page), told, version, named,
                       reader.scale())
        sampling_panel(sent, PANEL, take_settings, lambda: append(run, position))
    return below.reading(page, run, position, row)


def _fields(page: Lesson, place: DeltaGenerator) -> dict[str, str]:
    """Under the panel: the two other contexts, as name -> prompt, and the settings as text, which a link carries."""
    st.session_state.setdefault(SETTINGS, PanelSettings().to_link())
    with place:
        st.text_input(page.label("settings_field"), key=SETTINGS, bind="query-params", max_chars=200,
                      help=page.label("settings_help"))
        return {page.label(f"{name}_context"): st.text_input(page.label(f"{name}_field"), page.label(f"{name}_prompt"),
                                                             key=f"next_token_{name}",
                                                             bind="query-params", max_chars=400)
                for name in ("flat", "peaked")}


def append(run: Run, position: int) -> None:
    """Callback of a clicked candidate: it continues the prompt, from `position` on if that is not the end."""
    token = st.session_state[PANEL]["append"]
    if token is None:
        return
    if position == len(run.token_ids) - 1:
        reader.append_token(token)
    reader.apply({"prompt": run.tokenizer.decode([*run.own_ids_until(position), token]), "position": None})


# ---- what the panel is given -----------------------------------------------------------------------------------------


def panel_labels(page: Lesson) -> dict[str, str]:
    """The labels of the text file that begin with `panel_`, by the name that the panel knows them under."""
    return {name: text.replace("\\n", "\n") for name, text in page.labels("panel").items()}


def contexts(page: Lesson, run: Run, position: int, others: dict[str, str]) -> list[Context]:
    """The reader's own context up to `position`, then each of the others (name -> prompt), under the same model."""
    own = Context(page.label("own_context"), run.text, run.logits(position))
    return [own, *(Context(name, prompt, run.with_text(prompt).logits()) for name, prompt in others.items())]


def vocabulary(run: Run) -> list[str]:
    """The visible form of every token, by id."""
    return cache.result(run.loaded.key("visible"),
                        lambda: list(map(run.tokenizer.visible, range(run.model.config.vocab_size))),
                        lambda value: sum(map(len, value)))


def earlier(page: Lesson, run: Run, position: int) -> str:
    """Which position the panel shows when it is not the last, and how the token that really follows ranks there."""
    follows = run.token_ids[position + 1]
    rank = look_up(run.logits(position), follows, run.tokens[position + 1]).rank
    return page.label("context_earlier", position=position, token=code(run.tokens[position]),
                      next=code(run.tokens[position + 1]), rank=f"{rank:,}")
