"""Text for Streamlit's Markdown: shown as it is, shown as code, without its marks, or without the server's paths."""
import functools
import os
import re
from pathlib import Path

JOINER = "\u2060"      # invisible and without width: it separates signs that would be read as one mark
# Changes made after the marks of a text were read, so that a backslash does not help: addresses become links,
# :material/home: and :streamlit: pictures, -> and the like arrows.
_MADE_LATER = re.compile(r"(?<=:)(?=[\w/])|(?<=@)(?=\S)|(?<=www)(?=\.)|(?<=[-<>~=])(?=[-<>=])", re.IGNORECASE)
_ICON = re.compile(r"(?<=:)(?=material)")      # Streamlit looks for icons before anything else, even in code
_MARKS = re.compile(r"`([^`]*)`|\\([^a-zA-Z0-9\s])|\*+(?=\S)|(?<=\S)\*+|`")
_FOLDERS = re.compile(r"(?<![\w:/.~])~?/(?:[^\s/:'\"]+/)+")        # folders of a path, not of an address like https://…
_FORMULA = re.compile(r"\$([^$]+)\$")
_SIGNS = ((r"\\sqrt\{([^{}]*)\}", r"√\1"), (r"\^\{?\\mathsf\{? ?T\}?\}?", "ᵀ"), (r"\^\{-1\}", "⁻¹"), (r"\\cdot", "·"),
          (r"[{}]", ""))
_HIDDEN = re.compile(r"[\x00-\x08\x0e-\x1b\x7f\u202a-\u202e\u2066-\u2069]")     # controls; signs that reverse a text
_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def escaped(written: str) -> str:
    """A text that Markdown shows as it is, in one line: every sign with a meaning there is escaped, and invisible signs
    that would reverse the rest are left out.

    >>> escaped("a*b"), escaped("a\\u202eb")
    ('a\\\\*b', 'ab')
    """
    line = _MADE_LATER.sub(JOINER, _BREAKS.sub(" ", _HIDDEN.sub("", written)))
    inner = line.lstrip(" \t")
    marked = "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-.!|~:$&=^" else c for c in inner)
    return "\u00a0" * (len(line) - len(inner)) + marked      # four blanks would begin a block of code


def code(token: str) -> str:
    """A token's visible form as code; nothing in it can end the span or start markup.

    >>> code("·a`b")
    '`·aˋb`'
    """
    return f"`{_ICON.sub(JOINER, _BREAKS.sub(' ', token)).replace('`', 'ˋ') or ' '}`"


def unmarked(sentence: str) -> str:
    """A sentence of Markdown as it is spoken: without its marks; code and escaped signs stay as they are.

    >>> unmarked(f"**The** *token* {code('a_b')} of {escaped('*x*')}, 2 * 3")
    'The token a_b of *x*, 2 * 3'
    """
    return _MARKS.sub(lambda found: found[1] or found[2] or "", sentence.replace(JOINER, ""))


def plain(sentence: str) -> str:
    """A sentence with its short formulas written without LaTeX, for a page that renders none.

    >>> plain(r"Divide by $\\sqrt{d_k}$; is $W_Q W_K^{\\mathsf T}$ of rank 4?")
    'Divide by √d_k; is W_Q W_Kᵀ of rank 4?'
    """
    return _FORMULA.sub(lambda found: functools.reduce(lambda text, sign: re.sub(*sign, text), _SIGNS, found[1]),
                        sentence)


def without_paths(said: str, folder: Path | None = None, name: str = "") -> str:
    """A sentence without this machine's folders: only the last part of a path is kept, and `folder` becomes its `name`.

    >>> folder = Path("/srv/a b/gpt2")
    >>> without_paths("/srv/a b/gpt2: /srv/a b/gpt2/config.json, /x/y, https://x.org/y/z", folder, "gpt2")
    'gpt2: config.json, y, https://x.org/y/z'
    """
    if folder is not None:
        said = said.replace(f"{folder}{os.sep}", "").replace(str(folder), name)
    return _FOLDERS.sub("", said)
