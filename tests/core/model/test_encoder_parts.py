"""Parts of others' encoders and encoder-decoders: windows on both sides, a first block without a norm, classes from the
first vector or the mean, sinusoids in halves, a norm of the embeddings in both stacks. Worked by hand.
"""
import pytest
import torch
import torch.nn.functional as F

from core.analysis import contributions, symmetries
from core.cost import counting
from core.model import masks, positional
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from tests.helpers.parity import randomised

SIZES = dict(vocab_size=40, d_model=16, n_layers=3, n_heads=4, n_context=32, d_ff=24)
IDS = torch.randint(0, 40, (13,), generator=torch.Generator().manual_seed(3))


def model_of(**settings) -> Transformer:
    model = randomised(Transformer(ModelConfig.of(**SIZES | settings)).initialise(torch.Generator().manual_seed(0)))
    assert counting.n_parameters(model.config) == model.n_parameters
    return model.double()


def test_a_window_on_both_sides():
    assert masks.mask("bidirectional-window", 4, 4, 2).int().tolist() == [
        [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    model = model_of(kind="encoder", block_masks=("bidirectional", "bidirectional-window", "bidirectional"), window=3)
    trace = model(IDS)
    assert trace.blocks[1].allowed.sum(-1).tolist() == [3, 4, *[5] * 9, 4, 3] and trace.blocks[0].allowed.all()
    torch.testing.assert_close(model.logits(IDS), trace.logits)


def test_the_first_block_reads_what_the_embeddings_norm_made():
    model = model_of(kind="encoder", embedding_norm=True, first_norm=False)
    first, second = model(IDS).blocks[:2]
    assert torch.equal(first.X, first.resid_pre) and model.blocks[0].attn_norm is None
    torch.testing.assert_close(second.X, F.layer_norm(second.resid_pre, (16,), model.blocks[1].attn_norm.weight,
                                                      model.blocks[1].attn_norm.bias))


def test_classes_are_made_of_the_first_vector_or_the_mean():
    def by_hand(model: Transformer, h: torch.Tensor) -> torch.Tensor:
        return torch.relu(h @ model.W_P + model.b_P) @ model.W_C + model.b_C

    settings = dict(kind="encoder", n_classes=3, class_transform="relu", output_head="classes")
    first, mean = model_of(**settings), model_of(class_pooling="mean", **settings)
    torch.testing.assert_close(first(IDS).class_logits, by_hand(first, first(IDS).h_final[0]))
    torch.testing.assert_close(mean(IDS).class_logits, by_hand(mean, mean(IDS).h_final.mean(0)))
    torch.testing.assert_close(mean.class_logits(IDS), mean(IDS).class_logits)
    through = model_of(kind="encoder", n_classes=2, class_transform="head", head_transform=True, head_bias=False)
    h = F.gelu(through(IDS).h_final[0] @ through.W_H)
    h = F.layer_norm(h, (16,), through.head_norm.weight, through.head_norm.bias)
    torch.testing.assert_close(through(IDS).class_logits, h @ through.W_C + through.b_C)


def test_sines_stand_before_all_cosines():
    mixed, halves = positional.sinusoidal(7, 6), positional.sinusoidal(7, 6, halves=True)
    assert torch.equal(halves, torch.cat([mixed[:, 0::2], mixed[:, 1::2]], -1))
    assert positional.sinusoidal(3, 5, halves=True).shape == (3, 5)
    assert torch.equal(positional.sinusoidal(3, 5, halves=True)[0], torch.tensor([0, 0, 0, 1, 1], dtype=torch.float64))
    trace = model_of(positions="sinusoidal", sinusoidal_halves=True)(IDS)
    torch.testing.assert_close(trace.position, positional.sinusoidal(13, 16, halves=True))


def test_both_stacks_norm_what_enters_them():
    model = model_of(kind="encoder-decoder", embedding_norm=True, norm_placement="post")
    trace = model(IDS, source_ids=IDS.flip(0))
    for stack, part, read in ((model, trace, IDS), (model.encoder, trace.encoder, IDS.flip(0))):
        entering = model.E[read] + stack.P[:13]
        torch.testing.assert_close(part.blocks[0].resid_pre, F.layer_norm(
            entering, (16,), stack.embedding_norm.weight, stack.embedding_norm.bias))
    torch.testing.assert_close(model.logits(IDS, memory=model.encode(IDS.flip(0))), trace.logits)


NARROW = dict(kind="encoder", embedding_width=6, embedding_norm=True, norm_placement="post", n_token_types=2)


def test_narrow_embeddings_are_normed_then_mapped_and_the_head_maps_back():
    model = model_of(**NARROW, head_transform=True, unembedding_bias=True)
    trace = model(IDS)
    assert trace.embedding.shape == trace.position.shape == trace.h_head.shape == (13, 6)
    normed = F.layer_norm(model.E[IDS] + model.P[:13] + model.T[0], (6,), model.embedding_norm.weight,
                          model.embedding_norm.bias)
    torch.testing.assert_close(trace.blocks[0].resid_pre, normed @ model.W_E + model.b_E)
    h = F.layer_norm(F.gelu(trace.h_final @ model.W_H + model.b_H), (6,), model.head_norm.weight, model.head_norm.bias)
    torch.testing.assert_close(trace.logits, h @ model.E.T + model.b_U)
    found = contributions.logit_contributions(model, trace, 4, 7)
    assert contributions.Part("embedding map bias") in found.parts
    assert found.total == pytest.approx(found.logit, abs=1e-10)


def test_the_order_of_the_streams_dimensions_is_free_where_embeddings_are_narrow():
    model, order = model_of(**NARROW, head_transform=True), torch.randperm(16)
    torch.testing.assert_close(symmetries.relabelled(model, order)(IDS).logits, model(IDS).logits)


PLAIN = dict(embedding_width=6, head_transform=True, head_bias=False, plain_maps=True, norm_placement="post")


def test_plain_maps_lead_rows_of_E_into_the_stream_before_positions_and_back_at_the_end():
    model = model_of(**PLAIN)
    trace = model(IDS)
    assert model.P.shape[-1] == 16 and model.b_E is model.b_H is model.head_norm is None
    torch.testing.assert_close(trace.embedding, model.E[IDS] @ model.W_E)
    torch.testing.assert_close(trace.blocks[0].resid_pre, model.E[IDS] @ model.W_E + model.P[:13])
    torch.testing.assert_close(trace.logits, trace.h_final @ model.W_H @ model.E.T)
    torch.testing.assert_close(model.logits_of_embeddings(trace.embedding), trace.logits[-1])
    found = contributions.logit_contributions(model, trace, 4, 7)
    assert found.total == pytest.approx(found.logit, abs=1e-10)
    assert not {"embedding map bias", "head bias", "head norm bias"} & {part.kind for part in found.parts}
    torch.testing.assert_close(symmetries.relabelled(model, torch.randperm(16))(IDS).logits, trace.logits)


@pytest.mark.parametrize("broken", [dict(embedding_width=0), dict(head_bias=True), dict(embedding_norm=True),
                                    dict(head_transform=False, output_head="replaced")], ids=str)
def test_plain_maps_belong_to_narrow_embeddings_and_a_head_of_one_matrix(broken):
    with pytest.raises(ValueError, match="plain_maps"):
        ModelConfig.of(**SIZES | PLAIN | broken)


def test_narrow_embeddings_without_a_head_are_of_no_model_of_words():
    model = model_of(**NARROW, output_head="replaced")
    assert model(IDS).logits.shape == (13, 40)
    with pytest.raises(ValueError, match="embedding_width"):
        ModelConfig.of(**SIZES, **NARROW)
