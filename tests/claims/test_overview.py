"""Claims of the overview about `stories`."""
import numpy as np

from pages.overview import inside
from pages.overview.shared import traced
from tests.claims import claims
from tests.claims.passes import experiment, prompt_of, run, says

HER, BALL = 11, 6       # positions of the last “her” and of “ball”


def passed(name: str) -> inside.Pass:
    """The pass of an experiment, as the depths of the picture read it."""
    there = prompt_of(experiment("overview", name))
    return inside.Pass(there.model, there.tokenizer, there.has_head, there.trace)


@claims("overview.md", "The model must find the word that follows. Which earlier word does it need for that?")
def test_the_last_her_is_followed_by_ball_which_is_in_the_text():
    there = prompt_of(experiment("overview", "follow_1"))
    assert (there.tokens[HER], there.tokens[BALL], len(there.tokens)) == ("·her", "·ball", HER + 1)
    assert says(there)[0] == "·ball"


@claims("overview.md", "To the model “her” is token 313, and E has a row of 256 numbers for it. The first “her” gets "
        "the same row.")
def test_both_hers_have_one_row():
    there = prompt_of(experiment("overview", "follow_2"))
    first, last = (i for i, token in enumerate(there.tokens) if token == "·her")
    assert last == HER and there.token_ids[last] == 313 and there.model.E.shape[1] == 256
    assert (there.trace.embedding[first] == there.trace.embedding[last]).all()
    assert (there.trace.position[first] != there.trace.position[last]).any()


@claims("overview.md", "Read it from above: “her”, then “a”, “own”, “lost”. Where does “ball” appear? Go into that "
        "block.")
def test_ball_appears_after_block_4():
    guesses = [best[0][0] for best in inside.stream_of(passed("follow_3"), HER)[0]["guesses"]]
    assert guesses == ["·her", "·a", "·a", "·own", "·lost", "·ball", "·ball"]


@claims("overview.md", "A thick flow comes from the very first token, where heads look that have found nothing. Which "
        "word is the thickest of the others? One of the eight heads brings it: which?",
        "Five of them look hardest at the first token or at a word nearby. Which one looks hardest at “ball”?")
def test_head_4_3_brings_ball():
    pattern = prompt_of(experiment("overview", "follow_4")).trace.blocks[4].pattern[:, HER]
    assert pattern.mean(0).topk(2).indices.tolist() == [0, BALL]
    at_ball = [head for head, key in enumerate(pattern.argmax(-1).tolist()) if key == BALL]
    assert at_ball == [3, 6, 7] and int(pattern[:, BALL].argmax()) == 3 and len(pattern) - len(at_ball) == 5


@claims("overview.md", "The last row is the last “her”, and it is dark at “ball”. The first “her”, six rows above, has "
        "no ball to look at.")
def test_the_first_her_looks_at_the_first_token():
    pattern = prompt_of(experiment("overview", "follow_6")).trace.blocks[4].pattern[3]
    assert pattern[HER, BALL] > 0.7 and int(pattern[HER - 6].argmax()) == 0 and pattern[HER - 6, BALL] == 0


@claims("overview.md", "Twelve tokens get a score, and the softmax turns the scores into shares. “ball” leads the "
        "first token by only 1.5. How much more of the look does it get?",
        "The query of “her” and the key of “ball” have 32 numbers each. Bars that go up say that both numbers have the "
        "same sign. Most go up: how many of 32?")
def test_ball_wins_the_look():
    _, look = inside.look(passed("follow_7"), 4, 3, HER)
    assert len(look["scores"]) == 12 and int(look["scores"].argmax()) == BALL
    second = np.sort(look["scores"])[-2]
    assert second == look["scores"][0] and round(look["scores"][BALL] - second, 1) == 1.5
    products = look["q"] * look["K"].reshape(12, 32)[BALL]
    assert (products > 0).sum() == 23


@claims("overview.md", "Of the 1,024 neurons of block 5, do most of them fire, or only some?")
def test_few_neurons_fire():
    post = prompt_of(experiment("overview", "follow_9")).trace.blocks[5].mlp_post[HER]
    assert len(post) == 1024 and int((post > 0).sum()) == 166


@claims("overview.md", "The last row is compared with all 4,096 tokens. “ball” gets 97.4 %. Go out, press the row of "
        "“ball” among the vectors, and put “kite” in its place: what does the model expect now?")
def test_ball_comes_and_a_kite_in_its_place():
    there = prompt_of(experiment("overview", "follow_10"))
    assert says(there)[0] == "·ball" and round(100 * says(there)[1], 1) == 97.4
    assert there.model.config.vocab_size == 4096
    header, _ = inside.embedding_of(passed("follow_10"), BALL)
    kite = header["ids"][header["tokens"].index("·kite")]
    probs = traced(there, f"embedding.{BALL}={kite}").probs[-1]
    assert there.tokenizer.visible(int(probs.argmax())) == "·kite" and float(probs.max()) > 0.9


@claims("overview.md", "“ring” comes twice before the last one. Look for tiles in which its row is dark at the token "
        "right after an earlier “ring”. Replace “goat” by another word in both places, and look again.")
def test_heads_look_at_what_came_next_and_the_bars_follow():
    first = prompt_of(experiment("overview", "repeat"))
    for there, word in ((first, "·goat"), (run(first.text.replace("goat", "drum")), "·drum")):
        earlier = [i for i, token in enumerate(there.tokens[:-1]) if token == "·ring"]
        after = [i + 1 for i in earlier]
        assert len(earlier) == 2 and {there.tokens[i] for i in after} == {word} and there.tokens[-1] == "·ring"
        dark = [float(share) for block in there.trace.blocks for share in block.pattern[:, -1, after].sum(-1)]
        assert sum(share > 0.5 for share in dark) > 3 and says(there)[0] == word and says(there)[1] > 0.9


@claims("overview.md", "Every row predicts, not only the last. The picked row sees nothing that comes after it")
def test_an_early_row_predicts_too():
    one = experiment("overview", "early")
    there, at = prompt_of(one), one.settings["position"]
    (token, p), (alone, p_alone) = says(there, at), says(run("The cat sat"))
    assert token == alone and abs(p - p_alone) < 1e-5
    assert all((block.pattern[:, at, at + 1:] == 0).all() for block in there.trace.blocks)


@claims("overview.md", "Every shape with an N has grown, and d and |V| have not.")
def test_shapes_with_n_grow():
    long, short = (prompt_of(experiment("overview", name)) for name in ("long", "early"))
    assert len(long.token_ids) > 100 > len(short.token_ids) and long.n_cut == 0
    assert long.trace.blocks[0].pattern.shape[-2:] == (len(long.token_ids),) * 2
    assert long.trace.resid_final.shape[-1] == short.trace.resid_final.shape[-1]
