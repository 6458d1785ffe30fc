"""What the steps of the class show with `stories` and `stories-small`."""
import torch

from core.analysis.stream_and_heads import head_statistics
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from pages.generation import strategies
from tests.claims import CLAIMS, claims
from tests.claims.passes import experiment, prompt_of, run


@claims("course.md", "Into how many pieces will the tokenizer cut this sentence? More than words, or as many?",
        "Common words grow whole; the space belongs to the word after it.")
def test_a_text_becomes_pieces():
    there = prompt_of(experiment("course", "tokens"))
    text = experiment("course", "tokens").settings["prompt"]
    assert there.tokens[1:] == ["The", *(f"·{word}" for word in text.rstrip(".").split()[1:]), "."]


@claims("course.md", "Which word will lie nearest to “hot”? Something warm, or something else?",
        "Its opposite is near.",
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


@claims("course.md", "Each point is a head. The highest one looks at what followed the last time this word stood "
        "there.")
def test_the_highest_point_is_an_induction_head():
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


@claims("course.md", "The feed-forward part widens 256 numbers to 1024, lets few of the negative ones through, and "
        "goes back to 256.")
def test_the_widths_of_the_feed_forward_part():
    config = run("").model.config
    assert (config.d_model, config.d_ff, config.activation, config.gated) == (256, 1024, "gelu", False)
