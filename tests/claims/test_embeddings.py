"""Claims of Embeddings about the rows of E of `stories`, and about the vectors that they become."""
from functools import cache as kept

import numpy as np
import pytest
import torch

from core.analysis import embeddings
from core.app.state.prompts import example_prompts
from core.base import prose
from pages.embeddings import contexts, vocabulary_map
from pages.embeddings.shared import Space, look_up, space_of
from tests.claims import claims, shows
from tests.claims.passes import experiment, opening, prompt_of, run, says


def space() -> Space:
    return space_of(opening())


def token(word: str) -> int:
    found, whole = look_up(word, opening().tokenizer)
    assert whole, word
    return found


def near(word: str, measure: str = "cosine", centred: bool = False) -> list[str]:
    """All tokens but the word itself, nearest first."""
    E = embeddings.centred(space().E) if centred else space().E
    ids = embeddings.nearest(embeddings.similarity(E, E[token(word)], measure), leave_out=[token(word)])
    return [space().names[int(i)].removeprefix("·") for i in ids]


@kept
def cosines() -> np.ndarray:
    """(|V|, |V|) of all rows with each other."""
    rows = torch.nn.functional.normalize(space().E, dim=-1)
    return (rows @ rows.T).numpy()


def of_kind(kind: str) -> np.ndarray:
    return np.flatnonzero(np.array(space().kinds) == kind)


# ---- neighbours ------------------------------------------------------------------------------------------------------


@shows("B8")
@claims("embeddings.md", "That is why opposites are often neighbours: *hot* and *cold* fit the same sentences.",
        "The nearest to *three* are other numbers. Then look up *in* and a name such as *Tom*: each finds its own "
        "kind.")
@pytest.mark.parametrize("centred", [False, True])
def test_words_are_near_to_their_kind(centred: bool):
    assert "cold" in near("hot", centred=centred)[:2] and "huge" in near("big", centred=centred)[:2]
    kinds = {"in": {"on", "at", "under", "into", "with", "through", "near", "by", "inside"},
             "three": {"two", "four", "five", "six", "seven", "several", "one", "eight"},
             "Tom": {"Tom", "Tim", "Ben", "Max", "Sue", "Tommy", "Sam", "Lily"}}
    assert all(set(near(word, centred=centred)[:5]) <= kind for word, kind in kinds.items())


@claims("embeddings.md", "also counts their lengths, so tokens with long rows come up more often")
def test_long_rows_come_up_more_often_by_the_dot_product():
    E, lengths = space().E, space().lengths.numpy()
    found = (E @ E.T).topk(6).indices[:, 1:].ravel()
    times = np.bincount(found.numpy(), minlength=len(E))
    long, short = lengths > np.quantile(lengths, 0.9), lengths < np.quantile(lengths, 0.1)
    assert times[long].mean() > 2 * times[short].mean()


@claims("embeddings.md", "In most models all rows have something in common: two tokens picked at random have, on "
        "average, a cosine above 0. Subtract the mean row to see what is special to each.",
        "many pieces of words have their neighbours by chance.",
        "Its *bank* lies beside *shore* and *edge*, and knows no money.")
def test_where_nearness_is_weak():
    E = embeddings.centred(space().E)
    rows = torch.nn.functional.normalize(E, dim=-1)
    assert cosines().mean() > 0.05 > 10 * abs(float((rows @ rows.T).mean()))
    nearest = np.sort(cosines(), axis=1)[:, -2]
    assert np.median(nearest[of_kind("part")]) < np.median(nearest[of_kind("word")]) - 0.05
    beside = near("bank")[:50]
    assert {"shore", "edge"} <= set(beside[:4]) and not {"money", "coins", "gold", "rich"} & set(beside)


# ---- the map ---------------------------------------------------------------------------------------------------------


@claims("embeddings.md", "The first axis is not a meaning: it separates frequent tokens from rare ones.")
def test_the_first_axis_is_frequency():
    assert abs(vocabulary_map._spearman(space())) > 0.5
    first = space().places[:, 0]
    ends = [np.sort(first.topk(20, largest=largest).indices.numpy()) for largest in (False, True)]
    common, rare = ends if np.median(ends[0]) < np.median(ends[1]) else ends[::-1]
    assert {",", ".", "·and", "·the", "·to"} <= {space().names[i] for i in common} and np.median(rare) > 1000


@claims("embeddings.md", "Bytes that hardly ever occur in the training text crowd together at the rare end, because "
        "the model never learned to tell them apart.", "The crosses crowd together at one end: bytes that hardly ever "
        "occur in the training text.")
def test_bytes_crowd_together_at_the_rare_end():
    assert experiment("embeddings", "island").settings["embeddings_dimensions"] == 3
    places, bytes_ = space().places.numpy(), of_kind("byte")
    rare = places[:, 0] * (1 if places[token("the"), 0] < 0 else -1)
    assert np.mean(rare[bytes_] > np.quantile(rare, 0.75)) > 0.9
    assert (places[bytes_].std(0) < 0.6 * places.std(0)).all()
    alike, words = (np.median(cosines()[np.ix_(ids, ids)]) for ids in (bytes_, of_kind("word")))
    assert alike > 3 * words
    nearest = np.argsort(-cosines()[bytes_], axis=1)[:, 1:11]
    assert np.isin(nearest, bytes_).mean() > 0.7


@claims("embeddings.md", "No other straight view shows more, and this one still shows only a small part.")
def test_a_flat_map_leaves_most_out():
    shares = embeddings.principal_axes(space().E, space().E.shape[1]).shares.numpy()
    assert shares[:2].sum() < 0.1 and np.searchsorted(shares.cumsum(), 0.9) > 0.6 * len(shares)
    places, king = space().places[:, :2].numpy(), token("king")
    near_here = np.argsort(np.linalg.norm(places - places[king], axis=1))[1:11]
    near_there = np.argsort(-cosines()[king])[1:11]
    assert len(set(near_here) & set(near_there)) < 3


# ---- two contexts ----------------------------------------------------------------------------------------------------


@claims("embeddings.md", "The first block of `stories` adds a vector twice as long as the embedding, and both paths "
        "leap to the same side.")
def test_the_first_block_outweighs_the_embedding():
    for prompt in (*example_prompts()[:4], experiment("embeddings", "kind").settings["prompt"]):
        there = run(prompt)
        block, E = there.trace.blocks[0], there.model.E[list(there.token_ids)][1:]
        written = (block.resid_post - block.resid_pre)[1:]
        times = written.norm(dim=-1) / E.norm(dim=-1)
        assert 1.75 < times.median() < 2.5 and times.min() > 1.5
        assert torch.cosine_similarity(written, E, dim=-1).max() < 0.3
    one = experiment("embeddings", "kind")
    leaps = [(there.trace.blocks[0].resid_post - there.trace.blocks[0].resid_pre)[-1]
             for there in (prompt_of(one), run(one.settings["embeddings_other"]))]
    assert torch.cosine_similarity(*leaps, dim=0) > 0.9


@claims("embeddings.md", "The text before it is added on the way: from block to block the vector takes up more of its "
        "context, and the two paths part.", "the nearest row of E is at first the word itself, later one that could "
        "follow it.")
def test_a_ball_parts_from_a_ball():
    found = contexts._paths(opening(), run(prose.load("embeddings").label("other_default")), token("ball"), False)
    assert found.cosines[0] == 1 and found.cosines[-1] < 0.7 and (np.diff(found.cosines[:-1]) < 0).all()
    for nearest in found.nearest:
        assert nearest[0] == nearest[2] == token("ball") != nearest[-1]


@claims("embeddings.md", "Look at the nearest rows at the end: in text A the vector of *mean* has turned into "
        "*anymore*, which could follow; in text B, into the question mark that it expects next.")
def test_one_word_turns_into_what_follows():
    one = experiment("embeddings", "kind")
    a, b = prompt_of(one), run(one.settings["embeddings_other"])
    found = contexts._paths(a, b, token(one.settings["embeddings_shared"]), one.settings["embeddings_equal"])
    ends = [space().names[nearest[-1]] for nearest in found.nearest]
    assert ends == ["·anymore", "?"] and says(b)[0] == "?" and says(b)[1] > 0.5
    assert found.nearest[0][0] == found.nearest[1][0] == token("mean") and found.cosines[-1] < 0.8
    assert "·anymore" in [a.tokenizer.visible(int(i)) for i in a.trace.logits[-1].topk(20).indices]


# ---- arithmetic ------------------------------------------------------------------------------------------------------


@claims("embeddings.md", "The sum usually lands nearest to one of the words that went in. Most demonstrations leave "
        "those three out and do not say so. And often the answer was a close neighbour of the third word all along, so "
        "you would find it without any arithmetic.")
def test_the_small_print_of_analogies():
    listed = [embeddings.analogy(space().E, *map(token, line.split()))
              for line in prose.load("embeddings").section("analogies").splitlines()]
    at_input = sum(int(one.scores.argmax()) in one.inputs for one in listed)
    assert at_input > len(listed) / 2 and sum(one.rank_beside_c <= 3 for one in listed) > len(listed) / 2


@claims("embeddings.md", "The sum is nearest to *king*, which went in. *Queen* comes right after. Now look at the "
        "hollow points on the right: how many answers were close to the third word anyway?")
def test_the_famous_analogy():
    settings = experiment("embeddings", "arithmetic").settings
    words = [settings[f"embeddings_{name}"] for name in ("a", "b", "c", "expected")]
    assert words == ["man", "king", "woman", "queen"]
    found = embeddings.analogy(space().E, *map(token, words))
    assert int(found.scores.argmax()) == token("king") and found.rank == 2 and found.rank_without_inputs == 1
    assert embeddings.analogy(space().E, *map(token, ("up", "down", "in", "out"))).rank_without_inputs > 20
