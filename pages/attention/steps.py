"""Steps: every number of one head for one query, from its vectors to its contribution to the stream."""
import functools
import math

import numpy as np
import pandas as pd
from torch import Tensor

from core.analysis.arrays import to_numpy
from core.analysis.attention_steps import Steps, head_steps, is_scaled, simple_steps
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.app.state.run import select, selection
from core.base.markdown import code
from core.components import addresses
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument
from core.figures.heads import head_name, product_latex, scaled_latex
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, plain_number, probability
from core.model import attention, positional
from core.model.block import Block
from core.model.config import ModelConfig
from core.model.normalisation import norm_statistics
from core.model.norms import Norm
from core.model.trace import BlockTrace
from pages.attention import weights_route
from pages.attention.shared import PREFIX, STAGES, keep, picked_block, read

WINDOW, WINDOW_PRESENT = 12, 8     # keys that are shown one by one
BEHIND = 2                         # of these, keys after the query, which the mask hides
LEAST_KEYS, HALF = 3, 0.5          # of a question about a row's largest weight; half of the row's weight
LEAST_QUERY = 2                    # with this many tokens before it: itself, the one before and the first differ
ELSEWHERE = 3                      # the option of a question: none of these three
EVEN = 1.5                         # times the share that every key would have: below it a row is even
TERMS = 3             # written-out terms of a sum
KEPT = ("step", "key", "component", "variant")
PICTURE = f"{PREFIX}steps_instrument"
# Vectors as strips with every number and its calculation, all in the browser; it asks weights_route for the weights
# behind a number that a reader opens.
_picture = instrument("attention_steps", __file__)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """At what kind of place the picked query puts its largest weight: on itself, on the token before, on the first."""
    chosen = selection(run)
    i, name = chosen.position, head_name(chosen.layer, chosen.head)
    n = int(run.trace.blocks[chosen.layer].allowed[i].sum())
    if n < LEAST_KEYS or i < LEAST_QUERY or read("variant") != "head":
        return None

    def truth(_: int) -> Truth:
        weights = run.trace.blocks[chosen.layer].pattern[chosen.head, i]
        most, best = float(weights.max()), int(weights.argmax())
        return Truth({i: 0, i - 1: 1, 0: 2}.get(best, ELSEWHERE), said=percent(most),
                     seen=0 if most >= HALF else 2 if most < EVEN / n else 1,
                     values={"key": run.tokens[best], "share": percent(most), "even": percent(1 / n)})

    return Prediction("steps", Options([*page.labels("guess_steps").values()]), truth,
                      {"head": name, "token": run.tokens[i], "n": n}, (name, i))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    block, weights = picked_block(run)
    chosen, variant = selection(run), read("variant")
    i, name = chosen.position, head_name(chosen.layer, chosen.head)
    both = {"head": head_steps(block, weights, chosen.head, i), "simple": on_the_stream(block, i)}
    keys = window(len(run.tokens), i, WINDOW_PRESENT if reader.present() else WINDOW, both_ways=run.is_encoder)
    header, arrays = _message(page, run, both, keys)
    _picture(key=PICTURE, data=pack(header, arrays), on_settings=_settled,
             events={"picked": lambda picked: select(run, **picked)})
    steps = both[variant]
    key, best = picked_key(steps, keys, i), int(steps.weights.argmax())
    alpha = probability(float(steps.weights[best]))
    functions = [attention.dot_product_scores, head_steps] if variant == "head" else [simple_steps]
    table = weights_table(page, run, steps)
    return Reading(numbers(page, run, block, steps, weights, key, variant),
                   question(page, run, block, chosen.head, i), [*functions, attention.masked_softmax],
                   {"weights.csv": lambda: table, "products.csv": lambda: products_table(steps, key),
                    "values.csv": lambda: values_table(run, steps)},
                   ".instrument .picture",
                   page.label(f"steps_twin_{variant}", query=code(run.tokens[i]), i=i, answering=code(run.tokens[best]),
                              j=best, alpha=alpha, head=name, layer=chosen.layer),
                   table, {page.label("pin_head"): name, "i": str(i), page.label("pin_key"): str(best), "α": alpha})


def on_the_stream(block: BlockTrace, query: int) -> Steps:
    """The simple variant on the vectors that enter the block, divided by √d: d numbers make products so large that the
    query's own key would take all the weight.
    """
    return simple_steps(block.resid_pre, query, block.allowed[query], divided=True)


def _settled(settings: dict) -> None:
    """Callback: keep the settings of the picture, sent when the hand rests."""
    keep(**{name: settings[name] for name in KEPT if name in settings})


def window(n: int, query: int, most: int = WINDOW, both_ways: bool = False) -> range:
    """The positions of up to `most` keys that are shown one by one: all, or those before the query, the query itself
    and BEHIND after it; as many after as before if both_ways, in a model that sees them.

    >>> window(8, 3), window(40, 39), window(40, 20), window(40, 2), window(40, 20, both_ways=True)
    (range(0, 8), range(28, 40), range(11, 23), range(0, 12), range(14, 26))
    """
    end = min(n, max(most, query + (most // 2 if both_ways else 1 + BEHIND)))
    return range(max(0, end - most), end)


def picked_key(steps: Steps, keys: range, query: int) -> int:
    """The key that the reader has picked, if it is shown; else, once there are weights, the shown key with the largest
    one, and the query's own before.
    """
    if read("key") in keys:
        return read("key")
    if STAGES.index(read("step")) < STAGES.index("softmax"):
        return query
    return keys[int(steps.weights[keys.start:keys.stop].argmax())]


def stages(weights: Block, variant: str) -> list[str]:
    """The names of the steps that this model's attention has, or those of the simple variant, in their order."""
    config = weights.config
    absent = {"mask": config.mask_of(weights.layer) == "bidirectional"}
    if variant == "simple":
        return [stage for stage in ("x", "dot", "scale", "mask", "softmax", "sum") if not absent.get(stage)]
    absent |= {"norm": weights.q_norm is None, "turn": not turns(weights) and weights.W_S is None,
               "scale": not is_scaled(weights), "cap": not config.scores.score_cap,
               "bias": config.positions not in ("alibi", "relative")}
    return [stage for stage in STAGES if not absent.get(stage)]


def turns(weights: Block) -> bool:
    """Whether this block turns its queries and keys by rotary positions."""
    config = weights.config
    return config.positions == "rotary" and config.rotary.base_of(weights.layer) > 0


def _outside(steps: Steps, keys: range) -> tuple[dict, np.ndarray]:
    """The keys outside the window in sum: of their exponentials, and of e^(s − m) v_j (d_v,)."""
    outside = np.ones(len(steps.allowed), bool)
    outside[keys.start:keys.stop] = False
    e = to_numpy(steps.exponentials) * outside
    return {"top": steps.top, "sum": float(e.sum())}, e @ to_numpy(steps.V)


def _message(page: Lesson, run: Run, both: dict[str, Steps], keys: range) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of the component."""
    block, weights = picked_block(run)
    config, chosen, n = weights.config, selection(run), len(run.tokens)
    rest = {name: _outside(steps, keys) for name, steps in both.items()}
    arrays = vectors(block, weights, both["head"], chosen.head, chosen.position, keys)
    arrays |= {f"rest_{name}": carried.astype(np.float32) for name, (_, carried) in rest.items()}
    header = {
        "labels": words(page, config, chosen.layer), "present": reader.present(),
        "settings": {name: read(name) for name in KEPT},
        "chosen": {name: getattr(chosen, name) for name in ("layer", "head", "position")},
        "options": {"layer": list(map(str, range(config.n_layers))), "head": list(map(str, range(config.n_heads))),
                    "position": [f"{i} {token}" for i, token in enumerate(run.tokens)]},
        "variantNames": list(both), "stageNames": {name: stages(weights, name) for name in both},
        "window": list(keys), "tokens": [run.tokens[j] for j in keys],
        "sizes": {"n": n, "d": config.d_model, "d_k": config.d_k, "d_v": config.d_v},
        "score": config.score, "scaled": is_scaled(weights), "sink": both["head"].sink,
        **transforms(weights),
        "path": addresses.live(weights_route.NAME), "question": weights_route.question(run, chosen.layer, chosen.head),
        "rest": {name: outside for name, (outside, _) in rest.items()}
                | {"count": n - len(keys), "name": rest_name(n, keys)},
    }
    return header, arrays


def vectors(block: BlockTrace, weights: Block, full: Steps, head: int, query: int,
            keys: range) -> dict[str, np.ndarray]:
    """The vectors behind the numbers of a window, float32: its keys and the query as they leave the projections (q_raw,
    K_raw) and as they enter the scores (q, K).
    """
    config, rows = weights.config, slice(keys.start, keys.stop)
    shared = head // (config.n_heads // config.n_kv_heads)
    matrices = {"X": block.X[rows], "stream": block.resid_pre[rows], "q_raw": block.Q[head, query],
                "K_raw": block.K[shared, rows], "q": full.q, "K": full.K[rows], "V": block.V[shared, rows],
                "bias": full.bias[rows], "written": full.written, "allowed": block.allowed[rows, rows],
                "Q": block.Q_rotated[head, rows], "A": block.pattern[head, rows, rows], "O": block.head_out[head, rows]}
    matrices |= {} if weights.v_S is None else {"v_S": weights.v_S[head]}
    if weights.q_norm is not None:
        for name, norm, x, own, at in (("q", weights.q_norm, block.Q, head, [query]),
                                       ("k", weights.k_norm, block.K, shared, list(keys))):
            mean, scale = statistics(x, norm, config, own)
            matrices |= {f"{name}_gain": gains(norm, config, own), f"{name}_mean": mean[at], f"{name}_scale": scale[at]}
    return {name: matrix.detach().float().cpu().numpy() for name, matrix in matrices.items()}


def gains(norm: Norm, config: ModelConfig, head: int) -> Tensor:
    """(d_k,) the gains of one head's queries or keys: its own, where the model has some for each head."""
    own = config.sublayer.qk_norm_joint or config.sublayer.qk_norm_heads
    return norm.weight.reshape(-1, config.d_k)[head if own else 0]


def statistics(x: Tensor, norm: Norm, config: ModelConfig, head: int) -> tuple[Tensor, Tensor]:
    """(N,), (N,) float64: the number subtracted from the components of one head's queries or keys x (h, N, d_k), and
    the divisor of the rest, ε included: 0, and each vector's own root mean square or that of all heads of its token
    together; or, if each head has a norm, the vector's mean and standard deviation.
    """
    normed = x.transpose(0, 1).flatten(1) if config.sublayer.qk_norm_joint else x[head]
    kind = "layernorm" if config.sublayer.qk_norm_heads else "rmsnorm"
    mean, scale = norm_statistics(normed.double(), kind, norm.epsilon)
    return mean[:, 0], scale[:, 0]


def transforms(weights: Block) -> dict:
    """The parameters that turn q_raw and K_raw into q and K, and products into scores: ε of the norm of queries and
    keys (None: there is none), the angle of each rotated pair at position 1 and the factor of its turn, the divisor of
    the products, and the cap (0: none).
    """
    config = weights.config
    return {"norm": None if weights.q_norm is None else {"epsilon": weights.q_norm.epsilon,
                                                         "joint": config.sublayer.qk_norm_joint,
                                                         "heads": config.sublayer.qk_norm_heads},
            "angles": _frequencies(weights) if turns(weights) else [], "turn_gain": config.rotary.rotary_gain,
            "divisor": config.divisor, "cap": config.scores.score_cap}


def _frequencies(weights: Block) -> list[float]:
    """The angle of each pair of this block's rotary positions at position 1, in radians."""
    return positional.block_frequencies(weights.config.rotary, weights.config.d_k, weights.layer).tolist()


def words(page: Lesson, config: ModelConfig, layer: int) -> dict[str, str]:
    """The component's labels for one block; a label with a suffix that holds for this model replaces the usual one."""
    labels, group = page.labels("steps"), config.n_heads // config.n_kv_heads
    holds = {"bare": not config.attention_bias, "stream": not config.reads_normed,
             "joint": config.sublayer.qk_norm_joint, "heads": config.sublayer.qk_norm_heads,
             "part": config.rotary_width < config.d_k,
             "window": config.mask_of(layer) == "sliding-window"}
    for name in filter(holds.get, holds):
        labels |= {key.removesuffix(f"_{name}"): text for key, text in labels.items() if key.endswith(f"_{name}")}
    if group > 1:
        labels["note"] += f" {labels['grouped']}"
    values = {"window": config.scores.window, "turned": config.rotary_width, "d_k": config.d_k, "group": group}
    return {key: functools.reduce(lambda text, name: text.replace(f"{{{name}}}", str(values[name])), values, text)
            for key, text in labels.items()}


def rest_name(n: int, keys: range) -> str:
    """The positions outside the window as a name: "0–13", or "0–13, 26–39".

    >>> rest_name(40, range(14, 26)), rest_name(26, range(14, 26)), rest_name(9, range(9))
    ('0–13, 26–39', '0–13', '')
    """
    parts = [(0, keys.start - 1), (keys.stop, n - 1)]
    return ", ".join(f"{first}–{last}" if last > first else str(first) for first, last in parts if last >= first)


# ---- in numbers ------------------------------------------------------------------------------------------------------


def numbers(page: Lesson, run: Run, block: BlockTrace, steps: Steps, weights: Block, j: int,
            variant: str) -> list[tuple[str, str]]:
    """The calculation for one key, and for one component of the output.

    Numbers that are used again have more digits, so that a calculator arrives at the same four.
    """
    i, d_k = selection(run).position, len(steps.q)
    simple, additive = variant == "simple", variant == "head" and weights.v_S is not None
    q, k = to_numpy(steps.q), to_numpy(steps.K[j])
    pairs = zip(to_numpy(weights.v_S[selection(run).head]), np.tanh(q + k)) if additive else zip(q, k)
    terms = [rf"({latex_number(a)})({latex_number(b)})" for a, b in list(pairs)[:TERMS]] + [r"\cdots"] * (d_k > TERMS)
    symbol = rf"x_{{{i}}} \cdot x_{{{j}}}" if simple else product_latex(weights.config, i, j)
    product, score = float(steps.products[j]), float(steps.scores[j])
    lines = [] if simple else _key_lines(page, block, steps, weights, j, selection(run).head)
    lines += [(page.label("numbers_dot", query=code(run.tokens[i]), answering=code(run.tokens[j]), i=i, j=j, n=d_k),
               rf"{symbol} = {' + '.join(terms)} = {latex_operand(product)}")]
    divided = (rf"\frac{{{latex_operand(product)}}}{{\sqrt{{{d_k}}}}}" if simple
               else scaled_latex(latex_operand(product), weights.config))
    added = f" + {bracketed(latex_operand(steps.bias[j]))}" if bool((steps.bias != 0).any()) else ""
    if divided != latex_operand(product) or added:
        lines.append((page.label("numbers_score"), rf"s_{{{i},{j}}} = {divided}{added} = {latex_operand(score)}"))
    return lines + _softmax_lines(page, steps, i, j, score) + _output_lines(page, steps, i)


def _key_lines(page: Lesson, block: BlockTrace, steps: Steps, weights: Block, j: int,
               head: int) -> list[tuple[str, str]]:
    """One component of the key on its way to the score: normed, and rotated with the other component of its pair, in
    a model that does so.
    """
    config, c = weights.config, read("component") % len(steps.q)
    shared, lines = head // (config.n_heads // config.n_kv_heads), []
    k = to_numpy(block.K[shared, j])
    if weights.k_norm is not None:
        gain = to_numpy(gains(weights.k_norm, config, shared))
        mean, scale = (float(each[j]) for each in statistics(block.K, weights.k_norm, config, shared))
        normed = (k - mean) / scale * gain
        kind = "_joint" if config.sublayer.qk_norm_joint else "_heads" if config.sublayer.qk_norm_heads else ""
        less = f" - {bracketed(latex_operand(mean))}" if config.sublayer.qk_norm_heads else ""
        lines.append((page.label(f"numbers_norm{kind}", j=j, n=len(k), mean=plain_number(mean, 6),
                                 scale=plain_number(scale, 6)),
                      rf"\hat{{k}}_{{{j},{c}}} = \frac{{{latex_operand(k[c])}{less}}}{{{latex_operand(scale)}}} \cdot "
                      rf"{bracketed(latex_operand(gain[c]))} = {latex_number(normed[c])}"))
        k = normed
    half = config.rotary_width // 2
    if turns(weights) and c < 2 * half:
        mate, place = (c + half, "first") if c < half else (c - half, "second")
        angle = j * _frequencies(weights)[c % half]
        a, b = k[c], -k[mate] if c < half else k[mate]
        cos, sin = config.rotary.rotary_gain * math.cos(angle), config.rotary.rotary_gain * math.sin(angle)
        terms = [rf"{bracketed(latex_operand(value))} \cdot {bracketed(latex_operand(factor))}"
                 for value, factor in ((a, cos), (b, sin))]
        name = page.label(f"numbers_turn_{place}", j=j, c=c, other=mate, angle=plain_number(angle, 6))
        if config.rotary.rotary_gain != 1:
            name += ". " + page.label("numbers_turn_gain", gain=plain_number(config.rotary.rotary_gain, 6))
        lines.append((name,
                      rf"k'_{{{j},{c}}} = {' + '.join(terms)} = {latex_number(a * cos + b * sin)}"))
    return lines


def _softmax_lines(page: Lesson, steps: Steps, i: int, j: int, score: float) -> list[tuple[str, str]]:
    if not steps.allowed[j]:
        return [(page.label("numbers_masked"),
                 rf"s_{{{i},{j}}} = -\infty \quad\Rightarrow\quad \alpha_{{{i},{j}}} = 0")]
    e, total = float(steps.exponentials[j]), float(steps.exponentials.sum()) + steps.sunk
    return ([
        (page.label("numbers_exp", m=plain_number(steps.top, 6)),
         rf"e^{{s - m}} = e^{{{latex_operand(score)} - {bracketed(latex_operand(steps.top))}}} = {latex_operand(e)}"),
        (page.label("numbers_alpha" if steps.sink is None else "numbers_alpha_sink", n=int(steps.allowed.sum()),
                    sink=plain_number(steps.sunk, 6)),
         rf"\alpha_{{{i},{j}}} = \frac{{{latex_operand(e)}}}{{{latex_operand(total)}}} = "
         rf"{latex_number(e / total)}")])


def _output_lines(page: Lesson, steps: Steps, i: int) -> list[tuple[str, str]]:
    """One component of Σ_j α_j v_j, its largest terms first."""
    c = min(read("component"), len(steps.output) - 1)
    values = to_numpy(steps.V[:, c])
    order = np.argsort(-np.abs(to_numpy(steps.weights) * values), kind="stable")[:TERMS]
    n = int(steps.allowed.sum())
    terms = ([rf"{latex_operand(steps.weights[j])} \cdot {bracketed(latex_operand(values[j]))}" for j in order[:n]]
             + [r"\cdots"] * (n > TERMS))
    named = page.label("numbers_output", c=c, n=n, keys=", ".join(str(j) for j in order[:n]))
    return [(named, rf"o_{{{i},{c}}} = \sum_j \alpha_{{{i},j}}\, v_{{j,{c}}} = {' + '.join(terms)} = "
                    rf"{latex_number(steps.output[c])}")]


def weights_table(page: Lesson, run: Run, steps: Steps) -> pd.DataFrame:
    """The row of the query: each key's product, score, exponential and weight."""
    scores = [plain_number(score, 6) if seen else "−∞" for score, seen in zip(steps.scores, steps.allowed)]
    columns = {"key": run.tokens, "product": [plain_number(v, 6) for v in steps.products], "score": scores,
               "exp": [plain_number(v, 6) for v in steps.exponentials],
               "weight": [plain_number(v) for v in steps.weights]}
    return pd.DataFrame({"j": range(len(run.tokens))}
                        | {page.label(f"column_{name}"): values for name, values in columns.items()})


def products_table(steps: Steps, j: int) -> pd.DataFrame:
    """Every term of the product of the query and the picked key."""
    q, k = to_numpy(steps.q), to_numpy(steps.K[j])
    return pd.DataFrame({"c": range(len(q)), "q_c": q, "k_c": k, "q_c k_c": q * k})


def values_table(run: Run, steps: Steps) -> pd.DataFrame:
    """Every key's weight and value vector, and their sum, the output, in the last row."""
    V = np.vstack([to_numpy(steps.V), to_numpy(steps.output)])
    table = {"j": [*map(str, range(len(run.tokens))), ""], "token": [*run.tokens, "Σ"],
             "weight": [*to_numpy(steps.weights), float(steps.weights.sum())]}
    return pd.DataFrame(table | {f"v{c}": V[:, c] for c in range(V.shape[1])})


# ---- check yourself --------------------------------------------------------------------------------------------------


def question(page: Lesson, run: Run, block: BlockTrace, head: int, query: int) -> Question:
    """Ask for the key with the largest weight in the same head from the query one position earlier, not shown."""
    before = query - 1 if query > 0 or not run.is_encoder else min(1, len(run.tokens) - 1)
    if before < 1 and (not run.is_encoder or len(run.tokens) < 3):
        return page.question("first", ["0", f"1/{max(2, len(run.tokens))}", "1"], 2, token=code(run.tokens[0]))
    row = to_numpy(block.pattern[head, before])
    seen = [int(j) for j in np.argsort(-row, kind="stable") if block.allowed[before, j]]
    best = seen[0]
    options = sorted({best, before, seen[-1], 0, max(0, before - 1), seen[len(seen) // 2]})
    while len(options) > 4:
        options.remove(next(j for j in options[::-1] if j not in (best, before, 0)))
    shares = "; ".join(page.label("one_weight", token=code(run.tokens[j]), j=j, alpha=probability(float(row[j])))
                       for j in options)
    return page.question("steps", [page.label("one_key", token=code(run.tokens[j]), j=j) for j in options],
                         options.index(best), token=code(run.tokens[before]), i=before, query=code(run.tokens[query]),
                         shares=shares)
