"""Recurrent networks written out: tanh cell, LSTM and GRU, unrolled, deep and bidirectional; gradients through time;
the cost of a pass.

Row vectors, right multiplication. A cell has G gates in torch's order (rnn: its only map; lstm: i f g o; gru: r u n),
each with W_x (d, m), W_h (m, m) and two biases; a GRU needs the second separately. N steps, input width d, m hidden
units.
"""
import functools
import math
import statistics
import timeit
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.model.attention import dot_product_scores

GATES = {"rnn": ("h",), "lstm": ("i", "f", "g", "o"), "gru": ("r", "u", "n")}
KEEPING_GATE = {"lstm": "f", "gru": "u"}      # the gate that keeps the old state
MATRICES = ("orthogonal", "gaussian")
ACTIVATIONS = ("tanh", "linear")


@dataclass(frozen=True, eq=False)
class Cell:
    """The weights of one layer in one direction, the same at every step.

    W_x (G, d, m), W_h (G, m, m), b_x and b_h (G, m).
    """

    kind: str
    W_x: Tensor
    W_h: Tensor
    b_x: Tensor
    b_h: Tensor
    activation: str = "tanh"      # only for kind "rnn"

    @property
    def n_hidden(self) -> int:
        return self.W_h.shape[-1]

    @property
    def n_parameters(self) -> int:
        return sum(weights.numel() for weights in (self.W_x, self.W_h, self.b_x, self.b_h))


@dataclass(frozen=True, eq=False)
class Steps:
    """The result of one step of a cell, or of N steps along the first axis.

    from_input and from_state (…, G, m) are the two summands of every gate, biases included; gates (…, G, m) their
    values; h (…, m) the hidden state; c (…, m) an LSTM's cell state.
    """

    from_input: Tensor
    from_state: Tensor
    gates: Tensor
    h: Tensor
    c: Tensor | None = None

    @property
    def state(self) -> Tensor:
        """(…, m), or (…, 2m) for an LSTM: the whole input of the next step but x."""
        return self.h if self.c is None else torch.cat([self.h, self.c], dim=-1)


def step(cell: Cell, x: Tensor, state: Tensor) -> Steps:
    """One step from x (…, d) and the state before it.

    Elman 1990; Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000; Cho et al. 2014.
    """
    h = state[..., :cell.n_hidden]
    from_input = torch.einsum("...d,gdm->...gm", x, cell.W_x) + cell.b_x
    from_state = torch.einsum("...k,gkm->...gm", h, cell.W_h) + cell.b_h
    if cell.kind == "rnn":
        total = from_input + from_state
        gates = torch.tanh(total) if cell.activation == "tanh" else total
        return Steps(from_input, from_state, gates, gates[..., 0, :])
    if cell.kind == "lstm":
        i, f, g, o = (from_input + from_state).unbind(-2)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        c = f * state[..., cell.n_hidden:] + i * g
        return Steps(from_input, from_state, torch.stack([i, f, g, o], dim=-2), o * torch.tanh(c), c)
    r, u = torch.sigmoid(from_input[..., :2, :] + from_state[..., :2, :]).unbind(-2)
    n = torch.tanh(from_input[..., 2, :] + r * from_state[..., 2, :])
    return Steps(from_input, from_state, torch.stack([r, u, n], dim=-2), (1 - u) * n + u * h)


def first_state(cell: Cell) -> Tensor:
    """The state before the first step: zeros, (m,) or (2m,) of an LSTM."""
    return cell.W_h.new_zeros(cell.n_hidden * (2 if cell.kind == "lstm" else 1))


def unroll(cell: Cell, X: Tensor, backward: bool = False) -> Steps:
    """All N steps over X (N, d), each from the state of the step before; `backward`: from the last input to the first.
    Row t belongs to input t.
    """
    state, steps = first_state(cell), []
    for x in (X.flip(0) if backward else X):
        steps.append(step(cell, x, state))
        state = steps[-1].state
    by_name = zip(*(vars(s).values() for s in (steps[::-1] if backward else steps)))
    return Steps(*(None if values[0] is None else torch.stack(values) for values in by_name))


def stack(layers: Sequence[Sequence[Cell]], X: Tensor) -> list[list[Steps]]:
    """A deep network over X (N, d): a list for each layer, with one or two directions. A layer reads the concatenated
    hidden states of all directions below.
    """
    unrolled = []
    for cells in layers:
        unrolled.append([unroll(cell, X, backward=bool(direction)) for direction, cell in enumerate(cells)])
        X = torch.cat([steps.h for steps in unrolled[-1]], dim=-1)
    return unrolled


# ---- weights ---------------------------------------------------------------------------------------------------------


def recurrent_matrix(kind: str, m: int, norm: float, generator: torch.Generator) -> Tensor:
    """(m, m) float64 of spectral norm `norm`: all singular values of "orthogonal" equal it, only the largest one of
    "gaussian".
    """
    random = torch.randn(m, m, generator=generator, dtype=torch.float64)
    if kind == "orthogonal":
        Q, R = torch.linalg.qr(random)
        # the signs make Q uniform over all rotations and reflections
        return norm * Q * torch.sign(torch.diagonal(R))
    return norm * random / torch.linalg.matrix_norm(random, 2)


def random_cell(kind: str, d: int, m: int, generator: torch.Generator, norm: float = 1.0, matrix: str = "orthogonal",
                keep_bias: float = 0.0, activation: str = "tanh") -> Cell:
    """An untrained cell, float64: W_x with variance 1/d, each gate's W_h a `recurrent_matrix`, biases 0, except
    `keep_bias` on the gate that keeps the old state.
    """
    gates = GATES[kind]
    W_x = torch.randn(len(gates), d, m, generator=generator, dtype=torch.float64) / math.sqrt(d)
    W_h = torch.stack([recurrent_matrix(matrix, m, norm, generator) for _ in gates])
    b_x = torch.zeros(len(gates), m, dtype=torch.float64)
    if kind in KEEPING_GATE:
        b_x[gates.index(KEEPING_GATE[kind])] = keep_bias
    return Cell(kind, W_x, W_h, b_x, torch.zeros_like(b_x), activation)


def random_stack(kind: str, d: int, m: int, n_layers: int, n_directions: int,
                 generator: torch.Generator) -> list[list[Cell]]:
    """The untrained cells of a deep network, layer by layer."""
    return [[random_cell(kind, d if layer == 0 else m * n_directions, m, generator) for _ in range(n_directions)]
            for layer in range(n_layers)]


# ---- gradients through time ------------------------------------------------------------------------------------------


def jacobians(outputs: Tensor, inputs: Tensor) -> Tensor:
    """(…, a, b) ∂outputs[…, a] / ∂inputs[…, b], in one backward pass for all a. Entries along the leading axes must be
    independent of each other.
    """
    n = outputs.shape[-1]
    units = torch.eye(n, dtype=outputs.dtype).reshape(n, *[1] * (outputs.dim() - 1), n).expand(n, *outputs.shape)
    return torch.autograd.grad(outputs, inputs, units, is_grads_batched=True)[0].movedim(0, -2)


@torch.enable_grad()
def step_jacobians(cell: Cell, X: Tensor) -> Tensor:
    """(N, S, S) the Jacobian ∂s_t[a]/∂s_{t−1}[b] of every step t by autograd, with S the width of the state."""
    states = unroll(cell, X).state
    before = torch.cat([first_state(cell)[None], states[:-1]]).detach().requires_grad_()
    return jacobians(step(cell, X, before).state, before)


def gradient_norms(cell: Cell, X: Tensor) -> Tensor:
    """(N + 1,) ‖∂h_T/∂s_t‖ by distance T − t = 0 … N, the spectral norm: the chain rule's product of the steps'
    Jacobians, from the last step back.
    """
    products = [torch.eye(first_state(cell).numel(), dtype=X.dtype)[:cell.n_hidden]]
    for jacobian in step_jacobians(cell, X).flip(0):
        products.append(products[-1] @ jacobian)
    return torch.linalg.matrix_norm(torch.stack(products), 2)


def gradient_bound(cell: Cell, X: Tensor) -> Tensor:
    """(N + 1,) an upper bound of a tanh or linear network's gradient: Π max|φ'(a_k)| · ‖W_h‖ over the steps between."""
    h = unroll(cell, X).h
    slopes = (1 - h ** 2).max(dim=-1).values if cell.activation == "tanh" else torch.ones(len(X), dtype=X.dtype)
    factors = slopes * torch.linalg.matrix_norm(cell.W_h[0], 2)
    return torch.cat([torch.ones(1, dtype=X.dtype), factors.flip(0).cumprod(0)])


def gate_path(cell: Cell, X: Tensor) -> Tensor:
    """(N + 1,) the part of a change of c that an LSTM's gates alone let through, by distance 0 … N: o_T (1 − tanh² c_T)
    Π f_s over the steps between, in the unit where it is largest. It is the chain rule without any path through W_h.
    """
    steps = unroll(cell, X)
    forget, output = (steps.gates[:, GATES["lstm"].index(name)] for name in "fo")
    kept = torch.cat([torch.ones_like(forget[:1]), forget.flip(0).cumprod(0)])
    return (output[-1] * (1 - torch.tanh(steps.c[-1]) ** 2) * kept).max(dim=-1).values


def random_head(d: int, generator: torch.Generator) -> Tensor:
    """(3, d, d) float64, untrained W_Q and W_K of variance 1/d, and W_V orthogonal of norm 1."""
    W_Q, W_K = (torch.randn(d, d, generator=generator, dtype=torch.float64) / math.sqrt(d) for _ in range(2))
    return torch.stack([W_Q, W_K, recurrent_matrix("orthogonal", d, 1.0, generator)])


def attend_last(head: Tensor, X: Tensor) -> Tensor:
    """(d_v,) the attention output at the last of N positions, which sees all: softmax(q K^T/√d_k) V."""
    W_Q, W_K, W_V = head
    return (torch.softmax(dot_product_scores(X[-1:] @ W_Q, X @ W_K), dim=-1) @ (X @ W_V))[0]


@torch.enable_grad()
def attention_gradient_norms(head: Tensor, X: Tensor) -> Tensor:
    """(N,) ‖∂o_T/∂x_t‖ by distance T − t = 0 … N − 1, by autograd through one attention layer; at distance 0 it
    includes the query.
    """
    X = X.detach().requires_grad_()
    return torch.linalg.matrix_norm(jacobians(attend_last(head, X), X), 2).flip(0)


# ---- the cost of a pass ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """Median seconds of a pass over n tokens: the tanh network, attention over all tokens at once, attention token by
    token.
    """

    n: int
    rnn: float
    attention: float
    generation: float


@torch.no_grad()
def race(lengths: Sequence[int], d: int = 64, repeats: int = 5, seed: int = 0) -> Iterator[Timing]:
    """Time a forward pass at each length on this machine; the recurrent network is torch's compiled nn.RNN."""
    generator = torch.Generator().manual_seed(seed)
    network, maps = nn.RNN(d, d, batch_first=True), torch.randn(3, d, d, generator=generator) / math.sqrt(d)
    for n in lengths:
        X = torch.randn(1, n, d, generator=generator)
        passes = (functools.partial(network, X), functools.partial(_at_once, maps, X),
                  functools.partial(_one_by_one, maps, X))
        for run in passes:
            run()
        yield Timing(n, *(statistics.median(timeit.repeat(run, number=1, repeat=repeats)) for run in passes))


def _at_once(maps: Tensor, X: Tensor) -> Tensor:
    Q, K, V = (X @ W for W in maps)
    return F.scaled_dot_product_attention(Q, K, V, is_causal=True)


def _one_by_one(maps: Tensor, X: Tensor) -> Tensor:
    """Attention as in generation: one token after the other, with cached keys and values."""
    K, V, outputs = torch.empty_like(X), torch.empty_like(X), []
    for t in range(X.shape[1]):
        x = X[:, t:t + 1]
        K[:, t:t + 1], V[:, t:t + 1] = x @ maps[1], x @ maps[2]
        outputs.append(torch.softmax(dot_product_scores(x @ maps[0], K[:, :t + 1]), dim=-1) @ V[:, :t + 1])
    return torch.cat(outputs, dim=1)
