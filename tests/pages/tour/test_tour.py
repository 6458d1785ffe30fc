"""The tour: what each step asks and tells, by a second computation; any address, any prompt, any act."""
from __future__ import annotations

import math
from functools import cache as kept

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.app.lesson.lesson import Lesson
from core.app.state.prompts import example_prompts
from core.app.state.run import Run, read
from core.base import catalogue, prose
from core.components import addresses
from core.model.intervention import HeadEdit, Intervention
from pages.overview import map as pass_map
from pages.tour import ending, looking, pieces, steps, words
from pages.tour.shared import PLACES, STEPS, plain
from pages.tour.steps import COMPUTE, OPEN
from tests.helpers.lessons import fine, go, open_at
from tests.helpers.messages import given
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

TEXT = prose.load("tour")
PAGE = Lesson("tour", TEXT, prose.load("app"))
# an act for each step that has one
ACTS = {"finish": {"word": "doll", "sure": 60}, "write": {"added": [None] * 3},
        "change": {"word": "hat", "place": 0, "moves": True}, "pieces": {"guess": 3},
        "near": {"word": "hot", "guess": "warm"}, "numbers": {"guess": 32}, "look": {"key": 2},
        "heads": {"off": [0, 9]}, "layers": {"guess": 2}, "dice": {"guess": "more"},
        "learn": {"guess": "copy", "at": 1}}
HOSTILE = ("<img src=x onerror=alert(1)>", "", " ", "\x00", "🐶" * 80, "שלום", "a" * 10_000, "·", "**x**", "{word}")


@kept
def run(prompt: str | None = None) -> Run:
    return read(cache.shared_model("stories", "cpu"), example_prompts()[0] if prompt is None else prompt)


def filled(label: str, values: dict) -> str:
    """A label with its values; KeyError if one is missing."""
    return TEXT.label(label).format(**values)


def labels(step) -> list[str]:
    return [label for label, _ in step.said]


# ---- the page --------------------------------------------------------------------------------------------------------


def header(at: AppTest) -> dict:
    """The header sent to the tour."""
    return given(at, "tour")


@pytest.mark.parametrize("number", range(1, 13))
def test_each_step_opens_at_its_address_and_asks_before_it_tells(number: int):
    at = open_at("tour", tour=str(number))
    shown = header(at)
    assert fine(at) and shown["at"] == number and shown["named"] and shown["asks"] and shown["tells"] is None
    assert shown["said"] == [] and shown["steps"] == list(STEPS)


@pytest.mark.parametrize("written, opened", [(None, 1), ("0", 1), ("99", 12), ("-3", 1), ("x", 1), ("3.7", 3),
                                             ("<b>", 1), ("nan", 1), ("1e99", 12)])
def test_an_address_that_makes_no_sense_opens_a_step_all_the_same(written: str | None, opened: int):
    at = open_at("tour", tour=written)
    assert fine(at) and header(at)["at"] == opened and header(at)["named"] == (written is not None)


def test_a_first_visit_and_an_address_with_a_step_lead_from_the_home_page_to_the_tour_and_no_other_does():
    def leads(path: str, query: str, cookie: str = "", method: str = "GET", first_visits: bool = True) -> str | None:
        asked = {"type": "http", "path": path, "query_string": query.encode(), "method": method,
                 "headers": [(b"cookie", cookie.encode())]}
        answer = addresses.to_the_tour(asked, first_visits)
        return answer and answer.headers["location"]

    assert leads("/", "prompt=a%20b&tour=3") == leads("/", "prompt=a%20b&tour=3", "been_here=1") == (
        "./tour?prompt=a%20b&tour=3")
    assert leads("/", "") == "./tour"
    assert [leads("/", "", "been_here=1"), leads("/", "", first_visits=False), leads("/", "prompt=tour"),
            leads("/heads", ""), leads("/heads", "tour=3"), leads("/", "tour=3", method="POST")] == [None] * 6


@pytest.mark.parametrize(("entrance", "lesson"), [("home", "overview"), ("write", "generation"), ("trust", "limits")])
def test_who_leaves_the_tour_sees_the_picture_and_not_its_question(entrance: str, lesson: str):
    at = open_at("tour", ask="true")
    at.session_state[OPEN] = entrance
    at.run()
    assert fine(at) and at.session_state["page"] == lesson and not is_asked(at)
    assert is_asked(open_at(lesson, ask="true"))


@pytest.mark.parametrize(("number", "entrance", "met"), [(12, "home", True), (12, "write", True), (1, "home", False)])
def test_who_leaves_the_tour_by_its_end_meets_its_steps_in_the_overview_and_who_skips_it_does_not(
        number: int, entrance: str, met: bool):
    at = open_at("tour", tour=str(number))
    at.session_state[OPEN] = entrance
    at.run()
    at = at if entrance == "home" else go(at, "overview").run()
    shown = given(at, "overview_map")["met"]
    assert {part: one["step"] for part, one in shown.items()} == (
        {part: STEPS.index(step) + 1 for part, step in PLACES.items()} if met else {})
    assert all(f"tour={one['step']}" in one["href"] for one in shown.values())


def test_the_overview_without_the_tour_has_no_steps_and_a_press_on_one_leads_back_to_it():
    at = open_at("overview")
    assert given(at, "overview_map")["met"] == {}
    at.session_state[pass_map.STEP] = 7
    at.run()
    assert at.session_state["page"] == "tour" and header(at)["at"] == 7


def is_asked(at: AppTest) -> bool:
    """Whether the question stands in place of the picture."""
    return any(given(at, "prediction")["mode"] == "ask" for element in at.get("bidi_component")
               if element.proto.component_name == "prediction")


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_every_step_bears_every_prompt_before_and_after_its_act(prompt: str | None):
    there = run(prompt)
    for name in ACTS:
        before, after = (COMPUTE[name](PAGE, there, done) for done in ({}, ACTS))
        assert before.tells is None and not before.said, name
        assert (after.tells is None) == (after.asks is None), name
        for label, values in after.said:
            filled(label, values)


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_map_leads_on_with_every_prompt(prompt: str | None):
    at = open_at("tour", tour="12", prompt=prompt)
    assert fine(at) and [way["href"].partition("?")[0] for way in header(at)["asks"]["ways"]] == [
        "./generation", "./", "./training", "./limits"]


@pytest.mark.parametrize("written", HOSTILE)
def test_what_is_typed_into_a_field_breaks_no_step(written: str):
    done = {"finish": {"word": written, "sure": written},
            "change": {"word": written, "place": written, "moves": written},
            "near": {"word": written, "guess": written}, "numbers": {"guess": written}, "pieces": {"guess": written},
            "look": {"key": written}, "layers": {"guess": written}, "dice": {"guess": written},
            "learn": {"guess": written, "at": written}}
    for name in done:
        for label, values in COMPUTE[name](PAGE, run(), done).said:
            filled(label, values)


def test_every_text_that_the_browser_asks_for_is_there():
    for name in STEPS:
        for part in ("name", "title", "sentence", "symbol"):
            assert TEXT.label(f"{part}_{name}")
    entrances = TEXT.entries("entrance")
    assert [way.id for way in entrances] == ["write", "look", "learn", "trust"]
    for way in entrances:
        assert way.settings["lesson"] in {entry.id for entry in catalogue.existing()} and way.title.endswith("?")


# ---- steps 1 to 3 ----------------------------------------------------------------------------------------------------


def test_a_word_of_several_tokens_has_the_product_of_their_probabilities():
    there, ids = run(), run().tokenizer.encode(" umbrella")
    assert len(ids) > 1
    p, so_far = 1.0, there.token_ids
    for token in ids:
        p *= float(there.trace_of(so_far).probs[-1, token])
        so_far = (*so_far, token)
    assert math.isclose(words.probability_of(there, "umbrella"), p, rel_tol=1e-4)


def test_the_readers_word_stands_beside_the_models():
    step = words.finish(PAGE, run(), {"finish": {"word": "doll", "sure": 60}})
    [own] = [row for row in step.tells["rows"] if "sure" in row]
    p = float(run().trace.probs[-1, run().tokenizer.encode(" doll")[0]])
    assert own["word"] == "doll" and own["sure"] == 0.6 and math.isclose(own["p"], p, rel_tol=1e-5)
    assert labels(step) == ["told_finish"]
    top = plain(run().tokenizer.visible(int(run().trace.logits[-1].argmax())), "r")
    assert labels(words.finish(PAGE, run(), {"finish": {"word": top, "sure": 9}})) == ["told_finish_same"]


def test_writing_takes_the_readers_token_and_throws_the_same_dice_each_time():
    there = run()
    [doll] = there.tokenizer.encode(" doll")
    first, second = (words.write(PAGE, there, {"write": {"added": [doll, None, None]}}) for _ in range(2))
    assert first.tells == second.tells and first.tells["added"].startswith(" doll")
    whole = read(there.loaded, there.text + first.tells["added"])
    assert math.isclose(first.tells["rows"][0]["p"], float(whole.trace.probs[-1].max()), rel_tol=1e-4)
    ended = words.write(PAGE, there, {"write": {"added": [doll, there.tokenizer.end_of_text, None]}})
    assert ended.tells["full"] and labels(ended) == ["told_write_ended"] and ended.tells["added"] == " doll"


def test_a_changed_word_is_told_with_both_texts_own_passes():
    there = run()
    place = words.change(PAGE, there, {}).asks["place"]
    step = words.change(PAGE, there, {"change": {"word": "hat", "place": place, "moves": True}})
    assert [piece for piece, is_word in step.asks["pieces"] if is_word][place] == "ball"
    after = read(there.loaded, there.text.replace("ball", "hat"))
    for row in step.tells["rows"]:
        [token] = there.tokenizer.encode(f" {row['word']}")
        assert math.isclose(row["p"], float(after.trace.probs[-1, token]), rel_tol=1e-4)
        assert math.isclose(row["before"], float(there.trace.probs[-1, token]), rel_tol=1e-4)
    same = words.change(PAGE, there, {"change": {"word": "ball", "place": place, "moves": True}})
    assert labels(same) == ["told_change_wrong", "told_change_stays", "told_change_little"]
    assert labels(step)[0] == "told_change_right"
    assert words.change(PAGE, there, {"change": {"word": "hat", "place": place}}).tells is None


def test_the_sentence_of_the_words_to_pick_from_is_the_prompt():
    for prompt in (None, PROMPTS["HTML"], PROMPTS["right to left"], "Don’t stop, o'clock"):
        step = words.change(PAGE, run(prompt), {})
        assert "".join(piece for piece, _ in step.asks["pieces"]) == run(prompt).text


# ---- steps 4 to 6 ----------------------------------------------------------------------------------------------------


def test_the_signs_become_the_tokens():
    frames, n_rules = pieces.frames_of(run())
    assert sum(frames[-1], []) == run().tokens[1:] and n_rules > 10
    assert sum(frames[0], []) == [run().tokenizer.visible(run().tokenizer.id_of(bytes([b])))
                                  for b in run().text.encode()]
    sizes = [sum(map(len, frame)) for frame in frames]
    assert sizes == sorted(sizes, reverse=True) and len(frames) <= pieces.MOST_FRAMES


def test_neighbours_are_those_of_a_plain_cosine():
    E = run().model.E.double()
    [hot] = run().tokenizer.encode(" hot")
    cosines = torch.nn.functional.cosine_similarity(E, E[hot][None], dim=-1)
    cosines[hot] = -2
    step = pieces.near(PAGE, run(), {"near": {"word": "hot", "guess": "king"}})
    around = step.tells["around"]
    order = cosines.argsort(descending=True)
    assert [one["word"] for one in around[:7]] == [run().tokenizer.visible(int(i)) for i in order[:7]]
    assert np.allclose([one["near"] for one in around[:7]], cosines[order[:7]].tolist(), atol=1e-5)
    told = dict(step.said)["told_near"]
    assert int(order[told["rank"] - 1]) == run().tokenizer.encode(" king")[0] and around[-1]["mine"]


def test_the_list_of_numbers_is_the_words_own_row():
    step = pieces.numbers(PAGE, run(), {"numbers": {"guess": 256}, "near": {"word": "king", "guess": "x"}})
    [king] = run().tokenizer.encode(" king")
    assert np.array_equal(step.arrays["row_0"], run().model.E[king].numpy())
    assert labels(step)[0] == "told_numbers_same" and step.asks["options"].count(256) == 1


def test_a_word_with_a_capital_letter_counts_as_the_piece_that_fits():
    small, large = (words.finish(PAGE, run(), {"finish": {"word": word, "sure": 50}}) for word in ("ball", "Ball"))
    assert large.tells == small.tells and labels(large) == [*labels(small), "told_finish_small"]
    name = words.finish(PAGE, run("Tom and"), {"finish": {"word": "Mia", "sure": 50}})
    assert "told_finish_small" not in labels(name)


@pytest.mark.parametrize(("prompt", "foreign"), [
    ("Die Katze saß auf der Matte. Der Hund saß auf der", True), ("El gato se sentó en la", True),
    *((prompt, False) for prompt in example_prompts())])
def test_a_prompt_of_no_english_story_is_told_too(prompt: str, foreign: bool):
    top = plain(run(prompt).tokenizer.visible(int(run(prompt).trace.probs[-1].argmax())), "")
    said = labels(words.finish(PAGE, run(prompt), {"finish": {"word": top, "sure": 50}}))
    assert ("told_finish_foreign" in said) is foreign


def test_a_word_that_is_cut_has_no_neighbours_and_others_are_offered():
    step = pieces.near(PAGE, run(), {"near": {"word": "Hund", "guess": "Katze"}})
    assert step.tells is None and labels(step) == ["told_near_cut"] and len(step.asks["offers"]) == 3
    assert all(len(run().tokenizer.encode(f" {word}")) == 1 for word in step.asks["offers"])
    guess = pieces.near(PAGE, run(), {"near": {"word": "hot", "guess": "Katze"}})
    assert guess.tells and labels(guess) == ["told_near_guess_cut"]
    assert "." in guess.values["value"] and len(guess.values["value"]) <= 5


@pytest.mark.parametrize("word", ["Puppe", "мяч", "球", "ball", "way"])
def test_a_word_of_no_english_story_is_told_why(word: str):
    step = words.finish(PAGE, run(), {"finish": {"word": word, "sure": 50}})
    assert ("told_finish_foreign" in labels(step)) is (word not in ("ball", "way"))


def test_the_bars_of_a_changed_word_stand_in_falling_order():
    rows = words.change(PAGE, run(), {"change": {"word": "hat", "place": 12, "moves": True}}).tells["rows"]
    assert [row["p"] for row in rows] == sorted((row["p"] for row in rows), reverse=True)


# ---- steps 7 to 9 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", example_prompts())
def test_the_head_that_is_met_looks_at_a_word_of_the_text(prompt: str):
    layer, head = looking.telling_head(run(prompt))
    weights = run(prompt).trace.blocks[layer].pattern[head, -1]
    assert 0 < int(weights.argmax()) < len(weights) - 1
    step = looking.look(PAGE, run(prompt), {"look": {"key": int(weights.argmax())}})
    assert labels(step)[0] == "told_look_same" and np.isclose(sum(step.tells["weights"]), 1, atol=1e-4)


def test_heads_that_are_switched_off_are_off():
    step = looking.heads(PAGE, run(), {"heads": {"off": [0, 46]}})
    probs = run().trace_with(Intervention(heads=(HeadEdit(0, 0), HeadEdit(5, 6)))).probs[-1]
    assert math.isclose(step.tells["rows"][0]["p"], float(probs[int(run().trace.probs[-1].argmax())]), rel_tol=1e-5)
    every = looking.heads(PAGE, run(), {"heads": {"off": [*range(48), 48, -1]}})
    assert len(every.tells["off"]) == 48


def test_the_wall_holds_every_heads_pattern():
    side, tiles = looking.wall_of(run())
    assert side == 26 and tiles.size == 48 * side * side
    own = run().trace.blocks[5].pattern[6]
    assert np.allclose((tiles.reshape(48, side, side)[46] / 255.0) ** 2, own.numpy(), atol=0.005)
    side, tiles = looking.wall_of(run(PROMPTS["256 tokens"]))
    assert side < 256 and tiles.size <= looking.MOST_TILE_CELLS


def test_the_layers_are_the_lenss_and_end_at_the_models_own_word():
    top = run().trace.probs[-1].max(-1)
    leaders, chances = looking.lens_of(run())
    assert len(leaders) == len(chances) == 7 and leaders[-1] == int(top.indices)
    assert math.isclose(chances[-1], float(top.values), rel_tol=1e-4) and max(chances[:3]) < 0.05


def test_the_layers_are_asked_of_a_sentence_in_which_the_word_comes_early_and_the_own_one_is_told():
    other, early = run(TEXT.label("text_layers")), run("Once upon a")
    shown = looking.layers(PAGE, run(), {"layers": {"guess": 3}})
    leaders, chances = looking.lens_of(other)
    first = dict(shown.said)["told_layers_from"]["first"]
    assert shown.asks["text"] == other.text and shown.asks["variant"] == "other" and first in (3, 4)
    assert set(leaders[first:]) == {leaders[-1]} and leaders[first - 1] != leaders[-1]
    assert [rung["p"] for rung in shown.tells["rungs"]] == chances and chances == sorted(chances)
    assert labels(shown) == ["told_layers_right", "told_layers_from", "told_layers_repeats", "told_layers_own"]
    assert leaders[0] == other.token_ids[-1] and looking.lens_of(run())[0][-2] != looking.lens_of(run())[0][-1]
    own = looking.layers(PAGE, early, {"layers": {"guess": 0}})
    assert "text" not in own.asks and "told_layers_own" not in labels(own) and labels(own)[0] == "told_layers_wrong"


@pytest.mark.parametrize(("leaders", "said"), [([7, 8, 7, 8, 7, 8, 9], "end"), ([9] * 7, "start"),
                                               ([7, 7, 7, 9, 9, 9, 9], "from")])
def test_what_is_said_of_the_layers_is_true_where_only_the_last_decides_and_where_none_does(
        leaders: list[int], said: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(looking, "lens_of", lambda run: (leaders, [0.1] * 7))
    monkeypatch.setattr(looking, "told_early", lambda page, run: run)
    step = looking.layers(PAGE, run(), {"layers": {"guess": 1}})
    assert f"told_layers_{said}" in labels(step) and ("told_layers_changes" in labels(step)) is (said == "end")


# ---- steps 10 to 12 --------------------------------------------------------------------------------------------------


def test_the_dice_get_the_logits_in_falling_order_with_their_words():
    step = ending.dice(PAGE, run(), {})
    logits = step.arrays["logits"]
    assert (np.diff(logits) <= 0).all() and len(step.asks["names"]) == len(logits) == run().tokenizer.vocab_size
    assert step.asks["names"][0] == step.asks["top"]


def test_the_moments_are_a_models_own_at_its_steps():
    moments = ending.moments_of(run(), "stories-small")
    assert moments[0]["step"] == 0 and moments[-1]["step"] == cache.moments("stories-small")[-1].step
    past = read(cache.shared_model("stories-small@256", "cpu"), run().text)
    [shown] = [moment for moment in moments if moment["step"] == 256]
    assert math.isclose(shown["rows"][0]["p"], float(past.trace.probs[-1].max()), rel_tol=1e-5)


def test_what_it_writes_first_is_read_off_the_samples_that_were_kept():
    step, few = ending.repeated_by(run(), "stories-small")
    samples = {moment.step: moment.sample for moment in cache.moments("stories-small")}
    later = min(moment["step"] for moment in ending.moments_of(run(), "stories-small") if moment["step"] > step)
    assert set(samples[step].split()) == set(few) and len(few) <= 3 < len(set(samples[later].split()))
    for guess, label in (("frequent", "told_learn_right"), ("copy", "told_learn_wrong")):
        told = ending.learn(PAGE, run(), {"learn": {"guess": guess, "at": 0}})
        assert labels(told) == [label, "told_learn_on"] and f"after {step} steps" in filled(*told.said[0])
    assert ending.learn(PAGE, run(), {"learn": {"at": 1}}).tells is None
    [(_, counted)] = steps.right_guesses(PAGE, run(), {"learn": {"guess": "frequent", "at": 2}})
    assert (counted["right"], counted["n"]) == (1, 1)


def test_the_pieces_speak_of_the_mark_that_is_read_before_them():
    step = pieces.pieces(PAGE, run(), {"pieces": {"guess": 3}})
    assert dict(step.said)["told_pieces_start"]["n"] == len(run().token_ids) - len(run().tokenizer.begin)


def test_a_step_that_needs_a_sentence_offers_some_and_takes_the_pressed_one():
    at = open_at("tour", tour="7", prompt="Hello")
    shown = header(at)
    assert shown["asks"] is None and list(shown["sentences"]) == list(example_prompts()[:3])
    at.session_state[steps.PROMPT] = shown["sentences"][1]
    at.run()
    assert fine(at) and at.session_state["prompt"] == shown["sentences"][1] and header(at)["asks"]


def test_at_the_end_the_right_guesses_are_counted():
    said = steps.right_guesses(PAGE, run(), {})
    assert said == []
    d, top = run().model.config.d_model, plain(run().tokenizer.visible(int(run().trace.probs[-1].argmax())), "")
    done = {"finish": {"word": top, "sure": 70}, "numbers": {"guess": d}, "dice": {"guess": "more"}}
    [(label, told)] = steps.right_guesses(PAGE, run(), done)
    assert label == "told_map" and (told["right"], told["n"], told["sure"]) == (2, 3, {"share": 0.7})
    [(label, told)] = steps.right_guesses(PAGE, run(), {"dice": {"guess": "less"}})
    assert label == "told_map_unsure" and (told["right"], told["n"]) == (1, 1)


def test_what_the_browser_remembers_is_taken_up_once_and_hostile_acts_are_not():
    done = {"dice": {"guess": "less"}}
    steps.take_up(done, {"dice": {"guess": "more"}, "numbers": {"guess": 256}, "none": {}, "near": 3})
    assert done == {"dice": {"guess": "less"}, "numbers": {"guess": 256}}
    steps.take_up(done, ["near"])
    assert len(done) == 2


def test_an_entrance_that_does_not_exist_leads_home():
    assert ending.place(PAGE, run(), "<b>") == (catalogue.HOME, {})
    lesson, settings = ending.place(PAGE, run(), "look")
    layer, head = looking.telling_head(run())
    assert lesson == "overview" and (settings["layer"], settings["head"]) == (layer, head)
    assert settings["overview_at"] == f"head.{layer}.{head}"
