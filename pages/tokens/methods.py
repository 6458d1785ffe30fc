"""Methods: the same texts tokenized by spaces, characters, bytes, all available tokenizers, and the two learned under
"Train".
"""
import functools
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from core.app.lesson import Lesson, Options, Prediction, Reading, Truth
from core.app.state import Run, prompts
from core.base.markdown import code, escaped
from core.components.lib.token_view import token_view
from core.figures.numbers import grouped, latex_number, plain_number
from core.language import segmentation
from core.model.tokenizer import Tokenizer
from pages.tokens import learned, texts
from pages.tokens.shared import PREFIX, bundled_tokenizers, keep, method_name, question, read, visible

TABLE = f"{PREFIX}methods_table"
CHARACTERS = 0x110000 - 0x800      # possible in Unicode: all code points but the surrogates
SHOWN = 120                        # shown pieces of one text
HEAD = 40                          # characters of a text on its button
CUTS = ("fewer", "one", "more", "none")      # the answers: tokens against characters, or no token at all
# Methods on hard examples: counts as a table, the picked example's pieces, and length over vocabulary size.
_picture = token_view("token_methods", __file__)


@dataclass(frozen=True)
class Method:
    """A tokenization method: its name, the size of its vocabulary (None: infinite), text -> visible pieces, and the
    characters it can represent (None: all).
    """

    name: str
    vocab_size: int | None
    cut: Callable[[str], list[str]]
    alphabet: frozenset[str] | None = None


def examples(page: Lesson, run: Run) -> list[str]:
    """The notes' hard examples, one a line of the text file, and the prompt, if there is one."""
    prompt = prompts.clean_prompt(run.text)
    return [line for line in page.text("examples").splitlines() if line.strip()] + ([prompt] if prompt else [])


def methods(page: Lesson, run: Run) -> list[Method]:
    """The methods of the table in order: the simplest, the tokenizers of the loaded model and of other models, and the
    two learned from the picked text.
    """
    models, source = learned.learned(texts.text_of(page, run)[0]), page.label(f"learned_{texts.name_of(run)}")
    size = learned.picked_size(models)
    unigram, alphabet = models.unigram(size), frozenset(models.bpe.alphabet)
    bpe_cut, unigram_cut = (functools.cache(lambda word: models.bpe.cut(word, models.n_merges(size))),
                            functools.cache(unigram.cut))
    return [
        Method(page.label("method_space"), None, lambda text: [visible(piece) or "∅" for piece in text.split(" ")]),
        Method(page.label("method_characters"), CHARACTERS, lambda text: list(map(visible, text))),
        Method(page.label("method_bytes"), 256, lambda text: [visible_byte(byte) for byte in text.encode()]),
        *(Method(page.label("method_model", method=method_name(page, tokenizer), name=name), tokenizer.vocab_size,
                 lambda text, by=tokenizer: [by.visible(i) for i in by.encode(text)])
          for name, tokenizer in tokenizers_of(run)),
        Method(page.label("method_bpe", text=source), size,
               lambda text: [visible(piece) for word in segmentation.words_of(text) for piece in bpe_cut(word)],
               alphabet),
        Method(page.label("method_unigram", text=source), len(unigram.log_p),
               lambda text: [visible(piece) for word in segmentation.words_of(text) for piece in unigram_cut(word)],
               alphabet),
    ]


def visible_byte(byte: int) -> str:
    """The visible form of a byte: its character, if it is one by itself."""
    return visible(chr(byte)) if byte < 0x80 else f"‹{byte:02X}›"


def tokenizers_of(run: Run) -> list[tuple[str, Tokenizer]]:
    """The loaded model's name and tokenizer first, then those of bundled models that differ from it."""
    return [(run.title, run.tokenizer), *((name, tokenizer) for name, tokenizer in bundled_tokenizers().items()
                                          if tokenizer.merges != run.tokenizer.merges)]


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the model's tokenizer makes fewer tokens of the picked example than it has characters, as many, or more;
    of the prompt the page says it already.
    """
    texts = examples(page, run)
    text = texts[_picked(texts)]
    if text == prompts.clean_prompt(run.text) or run.tokenizer.method != Tokenizer.method:
        return None

    def truth(guess: int) -> Truth:
        n, n_bytes = len(run.tokenizer.encode(text)), len(text.encode())
        return Truth(0 if n < len(text) else 1 if n == len(text) else 2,
                     said=page.label("before_methods_tokens", n=n),
                     seen=0 if n == n_bytes else 1 if n < len(text) else 2, values={"tokens": n, "bytes": n_bytes})

    return Prediction("methods", Options([page.label(f"before_methods_{cut}") for cut in CUTS]), truth,
                      {"text": heading(text), "characters": len(text), "model": run.title})


def _picked(texts: list[str]) -> int:
    return min(read("example"), len(texts) - 1)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the table and the chart; return their Reading."""
    texts, ways = examples(page, run), methods(page, run)
    example = _picked(texts)
    cuts = [[way.cut(text) for text in texts] for way in ways]
    sizes = [way.vocab_size for way in ways if way.vocab_size]
    rows = [{"name": way.name, "vocabulary": way.vocab_size,
             "vocabulary_text": page.label("methods_endless") if way.vocab_size is None
                                else grouped(way.vocab_size),
             "counts": [len(pieces) for pieces in row], "pieces": [pieces[:SHOWN] for pieces in row],
             "unknown": [0 if way.alphabet is None else sum(character not in way.alphabet for character in text)
                         for text in texts]} for way, row in zip(ways, cuts)]
    header = page.header("methods") | {
        "examples": [heading(text) for text in texts],
        "methods": rows, "axis": [min(sizes), max(sizes)], "settings": {"example": example}}
    _picture(header, key=TABLE, on_settings=lambda settings: keep(example=settings["example"]))
    return _reading(page, run, texts, ways, cuts, example)


def heading(text: str) -> str:
    """A text for its button: in one line, and short."""
    return visible(text[:HEAD]).replace("·", " ") + ("…" if len(text) > HEAD else "")


def _reading(page: Lesson, run: Run, texts: list[str], ways: list[Method], cuts: list[list[list[str]]],
             example: int) -> Reading:
    text, counts = texts[example], [len(row[example]) for row in cuts]
    n_bytes = len(text.encode())
    model = 3       # the loaded model's row
    table = page.table([(way.name, grouped(way.vocab_size) if way.vocab_size else "∞", count,
                         plain_number(n_bytes / count) if count else "–") for way, count in zip(ways, counts)],
                       "method", "vocabulary", "tokens", "rate")
    lines = []
    if counts[model]:           # a tokenizer that normalises may make nothing of what cannot be seen
        rate = rf"\frac{{{n_bytes}}}{{{counts[model]}}} = {latex_number(n_bytes / counts[model])}"
        lines = [(page.label("numbers_compression", text=code(heading(text)), name=escaped(ways[model].name)), rate)]
    every = [{page.label("column_method"): way.name} | {heading(text): len(pieces) for text, pieces in zip(texts, row)}
             for way, row in zip(ways, cuts)]
    title = page.label("methods_twin", text=code(heading(text)),
                       counts="; ".join(f"{escaped(way.name)} {count}" for way, count in zip(ways, counts)))
    return Reading(lines, question(page, run),
                   [segmentation.merge_steps, segmentation.LearnedUnigram.segmentations],
                   {"counts.csv": lambda: pd.DataFrame(every)}, ".methods-chart", title, table,
                   {heading(text): str(counts[model])})
