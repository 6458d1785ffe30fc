"""A worksheet for the printer: one HTML file, black on white, the blank sheet on its first page and the solution
on its second.
"""
import html
import math
from collections.abc import Mapping, Sequence

import numpy as np

from core.sheets.exercises_print import indexed, page

_STYLE = """
@page { margin: 12mm 14mm; }
body { font-size: 10.5pt; max-width: 186mm; }
section + section { break-before: page; page-break-before: always; }
.row { display: flex; gap: 4mm 7mm; margin-bottom: 3mm; align-items: flex-start; break-inside: avoid; }
.matrix { break-inside: avoid; } h2 { font-size: 11pt; font-weight: 600; margin: 0 0 1mm; }
th { font: 8.5pt "Courier New", monospace; padding: 0 1.2mm 0 0; text-align: right; }
thead th { text-align: center; padding: 0; }
td { border: 0.3mm solid; width: 11.5mm; height: 8.6mm; text-align: center; padding: 0; font-size: 10pt; }
.given td { font-weight: 700; } .solved td { font-size: 9pt; }
"""
# The lines of the page, top down: X and its weights, the projections, the scores step by step, the output.
_ROWS = (("X", "W_Q", "W_K", "W_V"), ("Q", "K", "V"), ("products", "scaled", "masked"), ("weights", "output"))
_BY_KEY = ("products", "scaled", "masked", "weights")


def printable(matrices: Mapping[str, np.ndarray], tokens: Sequence[str], names: Mapping[str, str],
              words: Mapping[str, str]) -> str:
    """Return the file as HTML. matrices: X, W_Q, W_K, W_V and every step by its name, (4, columns); names: their
    headings.

    words: "title", "solution" (the heading of the second page), "intro", "footer". In names and words `_x` is an index.
    """
    def lines(solved: bool) -> str:
        rows = ([_matrix(name, matrices[name], tokens, names[name], solved) for name in row] for row in _ROWS)
        return "".join(f'<div class="row">{"".join(row)}</div>' for row in rows)

    text = {key: indexed(word) for key, word in words.items()}
    return page(words["title"].replace("_", ""), _STYLE,
                f'<section><h1>{text["title"]}</h1><p>{text["intro"]}</p>{lines(solved=False)}</section>'
                f'<section class="answers"><h1>{text["solution"]}</h1>{lines(solved=True)}'
                f'<p>{text["footer"]}</p></section>')


def entry(value: float) -> str:
    """The text of a cell: a whole number without decimals, any other with four, −∞ where masked.

    >>> entry(-2.0), entry(0.26894), entry(-math.inf)
    ('−2', '0.2689', '−∞')
    """
    # + 0.0 makes 0 of −0
    text = "-∞" if value == -math.inf else f"{value + 0.0:.0f}" if float(value).is_integer() else f"{value:.4f}"
    return text.replace("-", "−")


def _matrix(name: str, values: np.ndarray, tokens: Sequence[str], heading: str, solved: bool) -> str:
    given = name == "X" or name.startswith("W_")
    names = ["" if name.startswith("W_") else html.escape(token) for token in tokens]
    head = (f"<thead><tr><th></th>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead>"
            if name in _BY_KEY else "")
    cells = [[entry(value) if given or solved else "" for value in row] for row in values]
    rows = "".join(f"<tr><th>{name}</th>{''.join(f'<td>{value}</td>' for value in row)}</tr>"
                   for name, row in zip(names, cells))
    return (f'<div class="matrix {"given" if given else "solved" if solved else ""}"><h2>{indexed(heading)}</h2>'
            f'<table>{head}<tbody>{rows}</tbody></table></div>')
