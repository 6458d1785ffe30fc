"""Cards in a row, each made from the one before: the steps in which something is built."""
from collections.abc import Mapping, Sequence

from core.app.state import reader
from core.components.lib.token_view import token_view
from pages.training.shared import PREFIX

# Cards with lines of text; parts of a line may be tokens, or marked as from the data or as an answer to learn.
_picture = token_view("training_cards", __file__)


def draw(cards: Sequence[Mapping], name: str, widths: str = "") -> None:
    """Draw cards {title, lines, note, kind}, as cards.js has them. widths: as CSS has them, if they are not equal."""
    _picture({"cards": list(cards), "scale": reader.scale(), "widths": widths}, key=f"{PREFIX}{name}",
             on_settings=lambda _: None)
