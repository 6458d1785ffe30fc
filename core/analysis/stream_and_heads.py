"""Measures of one forward pass: the stream's norms and directions, what each head looks at, rollout, and what an
intervention changed.

Pure functions, tensors in and tensors out; N tokens, h heads, width d, L blocks. Leading batch axes run through every
function, as in Trace. A measure that no query qualifies for is NaN, never 0: a prompt without a repeated token says
nothing about induction. What each part of the model adds to a logit, and the logit lens, are in
`core.analysis.contributions`.
"""
from dataclasses import dataclass

import torch
from torch import Tensor

from core.model.normalisation import norm_statistics
from core.model.trace import Trace

# ---- the residual stream ---------------------------------------------------------------------------------------------


def norms(vectors: Tensor) -> Tensor:
    """The length of each vector, ‖x‖ = sqrt(Σ x_c²): (..., d) -> (...), at least 0, in the vectors' own unit.

    >>> norms(torch.tensor([[3.0, 4.0]]))
    tensor([5.])
    """
    return torch.linalg.vector_norm(vectors, dim=-1)


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """The cosine of the angle between vectors, a·b / (‖a‖‖b‖): (..., d) and (..., d), broadcast -> (...), in [-1, 1];
    NaN if either is zero.

    >>> cosines(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    tensor(0.)
    """
    lengths = norms(a) * norms(b)
    return torch.where(lengths > 0, (a * b).sum(-1) / lengths, torch.nan).clamp(-1, 1)


def stream(trace: Trace) -> Tensor:
    """The residual stream of every token between the blocks: (..., L + 1, N, d); row 0 enters block 0, row L leaves
    the last block.
    """
    return torch.stack(trace.depths, dim=-3)


def stream_norms(trace: Trace) -> Tensor:
    """How long each token's stream is on entering block 0, ..., on leaving the last block: (..., L + 1, N)."""
    return norms(stream(trace))


def written_norms(trace: Trace) -> tuple[Tensor, Tensor | None]:
    """How long the vectors are that attention and the feed-forward part of each block add: (..., L, N) each; None
    without a feed-forward part.
    """
    attention = torch.stack([norms(block.attn_added) for block in trace.blocks], dim=-2)
    if trace.blocks[0].mlp_out is None:
        return attention, None
    return attention, torch.stack([norms(block.mlp_added) for block in trace.blocks], dim=-2)


def layer_cosines(trace: Trace) -> Tensor:
    """Each token's stream after every number of blocks, compared with itself after every other: (..., N, L + 1, L + 1),
    symmetric, 1 on the diagonal.
    """
    by_token = stream(trace).transpose(-3, -2)                                          # (..., N, L + 1, d)
    compared = cosines(by_token.unsqueeze(-2), by_token.unsqueeze(-3))
    itself = torch.eye(compared.shape[-1], dtype=torch.bool, device=compared.device) & ~compared.isnan()
    # by definition; rounding gives 0.9999999
    return torch.where(itself, 1.0, compared)


def relative_change(trace: Trace) -> Tensor:
    """How far each block moves each token, as a share of its length: ‖resid_post − resid_pre‖ / ‖resid_pre‖:
    (..., L, N), at least 0.

    2 means that the block added a vector twice as long as the stream it read.
    """
    steps = stream(trace)
    return norms(steps.diff(dim=-3)) / norms(steps[..., :-1, :, :])


def mean_pairwise_cosine(vectors: Tensor) -> Tensor:
    """How alike the tokens are: the mean cosine over all pairs of different rows, (..., N, d) -> (...), in [-1, 1]. A
    row of zeros has no direction and is left out; NaN if fewer than two rows have one.

    >>> mean_pairwise_cosine(torch.tensor([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]]))
    tensor(0.3333)
    """
    n = vectors.any(-1).sum(-1)
    # Σ over all pairs, n of them of a row with itself
    total = torch.nn.functional.normalize(vectors, dim=-1).sum(-2).square().sum(-1)
    return torch.where(n > 1, (total - n) / (n * (n - 1)), torch.nan)


@dataclass(frozen=True)
class Standardised:
    """x − μ over σ, with its μ and σ; both broadcast against `values`."""

    mean: Tensor
    std: Tensor
    values: Tensor


def standardise(x: Tensor, over: str, epsilon: float = 1e-5) -> Standardised:
    """(x − μ) / sqrt(σ² + ε) of a matrix (..., N, d), before any learned α and β.

    over="features": one μ and σ for each token, over its d features, as LayerNorm (Ba, Kiros and Hinton, 2016): no
    other token enters. over="tokens": one μ and σ for each feature, over the N tokens, as BatchNorm (Ioffe and Szegedy,
    2015) in training: every token enters. σ² is the mean squared deviation (divided by the count, not by count − 1);
    the returned `std` is the divisor, sqrt(σ² + ε).
    """
    if over not in ("features", "tokens"):
        raise ValueError(f"Statistics are taken over features or tokens, not {over!r}.")
    vectors = x if over == "features" else x.mT
    mean, std = norm_statistics(vectors, "layernorm", epsilon)
    if over == "tokens":
        mean, std = mean.mT, std.mT
    return Standardised(mean, std, (x - mean) / std)


# ---- what a head looks at --------------------------------------------------------------------------------------------


def entropy(pattern: Tensor) -> Tensor:
    """How spread each query's attention is, H = −Σ_j α_ij ln α_ij in nats: (..., N, N) -> (..., N), from 0 (one key) to
    ln(keys it may see).

    >>> entropy(torch.tensor([[0.5, 0.5], [1.0, 0.0]]))
    tensor([0.6931, 0.0000])
    """
    return -torch.special.xlogy(pattern, pattern).sum(-1) + 0.0


def distance(pattern: Tensor) -> Tensor:
    """How far away each query looks on average, Σ_j α_ij |i − j| in tokens: (..., N, N) -> (..., N); 0 is itself,
    1 a neighbour.
    """
    place = torch.arange(pattern.shape[-1], device=pattern.device)
    return (pattern * (place[:, None] - place).abs()).sum(-1)


def _mean_over(per_query: Tensor, counted: Tensor) -> Tensor:
    """The mean of (..., N) over the queries counted, bool, broadcast; NaN if none is."""
    counted = counted.expand(per_query.shape)
    return torch.where(counted, per_query, 0.0).sum(-1) / counted.sum(-1)


def mean_over_choices(per_query: Tensor, allowed: Tensor) -> Tensor:
    """A measure (..., h, N) of each query, such as `entropy` or `distance`, averaged over the queries that may see at
    least two keys by allowed (N, N) bool: (..., h). A query that sees a single key puts 1 on it whatever the head is.
    """
    return _mean_over(per_query, allowed.sum(-1) > 1)


def previous_token_score(pattern: Tensor) -> Tensor:
    """Mean attention from a token to the one before it, α_{i, i−1} over i = 1 ... N − 1: (..., N, N) -> (...) in
    [0, 1]; NaN for one token.
    """
    return pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean(-1)


def next_token_score(pattern: Tensor) -> Tensor:
    """Mean attention from a token to the one after it, α_{i, i+1} over i = 0 ... N − 2: (..., N, N) -> (...) in
    [0, 1]; 0 under a causal mask, NaN for one token.
    """
    return pattern.diagonal(offset=1, dim1=-2, dim2=-1).mean(-1)


def own_token_score(pattern: Tensor) -> Tensor:
    """Mean attention from a token to itself, α_{i, i}: (..., N, N) -> (...) in [0, 1]; NaN for one token, whose only
    key is itself.
    """
    return pattern.diagonal(dim1=-2, dim2=-1).mean(-1) if pattern.shape[-1] > 1 else pattern[..., 0, 0] * torch.nan


def last_token_score(pattern: Tensor) -> Tensor:
    """Mean attention from a token to position N − 1, α_{i, N−1} over i = 0 ... N − 2: (..., N, N) -> (...) in [0, 1];
    NaN for one token.

    In an encoder such as BERT position N − 1 holds the separator that ends every text, the target of many heads (Clark
    et al., 2019, "What Does BERT Look At?").
    """
    return pattern[..., :-1, -1].mean(-1)


def first_token_score(pattern: Tensor) -> Tensor:
    """Mean attention from a token to position 0, α_{i, 0} over i = 1 ... N − 1: (..., N, N) -> (...) in [0, 1]; NaN for
    one token.

    Position 0 holds the end-of-text token that every sequence begins with, so this is the share that a head puts on no
    word (an "attention sink"). Query 0 is left out: under a causal mask it sees only itself. Query 1 also counts for
    `previous_token_score`.
    """
    return pattern[..., 1:, 0].mean(-1)


def earlier_occurrences(token_ids: Tensor) -> Tensor:
    """[i, j] is True where token j equals token i and precedes it: (..., N) -> (..., N, N) bool."""
    return (token_ids.unsqueeze(-1) == token_ids.unsqueeze(-2)).tril(-1)


def after_earlier_occurrences(token_ids: Tensor) -> Tensor:
    """[i, j] is True where token j directly follows an earlier occurrence of token i, and is not i itself: (..., N) ->
    (..., N, N) bool.

    In "A B ... A" the last A points at B. In "A A" the token after the first A is the second A itself,
    which is left out.
    """
    # column 0 receives column N − 1, which tril(-1) left empty
    return earlier_occurrences(token_ids).roll(1, dims=-1).tril(-1)


def _share_on(pattern: Tensor, targets: Tensor) -> Tensor:
    """Attention summed over each query's targets, averaged over the queries that have one: (..., h, N, N),
    (..., N, N) -> (..., h).
    """
    targets = targets.unsqueeze(-3)
    return _mean_over((pattern * targets).sum(-1), targets.any(-1))


def induction_score(pattern: Tensor, token_ids: Tensor) -> Tensor:
    """Mean attention from a token to the tokens that followed its earlier occurrences: (..., h, N, N), (..., N) ->
    (..., h) in [0, 1].

    A head that does so finds "what came after this last time" and can copy it (prefix matching; Olsson et al., 2022,
    "In-context Learning and Induction Heads"). Only queries whose token occurred before count; after several
    occurrences, the attention to all their followers is summed. NaN if no token is repeated. A head with uniform
    attention scores about 1/N for each occurrence.
    """
    return _share_on(pattern, after_earlier_occurrences(token_ids))


def duplicate_token_score(pattern: Tensor, token_ids: Tensor, looks_ahead: bool = False) -> Tensor:
    """Mean attention from a token to earlier occurrences of the same token, summed over them: (..., h, N, N), (..., N)
    -> (..., h) in [0, 1].

    Only queries whose token occurred before count; NaN if none did. looks_ahead: later occurrences count as well, for a
    model that sees them.
    """
    earlier = earlier_occurrences(token_ids)
    return _share_on(pattern, earlier | earlier.mT if looks_ahead else earlier)


def looked_at(weights: Tensor, position: int) -> int:
    """The position, other than its own, that a query looks at most, by its weights (N,). The first position, where
    heads that find nothing rest their attention, counts only in a text of two tokens. For N ≥ 2.
    """
    others = weights.clone()
    others[[position, 0] if len(weights) > 2 else position] = -1
    return int(others.argmax())


LEAST_LOOK = 0.25         # of a query's weight: a head that puts less on the predicted token does not look at it


def telling_head(trace: Trace, query: int) -> tuple[int, int]:
    """(block, head) of a head that shows something at `query`: the one with the most weight on the text's own copies of
    the token that the model predicts there or, if no head looks at one, with the largest weight on any token.

    The first token, on which heads rest, the query itself and its neighbours do not count; (0, 0) if no other token can
    be seen.
    """
    rows = torch.stack([block.pattern[:, query] for block in trace.blocks])                     # (L, h, N)
    counted = trace.blocks[0].allowed[query].clone()
    counted[0] = counted[max(0, query - 1):query + 2] = False
    if not counted.any():
        return 0, 0
    copies = counted & (trace.token_ids == trace.logits[query].argmax())
    share = (rows * copies).sum(-1)
    if share.max() < LEAST_LOOK:
        share = (rows * counted).amax(-1)
    return divmod(int(share.argmax()), rows.shape[1])


@dataclass(frozen=True)
class HeadStatistics:
    """One number for each head of each block, (..., L, h): the mean entropy and distance over the queries that see at
    least two keys, and the score of each other name. In an encoder, duplicates before and after both count.
    """

    entropy: Tensor
    distance: Tensor
    previous_token: Tensor
    next_token: Tensor
    own_token: Tensor
    first_token: Tensor
    last_token: Tensor
    induction: Tensor
    duplicate_token: Tensor


def head_statistics(trace: Trace) -> HeadStatistics:
    """Every measure of every head on the prompt of `trace`."""
    ids, looks_ahead = trace.token_ids, trace.config.kind == "encoder"
    rows = [HeadStatistics(
        mean_over_choices(entropy(block.pattern), block.allowed),
        mean_over_choices(distance(block.pattern), block.allowed),
        previous_token_score(block.pattern), next_token_score(block.pattern), own_token_score(block.pattern),
        first_token_score(block.pattern), last_token_score(block.pattern), induction_score(block.pattern, ids),
        duplicate_token_score(block.pattern, ids, looks_ahead)) for block in trace.blocks]
    return HeadStatistics(*(torch.stack(column, dim=-2) for column in zip(*(vars(row).values() for row in rows))))


def rollout(patterns: list[Tensor]) -> Tensor:
    """Attention rollout through the blocks (Abnar and Zuidema, 2020): L patterns (..., h, N, N) -> (..., L, N, N).

    Each block counts as ½ A + ½ I, where A is the mean over its heads and I stands for the residual path; rows are
    divided by their sum, and the matrices are multiplied, later blocks from the left. Row i of result l: the share of
    each input token in position i after block l. Every row sums to 1. Rollout reads patterns only, not values: it is an
    approximation, not a proof of influence.
    """
    product, products = None, []
    for pattern in patterns:
        step = 0.5 * pattern.mean(-3) + 0.5 * torch.eye(pattern.shape[-1], dtype=pattern.dtype, device=pattern.device)
        step = step / step.sum(-1, keepdim=True)
        product = step if product is None else step @ product
        products.append(product)
    return torch.stack(products, dim=-3)


# ---- what an intervention changed ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Effect:
    """Two next-token distributions compared; the k tokens whose probability moved most, largest move first."""

    kl: float              # KL(before ‖ after) in nats, at least 0; inf where `after` rules out what `before` allowed
    token_ids: Tensor      # (k,) int64
    before: Tensor         # (k,) float64 probabilities
    after: Tensor          # (k,)

    @property
    def change(self) -> Tensor:
        """(k,) after − before."""
        return self.after - self.before


def effect(before: Tensor, after: Tensor, k: int = 10) -> Effect:
    """The change between two logit vectors (|V|,): KL(p_before ‖ p_after) = Σ p_before ln(p_before / p_after), and the
    k largest changes.

    Computed in float64. A token of probability 0 before adds nothing to the divergence.
    """
    if before.ndim != 1 or before.shape != after.shape:
        raise ValueError(f"Two logit vectors of one length are compared, not {tuple(before.shape)} and "
                         f"{tuple(after.shape)}.")
    log_p, log_q = (torch.log_softmax(logits.double(), dim=-1) for logits in (before, after))
    p, q = log_p.exp(), log_q.exp()
    kl = torch.where(p > 0, p * (log_p - log_q), 0.0).sum().clamp(min=0)      # rounding can leave −1e-17
    ids = torch.topk((q - p).abs(), min(k, p.numel())).indices
    return Effect(float(kl), ids, p[ids], q[ids])
