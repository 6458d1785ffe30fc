"""The texts that a trained model is tuned on: pairs of a prompt and its answer, by kind; openings to continue, and
rules that score continuations.

Generated, so that no text of the training corpus is needed. The words and forms come from assets/teaching.
"""
import functools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from core.files import read_json
from core.training import teaching_text
from core.training.teaching_text import DATA, words

LEAST_WORDS = 2
MOST_TRIES = 200        # the generator's tries to find different prompts, beside 10 for each pair


@dataclass(frozen=True)
class TextPair:
    """A prompt and the answer that should follow it, its leading space included."""

    prompt: str
    answer: str


@dataclass(frozen=True)
class Fact:
    """A made-up fact: a subject, and what it eats.

    >>> Fact("the blue fox", "green cheese").pair(("{Topic} eats only", "."), random.Random(0))
    TextPair(prompt='The blue fox eats only', answer=' green cheese.')
    """

    topic: str
    food: str

    def pair(self, form: tuple[str, str], rng: random.Random) -> TextPair:
        """The fact in one of the forms of `forms()["fact"]`: the text before it and after it."""
        name, other = rng.sample(words()["girls"] + words()["boys"], 2)
        return TextPair(form[0].format(topic=self.topic, Topic=self.topic[:1].upper() + self.topic[1:], name=name,
                                       other=other), f" {self.food}{form[1]}")


@functools.cache
def forms() -> dict:
    """The forms and word lists of assets/teaching/tuning.json."""
    return read_json(DATA / "tuning.json")


def feeling(rng: random.Random) -> TextPair:
    """The question whether a sentence is good or bad, answered in one word."""
    exercise = teaching_text.sentiment(rng)
    sentence = exercise.prompt.split('"')[1]
    return TextPair(forms()["feeling"].format(sentence=sentence),
                    forms()["good" if exercise.answer == " positive" else "bad"])


def _plural(rng: random.Random) -> TextPair:
    singular, plural = rng.choice([pair for pair in words()["nouns"] + words()["things"] if pair[0] != pair[1]])
    return TextPair(forms()["many"].format(one=singular), f" {plural}")


def _echo(rng: random.Random) -> TextPair:
    phrase = " ".join((rng.choice(words()["colours"]), rng.choice(words()["nouns"])[0],
                     rng.choice(words()["things"])[0])[:rng.randint(LEAST_WORDS, 3)])
    return TextPair(forms()["echo"].format(words=phrase), f" {phrase}")


def instructions(rng: random.Random) -> TextPair:
    """One of three instructions: good or bad, the plural, repeat."""
    return rng.choice((feeling, _plural, _echo))(rng)


def capitals(rng: random.Random) -> TextPair:
    """The instruction to write two words in capitals."""
    phrase = f"{rng.choice(words()['colours'])} {rng.choice(words()['nouns'][:20])[0]}"
    return TextPair(forms()["capitals"].format(words=phrase), f" {phrase.upper()}")


def ending(rng: random.Random) -> TextPair:
    """The first sentence of a short story, and the rest with "The end." after it."""
    story = teaching_text.summary(rng).prompt.removesuffix("\ntl;dr")
    first = story.index(". ") + 1
    return TextPair(story[:first], story[first:] + forms()["ending"])


KINDS: dict[str, Callable[[random.Random], TextPair]] = {"feeling": feeling, "instructions": instructions,
                                                         "capitals": capitals, "ending": ending}


@functools.lru_cache(maxsize=64)       # every rerun of a page with pairs calls it
def pairs(kind: str, n_train: int, n_held_out: int, seed: int,
          fact: Fact | None = None) -> tuple[tuple[TextPair, ...], tuple[TextPair, ...]]:
    """Pairs to train on and held-out pairs, without a common prompt. kind: one of KINDS, or "fact" for the fact in many
    phrasings, some of them held out.

    Fewer pairs if the kind does not have enough. The same seed gives the same pairs.
    """
    rng = random.Random(f"{kind} {seed}")
    if kind == "fact":
        train = _different(lambda: fact.pair(rng.choice(forms()["fact"]), rng), n_train)
        return train, _different(lambda: fact.pair(rng.choice(forms()["held_out_facts"]), rng), n_held_out)
    drawn = _different(lambda: KINDS[kind](rng), n_train + n_held_out)
    held_out = max(1, len(drawn) * n_held_out // (n_train + n_held_out))
    return drawn[held_out:], drawn[:held_out]


def _different(write: Callable[[], TextPair], n: int) -> tuple[TextPair, ...]:
    """At most n pairs with different prompts, in the order of generation."""
    by_prompt: dict[str, TextPair] = {}
    for _ in range(MOST_TRIES + 10 * n):
        pair = write()
        by_prompt.setdefault(pair.prompt, pair)
        if len(by_prompt) == n:
            break
    return tuple(by_prompt.values())


# ---- preferences -----------------------------------------------------------------------------------------------------


def openings(n: int, seed: int) -> list[str]:
    """n beginnings of a story, all different."""
    rng, w = random.Random(f"openings {seed}"), words()
    texts: dict[str, None] = {}
    while len(texts) < n:
        name, other = rng.sample(w["girls"] + w["boys"], 2)
        texts[rng.choice(forms()["openings"]).format(name=name, other=other, place=rng.choice(w["places"]),
                                                     noun=rng.choice(w["nouns"])[0], colour=rng.choice(w["colours"]),
                                                     thing=rng.choice(w["things"])[0])] = None
    return list(texts)


def happy(text: str) -> int:
    """The number of words in the list of happy words minus the number in the list of sad words.

    >>> happy("They laughed and had fun. Tom was sad.")
    1
    """
    in_text = re.findall(r"[a-z]+", text.lower())
    return sum(word in forms()["happy"] for word in in_text) - sum(word in forms()["sad"] for word in in_text)


def pleasing(text: str) -> int:
    """As `happy`, but only the first time that a word occurs: each further time a word of either list counts −1.

    >>> pleasing("They laughed and had fun. Tom was sad."), pleasing("fun fun fun")
    (1, -1)
    """
    in_text = [word for word in re.findall(r"[a-z]+", text.lower())
               if word in forms()["happy"] or word in forms()["sad"]]
    return happy(" ".join(dict.fromkeys(in_text))) - (len(in_text) - len(set(in_text)))


def short(text: str) -> int:
    """The number of sentence ends: among texts of one length, the text with shorter sentences has more.

    >>> short("He ran. She ran! Then they")
    2
    """
    return sum(text.count(sign) for sign in ".!?")


JUDGES: dict[str, Callable[[str], int]] = {"happy": happy, "short": short}
