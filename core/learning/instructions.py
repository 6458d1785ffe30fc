"""Instructions to tune on: the known collections, and the three ways to build an instance (Zhao et al. 2023, "A survey
of large language models", table 6 and figure 9): from a labelled data set by templates, from a chat of people, and by a
model, as Self-Instruct does (Wang et al. 2023).
"""
import csv
import functools
import random
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.files import read_json
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import teaching_text
from core.training.teaching_text import DATA

BUILT = ("datasets", "people", "model")             # the three ways
SETS = ("sentiment", "opposites", "summary")        # data sets, by kind of exercise
N_SHOWN, LONGEST, TEMPERATURE = 3, 20, 0.9          # seeds that the model reads, tokens that it writes
MOST_OVERLAP = 0.7                                  # Self-Instruct's bound


@dataclass(frozen=True)
class Collection:
    """A collection of instances. built: one of BUILT; date: YYYY-MM."""

    name: str
    built: str
    date: str
    instances: int
    source: str


@functools.cache
def collections() -> tuple[Collection, ...]:
    """The collections of the survey's table, in its order."""
    with (DATA / "instructions.tsv").open(encoding="utf-8", newline="") as file:
        return tuple(Collection(row["collection"], row["built"], row["date"], int(row["instances"]), row["source"])
                     for row in csv.DictReader(file, delimiter="\t"))


@functools.cache
def forms() -> dict:
    """The templates by data set, the chat and the seeds of assets/teaching/instruction_forms.json."""
    return read_json(DATA / "instruction_forms.json")


# ---- from a data set -------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def row(kind: str, number: int) -> dict[str, str]:
    """A row of a data set, by field; generated exercises serve as the data set."""
    rng = random.Random(f"{kind} {number}")
    if kind == "sentiment":
        exercise = teaching_text.sentiment(rng)
        return {"sentence": exercise.prompt.split('"', 1)[1].rsplit('"', 1)[0], "label": exercise.answer.strip()}
    if kind == "summary":
        exercise = teaching_text.summary(rng)
        return {"story": exercise.prompt.removesuffix("\ntl;dr"), "summary": exercise.answer.strip()}
    word, opposite = rng.choice(teaching_text.words()["opposites"])
    return {"word": word, "opposite": opposite}


def pieces(template: str, values: dict[str, str]) -> list[tuple[str, str]]:
    """The template with its slots filled, as (text, name of the slot or "") in order.

    >>> pieces("Not {word} but", {"word": "hot"})
    [('Not ', ''), ('hot', 'word'), (' but', '')]
    """
    found = []
    for text, slot, _, _ in string.Formatter().parse(template):
        found += [(text, "")] * bool(text) + ([(values[slot], slot)] if slot else [])
    return found


def filled(template: str, values: dict[str, str]) -> str:
    """The template with its slots filled."""
    return "".join(text for text, _ in pieces(template, values))


# ---- from people -----------------------------------------------------------------------------------------------------


def instances(chat: Sequence[tuple[str, str]]) -> list[tuple[Sequence[tuple[str, str]], str]]:
    """The instances of a chat of (who, text): each answer of the assistant, after all that was said before it.

    >>> [(len(before), answer) for before, answer in instances([("person", "a"), ("assistant", "b"), ("person", "c")])]
    [(1, 'b')]
    """
    return [(chat[:i], text) for i, (who, text) in enumerate(chat) if who == "assistant"]


# ---- by a model ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """An instruction that a model wrote after reading some seeds. overlap: its largest ROUGE-L with the seeds and all
    texts kept before; nearest: the text it overlaps with most; kept: whether the overlap is below the bound and the
    text is a question.
    """

    seeds: tuple[str, ...]
    text: str
    overlap: float
    nearest: str
    kept: bool

    @property
    def is_question(self) -> bool:
        """Whether it ends as a question; other texts are dropped."""
        return self.text.endswith("?")


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


def rouge_l(a: str, b: str) -> float:
    """ROUGE-L of two texts: 2 m / (n_a + n_b), where m is the length in words of their longest common subsequence.

    >>> rouge_l("What is the opposite of late?", "What is the opposite of hot?") == 10 / 12
    True
    """
    one, other = words(a), words(b)
    lengths = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for j, against in enumerate(other, 1):
            before, lengths[j] = lengths[j], before + 1 if word == against else max(lengths[j], lengths[j - 1])
    return 2 * lengths[-1] / max(1, len(one) + len(other))


def write(model: Transformer, tokenizer: Tokenizer, number: int, seed: int) -> tuple[tuple[str, ...], str]:
    """The instruction of this number that the model writes after N_SHOWN of the seeds: (seeds, text)."""
    seeds = tuple(random.Random(f"written {seed} {number}").sample(forms()["seeds"], N_SHOWN))
    prompt = tokenizer.prompt("".join(f"Q: {each}\n" for each in seeds) + "Q:", model.config.n_context - LONGEST)
    steps = generate(model, prompt.token_ids, SamplingConfig(temperature=TEMPERATURE), 1000 * seed + number, LONGEST)
    text = tokenizer.decode([step.token_id for step in steps if step.token_id != tokenizer.end_of_text])
    end = re.search(r"[?\n]", text)
    return seeds, (text[:end.end()] if end else text).strip()


def answered(model: Transformer, tokenizer: Tokenizer, text: str) -> str:
    """The model's likeliest answer to an instruction, of one line."""
    prompt = tokenizer.prompt(f"Q: {text} A:", model.config.n_context - LONGEST)
    steps = generate(model, prompt.token_ids, SamplingConfig(temperature=0.0), 0, LONGEST // 2)
    return tokenizer.decode([step.token_id for step in steps if step.token_id != tokenizer.end_of_text]).split(
        "\n")[0].strip()


def chosen(texts: Sequence[tuple[tuple[str, ...], str]], bound: float = MOST_OVERLAP) -> list[Candidate]:
    """The texts in their order, each kept if it is a question and overlaps with no seed and no text kept before by
    `bound` or more.
    """
    pool, found = [*forms()["seeds"]], []
    for seeds, text in texts:
        nearest = max(pool, key=lambda other: rouge_l(text, other))
        overlap = rouge_l(text, nearest)
        candidate = Candidate(seeds, text, overlap, nearest, kept=False)
        candidate = replace(candidate, kept=overlap < bound and candidate.is_question)
        found.append(candidate)
        pool += [text] * candidate.kept
    return found
