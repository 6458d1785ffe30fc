"""The numbers that formulas must have in the case that a picture has picked: by view and label, worked out from the
model's weights or its pass, and what is picked read from what the picture was given.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor

from core.app.compute import cache
from core.app.state.run import Run, read
from tests.helpers.messages import given
from tests.helpers.view_states import Said

Expected = dict[str, list[float]]       # label -> numbers that its formula must have


@dataclass(frozen=True)
class Case:
    """A page that stands, and the pass that it is about."""

    at: AppTest
    said: Said
    address: dict[str, str]

    @property
    def run(self) -> Run:
        return _run(self.at.session_state["prompt"])

    def sent(self, component: str) -> dict:
        """The picture's message."""
        return given(self.at, component)


@functools.cache
def _run(prompt: str) -> Run:
    return read(cache.shared_model(cache.model_names()[0], "cpu"), prompt)


def _floats(values: Tensor) -> list[float]:
    return values.double().flatten().tolist()


def overview(case: Case) -> Expected:
    """The token's and the position's first numbers; the lengths in the last block; the softmax of the likeliest."""
    sent, trace = case.sent("overview_map"), case.run.trace
    i, d, block = sent["position"], sent["d"], sent["layer"]
    logits = trace.logits[i].double()
    of_block = trace.blocks[block]
    return {"numbers_embed": [float(sent["E"][i * d]), float(sent["P"][i * d]), float(of_block.resid_pre[i, 0])]
            if not block else [float(sent["E"][i * d]), float(sent["P"][i * d])],
            "numbers_stream": _floats(torch.stack([of_block.resid_pre[i], of_block.attn_added[i],
                                                    of_block.mlp_added[i], of_block.resid_post[i]]).norm(dim=-1)),
            "numbers_softmax": [float(logits.max()), float(logits.softmax(-1).max())]}


def heads(case: Case) -> Expected:
    """The product, the score and the weight of the pair that the wall has picked."""
    sent, run = case.sent("heads_wall"), case.run
    layer, head = divmod(sent["selected"], sent["heads"])
    i, block = sent["query"], run.trace.blocks[layer]
    asked = int(case.at.session_state["heads_key"])
    j = asked if 0 <= asked < len(run.token_ids) else int(block.pattern[head, i].argmax())
    score = float(block.Q[head, i].double() @ block.K[head, j].double())
    seen = bool(block.allowed[i, j])
    return {"numbers_product": [score], "numbers_score": [score / run.model.config.d_k ** 0.5]} | (
        {"numbers_alpha": [float(block.pattern[head, i, j])]} if seen else {})


def heads_rollout(case: Case) -> Expected:
    """The rollout by hand: halves of the mean pattern and of the path beside it, block after block."""
    block, i = int(case.at.session_state["heads_block"]), case.sent("attention_view")["query"]
    n, reached = len(case.run.token_ids), torch.eye(len(case.run.token_ids), dtype=torch.float64)
    for each in case.run.trace.blocks[:block + 1]:
        reached = (each.pattern.double().mean(0) + torch.eye(n)) / 2 @ reached
    return heads(case) | {"numbers_rollout": [float(reached[i].max())]}


def steps(case: Case) -> Expected:
    """The score and the weight of the key that is shown, by the picked head's own vectors."""
    sent, run = case.sent("attention_steps"), case.run
    if case.at.session_state["attention_variant"] == "simple":
        return {}
    chosen = sent["chosen"]
    block, head, i = run.trace.blocks[chosen["layer"]], chosen["head"], chosen["position"]
    [j] = {int(found) for _, text in case.said.lines for found in re.findall(r"\\alpha_\{\d+,(\d+)\} = \\frac", text)}
    score = float(block.Q[head, i].double() @ block.K[head, j].double())
    return {"numbers_dot": [score], "numbers_score": [score / run.model.config.d_k ** 0.5],
            "numbers_alpha": [float(block.pattern[head, i, j])]}


def product(case: Case) -> Expected:
    """The row of E that the picked token takes."""
    sent, run = case.sent("embedding_product"), case.run
    row = run.model.E[run.token_ids[sent["picked"]]].double()
    return {"product_numbers_one": [float(row[0])], "product_numbers_row": _floats(row[:4]),
            "product_numbers_length": [float(row.norm())]}


def learned(case: Case) -> Expected:
    """The row of P at the picked position, its first number added to that of the picked token's row, and the next row.
    """
    run, at = case.run, case.sent("position_learned")["token"]
    first = float(run.trace.embedding[at, 0])
    i, P = case.sent("position_learned")["settings"]["i"], case.run.model.P.double()
    is_last = i + 1 == len(P)
    a, b = P[i], P[i - 1 if is_last else i + 1]
    product = "learned_numbers_before" if is_last else "learned_numbers_product"
    return {"learned_numbers_sum": [first, float(a[0]), first + float(a[0])],
            "learned_numbers_length": [float(a.norm())], product: [float(a @ b)],
            "learned_numbers_cosine": [float(a @ b / a.norm() / b.norm())]}


def symmetry(case: Case) -> Expected:
    """The first output of the new order in the picked case, and where its token stood before."""
    sent = case.sent("position_symmetry")
    shown, old = min(sent["shown"], case.run.model.config.d_model), sent["permutation"][0]
    return {"symmetry_numbers_row": [*sent["after"][:2].tolist(),
                                     *sent["before"][old * shown:old * shown + 2].tolist()]}


def arithmetic(case: Case) -> Expected:
    """The first entries of the three rows, and the sum's."""
    E = case.run.model.E.double()
    a, b, c = (float(E[case.run.tokenizer.encode(f" {word}")[0], 0]) for word in ("king", "man", "woman"))
    return {"arithmetic_numbers_sum": [a, b, c, a - b + c]}


def averages(case: Case) -> Expected:
    """The longest value that the query sees, and the largest weight at the slider's temperature."""
    if case.at.session_state["attention_average_part"] == "bend":
        return {}
    layer, head = map(int, re.search(r"Head (\d+)\.(\d+)", case.said.title).groups())
    block, i = case.run.trace.blocks[layer], max(case.sent("attention_average")["positions"])
    V, tau = block.V[head, :i + 1].double(), 2.0 ** case.at.session_state["attention_temperature"]
    scores = block.Q[head, i].double() @ block.K[head, :i + 1].double().T / case.run.model.config.d_k ** 0.5
    weights = (scores / tau).softmax(-1)
    return {"numbers_length": [float((weights @ V).norm()), float(V.norm(dim=-1).max())],
            "numbers_tempered": [float(weights.max())]}


def next_token(case: Case) -> Expected:
    """The entropy of the distribution, from the logits that the panel was given."""
    logits = case.sent("live_transformer.sampling_panel")["logits"][:case.run.tokenizer.vocab_size]
    log_p = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    entropy = -float((log_p.exp() * log_p).sum())
    return {"numbers_entropy": [entropy, float(torch.tensor(entropy).exp())]}


def sums(case: Case) -> Expected:
    """The first number of the stream, and of what attention adds to it, in the picked block."""
    named, i = re.search(r"Block (\d+)", case.said.title), _position(case)
    if not named or case.at.session_state["residual_stream_block_order"] == "post":
        return {}
    block = case.run.trace.blocks[int(named[1])]
    x, a = float(block.resid_pre[i, 0]), float(block.attn_added[i, 0])
    return {"numbers_block_sum": [x, a, x + a], "numbers_block_out": [float(block.mlp_added[i, 0])]}


def _position(case: Case) -> int:
    """The position that the address names, within the prompt; else the last."""
    last = len(case.run.token_ids) - 1
    return min(int(case.address.get("position", last)), last)


def lens(case: Case) -> Expected:
    """The final norm of the stream at the picked cell, times the target's row of E."""
    depth, i = case.sent("residual_lens")["picked"]
    run = case.run
    x = (run.trace.blocks[depth].resid_pre if depth < len(run.trace.blocks) else run.trace.resid_final)[i].double()
    norm = run.model.final_norm
    normed = ((x - x.mean()) / (x.var(correction=0) + norm.epsilon).sqrt() * norm.weight.double() + norm.bias.double())
    logits = run.model.E.double() @ normed
    target = int(case.address.get("target", run.trace.logits[i].argmax()))
    return {"numbers_lens": [float(logits[target])], "numbers_lens_p": [float(logits.softmax(-1)[target])]}


def patching(case: Case) -> Expected:
    """The picked cell of the grid; none for a 0, which is no number to look for."""
    sent = case.sent("residual_grid")
    depth, position = sent["picked"]
    share = float(sent["values"][depth * sent["columns"] + position])
    return {"numbers_patch_share": [share]} if share else {}


def neurons(case: Case) -> Expected:
    """The input and the activation of the neuron that is picked."""
    sent = case.sent("residual_neurons")
    neuron = sent["picked"] if sent["picked"] >= 0 else sent["rows"][0]["neuron"]
    before, after = float(sent["pre"][neuron]), float(sent["post"][neuron])
    layer = int(re.search(r"block (\d+)", case.said.title)[1])
    row = case.run.model.blocks[layer].W_2[neuron].double()
    return {"numbers_neuron": [before, after], "numbers_written": [*_floats(after * row[:3]),
                                                                   abs(after) * float(row.norm())]}


CASES: dict[str, Callable[[Case], Expected]] = {
    "overview": overview, "attention/steps": steps, "embeddings/product": product, "positions/learned": learned,
    "positions/symmetry": symmetry, "embeddings/arithmetic": arithmetic, "attention/averages": averages,
    "next_token": next_token, "residual_stream/block": sums, "residual_stream/lens": lens,
    "residual_stream/patching": patching, "residual_stream/mlp": neurons, "heads/rollout": heads_rollout,
    **{f"heads/{panel}": heads for panel in ("wall", "head", "roles", "change", "write", "prompts")}}
