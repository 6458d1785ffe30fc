"""Conversion between the tensors of a Hugging Face file and our parameters, for each kind of weight.

Theirs: a torch Linear stores its map as (outputs, inputs), for all heads together; GPT-2's Conv1D as (inputs, outputs).
Ours: maps are (inputs, outputs), one for each head. Ours are views of theirs where possible, so a map that is stored
transposed stays so in memory.
"""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.config import ModelConfig


@dataclass(frozen=True)
class Entry:
    """One tensor of theirs, by name and shape, and the names of our parameters in it: `split` converts it into them,
    `join` them into it. If theirs stores a parameter row by row, the name of row i is the parameter's name with [i]
    after it.
    """

    theirs: str
    shape: tuple[int, ...]
    ours: tuple[str, ...]
    split: Callable[[Tensor], tuple[Tensor, ...]]
    join: Callable[..., Tensor]


def as_is(theirs: str, ours: str, *shape: int, plus: float = 0.0) -> Entry:
    """The same tensor in both, except that ours is theirs plus `plus`."""
    return Entry(theirs, shape, (ours,), lambda w: (w + plus if plus else w,), lambda w: w - plus if plus else w)


def rows(theirs: str, ours: str, h: int, k: int) -> list[Entry]:
    """Vectors (k,), one a head, that are the rows of our (h, k). theirs: a name with {} for the number of the head."""
    return [as_is(theirs.format(head), f"{ours}[{head}]", k) for head in range(h)]


def put_together(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters by name; those that came in rows are put together."""
    whole: dict[str, Tensor | list[Tensor]] = {}
    for name, tensor in parameters.items():
        if name.endswith("]"):
            whole.setdefault(name[:name.index("[")], []).append(tensor)
        else:
            whole[name] = tensor
    return {name: torch.stack(part) if isinstance(part, list) else part for name, part in whole.items()}


def transposed(theirs: str, ours: str, n_out: int, n_in: int) -> Entry:
    """A Linear (n_out, n_in) that is our (n_in, n_out)."""
    return Entry(theirs, (n_out, n_in), (ours,), lambda w: (w.T,), lambda w: w.T)


def without_first(theirs: str, ours: str, n_first: int, n: int, d: int) -> Entry:
    """A table (n_first + n, d) whose first n_first rows are not positions."""
    return Entry(theirs, (n_first + n, d), (ours,), lambda w: (w[n_first:],), lambda w: F.pad(w, (0, 0, n_first, 0)))


def into_heads(theirs: str, ours: str, h: int, d: int, k: int) -> Entry:
    """A Linear (h k, d), head after head, that is our (h, d, k)."""
    return Entry(theirs, (h * k, d), (ours,), lambda w: (w.reshape(h, k, d).transpose(1, 2),),
                 lambda W: W.transpose(1, 2).reshape(h * k, d))


def out_of_heads(theirs: str, ours: str, h: int, k: int, d: int) -> Entry:
    """A Linear (d, h k) that is our (h, k, d)."""
    return Entry(theirs, (d, h * k), (ours,), lambda w: (w.T.reshape(h, k, d),), lambda W: W.flatten(0, 1).T)


def head_bias(theirs: str, ours: str, h: int, k: int) -> Entry:
    """A vector (h k,) that is our (h, k)."""
    return Entry(theirs, (h * k,), (ours,), lambda b: (b.reshape(h, k),), lambda b: b.flatten())


def stacked(theirs: str, parts: Sequence[Entry]) -> Entry:
    """One tensor whose rows are those of several, one after another; each part is of one parameter."""
    rows = [part.shape[0] for part in parts]
    return Entry(theirs, (sum(rows), *parts[0].shape[1:]), tuple(name for part in parts for name in part.ours),
                 lambda w: tuple(part.split(piece)[0] for part, piece in zip(parts, w.split(rows))),
                 lambda *ours: torch.cat([part.join(W) for part, W in zip(parts, ours)]))


def _names(ours: str, letter: str) -> tuple[str, ...]:
    return tuple(f"{ours}{letter}_{name}" for name in "QKV")


def gpt2_qkv(theirs: str, ours: str, config: ModelConfig) -> list[Entry]:
    """A Conv1D (d, 3 h k): the queries of all heads, then the keys, then the values."""
    h, d, k = config.n_heads, config.d_model, config.d_k

    def split(w: Tensor) -> tuple[Tensor, ...]:
        return tuple(part.reshape(d, h, k).transpose(0, 1) for part in w.chunk(3, dim=1))

    def join(*parts: Tensor) -> Tensor:
        return torch.cat([W.transpose(0, 1).reshape(d, h * k) for W in parts], dim=1)

    return [Entry(f"{theirs}.weight", (d, 3 * h * k), _names(ours, "W"), split, join),
            Entry(f"{theirs}.bias", (3 * h * k,), _names(ours, "b"), lambda b: tuple(b.reshape(3, h, k)),
                  lambda *parts: torch.cat([b.flatten() for b in parts]))]


def merged_qkv(theirs: str, ours: str, config: ModelConfig) -> list[Entry]:
    """A Linear (3 h k, d): the queries of all heads, then the keys, then the values."""
    h, d, k = config.n_heads, config.d_model, config.d_k
    tensors = [Entry(f"{theirs}.weight", (3 * h * k, d), _names(ours, "W"),
                     lambda w: tuple(w.reshape(3, h, k, d).transpose(2, 3)),
                     lambda *parts: torch.stack(parts).transpose(2, 3).reshape(3 * h * k, d))]
    if config.attention_bias:
        tensors.append(Entry(f"{theirs}.bias", (3 * h * k,), _names(ours, "b"), lambda b: tuple(b.reshape(3, h, k)),
                             lambda *parts: torch.stack(parts).flatten()))
    return tensors


def merged_gate(theirs: str, ours: str, config: ModelConfig) -> list[Entry]:
    """A Linear (2 d_ff, d): the gate's map, then the one whose output the gate multiplies."""
    d, d_ff = config.d_model, config.d_ff
    tensors = [Entry(f"{theirs}.weight", (2 * d_ff, d), (f"{ours}W_gate", f"{ours}W_1"),
                     lambda w: tuple(part.T for part in w.chunk(2)), lambda *parts: torch.cat([W.T for W in parts]))]
    if config.mlp_bias:
        tensors.append(Entry(f"{theirs}.bias", (2 * d_ff,), (f"{ours}b_gate", f"{ours}b_1"), lambda b: b.chunk(2),
                             lambda *parts: torch.cat(parts)))
    return tensors


def neox_qkv(theirs: str, ours: str, config: ModelConfig) -> list[Entry]:
    """A Linear ((h + 2 h_kv) k, d): for each key/value head the queries that share it, its key and its value."""
    h, h_kv, d, k = config.n_heads, config.n_kv_heads, config.d_model, config.d_k
    group, rows = h // h_kv, (h + 2 * h_kv) * k

    def split(w: Tensor) -> tuple[Tensor, ...]:
        heads = w.unflatten(0, (h_kv, group + 2, k))
        return heads[:, :group].flatten(0, 1), heads[:, group], heads[:, group + 1]

    def join(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        return torch.cat([Q.unflatten(0, (h_kv, group)), K[:, None], V[:, None]], dim=1).flatten(0, 2)

    tensors = [Entry(f"{theirs}.weight", (rows, d), _names(ours, "W"), lambda w: tuple(part.mT for part in split(w)),
                     lambda *parts: join(*(W.mT for W in parts)))]
    if config.attention_bias:
        tensors.append(Entry(f"{theirs}.bias", (rows,), _names(ours, "b"), split, join))
    return tensors


def attention(config: ModelConfig, ours: str, theirs: str, names: Mapping[str, str],
              gain_offset: float = 0.0) -> list[Entry]:
    """Four Linears with the config's biases, and the norms of queries and keys. names: their names after `theirs`, by
    q, k, v, o, q_norm and k_norm; gain_offset: the amount by which those norms' gains exceed the stored ones.
    """
    h, h_kv, d, d_k, d_v = config.n_heads, config.n_kv_heads, config.d_model, config.d_k, config.d_v
    output = theirs + names["o"]
    tensors = [out_of_heads(f"{output}.weight", f"{ours}W_O", h, d_v, d)]
    for part, heads, width in (("q", h, d_k), ("k", h_kv, d_k), ("v", h_kv, d_v)):
        linear = theirs + names[part]
        tensors.append(into_heads(f"{linear}.weight", f"{ours}W_{part.upper()}", heads, d, width))
        if config.attention_bias:
            tensors.append(head_bias(f"{linear}.bias", f"{ours}b_{part.upper()}", heads, width))
    if config.writes_bias:
        tensors.append(as_is(f"{output}.bias", f"{ours}b_O", d))
    return tensors + _query_norms(config, ours, theirs, names, gain_offset)


def _query_norms(config: ModelConfig, ours: str, theirs: str, names: Mapping[str, str],
                 gain_offset: float) -> list[Entry]:
    """The gains of the norms of queries and keys; gains of separate heads are in one tensor or in one for each."""
    tensors, d_k = [], config.d_k
    for norm, heads in (("q_norm", config.n_heads), ("k_norm", config.n_kv_heads)) if config.sublayer.qk_norm else ():
        gain, stored = f"{ours}{norm}.weight", f"{theirs}{names[norm]}.weight"
        shape = ((heads, d_k) if config.sublayer.qk_norm_heads
                 else (heads * d_k,) if config.sublayer.qk_norm_joint else (d_k,))
        tensors += rows(stored, gain, heads, d_k) if "{}" in stored else [as_is(stored, gain, *shape, plus=gain_offset)]
    return tensors


def feed_forward(config: ModelConfig, ours: str, theirs: str, up: str, down: str,
                 gate: str | None = None) -> list[Entry]:
    """Two Linears, or three with a gate, and their biases."""
    d, d_ff = config.d_model, config.d_ff
    maps = [(up, "1", d_ff, d), (down, "2", d, d_ff)] + ([(gate, "gate", d_ff, d)] if gate else [])
    tensors = []
    for name, which, n_out, n_in in maps:
        tensors.append(transposed(f"{theirs}{name}.weight", f"{ours}W_{which}", n_out, n_in))
        if config.mlp_bias:
            tensors.append(as_is(f"{theirs}{name}.bias", f"{ours}b_{which}", n_out))
    return tensors


def norm(config: ModelConfig, ours: str, theirs: str, gain_offset: float = 0.0) -> list[Entry]:
    """The gain of a norm, gain_offset more than the stored one, and its bias, if it has them."""
    d = config.d_embedding if ours in ("embedding_norm", "head_norm") else config.d_model
    gain = [as_is(f"{theirs}.weight", f"{ours}.weight", d, plus=gain_offset)] if config.sublayer.norm_gain else []
    return gain + ([as_is(f"{theirs}.bias", f"{ours}.bias", d)] if config.sublayer.norm_bias else [])


def shared_norm(config: ModelConfig, ours: str, theirs: str) -> list[Entry]:
    """The one norm through which attention and feed-forward of a block read the stream."""
    return [Entry(f"{theirs}.{name}", (config.d_model,), (f"{ours}attn_norm.{name}", f"{ours}mlp_norm.{name}"),
                  lambda w: (w, w), lambda w, _: w)
            for name, has_it in (("weight", config.sublayer.norm_gain), ("bias", config.sublayer.norm_bias)) if has_it]


def paired_side_by_side(entry: Entry, width: int) -> Entry:
    """The entry for queries and keys of a model whose rotary positions turn dimensions 2j and 2j + 1 of the first
    `width` by one angle. Ours turn j and j + width/2, so the columns trade places, with the gains of their norms; no
    score changes.
    """
    turned = [name.endswith(("W_Q", "W_K", "b_Q", "b_K", "q_norm.weight", "k_norm.weight")) for name in entry.ours]
    if not any(turned):
        return entry

    def moved(parts: tuple[Tensor, ...], shape: tuple[int, int]) -> tuple[Tensor, ...]:
        return tuple(torch.cat([part[..., :width].unflatten(-1, shape).mT.flatten(-2), part[..., width:]], dim=-1)
                     if turn else part for part, turn in zip(parts, turned))

    return Entry(entry.theirs, entry.shape, entry.ours, lambda w: moved(entry.split(w), (width // 2, 2)),
                 lambda *parts: entry.join(*moved(parts, (2, width // 2))))
