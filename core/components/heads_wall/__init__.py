"""The wall of attention heads: every head's pattern as a tile of one canvas, fed one byte array.

Click or Enter picks a head; hover reads a weight.

The data sent are bounded for any model: with more heads than the bundled models have, each tile has fewer cells, and a
map of all heads stands beside the wall.
"""
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import streamlit as st

from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.hand import HAND_CSS, HAND_HTML
from core.components.lib.pattern import PATTERN_CSS, most_cells, picture, row_ranges, rows_of

HERE = Path(__file__).parent
# up to this many tokens every weight is sent (226 kB for HEADS heads); beyond, bytes for the picture and single heads
# whole
WHOLE_TOKENS = 48
# most cells on a side of a tile sent as bytes: about a tile's width in pixels (396 kB for HEADS heads)
PICTURE_SIDE = 128
LEAST_TILE = 38          # pixels; below this a tile is no longer readable and the wall scrolls

_component = declare(
    "heads_wall", HERE / "heads_wall.js",
    html=(HERE / "heads_wall.html").read_text(encoding="utf-8").replace("<!-- hand -->", HAND_HTML),
    styles=(PATTERN_CSS, HAND_CSS, HERE / "heads_wall.css"),
)


@dataclass(frozen=True)
class Heads:
    """Each head of one prompt: everything on a wall that changes with the patterns.

    patterns: (L, h, N, N) float32, rows of layers, columns of heads. allowed: (N, N) bool, which keys each query may
    see. measures: name -> (L, h); NaN: unknown. note: the line shown on hover and focus, with the measures in braces.
    roles: a word beside each head's label. badges: a mark for the reader's change. crossed: the numbers
    (layer · h + head) of the heads that are drawn crossed out.
    """

    patterns: np.ndarray
    allowed: np.ndarray
    measures: Mapping[str, np.ndarray] = field(default_factory=dict)
    note: str = ""
    roles: Sequence[str] = ()
    badges: Sequence[str] = ()
    crossed: Sequence[int] = ()

    def message(self, whole_heads: Iterable[int]) -> tuple[dict, dict[str, np.ndarray]]:
        """Header fields and arrays; whole_heads: the heads to send whole."""
        flat = self.patterns.reshape(-1, *self.patterns.shape[2:])
        fields, arrays = wall_arrays(flat, self.allowed, sorted(set(whole_heads)))
        fields |= {"measured": list(self.measures), "note": self.note, "roles": self.roles, "badges": self.badges,
                   "crossed": [int(i in self.crossed) for i in range(len(flat))]}
        measures = np.array([*self.measures.values()], np.float32)          # (M, L, h)
        return fields, arrays | {"measures": measures}


@dataclass(frozen=True)
class HeadMap:
    """A map with one measure of every head, layers × heads, which sums up a wall too large to be seen whole.

    labels, ends, rooted, one for each of the measures: its name, the value at the deep end of the colour scale, and
    whether its colour follows the square root, like that of the tiles. shown: the measure on the map. picks: whether a
    click on the map picks the head, or only scrolls to it.
    """

    labels: Sequence[str]
    ends: Sequence[float]
    rooted: Sequence[bool]
    shown: str
    picks: bool = True


@dataclass(frozen=True)
class Wall:
    """The wall of one prompt's heads. tokens: N visible forms. text: the strings "title", "scale", "masked", "waiting".

    query: the row marked on every tile. map: beside the wall, with the strings "measure", "nothing" and "map" in
    `text`. height: the least and the greatest height of the tiles in pixels; between these they end with the window.
    hand: a slider over the tiles, from `routes.hand`, which is answered by `wall_answer` while it moves. opens: a pick
    marks its head at once, in the browser.
    """

    heads: Heads
    tokens: Sequence[str]
    text: Mapping[str, str]
    selected: tuple[int, int]
    query: int | None = None
    map: HeadMap | None = None
    height: tuple[int, int] = (400, 640)
    theme: str = "light"
    hand: dict | None = None
    opens: bool = True


def wall_arrays(patterns: np.ndarray, allowed: np.ndarray,
                whole_heads: Sequence[int]) -> tuple[dict, dict[str, np.ndarray]]:
    """Header fields and arrays of the wall of (H, N, N) float32 patterns under one (N, N) bool mask.

    Up to WHOLE_TOKENS tokens (fewer with more than HEADS heads): every allowed weight as float32. Beyond: `picture` of
    every head, and the weights of `whole_heads` in full.
    """
    n, n_heads = len(allowed), len(patterns)
    digest = zlib.crc32(np.ascontiguousarray(patterns[:, -1]))
    first, last = row_ranges(allowed)
    if n <= most_cells(n_heads, WHOLE_TOKENS):
        return ({"n": n, "side": n, "whole": True, "digest": digest},
                {"first": first, "last": last, "values": rows_of(patterns, allowed)})
    tiles, seen = picture(patterns, allowed, step=-(-n // most_cells(n_heads, PICTURE_SIDE)))
    seen_first, seen_last = row_ranges(seen)
    return ({"n": n, "side": len(seen), "whole": False, "digest": digest, "exact_heads": list(whole_heads)},
            {"first": seen_first, "last": seen_last, "values": rows_of(tiles, seen), "exact_first": first,
             "exact_last": last, "exact_values": rows_of(patterns[list(whole_heads)], allowed)})


def wall_answer(heads: Heads, whole_heads: Iterable[int]) -> bytes:
    """The wall's answer to its slider."""
    return pack(*heads.message(whole_heads))


def heads_wall(wall: Wall, *, key: str, on_pick: Callable[[int, int], None] = lambda layer, head: None,
               on_hand: Callable[[float], None] = lambda value: None,
               on_measure: Callable[[str], None] = lambda name: None) -> None:
    """Draw a wall. `on_pick(layer, head)` is called on click or Enter, `on_hand(value)` when the hand has let go and
    the tiles stand, `on_measure(name)` when another measure is chosen for the map.
    """
    n_layers, n_heads = wall.heads.patterns.shape[:2]
    chosen = wall.selected[0] * n_heads + wall.selected[1]
    asked = min(st.session_state.get(f"{key}_read", chosen), n_layers * n_heads - 1)
    fields, arrays = wall.heads.message((chosen, asked))
    header = {**fields, "layers": n_layers, "heads": n_heads, "selected": chosen, "text": wall.text,
              "heading": wall.text["title"], "tokens": list(wall.tokens), "query": wall.query, "hand": wall.hand,
              "opens": wall.opens, "map": wall.map and vars(wall.map), "height": wall.height[0],
              "most": wall.height[1], "least": LEAST_TILE, "theme": wall.theme}

    _component(key=key, data=pack(header, arrays), events={
        "picked": lambda head: on_pick(*divmod(head, n_heads)), "moved": on_hand, "measured": on_measure,
        "read": lambda head: st.session_state.update({f"{key}_read": head})})
