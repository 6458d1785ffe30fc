"""The picture of several views: texts token by token, with a bar of its bits above each token."""
from core.app.lesson import Lesson
from core.app.state import reader
from core.components.lib.token_view import token_view
from pages.language_models.shared import PREFIX, keep, read

_picture = token_view("lm_sentences", __file__)


def draw_texts(page: Lesson, rows: list[dict], name: str, heights: tuple[int, int]) -> None:
    """Draw the rows, each a result of `row_of`; the reader picks one of them.

    name: of the component, different for each view. heights: of the list in pixels, usually and in present mode.
    """
    header = page.header("row") | {
        "rows": rows, "settings": {"row": min(read("row"), len(rows) - 1)}, "height": heights[reader.present()]}
    _picture(header, key=f"{PREFIX}{name}", on_settings=lambda settings: keep(row=settings["row"]))
