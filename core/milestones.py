"""What is measured of a model in training at a milestone: held-out loss, its best induction and previous-token heads, a sample of its text."""
from __future__ import annotations

import torch
from torch import Tensor

from core.analysis import induction_score, previous_token_score
from core.checkpoints import Milestone
from core.generation import generate
from core.model import Transformer
from core.sampling import SamplingConfig
from core.tokenizer import Tokenizer

PROMPT = "Once upon a time, there was a little"
SAMPLE_TOKENS = 40
N_SEQUENCES, LONGEST_HALF = 16, 64


def repeated_sequences(model: Transformer, seed: int = 0) -> Tensor:
    """(16, 1 + 2n) sequences of random tokens, each read twice after the first token: nothing but the first reading tells how the second goes on.

    n is 64, or less in a short context. The tokens of one sequence are all different.
    """
    config, generator = model.config, torch.Generator().manual_seed(seed)
    n = min(LONGEST_HALF, (config.n_context - 1) // 2, config.vocab_size - 1)
    first = config.end_of_text or 0
    others = torch.tensor([token for token in range(config.vocab_size) if token != first])
    halves = torch.stack([others[torch.randperm(len(others), generator=generator)[:n]] for _ in range(N_SEQUENCES)])
    return torch.cat([torch.full((N_SEQUENCES, 1), first), halves, halves], dim=1)


@torch.no_grad()
def best_scores(model: Transformer, token_ids: Tensor) -> tuple[float, float]:
    """The highest induction score and the highest previous-token score of any head, each the mean over the sequences (B, N)."""
    ids = token_ids.to(model.device)
    patterns = [block.pattern for block in model(ids).blocks]
    induction = torch.stack([induction_score(pattern, ids).mean(0) for pattern in patterns])
    previous = torch.stack([previous_token_score(pattern).mean(0) for pattern in patterns])
    return float(induction.max()), float(previous.max())


def sample(model: Transformer, tokenizer: Tokenizer) -> str:
    """How the model goes on after PROMPT: the most probable token each time, at most 40."""
    prompt = tokenizer.prompt(PROMPT, model.config.n_context).token_ids
    return tokenizer.decode([step.token_id for step in generate(model, prompt, SamplingConfig(temperature=0.0), max_new_tokens=SAMPLE_TOKENS)])


def measure(model: Transformer, tokenizer: Tokenizer, step: int, tokens_seen: int, held_out: dict[str, float]) -> Milestone:
    """The milestone after `step` steps, with the held-out losses given."""
    induction, previous = best_scores(model, repeated_sequences(model))
    return Milestone(step, tokens_seen, held_out, induction, previous, PROMPT, sample(model, tokenizer))
