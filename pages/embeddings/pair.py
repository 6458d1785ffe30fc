"""h × Eᵀ: the vector of the context against every row of E, turned round, gives the logits, and the softmax makes them
probabilities; the picked token's column is the row that it takes on the way in.
"""
from pathlib import Path

import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.app.lesson import Lesson, Reading
from core.app.state import Run, reader
from core.base.markdown import code
from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.pattern import PATTERN_CSS
from core.figures.numbers import bracketed, grouped, latex_number, percent, plain_number
from core.model.config import ModelConfig
from pages.embeddings.shared import PREFIX, choice, keep, read

COLUMNS = (12, 8)        # tokens that are shown, usually and in present mode
HEIGHT = (330, 520)      # least and most px of the picture
FOOT = (34, 44)          # px of the sum below it, usually and in present mode
SHOWN = 3                # terms of a sum that are written out
HERE = Path(__file__).parent
# E and below it h, beside them E turned round and below it u and y, for a few tokens of the vocabulary
_picture = declare(
    "embedding_pair", HERE / "pair.js",
    html='<div class="pair-view"><div class="scroll">'
         '<div class="stage" tabindex="0" role="listbox"><canvas></canvas></div></div>'
         '<div class="tip" hidden></div><div class="sum" aria-live="polite"></div></div>',
    styles=(PATTERN_CSS, HERE / "pair.css"))


def stands(run: Run) -> bool:
    """Whether the model's last vector is multiplied by word embeddings to say which token comes next."""
    return not run.is_encoder and run.trace.h_head is None


def title(page: Lesson, run: Run, said: str) -> None:
    """Draw the title of the picture, and beside it the choice between the way in and the way out."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}uses"):
        st.markdown(f"**{said}**", width="stretch")
        if stands(run):
            choice(page, "use")


def is_picked(run: Run) -> bool:
    """Whether the way out is shown."""
    return read("use") == "out" and stands(run)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the picture for the token that was read last; return what it shows."""
    at, ids = reader.selection().position, tokens(run)
    j = read("picked") if read("picked") in ids else ids[0]
    tied = "tied" if run.model.config.tied_embeddings else "untied"
    said = page.label(f"pair_title_{tied}", token=code(run.tokenizer.visible(j)), j=str(j))
    title(page, run, said)
    _draw_picture(page, run, at, ids, j)
    size, n = len(run.model.unembedding), len(run.token_ids)
    counts = sorted({len(set(run.token_ids)), n, run.model.config.d_model, size})
    question = page.question("pair", [grouped(count) for count in counts], counts.index(size), n=n, v=size)
    return Reading(_lines(page, run, at, j), question, [distribution], {"logits.csv": lambda: _table(run, at)},
                   ".pair-view canvas", said)


def tokens(run: Run) -> list[int]:
    """The ids of the tokens that are shown: the most probable ones, the one read last and the picked one, most probable
    first.
    """
    at, y = reader.selection().position, distribution(run, reader.selection().position)
    own = {run.token_ids[at], *({read("picked")} & set(range(len(y))))}
    best = y.topk(min(COLUMNS[reader.present()], len(y))).indices.tolist()
    return sorted([*[j for j in best if j not in own][:len(best) - len(own)], *own], key=lambda j: -float(y[j]))


def distribution(run: Run, at: int) -> Tensor:
    """(|V|,) y of the token after place `at`, float64."""
    return run.trace.logits[at].detach().to("cpu", torch.float64).softmax(-1)


def _draw_picture(page: Lesson, run: Run, at: int, ids: list[int], j: int) -> None:
    E, U, h = (tensor.detach().to("cpu").float() for tensor in (run.model.E, run.model.unembedding,
                                                                 run.trace.h_final[at]))
    y, present = distribution(run, at), reader.present()
    out = "Eᵀ" if run.model.config.tied_embeddings else "W_Uᵀ"
    shapes = {"in": dict(v=grouped(len(E)), d=E.shape[1]), "out": dict(v=grouped(len(U)), d=U.shape[1], E=out),
              "h": dict(token=run.tokens[at], n=run.model.config.n_layers, d=len(h)), "terms": {},
              "u": {"E": out}, "y": {}, "entry": {}, "number": {}, "keys": {}}
    header = {"ids": ids, "tokens": [run.tokenizer.visible(k) for k in ids], "picked": ids.index(j), "out": out,
              "text": {name: page.label(f"pair_{name}", **values) for name, values in shapes.items()},
              "products": [plain_number(float(U[k].double() @ h.double()), 2) for k in ids],
              "u": [plain_number(float(run.trace.logits[at, k]), 2) for k in ids],
              "y": [float(y[k]) for k in ids], "percent": [percent(float(y[k])) for k in ids],
              "reads": [_read(page, run, k) for k in ids], "sums": [_sum(page, run, at, k) for k in ids],
              "widths": [E.shape[1], U.shape[1]], "least": HEIGHT[0], "most": HEIGHT[1], "foot": FOOT[present],
              "scale": reader.scale(), "theme": reader.theme()}
    arrays = {"E": E[ids].numpy(), "U": U[ids].numpy(), "h": h.numpy()}
    _picture(key=f"{PREFIX}pair", data=pack(header, arrays), on_settings=lambda values: keep(picked=values["picked"]))


def _read(page: Lesson, run: Run, j: int) -> str:
    """The token's places in the text, in words."""
    places = [str(i) for i, token in enumerate(run.token_ids) if token == j]
    return page.label("pair_read" if places else "pair_unread", token=run.tokenizer.visible(j),
                      places=", ".join(places[:SHOWN]) + (" …" if len(places) > SHOWN else ""))


def _sum(page: Lesson, run: Run, at: int, j: int) -> str:
    """The logit of token j as the sum of its terms, and its share of all exponentials."""
    h, row, logits = (tensor.detach().to("cpu", torch.float64) for tensor in (
        run.trace.h_final[at], run.model.unembedding[j], run.trace.logits[at]))
    two = [[_operand(float(value)) for value in vector[:SHOWN]] for vector in (h, row)]
    u, product = float(logits[j]), float(h @ row)
    made = "" if _is_plain(run.model.config) else page.label("pair_made", u=plain_number(u, 2))
    return page.label("pair_sum", terms=" + ".join(" · ".join(pair) for pair in zip(*two)), n=len(h) - SHOWN,
                      product=plain_number(product, 2), made=made, u=plain_number(u, 2),
                      total=plain_number(float(logits.logsumexp(0)), 2), y=percent(float(logits.softmax(-1)[j])))


def _operand(value: float) -> str:
    text = plain_number(value, 2)
    return f"({text})" if value < 0 else text


def _is_plain(config: ModelConfig) -> bool:
    """Whether h times the row is the logit itself, without a scale, a bias or a cap."""
    return config.head.logit_scale == 1 and not config.head.unembedding_bias and not config.head.logit_cap


def _lines(page: Lesson, run: Run, at: int, j: int) -> list[tuple[str, str]]:
    """The picked token's logit and probability, and the same in the symbols of the matrix-softmax form (deck D)."""
    u, config = run.trace.logits[at].to("cpu", torch.float64), run.model.config
    h, row = (vector.detach().to("cpu", torch.float64) for vector in (run.trace.h_final[at], run.model.unembedding[j]))
    E = "E" if config.tied_embeddings else "W_U"
    terms = " + ".join(rf"{bracketed(latex_number(float(a)))} \cdot {bracketed(latex_number(float(b)))}"
                       for a, b in zip(h[:SHOWN], row[:SHOWN]))
    product = latex_number(float(h @ row))
    logit, total = latex_number(float(u[j])), latex_number(float(u.logsumexp(0)))
    words = {"token": code(run.tokenizer.visible(j)), "j": str(j), "E": E}
    W = r"W_{\mathcal{T}}" if config.tied_embeddings else r"W_U^{\mathsf T}"
    return [(page.label("pair_numbers_logit", **words),
             rf"h_N^L \cdot {E}_{{{j}}} = \sum_c h_c\,{E}_{{{j},c}} = {terms} + \dots = {product}"),
            (page.label("pair_numbers", **words,
                        added=page.label("pair_numbers_added") if config.head.unembedding_bias else ""),
             rf"u_{{{j}}} = {_logit_latex(config, E, j)} = {logit}, \qquad y_{{{j}}} = "
             rf"\frac{{e^{{u_{{{j}}}}}}}{{\sum_k e^{{u_k}}}} = e^{{{logit} - {total}}} = "
             rf"{latex_number(float((u[j] - u.logsumexp(0)).exp()))}"),
            (page.label("pair_numbers_forms"),
             rf"e(\tau_j) = \mathbb{{1}}_j\,W_{{\mathcal{{T}}}}^{{\mathsf T}}, \qquad "
             rf"\pi_t = \mathrm{{softmax}}(e(c_t)\,{W})")]


def _logit_latex(config: ModelConfig, E: str, j: int) -> str:
    """LaTeX of the logit of token j: its row times the last vector, with the model's scale, bias and cap."""
    logit = rf"h_N^L \cdot {E}_{{{j}}}"
    if config.head.logit_scale != 1:
        logit = rf"{latex_number(config.head.logit_scale)} \cdot {logit}"
    logit += f" + b_{{{j}}}" if config.head.unembedding_bias else ""
    cap = latex_number(config.head.logit_cap)
    return rf"{cap} \tanh\left(({logit}) / {cap}\right)" if config.head.logit_cap else logit


def _table(run: Run, at: int) -> pd.DataFrame:
    """Every token with its logit and probability."""
    u, y = run.trace.logits[at].detach().to("cpu", torch.float64), distribution(run, at)
    return pd.DataFrame({"id": range(len(u)), "token": map(run.tokenizer.visible, range(len(u))), "u": u, "y": y})
