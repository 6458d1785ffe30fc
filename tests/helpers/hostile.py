"""Texts that would be markup, code or a format if they were taken for one: a tokenizer whose tokens they are, a model
under such a name, and a look at what a page makes of them.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import tokenizers
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element

from core.base import prose
from core.model.tokenizer import Tokenizer
from tests.helpers import huggingface_models

CALL = "window.zq=1"        # what runs where one of them is taken for markup
SIGNS = (f"<img src=x onerror={CALL}>", f"<script>{CALL}</script>", f"[zq](javascript:{CALL})",
         rf"$\href{{javascript:{CALL}}}{{zq}}$", "**zq**", "_zq_", ":red[zq]", ":material/home:zq",
         "https://zq.example/", "www.zq.example", "zq@zq.example", "![zq](https://zq.example/x.png)", "&lt;zq&gt;",
         "{zq}", "{{}}zq", "%szq", "%{zq}", "|zq|**zq**|", "`zq`", "a`**zq**`", "\n\n# zq", "$zq$",
         "=HYPERLINK(\"https://zq.example\")", "\u202ezq\u2066", "\x00zq\x1b[31m", "zq" * 200, "\\", "~~zq~~", "<!--zq",
         "'\";zq//", "]]>zq", "${zq}", "->zq", "@zq")
NAME = f"**zq** _zq_ :red[zq] www.zq.example <img src=x onerror={CALL}>"      # of a folder that an operator offers
PROMPT = "The cat " + " ".join(SIGNS[:8]) + " and " + " ".join(SIGNS[8:16]) + "."
# What Markdown would make something of, where it stands neither in code nor behind a backslash.
MARKUP = re.compile(r"<img src|<script|\[zq\]\(|\\href|\*\*zq|_zq_|:red\[zq|:material/home:zq|://zq\.example|www\.zq"
                    r"|zq@zq|&lt;zq|\|zq\||`|# zq|\$zq\$|~~zq|<!--zq|\u202e|\x00")
NO_MARKDOWN = ("bidi_component", "code", "vega_lite_chart", "plotly_chart", "arrow_data_frame", "dataframe",
               "text_area", "text_input", "selectbox", "imgs", "download_button_data")


def folder(root: Path, vocab_size: int = 700, plain: int = 290) -> Path:
    """A model below `root` under NAME, whose tokens from `plain` on are the signs above, numbered."""
    place = root / NAME
    huggingface_models.saved("pythia", place, vocab_size=vocab_size, bos_token_id=0, eos_token_id=0, pad_token_id=None,
                             max_position_embeddings=300)
    Tokenizer.train(prose.load("app").section("prompts").splitlines() * 3, plain).save(place / "tokenizer.json")
    backend = tokenizers.Tokenizer.from_file(str(place / "tokenizer.json"))
    signs = [sign if not turn else f"{sign}{turn}" for turn in range(vocab_size) for sign in SIGNS]
    backend.add_tokens([tokenizers.AddedToken(sign, normalized=False, special=False)
                        for sign in signs[:vocab_size - backend.get_vocab_size() - 3]])
    backend.save(str(place / "tokenizer.json"))
    return place


def markup(at: AppTest) -> list[str]:
    """Every text of the page that Markdown would make something of."""
    return [f"{element.type}: {written}" for element in _elements(at._tree) for written in _texts(element)
            if MARKUP.search(bare(written))]


def bare(markdown: str) -> str:
    """A text of Markdown without its spans of code, where its links lead, and what a backslash shows as it is."""
    # from left to right: a backslash in code is a sign like any other
    return re.sub(r"\\[^a-zA-Z0-9\s]|`[^`\n]+`|\]\([^()\s]*\)", "·", markdown)


def _elements(block: Block) -> Iterator[Element | Block]:
    for child in block.children.values():
        if isinstance(child, Block):
            yield child
            yield from _elements(child)
        else:
            yield child


def _texts(element: Element | Block) -> list[str]:
    """The strings of an element that Streamlit reads as Markdown."""
    if element.type == "table":
        frame = element.value
        return [str(value) for value in (*frame.columns, *frame.index, *frame.to_numpy().ravel())]
    if element.type in NO_MARKDOWN:
        return [] if element.proto is None else [getattr(element.proto, name, "") for name in ("label", "help")]
    return [] if element.proto is None else list(_strings(element.proto))


def _strings(message) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.name in ("id", "url", "form_id", "key", "query_param_key", "default", "value", "file_name"):
            continue
        for one in value if field.is_repeated else [value]:
            if field.type == field.TYPE_STRING:
                yield one
            elif field.type == field.TYPE_MESSAGE:
                yield from _strings(one)
