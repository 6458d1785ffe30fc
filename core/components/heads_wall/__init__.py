"""The wall of attention heads: every head's pattern as a tile of one canvas, fed one byte array.

Click or Enter picks a head; hover reads a weight.

The data sent are bounded for any model: with more heads than the bundled models have, each tile has fewer cells, and a
map of all heads stands beside the wall.
"""
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
class HeadMap:
    """A map with one number for every head, layers × heads, which sums up a wall too large to be seen whole.

    measures: name -> (label, values (L, h), the value at the deep end of the colour scale); NaN: unknown.
    shown: the name of the measure on the map.
    rooted: the measures whose colour follows the square root, like that of the tiles. picks: whether a click on the map
    picks the head, or only scrolls to it.
    """

    measures: Mapping[str, tuple[str, np.ndarray, float]]
    shown: str
    rooted: frozenset[str]
    picks: bool = True

    def header(self) -> dict:
        return {"names": list(self.measures), "labels": [label for label, _, _ in self.measures.values()],
                "ends": [end for _, _, end in self.measures.values()],
                "rooted": [name in self.rooted for name in self.measures], "shown": self.shown, "picks": self.picks}

    def values(self) -> np.ndarray:
        """(M · L · h,) float32."""
        return np.concatenate([values.reshape(-1) for _, values, _ in self.measures.values()]).astype(np.float32)


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


def wall_answer(patterns: np.ndarray, allowed: np.ndarray, exact_heads: Sequence[int], *,
                summary: HeadMap | None = None, **words: Sequence) -> bytes:
    """The wall's answer to its slider: all data that change with the patterns (L, h, N, N).

    exact_heads: the heads to send whole. words: roles, notes, badges and crossed of `heads_wall`.
    """
    flat = patterns.reshape(-1, *patterns.shape[2:])
    fields, arrays = wall_arrays(flat, allowed, sorted(set(exact_heads)))
    return pack(fields | _words(len(flat), **words), arrays | _summed_up(summary))


def _summed_up(summary: HeadMap | None) -> dict[str, np.ndarray]:
    return {} if summary is None else {"map_values": summary.values()}


def _words(count: int, crossed: Sequence[int] = (), **words: Sequence[str]) -> dict[str, list]:
    return {"roles": [], "notes": [], "badges": []} | words | {"crossed": [int(i in crossed) for i in range(count)]}


def heads_wall(patterns: np.ndarray, allowed: np.ndarray, tokens: Sequence[str], *, key: str, text: dict[str, str],
               selected: tuple[int, int], query: int | None = None,
               summary: HeadMap | None = None, height: tuple[int, int] = (400, 640), theme: str = "light",
               hand: dict | None = None, opens: bool = True,
               on_pick: Callable[[int, int], None] = lambda layer, head: None,
               on_hand: Callable[[float], None] = lambda value: None,
               on_measure: Callable[[str], None] = lambda name: None, **words: Sequence) -> None:
    """Draw the patterns (L, h, N, N) of one prompt's heads, rows of layers, columns of heads; `on_pick(layer, head)` is
    called on click or Enter.

    allowed: (N, N) bool, which keys each query may see. tokens: N visible forms. text: the strings "title", "scale",
    "masked", "waiting".
    words: lists with an entry for each head, or none: `roles`, a word beside its label; `notes`, a line shown on
    hover and focus; `badges`, a mark for the reader's change. `crossed` has the numbers (layer · h + head) of the heads
    that are drawn crossed out. query: the row marked on every tile.
    summary: the map beside the wall, with the strings "measure", "nothing" and "map" in `text`; `on_measure(name)` is
    called when another of its measures is chosen.
    height: the least and the greatest height of the tiles in pixels; between these they end with the window.
    hand: a slider over the tiles, from `routes.hand`, which is answered by `wall_answer` while it moves;
    `on_hand(value)` is called when the hand has let go and the tiles stand. opens: a pick marks its head at once, in
    the browser.
    """
    n_layers, n_heads = patterns.shape[:2]
    flat = patterns.reshape(n_layers * n_heads, *patterns.shape[2:])
    count, chosen = len(flat), selected[0] * n_heads + selected[1]
    asked = st.session_state.get(f"{key}_read", chosen)
    fields, arrays = wall_arrays(flat, allowed, sorted({chosen, min(asked, count - 1)}))
    header = {**fields, "layers": n_layers, "heads": n_heads, "selected": chosen, "text": text,
              "heading": text["title"], "tokens": list(tokens), "query": query,
              **_words(count, **words),
              "hand": hand, "opens": opens, "map": summary and summary.header(),
              "height": height[0], "most": height[1], "least": LEAST_TILE, "theme": theme}

    _component(key=key, data=pack(header, arrays | _summed_up(summary)), events={
        "picked": lambda head: on_pick(*divmod(head, n_heads)), "moved": on_hand, "measured": on_measure,
        "read": lambda head: st.session_state.update({f"{key}_read": head})})
