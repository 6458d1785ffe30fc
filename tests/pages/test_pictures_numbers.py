"""The numbers given to pictures are those the model computed, entry for entry, in models in which N, h, L and d all
differ. That a browser shows the entry that the pointer is at is held by tests/browser/test_pictures_numbers.py.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from core.app.compute import cache
from core.app.compute.library import loading
from core.base import deployment
from core.model.trace import BlockTrace
from tests.helpers import lessons, messages, shapes
from tests.helpers.shapes import Shown

LAYER, HEAD, POSITION = 1, 2, 6

Tensors = dict[str, Callable[[Shown], Tensor]]


@dataclass(frozen=True)
class Given:
    """A picture's input: the arrays of its component by name, each with the tensor whose entries it must hold, in the
    tensor's order. settings: of the lesson, which lead to the picture.
    """

    lesson: str
    component: str
    tensors: Tensors
    settings: dict[str, str] = field(default_factory=dict)


def of_blocks(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Shown], Tensor]:
    """The same tensor of every block, (L, …)."""
    return lambda shown: torch.stack([tensor(block) for block in shown.trace.blocks])


def of_block(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Shown], Tensor]:
    """A tensor of the picked block."""
    return lambda shown: tensor(shown.trace.blocks[LAYER])


def of_head(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Shown], Tensor]:
    """A tensor (h, …) of the picked block, at the picked head; of keys and values (h_kv, …), those that the head reads.
    """
    def at_head(shown: Shown) -> Tensor:
        values = tensor(shown.trace.blocks[LAYER])
        return values[HEAD * len(values) // shown.model.config.n_heads]
    return at_head


def visible(tensor: Tensor, block: BlockTrace) -> Tensor:
    """The entries of (h, N, N) that the mask lets a query see, row after row: (h, cells)."""
    return tensor[:, block.allowed]


def lengths(vectors: Callable[[BlockTrace], Tensor]) -> Callable[[Shown], Tensor]:
    """(L, N): how long the vectors (N, d) of every block are."""
    return of_blocks(lambda block: vectors(block).norm(dim=-1))


def stream_lengths(shown: Shown) -> Tensor:
    """(L + 1, N): how long the stream is before each block and after the last."""
    return torch.stack([*(block.resid_pre for block in shown.trace.blocks), shown.trace.resid_final]).norm(dim=-1)


def b_O(shown: Shown) -> Tensor:
    """(d,) what the picked block adds beside its heads; 0 in a model without it."""
    bias = shown.model.blocks[LAYER].b_O
    return torch.zeros(shown.model.config.d_model) if bias is None else bias


PATTERNS = of_blocks(lambda block: visible(block.pattern, block))
ATTENTION, FEED_FORWARD = lengths(lambda block: block.attn_added), lengths(lambda block: block.mlp_added)
PICTURES = {
    "overview": Given("overview", "overview_map", {
        "E": lambda shown: shown.trace.embedding, "h": lambda shown: shown.trace.h_final, "patterns": PATTERNS,
        "mlp": of_blocks(lambda block: block.mlp_post), "stream": stream_lengths, "attention": ATTENTION,
        "middle": lengths(lambda block: block.resid_mid), "feed_forward": FEED_FORWARD}),
    "wall": Given("heads", "heads_wall", {"values": PATTERNS}, {"panel": "wall"}),
    "weights": Given("heads", "attention_view", {"values": of_block(lambda block: visible(block.pattern, block)[HEAD])},
                     {"panel": "head"}),
    "scores": Given("heads", "attention_view", {"values": of_block(lambda block: visible(block.scores, block)[HEAD])},
                    {"panel": "head", "values": "scores"}),
    "what heads write": Given("heads", "heads_sum", {
        "outputs": of_block(lambda block: block.head_out[:, POSITION]),
        "written": lambda shown: torch.vstack([*of_block(lambda block: block.head_contribution[:, POSITION])(shown),
                                               b_O(shown), shown.trace.blocks[LAYER].attn_out[POSITION]])},
        {"panel": "write"}),
    "lengths": Given("residual_stream", "residual_norms", {"values": stream_lengths, "residual": stream_lengths,
                                                           "attention": ATTENTION, "mlp": FEED_FORWARD},
                     {"view": "norms"}),
    "what attention adds": Given("residual_stream", "residual_norms", {"values": ATTENTION},
                                 {"view": "norms", "measure": "attention"}),
    "what feed-forward adds": Given("residual_stream", "residual_norms", {"values": FEED_FORWARD},
                                    {"view": "norms", "measure": "mlp"}),
    "cosines": Given("residual_stream", "residual_grid", {
        "values": of_blocks(lambda block: cosine_similarity(block.resid_pre, block.resid_post, dim=-1))},
        {"view": "norms", "measure": "turn"}),
    "neurons": Given("residual_stream", "residual_neurons", {
        "pre": of_block(lambda block: block.mlp_pre[POSITION]),
        "post": of_block(lambda block: block.mlp_post[POSITION])}, {"view": "mlp"}),
    "steps": Given("attention", "attention_steps", {
        "X": of_block(lambda block: block.X), "q_raw": of_head(lambda block: block.Q[:, POSITION]),
        "K_raw": of_head(lambda block: block.K), "q": of_head(lambda block: block.Q_rotated[:, POSITION]),
        "K": of_head(lambda block: block.K_rotated), "V": of_head(lambda block: block.V),
        "written": of_head(lambda block: block.head_contribution[:, POSITION])}),
    "matrices": Given("attention", "attention_matrices", {
        "m0": of_head(lambda block: block.Q_rotated), "m1": of_head(lambda block: block.scores)},
        {"view": "roles", "roles_part": "change"}),
    "logits": Given("next_token", "live_transformer.sampling_panel", {
        "logits": lambda shown: shown.trace.logits[POSITION]}),
    "product": Given("embeddings", "embedding_product", {"product": lambda shown: shown.trace.embedding},
                     {"view": "product"}),
    "way out": Given("embeddings", "embedding_pair", {"h": lambda shown: shown.trace.h_final[POSITION]},
                     {"view": "product", "use": "out"}),
}


def bias(shown: Shown) -> Tensor:
    """(d,) b_O of the picked block; 0 in a model without one."""
    b_O = shown.model.blocks[LAYER].b_O
    return torch.zeros(shown.model.config.d_model) if b_O is None else b_O


@pytest.fixture(scope="module", params=shapes.SHAPES)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Shown]]:
    """The name of a model that the operator offers, and what it computes."""
    root, name = tmp_path_factory.mktemp("shapes"), f"folder:{request.param}"
    made = shapes.shown(root, request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(deployment.ROOTS, str(root))
        task = loading.load(name)
        task.wait(60)
        assert task.problem is None, task.problem
        yield name, made
    cache.shelf.drop(name)


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES.keys())
def test_a_picture_is_given_what_the_model_computed(picture: Given, shown: tuple[str, Shown]):
    name, of_model = shown
    at = lessons.opened(picture.lesson, picture.settings, model=name, prompt=shapes.PROMPT, layer=str(LAYER),
                        head=str(HEAD), position=str(POSITION))
    arrays = messages.given(at, picture.component)      # the logits of further texts come after the prompt's own
    for array, tensor in picture.tensors.items():
        expected = tensor(of_model).flatten().double().numpy()
        scaled = (expected / np.abs(expected).max()).round(5)
        assert np.unique(scaled).size > 0.5 * expected.size, f"{array} has too many equal entries"
        np.testing.assert_allclose(arrays[array][:expected.size], expected, rtol=1e-4, atol=1e-5, err_msg=array)
