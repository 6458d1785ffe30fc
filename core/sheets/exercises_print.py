"""An exercise to print: one HTML file, black on white, for A4 and Letter; its solution is a second file."""
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

# the style of every printed page
_BASE = """
* { box-sizing: border-box; }
html { color-scheme: light; background: white; color: black; }
body { margin: 0 auto; font: 11pt/1.4 Georgia, "Times New Roman", serif; }
h1 { font-size: 15pt; margin: 0 0 1mm; }
p { margin: 0 0 2mm; }
sub, sup { line-height: 0; }
table { border-collapse: collapse; }
"""
_STYLE = """
@page { margin: 14mm 15mm; }
body { max-width: 180mm; }
header { display: flex; justify-content: space-between; align-items: baseline; gap: 6mm;
  border-bottom: 0.4mm solid; padding-bottom: 1.5mm; margin-bottom: 3mm; }
header span { font-size: 9pt; white-space: nowrap; }
h2 { font-size: 11.5pt; margin: 4mm 0 1.2mm; }
section { break-inside: avoid; }
table { width: 100%; margin: 0 0 2mm; }
th, td { border: 0.25mm solid; padding: 0.8mm 1.5mm; text-align: center; font-size: 10pt; }
th { font-weight: 600; min-width: 15mm; } td { height: 7.6mm; }
td.code { font-family: "Courier New", monospace; white-space: pre; }
footer { margin-top: 4mm; font-size: 9pt; }
@media screen { body { padding: 10mm 6mm; } .scroll { overflow-x: auto; } }
"""
_INDEX = re.compile(r"_(ff|ij|\w)|\^(\([^)]*\)|−?\w)")


@dataclass(frozen=True)
class Blank:
    """A cell that is empty on the sheet and filled in the solution. code: in the code font, without indices."""

    value: str
    code: bool = False


@dataclass(frozen=True)
class Code:
    """A cell in the code font, such as a token."""

    value: str


Cell = str | Blank | Code


@dataclass(frozen=True)
class Block:
    """One step of an exercise: its heading, the task, a table to fill in, and an `answer` that only the solution has.

    In its texts `_x` is an index and `^x` an exponent.
    """

    heading: str
    text: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    answer: str = ""


@dataclass(frozen=True)
class Sheet:
    """A whole exercise. note: text at the right of the title. name: label of the line for the reader's name."""

    title: str
    note: str
    intro: str
    blocks: Sequence[Block]
    name: str
    footer: str


def printable(sheet: Sheet, solved: bool, solution: str) -> str:
    """The file as HTML: the sheet with empty cells or, if solved, filled in, with `solution` after its title."""
    title = f"{sheet.title}: {solution}" if solved else sheet.title
    line = "" if solved else f"<p>{html.escape(sheet.name)} ____________________________</p>"
    blocks = "".join(_block(block, solved) for block in sheet.blocks)
    return page(title, _STYLE, f"<header><h1>{indexed(title)}</h1><span>{html.escape(sheet.note)}</span></header>{line}"
                               f"<p>{indexed(sheet.intro)}</p>{blocks}<footer>{indexed(sheet.footer)}</footer>")


def page(title: str, style: str, body: str) -> str:
    """One HTML file, black on white, for A4 and Letter; `style` (CSS) is added to what all pages share."""
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{html.escape(title)}</title><style>{_BASE}{style}</style></head>'
            f'<body>{body}</body></html>')


def indexed(text: str) -> str:
    """HTML of a text in which `_x` is an index and `^x` an exponent.

    >>> indexed("W_Q <d^2>")
    'W<sub>Q</sub> &lt;d<sup>2</sup>&gt;'
    """
    return _INDEX.sub(lambda match: f"<sub>{match[1]}</sub>" if match[1] else f"<sup>{match[2].strip('()')}</sup>",
                      html.escape(text, quote=False))


def _block(block: Block, solved: bool) -> str:
    head = "".join(f"<th>{indexed(column)}</th>" for column in block.columns)
    rows = "".join(f"<tr>{''.join(_cell(cell, solved) for cell in row)}</tr>" for row in block.rows)
    table = (f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
             if block.rows else "")
    answer = f"<p>{indexed(block.answer)}</p>" if solved and block.answer else ""
    return f"<section><h2>{indexed(block.heading)}</h2><p>{indexed(block.text)}</p>{table}{answer}</section>"


def _cell(cell: Cell, solved: bool) -> str:
    if isinstance(cell, Blank):
        return _cell(Code(cell.value) if cell.code else cell.value, solved) if solved else "<td></td>"
    if isinstance(cell, Code):
        return f'<td class="code">{html.escape(cell.value)}</td>'
    return f"<td>{indexed(cell)}</td>"
