"""What the text of Residual stream says of `stories`, and of `blanks` where it speaks of encoders."""
import torch

from core.analysis import contributions, stream_and_heads
from tests.claims import claims
from tests.claims.passes import experiment, prompt_of, run, says


@claims("residual_stream.md", "Compare its vector with those of the words: in many models it grows far longer than any "
        "of them, because heads with nothing to read rest their attention there.")
def test_the_token_that_is_not_a_word_grows_longest():
    assert experiment("residual_stream", "first_token").settings["position"] == 0
    norms = stream_and_heads.stream_norms(run("The cat sat on the mat. The dog sat on the").trace)
    first, longest = norms[:, 0], norms[:, 1:].max(-1).values
    assert (first[-4:] > 1.3 * longest[-4:]).all() and (first / longest).max() > 2


@claims("residual_stream.md", "In the first row the guess is, almost everywhere, the input token itself: E reads out "
        "what E wrote in. Below it, the blocks turn that into an answer. A tick marks a guess that is the token that "
        "really follows.")
def test_watch_the_answer_come_up():
    there = prompt_of(experiment("residual_stream", "lens"))
    guesses = contributions.logit_lens(there.model, stream_and_heads.stream(there.trace)).argmax(-1)
    assert (guesses[0] == torch.tensor(there.token_ids)).double().mean() > 0.9
    last = [there.tokenizer.visible(int(i)) for i in guesses[:, -1]]
    assert last[0] == "·the" and last[-1] == says(there)[0] == "·mat" and len(set(last)) > 3
    assert (guesses[-1][:-1] == torch.tensor(there.token_ids[1:])).sum() > 1


@claims("residual_stream.md", "Heads (rose) carried something here from other tokens; feed-forward parts (amber) "
        "worked on this token alone. See how much the few longest do, and how long the tail of small ones is.")
def test_the_few_longest_bars_do_much():
    there = prompt_of(experiment("residual_stream", "names"))
    target = int(there.trace.logits[-1].argmax())
    parts = contributions.logit_contributions(there.model, there.trace, len(there.token_ids) - 1, target)
    sizes = parts.values.abs().sort(descending=True).values
    assert sizes[:6].sum() > 0.4 * sizes.sum() and (sizes < 0.05 * sizes[0]).sum() > len(sizes) / 3
    assert {parts.parts[int(i)].kind for i in parts.values.abs().topk(6).indices} >= {"head", "mlp"}


@claims("residual_stream.md", "It sees the token that stands there and mostly names it; write ____ in the prompt to "
        "hide one.")
def test_an_encoder_names_what_it_sees():
    there = run("The cat sat on the ____ and ate its dinner.", "blanks")
    own = torch.tensor(there.token_ids)
    shown = own != there.tokenizer.mask_token
    shown[0] = False
    assert (there.trace.logits.argmax(-1) == own)[shown].double().mean() > 0.5
