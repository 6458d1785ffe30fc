"""Both uses of the word embeddings, one below the other: a one-hot row makes a token a vector, and the softmax of the
context's vector times the same matrix, turned round, makes the next token's distribution (deck D, matrix-softmax form).
"""
import streamlit as st
import torch
from torch import Tensor

from core.app.base.markdown import code
from core.app.frame import Lesson
from core.app.state import Run
from core.figures.numbers import grouped, latex_number, percent, plain_number
from core.model.config import ModelConfig
from pages.embeddings.shared import PREFIX

SHOWN, MOST = 3, 3        # numbers of a vector, and tokens of a distribution, that are written out


def stands(run: Run) -> bool:
    """Whether the model's last vector is multiplied by word embeddings to say which token comes next."""
    return not run.is_encoder and run.trace.h_head is None


def draw(page: Lesson, run: Run, at: int) -> None:
    """Draw the pair for the token at a place: what it becomes, and what comes next after the text up to it."""
    E, W = run.model.E.detach(), run.model.unembedding.detach()
    tied, (size, d) = run.model.config.tied_embeddings, map(grouped, E.shape)
    sides = {"in": (r"e(\tau_j) = \mathbb{1}_j\,W_{\mathcal{T}}^{\mathsf T}",
                    f"[1 × {size}] · [{size} × {d}] = [1 × {d}]", _reads(page, run, E, at)),
             "out": (r"\pi_t = \mathrm{softmax}(e(c_t)\,%s)" % (r"W_{\mathcal{T}}" if tied else r"W_U^{\mathsf T}"),
                     f"[1 × {d}] · [{d} × {grouped(len(W))}] = [1 × {grouped(len(W))}]", _says(page, run, at))}
    with st.container(key=f"{PREFIX}pair"):
        st.markdown(page.label("pair_title_tied" if tied else "pair_title_untied"))
        for place, (name, (formula, shape, said)) in zip(st.columns(2, gap="medium"), sides.items()):
            with place.container(border=True, key=f"{PREFIX}pair_{name}"):
                st.markdown(f"**{page.label(f'pair_{name}')}**  \n${formula}$  \n{shape}  \n{said}")


def _reads(page: Lesson, run: Run, E: Tensor, at: int) -> str:
    j = run.token_ids[at]
    return page.label("pair_reads", token=code(run.tokens[at]), j=grouped(j), numbers=_numbers(E[j]))


def _says(page: Lesson, run: Run, at: int) -> str:
    best = ", ".join(f"{code(run.tokenizer.visible(i))} {percent(p)}"
                     for p, i in zip(*(each.tolist() for each in distribution(run, at).topk(MOST))))
    return page.label("pair_says", token=code(run.tokens[at]), numbers=_numbers(run.trace.h_final[at]), tokens=best)


def distribution(run: Run, at: int) -> Tensor:
    """(|V|,) π of the token after place `at`, float64."""
    return run.trace.logits[at].detach().to("cpu", torch.float64).softmax(-1)


def line(page: Lesson, run: Run, at: int) -> tuple[str, str]:
    """The caption and the formula of the most probable next token's entry of π."""
    u, pi = run.trace.logits[at].to("cpu", torch.float64), distribution(run, at)
    j, config = int(pi.argmax()), run.model.config
    product, others = (_logit_latex(config, k) for k in (j, "k"))
    return (page.label("pair_numbers", token=code(run.tokenizer.visible(j)), j=grouped(j),
                       E="E" if config.tied_embeddings else "W_U",
                       added=page.label("pair_numbers_added") if config.unembedding_bias else ""),
            rf"{product} = {latex_number(float(u[j]))}, \qquad \pi_{{t,{j}}} = "
            rf"\frac{{e^{{{latex_number(float(u[j]))}}}}}{{\sum_k e^{{{others}}}}} = "
            rf"e^{{{latex_number(float(u[j]))} - {latex_number(float(u.logsumexp(0)))}}} = "
            rf"{latex_number(float(pi[j]))}")


def _logit_latex(config: ModelConfig, k: int | str) -> str:
    """LaTeX of the logit of token k: its row times the last vector, with the model's scale, bias and cap."""
    logit = rf"e(c_t) \cdot e(\tau_{{{k}}})"
    if config.logit_scale != 1:
        logit = rf"{latex_number(config.logit_scale)} \cdot {logit}"
    logit += f" + b_{{{k}}}" if config.unembedding_bias else ""
    cap = latex_number(config.logit_cap)
    return rf"{cap} \tanh\left(({logit}) / {cap}\right)" if config.logit_cap else logit


def _numbers(vector: Tensor) -> str:
    return "(" + ", ".join(plain_number(value, 2) for value in vector[:SHOWN].tolist()) + ", …)"
