"""Back propagation by hand: a network with ten weights, its gradient by the chain rule, by autograd and by finite
differences, and steps of gradient descent on it.

    x [2] · W [2 × 2] = z,  h = f(z),  h · V [2 × 3] = u,  p = softmax(u),  L = −Σ y ln p,  y = 1 at the true token

The picture of the lesson computes the same in the browser (pages/training/backprop_work.js).
"""
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

N_INPUTS, N_HIDDEN, N_TOKENS = 2, 2, 3
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
OPTIMIZERS = ("sgd", "adam")
# the numbers of a network, in the order in which they are written down
NAMES = (*(f"x{i}" for i in (1, 2)), *(f"w{i}{j}" for i in (1, 2) for j in (1, 2)),
         *(f"v{j}{k}" for j in (1, 2) for k in (1, 2, 3)))
WEIGHTS = NAMES[N_INPUTS:]
FURTHEST = 1e6          # descent ends when a weight is larger
EPSILON = 1e-4          # of a quotient of differences
LEAST_Z = 0.1           # the least size of z in a drawn network


@dataclass(frozen=True)
class Net:
    """The inputs and weights of a network, in the order of NAMES, its activation and the place of the true token."""

    numbers: tuple[float, ...]
    true: int = 0
    activation: str = "tanh"


@dataclass(frozen=True, eq=False)
class Pass:
    """The results of a forward pass: z and h (2,), u and p (3,), and the loss L in nats."""

    z: Tensor
    h: Tensor
    u: Tensor
    p: Tensor
    loss: Tensor


def drawn(seed: int) -> tuple[float, ...]:
    """Random inputs and weights with one decimal; neither they nor a z are 0, where ReLU has no derivative."""
    dice = torch.Generator().manual_seed(seed)
    while True:
        sizes, signs = (torch.randint(low, high, (len(NAMES),), generator=dice) for low, high in ((2, 16), (0, 2)))
        numbers = sizes / 10 * (2 * signs - 1)
        x, W, _ = parts(numbers)
        if float((x @ W).abs().min()) > LEAST_Z:
            return tuple(round(float(value), 1) for value in numbers)


def parts(numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x (2,), W (2, 2) and V (2, 3) of the numbers (12,)."""
    x, W, V = numbers.split((N_INPUTS, N_INPUTS * N_HIDDEN, N_HIDDEN * N_TOKENS))
    return x, W.reshape(N_INPUTS, N_HIDDEN), V.reshape(N_HIDDEN, N_TOKENS)


def forward(net: Net, numbers: Tensor) -> Pass:
    """The pass through the network with these numbers (12,) in place of its own."""
    x, W, V = parts(numbers)
    z = x @ W
    h = ACTIVATIONS[net.activation](z)
    u = h @ V
    log_p = u.log_softmax(-1)
    return Pass(z, h, u, log_p.exp(), -log_p[net.true])


def backward(net: Net) -> dict[str, Tensor]:
    """The derivatives of the loss by u, V, h, z, W and x, in this order: each comes from the one before it."""
    numbers = torch.tensor(net.numbers, dtype=torch.float64)
    x, W, V = parts(numbers)
    found = forward(net, numbers)
    y = torch.eye(N_TOKENS, dtype=torch.float64)[net.true]
    slope = 1 - found.h ** 2 if net.activation == "tanh" else (found.z > 0).double()
    d_u = found.p - y
    d_V = torch.outer(found.h, d_u)
    d_h = V @ d_u
    d_z = d_h * slope
    d_W = torch.outer(x, d_z)
    d_x = W @ d_z
    return {"u": d_u, "V": d_V, "h": d_h, "z": d_z, "W": d_W, "x": d_x}


def by_chain_rule(net: Net) -> list[float]:
    """The derivatives by all numbers, in the order of NAMES."""
    found = backward(net)
    return torch.cat([found[name].flatten() for name in ("x", "W", "V")]).tolist()


def by_autograd(net: Net) -> list[float]:
    """The same by torch, which keeps what each operation of the forward pass needs on the way back."""
    numbers = torch.tensor(net.numbers, dtype=torch.float64, requires_grad=True)
    forward(net, numbers).loss.backward()
    return numbers.grad.tolist()


def by_differences(net: Net) -> list[float]:
    """The same by moving one number after another up and down: two passes for each number."""
    numbers = torch.tensor(net.numbers, dtype=torch.float64)
    moves = EPSILON * torch.eye(len(NAMES), dtype=torch.float64)
    return [float(forward(net, numbers + move).loss - forward(net, numbers - move).loss) / (2 * EPSILON)
            for move in moves]


def descend(net: Net, optimizer: str, rate: float, n: int) -> list[Net]:
    """The network before and after each of n steps of torch's optimizer on its weights; the inputs stay. Shorter if the
    weights diverge.
    """
    numbers = torch.tensor(net.numbers, dtype=torch.float64)
    x, weights = numbers[:N_INPUTS], numbers[N_INPUTS:].clone().requires_grad_()
    stepper = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer]([weights], lr=rate)
    nets = [net]
    for _ in range(n):
        stepper.zero_grad()
        forward(net, torch.cat((x, weights))).loss.backward()
        stepper.step()
        if not bool((weights.detach().abs() < FURTHEST).all()):
            break
        nets.append(replace(net, numbers=(*net.numbers[:N_INPUTS], *weights.tolist())))
    return nets
