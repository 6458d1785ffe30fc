"""The handout of a class: one printed page with each step's question, room to write, and room for its picture."""
import html
from collections.abc import Mapping, Sequence

from core.sheets.exercises_print import page

MANY = 8        # with more steps the type is smaller, so that they still fit on one page
_STYLE = """
@page { margin: 10mm 12mm; }
body { max-width: 186mm; }
header { display: flex; justify-content: space-between; align-items: baseline; gap: 6mm; height: 11mm; }
header p { margin: 0; font-size: 9pt; white-space: nowrap; }
main { display: grid; grid-template-columns: 1fr 1fr; grid-auto-rows: minmax(0, 1fr); gap: 3mm 5mm; height: 244mm;
  font-size: 9pt; line-height: 1.25; }
main.many { font-size: 7.8pt; }
section { display: flex; flex-direction: column; border-top: 0.3mm solid; padding-top: 1mm; min-height: 0;
  overflow: hidden; }
section p { margin: 0 0 1mm; }
.write { opacity: 0.7; border-bottom: 0.2mm solid; min-height: 5.5mm; }
figure { flex: 1; min-height: 0; margin: 1mm 0 0; }
figure img { width: 100%; height: 100%; object-fit: contain; object-position: left top; }
figure p { font-style: italic; }
@media screen { body { padding: 8mm 6mm; } }
"""


def printable(title: str, note: str, steps: Sequence[tuple[str, str, str]], words: Mapping[str, str]) -> str:
    """The page as HTML. steps: title, question, and what to look for, which stands in `data-text` of the step's figure,
    in case its picture cannot be had. words: "name", "guess", "seen", the labels of what the class writes.
    """
    cells = "".join(_cell(number, *step, words) for number, step in enumerate(steps, 1))
    many = ' class="many"' if len(steps) > MANY else ""
    return page(title, _STYLE, f"<header><h1>{html.escape(title)}</h1><p>{html.escape(note)}</p>"
                               f"<p>{html.escape(words['name'])} ______________________</p></header>"
                               f"<main{many}>{cells}</main>")


def _cell(number: int, title: str, ask: str, look: str, words: Mapping[str, str]) -> str:
    return (f"<section><p><b>{number}. {html.escape(title)}</b></p><p>{html.escape(ask)}</p>"
            f'<p class="write">{html.escape(words["guess"])}</p><p class="write">{html.escape(words["seen"])}</p>'
            f'<figure data-text="{html.escape(look)}"></figure></section>')
