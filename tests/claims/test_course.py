"""Claims of the class's steps about `stories` and `stories-small`."""
import math

import torch

from core.analysis.contributions import read_lens
from core.analysis.stream_and_heads import head_statistics
from core.app.compute import cache
from core.app.teaching import class_plan
from core.app.teaching.own_class import Step
from core.base import prose
from core.language import cipher
from core.learning import tuning_texts
from core.learning.learner import TASKS
from core.learning.memory_tasks import Rewriting
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from pages.attention import averages
from pages.generation import strategies
from pages.language_models import decipher
from pages.recurrence import recorded
from pages.training import fine_tuning
from pages.training.recorded_tuning import MODEL, tuning_run
from pages.training.shared import SETTINGS
from tests.claims import CLAIMS, claims
from tests.claims.passes import experiment, prompt_of, run


@claims("course.md", "Common words grow whole; the space belongs to the word after it.")
def test_a_text_becomes_pieces():
    there = prompt_of(experiment("course", "tokens"))
    text = experiment("course", "tokens").settings["prompt"]
    assert there.tokens[1:] == ["The", *(f"·{word}" for word in text.rstrip(".").split()[1:]), "."]


@claims("course.md", "Its opposite is near.",
        "Explain why *hot* and *cold* are neighbours.")
def test_the_opposite_is_nearest():
    there = run("")
    rows = torch.nn.functional.normalize(there.model.E.detach(), dim=-1)
    [hot] = there.tokenizer.encode(f" {experiment('course', 'vectors').settings['embeddings_word']}")
    assert [there.tokenizer.visible(i) for i in (rows @ rows[hot]).topk(2).indices.tolist()] == ["·hot", "·cold"]


@claims("course.md", "the weights add up to 1, and lie on “mat”, which came after “on the” the last time, and on the "
        "very start, where a head rests that has nothing to say")
def test_one_token_looks_at_mat_and_at_the_start():
    there, settings = prompt_of(experiment("course", "attention")), experiment("course", "attention").settings
    row = there.trace.blocks[settings["layer"]].pattern[settings["head"], -1]
    assert row[there.tokens.index("·mat")] > 0.5 and row[0] > 0.25


@claims("course.md", "A head that finds this is called an induction head.")
def test_the_head_of_the_step_is_the_induction_head():
    there = prompt_of(experiment("course", "heads"))
    scores = head_statistics(there.trace).induction
    assert divmod(int(scores.argmax()), scores.shape[1]) == (4, 4) and scores.max() > 0.8
    half = len(there.token_ids) - there.token_ids[1:].index(there.token_ids[-1]) - 2
    assert there.token_ids[-5:] == there.token_ids[-5 - half:-half]          # it says everything twice


@claims("course.md", "Greedy decoding beside sampling from the same prompt: which one repeats itself, and what does "
        "the probability of the whole text say?",
        "Say why greedy decoding repeats itself.")
def test_greedy_goes_in_circles():
    one = experiment("course", "writing")
    there, seed = prompt_of(one), one.settings["seed"]
    greedy, drawn = ([step.token_id for step in generate(there.model, there.token_ids, config, seed, 60)]
                     for config in (SamplingConfig(temperature=0), SamplingConfig(top_p=0.9)))
    assert sum(strategies.repeats(greedy)) > 40 and sum(strategies.repeats(drawn)) < 10


@claims("course.md", "Move the slider from the start: noise, frequent words, phrases. Then a score that rises within a "
        "hundred steps: the head that copies.")
def test_how_it_came_to_know():
    ours, theirs = experiment("course", "learning").settings, experiment("training", "bump").settings
    assert {key: ours[key] for key in theirs if key != "training_view"} == {
        key: value for key, value in theirs.items() if key != "training_view"}      # what they show: test_training.py


# steps that show what an experiment of a lesson shows, and say of it what that says: its own test holds it
ALIKE = {"layers": ("residual_stream", "lens"), "surprise": ("training", "surprise"),
         "invented": ("limits", "invention"), "spaces": ("tokens", "hard"),
         "blank": ("architectures", "flip")}


@claims("course.md", "In the first row the guess is, almost everywhere, the input token itself.",
        "The model expects the first eight words; the ninth word alone has five times their loss.",
        "Move the threshold until no made-up answer is said. How many right ones are lost?",
        "Split at spaces makes one token of the whole sentence.",
        "From both sides not is the clear favourite; from the left alone it is one word among many.")
def test_steps_say_what_the_experiments_say_that_they_repeat():
    kept = [claim for step in ALIKE for claim in CLAIMS["course.md"] if claim in experiment("course", step).look]
    assert len(kept) == len(ALIKE)
    for step, (lesson, name) in ALIKE.items():
        ours, theirs = experiment("course", step), experiment(lesson, name)
        assert {key: ours.settings[key] for key in theirs.settings} == theirs.settings, step
        [said] = [claim for claim in kept if claim in ours.look]
        assert said.rstrip(".?") in theirs.look.replace("*", ""), step


def test_the_widths_of_the_feed_forward_part():
    config = run("").model.config
    assert (config.d_model, config.d_ff, config.activation, config.gated) == (256, 1024, "gelu", False)


def right(step: str) -> str:
    """The answer that a step of the course calls right."""
    return class_plan_steps()[step].options[int(class_plan_steps()[step].answer) - 1]


def class_plan_steps() -> dict[str, Step]:
    """The steps of all plans by their ids, as a class gets them."""
    text = prose.load("course")
    return {one.id: class_plan._step(one, 5) for one in text.entries("step")}


def test_every_step_has_one_question_with_answers_of_which_one_is_right_or_asks_for_the_next_word():
    for name, step in class_plan_steps().items():
        assert step.ask.count("?") == 1, name
        if step.options:
            assert 2 < len(step.options) < 5 and 1 <= int(step.answer) <= len(step.options), name
            assert len(set(step.options)) == len(step.options)
        else:
            assert step.answer == "next" and name == "whole"


def test_the_right_pieces_and_the_nearest_word_of_those_offered():
    there = prompt_of(experiment("course", "tokens"))
    assert len(there.tokens) - 1 == 11 and right("tokens").startswith("As many")       # ten words and a full stop
    rows = torch.nn.functional.normalize(there.model.E.detach(), dim=-1)
    words = ("hot", *class_plan_steps()["vectors"].options)
    [hot, *offered] = (there.tokenizer.encode(f" {word}")[0] for word in words)
    nearest = int((rows[offered] @ rows[hot]).argmax())
    assert class_plan_steps()["vectors"].options[nearest] == right("vectors") == "cold"


@claims("course.md", "The arcs of the last “near” lead to what followed the first one.")
def test_where_the_heads_of_the_steps_look():
    there, settings = prompt_of(experiment("course", "attention")), experiment("course", "attention").settings
    row = there.trace.blocks[settings["layer"]].pattern[settings["head"], -1]
    offered = class_plan_steps()["attention"].options
    weights = [float(sum(row[i] for i, token in enumerate(there.tokens) if token == f"·{word}")) for word in offered]
    assert offered[weights.index(max(weights))] == right("attention") == "mat"

    there, settings = prompt_of(experiment("course", "heads")), experiment("course", "heads").settings
    key = int(there.trace.blocks[settings["layer"]].pattern[settings["head"], -1].argmax())
    first = there.tokens.index("·near")
    assert key == first + 1 and right("heads") == "The word that came after the first “near”"


def test_a_higher_temperature_lowers_the_first_bar():
    logits = prompt_of(experiment("course", "next")).trace.logits[-1].double()
    one, two = (float(torch.softmax(logits / t, -1).max()) for t in (1, 2))
    assert two < one and right("next") == "It shrinks"


@claims("course.md", "What would the model say if it had to stop before the first one?")
def test_before_the_first_block_the_model_says_what_it_has_just_read():
    there = prompt_of(experiment("course", "layers"))
    guesses = read_lens(there.model, there.trace).token_ids[0]
    assert int(guesses[-1]) == there.token_ids[-1] and right("layers") == "The word that it has just read"


@claims("course.md", "How alike are the two vectors of “kind” after the last block?")
def test_one_word_in_two_contexts_ends_about_half_as_alike():
    one = experiment("course", "context").settings
    ends = [there.trace.blocks[-1].resid_post[-1] for there in (run(one["prompt"]), run(one["embeddings_other"]))]
    alike = float(torch.nn.functional.cosine_similarity(*ends, dim=0))
    assert 0.4 < alike < 0.6 and right("context").startswith("About half")


@claims("course.md", "Which word costs the model most?", "Which of these does a language model find most probable?")
def test_what_a_text_costs_the_model():
    there = prompt_of(experiment("course", "surprise"))
    costs = -torch.log_softmax(there.trace.logits, -1)[:-1].gather(1, torch.tensor(there.token_ids[1:])[:, None])[:, 0]
    assert there.tokens[1 + int(costs.argmax())] == "·ref" and right("surprise") == "refrigerator"
    texts = class_plan_steps()["sentences"].options
    assert max(texts, key=log_probability) == right("sentences") == "The mouse ate the cheese."


def log_probability(text: str) -> float:
    there = run(text)
    log_p = torch.log_softmax(there.trace.logits.double(), -1)
    return sum(float(log_p[i, token]) for i, token in enumerate(there.token_ids[1:]))


@claims("course.md", "The feed-forward part has 1,024 neurons. How many of them are above zero for one token?")
def test_few_neurons_are_above_zero():
    there = prompt_of(experiment("course", "neurons"))
    assert there.model.config.d_ff == 1024
    assert all(float((block.mlp_pre > 0).double().mean()) < 0.2 for block in there.trace.blocks)
    assert right("neurons") == "Fewer than one in five"


@claims("course.md", "With one vector for both, the scores are symmetric.")
def test_with_one_vector_for_both_two_words_give_each_other_the_same_score():
    assert class_plan_steps()["roles"].settings["attention_roles_values"] == "scores"   # weights would hide one half
    there, settings = prompt_of(experiment("course", "roles")), experiment("course", "roles").settings
    keys = there.trace.blocks[settings["layer"]].K[settings["head"]].double()
    assert torch.allclose(keys @ keys.T, (keys @ keys.T).T) and right("roles") == "The same"


def test_without_feed_forward_parts_the_tokens_become_more_alike():
    lines = averages.alike(prompt_of(experiment("course", "averages")))
    assert lines["without"][-1] > max(lines["without"][0], lines["whole"][-1])
    assert right("averages") == "They become more alike"


def test_one_vector_holds_a_long_sentence_worse_than_a_short_one():
    [record] = recorded.rewriting_run(Rewriting("copy", 12), 64, 0)[-1:]
    accuracy = record.accuracy["bottleneck"]
    assert accuracy[-1] < accuracy[0] - 0.2 and right("bottleneck") == "More and more words are wrong"


def test_a_new_model_guesses_evenly_among_so_many_pieces():
    task, size = class_plan_steps()["objective"].settings["training_task"], TASKS["grammar"]().tokenizer.vocab_size
    assert task == "grammar" and f"{size} pieces" in class_plan_steps()["objective"].ask
    assert right("objective") == f"About ln {size} = {math.log(size):.1f}"


def test_tuned_weights_answer_where_the_untuned_ones_go_on():
    """The texts before and after that the step opens with; the run is the recorded one."""
    assert set(class_plan_steps()["tuned"].settings) == {"training_view", "training_stage"}
    kind, loaded = SETTINGS.each["pairs"].default, cache.shared_model(MODEL, "cpu")
    seed = SETTINGS.each["seed"].default
    _, held_out = tuning_texts.pairs(kind, fine_tuning.N_TRAIN, fine_tuning.N_HELD_OUT, seed)
    now = [one.greedy.replace("‹end›", "").strip() for one in tuning_run("tuned", kind).examples]
    assert now == [pair.answer.strip() for pair in held_out] and right("tuned") == "They give an answer"
    first = fine_tuning.encoded(loaded, held_out)[0].prompt
    before = [step.token_id for step in generate(loaded.model, first, SamplingConfig(temperature=0), 0, 12)]
    assert len(before) == 12 and loaded.tokenizer.decode(before).split()[0] not in ("good", "bad")


def test_how_often_letters_follow_each_other_is_enough_to_read_a_secret_letter():
    """The search by triples of letters, which the step opens with, at its beginning and at its end."""
    assert set(class_plan_steps()["cipher"].settings) == {"language_models_view"}
    text = prose.load("language_models").section("secret").strip()
    task = decipher.Task(cipher.encipher(text, cipher.random_key(1)), text)
    walk = cipher.search(task.ciphertext, decipher.ORDER["triples"])
    first, last = (decipher.right(task, key) for key in (walk.keys[0], walk.keys[-1]))
    assert first < 0.3 * task.n_letters < 0.9 * task.n_letters < last
    assert right("cipher") == "How often letters follow each other"
