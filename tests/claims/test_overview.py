"""Claims of the overview about `stories`."""
from tests.claims import claims
from tests.claims.passes import experiment, prompt_of, run, says


@claims("overview.md", "The bars say how texts begin for this model.")
def test_a_story_begins_as_stories_do():
    there = prompt_of(experiment("overview", "empty"))
    assert there.tokens == ["‹end›"] and says(there)[0] in ("Once", "One")


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
