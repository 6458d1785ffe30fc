"""Answers to a reader who goes into the picture: a head, one of its looks, one number of a query or a key, the
neurons of a block at one token or one of them, one token's stream, its next tokens, and one of their logits.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.analysis import embeddings
from core.analysis.attention_steps import head_steps, is_scaled
from core.analysis.contributions import logit_lens, neuron_promotions
from core.analysis.norm_inputs import feed_forward_input
from core.app.state import Run
from core.app.state.run import of_tokens
from core.components.lib.bytes import pack
from core.components.lib.pattern import row_ranges, rows_of
from core.model.intervention import NOTHING, Intervention, ScoreEdit, WeightEdit
from core.model.tokenizer import Tokenizer
from core.model.trace import BlockTrace, Trace
from core.model.transformer import Transformer
from pages.overview.shared import edited

NAME = "overview_inside"
GUESSED = 3             # tokens that the lens guesses at each depth
OFFERED = 24            # likeliest next tokens
PROMOTED = 6            # tokens, of all that a neuron promotes
LIKE = 8                # tokens whose rows are most like one
MOST_READ = 24          # neurons whose tokens are read in one answer
Answer = tuple[dict, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Pass:
    """A pass over a text, with `change`, what the reader has changed of it."""

    model: Transformer
    tokenizer: Tokenizer
    has_head: bool
    trace: Trace
    change: Intervention = NOTHING


def question(run: Run, edit: str) -> dict:
    """The question that the browser sends back to the route, with a "place" such as "look.3.5.7"; `edit`: what the
    reader has changed.
    """
    return run.named() | {"edit": edit}


def answer(question: dict) -> bytes:
    """The numbers of a place: "head.l.h", "look.l.h.i", "number.l.h.i.j.c", "neurons.l.i", "neuron.l.i.m",
    "embedding.i", "stream.i", "end.i" or "logit.i.t", as dive_path.js names them.

    Raises ValueError, KeyError or TypeError for nonsense.
    """
    depth, *numbers = str(question["place"]).split(".")
    at = [int(number) for number in numbers]
    run = of_tokens(question["model"], question["device"], question["token_ids"])
    config, n = run.model.config, len(run.token_ids)
    layers, heads = config.n_layers, config.n_heads
    show, *bounds = {"head": (head, layers, heads), "look": (look, layers, heads, n),
                     "number": (number_of, layers, heads, n, n, 2 * config.d_k), "neurons": (neurons_of, layers, n),
                     "neuron": (neuron_of, layers, n, config.d_ff or 0), "embedding": (embedding_of, n),
                     "stream": (stream_of, n), "end": (end_of, n), "logit": (logit_of, n, config.vocab_size)}[depth]
    if len(at) != len(bounds) or not all(0 <= i < end for i, end in zip(at, bounds)):
        raise ValueError("there is no such place")
    run, change = edited(run, str(question["edit"]))
    return pack(*show(Pass(run.model, run.tokenizer, run.has_head, run.trace_with(change), change), *at))


def head(run: Pass, layer: int, index: int) -> Answer:
    """The weights of a head, float32, row after row from `first` to `last`, the keys that each query may see; NaN for
    a masked key between them.
    """
    block = run.trace.blocks[layer]
    allowed = block.allowed.cpu().numpy()
    first, last = row_ranges(allowed)
    return {}, {"pattern": rows_of(_numbers(block.pattern[index])[None], allowed)[0], "first": first, "last": last}


def look(run: Pass, layer: int, index: int, query: int) -> Answer:
    """A query's look at its keys `from` to the last that it may see, from the vectors to what is fetched.

    Header: the divisor of the products (1: none), the cap (0: none) and the sink's weight of the scores, and whether a
    product is a dot product. Arrays: q (d_k), K (keys · d_k), V (keys · d_v), output (d_v) float32; products, scaled,
    bias, scores, exponentials and weights (keys) float64; allowed (keys) uint8.
    """
    block, weights = run.trace.blocks[layer], run.model.blocks[layer]
    steps = head_steps(block, weights, index, query)
    for edit in _of_look(run.change.scores, layer, index, query):
        steps = steps.with_score(edit.key, edit.score)
    first, last = (int(ends[query]) for ends in row_ranges(block.allowed.cpu().numpy()))
    keys, total = slice(first, last + 1), float(steps.exponentials.sum() + steps.sunk)
    exact = {name: getattr(steps, name)[keys].numpy() for name in
             ("products", "scaled", "bias", "scores", "exponentials", "weights")}
    for edit in _of_look(run.change.weights, layer, index, query):
        if first <= edit.key <= last:
            exact["weights"] = exact["weights"].copy()
            exact["weights"][edit.key - first] = 0
    output = exact["weights"] @ steps.V[keys].numpy()
    header = {"from": first, "total": total, "top": steps.top, "cap": steps.cap, "dots": weights.v_S is None,
              "divisor": float(weights.config.divisor) if is_scaled(weights) else 1.0, "sunk": steps.sunk / total}
    return header, exact | {
        "q": _numbers(steps.q), "K": _numbers(steps.K[keys]), "V": _numbers(steps.V[keys]),
        "output": output.astype(np.float32), "allowed": steps.allowed[keys].numpy().astype(np.uint8)}


def _of_look(edits: Sequence[WeightEdit | ScoreEdit], *look: int) -> list[WeightEdit | ScoreEdit]:
    """Those of the edits that change the look of a query, (layer, head, query)."""
    return [edit for edit in edits if (edit.layer, edit.head, edit.query) == look]


def number_of(run: Pass, layer: int, index: int, query: int, key: int, number: int) -> Answer:
    """One number of a query, or of a key if `number` is d_k or more, as the product of what attention reads with one
    column of its projection.

    Header: the bias, the number as the projection makes it, and as the score reads it. Arrays: x (d) and w (d) float32.
    """
    block, weights, config = run.trace.blocks[layer], run.model.blocks[layer], run.model.config
    is_key, c = divmod(number, config.d_k)
    own = index // (config.n_heads // config.n_kv_heads) if is_key else index
    at, name = (key, "K") if is_key else (query, "Q")
    W, b = getattr(weights, f"W_{name}"), getattr(weights, f"b_{name}")
    read = head_steps(block, weights, index, query)
    header = {"bias": 0.0 if b is None else float(b[own, c]), "value": float(getattr(block, name)[own, at, c]),
              "used": float(read.K[key, c] if is_key else read.q[c])}
    return header, {"x": _numbers(block.X[at]), "w": _numbers(W[own][:, c])}


def neurons_of(run: Pass, layer: int, position: int) -> Answer:
    """The neurons of a block at one token, and the tokens that those promote that write most.

    Header: `read`, for each of the MOST_READ neurons with the longest vectors its number and the tokens. Arrays: pre
    and post (d_ff), before and after the activation; size (d_ff), the length of what each writes; all float32. Raises
    ValueError for a block without neurons of its own.
    """
    block, weights = _with_neurons(run, layer), run.model.blocks[layer]
    post = block.mlp_post[position]
    size = post.abs() * weights.W_2.norm(dim=-1)
    strongest = size.topk(min(MOST_READ, len(size))).indices
    read = [{"neuron": int(neuron), "promotes": promotes}
            for neuron, (promotes, _, _) in zip(strongest, _promoted(run, layer, position, strongest))]
    return {"read": read}, {"pre": _numbers(block.mlp_pre[position]), "post": _numbers(post), "size": _numbers(size)}


def neuron_of(run: Pass, layer: int, position: int, neuron: int) -> Answer:
    """One neuron: where it fires in the text, what it reads at one token, and which tokens it promotes there.

    Header: the bias, pre and post there, `up` (what the gate is multiplied by; null without a gate), and the tokens
    whose logits it raises most and lowers most, with by how much. Arrays: fires (N), x (d) and w (d), float32. Raises
    ValueError for a block without neurons of its own.
    """
    block, weights = _with_neurons(run, layer), run.model.blocks[layer]
    W, b = (weights.W_1, weights.b_1) if weights.W_gate is None else (weights.W_gate, weights.b_gate)
    x = feed_forward_input(weights, block, weights.config.norm)[position]
    up = None if weights.W_gate is None else float(x @ weights.W_1[:, neuron]
                                                   + (0 if weights.b_1 is None else weights.b_1[neuron]))
    [(promotes, suppresses, amounts)] = _promoted(run, layer, position, torch.tensor([neuron], device=x.device))
    header = {"bias": 0.0 if b is None else float(b[neuron]), "pre": float(block.mlp_pre[position, neuron]),
              "post": float(block.mlp_post[position, neuron]), "up": up, "promotes": promotes,
              "suppresses": suppresses, "amounts": amounts}
    return header, {"fires": _numbers(block.mlp_post[:, neuron]), "x": _numbers(x), "w": _numbers(W[:, neuron])}


def embedding_of(run: Pass, position: int) -> Answer:
    """The tokens whose rows of E are most like the row of the token at a position, by their cosine.

    Header: their ids and visible forms. Array: cosine (tokens), float32.
    """
    own, E = int(run.trace.token_ids[position]), run.model.E
    cosine = embeddings.similarity(E, E[own])
    ids = embeddings.nearest(cosine, leave_out=[own])[:LIKE]
    return ({"ids": ids.tolist(), "tokens": [run.tokenizer.visible(i) for i in ids.tolist()]},
            {"cosine": _numbers(cosine[ids])})


def stream_of(run: Pass, position: int) -> Answer:
    """One token's stream before each block and after the last.

    Header: `guesses`, for each of the L + 1 depths the GUESSED likeliest next tokens if the model stopped there, with
    their probabilities; none without a language head. Array: cosine (L + 1), with the stream after the last block.
    """
    stream = torch.stack([resid[position] for resid in run.trace.depths])
    guesses = []
    if run.has_head:
        best = torch.softmax(logit_lens(run.model, stream), dim=-1).topk(GUESSED)
        guesses = [[[run.tokenizer.visible(i), p] for i, p in zip(ids, probs)]
                   for ids, probs in zip(best.indices.tolist(), best.values.tolist())]
    return {"guesses": guesses}, {"cosine": _numbers(torch.cosine_similarity(stream, stream[-1:], dim=-1))}


def end_of(run: Pass, position: int) -> Answer:
    """The likeliest next tokens at a position.

    Header: their ids, their visible forms, the largest logit, and the sum of e^(u − that) over the whole vocabulary.
    Arrays: logits and probs (tokens), float64. Raises ValueError for a model without a language head.
    """
    logits = _logits(run, position)
    top, ids = float(logits.max()), logits.topk(min(OFFERED, len(logits))).indices
    total = float((logits - top).exp().sum())
    return ({"ids": ids.tolist(), "tokens": [run.tokenizer.visible(i) for i in ids.tolist()], "top": top,
             "total": total},
            {"logits": logits[ids].numpy(), "probs": ((logits[ids] - top).exp() / total).numpy()})


def logit_of(run: Pass, position: int, token_id: int) -> Answer:
    """One logit: the last vector at a position times a token's row of the unembedding.

    Header: the token, the bias, the sum with it, and the logit itself, which a cap may hold lower. Arrays: x (d) and
    w (d), float32. Raises ValueError for a model without a language head.
    """
    logits, trace, model = _logits(run, position), run.trace, run.model
    h, row = (trace.h_final if trace.h_head is None else trace.h_head)[position], model.unembedding[token_id]
    bias = 0.0 if model.b_U is None else float(model.b_U[token_id])
    header = {"token": run.tokenizer.visible(token_id), "bias": bias, "value": float(h.double() @ row.double()) + bias,
              "used": float(logits[token_id])}
    return header, {"x": _numbers(h), "w": _numbers(row)}


def _logits(run: Pass, position: int) -> Tensor:
    if not run.has_head:
        raise ValueError("this model predicts no token")
    return run.trace.logits[position].double().cpu()


def _with_neurons(run: Pass, layer: int) -> BlockTrace:
    if run.trace.blocks[layer].mlp_post is None:
        raise ValueError("this block has no neurons of its own")
    return run.trace.blocks[layer]


def _promoted(run: Pass, layer: int, position: int, neurons: Tensor) -> list[tuple[list[str], list[str], list[float]]]:
    """For each of these neurons the PROMOTED tokens whose logits it raises most, those that it lowers most, and by how
    much each; nothing in a model without a language head.
    """
    if not run.has_head:
        return [([], [], [])] * len(neurons)
    said = []
    for row in neuron_promotions(run.model, run.trace, layer, position, neurons):
        ends = [end.topk(min(PROMOTED, len(row))).indices for end in (row, -row)]
        said.append((*([run.tokenizer.visible(int(i)) for i in end] for end in ends),
                     [float(row[i]) for end in ends for i in end]))
    return said


def _numbers(values: Tensor) -> np.ndarray:
    return values.detach().float().cpu().numpy()
