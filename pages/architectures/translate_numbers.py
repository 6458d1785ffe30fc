"""The numbers of a translation, worked out for the picked token and head, and its tables."""
import numpy as np
import pandas as pd

from core.app.lesson import Lesson
from core.base.markdown import code
from core.figures.numbers import bracketed, latex_number, latex_operand, plain_number
from core.model.trace import BlockTrace, CrossTrace
from pages.architectures.shared import probabilities
from pages.architectures.translate_work import HeldOut, Translation, patterns

MOST_FACTORS = 16           # of a written-out product; the table has all probabilities


def lines(page: Lesson, pair: Translation, block: int, head: int, step: int) -> list[tuple[str, str]]:
    """The product of all probabilities, the score and the weight of the strongest source token, and the shapes."""
    p, cross = pair.probabilities, pair.trace.blocks[block].cross
    factors = [*map(latex_operand, p)]
    product = r" \cdot ".join(factors if len(p) <= MOST_FACTORS else [*factors[:3], r"\ldots", factors[-1]])
    strongest = int(cross.pattern[head, step].argmax())
    scores, (dot, width) = cross.scores[head, step].double(), _dot(cross, head, step, strongest)
    score, total = latex_operand(scores[strongest]), bracketed(latex_operand(scores.logsumexp(-1)))
    place = {"token": code(pair.target_tokens[step]), "source": code(pair.source_tokens[strongest]),
             "head": f"{block}.{head}"}
    n, m = len(p), len(pair.source)
    scaled = pair.model.model.config.scores.scale_scores
    match, divisor = r"q \cdot k", r" / \sqrt{d_k}" if scaled else ""
    if scaled:
        match = rf"\frac{{{match}}}{{\sqrt{{d_k}}}} = \frac{{{latex_operand(dot)}}}{{\sqrt{{{width}}}}}"
    return [(page.label("translate_numbers_p"),
             rf"p(y_{{1:{n}}}) = \prod_t p(y_t \mid y_{{<t}}, x) = {product} = {latex_number(p.prod())}"),
            (page.label("translate_numbers_score" if scaled else "translate_numbers_score_unscaled", **place),
             rf"{match} = {latex_number(scores[strongest])}"),
            (page.label("translate_numbers_weight", **place),
             rf"\alpha = \frac{{e^{{q \cdot k{divisor}}}}}{{\sum_j e^{{q \cdot k_j{divisor}}}}} = "
             rf"e^{{{score} - {total}}} = {latex_number(probabilities(scores)[strongest])}"),
            *_biased(page, pair, block, head, step),
            (page.label("translate_numbers_shapes"),
             rf"\text{{encoder }} [{m} \times {m}], \quad \text{{decoder }} [{n} \times {n}], \quad \text{{cross }} "
             rf"[{n} \times {m}]")]


def mean_lines(page: Lesson, pair: Translation, block: int, step: int) -> list[tuple[str, str]]:
    """The weight shown with the mean of all heads: the strongest source token's."""
    weights = pair.trace.blocks[block].cross.pattern[:, step].double()
    mean = weights.mean(0)
    strongest = int(mean.argmax())
    added = " + ".join(latex_operand(weight) for weight in weights[:, strongest])
    return [(page.label("translate_numbers_mean", block=block, token=code(pair.target_tokens[step]),
                        source=code(pair.source_tokens[strongest])),
             rf"\bar\alpha = \frac{{{added}}}{{{len(weights)}}} = {latex_number(mean[strongest])}")]


def _biased(page: Lesson, pair: Translation, block: int, head: int, step: int) -> list[tuple[str, str]]:
    """The calculation of a score in the decoder's self-attention with a learned bias of the distance; empty in a model
    with other positions.
    """
    config, attn = pair.model.model.config, pair.trace.blocks[block]
    if config.positions != "relative":
        return []
    key = int(attn.pattern[head, step].argmax())
    (dot, width), score = _dot(attn, head, step, key), float(attn.scores[head, step, key])
    match = dot / (width ** 0.5 if config.scores.scale_scores else 1.0)
    place = {"head": f"{block}.{head}", "query": code(pair.input_tokens[step]), "read": code(pair.input_tokens[key]),
             "distance": step - key}
    return [(page.label("translate_numbers_bias", **place),
             rf"{latex_operand(match)} + {bracketed(latex_operand(score - match))} = {latex_number(score)}")]


def _dot(attention: CrossTrace | BlockTrace, head: int, query: int, key: int) -> tuple[float, int]:
    """q · k of a head, float64, and the number of components of q; several query heads may share one key head."""
    q = attention.Q[head, query].double()
    return float(q @ attention.K[head // (len(attention.Q) // len(attention.K)), key].double()), len(q)


def weights_table(page: Lesson, pair: Translation, cross: CrossTrace, head: int, step: int) -> pd.DataFrame:
    """One row of a head's cross-attention: every source token with its score and weight."""
    scores = cross.scores[head, step].double()
    rows = zip(pair.source_tokens, map(plain_number, scores), map(plain_number, probabilities(scores)))
    return page.table(rows, "source", "score", "weight")


def token_table(page: Lesson, pair: Translation) -> pd.DataFrame:
    """Every target token with its probability."""
    return page.table([*zip(pair.target_tokens, pair.probabilities)], "token", "p")


def cross_table(page: Lesson, pair: Translation) -> pd.DataFrame:
    """Every weight of the cross-attention."""
    rows = [(block, head, n, pair.target_tokens[n], m, pair.source_tokens[m], weight)
            for (block, head, n, m), weight in np.ndenumerate(patterns(pair.trace)["cross"])]
    return page.table(rows, "block", "head", "step", "token", "position", "source", "weight")


def alignment_table(page: Lesson, measures: HeldOut) -> pd.DataFrame:
    """The aligned share of every head of every block, and of the mean of each block's heads."""
    n_heads = measures.alignment.heads.shape[1]
    rows = [(block, str(head) if head < n_heads else page.label("translate_mean"), score)
            for (block, head), score in np.ndenumerate(measures.aligned)]
    return page.table(rows, "block", "head", "aligned")
