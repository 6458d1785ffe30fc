"""Every number that a picture shows under the pointer is the Trace's: the pointer goes over each picture of a model in
which N, h, L and d all differ, and what it reads is held against the tensor at the place that the reading names."""
from __future__ import annotations

import math
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page
from torch import Tensor
from torch.nn.functional import cosine_similarity

from core.analysis.norm_inputs import feed_forward_input
from core.app.compute import cache
from core.app.state.run import read
from core.base import deployment
from core.model.block import Block
from core.model.trace import BlockTrace
from core.model.transformer import Transformer
from pages.overview.packing import MLP_COLUMNS
from tests.browser.readings import Picture, Reading, faults, label
from tests.browser.serving import go_to, prepare, rest, serve, settle
from tests.browser.test_models_page import load
from tests.helpers import shapes
from tests.helpers.shapes import Shown

LAYER, HEAD, POSITION = 1, 3, 6


def of_blocks(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Shown], Tensor]:
    """The same tensor of every block, (L, …)."""
    return lambda shown: torch.stack([tensor(block) for block in shown.trace.blocks])


def of_block(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Shown], Tensor]:
    """A tensor of the picked block."""
    return lambda shown: tensor(shown.trace.blocks[LAYER])


def of_head(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Shown], Tensor]:
    """A tensor (h, …) of the picked block, at the picked head."""
    return lambda shown: tensor(shown.trace.blocks[LAYER])[HEAD]


def visible(name: str) -> Callable[[BlockTrace], Tensor]:
    """The block's tensor (h, N, N) of that name, NaN if the mask hides it."""
    return lambda block: getattr(block, name).masked_fill(~block.allowed, math.nan)


def key_of(block: BlockTrace) -> Tensor:
    """(d_k,) the key at KEY of the picked head, which may share it with others."""
    return block.K_rotated[HEAD * len(block.K) // len(block.Q), KEY]


def gate(block: Block) -> Tensor:
    """(d, d_ff) what a neuron's activation is of: the gate's projection, or that of a part without one."""
    return block.W_1 if block.W_gate is None else block.W_gate


def embedding(shown: Shown) -> Tensor | None:
    """(N, d) the rows of E; None if no positions are added, so that they are X."""
    return None if shown.trace.position is None else shown.trace.embedding


def strongest(block: BlockTrace) -> Tensor:
    """(N, d_ff) for every neuron the largest number of the group that shares its column of the map."""
    post = block.mlp_post
    width = -(-post.shape[-1] // MLP_COLUMNS)
    return torch.cat([group.amax(-1, keepdim=True).expand_as(group) for group in post.split(width, -1)], -1)


def stream(shown: Shown) -> Tensor:
    """(L + 1, N, d): the stream before each block and after the last."""
    return torch.stack([*(block.resid_pre for block in shown.trace.blocks), shown.trace.resid_final])


def best_guess(model: Transformer, vectors: Tensor) -> Tensor:
    """The probability of the likeliest token (…) that the model reads off vectors (…, d) of its stream."""
    return torch.softmax(model.final_norm(vectors, model.config.norm) @ model.unembedding.T, dim=-1).amax(-1)


def grid(name: str, tensor: Callable[[Shown], Tensor], rows: list[str]) -> tuple[Reading, ...]:
    """The readings of a grid (rows, N) of the residual stream, one for each row, which are called so."""
    return tuple(Reading(label("residual_stream", name, row=row), lambda shown, k=k: tensor(shown)[k], ("index",))
                 for k, row in enumerate(rows))


VALUE = "\n(?P<value>.+)"
LENGTH = r"\n\(?(?P<value>[^\s;]+).*"                                      # of a vector, whose band may be thinner
CELL = r"\n.+\n→\n.+\n(?P<value>.+)\n(?P<query>\d+) → (?P<key>\d+).*"      # of an attention matrix
ENTRY = r"\n(?P<row>\d+),(?P<c>\d+)\n = (?P<value>.+)"                     # of a vector, in the steps of attention
OWN_ENTRY = rf"\n{POSITION},(?P<c>\d+)\n = (?P<value>.+)"                  # of a vector of the query
AT_KEY = rf"q\n{POSITION}\n·k\n(?P<key>\d+)\n"
BLOCKS = [label("residual_stream", "block", block=block) for block in "012"]
DEPTHS = [label("residual_stream", "entering"),
          *(label("residual_stream", "after_blocks", n=n, all="3") for n in "123")]

NEURONS = Reading(label("overview", "tip_neurons") + VALUE, of_blocks(strongest), ("block", "token", "from"),
                  whole=False)
# in place of the neurons, in a model of experts
WEIGHTS = replace(NEURONS, says=label("overview", "tip_experts") + VALUE,
                  tensor=of_blocks(lambda block: block.expert_weights))

# The map of the overview: the arrow keys read it whole; the pointer also reads it.
MAP = (
    *(Reading(label("overview", "tip_vector", name=name) + VALUE, tensor, ("position", "dimension"), whole=False)
      for name, tensor in (("E", embedding), ("P", lambda shown: shown.trace.position),
                           ("X", lambda shown: shown.trace.blocks[0].resid_pre),
                           ("h", lambda shown: shown.trace.h_final))),
    NEURONS,
    *(Reading(label("overview", f"tip_lane_{k}") + LENGTH,
              of_blocks(lambda block, name=name: getattr(block, name).norm(dim=-1)), ("block", "token"))
      for k, name in enumerate(("resid_pre", "resid_mid", "resid_post"))),
    Reading(label("overview", "tip_tile") + VALUE, of_blocks(visible("pattern")),
            ("block", "head", "query", "key"), whole=False))

KEY, NUMBER, NEURON, WORD = 3, 2, 4, 17


def inside(depth: str, *numbers: int, readings: tuple[Reading, ...], **more) -> Picture:
    """A depth of the overview's picture."""
    return Picture(f"?overview_at={'.'.join(map(str, (depth, *numbers)))}", ".map canvas.depth", ".map .tip", readings,
                   **more)


def term(name: str, tensor: Callable[[Shown], Tensor]) -> Reading:
    """A reading of a row of numbers, or of their products, by the place in the row."""
    return Reading(label("overview", f"dive_{name}_tip") + VALUE, tensor, ("m",))


def products(x: Callable[[Shown], Tensor], w: Callable[[Shown], Tensor], column: str = "w") -> tuple[Reading, ...]:
    """The readings of two rows of numbers, and of their products."""
    return term("x", x), term(column, w), term("xw", lambda shown: x(shown) * w(shown))


def neuron_input(shown: Shown) -> Tensor:
    """(d,) what the picked block's feed-forward part reads at the picked position."""
    block = shown.model.blocks[LAYER]
    return feed_forward_input(block, shown.trace.blocks[LAYER], shown.model.config.norm)[POSITION]


def running_sum(shown: Shown) -> Tensor:
    """(d + 1,) the sums of the bias and the first products that make a number of the query."""
    block, weights = shown.trace.blocks[LAYER], shown.model.blocks[LAYER]
    terms = block.X[POSITION].double() * weights.W_Q[HEAD, :, NUMBER]
    bias = torch.zeros(1) if weights.b_Q is None else weights.b_Q[HEAD, NUMBER, None]
    return torch.cat([bias.double(), terms]).cumsum(0)


# The depths inside the map: what the pointer reads there.
INSIDE = {
    "inside: a block": inside("block", LAYER, readings=tuple(replace(reading, whole=False) for reading in MAP[4:]),
                              besides=label("overview", "chip_hint")),
    "inside: its heads": inside("heads", LAYER, readings=(replace(MAP[-1], whole=False),)),
    "inside: a head": inside("head", LAYER, HEAD, readings=(MAP[-1],), part=(0, 0.6)),
    "inside: a look": inside("look", LAYER, HEAD, POSITION, readings=(
        Reading(label("overview", "dive_tip_look") + VALUE, of_head(lambda block: block.pattern), ("query", "key"),
                whole=False),
        Reading(label("overview", "dive_tip_score") + VALUE, of_head(lambda block: block.scores[:, POSITION]), ("key",),
                whole=False))),
    "inside: a product": inside("product", LAYER, HEAD, POSITION, KEY, readings=(
        *(Reading(label("overview", f"dive_tip_{name}") + VALUE, of_block(vector), ("c",)) for name, vector in (
            ("query", lambda block: block.Q_rotated[HEAD, POSITION]), ("key", key_of))),
        Reading(label("overview", "dive_tip_term") + VALUE,
                of_block(lambda block: block.Q_rotated[HEAD, POSITION] * key_of(block)), ("c",)))),
    "inside: a number": inside("number", LAYER, HEAD, POSITION, KEY, NUMBER, readings=(
        *products(of_block(lambda block: block.X[POSITION]),
                  lambda shown: shown.model.blocks[LAYER].W_Q[HEAD, :, NUMBER]), term("running", running_sum))),
    "inside: neurons": inside("neurons", LAYER, POSITION, readings=(
        Reading(label("overview", "dive_tip_size") + VALUE, lambda shown: (
            shown.trace.blocks[LAYER].mlp_post[POSITION, :, None] * shown.model.blocks[LAYER].W_2).norm(dim=-1),
            ("m",)),)),
    "inside: a neuron": inside("neuron", LAYER, POSITION, NEURON, points=1600, readings=(
        *products(neuron_input, lambda shown: gate(shown.model.blocks[LAYER])[:, NEURON], "w_in"),
        Reading(label("overview", "dive_tip_fires") + VALUE, of_block(lambda block: block.mlp_post[:, NEURON]), ("i",),
                whole=False))),
    "inside: an embedding": inside("embedding", POSITION, readings=tuple(
        replace(reading, whole=False) for reading in MAP[:3]), besides=label("overview", "dive_tip_like") + VALUE),
    "inside: a stream": inside("stream", POSITION, readings=(
        Reading(label("overview", "dive_tip_length") + VALUE, lambda shown: stream(shown)[:, POSITION].norm(dim=-1),
                ("blocks",)),)),
    "inside: a logit": inside("logit", POSITION, WORD, readings=(
        *products(lambda shown: shown.trace.h_final[POSITION], lambda shown: shown.model.unembedding[WORD], "w_logit"),
        term("running", lambda shown: torch.cat([torch.zeros(1), shown.trace.h_final[POSITION]
                                                 * shown.model.unembedding[WORD]]).double().cumsum(0)))),
}
PICTURES = INSIDE | {
    "overview": Picture("", ".map canvas.over", ".map .tip", MAP, points=0, keys=(32, 9)),
    "overview under the pointer": Picture("", ".map canvas.over", ".map .tip",
                                          tuple(replace(reading, whole=False) for reading in MAP),
                                          besides=r".+\n" + label("overview", "chip_hint")),
    "wall of heads": Picture("heads?heads_panel=wall", ".wall .stage", ".wall .tip", points=400, readings=(
        Reading(r"(?P<layer>\d+)\.(?P<head>\d+)" + CELL, of_blocks(visible("pattern")),
                ("layer", "head", "query", "key")),)),
    "weights of a head": Picture("heads?heads_panel=head", ".view canvas.cells", ".view .tip", (
        Reading(rf"{LAYER}\.{HEAD}" + CELL, of_head(visible("pattern")), ("query", "key")),)),
    "scores of a head": Picture("heads?heads_panel=head&heads_values=scores", ".view canvas.cells", ".view .tip", (
        Reading(rf"{LAYER}\.{HEAD}" + CELL, of_head(visible("scores")), ("query", "key")),)),
    "outputs of heads": Picture("heads?heads_panel=write", ".sum .stage", ".sum .tip", part=(0, 0.35), readings=(
        Reading(rf"{LAYER}\.(?P<head>\d+)\n (?P<c>\d+)  " + VALUE, of_block(lambda block: block.head_out[:, POSITION]),
                ("head", "c")),
        Reading(label("heads", "write_sum") + r"\n (?P<c>\d+)  " + VALUE,
                of_block(lambda block: block.head_out[:, POSITION].flatten()), ("c",), whole=False))),
    "what heads write": Picture("heads?heads_panel=write", ".sum .stage", ".sum .tip", part=(0.42, 0.85), readings=(
        Reading(rf"{LAYER}\.(?P<head>\d+)\n (?P<c>\d+)  " + VALUE,
                of_block(lambda block: block.head_contribution[:, POSITION]), ("head", "c")),
        Reading(label("heads", "write_bias") + r"\n (?P<c>\d+)  " + VALUE,
                lambda shown: shown.model.blocks[LAYER].b_O, ("c",), whole=False),
        Reading(label("heads", "write_sum") + r"\n (?P<c>\d+)  " + VALUE,
                of_block(lambda block: block.attn_out[POSITION]), ("c",), whole=False))),
    "lengths": Picture(
        "residual_stream?residual_stream_view=norms&residual_stream_measure=stream",
        ".residual-norms .grid canvas", ".residual-norms .tip",
        grid("reading_stream", lambda shown: stream(shown).norm(dim=-1), DEPTHS)),
    "what attention adds": Picture(
        "residual_stream?residual_stream_view=norms&residual_stream_measure=attention",
        ".residual-norms .grid canvas", ".residual-norms .tip",
        grid("reading_attention", of_blocks(lambda block: block.attn_added.norm(dim=-1)), BLOCKS)),
    "what feed-forward adds": Picture(
        "residual_stream?residual_stream_view=norms&residual_stream_measure=mlp",
        ".residual-norms .grid canvas", ".residual-norms .tip",
        grid("reading_mlp", of_blocks(lambda block: block.mlp_added.norm(dim=-1)), BLOCKS)),
    "cosines": Picture(
        "residual_stream?residual_stream_view=norms&residual_stream_measure=turn",
        ".residual-grid canvas", ".residual-grid .tip",
        grid("reading_turn", of_blocks(lambda block: cosine_similarity(block.resid_pre, block.resid_post, dim=-1)),
             BLOCKS)),
    "lens": Picture(
        "residual_stream?residual_stream_view=lens", ".residual-lens .grid canvas", ".residual-lens .tip",
        grid("reading_lens", lambda shown: best_guess(shown.model, stream(shown)), DEPTHS)),
    "neurons": Picture("residual_stream?residual_stream_view=mlp", ".neurons-bars", ".residual_neurons .read", (
        Reading(label("residual_stream", "neurons_read").replace("<a>", "<value>"),
                of_block(lambda block: block.mlp_post[POSITION]), ("neuron",)),
        Reading(label("residual_stream", "neurons_read").replace("<z>", "<value>"),
                of_block(lambda block: block.mlp_pre[POSITION]), ("neuron",)))),
    "steps": Picture("attention?attention_step=write", ".instrument .stage canvas", ".instrument .tip", points=600,
                     readings=(
        Reading("x" + ENTRY, of_block(lambda block: block.X), ("row", "c")),
        Reading("q" + OWN_ENTRY, of_head(lambda block: block.Q[:, POSITION]), ("c",), whole=False),
        Reading("k" + ENTRY, of_head(lambda block: block.K), ("row", "c")),
        Reading("v" + ENTRY, of_head(lambda block: block.V), ("row", "c")),
        Reading(AT_KEY + " = (?P<value>.+)",
                of_head(lambda block: block.scores[:, POSITION] * block.Q.shape[-1] ** 0.5), ("key",)),
        Reading(AT_KEY + r" / √d\nk\n = (?P<value>.+)", of_head(lambda block: block.scores[:, POSITION]), ("key",)),
        Reading(rf"s\n{POSITION},(?P<key>\d+)\n = (?P<value>.+)",
                of_head(lambda block: block.scores.masked_fill(~block.allowed, -torch.inf)[:, POSITION]), ("key",)),
        Reading(rf"α\n{POSITION},(?P<key>\d+)\n = (?P<value>.+)", of_head(lambda block: block.pattern[:, POSITION]),
                ("key",)),
        Reading(rf"α\n{POSITION},\d+\n v" + ENTRY,
                of_head(lambda block: block.pattern[:, POSITION, :, None] * block.V), ("row", "c")),
        Reading("o" + OWN_ENTRY, of_head(lambda block: block.head_out[:, POSITION]), ("c",), whole=False),
        Reading(r"\(o W\nO\n\)\n(?P<c>\d+)\n = (?P<value>.+)",
                of_head(lambda block: block.head_contribution[:, POSITION]), ("c",), whole=False))),
    "queries": Picture(
        "attention?attention_view=roles&attention_roles_part=change", ".matrices .panel:nth-child(1) canvas",
        ".attention_matrices .tip", (
            Reading(r"(?P<token>.+)\n " + label("attention", "roles_dimension") + r"\n (?P<value>.+)",
                    of_head(lambda block: block.Q), ("token", "c")),)),
    "scores beside queries": Picture(
        "attention?attention_view=roles&attention_roles_part=change", ".matrices .panel:nth-child(2) canvas",
        ".attention_matrices .tip", (
            Reading(r"(?P<query>.+)\n → \n(?P<key>.+)\n (?P<value>.+)", of_head(lambda block: block.scores),
                    ("query", "key")),)),
    "logits": Picture("next_token?next_token_panel=x0.6_s1_all", ".sampling-panel canvas", ".sampling-panel .tip", (
        Reading(r"(?s).+\nid (?P<id>\d+), .*\nu = (?P<value>\S+)\n.+", lambda shown: shown.trace.logits[POSITION],
                ("id",), whole=False),
        Reading(r"(?s).+\nid (?P<id>\d+), .*\ny = (?P<value>\S+)\n.+", lambda shown: shown.trace.probs[POSITION],
                ("id",), whole=False))),
    "product": Picture(
        "embeddings?embeddings_view=product", ".product .stage", ".product .tip",
        besides=r".+\n " + label("embeddings", "product_column"),
        readings=(
            Reading(r".+\n " + label("embeddings", "product_entry", symbol="X") + " " + VALUE,
                    lambda shown: shown.trace.embedding, ("id", "c")),
            Reading(r".+\n " + label("embeddings", "product_entry", symbol="E") + " " + VALUE,
                    lambda shown: shown.model.E, ("id", "c"), whole=False))),
    "way out": Picture(
        "embeddings?embeddings_view=product&embeddings_use=out", ".pair-view .stage", ".pair-view .tip",
        besides=" " + label("embeddings", "pair_number") + r" \n\S+ · \S+ = \S+",
        readings=(
            Reading(r".+\n " + label("embeddings", "pair_entry", symbol="E") + " " + VALUE,
                    lambda shown: shown.model.E, ("row", "c"), whole=False),
            Reading(r".+\n " + label("embeddings", "pair_entry", symbol="Eᵀ") + " " + VALUE,
                    lambda shown: shown.model.unembedding.T, ("row", "c"), whole=False),
            Reading(" " + label("embeddings", "pair_number") + r" \n(?P<value>[^\s·]+)",
                    lambda shown: shown.trace.h_final[POSITION], ("c",), whole=False))),
    "learned positions": Picture(
        "positions?positions_view=learned&positions_learned_principal=false", ".canvas-learned", ".reading",
        points=150, late=True,
        besides=label("positions", "learned_reading"),      # when the mouse itself is left behind by the scrolling
        readings=(Reading(label("positions", "learned_tip"), lambda shown: shown.model.P, ("i", "dimension")),)),
}
# These have at most 9 × 9 entries, and each holds some of the 250 points.
PICTURES |= {name: replace(PICTURES[name], points=250) for name in (
    "weights of a head", "scores of a head", "lengths", "what attention adds", "what feed-forward adds", "cosines",
    "lens", "neurons", "queries")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("shapes"))


@pytest.fixture(scope="module")
def models(folder: str) -> dict[str, Shown]:
    """By the name of each model: one with heads of their own keys and learned positions, one whose heads share keys and
    are turned, one like it with experts, and one without positions.
    """
    bundled = read(cache.shared_model("positions-none", "cpu"), shapes.PROMPT)
    return {f"folder:{name}": shapes.shown(Path(folder), name) for name in ("learned", "grouped", "experts")} | {
        bundled.model_name: Shown(bundled.model, bundled.tokenizer, bundled.trace)}


@pytest.fixture(scope="module")
def page(browser: Browser, folder: str, models: dict[str, Shown]) -> Iterator[Page]:
    """A page of an app that has loaded the models."""
    with serve(env={deployment.ROOTS: folder}) as server:
        page = browser.new_page(bypass_csp=True, viewport={"width": 1280, "height": 900}, reduced_motion="reduce",
                                base_url=server.url)
        prepare(page)
        for name in (name for name in models if name.startswith("folder:")):
            page.goto(f"/?model={name}")
            load(page, page.locator(".st-key-model_drawer", has_text=name.removeprefix("folder:")))
        yield page
        page.close()


# The same depths in other models, at fewer points: not every index is read.
FEWER = {name: replace(picture, points=200, readings=tuple(replace(one, whole=False) for one in picture.readings))
         for name, picture in INSIDE.items()}
OF_EXPERTS = {name: replace(picture, readings=tuple(WEIGHTS if one == NEURONS else one for one in picture.readings))
              for name, picture in (FEWER | {"overview": PICTURES["overview under the pointer"]}).items()
              if name not in ("inside: neurons", "inside: a neuron")}
CASES = [pytest.param(model, picture, id=f"{model}: {name}") for model, pictures in (
    ("folder:learned", PICTURES), ("folder:grouped", FEWER), ("positions-none", FEWER),
    ("folder:experts", OF_EXPERTS))
    for name, picture in pictures.items()]


@pytest.mark.parametrize("model, picture", CASES)
def test_what_the_pointer_reads_is_what_the_model_computed(model: str, picture: Picture, page: Page,
                                                           models: dict[str, Shown]):
    shown = models[model]
    picture = replace(picture, readings=tuple(one for one in picture.readings if one.tensor(shown) is not None))
    chosen = {"model": model, "prompt": shapes.PROMPT, "layer": LAYER, "head": HEAD, "position": POSITION}
    origin, joined = page.url.split("/", 3)[:3], "&" if "?" in picture.address else "?"
    go_to(page, f"{'/'.join(origin)}/{picture.address}{joined}{urllib.parse.urlencode(chosen)}")
    settle(page)
    rest(page)
    assert faults(picture, page, shown) == []
