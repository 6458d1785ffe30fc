"""Text that meets Streamlit's Markdown: shown as it is, as code, or read without its marks."""
from __future__ import annotations


def escaped(written: str) -> str:
    """A text that Markdown shows as it is: every sign with a meaning there is escaped."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-.!|~:$" else c for c in written)


def code(token: str) -> str:
    """A token's visible form as code; nothing in it can end the span or start markup.

    >>> code("·a`b")
    '`·aˋb`'
    """
    return f"`{token.replace('`', 'ˋ')}`"


def unmarked(sentence: str) -> str:
    """A sentence of Markdown as it is spoken: without its marks."""
    return sentence.replace("**", "").replace("`", "").replace("\\", "")
