"""What the lesson "Overview" says about a run beside its map: the numbers, the table of parts, the question, the throw, and what can be undone."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from core.analysis import stream_and_heads
from core.app.base import catalogue
from core.app.base.markdown import code, escaped
from core.app.compute import cache
from core.app.frame.check import Question
from core.app.frame.lesson import Lesson
from core.app.frame.views import Reading, cannot
from core.app.state import reader
from core.app.state.lesson_settings import Setting, Settings
from core.app.state.run import Run
from core.figures.numbers import bracketed, in_latex, latex_number, latex_operand, plain_number, probability
from core.model import sampling
from core.model.sampling import Truncation, truncate
from core.model.transformer import Transformer
from pages.overview import packing
from pages.overview.overview_map import overview_map

if TYPE_CHECKING:
    import pandas as pd  # imported with the first table: the first picture of a server does not wait for it

HISTORY = "overview_history"
OPEN = "overview_open"      # in the session: the lesson that a click in the map asks for
MAP = "overview_map"
MAP_TEXT = ("title", "title_long", "play", "pause", "back", "forth", "open", "chips", "chip_hint", "actual", "actual_rank",
            "last", "drawn", "append", "throw", "undo", "masked", "clipped", "bar_hint", "sky", "block")
MAP_PARTS = ("head_", "shape_", "sign_", "row_", "name_", "tip_", "stage_")
LESSONS = {"tokens": "tokens", "E": "embeddings", "P": "positions", "X": "positions", "blocks": "heads", "attention": "heads",
           "stream": "residual_stream", "feed_forward": "residual_stream", "h": "residual_stream", "logits": "next_token",
           "softmax": "next_token"}
FIRST_SEED = 4      # its first ten ξ on the usual prompt are all below 0.75: no draw from the far tail before the reader asks for one
MOST_SEED = 999_999
SETTINGS = Settings("overview", {"seed": Setting(FIRST_SEED, low=0, high=MOST_SEED)})


def xi_of(seed: int, n_tokens: int) -> float:
    """ξ in [0, 1) for the draw after n_tokens tokens: frozen while controls move, and the same seed writes the same text."""
    return float(np.random.default_rng((seed, n_tokens)).random())


def truncation_of(run: Run, position: int) -> Truncation:
    """y at a position, sorted, nothing cut; kept for all who ask for the same."""
    key = run.key("overview_truncation", position)
    return cache.result(key, lambda: truncate(run.logits(position)), lambda made: 60 * len(made.probs))


def packed_pass(run: Run) -> tuple[dict, dict[str, np.ndarray], list]:
    """What the map draws of a run whatever position is picked: sizes, arrays and every position's likeliest next tokens."""
    def make() -> tuple[dict, dict[str, np.ndarray], list]:
        return *packing.pass_arrays(run.trace), packing.candidates(run.trace, run.tokenizer.visible)

    key = run.key("overview_pass")
    return cache.result(key, make, lambda made: sum(values.nbytes for values in made[1].values()) + 2000 * len(made[2]))


def of_text(run: Run, position: int, seed: int | None) -> tuple[dict, dict[str, np.ndarray]]:
    """What the map shows of one text with a position picked, as `overview_map` takes it. seed: of the draw after the last position; None: nothing is drawn."""
    sizes, arrays, candidates = packed_pass(run)
    thrown = None
    if seed is not None and position == len(run.token_ids) - 1:
        thrown = packing.throw(truncation_of(run, position), xi_of(seed, len(run.token_ids)), run.tokenizer.visible)
    blanks = [i for i, token in enumerate(run.token_ids) if run.is_encoder and token == run.tokenizer.mask_token]
    fields = {**sizes, "tokens": run.tokens, "ids": list(run.token_ids), "candidates": candidates, "position": position, "draw": thrown, "here": run.is_encoder, "blanks": blanks}
    return fields, {**arrays, "logits": run.logits(position).astype(np.float32)}


# ---- the instrument ------------------------------------------------------------------------------------------------------


def draw(page: Lesson, run: Run) -> Reading:
    """The map, and below it the seed and the pins; a pick or a throw redraws these and what speaks of the picked row."""
    existing = {entry.id for entry in catalogue.existing()}
    if (asked := st.session_state.pop(OPEN, None)) in existing:
        reader.open_lesson(asked, {})
    if not run.has_head:
        return cannot(page.frame_words.label("no_head"))
    selection = reader.selection()
    position = selection.position
    map_place = st.container()
    with (row := st.container(horizontal=True, vertical_alignment="bottom", key="overview_below")):
        seed = None if run.is_encoder else _seed(page)
    words = {key: page.label(key) for key in page.words.labels if key in MAP_TEXT or key.startswith(MAP_PARTS)}
    with map_place:
        overview_map(*of_text(run, position, seed), key=MAP, layer=selection.layer, text=words | own_words(page, run),
                     lessons={part: lesson for part, lesson in LESSONS.items() if lesson in existing},
                     can_undo=can_undo(), scale=reader.scale(), theme=reader.theme(),
                     on=functools.partial(_happened, run.asked))
    return _reading(page, run, position, selection.layer, row)


def _seed(page: Lesson) -> int:
    return st.number_input(page.label("seed"), 0, MOST_SEED, step=1, help=page.label("seed_hint"), width=140,
                           **SETTINGS.attached("seed"))


def _reading(page: Lesson, run: Run, position: int, layer: int, row: DeltaGenerator) -> Reading:
    """What the map shows of the picked row; the pins stand in `row`."""
    truncation = truncation_of(run, position)
    summary = {page.label("pin_token"): run.tokens[position],
               page.label("pin_top"): run.tokenizer.visible(int(truncation.token_ids[0])),
               page.label("pin_p"): plain_number(truncation.probs[0]),
               page.label("pin_entropy"): plain_number(truncation.entropy_before)}
    return Reading(number_lines(page, run, position, layer, truncation), question(page, run, position, truncation),
                   [Transformer.forward, truncate, *([] if run.is_encoder else [sampling.draw])],
                   tables(page, run, truncation), f".st-key-{MAP}", twin(page, run, position, truncation), summary=summary,
                   pins=row, below=lambda: page.named_token(run, position))


def _happened(asked: int, event: str, value: int | str) -> None:
    """What a click in the map asks for. A pick of the `asked` token, the last one, follows the end of the text from then on;
    in an encoder its blank."""
    if event == "picked":
        reader.select(position=None if value == asked else int(value))
    elif event == "layer":
        reader.select(layer=int(value))
    elif event == "opened":
        st.session_state[OPEN] = value
    elif event == "appended":
        append(int(value))
    elif event == "thrown":
        SETTINGS.keep(seed=(SETTINGS.read("seed") + 1) % (MOST_SEED + 1))
    elif event == "undone":
        undo()


# ---- appending, and taking back -----------------------------------------------------------------------------------------------


def append(token_id: int) -> None:
    """Callback: the token becomes the end of the prompt, and the last position the picked one."""
    history = st.session_state.setdefault(HISTORY, [])
    if not history or history[-1] != reader.prompt():
        history.append(reader.prompt())
    reader.select(position=None)
    reader.append_token(token_id)


def can_undo() -> bool:
    """Whether the present prompt is what an earlier one became by appending."""
    history, prompt = st.session_state.get(HISTORY), reader.prompt()
    return bool(history) and prompt.startswith(history[-1]) and prompt != history[-1]


def undo() -> None:
    """Callback: back to the prompt before the last appended token."""
    if can_undo():
        reader.apply({"prompt": st.session_state[HISTORY].pop(), "position": None})


def own_words(page: Lesson, run: Run) -> dict[str, str]:
    """The map's words that are otherwise for this model: where it adds no P, scales E, norms its sums or has an unembedding of its own."""
    config = run.model.config
    holds = {"stage_position": "" if run.trace.position is not None else config.positions, "stage_embed": "scaled" if config.embedding_scale != 1 else "",
             "stage_norm": "" if config.reads_normed else "plain", "shape_h": "" if config.reads_normed else "plain"}
    holds |= {name: "parallel" if config.parallel_residual else "" for name in ("head_blocks", "stage_feed_forward")}
    untied = "" if config.tied_embeddings else "untied"
    return {name: page.label(f"{name}_{which}") for name, which in (holds | {"head_logits": untied, "stage_logits": untied}).items() if which}


# ---- in numbers ---------------------------------------------------------------------------------------------------------------


def number_lines(page: Lesson, run: Run, position: int, layer: int, truncation: Truncation) -> list[tuple[str, str]]:
    """Captions and LaTeX: one number of X, the lengths on the way through one block, and the softmax of the likeliest token."""
    trace, token = run.trace, escaped(run.tokens[position])
    top = int(truncation.token_ids[0])
    lines = [(page.label("numbers_stream" if trace.blocks[layer].mlp_out is not None else "numbers_stream_attention", block=layer), stream_latex(trace, position, layer)),
             (page.label("numbers_softmax", token=token, top=escaped(run.tokenizer.visible(top))), softmax_latex(run.logits(position), top))]
    lines.append((page.label("numbers_parameters"), table_latex(part_table(page, run))))
    if trace.position is not None:
        symbols = {f"E_{{{run.token_ids[position]},0}}": trace.embedding, f"P_{{{position},0}}": trace.position} | ({} if trace.token_type is None else {"T_{0,0}": trace.token_type})
        values = [float(part[position, 0]) for part in symbols.values()]
        entering = "S" if run.model.embedding_norm is not None else "X"         # the sum is X itself, unless a norm makes X of it
        embed = (rf"{entering}_{{{position},0}} = {' + '.join(symbols)} = {latex_number(values[0])} + {' + '.join(f'({latex_number(value)})' for value in values[1:])}"
                 rf" = {latex_number(sum(values))}")
        lines.insert(0, (page.label("numbers_embed", position=position, token=token), embed))
    elif (scale := run.model.config.embedding_scale) != 1:
        row = float(run.model.E[run.token_ids[position], 0])
        embed = rf"X_{{{position},0}} = \sqrt{{d}}\, E_{{{run.token_ids[position]},0}} = {latex_operand(scale)} \cdot {bracketed(latex_operand(row))} = {latex_number(scale * row)}"
        lines.insert(0, (page.label("numbers_embed_scaled", position=position, token=token), embed))
    return lines


def stream_latex(trace, position: int, layer: int) -> str:
    block = trace.blocks[layer]
    parts = [(r"x", block.resid_pre), (r"\mathrm{attn}", block.attn_out), (r"\mathrm{ffn}", block.mlp_out), (r"x'", block.resid_post)]
    return r",\qquad ".join(rf"\lVert {name} \rVert = {latex_number(float(stream_and_heads.norms(values[position])))}" for name, values in parts if values is not None)


def softmax_latex(logits: np.ndarray, token_id: int) -> str:
    """y = exp(u) / Σ exp(u) with its numbers; every logit less the largest where exp would leave the calculator's range, or the four decimals."""
    shift = float(logits.max()) if not 0 <= logits.max() <= 200 else 0.0
    own, total = float(logits[token_id]) - shift, float(np.exp(logits - shift).sum())
    lesser = r" - \max u" if shift else ""
    return (rf"y = \frac{{e^{{u{lesser}}}}}{{\sum e^{{u{lesser}}}}} = \frac{{e^{{{latex_number(own)}}}}}{{{latex_number(total)}}} = \frac{{{latex_number(float(np.exp(own)))}}}{{{latex_number(total)}}}"
            rf" = {in_latex(probability(float(np.exp(own)) / total, 4))}")


def part_table(page: Lesson, run: Run) -> pd.DataFrame:
    """Every part of the model in its order: what it makes of this prompt, as a shape, and how many learned numbers it has."""
    import pandas as pd
    config, model, n = run.model.config, run.model, len(run.token_ids)
    counts = {"E": model.E.numel(), "P": 0 if model.P is None else model.P.numel(), "unembedding": sum(part.numel() for part in (model.W_U, model.b_U) if part is not None)}
    counts |= {"token_types": 0 if model.T is None else model.T.numel(), "head": 0 if model.W_H is None else model.W_H.numel() + model.b_H.numel()}
    counts |= {"attention": 0, "mlp": 0, "norms": 0}
    for name, parameter in model.named_parameters():
        if name not in ("E", "P", "T", "W_H", "b_H", "W_U", "b_U"):
            leaf = name.split(".")[-1]
            part = "norms" if "norm" in name else "mlp" if leaf in ("W_1", "b_1", "W_2", "b_2", "W_gate", "b_gate") else "attention"
            counts[part] += parameter.numel()
    nd = f"{n} × {config.d_model}"
    rows = [("tokens", f"{n}", 0), ("E" if config.tied_embeddings else "E_untied", nd, counts["E"]), ("P", nd, counts["P"]), ("token_types", nd, counts["token_types"]),
            ("attention", f"{config.n_layers} × [{config.n_heads} × {n} × {n}]", counts["attention"]),
            ("mlp", f"{config.n_layers} × [{n} × {config.d_ff}]", counts["mlp"]), ("norms", nd, counts["norms"]), ("head", nd, counts["head"]),
            ("unembedding_bias" if model.b_U is not None else "unembedding", f"{n} × {config.vocab_size}", counts["unembedding"]), ("logits", f"{n} × {config.vocab_size}", 0), ("total", "", run.model.n_parameters)]
    shown = [row for row in rows if row[2] or row[0] in ("tokens", "logits")]
    return pd.DataFrame([(page.label(f"part_{name}", layers=config.n_layers), shape, count) for name, shape, count in shown],
                        columns=[page.label("part"), page.label("shape"), page.label("parameters")])


def table_latex(table: pd.DataFrame) -> str:
    """A small table as LaTeX: text, shape, whole numbers in groups of three; the last row under a line."""
    def written(row) -> str:
        name, shape, count = row[0].replace("_", r"\_"), row[1].replace("×", r"\times "), f"{row[2]:,}".replace(",", r"\,")
        return rf"\text{{{name}}} & {shape} & {count}"

    heads = " & ".join(rf"\text{{{name}}}" for name in table.columns)
    *parts, total = (written(row) for row in table.itertuples(index=False))
    return r"\begin{array}{lrr} " + heads + r" \\ \hline " + r" \\ ".join(parts) + r" \\ \hline " + total + r" \end{array}"


# ---- check yourself -----------------------------------------------------------------------------------------------------------


def question(page: Lesson, run: Run, position: int, truncation: Truncation) -> Question:
    """Which token would come next if attention wrote nothing? Computed by a second pass of the picked token alone."""
    layers = run.model.config.n_layers
    with torch.inference_mode():
        without = truncate(run.model.logits_without_attention(run.trace.blocks[0].resid_pre[position, None])[0])
    with_order, without_order = truncation.token_ids[:3].tolist(), without.token_ids[:3].tolist()
    ids = sorted({without_order[0], *with_order[:2], without_order[1]})
    names = {token_id: code(run.tokenizer.visible(token_id)) for token_id in {*ids, with_order[0]}}
    token, place = escaped(run.tokens[position]), int(np.flatnonzero(truncation.token_ids == with_order[0])[0])
    why = page.label("check_off_why", without=names[without_order[0]], p_without=probability(float(without.probs[0])), top=names[with_order[0]],
                     p=probability(float(truncation.probs[place])), token=token, position=position)
    return Question("off", page.label("check_off", token=token, layers=layers), [names[token_id] for token_id in ids], ids.index(without_order[0]), why)


# ---- downloads and the text twin ------------------------------------------------------------------------------------------------


def tables(page: Lesson, run: Run, truncation: Truncation) -> dict[str, Callable[[], pd.DataFrame]]:
    """The data of the map: the likeliest next tokens of the picked position, all lengths by block and token, and the parts of the model."""
    return {"expected_tokens.csv" if run.is_encoder else "next_tokens.csv": lambda: _likeliest(run, truncation), "lengths.csv": lambda: _lengths(run), "parts.csv": lambda: part_table(page, run)}


def _likeliest(run: Run, truncation: Truncation) -> pd.DataFrame:
    import pandas as pd
    best = truncation.token_ids[:50]
    return pd.DataFrame({"id": best, "token": [run.tokenizer.visible(int(i)) for i in best], "probability": truncation.probs[:50]})


def _lengths(run: Run) -> pd.DataFrame:
    import pandas as pd
    norms = packing.norm_arrays(run.trace)
    n_layers, n = norms["attention"].shape
    layer, position = (grid.ravel() for grid in np.meshgrid(np.arange(n_layers), np.arange(n), indexing="ij"))
    lengths = {"block": layer, "position": position, "token": np.array(run.tokens)[position], "stream_before": norms["stream"][:-1].ravel(),
               "attention": norms["attention"].ravel()}
    if "feed_forward" in norms:
        lengths["feed_forward"] = norms["feed_forward"].ravel()
    return pd.DataFrame(lengths | {"stream_after": norms["stream"][1:].ravel()})


def twin(page: Lesson, run: Run, position: int, truncation: Truncation) -> str:
    """The map as one sentence."""
    stream = packed_pass(run)[1]["stream"][:, position]
    return page.label("twin", n=len(run.token_ids), n_cut=run.n_cut, token=escaped(run.tokens[position]), position=position, model=escaped(run.model_name),
                      top=escaped(run.tokenizer.visible(int(truncation.token_ids[0]))), p=probability(float(truncation.probs[0])),
                      first=f"{stream[0]:.3g}", last=f"{stream[-1]:.3g}", layers=run.model.config.n_layers)
