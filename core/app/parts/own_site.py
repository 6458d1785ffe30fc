"""The pages that can be taken along, as a site for any static host: they share the weights of their model."""
from __future__ import annotations

import pkgutil
import shutil
from pathlib import Path

from core.app.compute import cache
from core.app.parts import own_file
from core.app.state import Run
from core.app.state.run import read
from core.base import catalogue, prose
from core.files import ASSETS
from core.takeaway import page

START, CARD = "index.html", "model.md"


def pages() -> list[str]:
    """The names of the pages: the tour, and the lessons in their order."""
    return [catalogue.TOUR, *(entry.id for entry in catalogue.existing() if entry.takeaway)]


def write(folder: Path, name: str, text: str) -> list[Path]:
    """Write the site of a bundled model, which opens on this text; return its files. Raises ValueError, with the
    reason, for a model that a page cannot hold, and for a folder in which something lies.
    """
    if name not in cache.model_names():
        raise ValueError(f"There is no bundled model {name}: choose one of {', '.join(cache.model_names())}.")
    run = read(cache.shared_model(name, "cpu"), text)
    if refused := own_file.refusal(run):
        raise ValueError(f"{name} cannot be taken along: {refused}.")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: name a new folder.")
    made = {page.WEIGHTS: page.weights_script(own_file.packed(run)), START: _start(run)}
    made |= {f"{one}.html": _page(run, one) for one in pages()}
    for file, content in made.items():
        (folder / file).write_bytes(content)
    shutil.copy(ASSETS / "models" / name / "README.md", folder / CARD)
    return sorted(folder.iterdir())


def _page(run: Run, name: str) -> bytes:
    # pages stand above the frame, as for the button of Share
    parts = pkgutil.resolve_name(f"pages.{name}.takeaway").opened(run)
    ways = [(START, prose.load("takeaway").label("start")), *((f"{one}.html", _title(one)) for one in pages())]
    return page.site_page(parts.picture, own_file.said(run, parts), own_file.words_around(run, "about_site"), ways)


def _start(run: Run) -> bytes:
    frame = prose.load("takeaway")
    entries = [(f"{name}.html", _title(name), prose.load(name).section("sentence")) for name in pages()]
    words = {"about": own_file.words_around(run, "about_site")["about"], "card": CARD, "card_name": frame.label("card")}
    return page.start_page(frame.label("site"), frame.label("site_sentence"), entries, words)


def _title(name: str) -> str:
    return prose.load(name).section("title")
