"""The symmetry experiment: outputs before and after the tokens changed places, drawn row beside row, with the four cases to pick from."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.components.lib.bytes import pack
from core.components.lib.position_canvas import instrument

_MOUNT = instrument("position_symmetry", __file__)
CASES = ("none", "mask", "positions", "both")


def position_symmetry(before: np.ndarray, after: np.ndarray, permutation: Sequence[int], tokens: Sequence[str], differences: np.ndarray, cases: Sequence[Mapping],
                      settings: Mapping, labels: Mapping[str, str], *, key: str, on_settings: Callable[[], None], present: bool = False) -> None:
    """Draw the rows of `before` (N, c) and of `after` (N, c): row k of `after` belongs to token permutation[k].

    differences: (N,) each token's largest absolute change. cases: id (one of CASES, in that order), title, number, verdict, follows.
    settings: case and align. on_settings: called on a click; the settings then stand in st.session_state[key].settings.
    """
    if before.shape != after.shape or len(before) != len(tokens) or sorted(permutation) != list(range(len(tokens))):
        raise ValueError(f"Outputs {before.shape} and {after.shape} and {len(permutation)} places do not fit {len(tokens)} tokens.")
    header = {"tokens": list(tokens), "permutation": [int(k) for k in permutation], "differences": [float(x) for x in differences], "shown": before.shape[1],
              "cases": [dict(case) for case in cases], "settings": dict(settings), "labels": dict(labels), "present": present}
    arrays = {"before": before.astype(np.float32), "after": after.astype(np.float32)}
    _MOUNT(key=key, data=pack(header, arrays), on_settings_change=on_settings)
