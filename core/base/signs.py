"""Signs that phones, word processors and web pages write in place of those on a keyboard, and the plain ones."""

# kind -> (its signs, the plain text for each)
KINDS = {"apostrophe": ("‘’‚‛ʼ", "'"), "quote": ("“”„‟", '"'), "dash": ("‐‑‒–—―", "-"),
         "space": ("\u00a0\u2002\u2003\u2007\u2009\u202f", " "), "dots": ("…", "..."),
         "invisible": ("\u00ad\u200b\u2060\ufeff", "")}
LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"}
_PLAIN = str.maketrans({sign: typed for signs, typed in KINDS.values() for sign in signs} | LIGATURES)


def plain(text: str) -> str:
    """The text with a keyboard's signs in place of others.

    >>> plain("He didn’t\\u00a0want… “ﬁne”")
    'He didn\\'t want... "fine"'
    """
    return text.translate(_PLAIN)


def kinds(text: str) -> list[str]:
    """The kinds of signs in a text that `plain` replaces: names of KINDS in their order, and "ligature"."""
    of_kind = {kind: signs for kind, (signs, _) in KINDS.items()} | {"ligature": "".join(LIGATURES)}
    return [kind for kind, signs in of_kind.items() if not set(signs).isdisjoint(text)]
