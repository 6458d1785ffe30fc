"""Claims of Heads about `stories`."""
import torch

from core.analysis.stream_and_heads import effect, rollout
from core.app.state.prompts import example_prompts
from core.figures.heads import roles
from pages.heads.shared import Change
from tests.claims import claims
from tests.claims.passes import experiment, heads_of, opening, prompt_of, run, strongest


@claims("heads.md", "Some heads look mostly at the first token, which in most models holds no word")
def test_heads_rest_on_the_first_token():
    for prompt in example_prompts()[:8]:
        there = run(prompt)
        assert there.tokens[0] == "‹end›" and (heads_of(there).first_token > 0.5).sum() > 4


@claims("heads.md", "Take the prompt \"Mia likes apples. Mia likes pears. Mia likes\", or choose other axes.")
def test_a_prompt_that_repeats_tokens_says_something_of_repeats():
    found = heads_of(run("Mia likes apples. Mia likes pears. Mia likes"))
    assert found.induction.isfinite().all() and found.induction.max() > 0.2 and found.duplicate_token.isfinite().all()


@claims("heads.md", "A head far to the right looks at the token just before. In the wall such a head is a line beside "
        "the diagonal. In a story the same head does so less and rests more on the first token.")
def test_a_head_looks_back_by_one():
    there = prompt_of(experiment("heads", "previous"))
    layer, head = strongest(heads_of(there).previous_token)
    assert heads_of(there).previous_token[layer, head] > 0.9
    pattern = there.trace.blocks[layer].pattern[head]
    assert (pattern[2:].argmax(-1) == torch.arange(1, len(pattern) - 1)).all()
    story = heads_of(opening())
    assert story.previous_token[layer, head] < 0.5
    assert story.first_token[layer, head] > heads_of(there).first_token[layer, head] + 0.1


@claims("heads.md", "An induction head stands at the second \"cloud\" and looks at what followed the first one. It "
        "reads what a previous-token head of an earlier block has written. The heads near the top do this most.")
def test_induction_heads_stand_near_the_top():
    there = prompt_of(experiment("heads", "induction"))
    found = heads_of(there)
    layer, head = strongest(found.induction)
    assert found.induction[layer, head] > 0.8 and roles(vars(found))[layer, head] == "induction"
    first, second = [i for i, token in enumerate(there.tokens) if token == "·cloud"][:2]
    assert int(there.trace.blocks[layer].pattern[head, second].argmax()) == first + 1
    before, at = strongest(found.previous_token)
    assert before < layer
    without = {other: float(heads_of(there, ((before, other),)).induction[layer, head]) for other in range(8)}
    assert min(without, key=without.get) == at and without[at] < found.induction[layer, head] - 0.1


@claims("heads.md", "All heads of the first block are off. The patterns of the later blocks change too, because they "
        "miss what it used to write. Choose Mean or Uniform instead of Off and compare. Then try the last block, 5.*.")
def test_without_the_first_layer_all_later_patterns_change():
    one = experiment("heads", "knockout")
    there = prompt_of(one)

    def changed(names: str, action: str):
        return there.trace_with(Change(names, action, 1.0).intervention(there))

    off = changed(one.settings["heads_changed"], one.settings["heads_action"])
    moved = [float((a.pattern - b.pattern).abs().max()) for a, b in zip(there.trace.blocks, off.blocks)]
    assert min(moved[1:]) > 0.3
    kl = {(names, action): effect(there.trace.logits[-1], changed(names, action).logits[-1]).kl
          for names in ("0.*", "5.*") for action in ("zero", "mean", "uniform")}
    assert kl["0.*", "zero"] > 2 * max(kl["0.*", "mean"], kl["0.*", "uniform"], kl["5.*", "zero"])
    assert min(kl.values()) > 0.1


@claims("heads.md", "With every block the last row reaches further back.")
def test_rollout_reaches_further_with_every_block():
    there = prompt_of(experiment("heads", "rollout"))
    shares = rollout([block.pattern for block in there.trace.blocks])[:, -1]
    back = (shares * torch.arange(shares.shape[-1] - 1, -1, -1)).sum(-1)
    assert (back.diff() > 0).all() and back[-1] > 2 * back[0] and experiment("heads", "rollout").settings[
        "heads_block"] == len(back) - 1
