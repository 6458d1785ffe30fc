"""The difference of two photographs of a view, and the report of all that differ."""
from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

TOLERANCE = 8       # of 255, in each channel: the edge of a letter may fall a little differently on the grid of pixels
RED = (214, 0, 60)

Photograph = NDArray[np.uint8]      # (height, width, 3)


@dataclass(frozen=True)
class Difference:
    """The pixels that differ between two photographs: `mask` (height, width), as large as both together."""

    mask: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """How much of the picture differs, between 0 and 1."""
        return float(self.mask.mean())

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The left, top, right and bottom edge, in pixels, of the smallest box around all that differs."""
        rows, columns = np.flatnonzero(self.mask.any(1)), np.flatnonzero(self.mask.any(0))
        return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def difference(before: Photograph, after: Photograph) -> Difference | None:
    """The pixels of which a channel differs by more than TOLERANCE, and those that only one of the two has; None if
    there are none."""
    if np.array_equal(before, after):
        return None
    height, width = np.maximum(before.shape[:2], after.shape[:2])
    common = tuple(map(slice, np.minimum(before.shape[:2], after.shape[:2])))
    mask = np.ones((height, width), bool)
    mask[common] = (np.abs(before[common].astype(int) - after[common]) > TOLERANCE).any(2)
    covered = np.zeros_like(mask)
    for photograph in (before, after):
        covered[:photograph.shape[0], :photograph.shape[1]] = True
    mask &= covered
    return Difference(mask) if mask.any() else None


def marked(after: Photograph, found: Difference) -> Photograph:
    """The photograph, faint, with what differs in red."""
    picture = np.full((*found.mask.shape, 3), 255, np.uint8)
    picture[:after.shape[0], :after.shape[1]] = 200 + after // 5
    picture[found.mask] = RED
    return picture


def save(photograph: Photograph, path: Path) -> None:
    """Write a PNG; compressed quickly, since a run writes many."""
    Image.fromarray(photograph).save(path, compress_level=1)


PAGE = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<style>body {{font-family: sans-serif; margin: 1rem}} figure {{display: flex; gap: 1rem; margin: 0 0 2rem}}
figure a {{flex: 1; min-width: 0}} img {{width: 100%; border: 1px solid #999}}</style>
<h1>{title}</h1>{views}"""


def write_report(folder: Path, title: str, views: dict[str, list[str]]) -> Path:
    """Write and return index.html: each line of text with the PNGs of `folder` that belong to it beside each other."""
    def shown(pictures: list[str]) -> str:
        return "".join(f'<a href="{name}"><img src="{name}" alt="{name}" loading="lazy"></a>' for name in pictures)
    body = "\n".join(f"<h2>{html.escape(line)}</h2><figure>{shown(names)}</figure>" for line, names in views.items())
    path = folder / "index.html"
    path.write_text(PAGE.format(title=html.escape(title), views=body), encoding="utf-8")
    return path
