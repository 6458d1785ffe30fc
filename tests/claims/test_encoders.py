"""Claims of the experiments for encoders about `blanks`."""
import numpy as np
import torch

from core.analysis import contributions, stream_and_heads
from core.app.state.run import Run
from core.base.prose import Experiment
from core.model.intervention import Intervention
from pages.attention import one_vector, roles
from pages.embeddings import contexts
from pages.heads.shared import Change
from tests.claims import claims
from tests.claims.passes import experiment, heads_of, prompt_of, says, self_match, strongest


def opened(lesson: str, name: str) -> tuple[Experiment, Run]:
    """An experiment as an encoder's reader finds it, and what `blanks` reads there."""
    one = experiment(lesson, name, "encoder")
    return one, prompt_of(one, "blanks")


def blank(there: Run) -> int:
    """The position of the blank, which is the one that is asked about where none is picked."""
    at = there.token_ids.index(there.tokenizer.mask_token)
    assert there.asked == at
    return at


@claims("attention.md", "No step hides a key: the query looks at what follows it as well as at what came before.")
@claims("overview.md", "In attention, and only there, rows exchange information, from above and from below, since "
        "nothing is hidden from an encoder.")
def test_a_query_looks_at_both_sides():
    for name, lesson in (("walk", "attention"), ("early", "overview")):
        one, there = opened(lesson, name)
        at = one.settings["position"]
        assert 0 < at < len(there.token_ids) - 3
        for block in there.trace.blocks:
            assert (block.pattern > 0).all() and block.pattern[:, at, at + 1:].sum(-1).max() > 0.3
            assert block.pattern.mean(0)[at, at + 1:].max() > 0.03        # a flow is drawn


@claims("attention.md", "The query is the blank. See how much of what the model expected there came from the right.")
def test_under_a_causal_mask_the_blank_is_another():
    there = opened("attention", "score")[1]
    masked, at = there.trace_with(Intervention(mask="causal")), blank(there)
    assert all((block.pattern.triu(1) == 0).all() for block in masked.blocks)
    assert stream_and_heads.effect(there.trace.logits[at], masked.logits[at]).kl > 0.5


@claims("attention.md", "In the right picture this head's keys are made as its queries are: nearly every token now "
        "looks mostly at itself. Then choose Another basis, and see queries and keys change without any effect.")
def test_with_one_vector_for_both_an_encoders_tokens_match_themselves():
    one, there = opened("attention", "mirror")
    at = one.settings["layer"], one.settings["head"]
    found = roles.compared(there, "keys", *at)
    assert self_match(found.before.scores) < 0.2 and self_match(found.after.scores) > 0.9
    assert one_vector.at_themselves(found.after) > 0.9 * len(found.after.pattern)
    assert roles.compared(there, "basis", *at, seed=0, stretch=3.0).difference < roles.UNSEEN


@claims("embeddings.md", "In an encoder, what follows the word counts as well.",
        "So the vector remains a description of its own place.")
def test_two_meanings_part():
    one, there = opened("embeddings", "kind")
    [shared] = there.tokenizer.encode(f" {one.settings['embeddings_shared']}")
    other = prompt_of(Experiment("", "", {"prompt": one.settings["embeddings_other"]}, ""), "blanks")
    found = contexts._paths(there, other, shared, one.settings["embeddings_equal"])
    assert found.cosines[0] == 1 and found.cosines[-1] < 0.6
    assert all(nearest == shared for path in found.nearest for nearest in path)


@claims("heads.md", "An encoder has both, since nothing is hidden from it. In the wall they are lines on either side "
        "of the diagonal.")
def test_an_encoder_has_heads_for_both_neighbours():
    there = opened("heads", "previous")[1]
    found = heads_of(there)
    for scores, side in ((found.previous_token, -1), (found.next_token, 1)):
        layer, head = strongest(scores)
        line = there.trace.blocks[layer].pattern[head].diagonal(side)
        assert scores[layer, head] > 0.9 and (line > 0.5).double().mean() > 0.9


@claims("heads.md", "The blank is a token of its own, and the picked query: the model says which word belongs there, "
        "from both sides. All heads of the first block are off now, and the patterns of the later blocks change too.")
def test_without_its_first_layer_an_encoder_says_another_word():
    one, there = opened("heads", "knockout")
    at, kl = blank(there), {}
    for action in (one.settings["heads_action"], "mean", "uniform"):
        changed = there.trace_with(Change(one.settings["heads_changed"], action, 1.0).intervention(there))
        kl[action] = stream_and_heads.effect(there.trace.logits[at], changed.logits[at]).kl
        moved = [(a.pattern - b.pattern).abs().max() for a, b in zip(there.trace.blocks, changed.blocks)]
        assert min(moved[1:]) > 0.5
    assert kl["zero"] > 1.2 * max(kl["mean"], kl["uniform"]) > 1


@claims("heads.md", "With every block each row takes from more of the text, on both sides.")
def test_an_encoders_rows_take_from_more_of_the_text():
    there = opened("heads", "rollout")[1]
    shares = stream_and_heads.rollout([block.pattern for block in there.trace.blocks])
    entropy = -(shares * shares.clamp_min(1e-9).log()).sum(-1)
    assert (entropy.mean(-1).diff() > 0).all() and (entropy[-1] > entropy[0]).all()
    assert shares[-1].tril(-1).sum(-1)[2:].min() > 0.1 and shares[-1].triu(1).sum(-1)[:-2].min() > 0.1


@claims("overview.md", "The picked row is the blank: all it can say has to come from the rows above and below it.")
def test_the_blank_reads_rows_above_and_below():
    there = opened("overview", "repeat")[1]
    at, read = blank(there), np.zeros(2)
    for block in there.trace.blocks:
        row = block.pattern.mean(0)[at]
        read += [float(part[part >= 0.03].sum()) for part in (row[:at], row[at + 1:])]
    assert (read > 0.5).all() and says(there, at)[0] in ("·table", "·floor", "·ground", "·bed", "·mat")


@claims("overview.md", "Every row predicts its own place. This one sees its token, so a trained model mostly names it.")
@claims("residual_stream.md", "the answer has to be gathered from both sides, block by block. In the other columns a "
        "tick marks a guess that is the token that stands there.")
def test_an_encoder_names_its_own_tokens():
    one, there = opened("overview", "early")
    own = torch.tensor(there.token_ids)
    named = (there.trace.logits.argmax(-1) == own)[1:]
    assert named.double().mean() > 0.8 and named[one.settings["position"] - 1]
    there = opened("residual_stream", "lens")[1]
    guesses = contributions.logit_lens(there.model, stream_and_heads.stream(there.trace)).argmax(-1)
    column = [there.tokenizer.visible(int(i)) for i in guesses[:, blank(there)]]
    assert len(set(column)) > 2 and column[-1] == "·table" != column[0]
    assert (guesses[-1] == torch.tensor(there.token_ids)).double().mean() > 0.7


@claims("residual_stream.md", "The longest bars stand first. See how much the few longest do, and how long the tail of "
        "small ones is.")
def test_the_few_longest_bars_of_an_encoder_do_much():
    there = opened("residual_stream", "names")[1]
    at = blank(there)
    parts = contributions.logit_contributions(there.model, there.trace, at, int(there.trace.logits[at].argmax()))
    sizes = parts.values.abs().sort(descending=True)
    assert sizes.values[:6].sum() > 0.4 * sizes.values.sum()
    assert (sizes.values < 0.05 * sizes.values[0]).sum() > len(sizes.values) / 3
    assert {parts.parts[int(i)].kind for i in sizes.indices[:6]} >= {"head", "mlp"}
