"""The heads' writing: concatenate and W_O at the picked query, each head's output, its part of W_O, their sum."""
from pathlib import Path

import numpy as np

from core.app.lesson import Lesson
from core.app.state import Run, reader
from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.pattern import PATTERN_CSS
from core.figures import heads as figures
from core.figures.heads import head_name
from core.figures.numbers import readable
from pages.heads import shapes
from pages.heads.shared import PREFIX, Pair, Patterns, pick_head

PICTURE = f"{PREFIX}sum"
HEIGHT = (190, 460)         # least and most pixels
HERE = Path(__file__).parent
_picture = declare("heads_sum", HERE / "output.js", html=(HERE / "output.html").read_text(encoding="utf-8"),
                   styles=(PATTERN_CSS, HERE / "output.css"))


def draw(page: Lesson, run: Run, pair: Pair, _: Patterns) -> None:
    """The shapes, the sum at the picked query, and below it how far its parts add up to what attention writes."""
    shapes.draw(page, run, pair)
    block, b_O = run.trace.blocks[pair.layer], run.model.blocks[pair.layer].b_O
    outputs = block.head_out[:, pair.query].float().cpu().numpy()
    written = block.head_contribution[:, pair.query].float().cpu().numpy()
    bias = np.zeros(written.shape[1], np.float32) if b_O is None else b_O.float().cpu().numpy()
    total = block.attn_out[pair.query].float().cpu().numpy()
    header, arrays = _message(outputs, np.vstack([written, bias]), total)
    names = [head_name(pair.layer, head) for head in range(len(written))]
    header |= {"names": names, "selected": pair.head, "text": _text(page, run, pair, written)}
    header |= {"least": HEIGHT[0], "most": HEIGHT[1], "scale": reader.scale(), "theme": reader.theme()}
    _picture(key=PICTURE, data=pack(header, arrays),
             events={"picked": lambda head: pick_head(pair.layer, head)})
    difference = np.abs(written.astype(np.float64).sum(0) - (total.astype(np.float64) - bias)).max()
    page.note(page.label("write_check", difference=readable(difference, 2), largest=readable(np.abs(total).max())))


def _message(outputs: np.ndarray, parts: np.ndarray, total: np.ndarray) -> tuple[dict, dict[str, np.ndarray]]:
    """Sizes and arrays of head_out (h, d_v), of head_contribution and b_O (h + 1, d), and of attn_out (d,).

    "shares" (h + 2,): what each head and the bias add along attn_out, and their sum, 1 but for rounding.
    """
    shares = figures.shares_of_sum(parts, total)
    rows = np.vstack([parts, total])
    arrays = {"outputs": outputs, "written": rows, "norms": np.linalg.norm(rows, axis=1),
              "shares": np.append(shares, 1.0)}
    sizes = {"heads": len(outputs), "d": rows.shape[1], "d_v": outputs.shape[1]}
    return sizes, {name: values.astype(np.float32) for name, values in arrays.items()}


def _text(page: Lesson, run: Run, pair: Pair, written: np.ndarray) -> dict[str, str]:
    norms = np.linalg.norm(written, axis=1)
    largest = int(norms.argmax())
    title = page.label("write_title", head=head_name(pair.layer, largest), layer=pair.layer,
                       token=run.tokens[pair.query], norm=readable(norms[largest]))
    text = {"title": title, "concat": page.label("write_concat", last=len(written) - 1),
            "scale": page.label("scale_signed")}
    return text | {name: page.label(f"write_{name}") for name in ("product", "norm", "share", "bias", "sum")}
