"""One block, part by part: the input, each part's output, the sums and the norms, for two tokens side by side. One of
them can be exchanged before any part, and the norms can stand where they first stood. Of an encoder-decoder it is a
block of the decoder, while it writes its version of the prompt.
"""
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import one_block
from core.analysis.arrays import to_numpy
from core.analysis.stream_and_heads import looked_at
from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import pick, short_list
from core.app.state import Run, reader
from core.app.state.run import bounds_of, decoded
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import grouped, latex_number, readable
from core.model.block import Block
from core.model.intervention import Intervention, Patch
from core.model.normalisation import normalise
from core.model.trace import BlockTrace, Trace
from core.model.transformer import Transformer
from pages.residual_stream import block_words
from pages.residual_stream.feed_forward import layer_of
from pages.residual_stream.shared import PREFIX, attached, read

NOTHING = 1e-4         # of a row's largest number: differences below are rounding
TERMS = 3              # of a sum that are written out
WIDTH = 150            # px of the list of tokens
# The rows of a block as strips of colour, for one or two tokens, beside the diagram of its wiring.
_picture = token_view("residual_block", __file__)


@dataclass(frozen=True)
class Scene:
    """The shown block of `model` at a token and at another, beside it, if there is one; and the exchange."""

    run: Run
    model: Transformer
    layer: int
    position: int
    beside: int | None
    exchange: str

    @property
    def source(self) -> int:
        """The token whose vector stands in for that of `beside`: the first that is neither of the two."""
        others = (i for i in range(len(self.run.tokens)) if i not in (self.position, self.beside))
        return next(others, self.position)

    @property
    def shown(self) -> list[int]:
        """The positions of the token and of the other one."""
        return [self.position] + ([] if self.beside is None else [self.beside])

    @property
    def memory(self) -> Tensor | None:
        """The input of cross-attention, (M, d); None in a model without an encoder in front."""
        encoder = self.run.trace.encoder
        return None if encoder is None else encoder.h_final

    def rows(self, exchange: str) -> tuple[one_block.Row, ...]:
        """The block's rows with the other token's vector exchanged there, or nowhere ("none")."""
        if self.beside is None:
            return one_block.rows(self.model, _block(self.run, self.model, self.layer), self.layer)
        block = _block(self.run, self.model, self.layer,
                       (self.beside, self.source) if exchange == "attention" else None)
        later = exchange in ("cross", "mlp")
        # by the same operations with and without the exchange
        change = one_block.Exchange(exchange if later else "mlp", self.beside, self.source if later else self.beside)
        return one_block.rows(self.model, block, self.layer, change, self.memory)

    def changes(self, exchange: str) -> list[float]:
        """By how much the numbers of the token's own rows change at most, row by row."""
        return [float((with_it.values[self.position] - without.values[self.position]).abs().max())
                for with_it, without in zip(self.rows(exchange), self.rows("none"))]


def _block(run: Run, model: Transformer, layer: int, patch: tuple[int, int] | None = None) -> BlockTrace:
    """The block's trace in the run, or, if the model is wired anew, in its own pass; patch: the position whose input
    vector is replaced, and the position that it is taken from.
    """
    ids = run.token_ids
    intervention = Intervention(patches=() if patch is None else (Patch(layer, patch[0], tuple(ids), patch[1]),))
    if model is run.model:
        return run.trace_with(intervention).blocks[layer]

    def make() -> Trace:
        with torch.inference_mode():
            return model(torch.tensor(ids), intervention)

    return cache.result(run.key("rewired pass", model.config.norm_placement, intervention), make,
                        lambda trace: trace.n_bytes).blocks[layer]


def _rewired(run: Run, placement: str) -> Transformer:
    """The run's model with its norms at `placement`, shared by all readers; its weights are those of the model."""
    return cache.result(run.loaded.key("rewired", placement), lambda: one_block.rewired(run.model, placement),
                        lambda made: 4 * made.config.d_model)


def scene_of(run: Run, exchange: str | None = None) -> Scene:
    """The scene of today's settings."""
    own, order = run.model.config.norm_placement, read("block_order")
    rewires = order not in ("own", own) and one_block.can_be_rewired(run.model.config)
    model = _rewired(run, order) if rewires else run.model
    position, layer, n = reader.selection().position, layer_of(run), len(run.tokens)
    beside = read("beside")
    if not 0 <= beside < n or beside == position:
        beside = looked_at(run.trace.blocks[layer].pattern[:, position].mean(0), position) if n > 1 else None
    exchange = exchange or read("exchange")
    return Scene(run, model, layer, position, beside, exchange if exchange in exchanges(run) else "none")


def exchanges(run: Run) -> tuple[str, ...]:
    """Before which parts a token can be exchanged: those that the model's blocks have."""
    return "none", *(part.name for part in one_block.parts(run.model.config))


def _shown(run: Run) -> Run:
    """The run whose blocks are drawn; a picked token is one of its tokens from here on."""
    run = decoded(run)
    reader.set_bounds(bounds_of(run))
    return run


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Before which part another token must be exchanged, for this token's vector to change."""
    if run.model.config.d_ff is None or not run.own_ids:
        return None
    run = _shown(run)
    scene, parts = scene_of(run, "none"), exchanges(run)[1:]
    if scene.beside is None or scene.beside > scene.position:
        return None

    def truth(_: int) -> Truth:
        moved = [place for place, exchange in enumerate(parts) if max(scene.changes(exchange)) > 0]
        change = max(scene.changes("attention"))
        answer = moved[0] if len(moved) == 1 else len(parts) + (not moved)
        return Truth(answer, seen=0, values={"change": readable(change)})

    texts = [page.label(f"before_block_{name}") for name in (*parts, "both", "none")]
    return Prediction("block", Options(texts), truth,
                      {"token": run.tokens[scene.position], "other": run.tokens[scene.beside], "block": scene.layer})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls, the lines of the block, and the picture."""
    run = _shown(run)
    scene = _controls(page, run)
    st.markdown(block_words.formula(page, scene.model, scene.layer))
    rows, names = scene.rows(scene.exchange), block_words.names(page, scene.model, scene.layer)
    changes = [] if scene.exchange == "none" or scene.beside is None else scene.changes(scene.exchange)
    title = _title(page, scene, rows, changes)
    # row by row, and in it token by token
    values = np.concatenate([to_numpy(row.values[i]) for row in rows for i in scene.shown]).astype(np.float32)
    _picture({"rows": _rows(page, scene, rows, changes), "tokens": _heads(page, scene),
              "text": page.labels("blocks"), "scale": reader.scale(),
              "widths": [row.values.shape[-1] for row in rows]},
             key=f"{PREFIX}block", on_settings=lambda _: None, arrays={"values": values})
    if run.source_ids:
        page.note(page.label("block_source", n=len(run.source_ids), text=code(_written(run))))
    return Reading(_lines(page, scene, rows), _question(page, scene), [Block.forward, normalise, Block.feed_forward],
                   {"block.csv": lambda: _table(scene, rows, names)}, f".st-key-{PREFIX}block", title)


def _written(run: Run) -> str:
    """The decoder's text: its tokens but for the one that every text begins with."""
    return run.tokenizer.decode(run.token_ids[1:]) or " ".join(run.tokens)


def _controls(page: Lesson, run: Run) -> Scene:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        pick(page, run, "layer", "position", layer=layer_of(run))
        scene = scene_of(run)
        if scene.beside is not None:
            names = {i: page.label("beside_token", token=token, n=i) for i, token in enumerate(run.tokens)
                     if i != scene.position}
            st.session_state[f"{PREFIX}beside"] = scene.beside
            short_list(page.label("beside"), list(names), names.__getitem__, WIDTH,
                       **attached("beside", names=[*names.values()]))
            st.session_state[f"{PREFIX}exchange"] = scene.exchange
            st.segmented_control(page.label("exchange"), exchanges(run), required=True, wrap=True,
                                 label_visibility="collapsed", format_func=lambda name: page.label(f"exchange_{name}"),
                                 **attached("exchange"))
        if one_block.can_be_rewired(run.model.config):
            st.session_state[f"{PREFIX}block_order"] = scene.model.config.norm_placement
            st.segmented_control(page.label("block_order"), one_block.PLACEMENTS, required=True, wrap=True,
                                 label_visibility="collapsed",
                                 format_func=lambda name: page.label(f"block_order_{name}"), **attached("block_order"))
    return scene_of(run)


def _rows(page: Lesson, scene: Scene, rows: tuple[one_block.Row, ...], changes: list[float]) -> list[dict]:
    """The picture's rows; `of` gives the places of the rows that each is computed from."""
    place, note = {row.name: index for index, row in enumerate(rows)}, _relu(page, scene, rows)
    words = zip(block_words.names(page, scene.model, scene.layer), block_words.readings(scene.model, scene.layer))
    return [{"name": name, "shape": page.label("block_shape", n=row.values.shape[-1]), "kind": row.name,
             "of": [place[each] for each in row.of], "read": reading, "changed": change,
             "reads_memory": row.name == "cross", "note": note if row.name == "hidden" else "",
             "lengths": [readable(float(row.values[i].norm())) for i in scene.shown]}
            for row, (name, reading), change in zip(rows, words, _changed(page, changes) or [""] * len(rows))]


def _relu(page: Lesson, scene: Scene, rows: tuple[one_block.Row, ...]) -> str:
    """The effect of ReLU on the token's neurons; "" in a block without neurons."""
    of_token = {row.name: row.values[scene.position] for row in rows}
    read = next((row.of[-1] for row in rows if row.name == "hidden"), None)
    return "" if read is None else block_words.relu_note(
        page, scene.model.config, one_block.with_relu(scene.model.blocks[scene.layer], of_token[read]))


def _title(page: Lesson, scene: Scene, rows: tuple[one_block.Row, ...], changes: list[float]) -> str:
    tokens = scene.run.tokens
    token = code(tokens[scene.position])
    if changes:
        return page.label(f"block_title_{scene.exchange}", token=token, other=code(tokens[scene.beside]),
                          source=code(tokens[scene.source]), n=sum(change > 0 for change in changes), rows=len(rows))
    sizes = {row.name: readable(float(row.values[scene.position].norm())) for row in rows}
    added = [page.label(f"block_adds_{part.name}", length=sizes.get(part.rows[-1], sizes[part.name]))
             for part in one_block.parts(scene.model.config)]
    return page.label("block_title", token=token, block=scene.layer, X=sizes["X"], added=", ".join(added), H=sizes["H"])


def _changed(page: Lesson, changes: list[float]) -> list[str]:
    """Return a note for each row: nothing without an exchange, else "same" or the largest change."""
    return [page.label("block_same") if change == 0 else page.label("block_changed", change=readable(change, 2))
            for change in changes]


def _heads(page: Lesson, scene: Scene) -> list[str]:
    """The line over the columns: the tokens, and for which one another was exchanged."""
    heads = [scene.run.tokens[i] for i in scene.shown]
    if scene.exchange != "none" and scene.beside is not None:
        heads[1] = page.label("block_exchanged", other=heads[1], source=scene.run.tokens[scene.source])
    return heads


def _table(scene: Scene, rows: tuple[one_block.Row, ...], names: list[str]) -> pd.DataFrame:
    return pd.DataFrame([(name, i, scene.run.tokens[i], k, value) for row, name in zip(rows, names)
                         for i in scene.shown for k, value in enumerate(row.values[i].tolist())],
                        columns=["row", "position", "token", "dimension", "value"])


def _lines(page: Lesson, scene: Scene, rows: tuple[one_block.Row, ...]) -> list[tuple[str, str]]:
    """The first number of the first sum and of cross-attention's, and the first output of the feed-forward part, as far
    as the block has them.
    """
    of_token = {row.name: row.values[scene.position].double() for row in rows}
    lines = [_sum(page, scene, of_token)]
    if "cross" in of_token:
        lines.append(_cross_sum(page, scene, of_token))
    if "hidden" in of_token:
        lines += _neurons(page, scene, of_token["hidden"])
    elif "mlp" in of_token:
        read = next(row.of[-1] for row in rows if row.name == "mlp")
        lines.append(_experts(page, scene, of_token[read]))
    return lines


def _sum(page: Lesson, scene: Scene, of_token: dict[str, Tensor]) -> tuple[str, str]:
    """The first number of the first sum: two terms, the stream α times under DeepNorm, or three in a parallel block."""
    config, alpha = scene.model.config, scene.model.blocks[scene.layer].alpha
    added = [of_token.get("added", of_token["attention"])]
    if config.sublayer.parallel_residual:
        added.append(of_token.get("added2", of_token["mlp"]))
    x, *others = (float(each[0]) for each in (of_token["X"], *added))
    symbol, kept = _kept(alpha, x)
    how = "_kept" if alpha != 1 else "_parallel" if config.sublayer.parallel_residual else ""
    return (page.label(f"numbers_block_sum{how}"),
            rf"{symbol}x_0 + a_0{' + f_0' * (len(others) > 1)} = "
            + " + ".join([kept, *(f"({latex_number(value)})" for value in others)])
            + f" = {latex_number(alpha * x + sum(others))}")


def _cross_sum(page: Lesson, scene: Scene, of_token: dict[str, Tensor]) -> tuple[str, str]:
    """The first number of the sum of cross-attention: two terms, the stream α times under DeepNorm."""
    alpha = scene.model.blocks[scene.layer].alpha
    stream, added = (float(each[0]) for each in (of_token["O"], of_token.get("cross_added", of_token["cross"])))
    symbol, kept = _kept(alpha, stream)
    return (page.label("numbers_block_sum_cross" + "_kept" * (alpha != 1)),
            rf"{symbol}o_0 + c_0 = {kept} + ({latex_number(added)}) = {latex_number(alpha * stream + added)}")


def _kept(alpha: float, value: float) -> tuple[str, str]:
    """LaTeX of a number of the stream in a sum: the text before its symbol, and the number itself."""
    return (r"\alpha\, ", rf"{latex_number(alpha)} \cdot ({latex_number(value)})") if alpha != 1 else (
        "", latex_number(value))


def _neurons(page: Lesson, scene: Scene, hidden: Tensor) -> list[tuple[str, str]]:
    """The feed-forward part as a whole, and its first output from its neurons (d_ff,)."""
    weights, config = scene.model.blocks[scene.layer], scene.model.config
    products, bare = hidden * weights.W_2[:, 0].double(), weights.b_2 is None
    shift = 0.0 if bare else float(weights.b_2[0])
    largest = products.abs().topk(min(TERMS, len(products))).indices.tolist()
    rest = float(products.sum()) - float(products[largest].sum())
    return [(page.label(f"numbers_block_ffn{block_words.form(config)}", d=config.d_model, d_ff=len(hidden)),
             _whole(block_words.curve(page, config), config.gated, not bare)),
            (page.label("numbers_block_out_bare" if bare else "numbers_block_out", n=len(largest)),
             r"\operatorname{FFN}(z)_0 = " + " + ".join(f"({latex_number(float(products[k]))})" for k in largest)
             + rf" + ({latex_number(rest)}){'' if bare else f' + ({latex_number(shift)})'} = "
             rf"{latex_number(float(products.sum()) + shift)}")]


def _experts(page: Lesson, scene: Scene, read: Tensor) -> tuple[str, str]:
    """The first output of a block of experts from what it reads (d,): those of its experts, each times its weight."""
    mixture = scene.model.blocks[scene.layer].mixture
    read = read.to(mixture.W_R.dtype)[None]
    weights, out = (each[0] for each in mixture(read)[1:])
    chosen = weights.argsort(descending=True)[:mixture.n_active].tolist()
    terms = [(float(weights[e]), float(mixture.experts[e](read)[0, 0])) for e in chosen]
    if mixture.shared is not None:
        terms.append((float(mixture.share(read)), float(mixture.shared(read)[0, 0])))
    return (page.label("numbers_block_experts" + "_shared" * (mixture.shared is not None), n=mixture.n_active,
                       all=len(mixture.experts), experts=", ".join(map(str, chosen))),
            r"\operatorname{FFN}(z)_0 = " + " + ".join(
                rf"{latex_number(weight)} \cdot ({latex_number(value)})" for weight, value in terms)
            + f" = {latex_number(float(out[0]))}")


def _whole(act: str, gated: bool, biased: bool) -> str:
    """LaTeX of the feed-forward part as this model has it."""
    inner, gate, end = (f" + b_{name}" if biased else "" for name in ("1", r"\mathrm{gate}", "2"))
    if not gated:
        return rf"\operatorname{{FFN}}(z) = \operatorname{{{act}}}(z W_1{inner})\, W_2{end}"
    return (rf"\operatorname{{FFN}}(z) = \big(\operatorname{{{act}}}(z W_\mathrm{{gate}}{gate}) \odot "
            rf"(z W_1{inner})\big)\, W_2{end}")


def _question(page: Lesson, scene: Scene) -> Question | None:
    """From which row on two tokens differ that enter the block with the very same vector; for a single token, how wide
    the feed-forward part is.
    """
    if scene.beside is None:
        return _width(page, scene)
    block = _block(scene.run, scene.model, scene.layer, (scene.beside, scene.position))
    rows = one_block.rows(scene.model, block, scene.layer)
    apart = [float((row.values[scene.position] - row.values[scene.beside]).abs().max())
             > NOTHING * float(row.values[scene.position].abs().max()) for row in rows]
    inner = next(row.name for name in ("hidden", "mlp", "H") for row in rows if row.name == name)
    offered = ["X", "attention", inner, "never"]
    first = next((row.name for row, differs in zip(rows, apart) if differs), "never")
    if first not in offered:
        return None
    tokens = scene.run.tokens
    return page.question("block", [page.label(f"block_twin_{name}") for name in offered], offered.index(first),
                         token=code(tokens[scene.position]), other=code(tokens[scene.beside]))


def _width(page: Lesson, scene: Scene) -> Question | None:
    """How many numbers come out of W₁, in a block that has one such matrix."""
    config = scene.model.config
    if config.d_ff is None or config.experts.in_block(scene.layer):
        return None
    d, d_ff = config.d_model, config.d_ff
    sizes = sorted({d, d_ff, 2 * d, d * d_ff})
    return page.question("block_alone", [grouped(size) for size in sizes], sizes.index(d_ff), d=d, d_ff=d_ff)
