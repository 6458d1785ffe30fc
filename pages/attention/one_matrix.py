"""One matrix for both: W_Q W_Kᵀ of a head, which alone decides its products, and how few directions it has."""
import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import symmetries
from core.app.lesson import Lesson, Question, Reading
from core.app.state import Run, reader
from core.app.state.run import selection
from core.base.markdown import code
from core.figures import heads as figures
from core.figures.heads import head_name
from core.figures.numbers import grouped, latex_number, latex_operand, readable
from pages.attention.shared import PREFIX, between, picked_block, show

PICTURE = f".st-key-{PREFIX}singular"
CHART, CHART_PRESENT = 330, 300     # pixels
SHOWN = 2           # times d_k: how many singular values are drawn


def of_head(run: Run) -> tuple[Tensor, Tensor, Tensor]:
    """x (N, d + 1), with a 1 behind it for the biases, M = W_Q W_Kᵀ (d + 1, d + 1), and the products q·k (N, N) that
    the model itself makes, before it norms or turns them; all float64.
    """
    block, weights = picked_block(run)
    head, config = selection(run).head, run.model.config
    shared = head // (config.n_heads // config.n_kv_heads)
    M = symmetries.score_matrix(weights, head)
    x = block.X.detach().double().cpu()
    x = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], 1)
    return x, M, block.Q[head].double().cpu() @ block.K[shared].double().cpu().T


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the singular values; return what they show."""
    config, name = run.model.config, head_name(selection(run).layer, selection(run).head)
    x, M, products = of_head(run)
    values = torch.linalg.svdvals(M[:config.d_model, :config.d_model]).numpy()
    drawn = values[:min(len(values), SHOWN * config.d_k)]
    rank = int((values > values[0] * len(values) * np.finfo(np.float64).eps).sum())
    title = page.label("roles_product_title", head=name, d=config.d_model, rank=rank,
                       difference=readable(float((x @ M @ x.T - products).abs().max())))
    st.markdown(f"**{title}**")
    chart = figures.singular_values(drawn, config.d_k, (page.label("roles_product_x"), page.label("roles_product_y")),
                                    page.label("roles_product_rank", n=config.d_k), reader.theme(), reader.scale(),
                                    CHART_PRESENT if reader.present() else CHART)
    show(chart, "singular")
    why = between(config)
    held = f"roles_product_why_{why}"
    page.note(page.label("roles_product_note", h=config.n_heads, d_k=config.d_k, d=config.d_model,
                         wide=config.n_heads * config.d_k)
              + (f" {page.label(held)}" if held in page.words.labels else ""))
    return Reading(_lines(page, run, x, M, products, values), _question(page, run),
                   [symmetries.score_matrix], {"singular_values.csv": lambda: pd.DataFrame({"value": values})}, PICTURE,
                   title, summary={page.label("roles_summary_rank"): str(rank)})


def _lines(page: Lesson, run: Run, x: Tensor, M: Tensor, products: Tensor,
           values: np.ndarray) -> list[tuple[str, str]]:
    """One product of the picked query, from q and k and from the one matrix, and the edge of the singular values."""
    i, config, d = selection(run).position, run.model.config, run.model.config.d_model
    j = int(picked_block(run)[0].pattern[selection(run).head, i].argmax())
    rest = float(x[i] @ M @ x[j]) - float(x[i, :d] @ M[:d, :d] @ x[j, :d])
    tokens = {"query": code(run.tokens[i]), "other": code(run.tokens[j])}
    lines = [(page.label("roles_numbers_one", **tokens, d=d),
              rf"x_{{{i}}} (W_Q W_K^{{\mathsf T}})\, x_{{{j}}}^{{\mathsf T}} = "
              rf"{latex_operand(float(x[i, :d] @ M[:d, :d] @ x[j, :d]))}")]
    if config.attention_bias:
        lines.append((page.label("roles_numbers_biases"),
                      rf"x_{{{i}}} W_Q b_K^{{\mathsf T}} + b_Q W_K^{{\mathsf T}} x_{{{j}}}^{{\mathsf T}} + b_Q "
                      rf"b_K^{{\mathsf T}} = {latex_operand(rest)}"))
    lines.append((page.label("roles_numbers_two", d_k=config.d_k),
                  rf"q_{{{i}}} \cdot k_{{{j}}} = {latex_number(float(products[i, j]))}"))
    edge = config.d_k
    if edge < len(values):
        lines.append((page.label("roles_numbers_edge", n=edge, next=edge + 1),
                      rf"{latex_number(values[edge - 1])}, \qquad {latex_number(values[edge])}"))
    return lines


def _question(page: Lesson, run: Run) -> Question:
    """The rank of the sum of all heads' matrices of the block, at most."""
    config = run.model.config
    d, d_k, h = config.d_model, config.d_k, config.n_heads
    options = sorted({d_k, min(d, h * d_k), d * d, h})
    return page.question("roles_product", [grouped(option) for option in options], options.index(min(d, h * d_k)),
                         h=h, d_k=d_k, d=d, all=min(d, h * d_k))
