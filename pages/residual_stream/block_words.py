"""How the wiring of a block is written: its formula, the names of its rows, and what the pointer says of each."""
from core.analysis import one_block
from core.app.lesson import Lesson
from core.figures.numbers import percent, readable
from core.model.activation import GATE_CURVES
from core.model.config import ModelConfig
from core.model.transformer import Transformer

# the later parts' rows by the attention's
LIKE = {"cross_norm": "norm", "cross_added": "added", "cross_sum": "sum", "norm2": "norm", "added2": "added",
        "sum2": "sum"}
STREAMS = ("X", "O", "C", "H")          # rows that have a letter
OPERATORS = {"attention": "SelfAttention", "cross": "CrossAttention", "mlp": "FFN"}
CALLED = {"cross": "cross-attention", "mlp": "FFN"}         # in a sum


def formula(page: Lesson, model: Transformer, layer: int) -> str:
    """Markdown: an equation for each vector that the others are written with, and α of DeepNorm."""
    rows = one_block.wiring(model.config, layer)
    said, equations = {}, []
    for name, of in rows.items():
        said[name] = _latex(page, model, name, [said[each] for each in of])
        shared = sum(name in read for read in rows.values()) > 1
        symbol = name if name in STREAMS[1:] else "z" if name == "norm" and shared else ""
        if symbol:
            equations.append(f"{symbol} = {said[name]}")
            said[name] = symbol
    alpha = model.blocks[layer].alpha
    equations += [rf"\alpha = {alpha:.4g}"] * (alpha != 1)
    return "&nbsp;&nbsp;&nbsp; ".join(f"${equation}$" for equation in equations)


def _latex(page: Lesson, model: Transformer, name: str, of: list[str]) -> str:
    """LaTeX of a row, from that of the rows that it is computed of."""
    config = model.config
    norm = rf"\operatorname{{{page.label(f'block_norm_{config.norm}')}}}"
    share = rf"{readable(config.sublayer.residual_scale, 4)}\," if config.sublayer.residual_scale != 1 else ""
    kept = r"\alpha\, " if model.blocks[0].alpha != 1 else ""
    if len(of) > 1:
        return kept + " + ".join(of)
    if LIKE.get(name, name) == "norm":
        return f"{norm}{_two_norms(config) * ('_1' if name == 'norm' else '_2')}({of[0]})"
    if name in OPERATORS:
        memory = rf", \text{{{page.label('block_memory')}}}" if name == "cross" else ""
        return rf"\operatorname{{{OPERATORS[name]}}}({of[0]}{memory})"
    if LIKE.get(name, name) == "added":
        return share + (f"{norm}({of[0]})" if config.norms_output else of[0])
    return f"{norm}({of[0]})" if name in STREAMS and of else of[0] if of else "X"


def _two_norms(config: ModelConfig) -> bool:
    """Whether the two norms read the same vector, so that their names must tell them apart."""
    return config.sublayer.parallel_residual and not config.sublayer.shared_norm


def names(page: Lesson, model: Transformer, layer: int) -> list[str]:
    """The rows' names, which say what is computed of what."""
    config, rows = model.config, one_block.wiring(model.config, layer)
    norm = page.label(f"block_norm_{config.norm}")
    found = []
    for name, of in rows.items():
        # what the part reads, of which its neurons are made
        read = rows["hidden"] if of == ("hidden",) else of
        symbol = read[0] if read and read[0] in STREAMS else ""
        label = "experts" if name == "mlp" and "hidden" not in rows else LIKE.get(name, name)
        number = _two_norms(config) * ("_{1}" if name == "norm" else "_{2}")
        found.append(page.label(
            f"block_row_{label}", of=symbol or "…", norm=norm + number, plus="+ " * _is_summed(name, rows),
            added=_added(config, rows, name, norm), total=_total(model, rows, of, norm),
            memory=page.label("block_memory"),
            hidden=page.label(f"block_hidden{form(config)}", z=symbol or "z", act=curve(page, config)),
            k=config.experts.n_active_experts, n=config.experts.n_experts))
    return found


def _total(model: Transformer, rows: dict[str, tuple[str, ...]], of: tuple[str, ...], norm: str) -> str:
    """A row that is a sum of others, or else a norm of the row above it."""
    kept = "α " if model.blocks[0].alpha != 1 else ""
    return kept + " + ".join(_added(model.config, rows, each, norm) for each in of) if len(of) > 1 else f"{norm}(…)"


def _added(config: ModelConfig, rows: dict[str, tuple[str, ...]], name: str, norm: str) -> str:
    """How a sum calls a row: X, O, attention, FFN, or what is added of these."""
    if LIKE.get(name, name) == "added":
        share = f"{readable(config.sublayer.residual_scale, 4)} · " if config.sublayer.residual_scale != 1 else ""
        written = _added(config, rows, rows[name][0], norm)
        return share + (f"{norm}({written})" if config.norms_output else written)
    return CALLED.get(name, name)


def _is_summed(name: str, rows: dict[str, tuple[str, ...]]) -> bool:
    """Whether a sum adds this row to the stream."""
    return any(len(of) > 1 and name in of for of in rows.values())


def form(config: ModelConfig) -> str:
    """How the labels of a feed-forward part end: whether it is gated, and whether it has no biases."""
    return ("_gated" if config.gated else "") + ("" if config.mlp_bias else "_bare")


def curve(page: Lesson, config: ModelConfig) -> str:
    """The name of the activation's curve, of a gated one that of its gate, in whichever form it is computed."""
    return page.label(f"curve_{_plain(GATE_CURVES.get(config.activation, config.activation))}")


def _plain(activation: str) -> str:
    return activation.removesuffix("_tanh").removesuffix("_clamped")


def relu_note(page: Lesson, config: ModelConfig, found: one_block.WithReLU) -> str:
    """The change that ReLU would make to a token's neurons, after the name of a gated activation; in a model of ReLU,
    its work.
    """
    named = f"{page.label(f'block_gated_{_plain(config.activation)}')}. " if config.gated else ""
    label = "block_is_relu" if config.activation == "relu" else "block_relu"
    return named + page.label(label, zeros=found.zeros, share=percent(found.share))


def readings(model: Transformer, layer: int) -> list[str]:
    """For each row the label, less its `blocks_read_`, that says its number under the pointer; "" for the neurons."""
    config, rows = model.config, one_block.wiring(model.config, layer)
    kept, parallel = model.blocks[layer].alpha != 1, config.sublayer.parallel_residual

    def reading(name: str) -> str:
        kind, of = LIKE.get(name, name), rows[name]
        if name in OPERATORS:
            return f"plus_{name}" if _is_summed(name, rows) and not (kept or parallel) else name
        if kind == "sum":
            return f"kept_{of[0]}" if kept else kind
        if name in STREAMS[1:]:
            return "both" if len(of) > 2 else f"normed_{name}" if config.norms_sums else name
        return {"norm2": "again" if parallel else kind, "hidden": ""}.get(name, kind)

    return [reading(name) for name in rows]
