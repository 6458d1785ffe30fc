"""Claims of Residual stream about `stories`, about `blanks` in its words on encoders, and about `translator`."""
import numpy as np
import torch

from core.analysis import contributions, one_block, patching, stream_and_heads
from core.app.state.run import decoded
from core.language import contrasts
from core.model.intervention import Intervention, Patch
from tests.claims import claims
from tests.claims.passes import experiment, prompt_of, run, says


@claims("residual_stream.md", "Compare its vector with those of the words: in many models it grows far longer than any "
        "of them.")
def test_the_token_that_is_not_a_word_grows_longest():
    assert experiment("residual_stream", "first_token").settings["position"] == 0
    norms = stream_and_heads.stream_norms(run("The cat sat on the mat. The dog sat on the").trace)
    first, longest = norms[:, 0], norms[:, 1:].max(-1).values
    assert (first[-4:] > 1.3 * longest[-4:]).all() and (first / longest).max() > 2


@claims("residual_stream.md", "The encoder of *translator* has read the date in words, and the decoder writes it in "
        "digits.", "The other token was exchanged before cross-attention, and every row here says *the same*: that "
        "part looks at the tokens of the source alone. Only self-attention, above it, looks at what the decoder has "
        "written.")
def test_a_part_that_reads_another_text():
    there = decoded(prompt_of(experiment("residual_stream", "decoder_block")))
    assert there.model_name == "translator" and there.tokenizer.decode(there.token_ids[1:]) == "1984-03-21"
    last, layer, trace = len(there.token_ids) - 1, 0, there.trace

    def of_last(place: one_block.Exchange) -> list[torch.Tensor]:
        rows = one_block.rows(there.model, trace.blocks[layer], layer, place, trace.encoder.h_final)
        return [row.values[last] for row in rows]

    plain = of_last(one_block.Exchange("mlp", 1, 1))
    assert all(map(torch.equal, of_last(one_block.Exchange("cross", 1, 2)), plain))
    patched = there.trace_with(Intervention(patches=(Patch(layer, 1, there.token_ids, 2),))).blocks[layer]
    assert not torch.equal(patched.attn_out[last], trace.blocks[layer].attn_out[last])


@claims("residual_stream.md", "In the first row the guess is, almost everywhere, the input token itself: E reads out "
        "what E wrote in. Below it, the blocks turn that into an answer.")
def test_watch_the_answer_come_up():
    there = prompt_of(experiment("residual_stream", "lens"))
    guesses = contributions.logit_lens(there.model, stream_and_heads.stream(there.trace)).argmax(-1)
    assert (guesses[0] == torch.tensor(there.token_ids)).double().mean() > 0.9
    last = [there.tokenizer.visible(int(i)) for i in guesses[:, -1]]
    assert last[0] == "·the" and last[-1] == says(there)[0] == "·mat" and len(set(last)) > 3
    assert (guesses[-1][:-1] == torch.tensor(there.token_ids[1:])).sum() > 1


@claims("residual_stream.md", "See how much the few longest do, and how long the tail of small ones is.")
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


@claims("residual_stream.md", "Neuron 878 of block 3 fires at *on* and at *the* after it, and it makes knees, "
        "shoulders and couches more probable: things to sit on. Change *sat on the* to *ran to the*, and it hardly "
        "fires.")
def test_a_neuron_that_can_be_read():
    one = experiment("residual_stream", "neuron")
    there, other = prompt_of(one), run(one.settings["prompt"].replace("dog sat on the", "dog ran to the"))
    fires, little = (r.trace.blocks[3].mlp_post[:, 878] for r in (there, other))
    assert (one.settings["layer"], one.settings["residual_stream_neuron"]) == (3, 878)
    high = {there.tokens[i] for i in range(len(fires)) if fires[i] > 1}
    assert high == {"·on", "·the"} and little[-1] < 0.3 * fires[-1]
    added = contributions.neuron_promotions(there.model, there.trace, 3, len(fires) - 1, torch.tensor([878]))[0]
    assert {"·knee", "·shoulder", "·couch"} <= {there.tokenizer.visible(int(i)) for i in added.topk(6).indices}


@claims("residual_stream.md", "With $d_\\text{ff} = 4 d$ the feed-forward parts hold about two thirds of a block's "
        "weights.",
        "after a few blocks all tokens carry nearly the same vector.",
        "The lectures take ReLU for f, max(0, z); `stories` uses GELU, a smooth curve close to it.",
        "In a model such as `stories` the norms stand before each part (*pre-norm*)")
def test_what_feed_forward_holds_and_the_path_keeps():
    model = run("a").model
    assert model.config.activation == "gelu" and model.config.norm_placement == "pre"
    fed = sum(p.numel() for block in model.blocks for name, p in block.named_parameters() if name[1:] in ("_1", "_2"))
    assert model.config.d_ff == 4 * model.config.d_model
    assert 0.62 < fed / sum(p.numel() for block in model.blocks for p in block.parameters()) < 0.7
    without = run("The cat sat on the mat. The dog sat on the").trace_with(Intervention(residual=False))
    assert float(stream_and_heads.mean_pairwise_cosine(without.resid_final)) > 0.95


def patched(name: str) -> np.ndarray:
    """(L + 1, 2) how far the vector of the changed word, and that of the last token, move the answer at each depth."""
    exchange = contrasts.exchange(*contrasts.sets()["exchanges"][name])
    here, there = run(exchange.text), run(exchange.changed)
    *_, found = patching.patched(here.model, here.trace, there.trace)
    return found.shares[:, [patching.first_difference(here.token_ids, there.token_ids), -1]].numpy()


@claims("residual_stream.md", "*Boys* asks for *were*, *boy* for *was*. Through block 2 only the noun's own vector "
        "moves the answer; after block 3 that of the last word does: attention of block 3 has carried the number of "
        "the noun across. Then take *Opposites*: there the answer comes over in two steps, in blocks 3 and 4.")
def test_where_the_answer_stands():
    exchange = contrasts.exchange(*contrasts.sets()["exchanges"]["agreement"])
    assert says(run(exchange.text))[0] == "·were" and says(run(exchange.changed))[0] == "·was"
    number, opposite = patched("agreement"), patched("opposite")
    assert (number[:4, 0] > 0.9).all() and (number[:4, 1] < 0.1).all()
    assert (abs(number[4:, 0]) < 0.1).all() and (number[4:, 1] > 0.9).all()
    steps = np.diff(opposite[:, 1])
    assert opposite[3, 1] < 0.1 and (steps[[3, 4]] > 0.3).all() and opposite[5, 1] > 0.8


def share_of_outputs(name: str) -> np.ndarray:
    """(L, h + 1) how far what each head, and each feed-forward part, writes moves the answer."""
    exchange = contrasts.exchange(*contrasts.sets()["exchanges"][name])
    here, there = run(exchange.text), run(exchange.changed)
    *_, found = patching.patched_outputs(here.model, here.trace, there.trace)
    return found.shares.numpy()


@claims("residual_stream.md", "One head does nearly all of it: with what head 3.7 writes for *boy*, the answer moves "
        "more than 80 % of the way from *were* to *was*; no other head moves it by 5 %. Take *Who gets it*: the same "
        "head carries another answer. In *Opposites* no head moves the answer by 20 %: the work is shared.",
        "So its share may be large too, first at the changed word and then where the answer has come to.")
def test_which_head_carries_the_answer():
    one = experiment("residual_stream", "patch_heads")
    assert (one.settings["residual_stream_patch_pair"], one.settings["residual_stream_patch_what"]) == ("agreement",
                                                                                                         "heads")
    number, opposite, gets = (share_of_outputs(name)[:, :-1] for name in ("agreement", "opposite", "give"))
    others = np.delete(number.ravel(), 3 * 8 + 7)
    assert number.shape == (6, 8) and number[3, 7] > 0.8 and np.abs(others).max() < 0.05
    assert gets.argmax() == 3 * 8 + 7 and gets[3, 7] > 0.8
    assert 0.1 < opposite.max() < 0.2 and (opposite > 0.05).sum() >= 5
    fed = share_of_outputs("agreement")[:, -1]
    assert fed[0] > 0.5 and fed[4] > 0.5
