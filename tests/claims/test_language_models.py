"""Claims of Language models about the probabilities of `stories`."""
from functools import cache as kept

import numpy as np
import pytest

from core.app.lesson.lesson import Lesson
from core.base import prose, tables
from core.language import cipher, shannon
from pages.language_models import compress as coder
from pages.language_models import correct, decipher, exercises, guess, shared, tasks
from tests.claims import claims, shows
from tests.claims.passes import experiment, opening, probability, prompt_of, run

pytestmark = pytest.mark.long

WORDS = prose.load("language_models")
PAGE = Lesson("language_models", WORDS, prose.load("app"))


def scored(*texts: str, context: str | None = "") -> list[shared.Scored]:
    return shared.scored(opening(), texts, context)


@kept
def n_right(task: str, shots: int = 0) -> tuple[int, int]:
    """How many of a task's exercises are right, and of how many."""
    found = [one for part in exercises.results(opening(), task, shots) for one in part]
    return sum(one.right for one in found), len(found)


def written(task: str, text: str) -> str:
    """The page's answer of the model to the reader's own case."""
    return tasks._case(opening(), task, exercises.prompt_of(task, text)).answer


# ---- sentences -------------------------------------------------------------------------------------------------------


@claims("language_models.md", "so a mouse that eats cheese surprises it less than a stock market")
def test_a_mouse_is_less_strange_than_a_stock_market():
    mouse, market = scored("The mouse ate the cheese.", "The stock market fell again.")
    assert mouse.total_bits < market.total_bits - 10 and mouse.rate < market.rate - 1


@claims("language_models.md", "Each sentence is now read after the prompt. Switch *After the prompt* off and on, and "
        "see which words lose their bits.")
def test_the_prompt_takes_bits_from_its_own_words():
    sentence = WORDS.section("sentences").splitlines()[0]
    before = prompt_of(experiment("language_models", "mouse")).text
    (alone,), (after,) = scored(sentence), scored(sentence, context=before)
    lost = dict(zip(alone.tokens, alone.bits - after.bits))
    assert min(lost["·mouse"], lost["·cheese"]) > 5 and max(after.bits[1], after.bits[-1]) < 1 and lost["·ate"] < 3


@claims("language_models.md", "The model looks back and goes on with what came after these words before: a "
        "repetition is easy to predict.")
def test_a_second_reading_is_cheaper():
    for sentence in WORDS.section("sentences").splitlines():
        (first,), (second,) = scored(sentence), scored(sentence, context=f" {sentence}")
        assert second.total_bits < 0.75 * first.total_bits


# ---- guessing and compressing ----------------------------------------------------------------------------------------


@claims("language_models.md", "the numbers of your guesses are enough to restore it, and most of them are 1",
        "Once a word has begun, there are few ways to go on.")
def test_most_letters_are_found_at_once():
    for passage in WORDS.section("passages").splitlines():
        game, first = guess.game_of(opening(), passage), guess.given(passage)
        assert np.mean(np.array(game.guesses[first:]) == 1) > 0.6
        starts = [i for i, c in enumerate(passage) if c.isalpha() and (not i or not passage[i - 1].isalpha())]
        inside = [i for i, c in enumerate(passage) if c.isalpha() and i not in starts]
        assert game.bits[starts].mean() > 1.5 * game.bits[inside].mean()


@shows("D31")
@claims("language_models.md", "What a model has read and its parameters, nearly six million in `stories`, are "
        "not counted in these bits. On texts unlike its stories `stories` loses most of its lead: try "
        "one.",
        "Where the interval is a thin line, the model is surprised, and the token takes many bits. A story shrinks to "
        "a fraction of its size; of this text about half is left, and gzip makes it longer.",
        "that the text ends here is news as well, and the model finds it improbable.")
def test_a_text_unlike_the_stories_shrinks_to_half():
    assert 5.5e6 < opening().model.n_parameters < 6e6
    there, left = prompt_of(experiment("language_models", "compress")), {}
    for text in (opening().text, there.text):
        coding, n = coder.coded(PAGE, opening(), text), 8 * len(text.encode())
        sizes = {one["name"]: one["bits"] for one in coder._compared(PAGE, coding, text.encode())}
        left[text], gzip = len(coding.bits) / n, sizes[WORDS.label("format_gzip")] / n
        assert gzip > 1
    assert left[opening().text] < 0.15 and 0.45 < left[there.text] < 0.6
    assert run("").trace.probs[-1, opening().tokenizer.end_of_text] < 0.01


# ---- a wrong letter --------------------------------------------------------------------------------------------------


@shows("D32")
@claims("language_models.md", "The wrong letter usually breaks its word into several short tokens, each with many "
        "bits; the right letter makes the word whole again.", "A text with a slip in it is improbable, but most other "
        "letters make it worse still.")
def test_the_right_letter_makes_the_word_whole():
    garbled = WORDS.label("garbled_default")
    given, *edits = scored(garbled, *(text for _, text in correct.changed(garbled)), context=None)
    best = max(edits, key=lambda edit: edit.total)
    assert best.text == "the mouse ate the cheese" and best.tokens[-1] == "·cheese"
    assert len(given.tokens) == len(best.tokens) + 2 and min(given.bits[-3:]) > 5
    assert np.mean([edit.total > given.total for edit in edits]) < 0.1


# ---- a cipher --------------------------------------------------------------------------------------------------------


@shows("D2")
@claims("language_models.md", "In a short text the counts of single letters are too uncertain for that.",
        "the model reads the most promising swaps as whole texts: it knows words, so it finds the rare letters "
        "that no count can settle.", "Of a few hundred letters only the first ranks are reliable; pairs and triples "
        "tell the others apart.", "in each round it reads 32 likely swaps of two letters as whole texts, and the best "
        "one stays.")
def test_the_model_finds_the_rare_letters():
    text = shannon.playable(WORDS.section("secret"))[:160].strip()
    task = decipher.Task(cipher.encipher(text, cipher.random_key(1)), text)
    keys = {by: decipher._walk(PAGE, opening(), task, by)[0].keys[-1] for by in ("letters", "triples")}
    rounds = list(cipher.repairs(opening().loaded.runner, opening().tokenizer, task.ciphertext, keys["triples"],
                                 cipher.N_CANDIDATES))
    right = {by: decipher.right(task, key) for by, key in (keys | {"model": rounds[-1].key}).items()}
    assert cipher.N_CANDIDATES == 32
    assert right["letters"] < 0.3 * task.n_letters < 0.8 * task.n_letters < right["triples"] < right["model"]
    assert right["model"] == task.n_letters


@claims("language_models.md", "Counted over 36 million letters and spaces")
def test_letters_were_counted_over_so_many():
    assert round(np.load(cipher.TRIPLES).sum() / 1e6) == 36


# ---- tasks -----------------------------------------------------------------------------------------------------------


@shows("A16", "A17", "A18")
@claims("language_models.md", "It was taught these very templates", "Sentences that were kept from the training of "
        "`stories`, in the template that it was taught.", "Facts that `stories` was taught, asked in the way it was "
        "taught.", "Prompts that were kept from the training of `stories`.",
        "Stories kept from the training of `stories`, of plots that it was taught.")
@pytest.mark.parametrize("task", ["sentiment", "questions", "opposites", "summary"])
def test_what_was_taught_is_right(task: str):
    right, n = n_right(task)
    assert right >= 0.9 * n


@claims("language_models.md", "It makes up facts that it was never taught, without saying so.",
        "It always goes on as its texts would, and has no way to say that it does not know.")
def test_facts_that_were_not_taught_are_made_up():
    right, n = n_right("untaught")
    assert right < n / 4
    said = [one.said for part in exercises.results(opening(), "untaught", 0) for one in part]
    said += [written(task, WORDS.label(f"made_up_{task}")) for task in exercises.SIZES if task not in exercises.CLASSES]
    assert all(answer.strip() and "know" not in answer for answer in said)


@claims("language_models.md", "Labels that only the solved examples explain (A and B) remain a coin toss for it: "
        "learning from the prompt alone is what large models can do.", "Four solved examples stand in the prompt, and "
        "still the answers are a coin toss. Now choose *Sentiment*: the same sentences, with the labels that the model "
        "was taught.")
def test_new_labels_stay_a_coins_toss():
    assert experiment("language_models", "tasks").settings["language_models_shots"] == "4"
    for shots in (0, 1, 2, 4):
        right, n = n_right("labels", shots)
        assert 0.25 * n < right < 0.75 * n
    assert n_right("sentiment") == (n, n)


@claims("language_models.md", "It summarises stories like those it knows, and nothing else.",
        "own_sentiment: I like Jackie Chan", "own_questions: Who wrote the book \"The Origin of Species\"?",
        "own_untaught: Who wrote the book \"Robinson Crusoe\"?", "own_opposites: hot",
        "own_summary: Anna had a yellow kite. One day she lost it in the forest. Anna was sad. Then an old man found "
        "the kite and gave it back.")
def test_the_page_opens_with_cases_that_show_it():
    own = {task: written(task, WORDS.label(f"own_{task}")) for task in exercises.SIZES}
    assert own["sentiment"] == " positive" and own["questions"] == " Charles Darwin" and own["opposites"] == " cold"
    assert own["summary"] == " Anna lost a kite in the forest and an old man found it."
    assert "Defoe" not in own["untaught"]
    other = written("summary", "Plants turn light into sugar. They take in water through their roots.")
    assert not any(word in other for word in ("light", "sugar", "Plants", "plants"))


@claims("language_models.md", "a_default: ball", "b_default: mother")
def test_what_was_lost_is_a_ball():
    ball, mother = (probability(opening(), f" {WORDS.label(name)}") for name in ("a_default", "b_default"))
    assert ball > 10 * mother


@shows("A33", "B26")
@claims("language_models.md", "`stories` gets no row right without solved examples.")
def test_a_text_is_written_given_a_prompt_and_a_table_is_not_put_into_words():
    settings = {idea.id: idea.place.settings for idea in tables.ideas()}
    assert (settings["A33"]["language_models_task"], settings["B26"]["language_models_task"]) == ("summary", "table")
    told = tasks._case(opening(), "summary", exercises.prompt_of("summary", WORDS.label("own_summary")))
    at = int(settings["A33"]["language_models_answered"])
    assert told.answer.startswith(" Anna lost a kite") and at < len(told.tokens)
    assert n_right("table")[0] == 0 and WORDS.label("own_table").startswith("name: Clowns | eatType: coffee shop")
