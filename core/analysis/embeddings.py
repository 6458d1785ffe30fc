"""Measures of an embedding matrix E (|V|, d), one row a token: the row that a one-hot vector picks, neighbours,
principal axes, word arithmetic, and the path of one token's vector through the blocks.

Pure functions, tensors in and tensors out. Ranks count from 1, ties go to the lower id.
"""
from collections.abc import Collection
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.analysis.stream_and_heads import norms
from core.model.trace import Trace

MEASURES = ("cosine", "dot", "distance")
# matrices of more numbers than LARGE are decomposed by their covariance, summed over ROWS rows at a time
LARGE, ROWS = 4_000_000, 8192


# ---- a one-hot row times E -------------------------------------------------------------------------------------------


def one_hot(token_ids: Tensor, vocab_size: int) -> Tensor:
    """(N, |V|) a row for each token: 1 in the column of its id, 0 in all others.

    >>> one_hot(torch.tensor([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    return F.one_hot(token_ids, vocab_size).to(torch.float32)


def embed(token_ids: Tensor, E: Tensor) -> Tensor:
    """(N, d) the embeddings of token_ids (N,) as the product of their one-hot rows with E (|V|, d): row i is
    E[token_ids[i]].
    """
    return one_hot(token_ids, len(E)).to(E) @ E


# ---- neighbours ------------------------------------------------------------------------------------------------------


def centred(vectors: Tensor) -> Tensor:
    """The rows of `vectors` (n, d) less their mean."""
    return vectors - vectors.mean(0)


def similarity(E: Tensor, vector: Tensor, measure: str = "cosine", lengths: Tensor | None = None) -> Tensor:
    """How near `vector` (d,) is to each row of E: (|V|,), larger is nearer.

    measure: "cosine", "dot" (the product) or "distance" (negated, −‖E_i − v‖); ValueError for any other. lengths: the
    norms of the rows of E (|V|,), if they are known.
    """
    if measure not in MEASURES:
        raise ValueError(f"Nearness is measured by {', '.join(MEASURES)}, not {measure!r}.")
    if measure == "distance":
        return -norms(E - vector)
    products = E @ vector
    return (products if measure == "dot"
            else (products / ((norms(E) if lengths is None else lengths) * norms(vector))).nan_to_num(0.0).clamp(-1, 1))


def nearest_rows(E: Tensor, vectors: Tensor, lengths: Tensor) -> Tensor:
    """(...,) int64: the row of E that is nearest by cosine to each of `vectors` (..., d), all in one product. lengths
    (|V|,): the norms of the rows of E.
    """
    return ((vectors.to(E.dtype) @ E.T) / lengths).nan_to_num(0.0).argmax(-1)


def nearest(scores: Tensor, leave_out: Collection[int] = ()) -> Tensor:
    """The token ids in the order of falling scores (|V|,), without those of `leave_out`.

    >>> nearest(torch.tensor([0.1, 0.9, 0.5]), leave_out=[1]).tolist()
    [2, 0]
    """
    order = torch.sort(scores, descending=True, stable=True).indices
    return order[~torch.isin(order, torch.tensor(sorted(leave_out), dtype=torch.int64))]


def rank(scores: Tensor, token_id: int, leave_out: Collection[int] = ()) -> int | None:
    """The rank of a token by falling score, 1 the highest; None if `leave_out` contains the token itself.

    >>> rank(torch.tensor([0.1, 0.9, 0.5]), 0), rank(torch.tensor([0.1, 0.9, 0.5]), 0, leave_out=[1])
    (3, 2)
    """
    places = torch.nonzero(nearest(scores, leave_out) == token_id)
    return int(places[0]) + 1 if len(places) else None


# ---- principal axes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Projection:
    """An orthogonal projection onto the axes along which some vectors differ most."""

    mean: Tensor      # (d,)
    axes: Tensor      # (k, d) orthonormal rows, the strongest first; the largest entry of each is positive
    # (min(n, d),) each axis's share of the variance, falling, with a sum of 1 (zeros where nothing varies)
    shares: Tensor

    def __call__(self, vectors: Tensor) -> Tensor:
        """(..., k) the coordinates of vectors (..., d)."""
        return (vectors - self.mean) @ self.axes.T

    @property
    def kept(self) -> float:
        """The share of the variance that the k axes keep."""
        return float(self.shares[:len(self.axes)].sum())


def principal_axes(vectors: Tensor, k: int) -> Projection:
    """The k principal axes of vectors (n, d): PCA by a singular value decomposition in float64, with fixed signs, so
    that every run gives the same picture.

    A large matrix with n > d is decomposed by the eigenvectors of its d × d covariance, summed over some rows at a
    time: a hundredth of the work, and no copy in float64.
    """
    if vectors.numel() > LARGE and len(vectors) > vectors.shape[1]:
        mean, power, axes = _of_covariance(vectors)
    else:
        vectors = vectors.double()
        mean, (_, singular, axes) = vectors.mean(0), torch.linalg.svd(centred(vectors), full_matrices=False)
        power = singular ** 2
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    return Projection(mean, (axes * torch.where(largest < 0, -1.0, 1.0))[:k],
                      power / power.sum().clamp(min=torch.finfo(power.dtype).tiny))


def _of_covariance(vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The mean (d,), n times the variance along each axis (d,), falling, and the axes (d, d) as rows, float64."""
    mean = sum(part.double().sum(0) for part in vectors.split(ROWS)) / len(vectors)
    covariance = sum((part.double() - mean).T @ (part.double() - mean) for part in vectors.split(ROWS))
    power, axes = torch.linalg.eigh(covariance)
    return mean, power.flip(0).clamp(min=0.0), axes.T.flip(0)


# ---- word arithmetic -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Analogy:
    """a is to b as c is to what? The answer is sought next to E_b − E_a + E_c, by cosine."""

    inputs: tuple[int, int, int]   # a, b, c
    expected: int
    vector: Tensor                 # (d,) E_b − E_a + E_c
    scores: Tensor                 # (|V|,) its cosine with every row of E
    rank: int                      # of the expected token among the whole vocabulary
    # the same with a, b and c left out, as most demonstrations do; None if the expected token is one of them
    rank_without_inputs: int | None
    # its rank among the neighbours of c alone, with a, b and c left out: the baseline without arithmetic
    rank_beside_c: int | None


def analogy(E: Tensor, a: int, b: int, c: int, expected: int, lengths: Tensor | None = None) -> Analogy:
    """The rank of an expected answer over the whole vocabulary, E (|V|, d), with and without the three inputs.
    lengths: as in `similarity`.
    """
    lengths = norms(E) if lengths is None else lengths
    vector = E[b] - E[a] + E[c]
    scores, inputs = similarity(E, vector, lengths=lengths), (a, b, c)
    return Analogy(inputs, expected, vector, scores, rank(scores, expected), rank(scores, expected, inputs),
                   rank(similarity(E, E[c], lengths=lengths), expected, inputs))


# ---- a vector in its context -----------------------------------------------------------------------------------------


def path(E: Tensor, trace: Trace, position: int) -> Tensor:
    """(L + 2, d) the path of one token's vector: its row of E, then the stream at the entry of block 0 (with the
    position added), ..., after block L − 1.
    """
    stream = [resid[position] for resid in trace.depths]
    return torch.stack([E[trace.token_ids[position]].to(stream[0]), *stream])


def shared_tokens(first: Collection[int], second: Collection[int]) -> list[int]:
    """The token ids that occur in both texts, in the order of their last occurrence in the first.

    >>> shared_tokens([0, 5, 7, 5, 9], [0, 9, 5])
    [0, 5, 9]
    """
    in_both = [i for i in first if i in set(second)]
    return list(reversed(dict.fromkeys(reversed(in_both))))
