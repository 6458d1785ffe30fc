"""The file around a picture: everything stands in it, and no text of a reader ends the element that holds it."""
import base64
import gzip
import json
import re
from html.parser import HTMLParser

import pytest

from core.takeaway import page
from core.takeaway.page import Picture

HOSTILE = '</script><script>alert("1")</script><!-- </textarea> & {title} \u2028'
WORDS = dict.fromkeys(("prompt", "waits", "noscript", "old", "about"), HOSTILE)


class Elements(HTMLParser):
    """The text of each element that has an id, and the names of all elements in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names, self.texts, self.open = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.open = dict(attrs).get("id", self.open if tag not in ("script", "style") else None)

    def handle_data(self, data):
        self.texts[self.open] = self.texts.get(self.open, "") + data


def made(monkeypatch, said: object, script: str = "let a = 1 < 2;") -> Elements:
    monkeypatch.setattr(page, "bundle", lambda path: script)
    picture = Picture(HOSTILE, HOSTILE, None, None, "<div></div>", ())
    return Elements(page.file_of(picture, {"said": said}, page.packed(b"weights"), WORDS).decode())


def test_no_text_ends_the_element_that_holds_it(monkeypatch):
    plain, hostile = made(monkeypatch, "a"), made(monkeypatch, HOSTILE)
    assert plain.names == hostile.names
    assert json.loads(hostile.texts["said"]) == {"said": HOSTILE}
    assert hostile.texts["engine"].strip() == "let a = 1 < 2;"
    assert gzip.decompress(base64.b64decode(hostile.texts["weights"].strip())) == b"weights"


@pytest.mark.parametrize("script", ["a = '</script>';", "a = '</SCRIPT >';", "a = '<!-- b';"])
def test_a_script_that_would_end_its_element_is_refused(monkeypatch, script: str):
    with pytest.raises(ValueError, match="ends? of the element"):
        made(monkeypatch, "a", script)


@pytest.mark.parametrize("make", [
    lambda picture: page.file_of(picture, {}, "", WORDS), lambda picture: page.site_page(picture, {}, WORDS, []),
    lambda picture: page.start_page("a", "b", [], {name: "c" for name in ("about", "card", "card_name")})],
    ids=["the file", "a page of a site", "its first page"])
def test_nothing_in_it_may_be_fetched(monkeypatch, make):
    monkeypatch.setattr(page, "bundle", lambda path: "")
    made_of = make(Picture("a", "b", None, None, "", ())).decode()
    allowed = re.search(r'Content-Security-Policy" content="([^"]+)"', made_of)[1]
    assert allowed.startswith("default-src 'none'") and "http" not in allowed and "connect-src" not in allowed
