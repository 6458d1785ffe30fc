"""All heads: what the names on the wall mean, how many heads have each, and the head that deserves it most."""
from collections.abc import Iterator

import numpy as np
import streamlit as st

from core.app.lesson import Lesson
from core.app.state import Run
from core.base.prose import TextFile
from core.figures.heads import ROLES, head_name
from core.figures.numbers import probability
from pages.heads.shared import PREFIX, Pair, Patterns, open_head


def draw(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> None:
    """A row for each name: what it says, how many heads have it, and a button that opens the clearest one."""
    measures, named, words = patterns.measures, patterns.roles, page.words
    st.markdown(f"**{title(words, named)}**")
    for role, held in _held(named):
        layer, head = max(map(tuple, held.tolist()), key=lambda at: measures[role][at])
        _row(words, role, len(held), (layer, head), float(measures[role][layer, head]))
    n_rest = int((named == "").sum())
    st.caption(words.label("names_unnamed" if n_rest == named.size else "names_rest", n=n_rest))
    if n_rest < named.size:
        st.markdown(_by_block(words, named))


def legend(words: TextFile, patterns: Patterns) -> str:
    """The names on the wall, in one line: a projector has room for no more beside the wall. "" for none."""
    rows = [_meaning(words, role, len(held)) for role, held in _held(patterns.roles)]
    return " · ".join(rows).replace("**", "")


def _held(named: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Each role that any head has, and the (layer, head) of those, (n, 2)."""
    for role in ROLES:
        if (held := np.argwhere(named == role)).size:
            yield role, held


def _meaning(words: TextFile, role: str, n: int) -> str:
    return words.label(f"names_{role}", name=words.label(f"role_{role}"), n=n)


def title(words: TextFile, named: np.ndarray) -> str:
    """How many heads have a name, in one sentence."""
    return words.label("names_title", n=int((named != "").sum()), all=named.size)


def _row(words: TextFile, role: str, n: int, at: tuple[int, int], share: float) -> None:
    name = head_name(*at)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_meaning(words, role, n), width="stretch")
        st.button(words.label("names_open", head=name), key=f"{PREFIX}open_{role}", on_click=open_head, args=at,
                  help=words.label("names_share", head=name, share=probability(share)))


def _by_block(words: TextFile, named: np.ndarray) -> str:
    """A Markdown table: how many heads of each block have each name that any head has."""
    found = [role for role in (*ROLES, "") if (named == role).any()]
    heads = [words.label(f"role_{role}") if role else words.label("names_none") for role in found]
    lines = [[words.label("names_block"), *heads], ["---", *["--:"] * len(found)]]
    lines += [[str(block), *(str(int((heads == role).sum()) or "") for role in found)]
              for block, heads in enumerate(named)]
    return f"{words.label('names_blocks')}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)
