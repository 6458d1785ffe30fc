"""One-hot × E: each token of the prompt picks its row of the embedding matrix, as a matrix product."""
from pathlib import Path

import pandas as pd
import torch

from core.analysis import embeddings
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, guess_of
from core.app.state import Run, reader
from core.base.markdown import code
from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.pattern import PATTERN_CSS
from core.figures.numbers import bracketed, grouped, latex_number, readable
from pages.embeddings import pair
from pages.embeddings.shared import PREFIX

PICTURE = f"{PREFIX}product"
ROWS = 11                # of E, about the picked one
HEIGHT = (300, 520)      # least and most px of the product
NOTE = 50                # px below the product that present mode's bar would cover
ALIKE = 0.5              # cosine of two rows from which on they are called similar
SHOWN = 4                # written-out entries of a row in a formula
HERE = Path(__file__).parent
# A row for each token of the prompt, the row of E that the picked one selects, and the product.
_picture = declare(
    "embedding_product", HERE / "one_hot.js",
    html='<div class="product"><div class="stage" tabindex="0" role="listbox"><canvas></canvas></div>'
         '<div class="tip" hidden></div><div class="spoken" aria-live="polite"></div></div>',
    styles=(PATTERN_CSS, HERE / "one_hot.css"))


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether a token that stands in the text more than once has the same row each time."""
    asked = repeated(run)
    if asked is None or pair.is_picked(run):
        return None

    def truth(guess: int) -> Truth:
        places = [i for i, token in enumerate(run.token_ids) if token == asked]
        rows = embeddings.embed(torch.tensor(run.token_ids), run.model.E.detach().to("cpu"))[places].double()
        equal = torch.equal(rows, rows[:1].expand_as(rows))
        alike = float(torch.nn.functional.cosine_similarity(rows[:1], rows[1:]).min())
        return Truth(0 if equal else 1 if alike > ALIKE else 2, seen=0 if equal else 1,
                     values={"id": asked, "places": ", ".join(map(str, places))})

    options = [page.label(f"before_product_{name}") for name in ("same", "alike", "different")]
    return Prediction("product", Options(options), truth,
                      {"token": run.tokenizer.visible(asked), "n": run.token_ids.count(asked),
                       "d": run.model.config.d_model})


def repeated(run: Run) -> int | None:
    """The longest token that stands in the prompt more than once, of equally long ones the first; None for none."""
    twice = [i for i in dict.fromkeys(run.own_ids) if run.own_ids.count(i) > 1]
    return max(twice, key=lambda i: len(run.tokenizer.visible(i)), default=None)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    if pair.is_picked(run):
        return pair.draw(page, run)
    E, at = run.model.E.detach().to("cpu"), reader.selection().position
    token_ids, token_id = torch.tensor(run.token_ids), run.token_ids[at]
    product, (n, d) = embeddings.embed(token_ids, E), (len(run.token_ids), E.shape[1])
    first = max(0, min(token_id - ROWS // 2, len(E) - ROWS))
    difference = float((product - E[token_ids]).abs().max())
    title = page.label("product_title", token=code(run.tokens[at]), id=token_id, d=d)
    pair.title(page, run, title)
    _draw_product(page, run, E, list(range(first, min(first + ROWS, len(E)))), product)
    page.note(page.label("product_check", difference=readable(difference), multiplications=n * len(E) * d, read=n * d))
    return Reading(_lines(page, run, E, at), _question(page, run, len(E), d), [embeddings.one_hot, embeddings.embed],
                   {"product.csv": lambda: _table(run, product)}, ".product canvas", title)


def _draw_product(page: Lesson, run: Run, E: torch.Tensor, window: list[int], product: torch.Tensor) -> None:
    """Draw one-hot (N, |V|) × E = product (N, d), with only the rows `window` of E."""
    n, (v, d) = len(run.token_ids), E.shape
    values = {"one_hot": dict(n=n, v=v), "result": dict(n=n, d=d), "column": {}, "entry": {}, "keys": {},
              "matrix": dict(v=v, d=d, first=window[0], last=window[-1])}
    text = {name: page.label(f"product_{name}", **numbers) for name, numbers in values.items()}
    marked = repeated(run) if guess_of(page, "product", run) is not None else None
    header = {"n": n, "d": d, "vocab_size": v, "ids": run.token_ids, "tokens": run.tokens,
              "marked": [i for i, token in enumerate(run.token_ids) if token == marked],
              "window_ids": window, "window_tokens": [run.tokenizer.visible(i) for i in window],
              "picked": reader.selection().position, "text": text, "least": HEIGHT[0], "most": HEIGHT[1],
              "foot": NOTE if reader.present() else 0, "scale": reader.scale(), "theme": reader.theme()}
    arrays = {"window": E[window].float().numpy(), "product": product.float().numpy()}
    _picture(key=PICTURE, data=pack(header, arrays),
             events={"picked": lambda at: reader.select(position=at)})


def _lines(page: Lesson, run: Run, E: torch.Tensor, at: int) -> list[tuple[str, str]]:
    token_id = run.token_ids[at]
    row, next_id = E[token_id], (token_id + 1) % len(E)
    entries, first = r",\ ".join(map(latex_number, row[:SHOWN].tolist())), latex_number(row[0])
    return [(page.label("product_numbers_one", token=code(run.tokens[at]), id=token_id,
                        other=code(run.tokenizer.visible(next_id))),
             rf"X_{{{at},0}} = \sum_{{v=0}}^{{{len(E) - 1}}} \mathbb{{1}}_{{v}}\,E_{{v,0}} = 1 \cdot "
             rf"{bracketed(first)} + 0 \cdot {bracketed(latex_number(E[next_id, 0]))} + 0 + \dots = {first}"),
            (page.label("product_numbers_row", d=E.shape[1]),
             rf"X_{{{at}}} = \mathbb{{1}}_{{{token_id}}}\,E = E_{{{token_id}}} = "
             rf"\left({entries},\ \dots\right)"),
            (page.label("product_numbers_length"),
             rf"\lVert E_{{{token_id}}} \rVert = \sqrt{{\textstyle\sum_c E_{{{token_id},c}}^2}} = "
             rf"{latex_number(row.double().norm())}")]


def _question(page: Lesson, run: Run, vocab_size: int, d: int) -> Question:
    """How many rows of E get a gradient through the product: as many as there are different tokens."""
    n, distinct = len(run.token_ids), len(set(run.token_ids))
    counts = sorted({distinct, n, d, vocab_size})
    return page.question("product", [grouped(count) for count in counts], counts.index(distinct), n=n, v=vocab_size,
                         distinct=distinct)


def _table(run: Run, product: torch.Tensor) -> pd.DataFrame:
    return pd.DataFrame({"position": range(len(product)), "token": run.tokens, "id": run.token_ids}
                        | {f"x{c}": values for c, values in enumerate(product.numpy().T)})
