"""Hugging Face models as ours: equal to transformers' eager pass in logits, patterns and hidden states; every field of
the trace true; interventions; both ways.

The relative error of a tensor is the largest difference over the largest magnitude in transformers' tensor; all in
float32, as the app computes.
"""
import pytest
import torch
import torch.nn.functional as F

from core import huggingface
from core.analysis.contributions import logit_contributions, logit_lens
from core.huggingface import PretrainedError, families, hub, preview, save_pretrained, tables
from core.huggingface.weights import headers
from core.model import checkpoints, positional
from core.model.attention import masked_softmax, share_heads
from core.model.config import ModelConfig
from core.model.generation import context_window, generate, translations
from core.model.intervention import HeadEdit, Intervention, SublayerEdit
from core.model.kv_cache import KVCache
from core.model.sampling import SamplingConfig
from core.model.scores import capped
from core.model.tokenizer import END_OF_TEXT, Tokenizer
from core.model.trace import Trace
from core.model.transformer import Transformer
from tests.helpers import models_encoders, models_pictures
from tests.helpers.huggingface_models import CASES, N_SOURCE, N_TOKENS, hf, ids, saved

pytestmark = pytest.mark.long

TOLERANCE = 1e-5
SOURCE = ids(2, N_SOURCE, seed=5)


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory):
    """One family's model: transformers', ours as loaded from its folder, and the folder."""
    folder = tmp_path_factory.mktemp("model")
    theirs = saved(request.param, folder)
    return theirs, huggingface.from_pretrained(folder)[0], folder


def relative_error(ours, theirs) -> float:
    assert ours.shape == theirs.shape
    return float((ours - theirs).abs().max() / theirs.abs().max())


def run(theirs, ours, token_ids, **more):
    """transformers' pass and ours over the same tokens."""
    if ours.encoder is None:
        return (theirs(token_ids, output_attentions=True, output_hidden_states=True, **more),
                ours(token_ids, token_types=more.get("token_type_ids")))
    expected = theirs(input_ids=SOURCE, decoder_input_ids=token_ids, output_attentions=True, output_hidden_states=True)
    return expected, ours(token_ids, source_ids=SOURCE)


def compared(trace, expected):
    """(ours, theirs) of everything that transformers gives. Its last hidden state is the one after the final norm."""
    def stream(part):
        plain = isinstance(part, Trace) and part.config.embedding.plain_maps   # transformers' last one is mapped back
        return [block.resid_pre for block in part.blocks] + [part.h_head if plain else part.h_final]

    yield trace.logits, expected.logits
    if trace.encoder is None:
        return (yield from [*zip([block.pattern for block in trace.blocks], expected.attentions, strict=True),
                            *zip(stream(trace), expected.hidden_states, strict=True)])
    yield from zip([block.pattern for block in trace.blocks], expected.decoder_attentions, strict=True)
    yield from zip([block.cross.pattern for block in trace.blocks], expected.cross_attentions, strict=True)
    yield from zip([block.pattern for block in trace.encoder.blocks], expected.encoder_attentions, strict=True)
    yield from zip(stream(trace), expected.decoder_hidden_states, strict=True)
    yield from zip(stream(trace.encoder), expected.encoder_hidden_states, strict=True)


def test_equal_to_transformers(pair):
    theirs, ours, _ = pair
    expected, trace = run(theirs, ours, ids(2, N_TOKENS))
    assert expected.logits.std() > 1, "logits of a model that says nothing are easy to equal"
    errors = [relative_error(*both) for both in compared(trace, expected)]
    assert max(errors) < TOLERANCE, errors


def test_the_plan_says_what_the_model_is(pair):
    theirs, ours, folder = pair
    told = preview(folder)
    # positions that stand for none
    unused = {"opt": 2 * 24, "roberta": 2 * 24}.get(theirs.config.model_type, 0)
    # the bias of the other head
    unused += 61 if "bert" in theirs.config.model_type and not theirs.config.tie_word_embeddings else 0
    unused += models_encoders.unused(theirs.config) + models_pictures.unused(theirs)
    assert (told.config.vocab_size == 61 and told.n_parameters == ours.n_parameters == theirs.num_parameters() - unused
            and told.n_bytes == 4 * ours.n_parameters)
    assert (told.dtype, told.tokenizer, told.download_bytes, told.name) == ("float32", "", 0, str(folder))
    assert (told.family == tables.TITLES[theirs.config.model_type] and told.config.n_context == 40
            or theirs.config.model_type in ("t5", "mt5"))
    assert (not ours.training and not any(p.requires_grad for p in ours.parameters())
            and {p.dtype for p in ours.parameters()} == {torch.float32})


def attentions(model):
    """(block, its trace) of every attention in a pass, self-attention and cross-attention."""
    def of(trace):
        for part, stack in ((trace, model), (trace.encoder, model.encoder)):
            for block, weights in zip(part.blocks if part else (), stack.blocks if part else ()):
                yield weights, block, block.X, True
                if block.cross is not None:
                    yield weights.cross, block.cross, trace.encoder.h_final, False
    return of


def scores_of(products, config, scaled: bool | None = None):
    """A model's scores from its products q·k before any bias and the mask."""
    scaled = config.scores.scale_scores if scaled is None else scaled
    return capped(products / (config.divisor if scaled else 1), config.scores.score_cap)


def test_every_field_of_the_trace_is_what_it_says(pair):
    _, ours, _ = pair
    config = ours.config
    trace = ours(ids(N_TOKENS), source_ids=None if ours.encoder is None else SOURCE[0])
    for weights, made, source, own in attentions(ours)(trace):
        for letter, read in (("Q", made.X), ("K", source), ("V", source)):
            bias = getattr(weights, f"b_{letter}")
            by_hand = (torch.einsum("nd,hdk->hnk", read, getattr(weights, f"W_{letter}"))
                       + (0 if bias is None else bias[:, None]))
            assert relative_error(getattr(made, letter), by_hand) < 1e-5
        Q, K = (made.Q_rotated, made.K_rotated) if own else (made.Q, made.K)
        scores = scores_of(Q @ share_heads(K, config.n_heads).mT, config)
        if config.positions == "alibi" and own:
            size = (N_TOKENS, N_TOKENS, config.n_heads)
            scores = scores + (positional.rounded_alibi_bias(*size, config.divisor)
                               if config.position_bias.rounded_alibi
                               else positional.alibi_bias(*size))
        if config.positions != "relative" or not own:
            assert relative_error(made.scores, scores) < 1e-5
        masked = made.scores.masked_fill(~made.allowed, -torch.inf) if own else made.scores
        # a sink takes its share of every row
        taken = 0 if weights.sinks is None else weights.sinks[:, None, None].exp()
        assert relative_error(made.pattern, masked.exp() / (masked.exp().sum(-1, keepdim=True) + taken)) < 1e-5
        assert relative_error(made.head_out, made.pattern @ share_heads(made.V, config.n_heads)) < 1e-5
        assert relative_error(made.head_contribution.sum(-3) + (0 if weights.b_O is None else weights.b_O),
                              made.attn_out) < 1e-5
    entering = sum(part for part in (trace.embedding, trace.position, trace.token_type) if part is not None)
    entered = entering if ours.embedding_norm is None else ours.embedding_norm(entering, config.norm)
    if config.embedding.plain_maps:
        assert torch.equal(trace.embedding, ours.E[trace.token_ids] @ ours.W_E)
        assert torch.equal(trace.h_head, trace.h_final @ ours.W_H)
    assert torch.equal(trace.blocks[0].resid_pre,
                       entered if ours.W_E is None or config.embedding.plain_maps else entered @ ours.W_E + ours.b_E)
    h = trace.h_final if trace.h_head is None else trace.h_head
    logits = h @ ours.unembedding.T + (0 if ours.b_U is None else ours.b_U)
    assert relative_error(capped(logits, config.head.logit_cap), trace.logits) < 1e-5
    assert relative_error(logit_lens(ours, trace.resid_final), trace.logits) < 1e-6


def test_a_logit_is_the_sum_of_its_parts(pair):
    _, ours, _ = pair
    trace = ours(ids(N_TOKENS), source_ids=None if ours.encoder is None else SOURCE[0])
    found = logit_contributions(ours, trace, 5, 7)
    assert abs(found.total - found.logit) < 1e-5 * float(found.values.abs().sum())
    assert ("unembedding bias" in {part.kind for part in found.parts}) == (ours.b_U is not None)


def test_the_fast_road_and_the_cache_equal_the_trace(pair):
    _, ours, _ = pair
    token_ids, source = ids(2, N_TOKENS), None if ours.encoder is None else SOURCE
    plain = ours(token_ids, source_ids=source).logits
    memory = None if source is None else ours.encode(source)
    assert relative_error(ours.logits(token_ids, memory=memory), plain) < 1e-5
    if ours.config.mask != "bidirectional":
        cache = KVCache()
        assert relative_error(torch.cat([ours.logits(piece, cache, memory=memory)
                                         for piece in token_ids.split([9, 1, 13], -1)], -2), plain) < 1e-5


def their_output_map(theirs, folder, layer):
    """The parameter of theirs that holds W_O of a block, and how to take it apart."""
    plan = families.plan_of(hub.read_config(folder / hub.CONFIG), headers(folder))
    entry = next(entry for entry in plan.entries if entry.ours == (f"blocks.{layer}.W_O",))
    # a model that also reads pictures has other names in memory than in files
    name = entry.theirs.replace("language_model.model.", "model.language_model.")
    return entry, dict(theirs.named_parameters())[name]


def test_a_head_that_is_off_equals_theirs_without_its_weights(pair):
    theirs, ours, folder = pair
    entry, weight = their_output_map(theirs, folder, 1)
    kept = weight.clone()
    entry.split(weight)[0][2] = 0
    expected, _ = run(theirs, ours, ids(2, N_TOKENS))
    weight.copy_(kept)
    off = Intervention(heads=(HeadEdit(1, 2),))
    trace = ours(ids(2, N_TOKENS), off, source_ids=None if ours.encoder is None else SOURCE)
    assert relative_error(trace.logits, expected.logits) < TOLERANCE
    plain = run(theirs, ours, ids(2, N_TOKENS))[1]
    assert relative_error(trace.logits, plain.logits) > 1e-2 and (trace.blocks[1].head_out[..., 2, :, :] == 0).all()


def test_interventions_hold(pair):
    _, ours, _ = pair
    config, token_ids, source = ours.config, ids(N_TOKENS), None if ours.encoder is None else SOURCE[0]

    def changed(**settings):
        return ours(token_ids, Intervention(**settings), source_ids=source)

    plain, first = changed(), changed().blocks[0]
    rescaled = changed(scale_scores=not config.scores.scale_scores).blocks[0]
    products = first.Q_rotated @ share_heads(first.K_rotated, config.n_heads).mT
    other = scores_of(products, config, not config.scores.scale_scores)
    assert relative_error(rescaled.scores - first.scores, other - scores_of(products, config)) < 1e-4
    own = tuple(tuple(i == j for j in range(N_TOKENS)) for i in range(N_TOKENS))
    alone, sinks = changed(allowed=own).blocks[0], ours.blocks[0].sinks
    assert torch.equal(alone.pattern, torch.eye(N_TOKENS).expand(config.n_heads, -1, -1) if sinks is None
                       else masked_softmax(alone.scores, alone.allowed, sinks))
    assert (changed(mask="bidirectional").blocks[0].allowed.all()
            and changed(mask="causal").blocks[0].allowed.sum() == N_TOKENS * (N_TOKENS + 1) // 2)
    bare = changed(positions="none")
    assert (bare.position is None
            and relative_error(bare.blocks[0].scores,
                               scores_of(bare.blocks[0].Q_rotated
                                         @ share_heads(bare.blocks[0].K_rotated, config.n_heads).mT, config)) < 1e-5)
    assert torch.equal(changed(positions="alibi").blocks[0].resid_pre, bare.blocks[0].resid_pre)
    order = tuple(reversed(range(N_TOKENS)))
    unordered = [changed(positions="none", mask="bidirectional", permutation=p) for p in (None, order)]
    assert relative_error(unordered[1].h_final, unordered[0].h_final.flip(0)) < 1e-4
    silent = changed(sublayers=(SublayerEdit(0, "attention"), SublayerEdit(0, "mlp")))
    assert ((silent.blocks[0].attn_out == 0).all()
            and (not config.reads_normed or torch.equal(silent.blocks[0].resid_post, silent.blocks[0].resid_pre)
                 or ours.encoder is not None))
    for settings in (dict(norm="none"), dict(activation="relu"), dict(residual=False), dict(score="additive"),
                     dict(heads=(HeadEdit(0, 1, "uniform"), HeadEdit(1, 0, "scale", 3.0)))):
        moved = settings.get("activation") != config.activation
        assert (torch.isfinite(changed(**settings).logits).all()
                and torch.equal(changed(**settings).logits, plain.logits) != moved)


# What only some families have

def test_token_types_tell_two_texts_apart(tmp_path):
    theirs, types = saved("bert untied", tmp_path), torch.tensor([[0] * 9 + [1] * 9 + [2] * 5] * 2)
    ours, _ = huggingface.from_pretrained(tmp_path)
    expected, trace = run(theirs, ours, ids(2, N_TOKENS), token_type_ids=types)
    assert max(relative_error(*both) for both in compared(trace, expected)) < TOLERANCE
    assert torch.equal(trace.token_type, ours.T[types]) and not torch.equal(trace.logits, ours(ids(2, N_TOKENS)).logits)
    decoder = Transformer(ModelConfig(vocab_size=61, d_model=8, n_layers=1, n_heads=1, n_context=8))
    with pytest.raises(ValueError, match="no texts apart"):
        decoder(ids(4), token_types=torch.zeros(4, dtype=torch.int64))


@pytest.mark.parametrize("name", ["gpt2", "mistral", "qwen3", "gemma"])
def test_greedy_text_is_theirs(name, tmp_path):
    theirs = saved(name, tmp_path, eos_token_id=None, bos_token_id=None, pad_token_id=0)
    ours, _ = huggingface.from_pretrained(tmp_path)
    expected = theirs.generate(ids(1, 7), max_new_tokens=15, do_sample=False, eos_token_id=None)[0].tolist()
    assert (list(generate(ours, ids(7).tolist(), SamplingConfig(temperature=0), max_new_tokens=15))[-1].token_ids
            == tuple(expected))


def test_a_greedy_translation_is_theirs(tmp_path):
    theirs = saved("t5", tmp_path, num_decoder_layers=2)      # with more, transformers' own cache fails
    ours, _ = huggingface.from_pretrained(tmp_path)
    expected = theirs.generate(SOURCE[:1], max_new_tokens=12, do_sample=False)[0].tolist()
    (_, found), = translations(ours, [SOURCE[0].tolist()], max_new_tokens=12)
    assert ([ours.config.first_token, *found] == expected and ours.config.first_token == 0
            and ours.config.end_of_text == 1)


def test_a_long_text_keeps_the_token_that_it_begins_with():
    config = ModelConfig.of(vocab_size=9, d_model=2, n_layers=1, n_heads=1, n_context=3, end_of_text=2, begin_of_text=1)
    assert context_window((1, 5, 6, 7, 8), config) == (1, 7, 8) and context_window((2, 5, 6, 7, 8), config) == (6, 7, 8)


# The way back

TOKENIZER = Tokenizer.train(["the cat sat on the mat"] * 4, 261)
OWN = dict(vocab_size=261, d_model=16, n_layers=2, n_heads=4, n_context=20)
LLAMA = dict(norm="rmsnorm", norm_bias=False, activation="swiglu", positions="rotary",
             attention_bias=False, mlp_bias=False)


def own_model(**changes) -> Transformer:
    model = Transformer(ModelConfig.of(**OWN | changes)).initialise(torch.Generator().manual_seed(0))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())) * 0.3)
    return model.eval().requires_grad_(False)


@pytest.mark.parametrize("changes, family", [
    (dict(), "gpt2"), (dict(activation="gelu_tanh", tied_embeddings=False, d_ff=30), "gpt2"),
    (dict(positions="rotary", activation="relu"), "gpt_neox"),
    (dict(positions="rotary", parallel_residual=True, d_rotary=2, tied_embeddings=False), "gpt_neox"), (LLAMA, "llama"),
    (LLAMA | dict(n_kv_heads=2, d_k=6, d_v=6, tied_embeddings=False, activation="geglu",
                  rotary_base=50.0, rotary_scaling=(4.0, 1.0, 4.0, 8.0)), "llama"),
    (LLAMA | dict(attention_bias=True, mlp_bias=True, rotary_scaling=(2.0,)), "llama")], ids=str)
def test_ours_as_transformers_loads_them(changes, family, tmp_path):
    model = own_model(**changes)
    assert save_pretrained(model, TOKENIZER, tmp_path) == family
    theirs, tokenizer = hf.AutoModelForCausalLM.from_pretrained(tmp_path), hf.AutoTokenizer.from_pretrained(tmp_path)
    text = " the cat 🙂 sat"
    prompt = TOKENIZER.prompt(text, 20).token_ids
    assert tuple(tokenizer(text).input_ids) == prompt and tokenizer.decode(prompt, skip_special_tokens=True) == text
    assert (tokenizer.bos_token, tokenizer.eos_token_id, theirs.config.eos_token_id) == (END_OF_TEXT, 0, 0)
    with torch.no_grad():
        assert relative_error(model(torch.tensor([prompt])).logits, theirs(torch.tensor([prompt])).logits) < 1e-5
    back, again = huggingface.from_pretrained(tmp_path)
    assert (torch.equal(back(torch.tensor(prompt)).logits, model(torch.tensor(prompt)).logits)
            and again.prompt(text, 20).token_ids == prompt)


@pytest.mark.parametrize("changes",
                         [dict(positions="alibi"), dict(kind="encoder"), dict(kind="encoder-decoder"),
                          dict(norm_placement="post"), dict(norm="rmsnorm"), dict(d_ff=None), dict(score="additive"),
                          dict(norm_bias=False), dict(attention_bias=False), dict(d_k=6), dict(mask="sliding-window"),
                          dict(n_classes=2), dict(activation="swiglu"), dict(scale_scores=False),
                          dict(n_experts=2, n_active_experts=1), dict(activation="swiglu_clamped"),
                          LLAMA | dict(d_k=6), LLAMA | dict(d_rotary=2), LLAMA | dict(activation="relu")], ids=str)
def test_what_transformers_does_not_have_is_refused(changes, tmp_path):
    with pytest.raises(PretrainedError, match="no model of this architecture") as error:
        save_pretrained(own_model(**changes), TOKENIZER, tmp_path / "model")
    assert error.value.reason == "architecture" and not (tmp_path / "model").exists()


def test_a_bundled_model_goes_there_with_equal_logits(tmp_path):
    model, tokenizer = checkpoints.load_bundled("stories-small")
    save_pretrained(model, tokenizer, tmp_path)
    prompt = torch.tensor([tokenizer.prompt("Once upon a time there was", 64).token_ids])
    with torch.no_grad():
        expected, found = hf.AutoModelForCausalLM.from_pretrained(tmp_path)(prompt).logits, model(prompt).logits
    assert relative_error(found, expected) < 1e-5 and torch.equal(found.argmax(-1), expected.argmax(-1))


def test_only_what_fits_is_saved(tmp_path):
    with pytest.raises(PretrainedError, match="vocabulary of 300 tokens, its tokenizer one of 261"):
        save_pretrained(own_model(vocab_size=300), TOKENIZER, tmp_path)


def test_the_gate_of_an_encoder_is_its_heads_curve_alone():
    """A swapped activation is the feed-forward parts', not that of a head's transform."""
    model = own_model(kind="encoder", norm_placement="post", head_transform=True, embedding_norm=True,
                      unembedding_bias=True)
    trace = model(torch.tensor([5, 6, 7]), Intervention(activation="relu"))
    # to the bit, as one rounding on every processor
    assert torch.equal(trace.h_head,
                       model.head_norm(F.gelu(F.linear(trace.h_final, model.W_H.T, model.b_H)), "layernorm"))
