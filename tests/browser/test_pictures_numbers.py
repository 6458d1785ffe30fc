"""Every number that a picture shows under the pointer is the Trace's: the pointer goes over each picture of a model in
which N, h, L and d all differ, and what it reads is held against the tensor at the place that the reading names."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import torch
from playwright.sync_api import Browser, Page
from torch import Tensor

from core.app.base import deployment, prose
from core.model.trace import BlockTrace, Trace
from tests.browser.serving import STILL, serve
from tests.browser.test_models_page import load
from tests.helpers import shapes
from tests.helpers.shapes import Shown

LAYER, HEAD, POSITION = 2, 1, 6
POINTS = 400
# Sends the pointer to points spread evenly over a part of a picture, or goes through its rows with the arrow keys, and
# returns every different reading: the texts of the node that shows it, a line each.
READ = """async (picture, {shows, part: [from, to], points, keys: [columns, rows], late}) => {
    picture.scrollIntoView({block: "center"});
    const root = picture.getRootNode(), found = new Set(), frame = () => new Promise(requestAnimationFrame);
    const texts = (node) => node.nodeType === Node.TEXT_NODE ? [node.data] : [...node.childNodes].flatMap(texts);
    const read = async () => {
        if (late) await frame();
        const node = root.querySelector(shows);
        if (node && !node.hidden) found.add(texts(node).join("\\n"));
    };
    const {left, top, width, height} = picture.getBoundingClientRect();
    for (let k = 0; k < points; k++) {      // the additive sequence R2: Roberts 2018
        const x = left + width * (from + (to - from) * ((0.5 + k * 0.7548776662) % 1)),
            y = top + height * ((0.5 + k * 0.569840291) % 1);
        const event = {clientX: x, clientY: y, bubbles: true, composed: true}, at = root.elementFromPoint(x, y);
        at?.dispatchEvent(new PointerEvent("pointermove", event));
        at?.dispatchEvent(new MouseEvent("mousemove", event));
        await read();
    }
    const press = (key) => picture.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    for (let row = 0; row < rows; row++) {
        press("Home");
        for (let column = 0; column < columns; column++) { await read(); press("ArrowRight"); }
        press("ArrowDown");
    }
    return [...found];
}"""


@dataclass(frozen=True)
class Reading:
    """What a picture says of one entry of a tensor. says: a regular expression with the groups of `axes`, which name
    the entry by numbers or tokens, and `value`.
    """

    says: str
    tensor: Callable[[Trace], Tensor]
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """Where a picture is and what it reads. late: it shows a reading in the frame after the pointer came."""

    address: str
    over: str                               # CSS of what the pointer goes over
    shows: str                              # CSS of what is read
    readings: tuple[Reading, ...]
    part: tuple[float, float] = (0, 1)      # of its width
    points: int = POINTS
    keys: tuple[int, int] = (0, 0)          # columns and rows that the arrow keys go through, in place of the points
    late: bool = False

    def read(self, page: Page) -> list[str]:
        """What it says, a reading each, the texts of one in lines of their own."""
        place = page.locator(self.over).first
        place.wait_for()
        return place.evaluate(READ, {name: getattr(self, name) for name in ("shows", "part", "points", "keys", "late")})


def of_blocks(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Trace], Tensor]:
    """The same tensor of every block, (L, …)."""
    return lambda trace: torch.stack([tensor(block) for block in trace.blocks])


def of_head(tensor: Callable[[BlockTrace], Tensor]) -> Callable[[Trace], Tensor]:
    """A tensor (h, …) of the picked block, at the picked head."""
    return lambda trace: tensor(trace.blocks[LAYER])[HEAD]


def template(lesson: str, label: str, **words: str) -> str:
    """A label as a regular expression: its {names} are groups, but for those whose words are given."""
    parts = re.split(r"\{(\w+)\}", prose.load(lesson).label(label))
    return "".join((re.escape(words[part]) if part in words else f"(?P<{part}>.+?)") if k % 2 else re.escape(part)
                   for k, part in enumerate(parts))


def grid(label: str, tensor: Callable[[Trace], Tensor], rows: list[str]) -> tuple[Reading, ...]:
    """The readings of a grid of the residual stream, (rows, N), whose rows are called so."""
    return tuple(Reading(template("residual_stream", label, row=name), lambda trace, k=k: tensor(trace)[k], ("index",))
                 for k, name in enumerate(rows))


def norms(vectors: Callable[[BlockTrace], Tensor]) -> Callable[[Trace], Tensor]:
    """The lengths (L, N) of a vector (N, d) of every block."""
    return lambda trace: of_blocks(vectors)(trace).norm(dim=-1)


def stream(trace: Trace) -> Tensor:
    """(L + 1, N, d): the stream before each block and after the last."""
    return torch.stack([*(block.resid_pre for block in trace.blocks), trace.resid_final])


RESIDUAL = prose.load("residual_stream")
BLOCKS = [RESIDUAL.label("block", block=block) for block in range(3)]
DEPTHS = [RESIDUAL.label("entering"), *(RESIDUAL.label("after_block", block=block) for block in range(3))]
HEADS = r"(?P<layer>\d+)\.(?P<head>\d+)\n.+\n→\n.+\n(?P<value>.+)\n(?P<query>\d+) → (?P<key>\d+).*"
ENTRY = r"\n(?P<row>\d+),(?P<c>\d+)\n = (?P<value>.+)"      # of a vector in the steps of attention
OPENED = rf"{LAYER}\.{HEAD}\n.+\n→\n.+\n(?P<value>.+)\n(?P<query>\d+) → (?P<key>\d+)"
PATTERN = ("layer", "head", "query", "key")

PICTURES = {
    "overview": Picture("", ".map canvas.over", ".map .tip", points=0, keys=(32, 9), readings=(
        *(Reading(template("overview", "tip_vector", name=prose.load("overview").label(f"name_{name}"))
                  + "\n(?P<value>.+)", tensor, ("position", "dimension"))
          for name, tensor in (("E", lambda trace: trace.embedding), ("P", lambda trace: trace.position),
                               ("h", lambda trace: trace.h_final))),
        Reading(template("overview", "tip_neurons") + "\n(?P<value>.+)", of_blocks(lambda block: block.mlp_post),
                ("block", "token", "from")),
        *(Reading(template("overview", f"tip_lane_{k}") + "\n(?P<value>.+)", norms(tensor), ("block", "token"))
          for k, tensor in enumerate((lambda block: block.resid_pre, lambda block: block.resid_mid,
                                      lambda block: block.resid_post))),
        Reading(template("overview", "tip_tile") + "\n(?P<value>.+)", of_blocks(lambda block: block.pattern),
                ("block", "head", "query", "key")))),
    "wall": Picture("heads?heads_panel=wall", ".wall .stage", ".wall .tip",
                    (Reading(HEADS, of_blocks(lambda block: block.pattern), PATTERN),)),
    "head, weights": Picture("heads?heads_panel=head", ".view canvas.cells", ".view .tip",
                             (Reading(OPENED, of_head(lambda block: block.pattern), ("query", "key")),)),
    "head, scores": Picture("heads?heads_panel=head&heads_values=scores", ".view canvas.cells", ".view .tip",
                            (Reading(OPENED, of_head(lambda block: block.scores), ("query", "key")),)),
    "what heads write, in head": Picture(
        "heads?heads_panel=write", ".sum .stage", ".sum .tip", part=(0, 0.38), readings=(
            Reading(rf"{LAYER}\.(?P<head>\d+)\n (?P<c>\d+)  \n(?P<value>.+)",
                    lambda trace: trace.blocks[LAYER].head_out[:, POSITION], ("head", "c")),)),
    "grid of lengths": Picture("residual_stream?residual_stream_measure=stream", ".residual-norms .grid canvas",
                               ".residual-norms .tip",
                               grid("reading_stream", lambda trace: stream(trace).norm(dim=-1), DEPTHS)),
    "grid of what attention adds": Picture(
        "residual_stream?residual_stream_measure=attention", ".residual-norms .grid canvas", ".residual-norms .tip",
        grid("reading_attention", norms(lambda block: block.attn_added), BLOCKS)),
    "grid of cosines": Picture(
        "residual_stream?residual_stream_measure=turn", ".residual-grid canvas", ".residual-grid .tip",
        grid("reading_turn",
             lambda trace: torch.cosine_similarity(stream(trace)[:-1], stream(trace)[1:], dim=-1), BLOCKS)),
    "neurons": Picture("residual_stream?residual_stream_view=mlp", ".neurons-bars", ".residual_neurons .read", (
        Reading(template("residual_stream", "neurons_read").replace("(?P<a>", "(?P<value>"),
                lambda trace: trace.blocks[LAYER].mlp_post[POSITION], ("neuron",)),)),
    "steps": Picture("attention?attention_step=write", ".instrument .stage canvas", ".instrument .tip", (
        Reading("x" + ENTRY, lambda trace: trace.blocks[LAYER].X, ("row", "c")),
        Reading("k" + ENTRY, of_head(lambda block: block.K), ("row", "c")),
        Reading("v" + ENTRY, of_head(lambda block: block.V), ("row", "c")))),
    "matrices": Picture("attention?attention_view=roles&attention_roles_part=change",
                        ".matrices .panel:nth-child(1) canvas", ".attention_matrices .tip", (
        Reading(r"(?P<token>.+)\n " + template("attention", "roles_dimension") + r"\n (?P<value>.+)",
                of_head(lambda block: block.Q), ("token", "c")),)),
    "logits": Picture("next_token", ".sampling-panel canvas", ".sampling-panel .tip", (
        Reading(r"(?s).+\nid (?P<id>\d+), .*\nu = (?P<value>\S+)\n.+",
                lambda trace: trace.logits[POSITION], ("id",)),)),
    "product": Picture("embeddings", ".product .stage", ".product .tip", (
        Reading(r".+\n " + template("embeddings", "product_entry", symbol="X") + r" \n(?P<value>.+)",
                lambda trace: trace.embedding, ("id", "c")),)),
    "positions": Picture("positions?positions_view=learned", ".panel-learned canvas", ".position_learned .reading",
                         (Reading(template("positions", "learned_tip"),
                                  lambda trace: trace.position, ("i", "dimension")),),
                         late=True),
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shown, str]:
    root = tmp_path_factory.mktemp("shapes")
    return shapes.shown(root, "learned"), str(root)


@pytest.fixture(scope="module")
def page(browser: Browser, shown) -> Iterator[tuple[Page, str]]:
    """A page of an app that has the model loaded."""
    with serve(env={deployment.ROOTS: shown[1]}) as server:
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        page.add_init_script(STILL)
        page.goto(f"{server.url}/?model=folder:learned")
        load(page, page.locator(".st-key-model_drawer", has_text="learned"))
        yield page, server.url
        page.close()


