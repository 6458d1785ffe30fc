"""Small tests that tell whether a model uses the structure of a sentence or only the words that stand in it: choices
with one right answer, generated from a seed.

Each is asked in three readings: the whole prompt; its context with the words shuffled; the last word alone. What the
shuffled reading gets right needs no order of words, and what the last word gets right needs no context.
assets/teaching/structure.json has the sentences and what each test is for.
"""
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from core.analysis.statistics import Proportion
from core.analysis.text_probability import continuation_log_probs
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import teaching_text
from core.training.teaching_text import DATA

READINGS = ("whole", "shuffled", "last")


@dataclass(frozen=True)
class Item:
    """A prompt, context + stem, and the words that it may go on with, each with its leading space; options[0] is right.
    """

    context: str
    stem: str
    options: tuple[str, ...]

    @property
    def prompt(self) -> str:
        return self.context + self.stem

    def read(self, reading: str, rng: random.Random) -> str:
        """The prompt as a reading has it.

        The stem keeps its order in the shuffled one; "reversed" has the context's words from the last to the first.
        """
        if reading == "last":
            return self.prompt.split()[-1]
        words = self.context.split()
        if reading == "shuffled":
            rng.shuffle(words)
        elif reading == "reversed":
            words.reverse()
        return " ".join(words) + self.stem if words else self.stem.strip()


@dataclass(frozen=True)
class Answered:
    """An item in one reading, and ln p of each of its options, in nats."""

    item: Item
    prompt: str
    log_probs: tuple[float, ...]

    @property
    def said(self) -> str:
        """The option that the model holds most probable."""
        return self.item.options[int(np.argmax(self.log_probs))]

    @property
    def right(self) -> bool:
        return self.log_probs[0] > max(self.log_probs[1:])


@cache
def data() -> dict:
    """assets/teaching/structure.json."""
    return json.loads((DATA / "structure.json").read_text(encoding="utf-8"))


def made_up_name(rng: random.Random) -> str:
    """A name of two syllables that is in no list of real ones."""
    words = teaching_text.words()
    real = {*words["girls"], *words["boys"]}
    while (name := "".join(rng.sample(words["syllables"], 2)).capitalize()) in real:
        pass
    return name


def _names(rng: random.Random) -> tuple[str, str]:
    """Two made-up names with different first letters."""
    first = made_up_name(rng)
    while (second := made_up_name(rng))[0] == first[0]:
        pass
    return first, second


def _carried(rng: random.Random, i: int) -> Item:
    (a, b), animal = _names(rng), rng.choice(data()["animals"])
    return Item(*_form("carried", i, a=a, x=animal), (f" {a}", f" {b}"))


def _bound(rng: random.Random, i: int) -> Item:
    (a, b), (x, y) = _names(rng), rng.sample(data()["animals"], 2)
    return Item(*_form("bound", i, a=a, b=b, x=x, y=y), _ordered(i, a, b))


def _roles(rng: random.Random, i: int) -> Item:
    a, b = _names(rng)
    return Item(*_form("roles", i, a=a, b=b, thing=rng.choice(data()["things"])), _ordered(1 - i % 2, a, b))


def _negation(rng: random.Random, i: int) -> Item:
    name, (has, other) = made_up_name(rng), rng.sample(data()["things"], 2)
    return Item(*_form("negation", i, a=name, thing=has, other=other), (f" {has}", f" {other}"))


def _agreement(rng: random.Random, i: int) -> Item:
    """The noun nearest to the verb always has the other number; only exercises that are held out from training."""
    words, plural, forms = teaching_text.words(), i % 2, rng.choice(data()["verbs"])
    while True:
        noun, thing = rng.choice(words["nouns"]), rng.choice(words["things"])
        prompt = f"The {noun[plural]} {rng.choice(words['near'])} the {thing[1 - plural]}"
        if noun[0] != noun[1] and teaching_text.Exercise("agreement", prompt, forms[plural]).held_out:
            head, last = prompt.rsplit(" ", 1)
            return Item(head, f" {last}", (forms[plural], forms[1 - plural]))


def _order(rng: random.Random, i: int) -> Item:
    sentences = data()["sentences"]
    context, stem, right = sentences[i % len(sentences)]
    return Item(context,
                stem, (f" {right}",
                       *(f" {other[2]}" for other in rng.sample([each for each in sentences if each[2] != right], 3))))


def _opposites(pairs: Sequence[Sequence[str]]) -> Callable[[random.Random, int], Item]:
    def make(rng: random.Random, i: int) -> Item:
        word, right = pairs[i % len(pairs)]
        others = rng.sample([pair[1] for pair in pairs if not {word, right} & set(pair)], 3)
        return Item("The opposite of", f" {word} is", (f" {right}", *(f" {other}" for other in others)))
    return make


def _form(test: str, i: int, **values: str) -> tuple[str, str]:
    """Context and stem of the test's i-th form, with the words put in."""
    forms = data()["forms"][test]
    return tuple(part.format(**values) for part in forms[i % len(forms)])


def _ordered(i: int, a: str, b: str) -> tuple[str, str]:
    return (f" {b}", f" {a}") if i % 2 else (f" {a}", f" {b}")


TESTS: dict[str, Callable[[random.Random, int], Item]] = {
    "carried": _carried, "bound": _bound, "roles": _roles, "negation": _negation, "agreement": _agreement,
    "order": _order, "taught": lambda rng, i: _opposites(teaching_text.words()["opposites"])(rng, i),
    "untaught": lambda rng, i: _opposites(data()["opposites"])(rng, i),
}


def items(test: str, n: int, seed: int) -> list[Item]:
    """The first n items of a test: different ones, fewer where the test has no more; the two forms of a test that has
    two take turns.
    """
    rng, by_prompt = random.Random(f"{test} {seed}"), {}
    for i in range(n):
        item = TESTS[test](rng, i)
        by_prompt.setdefault(item.prompt, item)
    return list(by_prompt.values())


def answered(model: Transformer, tokenizer: Tokenizer, test_items: Sequence[Item], reading: str,
             seed: int = 0) -> list[Answered]:
    """ln p of each option after each item in one reading; the seed decides how words are shuffled."""
    rng = random.Random(f"shuffle {seed}")
    prompts = [item.read(reading, rng) for item in test_items]
    options = [[tokenizer.encode(option) for option in item.options] for item in test_items]
    longest = max(len(ids) for every in options for ids in every)
    contexts = [tokenizer.prompt(prompt, model.config.n_context - longest).token_ids for prompt in prompts]
    return [Answered(item, prompt, tuple(log_probs)) for item, prompt, log_probs
            in zip(test_items, prompts, continuation_log_probs(model, contexts, options))]


def score(answers: Sequence[Answered]) -> Proportion:
    """How many answers are right."""
    return Proportion(sum(answer.right for answer in answers), len(answers))


def chance(test_items: Sequence[Item]) -> float:
    """The share that a blind choice among the options gets right on average."""
    return float(np.mean([1 / len(item.options) for item in test_items]))
