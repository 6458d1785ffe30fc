"""Small tests of whether a model uses the structure of a sentence or only its words: choices with one right answer,
generated from a seed.

Each test has three readings: the whole prompt; its context with the words shuffled; the last word alone. Items that are
right with shuffled words need no word order, and items that are right after the last word need no context.
assets/teaching/structure.json has the sentences and the purpose of each test.
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
    """A prompt, context + stem, and its possible next words, each with its leading space; options[0] is right."""

    context: str
    stem: str
    options: tuple[str, ...]

    @property
    def prompt(self) -> str:
        return self.context + self.stem

    def read(self, reading: str, rng: random.Random) -> str:
        """The prompt in one reading. "shuffled" and "reversed" change the order of the context's words, not the stem.
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
class Answer:
    """An item in one reading, and ln p of each of its options, in nats."""

    item: Item
    prompt: str
    log_probs: tuple[float, ...]

    @property
    def said(self) -> str:
        """The model's most probable option."""
        return self.item.options[int(np.argmax(self.log_probs))]

    @property
    def right(self) -> bool:
        return self.log_probs[0] > max(self.log_probs[1:])


@cache
def data() -> dict:
    """assets/teaching/structure.json."""
    return json.loads((DATA / "structure.json").read_text(encoding="utf-8"))


def made_up_name(rng: random.Random) -> str:
    """A name of two syllables that is not in the lists of real names."""
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
    name, (owned, missing) = made_up_name(rng), rng.sample(data()["things"], 2)
    return Item(*_form("negation", i, a=name, thing=owned, other=missing), (f" {owned}", f" {missing}"))


def _agreement(rng: random.Random, i: int) -> Item:
    """The noun nearest to the verb always has the other number; only exercises held out from training."""
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
    """The context and stem of the test's i-th form with the given words."""
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
    """The first n items of a test without duplicates, so possibly fewer; the forms of a test alternate."""
    rng, by_prompt = random.Random(f"{test} {seed}"), {}
    for i in range(n):
        item = TESTS[test](rng, i)
        by_prompt.setdefault(item.prompt, item)
    return list(by_prompt.values())


def prompts_of(test_items: Sequence[Item], reading: str, seed: int) -> list[str]:
    """The items' prompts in one reading; the seed determines the shuffling of words."""
    rng = random.Random(f"shuffle {seed}")
    return [item.read(reading, rng) for item in test_items]


def answered(model: Transformer, tokenizer: Tokenizer, test_items: Sequence[Item], reading: str,
             seed: int = 0) -> list[Answer]:
    """The answers to the items in one reading: ln p of each option."""
    prompts = prompts_of(test_items, reading, seed)
    options = [[tokenizer.encode(option) for option in item.options] for item in test_items]
    longest = max(len(ids) for each in options for ids in each)
    contexts = [tokenizer.prompt(prompt, model.config.n_context - longest).token_ids for prompt in prompts]
    return [Answer(item, prompt, tuple(log_probs)) for item, prompt, log_probs
            in zip(test_items, prompts, continuation_log_probs(model, contexts, options))]


def score(answers: Sequence[Answer]) -> Proportion:
    """The proportion of right answers."""
    return Proportion(sum(answer.right for answer in answers), len(answers))


def chance(test_items: Sequence[Item]) -> float:
    """The expected share of right answers of a random choice among the options."""
    return float(np.mean([1 / len(item.options) for item in test_items]))
