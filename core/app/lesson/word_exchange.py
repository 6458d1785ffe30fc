"""The controls with which a reader exchanges one word of the prompt, for a view that compares the two texts."""
import streamlit as st

from core.app.lesson.lesson import Lesson
from core.app.state.lesson_settings import Settings
from core.language import contrasts
from core.language.contrasts import Exchange

LONGEST = 40        # characters of a word


def read(text: str, settings: Settings, place: str = "place", other: str = "other") -> Exchange | None:
    """The exchange that a lesson's settings name: `place`, the number of the word, and `other`, the word in its place.
    None for a text without words.
    """
    return contrasts.exchange(text, settings.read(place), settings.read(other)[:LONGEST])


def draw(page: Lesson, text: str, settings: Settings, place: str = "place", other: str = "other") -> Exchange | None:
    """Draw the list of the text's words and a field for the other word; they set these settings, whose names are also
    their labels. Return the exchange. For a text without words draw nothing and return None.
    """
    chosen, words = read(text, settings, place, other), contrasts.words_of(text)
    if chosen is None:
        return None
    at = next(i for i, match in enumerate(words) if match.start() == chosen.start)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        names = [f"{match.group()} ({i})" for i, match in enumerate(words, 1)]
        controls = settings.attached(place, names=names)
        st.session_state[controls["key"]] = at
        st.selectbox(page.label(place), range(len(words)), width=230, format_func=names.__getitem__, **controls)
        st.text_input(page.label(other), placeholder=contrasts.swapped(chosen.word), max_chars=LONGEST, width=230,
                      **settings.attached(other))
    return chosen
