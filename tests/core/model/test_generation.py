"""Generation and beam search: against the plain forward, transformers' generate, exhaustive search and their
own definitions.
"""
import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

from core.model.config import ModelConfig
from core.model.generation import beam_search, context_window, continuations, generate
from core.model.kv_cache import KVCache
from core.model.sampling import SamplingConfig, draw, truncate
from core.model.transformer import Transformer
from tests.helpers import parity

pytestmark = pytest.mark.long

GREEDY = SamplingConfig(temperature=0)
POSITIONS = ("learned", "sinusoidal", "rotary", "alibi", "relative", "none")


def random_model(seed=0, spread=1.0, **fields):
    """A model whose distributions are peaked (entropy near 2.6 nats of 3.1), so that orders and draws are no
    matter of rounding.
    """
    config = ModelConfig.of(**{"vocab_size": 23, "d_model": 16, "n_layers": 2, "n_heads": 2, "n_context": 24, **fields})
    model = Transformer(config).initialise(torch.Generator().manual_seed(seed)).eval().requires_grad_(False)
    model.E.mul_(15 * spread)
    return model


def plain_log_probs(model, token_ids):
    """(N, |V|) ln p by the forward that keeps every step, in float64."""
    return model(torch.tensor(token_ids)).logits.double().log_softmax(-1)


def drawn(steps):
    return [step.token_id for step in steps]


class TestCache:
    @pytest.mark.parametrize("positions", POSITIONS)
    @pytest.mark.parametrize("mask", ["causal", "sliding-window"])
    def test_token_by_token_equals_the_plain_forward(self, positions, mask):
        model = random_model(positions=positions, mask=mask, window=5, n_kv_heads=1)
        ids = torch.randint(23, (24,), generator=torch.Generator().manual_seed(1))
        plain, cache = model(ids).logits, KVCache()
        pieces = [model.logits(ids[:7], cache)] + [model.logits(ids[i:i + 1], cache) for i in range(7, 24)]
        assert (torch.cat(pieces) - plain).abs().max() < 1e-5

    @pytest.mark.parametrize("positions", POSITIONS)
    def test_every_step_saw_the_whole_text(self, positions):
        model = random_model(positions=positions, end_of_text=None)
        for step in generate(model, (3, 1, 4), SamplingConfig(0.8, 15, 0.95), seed=4, max_new_tokens=20):
            before = truncate(model(torch.tensor(step.token_ids[:-1])).logits[-1], SamplingConfig(0.8, 15, 0.95))
            ours = step.truncation
            by_id = np.empty((2, 23))
            for row, t in zip(by_id, (ours, before)):
                row[t.token_ids] = t.probs
            assert np.abs(by_id[0] - by_id[1]).max() < 1e-5 and ours.n_kept == before.n_kept


class TestSteps:
    def test_a_step_says_what_happened(self):
        model = random_model(end_of_text=None)
        config = SamplingConfig(1.5, 8, 0.9)
        steps = list(generate(model, [0, 5], config, seed=7, max_new_tokens=12))
        assert len(steps) == 12
        for before, step in zip([None] + steps, steps):
            assert step.token_ids == ((0, 5) if before is None else before.token_ids) + (step.token_id,)
            assert (step.place == draw(step.truncation, step.xi)
                    and step.truncation.token_ids[step.place] == step.token_id)
            assert step.truncation.config == config and step.truncation.kept[step.place] and step.n_unseen == 0
            assert (step.prob == step.truncation.probs[step.place] <= step.renormalised
                    == step.truncation.renormalised[step.place])
            assert abs(step.log_prob - plain_log_probs(model, step.token_ids)[-2, step.token_id].item()) < 1e-5

    def test_greedy_takes_the_most_probable_token(self):
        model = random_model(end_of_text=None)
        steps = list(generate(model, (2,), GREEDY, max_new_tokens=20))
        plain = plain_log_probs(model, steps[-1].token_ids)
        assert drawn(steps) == plain[:-1].argmax(-1).tolist()
        assert all(step.prob == 1 and step.log_prob < 0 for step in steps)
        assert drawn(steps) == drawn(generate(model, (2,), SamplingConfig(top_k=1), seed=99, max_new_tokens=20))

    def test_stops_at_the_end_of_text_token_and_says_it(self):
        model = random_model(end_of_text=None)
        steps = list(generate(model, (2,), SamplingConfig(2.0), seed=3, max_new_tokens=20))
        last = steps[9].token_id
        ending = random_model(end_of_text=last)
        cut = list(generate(ending, (2,), SamplingConfig(2.0), seed=3, max_new_tokens=20))
        assert drawn(cut) == drawn(steps)[:drawn(steps).index(last) + 1]

    def test_every_token_that_ends_a_text_stops_it(self):
        model = random_model(end_of_text=None)
        steps = list(generate(model, (2,), SamplingConfig(2.0), seed=3, max_new_tokens=20))
        first, second = list(dict.fromkeys(drawn(steps)))[2:4]
        ending = random_model(end_of_text=second, end_tokens=(first,))
        cut = list(generate(ending, (2,), SamplingConfig(2.0), seed=3, max_new_tokens=20))
        assert drawn(cut) == drawn(steps)[:drawn(steps).index(first) + 1]
        (_, found), = continuations(ending, [(2,)], SamplingConfig(2.0), seed=3, max_new_tokens=20)
        assert list(found) == drawn(cut)
        assert ending.config.ends == {first, second} and random_model(end_of_text=None).config.ends == frozenset()
        with pytest.raises(ValueError, match="end_tokens \\(99\\) is no id"):
            random_model(end_tokens=(99,))

    def test_no_token_asked_for_none_made(self):
        assert list(generate(random_model(), (0,), GREEDY, max_new_tokens=0)) == []

    def test_closing_stops_the_model(self):
        calls = []                                       # whether gradients were on in each

        class Counting(Transformer):
            def logits(self, *args, **kwargs):
                calls.append(torch.is_grad_enabled())
                return super().logits(*args, **kwargs)

        source = random_model(end_of_text=None)
        model = Counting(source.config)
        model.load_state_dict(source.state_dict())
        steps = generate(model, (1,), GREEDY, max_new_tokens=50)
        assert not calls
        for _ in range(3):
            next(steps)
        steps.close()
        assert calls == [False] * 3 and list(steps) == []

    def test_the_model_and_gradients_are_left_alone(self):
        model = random_model()
        weights = {name: p.clone() for name, p in model.named_parameters()}
        for _ in generate(model, (1,), SamplingConfig(), max_new_tokens=3):
            assert torch.is_grad_enabled()
        assert all(torch.equal(p, weights[name]) for name, p in model.named_parameters())


class TestSeed:
    def test_the_same_seed_gives_the_same_text_another_seed_another(self):
        model = random_model(end_of_text=None)
        runs = [drawn(generate(model, (1, 2), SamplingConfig(1.2), seed, 20)) for seed in (5, 5, 6)]
        assert runs[0] == runs[1] != runs[2]

    def test_the_global_seed_plays_no_part_and_is_not_moved(self):
        model = random_model(end_of_text=None)
        torch.manual_seed(0)
        first = drawn(generate(model, (1,), SamplingConfig(), 5, 10))
        torch.manual_seed(1)
        state = torch.random.get_rng_state()
        assert drawn(generate(model, (1,), SamplingConfig(), 5, 10)) == first
        assert torch.equal(torch.random.get_rng_state(), state)

    def test_a_row_of_numbers_goes_on_from_where_it_stands(self):
        model = random_model(end_of_text=None)
        whole = list(generate(model, (1,), SamplingConfig(), 5, 12))
        xis = iter([step.xi for step in whole])
        first = list(generate(model, (1,), SamplingConfig(), xis, 7))
        second = list(generate(model, first[-1].token_ids, SamplingConfig(), xis, 5))
        assert second[-1].token_ids == whole[-1].token_ids

    def test_the_dice_stay_frozen_when_the_config_changes(self):
        model = random_model(end_of_text=None)
        xis = [[step.xi for step in generate(model, (1,), config, 5, 10)]
               for config in (GREEDY, SamplingConfig(), SamplingConfig(2.0, 3))]
        assert xis[0] == xis[1] == xis[2] and len(set(xis[0])) == 10

    def test_draws_follow_the_model(self):
        model = random_model(spread=0.3)
        xis = iter(np.random.default_rng(0).random(2_000).tolist())
        first = [next(generate(model, (1,), SamplingConfig(), xis, 1)) for _ in range(2_000)]
        counts = np.bincount(drawn(first), minlength=23)
        probs = plain_log_probs(model, (1,))[0].exp().numpy()
        assert (np.abs(counts - 2_000 * probs) <= 4 * np.sqrt(2_000 * probs * (1 - probs)) + 1).all()


class TestLongText:
    def test_window(self):
        config = ModelConfig(vocab_size=9, d_model=2, n_layers=1, n_heads=1, n_context=4)
        assert context_window([0, 1, 2, 3], config) == (0, 1, 2, 3)
        assert context_window((0, 1, 2, 3, 4, 5), config) == (0, 3, 4, 5)
        assert context_window((1, 2, 3, 4, 5), config) == (2, 3, 4, 5)
        without = dataclasses.replace(config, end_of_text=None)
        assert context_window((0, 1, 2, 3, 4, 5), without) == (2, 3, 4, 5)
        assert context_window((0, 1, 2), dataclasses.replace(config, n_context=1)) == (2,)

    @pytest.mark.parametrize("positions", POSITIONS)
    @pytest.mark.parametrize("prompt", [(0, 3, 5), tuple(range(1, 12))])
    def test_the_window_slides(self, positions, prompt):
        model = random_model(positions=positions, n_context=8)
        steps = list(generate(model, prompt, SamplingConfig(top_k=6), seed=2, max_new_tokens=14))
        for step in steps:
            text = step.token_ids[:-1]
            seen = text if len(text) <= 8 else (text[:1] + text[-7:] if text[0] == 0 else text[-8:])
            assert step.n_unseen == len(text) - len(seen)
            assert abs(step.log_prob - plain_log_probs(model, seen)[-1, step.token_id].item()) < 1e-5
        assert steps[-1].n_unseen > 0


class TestRefusals:
    @pytest.mark.parametrize(
        "search", [generate, lambda model, ids, _, max_new_tokens: beam_search(model, ids, 2, max_new_tokens)])
    def test_before_the_first_step(self, search):
        with pytest.raises(ValueError, match="end-of-text"):
            search(random_model(), (), GREEDY, max_new_tokens=1)
        with pytest.raises(ValueError, match="max_new_tokens"):
            search(random_model(), (1,), GREEDY, max_new_tokens=-1)
        with pytest.raises(ValueError, match="left to right"):
            search(random_model(kind="encoder"), (1,), GREEDY, max_new_tokens=1)

    def test_beam_width(self):
        with pytest.raises(ValueError, match="width"):
            beam_search(random_model(), (1,), 0)

    def test_damaged_weights(self):
        model = random_model()
        model.E[3] = math.nan
        with pytest.raises(ValueError, match="NaN"):
            list(generate(model, (3,), GREEDY, max_new_tokens=1))
        with pytest.raises(ValueError, match="NaN"):
            list(beam_search(model, (3,), 2, 1))


class TestBeam:
    def test_width_1_is_greedy(self):
        model = random_model()
        greedy = list(generate(model, (1, 2), GREEDY, max_new_tokens=15))
        *_, (best,) = beam_search(model, (1, 2), 1, 15)
        assert best.token_ids == greedy[-1].token_ids
        assert best.log_probs == pytest.approx([step.log_prob for step in greedy], abs=1e-5)

    @pytest.mark.parametrize("end_of_text", [None, 1])
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_wide_enough_is_exhaustive_search(self, seed, end_of_text):
        size, n = 4, 4
        model = random_model(seed, vocab_size=size, end_of_text=end_of_text)
        scores = {}
        for tokens in itertools.product(range(size), repeat=n):
            if end_of_text in tokens:
                tokens = tokens[:tokens.index(end_of_text) + 1]
            text = (2,) + tokens
            plain = plain_log_probs(model, text)
            scores[text] = math.fsum(plain[i, token].item() for i, token in enumerate(tokens))
        *_, last = beam_search(model, (2,), size ** (n - 1), n)
        order = sorted(scores, key=lambda text: -scores[text])[:size ** (n - 1)]
        assert [beam.token_ids for beam in last] == order
        assert [beam.log_prob for beam in last] == pytest.approx([scores[text] for text in order], abs=1e-5)

    def test_every_step_follows_from_the_step_before(self):
        model = random_model(seed=4, spread=0.7, vocab_size=7)
        before, n_finished = None, 0
        for step in beam_search(model, (0, 3), 5, 12):
            assert (len(step) == 5
                    and [beam.log_prob for beam in step] == sorted((beam.log_prob for beam in step), reverse=True))
            assert len({beam.token_ids for beam in step}) == 5
            for beam in step:
                plain = plain_log_probs(model, beam.token_ids)
                assert beam.log_probs == pytest.approx([plain[i, beam.token_ids[i + 1]].item()
                                                        for i in range(1, len(plain) - 1)], abs=1e-5)
                assert beam.log_prob == math.fsum(beam.log_probs)
                assert beam.finished == (beam.token_ids[-1] == 0)
                parent = before[beam.parent] if before else None
                if parent is None:
                    assert beam.parent == 0 and len(beam.token_ids) == 3
                elif parent.finished:
                    assert beam.token_ids == parent.token_ids
                else:
                    assert beam.token_ids[:-1] == parent.token_ids
            before, n_finished = step, sum(beam.finished for beam in step)
        assert n_finished > 0

    def test_ends_when_all_are_finished(self):
        model = random_model(seed=4, vocab_size=3)
        model.final_norm.bias.copy_(5 * model.E[0] / model.E[0].norm())      # every h_final leans towards end of text
        steps = list(beam_search(model, (1,), 2, 50))
        assert (len(steps) < 50 and all(beam.finished for beam in steps[-1])
                and not all(beam.finished for beam in steps[-2]))

    def test_equal_hypotheses_come_in_the_order_of_parents_and_ids(self):
        model = random_model(vocab_size=3_000, end_of_text=None)
        model.E.zero_()                                                       # every logit is 0
        first, second = beam_search(model, (1,), 3, 2)
        assert [beam.token_ids for beam in first] == [(1, 0), (1, 1), (1, 2)]
        assert [beam.token_ids for beam in second] == [(1, 0, 0), (1, 0, 1), (1, 0, 2)]
        assert second[0].log_prob == pytest.approx(-2 * math.log(3_000), abs=1e-12)

    def test_the_window_slides(self):
        model = random_model(n_context=6, end_of_text=None)
        for step in beam_search(model, (4, 5, 6), 3, 9):
            for beam in step:
                text = beam.token_ids
                expected = [plain_log_probs(model, text[:i][-6:])[-1, text[i]].item() for i in range(3, len(text))]
                assert beam.log_probs == pytest.approx(expected, abs=1e-5)


class TestParity:
    """The same weights in transformers' GPT-2, Llama and Pythia."""

    @pytest.mark.parametrize("family", ["gpt2", "llama", "gpt_neox"])
    def test_greedy(self, family):
        theirs, ours = getattr(parity, family)()
        ours.config = dataclasses.replace(ours.config, end_of_text=None)
        prompt = [3, 14, 15, 9, 2]
        text = theirs.generate(torch.tensor([prompt]), max_new_tokens=25, do_sample=False,
                               eos_token_id=None, pad_token_id=0)
        *_, last = generate(ours, prompt, GREEDY, max_new_tokens=25)
        assert list(last.token_ids) == text[0].tolist()

    @pytest.mark.parametrize("width", [2, 5])
    def test_beam(self, width):
        theirs, ours = parity.gpt2()
        ours.config = dataclasses.replace(ours.config, end_of_text=None)
        out = theirs.generate(torch.tensor([[3, 14, 15]]), max_new_tokens=12, do_sample=False, num_beams=width,
                              num_return_sequences=width, length_penalty=0.0, eos_token_id=None, pad_token_id=0,
                              return_dict_in_generate=True, output_scores=True)
        *_, last = beam_search(ours, [3, 14, 15], width, 12)
        assert [list(beam.token_ids) for beam in last] == out.sequences.tolist()
        assert [beam.log_prob for beam in last] == pytest.approx(out.sequences_scores.tolist(), abs=1e-4)


class TestContinuations:
    @pytest.mark.parametrize("config", [GREEDY, SamplingConfig(temperature=0.9, top_p=0.95)])
    def test_each_prompt_goes_on_as_it_would_alone(self, config):
        """Prompts of two lengths, texts that end at once, on the way and by length, some beyond the context of 16."""
        model = random_model(n_context=16)
        prompts = [(0, 1 + i) for i in range(12)] + [(0, *range(1, 9), i) for i in range(1, 5)]
        stop = {3, 5, 8, 20}
        found = dict(continuations(model, prompts, config, seed=3, max_new_tokens=12, stop=stop, batch_size=5))
        assert sorted(found) == list(range(16))
        for i, prompt in enumerate(prompts):
            alone = drawn(generate(model, prompt, config, seed=3 + i, max_new_tokens=12))
            ends = [n for n, token_id in enumerate(alone, 1) if token_id in stop]
            assert found[i] == tuple(alone[:ends[0] if ends else None])
        lengths = {len(new) for new in found.values()}
        assert 12 in lengths and len(lengths) > 2

    def test_what_generate_refuses_is_refused_at_once(self):
        with pytest.raises(ValueError, match="no token to go on from"):
            continuations(random_model(), [(0, 1), ()])
