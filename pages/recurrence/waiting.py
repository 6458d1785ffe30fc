"""Waiting for the losses of N places: after how many steps in a row a recurrent network and a transformer have them."""
import math

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from core.app.lesson import Lesson, Question, Reading
from core.app.state import Run
from core.components.lib.token_view import PLAYER_CSS, token_view
from core.figures.numbers import latex_number, latex_operand
from core.learning import recurrent_cells
from pages.recurrence.shared import PREFIX
from pages.recurrence.unrolled import N_HIDDEN, inputs

PLACES = 16          # at most, to show losses of
LONGER = 10          # times the text, in the question below the picture
# Two rows of losses that come in step by step, a slider of the steps, and a button that plays them.
_picture = token_view("recurrence_waiting", __file__, PLAYER_CSS)


def losses_of(run: Run) -> dict[str, list[float]]:
    """−ln p of the true next token at each of the first places: of the model, and of an untrained tanh network with
    outputs for the same vocabulary.
    """
    ids = torch.tensor(run.token_ids[1:PLACES + 1])
    generator = torch.Generator().manual_seed(0)
    X = inputs(run)[:len(ids)]
    cell = recurrent_cells.random_cell("rnn", X.shape[1], N_HIDDEN, generator)
    V = torch.randn(N_HIDDEN, run.model.config.vocab_size, generator=generator, dtype=torch.float64) / N_HIDDEN ** 0.5
    return {"recurrent": _nats(recurrent_cells.unroll(cell, X).h @ V, ids) if len(ids) else [],
            "transformer": _nats(run.trace.logits[:len(ids)].to("cpu", torch.float64), ids)}


def _nats(logits: Tensor, ids: Tensor) -> list[float]:
    return F.cross_entropy(logits, ids, reduction="none").tolist()


def is_for(run: Run) -> bool:
    """Whether the model predicts next tokens, and the text has some."""
    return run.model.config.kind == "decoder" and len(run.token_ids) > 1


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the two rows and return what they show."""
    losses, blocks = losses_of(run), run.model.config.n_layers
    n = len(losses["transformer"])
    header = page.header("waiting") | {"tokens": list(run.tokens[:n]), "losses": losses, "blocks": blocks,
                                       "identity": [*run.token_ids, run.model_name]}
    _picture(header, key=f"{PREFIX}waiting", on_settings=lambda settings: None)
    title = page.label("waiting_said", n=n, blocks=blocks)
    return Reading(_lines(page, losses), _question(page, n, blocks), [recurrent_cells.unroll],
                   {"losses.csv": lambda: pd.DataFrame({"token": run.tokens[:n], **losses})},
                   ".recurrence_waiting .rows", title)


def _lines(page: Lesson, losses: dict[str, list[float]]) -> list[tuple[str, str]]:
    values = losses["transformer"]
    n, total = len(values), math.fsum(values)
    return [(page.label("numbers_mean"),
             rf"\frac{{1}}{{N}} \sum_{{t=1}}^{{N}} -\ln p_t = \frac{{{latex_operand(total)}}}{{{n}}} = "
             rf"{latex_number(total / n)}"),
            (page.label("numbers_untrained"),
             rf"\frac{{{latex_operand(math.fsum(losses['recurrent']))}}}{{{n}}} = "
             rf"{latex_number(math.fsum(losses['recurrent']) / n)}")]


def _question(page: Lesson, n: int, blocks: int) -> Question:
    """After how many steps the transformer has the losses of a text LONGER times as long."""
    options = [str(blocks), str(LONGER * blocks), str(LONGER * n)]
    return page.question("waiting", options, 0, n=LONGER * n, times=LONGER, blocks=blocks)
