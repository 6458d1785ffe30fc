"""An answer that the model writes, token by token: each with the distribution from which it was taken."""
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.app.lesson import Lesson
from core.app.state import Run
from core.evaluation import teaching_tasks as evaluation
from core.figures.numbers import bracketed, latex_number, latex_operand, percent
from core.training.teaching_text import Exercise

LONGEST_ANSWER = 24        # tokens
N_NEXT = 5                 # most probable next tokens
CONTEXT = 26               # characters of the text before a token, in the title of its distribution
MOST_FACTORS = 8           # of a product in In numbers


@dataclass(frozen=True)
class Written:
    """A prompt's answer. tokens: visible, the line's end last; ids: of the N_NEXT most probable tokens at each of them,
    the one taken first; log_probs: their ln p in nats.
    """

    prompt: str
    answer: str
    pieces: tuple[str, ...]
    tokens: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    log_probs: tuple[tuple[float, ...], ...]

    def context(self, step: int) -> str:
        """The end of the text before a token, in one line."""
        text = (self.prompt + "".join(self.pieces[:step])).replace("\n", "⏎")
        if len(text) <= CONTEXT:
            return text
        _, blank, words = text[-CONTEXT:].partition(" ")
        return f"… {words if blank else text[-CONTEXT:]}"

    @functools.cached_property
    def words(self) -> list[tuple[str, list[float]]]:
        """The answer's words, each with ln p of its tokens; the line's end is none."""
        found: list[tuple[str, list[float]]] = []
        for piece, logs in zip(self.pieces, self.log_probs):
            if not found or piece[:1].isspace():
                found.append(("", []))
            word, terms = found.pop()
            found.append((word + piece.strip(), [*terms, logs[0]]))
        return found


@torch.no_grad()
def write(run: Run, task: str, prompt: str) -> Written:
    """The model's greedy answer to a prompt, up to the end of the line, and one pass over both."""
    model, tokenizer = run.loaded.runner, run.tokenizer
    [answer] = evaluation.answers(model, tokenizer, [Exercise(task, prompt, " word" * LONGEST_ANSWER)])
    ids = tokenizer.encode(answer.text)
    before = tokenizer.prompt(prompt, model.config.n_context - len(ids)).token_ids
    logits = model.logits(torch.tensor([[*before, *ids]], device=model.device))[0, len(before) - 1:]
    log_probs = logits.cpu().double().log_softmax(-1).numpy()
    best = np.argsort(-log_probs, axis=-1, kind="stable")[:, :N_NEXT]
    names = tuple(tuple(map(tokenizer.visible, row.tolist())) for row in best)
    return Written(prompt, answer.text, tuple(tokenizer.decode([i]) for i in ids),
                   (*map(tokenizer.visible, ids), names[-1][0]), names,
                   tuple(tuple(row) for row in np.take_along_axis(log_probs, best, -1).tolist()))


def steps(page: Lesson, written: Written) -> list[dict]:
    """The tokens as tasks.js reads them: each with its bars and the title above them."""
    return [{"token": token, "title": page.label("tasks_step", context=written.context(k)),
             "bars": [bar(name, float(np.exp(value)), name == token) for name, value in zip(names, logs)]}
            for k, (token, names, logs) in enumerate(zip(written.tokens, written.names, written.log_probs))]


def bar(name: str, p: float, first: bool) -> dict:
    return {"name": name, "p": p, "shown": percent(p), "first": first}


def lines(page: Lesson, written: Written, step: int) -> list[tuple[str, str]]:
    """The picked token's probability, and the whole answer as a product, word by word."""
    log_p = written.log_probs[step][0]
    given = ", ".join(["c", *(f"w_{k}" for k in range(1, step + 1))][:3]) + (r", \ldots" if step > 2 else "")
    found = [(page.label("numbers_task_step", k=step + 1),
              rf"P(w_{{{step + 1}}} \mid {given}) = e^{{{latex_number(log_p, 6)}}} = {latex_number(np.exp(log_p))}")]
    if written.words:
        found.append((page.label("numbers_task_words"), _product(written.words)))
    return found


def _product(words: Sequence[tuple[str, list[float]]]) -> str:
    """The words' probabilities, each the product of its tokens' under its brace, and the answer's, as LaTeX."""
    total, left, shown = sum(sum(terms) for _, terms in words), MOST_FACTORS, []
    for word, terms in words:
        if left < len(terms):
            shown.append(r"\cdots")
            break
        factors = r" \cdot ".join(bracketed(latex_operand(float(np.exp(term)))) for term in terms)
        shown.append(rf"\underbrace{{{factors}}}_{{\text{{{_plain(word)}}}}}")
        left -= len(terms)
    product = r" \cdot ".join(shown)
    return rf"P(w_1 \ldots \mid c) = {product} = {latex_number(float(np.exp(total)))}"


def _plain(word: str) -> str:
    """A word's letters, digits and plain punctuation: signs that mean something in LaTeX or Markdown become blanks."""
    return "".join(sign if sign.isalnum() or sign in ".,;:!?'’-" else " " for sign in word)
