"""Muon for the maps of the blocks, and AdamW for all other parameters, as one optimizer."""
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

PER_HEAD = ("W_Q", "W_K", "W_V")
MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.775, 2.0315)        # Jordan's: five rounds bring any singular value near 1
ROUNDS = 5
SIZE = 0.2                                      # root mean square of a step, as found for AdamW (Liu et al. 2025)


def orthogonalised(G: Tensor) -> Tensor:
    """The nearest orthogonal matrix to G (m, n), roughly: its singular values become 0.7 to 1.2, its directions stay.

    Source: Jordan et al. 2024. In float32, unlike torch.optim.Muon: many CPUs only emulate bfloat16, and a step of
    `stories-small` then takes 9 s instead of 1.
    """
    a, b, c = NEWTON_SCHULZ
    X = G.T if G.shape[0] > G.shape[1] else G
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(ROUNDS):
        gram = X @ X.T
        X = a * X + (b * gram + c * gram @ gram) @ X
    return X.T if G.shape[0] > G.shape[1] else X


class MatrixSteps(torch.optim.Optimizer):
    """Steps that change all directions of a matrix alike; the maps of all heads count as one matrix.

    maps: (name, parameter) of the W matrices. Each step follows the orthogonalised mean of the gradients, in which the
    last counts most (Nesterov), and has the size of AdamW's steps, so that both share a learning rate.
    """

    def __init__(self, maps: Sequence[tuple[str, nn.Parameter]], learning_rate: float, weight_decay: float) -> None:
        names, parameters = zip(*maps)
        super().__init__([dict(params=parameters, names=names)], dict(lr=learning_rate, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for name, p in zip(group["names"], group["params"]):
                if p.grad is not None:
                    self._move(name, p, group["lr"], group["weight_decay"])

    def _move(self, name: str, p: nn.Parameter, rate: float, weight_decay: float) -> None:
        momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
        momentum.lerp_(p.grad, 1 - MOMENTUM)
        G = as_matrix(name, p.grad.lerp(momentum, MOMENTUM))
        p.mul_(1 - rate * weight_decay)
        p.sub_(from_matrix(name, orthogonalised(G), p.shape), alpha=SIZE * rate * math.sqrt(max(G.shape)))


class Muon:
    """MatrixSteps for `maps`, with weight decay, and AdamW for `others`, without, under one learning rate."""

    def __init__(self, maps: Sequence[tuple[str, nn.Parameter]], others: Sequence[nn.Parameter], learning_rate: float,
                 weight_decay: float, betas: tuple[float, float]) -> None:
        self.parts = (MatrixSteps(maps, learning_rate, weight_decay),
                      torch.optim.AdamW(others, learning_rate, betas, weight_decay=0.0, fused=True))

    @property
    def param_groups(self) -> list[dict]:
        return [group for part in self.parts for group in part.param_groups]

    def zero_grad(self) -> None:
        for part in self.parts:
            part.zero_grad()

    def step(self) -> None:
        for part in self.parts:
            part.step()

    def state_dict(self) -> dict:
        return {"muon": self.parts[0].state_dict(), "adamw": self.parts[1].state_dict()}

    def load_state_dict(self, state: dict) -> None:
        for part, saved in zip(self.parts, state.values()):
            part.load_state_dict(saved)


def as_matrix(name: str, p: Tensor) -> Tensor:
    """The map of all heads as one matrix: (d, h · d_k) of W_Q, W_K and W_V (h, d, d_k); (h · d_v, d) of W_O
    (h, d_v, d); others as they are.
    """
    if p.ndim == 2:
        return p
    return p.transpose(0, 1).flatten(1) if leaf(name) in PER_HEAD else p.flatten(0, 1)


def from_matrix(name: str, matrix: Tensor, shape: torch.Size) -> Tensor:
    """The map of this shape from which as_matrix made `matrix`."""
    if len(shape) == 2 or leaf(name) not in PER_HEAD:
        return matrix.reshape(shape)
    h, d, d_k = shape
    return matrix.view(d, h, d_k).transpose(0, 1)


def leaf(name: str) -> str:
    return name.rsplit(".", 1)[-1]
