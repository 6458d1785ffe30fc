"""The finder's entries: all there is, each once, at a place that makes sense."""
from __future__ import annotations

import json
import urllib.parse
from collections import Counter

from core.base import catalogue, finder, prose, tables
from core.base.tables import Place
from tests.helpers.javascript import evaluate
from tests.helpers.lessons import fine, open_at
from tests.helpers.places import nonsense

EVERYTHING = tuple(finder.everything())
SENT = json.loads(finder.answer({}))
LARGEST = 120_000           # bytes that a browser loads when the field is first opened
QUESTIONS = """
why is temperature called so = term temperature
how do I switch off a head = view heads change, try heads knockout
kv cache = view generation cache, term KV cache
what is a token? = term token
why does it make things up = view limits facts, term hallucination
hallucination = term hallucination, view limits facts
does order matter = view positions symmetry
what is softmax = term softmax
how did it learn = lesson training, view training live
what is attention = term attention, lesson attention
positional encoding = term positional encoding, view positions waves, view positions rotary
rope = view positions rotary
chatgpt = term chat model, view training tuning
How does ChatGPT work? = term chat model, view training tuning, view training rlhf
gpt-4 = view architectures record
overfitting = term overfitting
padding = term padding, view training packing
bank = view embeddings contexts
same word with two meanings = view embeddings contexts
perplexity = term perplexity
induction = term induction head, try heads induction
can it count = view tokens merges, view tokens methods
how many r in strawberry = view tokens merges
bert = view architectures blank, term encoder
encoder vs decoder = view architectures kinds
whats an embedding = term embedding
king - man + woman = view embeddings arithmetic
why divide by the square root of d_k = view attention scaling
what are query, key and value = view attention steps, view attention roles
who pays attention to whom = lesson attention, lesson heads
what is the mask for = term causal mask
backpropagation = term backpropagation, view training backprop
learning rate = term learning rate, view training schedules
what is loss = term loss, view training forcing
how many parameters does gpt-3 have = view architectures record, term parameter
what was it trained on = view architectures record, term corpus
how does it choose the next word = lesson next_token
top p = term top-p, lesson next_token
why is the answer different every time = term seed, term sampling
why does it repeat itself = try generation repeat, term greedy decoding
context window = term context length
why is it so slow = view architectures cost, view generation cache
is my data private = view limits memory
is it racist = view limits words
how sure is it = view limits calibration
does it understand what it says = view limits meaning
can it translate = view architectures translate
rnn vs transformer = lesson recurrence
lstm = view recurrence gates
what do neurons do = term neuron, view residual_stream mlp
skip connections = term residual connection, view residual_stream cut
fine tuning = term fine-tuning, view training tuning
what does each layer think = view residual_stream lens
gpu = view architectures hardware
llama = page models
where do I start = page tour
exercises = page sheets
tokenisation = term tokenizer, lesson tokens
temprature = term temperature
halucinations = term hallucination
""".strip().splitlines()


def test_all_lessons_views_terms_ideas_and_experiments_are_there_once():
    count = Counter(found.kind for found in EVERYTHING)
    lessons = catalogue.existing()
    assert count["lesson"] == len(lessons) and count["view"] == sum(len(entry.views) for entry in lessons)
    assert count["term"] == len(tables.glossary()) and count["idea"] == len(tables.ideas()) >= 96
    assert count["try"] == sum(len(prose.load(entry.id).experiments) for entry in lessons)
    assert len({found.id for found in EVERYTHING}) == len(EVERYTHING)


def test_every_kind_has_a_name_and_everything_a_text():
    words = prose.load("app")
    assert all(words.label(f"find_{found.kind}") and found.name for found in EVERYTHING)
    assert all(found.says for found in EVERYTHING if found.kind != "idea")
    assert not any("**" in found.says or "$" in found.says for found in EVERYTHING)


def test_every_place_makes_sense():
    pages = set(catalogue.pages())
    for found in EVERYTHING:
        assert found.lesson in pages, found.id
        written = {key: str(value).lower() if isinstance(value, bool) else value
                   for key, value in found.settings.items() if value is not None}
        if found.kind in ("view", "try"):
            assert nonsense(Place(found.lesson, urllib.parse.urlencode(written))) == [], found.id


def test_the_browser_is_sent_it_as_text_and_what_it_chooses_is_looked_up():
    sent = finder.answer({})
    assert len(sent) < LARGEST
    assert [place["id"] for place in SENT["places"]] == [found.id for found in EVERYTHING]
    assert finder.opening("view positions learned") == ("positions", {"positions_view": "learned"})
    assert finder.opening("nothing") is None


def test_what_newcomers_ask_finds_its_answer_among_the_first_three():
    asked = {question.strip(): targets.strip().split(", ") for question, _, targets in
             (line.rpartition("=") for line in QUESTIONS)}
    assert len(asked) >= 50
    found = searched(list(asked), 3)
    missed = {question: (target, [place["id"] for place in found[question]["places"]])
              for question, targets in asked.items() for target in targets
              if target not in [place["id"] for place in found[question]["places"]]}
    assert missed == {}


def test_every_view_of_positions_belongs_to_positional_encoding():
    found = [place["id"] for place in searched(["positional encoding"], 6)["positional encoding"]["places"]]
    assert {f"view positions {view}" for view in ("waves", "rotary", "learned", "biases")} <= set(found)


def test_every_synonym_and_every_name_finds_what_it_means():
    phrases = {phrase: targets[0] for phrases, targets in finder.synonyms() for phrase in phrases}
    names = {found.name: found.id for found in EVERYTHING if found.kind in ("lesson", "page", "view", "term")}
    found = searched([*phrases, *names], 5)
    missed = {typed: (target, [place["id"] for place in found[typed]["places"]])
              for typed, target in (phrases | names).items()
              if target not in [place["id"] for place in found[typed]["places"]]}
    assert missed == {}


def test_a_synonym_is_said_once_and_means_what_is_there():
    phrases = [phrase for phrases, _ in finder.synonyms() for phrase in phrases]
    assert [phrase for phrase, n in Counter(phrases).items() if n > 1 or not phrase] == []
    ids = {found.id for found in EVERYTHING}
    assert [target for _, targets in finder.synonyms() for target in targets if target not in ids] == []


def test_a_question_takes_less_time_than_two_readings_of_the_index():
    question = "why do hallucinatoins and overfiting of large langauge models happen in a context window"
    read, found = evaluate("core/components/palette/search.js", """(() => {
        const took = (run) => { const from = performance.now(); run(); return performance.now() - from; };
        const times = [[], []];
        const index = m.prepared(sent), runs = [() => m.prepared(sent), () => m.find(index, question, 40)];
        for (let i = 0; i < 21; i++) runs.forEach((run, k) => times[k].push(took(run)));
        return times.map((some) => some.sort((a, b) => a - b)[10]);
    })()""", sent=SENT, question=question)
    assert found < 2 * read         # some 0.6 of one, which a browser reads before the first question


def searched(questions: list[str], most: int) -> dict[str, dict]:
    """The browser's results for each question."""
    found = evaluate("core/components/palette/search.js",
                     "((index) => questions.map((each) => m.find(index, each, most)))(m.prepared(sent))",
                     sent=SENT, questions=questions, most=most)
    return dict(zip(questions, found, strict=True))


def test_a_lesson_is_found_by_the_words_on_the_page():
    by_id = {found.id: found for found in EVERYTHING}
    view = by_id["view residual_stream norms"]
    assert (view.name, view.where) == ("Vector lengths", "Residual stream")
    assert by_id["term softmax"].where == "Attention, step by step › Step by step"


def test_the_map_opens():
    at = open_at(catalogue.MAP)
    assert fine(at)
