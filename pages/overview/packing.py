"""One forward pass as the bytes that the map draws: exact float32 for a short prompt, a byte a value for a long one,
and what it says of each part.
"""
import numpy as np
import torch

from core.analysis import stream_and_heads
from core.components.lib.pattern import most_cells, picture, row_ranges, rows_of
from core.model.sampling import Truncation, draw
from core.model.trace import Trace

# up to this many tokens, of a model with many heads fewer, every value travels as float32; beyond, as one byte, and
# hover says "about"
EXACT_TOKENS = 48
TILE_SIDE = 64          # most cells on a side of a tile in a long prompt: more than its pixels; with many heads fewer
MLP_COLUMNS = 64        # neighbouring neurons share a column of the feed-forward strip, the strongest is drawn
CANDIDATES = 8          # next tokens listed for every position


def strongest(activations: np.ndarray, columns: int) -> np.ndarray:
    """Neighbouring columns in groups, each by its largest value: (..., m) -> (..., min(m, columns)); the last group
    may be smaller.

    >>> strongest(np.array([[1.0, 3.0, -2.0, -1.0]]), 2)
    array([[ 3., -1.]])
    """
    m = activations.shape[-1]
    width = -(-m // min(m, columns))
    return np.maximum.reduceat(activations, np.arange(0, m, width), axis=-1)


def quantised(values: np.ndarray) -> tuple[np.ndarray, float | list[float]]:
    """Signed values as bytes, value ≈ (byte − 128) / 127 · scale with scale = max |value|: float -> uint8 of the
    same shape, scale; of values (L, N, m) a scale for each of the L blocks.
    """
    block = tuple(range(-min(2, values.ndim), 0))
    scales = np.abs(values).max(axis=block, keepdims=True)
    scales = np.where(scales > 0, scales, 1.0)
    return (np.rint(values / scales * 127) + 128).astype(np.uint8), scales.squeeze(block).tolist()


def pass_arrays(trace: Trace) -> tuple[dict, dict[str, np.ndarray]]:
    """Sizes and arrays of the map that do not depend on the picked position.

    E, P, h (N, d), and X where a norm makes it of their sum; mlp (L, N, columns); the norms of the stream before each
    block, between its sublayers and of what each sublayer writes.
    Patterns: every allowed weight up to EXACT_TOKENS tokens, with many heads fewer, else a summary of each head and the
    mean over each block's heads in full.
    """
    config, n = trace.config, trace.n_tokens
    images = {"E": trace.embedding, "P": trace.position,
              "X": trace.blocks[0].resid_pre if config.embedding.embedding_norm else None, "h": trace.h_final}
    # rows of E and P that are narrower than the stream leave the columns beyond them empty
    images = {name: np.pad(values.cpu().numpy(), ((0, 0), (0, max(0, config.d_model - values.shape[-1]))))
              [:, :config.d_model] for name, values in images.items() if values is not None}
    if config.d_ff is not None:
        images["mlp"] = feed_forward_images(trace)
    sizes = {"n": n, "d": config.d_model, "layers": config.n_layers,
             "heads": config.n_heads, "vocabulary": config.vocab_size,
             "experts": [config.experts.n_experts * config.experts.in_block(layer) for layer in range(config.n_layers)],
             "neurons": [0 if block.mlp_post is None else block.mlp_post.shape[-1] for block in trace.blocks],
             "d_ff": config.d_ff, "columns": images["mlp"].shape[-1] if "mlp" in images else 0,
             "exact": n <= most_cells(config.n_layers * config.n_heads, EXACT_TOKENS), "long": n > EXACT_TOKENS}
    scales, arrays = {}, {}
    for name, values in images.items():
        packed, scales[name] = quantised(values)
        arrays[name] = values.astype(np.float32) if sizes["exact"] else packed
    pattern_sizes, patterns = pattern_arrays(trace, sizes["exact"])
    return sizes | pattern_sizes | {"scales": scales}, arrays | patterns | norm_arrays(trace)


def feed_forward_images(trace: Trace) -> np.ndarray:
    """(L, N, columns) the neurons of every block, or in a block of experts their weights; in a model that has both, as
    many columns as it has experts.
    """
    columns = min(MLP_COLUMNS, trace.config.experts.n_experts or MLP_COLUMNS)
    drawn = [strongest((block.mlp_post if block.expert_weights is None else block.expert_weights).cpu().numpy(),
                       columns) for block in trace.blocks]
    widest = max(image.shape[-1] for image in drawn)
    return np.stack([np.pad(image, ((0, 0), (0, widest - image.shape[-1]))) for image in drawn])


def norm_arrays(trace: Trace) -> dict[str, np.ndarray]:
    """stream (L + 1, N), middle (L, N), attention (L, N) and feed_forward (L, N): lengths of vectors, float32."""
    attention, feed_forward = stream_and_heads.written_norms(trace)
    middle = torch.stack([stream_and_heads.norms(block.resid_mid) for block in trace.blocks])
    norms = {"stream": stream_and_heads.stream_norms(trace), "middle": middle, "attention": attention}
    if feed_forward is not None:
        norms["feed_forward"] = feed_forward
    return {name: values.float().cpu().numpy() for name, values in norms.items()}


def pattern_arrays(trace: Trace, exact: bool) -> tuple[dict, dict[str, np.ndarray]]:
    """The patterns' sizes and arrays: `patterns` (L · h, cells) of the allowed cells alone.

    They are float32, or uint8 of 255 sqrt(weight), each the largest of a block of `step` × `step` cells, with the
    `mean` (L, cells) over each layer's heads for every cell. `first` and `last` are the keys that a query may see,
    `cell_first` and `cell_last` (S,) the same in the cells of `patterns`.
    """
    allowed = trace.blocks[0].allowed.cpu().numpy()
    stacked = np.stack([block.pattern.cpu().numpy() for block in trace.blocks])
    flat = stacked.reshape(-1, *stacked.shape[2:])
    step = 1 if exact else -(-allowed.shape[0] // most_cells(len(flat), TILE_SIDE))
    cells, seen = (flat.astype(np.float32), allowed) if exact else picture(flat, allowed, step)
    names = "first", "last", "cell_first", "cell_last"
    arrays = dict(zip(names, (*row_ranges(allowed), *row_ranges(seen)))) | {"patterns": rows_of(cells, seen)}
    if not exact:
        arrays["mean"] = np.rint(np.sqrt(rows_of(stacked.mean(axis=1), allowed)) * 255).astype(np.uint8)
    return {"step": step}, arrays


def difference(plain: Trace, changed: Trace) -> dict[str, np.ndarray]:
    """The difference of two passes over one text, float32: `differs` (L · h), the most by which a weight of each head
    differs, and `shifted` (L + 1, N), the length of the difference of the stream as a share of the plain one's length.
    """
    heads = [(one.pattern - other.pattern).abs().amax((-2, -1)) for one, other in zip(plain.blocks, changed.blocks)]
    shifted = [(one - other).norm(dim=-1) / one.norm(dim=-1).clamp_min(1e-12)
             for one, other in zip(plain.depths, changed.depths)]
    return {name: torch.stack(values).float().cpu().numpy() for name, values in
            (("differs", heads), ("shifted", shifted))}


def candidates(trace: Trace, visible) -> list[list[list]]:
    """For every position the likeliest next tokens, [visible form, id, probability], most probable first,
    computed in float64.
    """
    logits = trace.logits.double()
    top = torch.topk(logits, min(CANDIDATES, logits.shape[-1]), dim=-1)
    probs = (top.values - torch.logsumexp(logits, dim=-1, keepdim=True)).exp()
    ids, forms = top.indices.tolist(), {i: visible(i) for i in top.indices.unique().tolist()}
    return [[[forms[i], i, p] for i, p in zip(own, row)] for own, row in zip(ids, probs.tolist())]


def throw(truncation: Truncation, xi: float, visible) -> dict:
    """The draw as the map shows it: ξ, the token whose interval holds it with that interval, and where the listed
    candidates' intervals end.
    """
    place = draw(truncation, xi)
    token_id, ends = int(truncation.token_ids[place]), truncation.interval_ends
    return {"xi": xi, "id": token_id, "token": visible(token_id), "place": place,
            "probability": float(truncation.renormalised[place]),
            "from": float(ends[place - 1]) if place else 0.0, "to": float(ends[place]), "ends": ends[:40].tolist()}
