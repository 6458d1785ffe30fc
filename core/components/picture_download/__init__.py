"""Save the picture on the page as PNG, SVG or HTML: made in the browser, exactly as the reader sees it."""
from pathlib import Path

from core.components import declare

HERE = Path(__file__).parent

_component = declare("picture_download", HERE / "picture_download.js", styles=(HERE / "picture_download.css",))


def picture_download(selector: str, name: str, title: str, twin: str, missing: str, key: str) -> None:
    """Draw three buttons. selector: the CSS selector of a canvas, an SVG or an element that contains some (components'
    shadow trees are searched as well).

    name: that of the files, without ending. title and twin: heading and text of the HTML file. missing: the sentence
    shown if there is no picture.
    """
    _component(key=key, data={"selector": selector, "name": name, "title": title, "twin": twin, "missing": missing},
               width="content")
