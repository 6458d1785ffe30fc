"""Muon for the maps of the blocks, and AdamW for all other parameters, as one optimizer."""
from collections.abc import Sequence

import torch
from torch import Tensor, nn

PER_HEAD = ("W_Q", "W_K", "W_V")


class Muon:
    """torch.optim.Muon (Jordan et al. 2024), which turns the mean gradient of a matrix into the nearest orthogonal one,
    so that a step changes all directions alike. It takes matrices alone: the maps of all heads become one, and are
    written back after each step. Its steps have the size of AdamW's, so that both share a learning rate.

    maps: (name, parameter) of the W matrices, with weight decay; others: all other parameters, without.
    """

    def __init__(self, maps: Sequence[tuple[str, nn.Parameter]], others: Sequence[nn.Parameter], learning_rate: float,
                 weight_decay: float, betas: tuple[float, float]) -> None:
        self.maps = maps
        self.matrices = [nn.Parameter(as_matrix(name, p).clone()) for name, p in maps]
        self.parts = (torch.optim.Muon(self.matrices, learning_rate, weight_decay, adjust_lr_fn="match_rms_adamw"),
                      torch.optim.AdamW(others, learning_rate, betas, weight_decay=0.0, fused=True))

    @property
    def param_groups(self) -> list[dict]:
        return [group for part in self.parts for group in part.param_groups]

    def zero_grad(self) -> None:
        self.parts[1].zero_grad()
        for _, p in self.maps:
            p.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for (name, p), matrix in zip(self.maps, self.matrices):
            matrix.copy_(as_matrix(name, p))                        # another than at the last step in a run just loaded
            matrix.grad = None if p.grad is None else as_matrix(name, p.grad)
        for part in self.parts:
            part.step()
        for (name, p), matrix in zip(self.maps, self.matrices):
            p.copy_(from_matrix(name, matrix, p.shape))

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
    """The map of this shape of which as_matrix made `matrix`."""
    if len(shape) == 2 or leaf(name) not in PER_HEAD:
        return matrix.view(shape)
    h, d, d_k = shape
    return matrix.view(d, h, d_k).transpose(0, 1)


def leaf(name: str) -> str:
    return name.rsplit(".", 1)[-1]
