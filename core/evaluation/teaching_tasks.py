"""Scores of the teaching tasks on held-out exercises: answers written greedily, and choices between a right answer and
wrong ones.

Every prompt stands alone after the end-of-text token. Only the exact answer is right; an additional article is a
mistake.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.analysis.statistics import Proportion
from core.model.generation import continuations
from core.model.sampling import SamplingConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import teaching_text
from core.training.teaching_text import Exercise

GREEDY = SamplingConfig(temperature=0)
WRITTEN = ("sentiment", "opposites", "copying", "sums", "steps", "counting", "summary", "reading")
CHOSEN = ("sentiment", "agreement")
FACTS = {"facts, taught": True, "facts, untaught": False}
BATCH = 32


@dataclass(frozen=True)
class Answer:
    """The model's text after an exercise's prompt, up to the end of the line, and whether it is the answer."""

    exercise: Exercise
    text: str
    right: bool


@dataclass(frozen=True)
class Choice:
    """ln p of an exercise's answer and of each alternative, as whole words; nats."""

    exercise: Exercise
    log_prob: float
    alternatives: tuple[float, ...]

    @property
    def right(self) -> bool:
        """Whether the answer is more probable than every alternative."""
        return self.log_prob > max(self.alternatives)


@dataclass(frozen=True)
class TaskScore:
    """The share of a task's exercises that were right. way: "written" or "chosen"."""

    task: str
    way: str
    result: Proportion


def answers(model: Transformer, tokenizer: Tokenizer, exercises: Sequence[Exercise]) -> Iterator[Answer]:
    """Yield the model's greedy answer to each exercise, in any order. About 20 ms an exercise.

    A text is right if it begins with the answer and the answer's last word or number ends there. A text that ends early
    is wrong; text after a right answer does not matter.
    """
    prompts = [tokenizer.prompt(exercise.prompt, model.config.n_context).token_ids for exercise in exercises]
    longest = max(len(tokenizer.encode(exercise.answer)) for exercise in exercises)
    line_ends = [i for i in range(tokenizer.vocab_size) if b"\n" in tokenizer.token_bytes(i)]
    for i, new in continuations(model, prompts, GREEDY, max_new_tokens=longest + 1, stop=line_ends):
        text = tokenizer.decode(new)
        yield Answer(exercises[i], text.partition("\n")[0], is_right(text, exercises[i].answer))


def is_right(text: str, answer: str) -> bool:
    """Whether the text begins with the whole answer.

    >>> is_right(" 12\\n", " 12"), is_right(" 12, I think", " 12"), is_right(" 123", " 12"), is_right(" twelve", " 12")
    (True, True, False, False)
    """
    return text.startswith(answer) and not text[len(answer):len(answer) + 1].isalnum()


def choices(model: Transformer, tokenizer: Tokenizer, exercises: Sequence[Exercise]) -> Iterator[Choice]:
    """Yield the log-probabilities of the answer and the alternatives of each exercise, in order; about 10 ms each."""
    for start in range(0, len(exercises), BATCH):
        batch = exercises[start:start + BATCH]
        pairs = [(exercise.prompt, text) for exercise in batch for text in (exercise.answer, *exercise.alternatives)]
        log_probs = iter(answer_log_probs(model, tokenizer, pairs).tolist())
        for exercise in batch:
            yield Choice(exercise, next(log_probs), tuple(next(log_probs) for _ in exercise.alternatives))


@torch.no_grad()
def answer_log_probs(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Return (M,) ln p in nats that `answer` follows `prompt` and that its last word ends there.

    Without the second condition " horse" would win over " horses", which begins with the same token. Raises ValueError
    if an answer alone overflows the context.
    """
    answer_ids = [tokenizer.encode(answer) for _, answer in pairs]
    rows = [[*tokenizer.prompt(prompt, model.config.n_context - len(ids)).token_ids, *ids]
            for (prompt, _), ids in zip(pairs, answer_ids)]
    longest = max(map(len, rows))
    inputs = torch.tensor([row + [tokenizer.end_of_text] * (longest - len(row)) for row in rows], device=model.device)
    ends_a_word, log_probs = word_ends(tokenizer), []
    for logits, row, ids in zip(model.logits(inputs), rows, answer_ids):
        scores = logits[len(row) - len(ids) - 1:len(row)].cpu().double().log_softmax(-1)
        answer = scores[:-1].gather(-1, torch.tensor(ids)[:, None]).sum()
        log_probs.append(float(answer + scores[-1][ends_a_word].logsumexp(-1)))
    return np.array(log_probs)


def continues(token: bytes) -> bool:
    """Whether a token right after a word continues it: it begins with a letter, a digit, or a byte of a character
    beyond ASCII.

    >>> continues(b"s"), continues(b" the"), continues(b"."), continues(b"")
    (True, False, False, False)
    """
    return token[:1].isalnum() or token[:1] >= b"\x80"


def word_ends(tokenizer: Tokenizer) -> torch.Tensor:
    """(|V|,) bool: the tokens that end the word before them."""
    return torch.tensor([not continues(tokenizer.token_bytes(i)) for i in range(tokenizer.vocab_size)])


def task_scores(model: Transformer, tokenizer: Tokenizer, n: int) -> Iterator[TaskScore]:
    """Yield the score of every task on at most n held-out exercises, and on all facts, taught and untaught, in the
    first phrasing. About a minute in all.
    """
    for kind in WRITTEN:
        yield _score(kind, "written", answers(model, tokenizer, teaching_text.held_out(kind, n)))
    for kind in CHOSEN:
        yield _score(kind, "chosen", choices(model, tokenizer, teaching_text.held_out(kind, n)))
    for name, taught in FACTS.items():
        yield _score(name, "written", answers(model, tokenizer, list(teaching_text.fact_questions(taught))))


def _score(task: str, way: str, results: Iterator[Answer] | Iterator[Choice]) -> TaskScore:
    right = [result.right for result in results]
    return TaskScore(task, way, Proportion(sum(right), len(right)))
