"""The measures of a model in training at a milestone: held-out loss, best induction and previous-token heads, and a
sample of its text.
"""
from core.analysis.induction import induction
from core.model.checkpoints import Milestone
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer

PROMPT = "Once upon a time, there was a little"
SAMPLE_TOKENS = 40
N_SEQUENCES = 16


def sample(model: Transformer, tokenizer: Tokenizer) -> str:
    """Continue PROMPT greedily by at most 40 tokens."""
    prompt = tokenizer.prompt(PROMPT, model.config.n_context).token_ids
    return tokenizer.decode([step.token_id for step in generate(model, prompt, SamplingConfig(temperature=0.0),
                                                                max_new_tokens=SAMPLE_TOKENS)])


def measure(model: Transformer, tokenizer: Tokenizer, step: int, tokens_seen: int,
            held_out: dict[str, float]) -> Milestone:
    """The milestone after `step` steps, with these held-out losses."""
    heads = induction(model, N_SEQUENCES)
    return Milestone(step, tokens_seen, held_out, heads.best_induction_head.score, heads.best_previous_token_head.score,
                     PROMPT, sample(model, tokenizer))
