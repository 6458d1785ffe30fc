"""Next token as one file that works without a server: the whole distribution, every cut of it, and the model."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from core.app.lesson import Lesson
from core.app.parts import own_file
from core.app.parts.own_file import Parts, refusal  # noqa: F401  (of this file's model)
from core.app.state import Run, reader
from core.base import prose
from core.components.sampling_panel import CONTENT, STYLES, PanelSettings
from core.takeaway.page import Picture
from pages.next_token.panel import panel_labels
from pages.next_token.shared import CONTEXTS, SETTINGS, settings

OWN = Path(__file__).parent / "own"
FIRST_XI = 0.5      # of the draw, until a reader draws again


def file_of(run: Run) -> Callable[[], bytes]:
    """The maker of the file, with the settings that the panel stands at, of a model that `refusal` finds nothing in."""
    position = reader.selection().position
    others = {name: SETTINGS.read(name) for name in CONTEXTS}
    return own_file.maker(run, parts, position, settings(position + 1), others)


def opened(run: Run) -> Parts:
    """The parts of the page as it opens by itself."""
    return parts(run, len(run.token_ids) - 1, PanelSettings(xi=FIRST_XI),
                 {name: SETTINGS.each[name].default for name in CONTEXTS})


def parts(run: Run, position: int, panel: PanelSettings, others: dict[str, str]) -> Parts:
    """The parts of the file about the token after `position`, with the text up to there. others: the two texts below,
    by name.
    """
    words = prose.load("next_token")
    picture = Picture(words.section("title"), words.section("sentence"), OWN / "host.js", OWN / "worker.js", CONTENT,
                      own_file.styles(*STYLES))
    is_last = position == len(run.token_ids) - 1
    text = run.text if is_last else run.tokenizer.decode(list(run.own_ids_until(position)))
    page = Lesson("next_token", words, prose.load("app"))
    return Parts(picture, own_words(page, others), {"prompt": text, "panel": json.dumps(panel.to_browser())})


def own_words(page: Lesson, others: dict[str, str]) -> dict:
    """The words that the file's worker reads."""
    return {"labels": panel_labels(page), "own_context": page.label("own_context"),
            "others": [(page.label(f"{name}_context"), text) for name, text in others.items()]}
