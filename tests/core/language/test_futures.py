"""Futures of a prompt, strategies side by side, exhaustive search and the cost of the cache: against their definitions
and each other.
"""
import math

import numpy as np
import pytest
import torch

from core.cost.cache_cost import bytes_per_token, greedy_without_cache, measure, multiplications
from core.language import futures as module
from core.language.futures import frequency_band, futures, grow
from core.language.strategies import Continuation, write_side_by_side
from core.model.config import ModelConfig
from core.model.generation import beam_search, exhaustive_search, generate, next_logits
from core.model.kv_cache import KVCache
from core.model.sampling import SamplingConfig, truncate
from tests.core.model.test_generation import plain_log_probs, random_model

GREEDY = SamplingConfig(temperature=0)


class TestFutures:
    @pytest.mark.parametrize("config", [SamplingConfig(), SamplingConfig(temperature=0.7, top_k=9, top_p=0.9)],
                             ids=["plain", "cut"])
    def test_frequencies_of_10_000_draws_are_within_sampling_error_of_the_probabilities(self, config):
        model, n = random_model(spread=0.4, end_of_text=None), 10_000
        tree = futures(model, (1, 2), config, seed=3, n=n, depth=2)
        scores = np.array([(node.count / n - node.path_prob) / frequency_band(node.path_prob, n) for node in tree[1:]
                           if n * node.path_prob > 20])
        assert len(scores) > 25 and np.abs(scores).max() < 4.5 and 0.7 < np.sqrt((scores ** 2).mean()) < 1.3

    def test_the_exact_probabilities_are_those_of_the_plain_forward_by_the_chain_rule(self):
        model, config = random_model(spread=0.4), SamplingConfig(temperature=1.3, top_p=0.95)
        tree = futures(model, (0, 5, 7), config, seed=1, n=300, depth=3)
        for node in tree[1:]:
            prob = 1.0
            for i, token_id in enumerate(node.token_ids):
                t = truncate(model(torch.tensor((0, 5, 7) + node.token_ids[:i])).logits[-1], config)
                prob *= float(t.renormalised[t.token_ids.tolist().index(token_id)])
            assert node.path_prob == pytest.approx(prob, rel=1e-4)

    def test_counts_add_up_and_a_finished_text_is_not_continued(self):
        tree = futures(random_model(spread=0.2), (1,), SamplingConfig(), seed=2, n=500, depth=3)
        ended = 0
        for place, node in enumerate(tree):
            children = [child for child in tree[1:] if child.parent == place]
            assert all(child.token_ids[:-1] == node.token_ids for child in children)
            if node.depth and node.token_ids[-1] == 0:
                assert not children
                ended += node.depth < 3
            elif node.depth < 3:
                assert sum(child.count for child in children) == node.count
        assert ended > 0 and tree[0].count == 500

    def test_a_deeper_tree_begins_with_the_same_draws_and_another_seed_is_another_tree(self):
        model = random_model(spread=0.4)
        shallow, deep, other = (futures(model, (1, 2), SamplingConfig(), seed, 100, depth)
                                for seed, depth in ((4, 2), (4, 3), (5, 2)))
        assert [(node.token_ids, node.count) for node in deep if node.depth <= 2] == [(node.token_ids, node.count)
                                                                                      for node in shallow]
        assert [(node.token_ids, node.count) for node in other] != [(node.token_ids, node.count) for node in shallow]

    def test_two_trees_grown_side_by_side_are_the_same_trees_and_what_they_share_is_read_once(self, monkeypatch):
        model, read = random_model(spread=0.2), []
        monkeypatch.setattr(module, "next_logits",
                            lambda model, texts, cache: read.append(len(texts)) or next_logits(model, texts, cache))
        *parts, both = grow(model, (1, 2), SamplingConfig(), (4, 5), 100, 3)
        together = sum(read)
        alone = [futures(model, (1, 2), SamplingConfig(), seed, 100, 3) for seed in (4, 5)]
        assert (together < sum(read) - together
                and together == 1 + len({node.token_ids for tree in both for node in tree
                                         if node.depth < 3 and node.token_ids[-1:] != (0,)}))
        for tree, other in zip(both, alone):
            assert ([(node.token_ids, node.parent, node.count) for node in tree]
                    == [(node.token_ids, node.parent, node.count) for node in other])
            assert [node.path_prob for node in tree] == pytest.approx([node.path_prob for node in other], rel=1e-4)
        assert all(part[0] == both[0][:len(part[0])] for part in parts), "what has grown stays"

    def test_temperature_zero_leaves_one_future(self):
        model = random_model()
        tree = futures(model, (1, 2), GREEDY, n=50, depth=4)
        *_, last = generate(model, (1, 2), GREEDY, max_new_tokens=len(tree) - 1)
        assert (tree[-1].token_ids == last.token_ids[2:]
                and all(node.count == 50 and node.path_prob == 1 for node in tree))

    def test_what_does_not_fit_is_refused(self):
        with pytest.raises(ValueError, match="do not fit"):
            futures(random_model(n_context=8), tuple(range(1, 7)), depth=4)
        with pytest.raises(ValueError):
            futures(random_model(), ())


class TestPicks:
    def test_a_pick_is_taken_whatever_the_dice_say_and_the_dice_stay(self):
        model = random_model(end_of_text=None)
        drawn = list(generate(model, (1, 2), SamplingConfig(top_k=5), 7, 12))
        odd = int(drawn[4].truncation.token_ids[-1])
        other = list(generate(model, (1, 2), SamplingConfig(top_k=5), 7, 12, picks={4: odd}))
        assert ([s.token_id for s in other[:4]] == [s.token_id for s in drawn[:4]] and other[4].token_id == odd
                and other[4].renormalised == 0)
        assert [s.xi for s in other] == [s.xi for s in drawn] and other[5].token_ids[:7] == drawn[3].token_ids + (odd,)
        assert other[4].log_prob == pytest.approx(plain_log_probs(model, other[4].token_ids)[-2, odd].item(), abs=1e-5)


class TestStrategies:
    def test_each_text_is_what_generate_writes_alone(self):
        model = random_model(spread=0.3)
        jobs = [(GREEDY, 1), (SamplingConfig(top_k=4), 2), (SamplingConfig(top_p=0.8), 3),
                *((SamplingConfig(), seed) for seed in range(6))]
        *_, texts = write_side_by_side(model, (1, 2, 3), jobs, 15)
        for (config, seed), text in zip(jobs, texts):
            steps = list(generate(model, (1, 2, 3), config, seed, 15))
            assert text.token_ids == tuple(step.token_id for step in steps)
            assert text.log_probs == pytest.approx([step.log_prob for step in steps], abs=1e-5)
        assert len({len(text.token_ids) for text in texts}) > 1

    def test_what_a_text_is_worth_by_hand(self):
        text = Continuation((1, 2, 1, 2, 1, 2), (-1.0, -2.0, -3.0, -1.0, -2.0, -3.0))
        assert (text.log_prob, text.surprisal, text.distinct(2), text.repeated(4)) == (-12.0, 2.0, 2 / 5, 1 - 2 / 3)
        assert math.isnan(Continuation().surprisal) and math.isnan(Continuation((1,), (-1.0,)).repeated(4))


class TestSearch:
    @pytest.mark.parametrize("seed", range(4))
    def test_a_beam_of_width_v_to_the_n_minus_1_finds_what_exhaustive_search_finds(self, seed):
        model = random_model(seed, spread=0.5, vocab_size=3, end_of_text=0 if seed % 2 else None)
        every = exhaustive_search(model, (2,), 4)
        *_, last = beam_search(model, (2,), 3 ** 3, 4)
        assert [one.token_ids for one in last[:9]] == [one.token_ids for one in every[:9]]
        assert math.fsum(math.exp(one.log_prob) for one in every) == pytest.approx(1, abs=1e-6)
        assert len(every) == (81 if seed % 2 == 0 else 1 + 2 + 4 + 8 * 3)

    def test_the_pruned_are_the_next_best_and_change_nothing(self):
        model = random_model(spread=0.5)
        plain, more = (list(beam_search(model, (1,), 3, 5, n)) for n in (0, 4))
        for kept, all_of in zip(plain, more):
            assert all_of[:3] == kept and len(all_of) == 7
            assert [one.log_prob for one in all_of] == sorted((one.log_prob for one in all_of), reverse=True)

    def test_too_many_texts_are_refused(self):
        with pytest.raises(ValueError, match="too many"):
            exhaustive_search(random_model(), (1,), 4)


class TestCacheCost:
    def test_the_bytes_are_those_of_a_cache(self):
        model = random_model(n_kv_heads=1)
        cache = KVCache()
        model.logits(torch.arange(1, 11), cache)
        held = sum(K.nbytes + V.nbytes for K, V in cache.keys_and_values.values())
        assert held == 10 * bytes_per_token(model.config)

    def test_multiplications_by_hand(self):
        config = ModelConfig(vocab_size=5, d_model=4, n_layers=2, n_heads=2, n_context=8, d_ff=6)
        assert multiplications(config, 3, cached=True) == 2 * (4 * 16 + 2 * 4 * 6 + 2 * 3 * 4) + 20
        assert multiplications(config, 3, cached=False) == 3 * 2 * (4 * 16 + 2 * 4 * 6 + 2 * 3 * 4) + 20

    def test_both_ways_agree(self):
        model = random_model(end_of_text=None)
        found = list(measure(model, tuple(range(1, 20)), (2, 9, 19), tries=2))
        assert ([cost.n_tokens for cost in found] == [2, 9, 19]
                and all(cost.same and cost.difference < 1e-4 and cost.uncached > 0 < cost.cached for cost in found))
        *_, last = generate(model, (1, 2), GREEDY, max_new_tokens=10)
        assert tuple(greedy_without_cache(model, (1, 2), 10)) == last.token_ids[2:]
