"""The lesson's settings, its question, and functions that several views share."""
import streamlit as st

from core.app.lesson import Lesson, Question
from core.app.state import Run
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.base.markdown import code, escaped
from core.model import checkpoints
from core.model.tokenizer import Tokenizer, visible_form

PREFIX = "tokens_"
SOURCES = ("textbook", "example", "prompt")
LIKE_ANOTHER = {"restaurants"}          # learned from a few dozen words, as the translator's is
SETTINGS = Settings("tokens", {
    "view": view_setting("tokens"),
    "merged": Setting(0, low=-1),                     # merges done; −1: all of them
    "example": Setting(0, low=0),
    # the text from which pieces are learned, and the one from which BPE learns them step by step
    "source": Setting("example", options=SOURCES), "bpe_source": Setting("textbook", options=SOURCES),
    "joined": Setting(0, low=-1),                     # pairs that BPE has joined while it learns; −1: all of them
    "round": Setting(0, low=-1),                      # rounds of pruning that are over; −1: all of them
    "cut": Setting(""),                               # the word that Unigram cuts; empty: the longest of the text
    "piece": Setting(""),                             # the piece of it that is picked
    # size of the vocabulary to learn; 0: the one that suits both methods
    "size": Setting(0, low=0),
    # number of the picked word among the distinct words of the training text, in order; −1: the longest one
    "word": Setting(-1, low=-1),
    "find": Setting(""),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
# the label of each way of cutting a text (Tokenizer.method)
METHODS = {"byte-level BPE": "method_bytes_bpe", "BPE": "method_marked_bpe", "WordPiece": "method_pieces",
           "Unigram": "method_probable", "numbers": "method_numbers"}


def method_name(page: Lesson, tokenizer: Tokenizer) -> str:
    """The name of a tokenizer's method; if it has none here, the name in its file."""
    return page.label(METHODS[tokenizer.method]) if tokenizer.method in METHODS else escaped(tokenizer.method)


def visible(piece: str) -> str:
    """The visible form of a piece of text."""
    return visible_form(piece.encode())


def hex_bytes(token: bytes) -> str:
    """Bytes as two hexadecimal digits each.

    >>> hex_bytes("é".encode())
    'C3 A9'
    """
    return token.hex(" ").upper()


def question(page: Lesson, run: Run) -> Question:
    """Question: has the prompt without its spaces fewer tokens, as many, or more?"""
    before, after = (len(run.tokenizer.encode(text)) for text in (run.text, run.text.replace(" ", "")))
    answer = 0 if after < before else 1 if after == before else 2
    pieces = [run.tokenizer.visible(i) for i in run.tokenizer.encode(run.text.replace(" ", ""))][:12]
    return page.question("spaces", [page.label(f"check_{name}") for name in ("fewer", "same", "more")], answer,
                         before=before, after=after, pieces=" ".join(map(code, pieces)) or "–")


@st.cache_resource(show_spinner=False)
def bundled_tokenizers() -> dict[str, Tokenizer]:
    """The tokenizers of the bundled models by the name of the first model with each, without those that cannot be read
    and LIKE_ANOTHER.
    """
    unique: dict[str, Tokenizer] = {}
    names = {*checkpoints.bundled_names()} - LIKE_ANOTHER
    for name in sorted(names, key=lambda name: (name != "stories", name)):
        try:
            tokenizer = Tokenizer.load(checkpoints.BUNDLED / name / checkpoints.TOKENIZER)
        except (OSError, ValueError):
            continue
        if all(tokenizer.merges != t.merges for t in unique.values()):
            unique[name] = tokenizer
    return unique
