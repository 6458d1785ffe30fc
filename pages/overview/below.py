"""The part below the map, on the picked row: the numbers, the table of parts, the question, the data."""
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import torch
from streamlit.delta_generator import DeltaGenerator

from core.analysis import stream_and_heads
from core.app.compute import cache
from core.app.lesson import Lesson, Question, Reading
from core.app.state import Run
from core.base.markdown import code, escaped
from core.cost import counting
from core.figures.numbers import (
    bracketed,
    in_latex,
    latex_number,
    latex_operand,
    percent,
    plain_number,
    probability,
    readable,
)
from core.model import sampling
from core.model.config import ModelConfig
from core.model.sampling import Truncation, truncate
from core.model.transformer import Transformer
from pages.overview import packing
from pages.overview.shared import MAP, logits_of, scaling, trace_of, truncation_of

if TYPE_CHECKING:
    import pandas as pd  # imported with the first table: the first picture of a server does not wait for it

# The part of the model that a parameter counts to, by the end of its name; all others are attention's, or a norm's.
PART_OF = {"E": "E", "P": "P", "T": "token_types", "W_E": "E", "b_E": "E", "W_H": "head", "b_H": "head",
           "W_U": "unembedding", "b_U": "unembedding"}
PART_OF |= dict.fromkeys(("W_1", "b_1", "W_2", "b_2", "W_gate", "b_gate", "W_R", "b_R", "W_shared"), "mlp")
PART_OF |= dict.fromkeys(("W_P", "b_P", "W_C", "b_C"), "classes")


def reading(page: Lesson, run: Run, position: int, layer: int, row: DeltaGenerator) -> Reading:
    """The map's reading of the picked row; the pins stand in `row`."""
    if not run.has_head:
        return _silent(page, run, position, layer, row)
    truncation = truncation_of(run, position)
    summary = {page.label("pin_token"): run.tokens[position],
               page.label("pin_top"): run.tokenizer.visible(int(truncation.token_ids[0])),
               page.label("pin_p"): percent(truncation.probs[0]),
               page.label("pin_entropy"): plain_number(truncation.entropy_before)}
    return Reading(number_lines(page, run, position, layer, truncation), question(page, run, position, truncation),
                   [Transformer.forward, truncate, *([] if run.is_encoder else [sampling.draw])],
                   {"expected_tokens.csv" if run.is_encoder else "next_tokens.csv": lambda: _likeliest(run, truncation),
                    "lengths.csv": lambda: _lengths(run), "parts.csv": lambda: part_table(page, run)},
                   f".st-key-{MAP}", twin(page, run, position, truncation),
                   summary=summary, pins=row, below=lambda: page.named_token(run, position))


def _silent(page: Lesson, run: Run, position: int, layer: int, row: DeltaGenerator) -> Reading:
    """The same for a model without a language head, so without predictions."""
    stream = stream_and_heads.stream_norms(trace_of(run))[:, position]
    said = page.label("twin_silent", n=len(run.token_ids), n_cut=run.n_cut, token=escaped(run.tokens[position]),
                      position=position, model=escaped(run.title), first=readable(stream[0]),
                      last=readable(stream[-1]), layers=run.model.config.n_layers)
    return Reading(pass_lines(page, run, position, layer), None, [Transformer.forward],
                   {"lengths.csv": lambda: _lengths(run), "parts.csv": lambda: part_table(page, run)},
                   f".st-key-{MAP}", said, pins=row,
                   summary={page.label("pin_token"): run.tokens[position],
                            page.label("pin_length"): readable(stream[-1])})


# ---- in numbers ------------------------------------------------------------------------------------------------------


def number_lines(page: Lesson, run: Run, position: int, layer: int, truncation: Truncation) -> list[tuple[str, str]]:
    """Captions and LaTeX: one number of X, the lengths on the way through one block, and the softmax of the
    likeliest token.
    """
    *through, parts = pass_lines(page, run, position, layer)
    token, top = escaped(run.tokens[position]), int(truncation.token_ids[0])
    return [*through, (page.label("numbers_softmax", token=token, top=escaped(run.tokenizer.visible(top))),
                       softmax_latex(logits_of(run, position), top)), parts]


def pass_lines(page: Lesson, run: Run, position: int, layer: int) -> list[tuple[str, str]]:
    """Captions and LaTeX of the pass up to its last vectors, and of the model's parts."""
    trace, token = trace_of(run), escaped(run.tokens[position])
    stream = "numbers_stream" if trace.blocks[layer].mlp_out is not None else "numbers_stream_attention"
    return [*embedding_lines(page, run, position, token),
            (page.label(stream, block=layer), stream_latex(trace, position, layer)),
            (page.label("numbers_parameters"), parts_latex(page, run))]


def embedding_lines(page: Lesson, run: Run, position: int, token: str) -> list[tuple[str, str]]:
    """The first number of the blocks' input, if it is more than an entry of E."""
    trace, model, token_id = run.trace, run.model, run.token_ids[position]
    if trace.position is not None:
        row = "(E W_E)" if model.config.embedding.plain_maps else "E"
        parts = {f"{row}_{{{token_id},0}}": trace.embedding, f"P_{{{position},0}}": trace.position,
                 "T_{0,0}": trace.token_type}
        values = {symbol: float(part[position, 0]) for symbol, part in parts.items() if part is not None}
        first, *others = map(latex_number, values.values())
        # the sum is X itself, unless a norm makes X of it
        entering = "X" if model.embedding_norm is None else "S"
        return [(page.label("numbers_embed", position=position, token=token),
                 rf"{entering}_{{{position},0}} = {' + '.join(values)} = {first} + "
                 rf"{' + '.join(f'({other})' for other in others)} = {latex_number(sum(values.values()))}")]
    if (scale := model.config.embedding.embedding_scale) == 1:
        return []
    row = float(model.E[token_id, 0])
    factor = r"\sqrt{d}" if model.config.root_scaled else latex_operand(scale)
    return [(page.label(f"numbers_embed_{scaling(model.config)}", position=position, token=token),
             rf"X_{{{position},0}} = {factor}\, E_{{{token_id},0}} = {latex_operand(scale)} \cdot "
             rf"{bracketed(latex_operand(row))} = {latex_number(scale * row)}")]


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
    import pandas as pd  # with the first table, as above
    return pd.DataFrame(_parts(page, run), columns=[page.label(name) for name in ("part", "shape", "parameters")])


def _parts(page: Lesson, run: Run) -> list[tuple[str, str, int]]:
    """The rows of `part_table`: name, shape, learned numbers."""
    config, model, n, counts = run.model.config, run.model, len(run.token_ids), _counts(run)
    vectors, logits = f"{n} × {config.d_model}", f"{n} × {config.vocab_size}"
    rows = [("tokens", f"{n}", 0), ("E" if config.tied_embeddings and run.has_head else "E_untied", vectors,
                                               counts["E"]),
            ("P", vectors, counts["P"]), ("token_types", vectors, counts["token_types"]),
            ("attention", f"{config.n_layers} × [{config.n_heads} × {n} × {n}]", counts["attention"]),
            ("mlp", _feed_forward_shape(config, n), counts["mlp"]),
            ("norms", vectors, counts["norms"]),
            ("head_plain" if config.embedding.plain_maps else "head", f"{n} × {config.d_embedding}", counts["head"]),
            ("unembedding_bias" if model.b_U is not None else "unembedding", logits, counts["unembedding"]),
            ("classes", f"{config.head.n_classes}", counts["classes"]),
            *([("logits", logits, 0)] if run.has_head else []), ("total", "", model.n_parameters)]
    return [(page.label(f"part_{name}", layers=config.n_layers), shape, count)
            for name, shape, count in rows if count or name in ("tokens", "logits")]


def _feed_forward_shape(config: ModelConfig, n: int) -> str:
    """The shape of all neurons: of dense blocks, and of the experts that each token goes through."""
    experts = counting.expert_blocks(config)
    shapes = {config.n_layers - experts: f"{n} × {config.d_ff}",
              experts: f"{n} × {config.experts.n_active_experts} × {config.experts.d_expert}"}
    return " + ".join(f"{blocks} × [{shape}]" for blocks, shape in shapes.items() if blocks)


def _counts(run: Run) -> Counter:
    """How many learned numbers each part has, counted once for all readers: a model has some hundred weights."""
    def make() -> Counter:
        counts = Counter()
        for name, parameter in run.model.named_parameters():
            counts["norms" if "norm" in name else PART_OF.get(name.split(".")[-1], "attention")] += parameter.numel()
        return counts

    return cache.result(run.loaded.key("overview_parameters"), make, lambda made: 1_000)


def parts_latex(page: Lesson, run: Run) -> str:
    """`part_table` as LaTeX: text, shape, whole numbers in groups of three; the last row under a line."""
    def row(name: str, shape: str, count: int) -> str:
        return " & ".join([rf"\text{{{name}}}".replace("_", r"\_"), shape.replace("×", r"\times "),
                           str(count)])

    heads = " & ".join(rf"\text{{{page.label(name)}}}" for name in ("part", "shape", "parameters"))
    *parts, total = (row(*cells) for cells in _parts(page, run))
    return (r"\begin{array}{lrr} " + heads + r" \\ \hline " + r" \\ ".join(parts) + r" \\ \hline " + total
            + r" \end{array}")


# ---- check yourself --------------------------------------------------------------------------------------------------


def question(page: Lesson, run: Run, position: int, truncation: Truncation) -> Question:
    """Ask for the next token if attention wrote nothing. Computed by a second pass of the picked token alone."""
    layers, top, (alone, p) = run.model.config.n_layers, int(truncation.token_ids[0]), _without_attention(run, position)
    ids = sorted({*alone, *truncation.token_ids[:2].tolist()})
    names = {token_id: code(run.tokenizer.visible(token_id)) for token_id in ids}
    token = escaped(run.tokens[position])
    why = page.label("check_off_why", without=names[alone[0]], p_without=percent(p), top=names[top],
                     p=percent(truncation.probs[0]), token=token, position=position)
    return Question("off", page.label("check_off", token=token, layers=layers), [names[token_id] for token_id in ids],
                    ids.index(alone[0]), why)


def _without_attention(run: Run, position: int) -> tuple[list[int], float]:
    """The two likeliest next tokens if attention wrote nothing, and the likelier one's probability: kept for all whose
    text has the same token there, since what enters the first block depends on nothing else.
    """
    def make() -> tuple[list[int], float]:
        with torch.inference_mode():
            logits = run.model.logits_without_attention(run.trace.blocks[0].resid_pre[position, None])[0]
        without = truncate(logits)
        return without.token_ids[:2].tolist(), without.probs[0]

    return cache.result(run.loaded.key("overview_alone", run.token_ids[position], position), make, lambda made: 500)


# ---- downloads and the text twin -------------------------------------------------------------------------------------


def _likeliest(run: Run, truncation: Truncation) -> pd.DataFrame:
    import pandas as pd  # with the first table, as above
    best = truncation.token_ids[:50]
    return pd.DataFrame({"id": best, "token": [run.tokenizer.visible(int(i)) for i in best],
                         "probability": truncation.probs[:50]})


def _lengths(run: Run) -> pd.DataFrame:
    """The lengths of vectors, a row for each block and token."""
    import pandas as pd  # with the first table, as above
    norms = packing.norm_arrays(trace_of(run))
    layer, position = np.indices(norms["attention"].shape)
    columns = {"block": layer, "position": position, "token": np.array(run.tokens)[position],
               "stream_before": norms["stream"][:-1], "attention": norms["attention"],
               "feed_forward": norms.get("feed_forward"), "stream_after": norms["stream"][1:]}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items() if values is not None})


def twin(page: Lesson, run: Run, position: int, truncation: Truncation) -> str:
    """The map as one sentence."""
    stream = stream_and_heads.stream_norms(trace_of(run))[:, position]
    return page.label("twin", n=len(run.token_ids), n_cut=run.n_cut, token=escaped(run.tokens[position]),
                      position=position, model=escaped(run.title),
                      top=escaped(run.tokenizer.visible(int(truncation.token_ids[0]))),
                      p=percent(truncation.probs[0]),
                      first=readable(stream[0]), last=readable(stream[-1]), layers=run.model.config.n_layers)
