"""Claims of the lectures' ideas (assets/teaching/ideas.tsv) about the model that their place opens."""
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from core.analysis import one_block, score_scaling, stream_and_heads
from core.analysis.norm_inputs import feed_forward_input
from core.app.compute import cache
from core.app.state.dice import Dice
from core.base import prose, tables
from core.cost import elementwise
from core.evaluation import confidence
from core.language import word_order
from core.language.futures import futures
from core.learning import task_inputs, teacher_forcing
from core.model.generation import generate
from core.model.intervention import Intervention
from core.model.sampling import SamplingConfig, truncate
from core.training import teaching_text
from pages.architectures import translate_work
from pages.architectures.shared import SETTINGS as ARCHITECTURES
from pages.generation import futures as futures_view
from pages.language_models import shared as language_models
from pages.limits import facts, words
from pages.limits.shared import SETTINGS as LIMITS
from pages.residual_stream.without_path import CUT
from tests.claims import claims, shows
from tests.claims.passes import experiment, opening, probability, run, says
from tests.claims.test_architectures import filled, probabilities

PLACES = {idea.id: idea.place.settings for idea in tables.ideas()}


@shows("A1")
def test_a_words_vector_moves_away_from_its_row():
    settings = PLACES["A1"]
    one, other = run(settings["prompt"]), run(settings["embeddings_other"])
    assert one.token_ids[-1] == other.token_ids[-1] == one.tokenizer.encode(f" {settings['embeddings_shared']}")[0]
    first, second = (stream_and_heads.stream(there.trace)[:, -1] for there in (one, other))
    apart = torch.nn.functional.cosine_similarity(first, second, dim=-1).tolist()
    moved = torch.nn.functional.cosine_similarity(first, one.model.E[one.token_ids[-1]][None], dim=-1).tolist()
    assert apart[0] > 0.98 and apart[-1] < 0.6 and moved == sorted(moved, reverse=True) and moved[-1] < 0.2


@shows("C8")
def test_one_vector_for_both_makes_tokens_match_themselves():
    settings = PLACES["C8"]
    there, head = run(settings["prompt"]), int(settings["head"])
    block, own = there.trace.blocks[int(settings["layer"])], torch.arange(len(there.token_ids))
    matched, alike = ((block.Q[head] @ keys.T).argmax(-1) == own for keys in (block.K[head], block.Q[head]))
    assert matched.double().mean() < 0.1 and alike.double().mean() > 0.9


@shows("C45")
def test_a_linear_layer_reads_a_feeling_off_one_vector():
    there = opening()
    head = task_inputs.fitted(there.model, there.tokenizer)
    said = [task_inputs.CLASSES[int(head.logits(task_inputs.extracted(there.model, [task_inputs.row_of(
        there.tokenizer, [text], there.model.config.n_context)])[0]).argmax())]
        for text in ("Lily lost her ball", "Lily found her ball")]
    assert said == ["negative", "positive"] and head.right == task_inputs.N_HELD_OUT == 24


@shows("D13")
def test_less_than_a_hundredth_of_a_pass_is_no_matrix_product():
    there = opening()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        there.model(torch.tensor(there.token_ids))
    rest = sum(elementwise.elementwise(there.model.config, len(there.token_ids)).values())
    assert 0 < rest < 0.01 * counter.get_total_flops()


@shows("D5")
def test_the_same_prompt_gives_two_texts_and_the_end_of_text_stops():
    settings = PLACES["D5"]
    there, seed = run(settings["prompt"]), int(settings["seed"])
    first, second = ([step.token_id for step in generate(there.model, there.token_ids,
                                                         SamplingConfig(top_k=40, top_p=0.9),
                                                         Dice(number, len(there.token_ids)).numbers(), 40)]
                     for number in (seed, seed + 1))
    assert first[-1] == there.tokenizer.end_of_text and 10 < len(first) < 40 and first != second


@shows("C6")
def test_a_switch_moves_the_next_token():
    assert PLACES["C6"]["attention_score"] == "additive"
    switched = opening().trace_with(Intervention(score="additive"))
    assert stream_and_heads.effect(opening().trace.logits[-1], switched.logits[-1]).kl > 1


@shows("A42")
def test_what_was_left_out_is_not_known_and_is_once_there_is_room():
    prompt = PLACES["A42"]["prompt"]
    cut, whole = run(prompt), run(prompt.replace(" The stars were white and still.", ""))
    assert cut.n_cut == 5 and whole.n_cut == 0 and len(cut.token_ids) == cut.model.config.n_context
    assert len(cut.tokenizer.encode("Ben lost his kite.")) == 5 and prompt.startswith("Ben lost his kite.")
    kite = cut.tokenizer.encode(" kite")[0]
    ranks = [int((there.trace.logits[-1] > there.trace.logits[-1][kite]).sum()) for there in (cut, whole)]
    assert ranks[0] >= 10 and ranks[1] == 0 and probability(whole, " kite") > 0.7


@shows("C44")
def test_a_cosine_spreads_the_weights_and_breaks_the_prediction():
    assert PLACES["C44"]["attention_score"] == "cosine" and PLACES["C44"]["attention_scaling"] == "own"
    there, switched = opening(), opening().trace_with(Intervention(score="cosine"))
    assert score_scaling.mean_entropy(there.trace) < 0.7 and score_scaling.mean_entropy(switched) > 0.99
    before, after = there.trace.logits[-1], switched.logits[-1]
    assert stream_and_heads.effect(before, after).kl > 3 and before.argmax() != after.argmax()


@shows("B14")
def test_gelu_keeps_what_relu_would_make_zero():
    there = run(PLACES["B14"]["prompt"])
    assert there.model.config.activation == "gelu"
    block, weights = there.trace.blocks[-2], there.model.blocks[-2]          # the view opens on the last but one
    read = feed_forward_input(weights, block, there.model.config.norm)[-1]
    found = one_block.with_relu(weights, read)
    assert weights.W_1.shape == (256, 1024) and (block.mlp_post[-1] != 0).all()
    assert found.zeros == int((block.mlp_pre[-1] <= 0).sum()) > 900 and 0.3 < found.share < 0.5


@shows("A2")
@claims("attention.md", "The query is *red*, and the text goes on with *ball*. Open both ways, the model gives "
        "*ball* four times the probability. It was never trained for this: most other positions get worse.")
def test_both_ways_the_answer_leaks_in():
    there, at = opening(), int(PLACES["A2"]["position"])
    assert PLACES["A2"]["attention_mask"] == "bidirectional"
    assert there.tokens[at:at + 2] == ["·red", "·ball"] and at == experiment("attention", "leak").settings["position"]
    both = there.trace_with(Intervention(mask="bidirectional"))
    n = torch.arange(len(there.token_ids) - 1)
    own, leaking = (trace.probs[n, torch.tensor(there.token_ids[1:])] for trace in (there.trace, both))
    assert 3.5 < leaking[at] / own[at] < 4.5 and (leaking < own).double().mean() > 0.6
    assert max(float(block.pattern[:, at, at + 1].max()) for block in both.blocks) > 0.3


@shows("A10", "A14", "D10")
@pytest.mark.parametrize("idea, token", [("A10", "·ball"), ("A14", "·mat"), ("D10", "·Mia")])
def test_the_whole_model_ends_on_a_word_that_makes_sense(idea: str, token: str):
    said, p = says(run(PLACES[idea]["prompt"]))
    assert said == token and p > 0.5


@shows("A15")
def test_the_name_that_was_drawn_is_used_again():
    there = run(PLACES["A15"]["prompt"])
    written = [step.token_id for step in generate(there.model, there.token_ids, SamplingConfig(top_k=40, top_p=0.9),
                                                  Dice(int(PLACES["A15"]["seed"]), len(there.token_ids)).numbers(),
                                                  40)]
    assert there.tokenizer.visible(written[0])[1:].istitle() and written.count(written[0]) > 1


@shows("A20", "A22")
def test_rare_words_are_drawn_often_and_top_p_follows_the_context():
    assert PLACES["A20"]["next_token_panel"] == "s1_draws" and PLACES["A20"]["xi"] == "0.9"
    plain = truncate(run(PLACES["A20"]["prompt"]).logits(), SamplingConfig())
    drawn = int((plain.interval_ends <= 0.9).sum())
    assert drawn > 35 and plain.probs[35:].sum() > 0.3 and plain.probs[35] < 0.01
    assert PLACES["A22"]["next_token_panel"].startswith("k10_p0.9_")
    sure, unsure = (run(prose.load("next_token").label(name)).logits() for name in ("peaked_prompt", "flat_prompt"))
    kept = [truncate(logits, SamplingConfig(top_p=0.9)).n_kept for logits in (sure, unsure)]
    assert kept[0] < 10 < kept[1]


@shows("A24")
def test_the_true_history_is_given_whatever_it_would_have_said():
    there = run(PLACES["A24"]["prompt"])
    found = teacher_forcing.predict(there.trace.logits, there.token_ids)
    at = there.tokens.index("·little")
    assert says(there, at)[0] == "·girl" and found.losses[at] > 8 and max(found.losses[at + 1:]) < 1


@shows("A30")
def test_a_false_answer_is_given_with_confidence():
    settings = PLACES["A30"]
    relation = next(one for one in teaching_text.relations() if one["name"] == settings["limits_relation"])
    subject = facts.subjects(relation, "untaught")[int(settings["limits_untaught"])]
    asked = facts.exercise_of("untaught", "taught", relation, *subject)
    [(_, claim)] = confidence.claims(run("").model, run("").tokenizer, [asked])
    assert claim.text.strip() == "William Shakespeare" and asked.answer.strip() == "Arthur Miller"
    assert not claim.right and claim.p > 0.9 > LIMITS.each["threshold"].default


@shows("A31")
def test_one_changed_word_shifts_the_distribution():
    [(boy, girl)] = words.listed(LIMITS.each["pair"].default, [LIMITS.each["sentence"].default]).texts
    first, second = run(boy), run(girl)
    assert probability(second, " dress") > 3 * probability(first, " dress")
    assert probability(second, " doll") > 1.5 * probability(first, " doll")
    assert probability(second, " truck") < 0.8 * probability(first, " truck")


@shows("B1")
def test_the_better_order_is_the_more_probable_text():
    texts = prose.load("language_models").section("sentences").splitlines()
    totals = [one.total for one in language_models.scored(opening(), tuple(texts), "")]
    assert texts[0] == "the mouse ate the cheese" and totals == sorted(totals, reverse=True)


@shows("B2")
def test_a_prompt_has_many_futures():
    there = run(PLACES["B2"]["prompt"])
    tree = futures(there.model, there.token_ids, SamplingConfig(top_k=40, top_p=0.9), 1, futures_view.N, 4)
    assert len(futures_view.ends(tree)) > 60 and 0.3 < futures_view.mass(tree) < 0.9


@shows("B9")
def test_both_sides_fill_a_blank():
    found = filled(ARCHITECTURES.each["blank_text"].default)
    [position] = found.blanks
    assert int(found.p_encoder(position).argmax()) == found.true_id(position)
    assert found.p_encoder(position).max() > found.p_decoder(position)[found.true_id(position)]


@shows("B11", "C9")
def test_cross_attention_aligns_a_date():
    model, text = cache.shared_model("translator", "cpu"), ARCHITECTURES.each["translate_text"].default
    found = translate_work.translate(model, tuple(model.tokenizer.encode(text)))
    assert found.text == "1984-03-21" and min(probabilities(text)[1]) > 0.99
    cross = translate_work.patterns(found.trace)["cross"][ARCHITECTURES.each["translate_block"].default].mean(0)
    aligned = [found.source_tokens[int(row.argmax())] for row in cross]
    assert [aligned[i] for i in (1, 2, 3, 6, 8, 9)] == ["·nineteen", "·eighty", "four", "·march", "·twenty", "first"]


@shows("C11")
def test_without_the_path_nothing_is_left_and_tokens_become_alike():
    whole, cut = opening().trace, opening().trace_with(CUT)
    alike = [float(stream_and_heads.mean_pairwise_cosine(stream_and_heads.stream(trace))[-1]) for trace in (whole, cut)]
    assert stream_and_heads.effect(whole.logits[-1], cut.logits[-1]).kl > 2 and alike[1] > alike[0] + 0.1


@shows("C15")
def test_the_mask_has_keys_to_take_away():
    settings = PLACES["C15"]
    there, at = run(settings["prompt"]), int(settings["position"])
    row, allowed = there.trace.blocks[0].pattern[3, at], there.trace.blocks[0].allowed[at]
    assert not allowed[at + 1:].any() and len(row) - at > 4 and (row[at + 1:] == 0).all()


@shows("D14")
def test_some_meaning_needs_structure_and_some_does_not():
    share = {(test, reading): word_order.score(word_order.answered(
        run("").model, run("").tokenizer, word_order.items(test, 40, 1), reading, 1)).share
        for test in ("agreement", "carried", "roles") for reading in ("whole", "shuffled")}
    assert share["agreement", "whole"] > 0.95 and share["agreement", "shuffled"] < 0.5
    assert min(share["carried", reading] for reading in ("whole", "shuffled")) > 0.95
    assert 0.3 < share["roles", "whole"] < 0.7                     # who did what to whom is a coin's toss for it
