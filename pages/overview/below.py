"""What stands below the map and follows the picked row: the numbers, the table of parts, the question, the data."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from streamlit.delta_generator import DeltaGenerator

from core.analysis import stream_and_heads
from core.app.base.markdown import code, escaped
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run
from core.figures.numbers import bracketed, in_latex, latex_number, latex_operand, plain_number, probability
from core.model import sampling
from core.model.sampling import Truncation, truncate
from core.model.transformer import Transformer
from pages.overview import packing
from pages.overview.shared import MAP, packed_pass, truncation_of

if TYPE_CHECKING:
    import pandas as pd  # imported with the first table: the first picture of a server does not wait for it


def reading(page: Lesson, run: Run, position: int, layer: int, row: DeltaGenerator) -> Reading:
    """What the map shows of the picked row; the pins stand in `row`."""
    truncation = truncation_of(run, position)
    summary = {page.label("pin_token"): run.tokens[position],
               page.label("pin_top"): run.tokenizer.visible(int(truncation.token_ids[0])),
               page.label("pin_p"): plain_number(truncation.probs[0]),
               page.label("pin_entropy"): plain_number(truncation.entropy_before)}
    return Reading(number_lines(page, run, position, layer, truncation), question(page, run, position, truncation),
                   [Transformer.forward, truncate, *([] if run.is_encoder else [sampling.draw])],
                   tables(page, run, truncation), f".st-key-{MAP}", twin(page, run, position, truncation),
                   summary=summary, pins=row, below=lambda: page.named_token(run, position))


# ---- in numbers ------------------------------------------------------------------------------------------------------


def number_lines(page: Lesson, run: Run, position: int, layer: int, truncation: Truncation) -> list[tuple[str, str]]:
    """Captions and LaTeX: one number of X, the lengths on the way through one block, and the softmax of the
    likeliest token.
    """
    trace, token = run.trace, escaped(run.tokens[position])
    top = int(truncation.token_ids[0])
    lines = [(page.label("numbers_stream" if trace.blocks[layer].mlp_out is not None else "numbers_stream_attention",
                         block=layer), stream_latex(trace, position, layer)),
             (page.label("numbers_softmax", token=token, top=escaped(run.tokenizer.visible(top))),
              softmax_latex(run.logits(position), top))]
    lines.append((page.label("numbers_parameters"), table_latex(part_table(page, run))))
    if trace.position is not None:
        symbols = ({f"E_{{{run.token_ids[position]},0}}": trace.embedding, f"P_{{{position},0}}": trace.position}
                   | ({} if trace.token_type is None else {"T_{0,0}": trace.token_type}))
        values = [float(part[position, 0]) for part in symbols.values()]
        # the sum is X itself, unless a norm makes X of it
        entering = "S" if run.model.embedding_norm is not None else "X"
        embed = (rf"{entering}_{{{position},0}} = {' + '.join(symbols)} = {latex_number(values[0])} + "
                 rf"{' + '.join(f'({latex_number(value)})' for value in values[1:])}"
                 rf" = {latex_number(sum(values))}")
        lines.insert(0, (page.label("numbers_embed", position=position, token=token), embed))
    elif (scale := run.model.config.embedding_scale) != 1:
        row = float(run.model.E[run.token_ids[position], 0])
        embed = (rf"X_{{{position},0}} = \sqrt{{d}}\, E_{{{run.token_ids[position]},0}} = {latex_operand(scale)} \cdot "
                 rf"{bracketed(latex_operand(row))} = {latex_number(scale * row)}")
        lines.insert(0, (page.label("numbers_embed_scaled", position=position, token=token), embed))
    return lines


def stream_latex(trace, position: int, layer: int) -> str:
    block = trace.blocks[layer]
    parts = [(r"x", block.resid_pre), (r"\mathrm{attn}", block.attn_out), (r"\mathrm{ffn}", block.mlp_out),
             (r"x'", block.resid_post)]
    return r",\qquad ".join(rf"\lVert {name} \rVert = {latex_number(stream_and_heads.norms(values[position]))}"
                            for name, values in parts if values is not None)


def softmax_latex(logits: np.ndarray, token_id: int) -> str:
    """y = exp(u) / Σ exp(u) with its numbers; every logit less the largest where exp would leave the calculator's
    range, or the four decimals.
    """
    shift = float(logits.max()) if not 0 <= logits.max() <= 200 else 0.0
    own, total = float(logits[token_id]) - shift, float(np.exp(logits - shift).sum())
    lesser = r" - \max u" if shift else ""
    return (rf"y = \frac{{e^{{u{lesser}}}}}{{\sum e^{{u{lesser}}}}} = "
            rf"\frac{{e^{{{latex_number(own)}}}}}{{{latex_number(total)}}} = "
            rf"\frac{{{latex_number(np.exp(own))}}}{{{latex_number(total)}}}"
            rf" = {in_latex(probability(float(np.exp(own)) / total, 4))}")


def part_table(page: Lesson, run: Run) -> pd.DataFrame:
    """Every part of the model in its order: what it makes of this prompt, as a shape, and how many learned
    numbers it has.
    """
    import pandas as pd
    config, model, n = run.model.config, run.model, len(run.token_ids)
    counts = {"E": model.E.numel(), "P": 0 if model.P is None else model.P.numel(),
              "unembedding": sum(part.numel() for part in (model.W_U, model.b_U) if part is not None)}
    counts |= {"token_types": 0 if model.T is None else model.T.numel(),
               "head": 0 if model.W_H is None else model.W_H.numel() + model.b_H.numel()}
    counts |= {"attention": 0, "mlp": 0, "norms": 0}
    for name, parameter in model.named_parameters():
        if name not in ("E", "P", "T", "W_H", "b_H", "W_U", "b_U"):
            leaf = name.split(".")[-1]
            part = ("norms" if "norm" in name else "mlp" if leaf in ("W_1", "b_1", "W_2", "b_2", "W_gate", "b_gate")
                    else "attention")
            counts[part] += parameter.numel()
    nd = f"{n} × {config.d_model}"
    rows = [("tokens", f"{n}", 0), ("E" if config.tied_embeddings else "E_untied", nd, counts["E"]),
            ("P", nd, counts["P"]), ("token_types", nd, counts["token_types"]),
            ("attention", f"{config.n_layers} × [{config.n_heads} × {n} × {n}]", counts["attention"]),
            ("mlp", f"{config.n_layers} × [{n} × {config.d_ff}]", counts["mlp"]),
            ("norms", nd, counts["norms"]), ("head", nd, counts["head"]),
            ("unembedding_bias" if model.b_U is not None else "unembedding", f"{n} × {config.vocab_size}",
             counts["unembedding"]), ("logits", f"{n} × {config.vocab_size}", 0), ("total", "", run.model.n_parameters)]
    shown = [row for row in rows if row[2] or row[0] in ("tokens", "logits")]
    return pd.DataFrame([(page.label(f"part_{name}", layers=config.n_layers), shape, count)
                         for name, shape, count in shown],
                        columns=[page.label("part"), page.label("shape"), page.label("parameters")])


def table_latex(table: pd.DataFrame) -> str:
    """A small table as LaTeX: text, shape, whole numbers in groups of three; the last row under a line."""
    def written(row) -> str:
        name, shape, count = (row[0].replace("_", r"\_"), row[1].replace("×", r"\times "),
                              f"{row[2]:,}".replace(",", r"\,"))
        return rf"\text{{{name}}} & {shape} & {count}"

    heads = " & ".join(rf"\text{{{name}}}" for name in table.columns)
    *parts, total = (written(row) for row in table.itertuples(index=False))
    return (r"\begin{array}{lrr} " + heads + r" \\ \hline " + r" \\ ".join(parts) + r" \\ \hline " + total
            + r" \end{array}")


# ---- check yourself --------------------------------------------------------------------------------------------------


def question(page: Lesson, run: Run, position: int, truncation: Truncation) -> Question:
    """Which token would come next if attention wrote nothing? Computed by a second pass of the picked token alone."""
    layers = run.model.config.n_layers
    with torch.inference_mode():
        without = truncate(run.model.logits_without_attention(run.trace.blocks[0].resid_pre[position, None])[0])
    with_order, without_order = truncation.token_ids[:3].tolist(), without.token_ids[:3].tolist()
    ids = sorted({without_order[0], *with_order[:2], without_order[1]})
    names = {token_id: code(run.tokenizer.visible(token_id)) for token_id in {*ids, with_order[0]}}
    token, place = escaped(run.tokens[position]), int(np.flatnonzero(truncation.token_ids == with_order[0])[0])
    why = page.label("check_off_why", without=names[without_order[0]],
                     p_without=probability(without.probs[0]), top=names[with_order[0]],
                     p=probability(truncation.probs[place]), token=token, position=position)
    return Question("off", page.label("check_off", token=token, layers=layers), [names[token_id] for token_id in ids],
                    ids.index(without_order[0]), why)


# ---- downloads and the text twin -------------------------------------------------------------------------------------


def tables(page: Lesson, run: Run, truncation: Truncation) -> dict[str, Callable[[], pd.DataFrame]]:
    """The data of the map: the likeliest next tokens of the picked position, all lengths by block and token, and the
    parts of the model.
    """
    return {"expected_tokens.csv" if run.is_encoder else "next_tokens.csv": lambda: _likeliest(run, truncation),
            "lengths.csv": lambda: _lengths(run), "parts.csv": lambda: part_table(page, run)}


def _likeliest(run: Run, truncation: Truncation) -> pd.DataFrame:
    import pandas as pd
    best = truncation.token_ids[:50]
    return pd.DataFrame({"id": best, "token": [run.tokenizer.visible(int(i)) for i in best],
                         "probability": truncation.probs[:50]})


def _lengths(run: Run) -> pd.DataFrame:
    import pandas as pd
    norms = packing.norm_arrays(run.trace)
    n_layers, n = norms["attention"].shape
    layer, position = (grid.ravel() for grid in np.meshgrid(np.arange(n_layers), np.arange(n), indexing="ij"))
    lengths = {"block": layer, "position": position, "token": np.array(run.tokens)[position],
               "stream_before": norms["stream"][:-1].ravel(), "attention": norms["attention"].ravel()}
    if "feed_forward" in norms:
        lengths["feed_forward"] = norms["feed_forward"].ravel()
    return pd.DataFrame(lengths | {"stream_after": norms["stream"][1:].ravel()})


def twin(page: Lesson, run: Run, position: int, truncation: Truncation) -> str:
    """The map as one sentence."""
    stream = packed_pass(run)[1]["stream"][:, position]
    return page.label("twin", n=len(run.token_ids), n_cut=run.n_cut, token=escaped(run.tokens[position]),
                      position=position, model=escaped(run.model_name),
                      top=escaped(run.tokenizer.visible(int(truncation.token_ids[0]))),
                      p=probability(truncation.probs[0]),
                      first=f"{stream[0]:.3g}", last=f"{stream[-1]:.3g}", layers=run.model.config.n_layers)
