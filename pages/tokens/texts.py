"""The text from which BPE and Unigram learn their pieces, and the control that picks it."""
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app.lesson import Lesson
from core.app.state import Run, prompts, reader
from pages.tokens.shared import SETTINGS, attached, read

MOST_CHARACTERS = 4_000     # of the text to learn from
QUOTED = 34                 # characters of the text in a question


def text_of(page: Lesson, run: Run, setting: str = "source") -> tuple[str, bool]:
    """The text to learn from, and whether it is the prompt. An empty prompt is replaced by the setting's default."""
    name = name_of(run, setting)
    if name == "prompt":
        return prompts.clean_prompt(run.text)[:MOST_CHARACTERS], True
    return page.text("textbook" if name == "textbook" else "training"), False


def name_of(run: Run, setting: str = "source") -> str:
    """The name of the text that is learned from: "prompt", "example" or "textbook"."""
    picked = read(setting)
    empty = picked == "prompt" and not prompts.clean_prompt(run.text)
    return SETTINGS.each[setting].default if empty else picked


def draw_choice(page: Lesson, run: Run, setting: str = "source") -> str:
    """Draw the choice of the text; return the text."""
    text, from_prompt = text_of(page, run, setting)
    st.segmented_control(page.label("source"), SETTINGS.each[setting].options,
                         format_func=lambda name: page.label(f"source_{name}"), required=True,
                         label_visibility="collapsed", **attached(setting))
    if not reader.present():
        st.caption(_note(page, run, from_prompt, read(setting)), width="content")
    return text


def row() -> DeltaGenerator:
    """The place of the choice, and of what is set beside it."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small")


def _note(page: Lesson, run: Run, from_prompt: bool, picked: str) -> str:
    if from_prompt and len(run.text) > MOST_CHARACTERS:
        return page.label("source_cut", n=MOST_CHARACTERS)
    if picked == "prompt":
        return page.label("source_prompt_note" if from_prompt else "source_empty")
    return page.label("source_example_note")


def quoted(text: str) -> str:
    """The beginning of a text, for a sentence."""
    text = text.strip()
    return text[:QUOTED] + ("…" if len(text) > QUOTED else "")
