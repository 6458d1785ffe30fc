"""HTML files with a picture, the model behind it, and the scripts of both: they work without a server and without a
network. One file has all of it; the pages of a site share the weights.
"""
from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.figures import style
from core.takeaway.bundle import bundle

HERE = Path(__file__).parent
HEAD, FRAME, START, SHEET = ((HERE / name).read_text(encoding="utf-8")
                             for name in ("head.html", "page.html", "start.html", "page.css"))
WEIGHTS = "model.js"    # of a site, beside its pages
MOST_LETTERS = 4000     # of a text that is typed into the file
OWN = {"--tx-scale": "1", "--tx-foot": "0px"}         # no present mode, no bar at the foot


@dataclass(frozen=True)
class Picture:
    """The parts of a file that a page gives. sentence: what stands below the title; "" if the picture has a heading of
    its own; script, engine: the modules that draw the picture, and that compute beside the page; content, styles: the
    component's first HTML and its CSS files.
    """

    title: str
    sentence: str
    script: Path
    engine: Path
    content: str
    styles: Sequence[Path]


def file_of(picture: Picture, said: Mapping, weights: str, words: Mapping[str, str]) -> bytes:
    """The one file. said: what the script reads, as JSON. weights: as `packed` makes them. words: the labels "prompt",
    "waits", "noscript", "old" and "about" around the picture.
    """
    return _page(picture, said, words, weights=weights, ways="", beside="")


def site_page(picture: Picture, said: Mapping, words: Mapping[str, str], ways: Sequence[tuple[str, str]]) -> bytes:
    """A page of a site, which reads the weights from WEIGHTS beside it. ways: the site's pages, (address, name)."""
    links = "".join(f'<a href="{html.escape(href)}">{html.escape(name)}</a>' for href, name in ways)
    return _page(picture, said, words, weights="", ways=f"<nav>{links}</nav>\n",
                 beside=f'<script src="{WEIGHTS}"></script>\n')


def weights_script(weights: str) -> bytes:
    """The script WEIGHTS of a site."""
    return f'document.getElementById("weights").textContent = "{weights}";\n'.encode()


def start_page(title: str, sentence: str, entries: Sequence[tuple[str, str, str]], words: Mapping[str, str]) -> bytes:
    """The first page of a site. entries: (address, name, sentence) of each page. words: "about" the model, and the
    address "card" and the name "card_name" of what is known of it.
    """
    listed = "".join('<li><a href="{}"><b>{}</b><span>{}</span></a></li>'.format(*map(html.escape, entry))
                     for entry in entries)
    return START.format(head=_head(title), title=html.escape(title), sentence=html.escape(sentence), entries=listed,
                        **{name: html.escape(text) for name, text in words.items()}).encode()


def _page(picture: Picture, said: Mapping, words: Mapping[str, str], *, weights: str, ways: str, beside: str) -> bytes:
    """The frame around a picture. ways: links above it; beside: the script that brings the weights, if a file beside it
    has them.

    No text can end the element that holds it: in JSON and JavaScript "<" before a letter, "/" or "!" is written in
    another way, and the weights are base64.
    """
    component = "\n".join(path.read_text(encoding="utf-8") for path in picture.styles)
    escaped = {name: html.escape(text) for name, text in words.items() if name != "old"}
    # of the same host, or of the same folder on a disk
    sources = " 'self' file:" if beside else ""
    policy = f"script-src 'unsafe-inline' blob:{sources}; worker-src blob:; img-src data: blob:; "
    return FRAME.format(
        **escaped, head=_head(picture.title, policy), heading=_heading(picture), ways=ways, most=MOST_LETTERS,
        component=component, content=picture.content, said=_json(said), old=_json(words["old"]),
        engine=_script(bundle(picture.engine)), script=_script(bundle(picture.script)), weights=weights,
        beside=beside).encode()


def _head(title: str, policy: str = "") -> str:
    """The head of every page, in both themes. policy: what it may load beside its own styles; nothing else."""
    themes = {name: "".join(f"{key}:{value};" for key, value in (style.css_variables(name) | OWN).items())
              for name in ("light", "dark")}
    return HEAD.format(**themes, style=SHEET, title=html.escape(title), policy=policy)


def packed(weights: bytes) -> str:
    """The weights as the file holds them: compressed, and as letters."""
    return base64.b64encode(gzip.compress(weights, 9, mtime=0)).decode()


def _heading(picture: Picture) -> str:
    title, sentence = html.escape(picture.title), html.escape(picture.sentence)
    return f"<h1>{title}</h1>\n<p>{sentence}</p>" if sentence else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _script(text: str) -> str:
    """Raises ValueError for a script that could end the element around it."""
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("a script holds the end of the element that it stands in")
    return text
