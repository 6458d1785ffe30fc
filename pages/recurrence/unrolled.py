"""Unrolled: a recurrent network over the prompt, step by step; the path between two tokens against the single step of
attention.
"""
from bisect import bisect
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, prompts, reader
from core.base.markdown import code
from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.pattern import PATTERN_CSS
from core.figures.numbers import bracketed, latex_number, latex_operand, percent
from core.learning import recurrent_cells
from core.learning.recurrent_cells import GATES, Cell, Steps
from pages.recurrence.shared import PREFIX, attached, choice, keep, named, own_seed, read

PICTURE = f"{PREFIX}unrolled"
N_HIDDEN = 16
N_OUTPUTS = 4
HEIGHT = (300, 520)      # least and most px of the picture
LEAST_STEPS = 3          # from end to end of a path that may lose something
TINY = 1e-4              # a share below it is as good as none
SAME = (0.8, 1.25)       # a share in between is as good as all
LIMITS = (0.01, *SAME)   # shares between the options of the question
NOTE = 20                # px below the picture that present mode's bar would cover
HERE = Path(__file__).parent
# Hidden states as strips of signed colour, the same weights at every step, and the path between two tokens.
_picture = declare(
    "recurrence_unrolled", HERE / "unrolled.js",
    html='<div class="component tokens-view unrolled"></div>',
    styles=(PATTERN_CSS, HERE / "unrolled.css"))


def inputs(run: Run) -> Tensor:
    """(N, d) float64: each token's row of E scaled to a mean square of 1, so that small embeddings do not give small
    states.
    """
    X = run.model.E.detach().to("cpu")[torch.tensor(run.token_ids)].double()
    return X / X.square().mean(dim=-1, keepdim=True).sqrt().clamp_min(1e-12)


def network(run: Run, kind: str, n_layers: int, both: bool, seed: int) -> list[list[Steps]]:
    """The untrained network over the prompt, shared by all readers."""
    def make() -> list[list[Steps]]:
        X = inputs(run)
        return recurrent_cells.stack(cells(X.shape[1], kind, n_layers, both, seed), X)

    return cache.result(run.key("recurrence unrolled", kind, n_layers, both, seed), make,
                        lambda value: 8 * 16 * N_HIDDEN * len(run.token_ids) * sum(map(len, value)))


def cells(d: int, kind: str, n_layers: int, both: bool, seed: int) -> list[list[Cell]]:
    return recurrent_cells.random_stack(kind, d, N_HIDDEN, n_layers, 2 if both else 1,
                                        torch.Generator().manual_seed(seed))


def output_weights(n_directions: int, seed: int) -> Tensor:
    """V (directions · m, N_OUTPUTS), untrained like the cells, of variance 1/rows."""
    rows = n_directions * N_HIDDEN
    return torch.randn(rows, N_OUTPUTS, generator=torch.Generator().manual_seed(seed + 1),
                       dtype=torch.float64) / rows ** 0.5


def left_of(run: Run, kind: str, both: bool, seed: int, source: int) -> np.ndarray:
    """(directions, N) how much of what token `source` has changed in the first layer's state is left at each step: the
    length of the difference from the state of the same text with zeros in that token's place, as a share of its length
    right there. Shared by all readers.
    """
    def make() -> np.ndarray:
        X = inputs(run)
        silent, shares = X.index_fill(0, torch.tensor(source), 0.0), []
        for direction, cell in enumerate(cells(X.shape[1], kind, 1, both, seed)[0]):
            with_it, without = (recurrent_cells.unroll(cell, x, bool(direction)).h for x in (X, silent))
            apart = (with_it - without).norm(dim=-1)
            shares.append(apart / apart[source].clamp_min(1e-12))
        return torch.stack(shares).numpy()

    return cache.result(run.key("recurrence left", kind, both, seed, source), make, lambda value: value.nbytes)


def picked(n_layers: int, both: bool) -> dict[str, int]:
    """The picked strip and unit, clamped to the size of the network."""
    return {"layer": min(read("layer"), n_layers - 1), "direction": int(both and read("backward")),
            "step": reader.selection().position, "unit": read("unit")}


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How much of what a token has changed in the state is left at the picked step: hardly any, a part, all or more."""
    kind, both, seed, source, step = asked = _asked(run)
    if abs(step - source) < LEAST_STEPS or step < source and not both:
        return None

    def truth(_guess: int) -> Truth:
        left = float(left_of(run, kind, both, seed, source)[int(step < source), step])
        said = share_text(page, left)
        return Truth(bisect(LIMITS, left), said=said, seen=0 if left < SAME[0] else 2 if left > SAME[1] else 1,
                     values={"left": said})

    return Prediction("unrolled", Options([page.label(f"left_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"source": run.tokens[source], "target": run.tokens[step], "steps": abs(step - source),
                       "m": N_HIDDEN}, asked)


def share_text(page: Lesson, share: float) -> str:
    """A share in percent; of a tiny one only how small it is."""
    return percent(share) if share >= TINY else page.label("less_than", value=percent(TINY, 0))


def _asked(run: Run) -> tuple[str, bool, int, int, int]:
    """The guess's key: the cell, whether both ways are read, the seed, and the two ends of the path."""
    return read("cell"), bool(read("both")), int(read("seed")), source_of(run), reader.selection().position


def source_of(run: Run) -> int:
    """The token at which the path begins."""
    return min(read("from"), len(run.tokens) - 1)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        kind = choice(page, "cell")
        n_layers = int(named(page, "layers"))
        both = st.toggle(page.label("both"), help=page.label("both_help"), **attached("both"))
        seed = own_seed(page)
    layers, at = network(run, kind, n_layers, both, seed), picked(n_layers, both)
    source = source_of(run)
    shares = left_of(run, kind, both, seed, source)
    title = _title(page, run, kind, source, at["step"], shares)
    st.markdown(f"**{title}**")
    states = torch.stack([torch.stack([steps.h for steps in directions]) for directions in layers])
    V = output_weights(states.shape[1], seed)
    values = {"states": states, "outputs": torch.cat([*states[-1]], dim=-1) @ V, **_lane(layers)}
    _draw_states(page, run, values, at, source, shares)
    page.note(page.label("unrolled_note", m=N_HIDDEN, seed=seed, rows=len(layers) * len(layers[0]),
                         gates=len(GATES[kind])))
    steps = layers[at["layer"]][at["direction"]]
    lines = [*_lines(page, run, kind, steps, at), _output_line(page, layers[-1], V, at)]
    return Reading(lines, _question(page, run),
                   [recurrent_cells.step, recurrent_cells.unroll, recurrent_cells.stack],
                   {"states.csv": lambda: _table(run, states)}, ".unrolled canvas", title)


def _lane(layers: list[list[Steps]]) -> dict[str, Tensor]:
    """An LSTM's cells (L, directions, N, m) and kept (L, directions, N), the mean of the forget gate; else empty."""
    if layers[0][0].c is None:
        return dict.fromkeys(("cells", "kept"), torch.empty(0))
    forget = GATES["lstm"].index("f")
    cells, kept = (torch.stack([torch.stack([part(steps) for steps in directions]) for directions in layers])
                   for part in (lambda steps: steps.c, lambda steps: steps.gates[:, forget].mean(dim=-1)))
    return {"cells": cells, "kept": kept}


def _draw_states(page: Lesson, run: Run, values: dict[str, Tensor], at: dict[str, int], source: int,
                 shares: np.ndarray) -> None:
    """Draw the states (L, directions, N, m) over the tokens, the first layer at the bottom, the outputs (N, k) above
    them, and the path from `source`. shares: what is left of the source along it (directions, N).
    """
    n_layers, n_directions, n, m = values["states"].shape
    header = {"layers": n_layers, "directions": n_directions, "n": n, "m": m, "k": N_OUTPUTS,
              "tokens": list(run.tokens), "picked": at, "source": source, "text": page.labels("unrolled_text"),
              "least": HEIGHT[0], "most": HEIGHT[1],
              "below": NOTE if reader.present() else 0, "scale": reader.scale(), "theme": reader.theme(),
              "left_shares": shares.tolist()}
    arrays = {name: each.numpy().astype(np.float32) for name, each in values.items()}
    _picture(key=PICTURE, data=pack(header, arrays),
             events={"picked": _pick, "source": lambda source: keep(**{"from": source})})


def _pick(chosen: dict) -> None:
    """Callback: keep the strip and unit picked by a click or an arrow key."""
    keep(layer=chosen["layer"], backward=bool(chosen["direction"]), unit=chosen["unit"])
    reader.select(position=chosen["step"])


def _title(page: Lesson, run: Run, kind: str, source: int, step: int, shares: np.ndarray) -> str:
    """The kind of path from the source to the step. shares: the part left of the source (directions, N)."""
    both = len(shares) > 1
    way = "_same" if step == source else "" if step > source else "_backward" if both else "_none"
    left = float(shares[int(step < source and both), step])
    return page.label(f"unrolled_title{way}", source=code(run.tokens[source]), target=code(run.tokens[step]),
                      cell=page.label(f"network_{kind}"), steps=abs(step - source), left=share_text(page, left))


def _lines(page: Lesson, run: Run, kind: str, steps: Steps, at: dict[str, int]) -> list[tuple[str, str]]:
    """The cell's equations for one unit: each gate from its two summands, then the new state."""
    t, k = at["step"], at["unit"]
    before = t + (1 if at["direction"] else -1)     # in its direction
    old_h, old_c = (0.0 if values is None or not 0 <= before < len(values) else values[before, k]
                    for values in (steps.h, steps.c))
    gates = dict(zip(GATES[kind], steps.gates[t, :, k]))
    parts = dict(zip(GATES[kind], zip(steps.from_input[t, :, k], steps.from_state[t, :, k])))
    place = dict(token=code(run.tokens[t]), step=t, unit=k, layer=at["layer"] + 1)
    h, put = latex_number(steps.h[t, k]), latex_operand
    if kind == "rnn":
        x, s = parts["h"]
        return [(page.label("numbers_rnn", **place),
                 rf"h_t = \tanh\left(x_t W_x + h_{{t-1}} W_h + b\right) = \tanh\left({put(x)} + "
                 rf"{bracketed(put(s))}\right) = {h}")]
    lines = [(page.label(f"numbers_gate_{kind}_{name}", **place), _gate(kind, name, parts[name], gates))
             for name in GATES[kind]]
    if kind == "lstm":
        c = steps.c[t, k]
        return [*lines, (page.label("numbers_lstm_c", **place),
                         rf"c_t = f\, c_{{t-1}} + i\, g = {put(gates['f'])} \cdot {bracketed(put(old_c))} + "
                         rf"{put(gates['i'])} \cdot {bracketed(put(gates['g']))} = {latex_number(c)}"),
                (page.label("numbers_lstm_h", **place), rf"h_t = o \tanh(c_t) = {put(gates['o'])} \cdot "
                                                        rf"\tanh\left({put(c)}\right) = {h}")]
    u = gates["u"]
    return [*lines, (page.label("numbers_gru_h", **place),
                     rf"h_t = (1 - u)\, n + u\, h_{{t-1}} = (1 - {put(u)}) \cdot {bracketed(put(gates['n']))} + "
                     rf"{put(u)} \cdot {bracketed(put(old_h))} = {h}")]


def _output_line(page: Lesson, last: list[Steps], V: Tensor, at: dict[str, int]) -> tuple[str, str]:
    """Output 0 at the picked step: what the picked unit adds, and all others of the last layer."""
    t, unit, direction = at["step"], at["unit"], at["direction"]
    h = torch.cat([steps.h[t] for steps in last])
    row = direction * N_HIDDEN + unit
    whole, own = h @ V[:, 0], h[row] * V[row, 0]
    return (page.label("numbers_output", step=t, unit=unit),
            rf"y_{{t,0}} = h_{{t,{row}}}\, V_{{{row},0}} + \textstyle\sum_{{j \ne {row}}} h_{{t,j}}\, V_{{j,0}} = "
            rf"{latex_operand(h[row])} \cdot {bracketed(latex_operand(V[row, 0]))} + "
            rf"{bracketed(latex_operand(whole - own))} = {latex_number(whole)}")


def _gate(kind: str, name: str, parts: tuple[Tensor, Tensor], gates: dict[str, Tensor]) -> str:
    """The formula of one gate: σ or tanh of the input's part plus the state's, which the GRU's candidate n multiplies
    by r.
    """
    x, s = latex_operand(parts[0]), bracketed(latex_operand(parts[1]))
    if kind == "gru" and name == "n":
        return (rf"n = \tanh\left(a_x + r\, a_h\right) = \tanh\left({x} + {latex_operand(gates['r'])} \cdot {s}\right) "
                rf"= {latex_number(gates['n'])}")
    function = r"\tanh" if name == "g" else r"\sigma"
    return (rf"{name} = {function}\left(a_x + a_h\right) = {function}\left({x} + {s}\right) = "
            rf"{latex_number(gates[name])}")


def _question(page: Lesson, run: Run) -> Question:
    """Ask which cell keeps most of the source at the picked step; without a path, of the first token of
    the app's own prompt at its last.
    """
    _, both, seed, source, step = _asked(run)
    if step == source or step < source and not both:
        run = run.with_text(prompts.default_prompt())
        source, step = 0, len(run.tokens) - 1
    left = {kind: float(left_of(run, kind, both, seed, source)[int(step < source), step]) for kind in GATES}
    names = {kind: page.label(f"network_{kind}") for kind in left}
    return page.question("keeps", list(names.values()), list(left).index(max(left, key=left.get)),
                         source=run.tokens[source], target=run.tokens[step], steps=abs(step - source),
                         shares=", ".join(f"{names[kind]}: {share_text(page, share)}" for kind, share in left.items()))


def _table(run: Run, states: Tensor) -> pd.DataFrame:
    """The hidden states, a row for each layer, direction and step."""
    return pd.DataFrame(
        [{"layer": layer + 1, "direction": "backward" if direction else "forward", "step": t, "token": run.tokens[t]}
         | {f"h{k}": value for k, value in enumerate(states[layer, direction, t].tolist())}
         for layer, direction, t in np.ndindex(states.shape[:3])])
