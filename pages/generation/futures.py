"""Futures: two hundred continuations of one prompt as a tree, with the count and exact probability of each prefix."""
import math
from collections.abc import Iterator

import pandas as pd

from core.app.compute import growing_results
from core.app.compute.growing_results import Part
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, readable
from core.language import futures as mathematics
from core.language.futures import Node, Tree, frequency_band
from core.model.sampling import SamplingConfig
from pages.generation.shared import PREFIX, Start, choice, controls, in_turns, keep, note, read, sampling, start

N = 200
QUARTERS = 4
THICK = 20              # draws of one text, a tenth of all: 20 make a thick path
# The tree of the draws, in which a prefix is as high as its count, and a chart of counts over exact probabilities.
_picture = token_view("generation_futures", __file__)


def predict(page: Lesson, run: Run) -> Prediction:
    """Whether N draws bring one text, fewer different ones than half of N, more, or N."""
    begin = start(run, int(read("depth")))

    def truth(guess: int) -> Truth:
        seed = reader.selection().seed
        *_, (tree,) = in_turns(run, mathematics.grow, begin.token_ids, sampling(), (seed,), N, begin.length)
        best, different = max(ends(tree), key=lambda node: node.count), len(ends(tree))
        return Truth(0 if different == 1 else 1 if 2 * different < N else 2 if different < N else 3,
                     said=page.label("before_futures_said", n=different), seen=int(best.count < THICK),
                     values={"different": different, "mass": percent(mass(tree)), "path": path(run, best),
                             "count": best.count})

    options = [page.label(f"before_futures_{k}", n=N) for k in range(4)]
    return Prediction("futures", Options(options), truth, {"n": N, "depth": begin.length})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the tree; return their Reading."""
    with controls(page, "temperature", "top_k", "top_p", "dice"):
        depth = int(choice(page, "depth"))
    begin, config, seed = start(run, depth), sampling(), reader.selection().seed
    (tree, fresh), whole = trees_of(page, run, begin, config, seed)
    picked = picked_node(tree)
    _picture(message(page, run, begin, tree, picked), key=f"{PREFIX}futures",
             on_settings=lambda settings: keep(future=settings["future"]))
    title = sentence(page, run, tree, picked)
    return Reading(_lines(page, run, tree, picked), _question(page, seed, tree, fresh) if whole else None,
                   [mathematics.futures, frequency_band], {"futures.csv": lambda: _table(page, run, tree)},
                   ".futures-picture", title, None, {page.label("column_different"): str(len(ends(tree))),
                                                     page.label("column_mass"): percent(mass(tree))})


def trees_of(page: Lesson, run: Run, begin: Start, config: SamplingConfig, seed: int) -> tuple[tuple[Tree, Tree], bool]:
    """The trees, as far as they are grown, of N draws of begin.length tokens with the seed and, for the question, with
    the next seed; and whether they are finished.
    """
    def steps() -> Iterator[Part]:
        for trees in in_turns(run, mathematics.grow, begin.token_ids, config, (seed, seed + 1), N, begin.length):
            yield Part(trees, N * sum(tree[-1].depth - 1 for tree in trees)
                              + sum(node.count for tree in trees for node in tree if node.depth == tree[-1].depth),
                       2 * N * begin.length)

    key = run.loaded.key("generation futures", begin, config, seed)
    return growing_results.growing(key, steps, lambda value: 300 * sum(map(len, value)), page.label("futures_progress"))


def ends(tree: Tree) -> list[Node]:
    """The leaves of the tree: the complete drawn texts."""
    inner = {node.parent for node in tree[1:]}
    return [node for place, node in enumerate(tree) if place not in inner and node.depth]


def mass(tree: Tree) -> float:
    """The total exact probability of all drawn texts, in [0, 1]."""
    return min(1.0, math.fsum(node.path_prob for node in ends(tree)))


def picked_node(tree: Tree) -> int:
    """The place of the prefix that the reader has picked, or that of the complete text drawn most often."""
    ids = read("future")
    picked = (place for place, node in enumerate(tree) if node.depth and ".".join(map(str, node.token_ids)) == ids)
    return next(picked, 0) or tree.index(max(ends(tree), key=lambda node: (node.count, node.path_prob)))


def path(run: Run, node: Node) -> str:
    """The tokens of a prefix in visible form, joined."""
    return "".join(map(run.tokenizer.visible, node.token_ids))


def message(page: Lesson, run: Run, begin: Start, tree: Tree, picked: int) -> dict:
    """The message to futures.js."""
    nodes = [[run.tokenizer.visible(node.token_ids[-1]) if node.depth else "", node.parent, node.depth, node.count,
              node.prob, node.path_prob, ".".join(map(str, node.token_ids))] for node in tree]
    return page.header("futures", note=note(page, begin)) | {
        "n": N, "depth": begin.length, "nodes": nodes, "different": len(ends(tree)), "mass": mass(tree),
        "picked": picked}


def sentence(page: Lesson, run: Run, tree: Tree, picked: int) -> str:
    """A sentence that describes the picture."""
    node = tree[picked]
    return page.label("futures_title", n=N, different=len(ends(tree)), mass=percent(mass(tree)),
                      path=code(path(run, node)), count=node.count, expected=readable(N * node.path_prob),
                      sigma=readable(N * frequency_band(node.path_prob, N)))


def chain(tree: Tree, place: int) -> list[Node]:
    """The nodes from the first token to this one."""
    nodes = []
    while place:
        nodes.insert(0, tree[place])
        place = tree[place].parent
    return nodes


def _lines(page: Lesson, run: Run, tree: Tree, picked: int) -> list[tuple[str, str]]:
    node = tree[picked]
    factors = r" \cdot ".join(bracketed(latex_operand(node.prob)) for node in chain(tree, picked))
    p, text = latex_operand(node.path_prob), code(path(run, node))
    return [(page.label("numbers_path", path=text),
             rf"P = \prod_t p(x_t \mid x_{{<t}}) = {factors} = {latex_number(node.path_prob)}"),
            (page.label("numbers_expected", n=N), rf"n P = {N} \cdot {p} = {latex_number(N * node.path_prob)}"),
            (page.label("numbers_error", count=node.count, n=N),
             rf"\sqrt{{n P (1 - P)}} = \sqrt{{{N} \cdot {p} \cdot (1 - {p})}} = "
             rf"{latex_number(N * frequency_band(node.path_prob, N))}"),
            (page.label("numbers_mass", n=len(ends(tree))),
             rf"\sum_{{\mathrm{{drawn}}}} P = {latex_number(mass(tree))}")]


def _question(page: Lesson, seed: int, tree: Tree, fresh: Tree) -> Question:
    """Question: how many of N new draws repeat a text of this tree?"""
    known = {node.token_ids for node in ends(tree)}
    repeats = sum(node.count for node in ends(fresh) if node.token_ids in known)
    size = N // QUARTERS
    options = [page.label("question_again_range", low=i * size, high=(i + 1) * size - (i < QUARTERS - 1))
               for i in range(QUARTERS)]
    return page.question("again", options, min(repeats // size, QUARTERS - 1), n=N, seed=seed + 1, again=repeats,
                         mass=percent(mass(tree)))


def _table(page: Lesson, run: Run, tree: Tree) -> pd.DataFrame:
    rows = [(node.depth, path(run, node), node.count, node.count / N, node.prob, node.path_prob, N * node.path_prob,
             N * frequency_band(node.path_prob, N)) for node in tree[1:]]
    return page.table(rows, "depth", "text", "count", "frequency", "conditional", "path", "expected", "sigma")
