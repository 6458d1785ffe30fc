"""The part below the instrument, on the picked head, query and key: the numbers, the question, the code."""
import numpy as np
import pandas as pd
import torch

from core.analysis import stream_and_heads
from core.analysis.attention_steps import Steps, head_steps, is_scaled
from core.app.lesson import Lesson, Question, Reading
from core.app.state import Run
from core.base.markdown import code
from core.figures import heads as figures
from core.figures.heads import head_name, product_latex, scaled_latex
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability, readable
from core.model import attention
from core.model.block import Attention
from core.model.config import ModelConfig
from core.model.trace import BlockTrace
from pages.heads import panel_numbers
from pages.heads.shared import PREFIX, Pair, Patterns, divergence_of, patterns_of, picked, title_of
from pages.heads.words import counts

ADDED_TO_SCORES = ("alibi", "relative")     # position schemes that add to the scores
COLUMNS = {"dot": ("q_c", "k_c"), "multiplicative": ("(q W_S)_c", "k_c"), "additive": ("v_c", "tanh(q_c + k_c)")}
TERMS = 3          # of the dot product that are written out; the rest are in the CSV


def reading(page: Lesson, run: Run) -> Reading:
    """The wall's reading of the picked head, query and key."""
    pair, patterns = picked(run)
    functions = [Attention.attend_traced, Attention.write, attention.dot_product_scores, attention.masked_softmax,
                 BlockTrace.head_contribution.fget, stream_and_heads.previous_token_score,
                 stream_and_heads.next_token_score if run.is_encoder else stream_and_heads.induction_score,
                 stream_and_heads.rollout]
    data = {"heads.csv": lambda: figures.statistics_table(patterns.measures),
            "weights.csv": lambda: weights_table(page, run, pair), "products.csv": lambda: products_table(run, pair)}
    lines = panel_numbers.lines(page, run, pair) + number_lines(page, run, pair)
    return Reading(lines, _question(page, run), functions, data, f".st-key-{PREFIX}wall canvas.tiles",
                   twin(page, run, pair, patterns), weights_table(page, run, pair))


def steps_of(run: Run, pair: Pair) -> Steps:
    """The picked query's row, worked out in float64 as a calculator would."""
    return head_steps(run.trace.blocks[pair.layer], run.model.blocks[pair.layer], pair.head, pair.query)


def factors(run: Run, pair: Pair, steps: Steps) -> tuple[np.ndarray, np.ndarray]:
    """The factors of the picked pair's score, (d_k,) float64 each: the query (as rotated, and times W_S if
    the model has one) and the key; or, if scores are additive, v and tanh(q + k).
    """
    q, k, v_S = steps.q, steps.K[pair.key], run.model.blocks[pair.layer].v_S
    left, right = (q, k) if v_S is None else (v_S[pair.head].detach().double().cpu(), torch.tanh(q + k))
    return left.numpy(), right.numpy()


def number_lines(page: Lesson, run: Run, pair: Pair) -> list[tuple[str, str]]:
    """The sum of products, the score, the exponential, the row's sum and α.

    What is used again has more digits, so that a calculator arrives at the same four.
    """
    steps, config, i, j = steps_of(run, pair), run.model.config, pair.query, pair.key
    left, right = factors(run, pair, steps)
    d_k, product, score = len(left), latex_operand(steps.products[j]), latex_operand(steps.scores[j])
    terms = ([rf"({latex_number(a)})({latex_number(b)})" for a, b in zip(left[:TERMS], right[:TERMS])]
             + [r"\cdots"] * (d_k > TERMS))
    scaled, biased = is_scaled(run.model.blocks[pair.layer]), config.positions in ADDED_TO_SCORES
    divided = scaled_latex(product, config)
    bias = f" + {bracketed(latex_operand(steps.bias[j]))}" if biased else ""
    lines = [(page.label("numbers_product", query_token=code(run.tokens[i]), i=i, key_token=code(run.tokens[j]), j=j,
                         d_k=d_k, head=pair.name),
              rf"\begin{{aligned}} {product_latex(config, i, j)} &= " + r" \\ &\quad + ".join(terms)
              + rf" \\ &= {product} \end{{aligned}}"),
             (page.label("numbers_score" + ("_own" if own_scores(config) else "" if scaled else "_plain")
                         + "_bias" * biased),
              rf"s_{{{i},{j}}} = {divided}{bias} = {score}")]
    if not steps.allowed[j]:
        masked = "numbers_masked" if j > i else "numbers_masked_window"
        return [*lines, (page.label(masked, window=config.scores.window),
                         rf"s = -\infty \quad\Rightarrow\quad \alpha_{{{i},{j}}} = 0")]
    own, total = (latex_operand(value) for value in (steps.exponentials[j], steps.exponentials.sum() + steps.sunk))
    beside = "" if steps.sink is None else " + e^{s_{sink} - m}"
    return [*lines,
            (page.label("numbers_exp", m=plain_number(steps.top, 6)),
             rf"e^{{s - m}} = e^{{{score} - {bracketed(latex_operand(steps.top))}}} = {own}"),
            (page.label("numbers_alpha_sink" if steps.sink is not None else "numbers_alpha",
                        n=int(steps.allowed.sum()), sink=plain_number(steps.sunk, 6)),
             rf"\alpha_{{{i},{j}}} = \frac{{e^{{s-m}}}}{{\sum_j e^{{s_j - m}}{beside}}} = "
             rf"\frac{{{own}}}{{{total}}} = {latex_number(steps.weights[j])}")]


def own_scores(config: ModelConfig) -> bool:
    """Whether a model makes its scores otherwise than by a division by √d_k or none: by another divisor, or a cap."""
    return config.scores.score_divisor > 0 or config.scores.score_cap > 0


def weights_table(page: Lesson, run: Run, pair: Pair) -> pd.DataFrame:
    """The softmax of the picked query's row: key, score, e^(s − m), α."""
    steps = steps_of(run, pair)
    keys = np.flatnonzero(steps.allowed)
    scores, exponentials, weights = steps.scores, steps.exponentials, steps.weights
    columns = {"key": [run.tokens[j] for j in keys], "score": [plain_number(scores[j], 6) for j in keys],
               "exp": [plain_number(exponentials[j], 6) for j in keys],
               "weight": [plain_number(weights[j]) for j in keys]}
    return pd.DataFrame({"j": keys} | {page.label(f"column_{name}"): values for name, values in columns.items()})


def products_table(run: Run, pair: Pair) -> pd.DataFrame:
    """Every term of the picked pair's sum of products."""
    left, right = factors(run, pair, steps_of(run, pair))
    a, b = COLUMNS[run.model.config.score]
    return pd.DataFrame({"c": range(len(left)), a: left, b: right, f"{a} {b}": left * right})


def twin(page: Lesson, run: Run, pair: Pair, patterns: Patterns) -> str:
    """The picture as one sentence."""
    config = run.model.config
    row = patterns.values[pair.layer, pair.head, pair.query]
    return page.label("twin", n=config.n_layers * config.n_heads, **counts(patterns),
                      title=title_of(page, patterns, pair),
                      query_token=code(run.tokens[pair.query]), key_token=code(run.tokens[int(row.argmax())]),
                      share=probability(row.max()))


def suspects(run: Run) -> list[tuple[int, int]]:
    """Four heads for the question: the strongest previous-token and first-token head, the sharpest and the most spread,
    each once; the first heads fill up.
    """
    measures = patterns_of(run).measures
    found = [int(np.nan_to_num(measures[name], nan=-1.0).argmax())
             for name in ("previous_token", "first_token", "entropy")]
    found.append(int(np.nan_to_num(measures["entropy"], nan=np.inf).argmin()))
    n_heads = measures["entropy"].shape[1]
    distinct = list(dict.fromkeys([*found, *range(measures["entropy"].size)]))[:min(4, measures["entropy"].size)]
    return [divmod(index, n_heads) for index in sorted(distinct)]


def _question(page: Lesson, run: Run) -> Question:
    """Ask which of four heads, switched off, changes the next token's distribution most."""
    heads, at = suspects(run), run.asked
    names, headless = [head_name(layer, head) for layer, head in heads], "" if run.has_head else "_headless"

    def solve() -> tuple[int, str]:
        divergences = [divergence_of(run, layer, head, at) for layer, head in heads]
        found = ", ".join(page.label("check_one", head=name, kl=readable(kl)) for name, kl in zip(names, divergences))
        return int(np.argmax(divergences)), page.label(f"check_because{headless}", found=found)

    asked = page.label(f"check{headless}", token=code(run.tokens[at]), i=at)
    return Question("knockout", asked, names, solve, about=(run.model_name, run.token_ids))
