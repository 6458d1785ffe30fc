"""The panel of the whole distribution, the fields below it, and the data of a run for the panel."""
import bisect
from itertools import pairwise

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Reading, Truth
from core.app.lesson.prediction import guess_of
from core.app.parts.named_token import look_up
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.sampling_panel import Context, message, sampling_panel
from core.figures.numbers import grouped, percent
from core.model.sampling import SamplingConfig, truncate
from pages.next_token import below
from pages.next_token.shared import CONTEXTS, PANEL, SETTINGS, initial, stored, take_settings, take_xi

FRESH = "next_token_fresh"        # in the session: the whole page runs, so the panel may be new and needs everything
PANEL_BOX = "next_token_view"
FEWEST = 20             # tokens of a vocabulary that is worth a guess
SHARE = 0.9             # of the probability, which the question asks about
MOST = (3, 30, 300)     # tokens: the limits between the answers
QUOTED = 8              # tokens of the prompt in the question
EVEN = 0.8              # of the first bar, the tenth one: as long as it, to the eye


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask how many bets win nine times in ten: how many tokens hold nine tenths of the probability at temperature 1;
    None if the panel opens on another.
    """
    size, position = run.model.config.vocab_size, reader.selection().position
    if size < FEWEST or stored().config.temperature != 1 and guess_of(page, "panel", run) is None:
        return None

    def truth(guess: int) -> Truth:
        found = truncate(run.logits(position), SamplingConfig())
        count = int((found.probs.cumsum() < SHARE - 1e-12).sum()) + 1
        first, tenth = float(found.probs[0]), float(found.probs[9])
        rest = 1 - float(found.probs[:10].sum())
        said = page.label("before_panel_of", n=grouped(count), size=grouped(size))
        return Truth(bisect.bisect_left(MOST, count), said=said,
                     seen=0 if first > 0.5 else 2 if tenth > EVEN * first else 1,
                     values={"count": grouped(count), "first": percent(first), "rest": percent(rest)})

    between = [page.label("before_panel_between", least=least + 1, most=most) for least, most in pairwise(MOST)]
    least, above = page.label("before_panel_least", most=MOST[0]), page.label("before_panel_above", most=MOST[-1])
    return Prediction("panel", Options([least, *between, above]), truth,
                      {"size": grouped(size), "end": _end(run, position)})


def _end(run: Run, position: int) -> str:
    """The text up to a position, or the end of it."""
    text = run.tokenizer.decode(run.token_ids[max(0, position + 1 - QUOTED):position + 1]).strip()
    return text if position < QUOTED else f"… {text}"


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the panel and the fields; return the Reading of the panel's last settings."""
    position = reader.selection().position
    picture = st.container(key=PANEL_BOX)
    row = st.container(horizontal=True, vertical_alignment="bottom", key="next_token_below")
    take_xi()
    others = _fields(page, row)     # first, because a link sets them
    shown, named, version = initial(position + 1, anew=st.session_state.pop(FRESH, False))
    with picture:
        if position < len(run.token_ids) - 1:
            st.caption(earlier(page, run, position))
        sent = message(contexts(page, run, position, others), vocabulary(run), panel_labels(page), shown, version,
                       named, reader.scale())
        sampling_panel(sent, PANEL, take_settings, lambda token: append(run, position, token))
    return below.reading(page, run, position, row)


def _fields(page: Lesson, place: DeltaGenerator) -> dict[str, str]:
    """Draw the fields under the panel, for the two other contexts; return these as name -> prompt."""
    with place:
        return {page.label(f"{name}_context"): st.text_input(page.label(f"{name}_field"), max_chars=400,
                                                             **SETTINGS.attached(name)) for name in CONTEXTS}


def append(run: Run, position: int, token: int) -> None:
    """Callback of a clicked candidate: append it to the prompt, after `position` if that is not the end."""
    if position == len(run.token_ids) - 1:
        reader.append_token(token)
    reader.apply({"prompt": run.tokenizer.decode([*run.own_ids_until(position), token]), "position": None})


# ---- data for the panel ----------------------------------------------------------------------------------------------


def panel_labels(page: Lesson) -> dict[str, str]:
    """The labels of the text file that begin with `panel_`, by their name without it, and what a seed is called."""
    return ({name: text.replace("\\n", "\n") for name, text in page.labels("panel").items()}
            | {"seed": page.frame_words.label("seed")})


def contexts(page: Lesson, run: Run, position: int, others: dict[str, str]) -> list[Context]:
    """The reader's context up to `position`, then each of the others (name -> prompt), under the same model."""
    main = Context(page.label("own_context"), run.text, run.logits(position))
    return [main, *(Context(name, prompt, run.with_text(prompt).logits()) for name, prompt in others.items())]


def vocabulary(run: Run) -> list[str]:
    """The visible form of every token, by id."""
    return cache.result(run.loaded.key("visible"),
                        lambda: list(map(run.tokenizer.visible, range(run.model.config.vocab_size))),
                        lambda value: sum(map(len, value)))


def earlier(page: Lesson, run: Run, position: int) -> str:
    """A sentence on the shown position, if it is not the last, with the rank of the token that follows it."""
    follows = run.token_ids[position + 1]
    rank = look_up(run.logits(position), follows, run.tokens[position + 1]).rank
    return page.label("context_earlier", position=position, token=code(run.tokens[position]),
                      next=code(run.tokens[position + 1]), rank=grouped(rank))
