"""What stands below the instrument and follows the picked head, query and key: the numbers, the question, the code."""
import math

import numpy as np
import pandas as pd

from core.analysis import stream_and_heads
from core.app.base.markdown import code
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run
from core.figures import heads as figures
from core.figures.heads import head_name, product_latex
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number, probability
from core.model import attention
from core.model.trace import BlockTrace
from pages.heads.shared import PREFIX, Pair, divergence_of, patterns_of, picked_pair, title_of
from pages.heads.words import counts

ADDED_TO_SCORES = ("alibi", "relative")     # position schemes that add to the scores
COLUMNS = {"dot": ("q_c", "k_c"), "multiplicative": ("(q W_S)_c", "k_c"), "additive": ("v_c", "tanh(q_c + k_c)")}
TERMS = 3          # of the dot product that are written out; the rest are in the CSV


def reading(page: Lesson, run: Run) -> Reading:
    """What the wall shows of the picked head, query and key."""
    pair, patterns = picked_pair(run), patterns_of(run)
    functions = [attention.dot_product_scores, attention.masked_softmax, BlockTrace.head_contribution.fget,
                 stream_and_heads.previous_token_score,
                 stream_and_heads.next_token_score if run.is_encoder else stream_and_heads.induction_score,
                 stream_and_heads.rollout]
    data = {"heads.csv": lambda: figures.statistics_table(patterns.measures),
            "weights.csv": lambda: weights_table(page, run, pair), "products.csv": lambda: products_table(run, pair)}
    return Reading(number_lines(page, run, pair), _question(page, run), functions, data,
                   f".st-key-{PREFIX}wall canvas.tiles", twin(page, run, pair), weights_table(page, run, pair))


def factors(run: Run, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """What is multiplied and added up for every key of the picked query, (d_k,) and (N, d_k) float64: the query (as
    rotated, and times W_S if the model has one) and the keys; or, where scores are additive, v and tanh(q + k).
    """
    block, own, config = run.trace.blocks[pair.layer], run.model.blocks[pair.layer], run.model.config
    shared = pair.head // (config.n_heads // config.n_kv_heads)
    q, K = (t.double().cpu().numpy() for t in (block.Q_rotated[pair.head, pair.query], block.K_rotated[shared]))
    if config.score == "additive":
        return own.v_S[pair.head].double().cpu().numpy(), np.tanh(q + K)
    return (q @ own.W_S[pair.head].double().cpu().numpy() if config.score == "multiplicative" else q), K


def is_divided(run: Run) -> bool:
    """Whether the sum is divided by √d_k."""
    return run.model.config.scale_scores and run.model.config.score != "additive"


def row_of(run: Run, pair: Pair) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The picked query's row, worked from its shown factors in float64 as a calculator would: their sums of products,
    what positions add to the score, the score before the mask, and which keys the query may see; (N,) each.
    """
    block = run.trace.blocks[pair.layer]
    own, of_keys = factors(run, pair)
    products = of_keys @ own
    scaled = products / math.sqrt(len(own)) if is_divided(run) else products
    added = (block.scores[pair.head, pair.query].double().cpu().numpy() - scaled
             if run.model.config.positions in ADDED_TO_SCORES else np.zeros(len(scaled)))
    return products, added, scaled + added, block.allowed[pair.query].cpu().numpy()


def number_lines(page: Lesson, run: Run, pair: Pair) -> list[tuple[str, str]]:
    """The sum of products, the score, the exponential, the row's sum and α.

    What is used again has more digits, so that a calculator arrives at the same four.
    """
    q, k = (found[pair.key] if found.ndim == 2 else found for found in factors(run, pair))
    products, added, scores, allowed = row_of(run, pair)
    d_k, product, score = len(q), float(products[pair.key]), float(scores[pair.key])
    terms = ([rf"({latex_number(a)})({latex_number(b)})" for a, b in zip(q[:TERMS], k[:TERMS])]
             + [r"\cdots"] * (d_k > TERMS))
    lines = [(page.label("numbers_product", query_token=code(run.tokens[pair.query]), i=pair.query,
                         key_token=code(run.tokens[pair.key]), j=pair.key, d_k=d_k, head=pair.name),
              rf"\begin{{aligned}} {product_latex(run.model.config, pair.query, pair.key)} &= "
              + r" \\ &\quad + ".join(terms) + rf" \\ &= {latex_operand(product)} \end{{aligned}}")]
    divided = rf"\frac{{{latex_operand(product)}}}{{\sqrt{{{d_k}}}}}" if is_divided(run) else latex_operand(product)
    bias = f" + {bracketed(latex_operand(added[pair.key]))}" if run.model.config.positions in ADDED_TO_SCORES else ""
    lines.append((page.label(("numbers_score" if is_divided(run) else "numbers_score_plain") + "_bias" * bool(bias)),
                  rf"s_{{{pair.query},{pair.key}}} = {divided}{bias} = {latex_operand(score)}"))
    if not allowed[pair.key]:
        return [*lines, (page.label("numbers_masked" if pair.key > pair.query else "numbers_masked_window",
                                    window=run.model.config.window),
                         rf"s = -\infty \quad\Rightarrow\quad \alpha_{{{pair.query},{pair.key}}} = 0")]
    top = scores[allowed].max()
    own, total = math.exp(score - top), np.exp(scores[allowed] - top).sum()
    return [*lines,
            (page.label("numbers_exp", m=plain_number(top, 6)),
             rf"e^{{s - m}} = e^{{{latex_operand(score)} - {bracketed(latex_operand(top))}}} = {latex_operand(own)}"),
            (page.label("numbers_alpha", n=int(allowed.sum())),
             rf"\alpha_{{{pair.query},{pair.key}}} = \frac{{e^{{s-m}}}}{{\sum_j e^{{s_j - m}}}} = "
             rf"\frac{{{latex_operand(own)}}}{{{latex_operand(total)}}} = {latex_number(own / total)}")]


def weights_table(page: Lesson, run: Run, pair: Pair) -> pd.DataFrame:
    """The softmax of the picked query's row: key, score, e^(s − m), α."""
    _, _, scores, allowed = row_of(run, pair)
    keys = np.flatnonzero(allowed)
    exponentials = np.exp(scores[keys] - scores[keys].max())
    weights = exponentials / exponentials.sum()
    return pd.DataFrame({"j": keys, page.label("column_key"): [run.tokens[j] for j in keys],
                         page.label("column_score"): [plain_number(s, 6) for s in scores[keys]],
                         page.label("column_exp"): [plain_number(e, 6) for e in exponentials],
                         page.label("column_weight"): [plain_number(w) for w in weights]})


def products_table(run: Run, pair: Pair) -> pd.DataFrame:
    """Every term of the picked pair's sum of products."""
    own, of_keys = factors(run, pair)
    a, b = COLUMNS[run.model.config.score]
    return pd.DataFrame({"c": range(len(own)), a: own, b: of_keys[pair.key], f"{a} {b}": own * of_keys[pair.key]})


def twin(page: Lesson, run: Run, pair: Pair) -> str:
    """The picture as one sentence."""
    patterns = patterns_of(run)
    roles = figures.roles(patterns.measures)
    row = patterns.values[pair.layer, pair.head, pair.query]
    return page.label("twin", n=roles.size, **counts(patterns),
                      title=title_of(page, patterns.measures, roles[pair.layer, pair.head], pair.layer, pair.head),
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
    """Which of four heads, switched off alone, changes the next token's distribution most?"""
    heads, at = suspects(run), run.asked
    names, headless = [head_name(layer, head) for layer, head in heads], "" if run.has_head else "_headless"

    def solve() -> tuple[int, str]:
        divergences = [divergence_of(run, layer, head, at) for layer, head in heads]
        found = ", ".join(page.label("check_one", head=name, kl=f"{kl:.3g}") for name, kl in zip(names, divergences))
        return int(np.argmax(divergences)), page.label(f"check_because{headless}", found=found)

    asked = page.label(f"check{headless}", token=code(run.tokens[at]), i=at)
    return Question("knockout", asked, names, solve, about=(run.model_name, run.token_ids))
