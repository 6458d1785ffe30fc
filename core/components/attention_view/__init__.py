"""One head, large: its weights or scores as a matrix with tokens on both axes, or as lines from queries to keys.

A click picks a query and a key.
"""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.hand import HAND_CSS, HAND_HTML
from core.components.lib.pattern import PATTERN_CSS, row_ranges, rows_of

HERE = Path(__file__).parent
TYPE_SIZE = 12           # pixels of the token labels

_component = declare(
    "attention_view", HERE / "attention_view.js",
    html=(HERE / "attention_view.html").read_text(encoding="utf-8").replace("<!-- hand -->", HAND_HTML),
    styles=(PATTERN_CSS, HAND_CSS, HERE / "attention_view.css"),
)


def payload(values: np.ndarray, allowed: np.ndarray, title: str, picked: tuple[int, int] | None,
            header: Mapping) -> bytes:
    """The bytes of one (N, N) matrix under an (N, N) bool mask: its title, the picked (query, key), the header, and
    float32 values between each row's first and last allowed key.

    With an empty header they are the answer to a hand.
    """
    query, key = picked or (None, None)
    first, last = row_ranges(allowed)
    rows = rows_of(values.astype(np.float32, copy=False)[None], allowed)[0]
    return pack({"n": len(allowed), "heading": title, "query": query, "key": key, **header},
                {"first": first, "last": last, "values": rows})


@dataclass(frozen=True)
class Head:
    """One head's `values` (N, N), rows = queries, columns = keys, and how they are drawn.

    allowed: (N, N) bool. tokens: N visible forms. text: the strings "title", "scale", "masked", "key_axis",
    "query_axis", "keys_help". label: the text before a reading, such as "3.5". picked: the (query, key) that is marked.
    guess: the reader's (query, key), dashed, and named with the string "guess" of `text`.
    shows: "matrix" or "lines"; beside: both side by side, if the picture is wide enough. signed: scores, drawn on the
    diverging scale about zero; otherwise weights in [0, 1] on the wall's own scale.
    height: the least and the greatest height of the picture in pixels; foot: the pixels that it leaves free below it.
    scale: of the type. hand: a slider over the picture, from `routes.hand`, which is answered by `payload` while it
    moves.
    """

    values: np.ndarray
    allowed: np.ndarray
    tokens: Sequence[str]
    text: Mapping[str, str]
    label: str
    picked: tuple[int, int] | None = None
    guess: tuple[int, int] | None = None
    shows: str = "matrix"
    beside: bool = False
    signed: bool = False
    height: tuple[int, int] = (380, 620)
    foot: int = 0
    scale: float = 1.0
    theme: str = "light"
    hand: dict | None = None


def attention_view(head: Head, *, key: str, on_pick: Callable[[int, int], None] = lambda query, key: None,
                   on_hand: Callable[[float], None] = lambda value: None) -> None:
    """Draw a head. `on_pick(query, key)` is called on a click or Enter, `on_hand(value)` when the hand has let go and
    the picture stands.
    """
    same = ("tokens", "text", "label", "shows", "beside", "signed", "hand", "guess", "foot", "theme")
    header = {name: getattr(head, name) for name in same} | {
        "height": head.height[0], "most": head.height[1], "type": round(TYPE_SIZE * head.scale)}
    _component(key=key, data=payload(head.values, head.allowed, head.text["title"], head.picked, header),
               events={"picked": lambda pair: on_pick(*pair), "moved": on_hand})
