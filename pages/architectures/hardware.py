"""Hardware: what of a pass are matrix products, what bounds a device that computes it, and how an array of cells
multiplies two matrices tick by tick.
"""
from __future__ import annotations

from bisect import bisect

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument
from core.components.lib.token_view import PLAYER_CSS
from core.cost import built_models, counting, elementwise, roofline, systolic
from core.cost.built_models import Hardware
from core.figures.numbers import grouped, latex_number, latex_operand, percent, readable
from core.model.config import ModelConfig
from core.model.presets import PRESETS
from pages.architectures.shared import PREFIX, SETTINGS, attached, choice, keep, own_seed, prefixed, read

KEY = f"{PREFIX}hardware_picture"
OWN = "own"                              # the chosen model, among the presets
MOVED = {"pass": ("machine_length",), "roofline": ("machine_context", "machine_batch", "machine_device"),
         "array": ("machine_rows", "machine_side", "machine_tick", "machine_cell")}      # what the browser changes
BATCHES = tuple(2 ** k for k in range(11))
MOST_ROWS, MOST_SIDE = (int(SETTINGS.each[name].high) for name in ("machine_rows", "machine_side"))
PRODUCTS_LIMITS = (0.5, 0.9, 0.99)       # shares of the operations, between the options of the question
REACHED_LIMITS = (0.02, 0.5, 1.0)        # shares of the peak, likewise
TPU = 256                                # cells of a side, in the first TPU
# One of three pictures: a pass in its parts, the roofline with reading and writing on it, an array of cells.
_picture = instrument("hardware", __file__, PLAYER_CSS)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask of the picture shown: the share of the matrix products, the share of a device's peak reached while one text
    is written, or the ticks of a product.
    """
    return {"pass": _predict_share, "roofline": _predict_reached, "array": _predict_ticks}[read("machine")](page, run)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw one of the three pictures; return what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        picture = choice(page, "machine")
        if picture == "array":
            own_seed(page, said=page.label("machine_seed"))
        else:
            _model_list(page, run, picture)
    return {"pass": _pass, "roofline": _roofline, "array": _array}[picture](page, run)


def _model_list(page: Lesson, run: Run, picture: str) -> None:
    name = f"{picture}_model"
    names = {option: _name(page, run, option) for option in SETTINGS.each[name].options}
    st.selectbox(page.label("pass_model"), list(names), label_visibility="collapsed", width=260,
                 format_func=names.__getitem__, **attached(name, names=[*names.values()]))


def _name(page: Lesson, run: Run, option: str) -> str:
    return page.label("machine_own", name=run.title) if option == OWN else page.label(f"preset_{option}")


def _config(run: Run, picture: str) -> ModelConfig:
    """The architecture that the picture is about."""
    name = read(f"{picture}_model")
    return run.model.config if name == OWN else PRESETS[name].config


def _said(page: Lesson, what: str, n: int) -> str:
    """So many tokens or texts, in words; what: "token" or "text"."""
    return page.label(f"roofline_{what}_{'many' if n > 1 else 'one'}", n=grouped(n))


def _show(page: Lesson, picture: str, labels: str, **header) -> None:
    """Hand the browser the picture; its settings come back when the hand rests."""
    def settled(settings: dict) -> None:
        keep(**{name: settings[name] for name in MOVED[picture] if name in settings})

    sent = {"picture": picture, "settings": {name: read(name) for name in MOVED[picture]},
            "labels": page.labels(labels), "present": reader.present(), **header}
    _picture(key=f"{KEY}_{picture}", data=pack(sent), on_settings=settled)


def lengths(most: int, *own: int) -> list[int]:
    """The lengths that the slider offers: 1, 2, 3, 4, 6, 8, 12 … up to `most`, and `own`."""
    steps = {step << k for step in (2, 3) for k in range(most.bit_length())} | {1, most}
    return sorted({n for n in steps if n <= most} | {n for n in own if n > 0})


def _nearest(value: int, offered: list[int]) -> int:
    return min(offered, key=lambda n: abs(n - value))


# ---- what a pass is made of ------------------------------------------------------------------------------------------


def made_of(config: ModelConfig, n: int) -> dict[str, int]:
    """The operations of a pass over n tokens: the matrix products by their parts, then the others by theirs."""
    return counting.products(config, n) | elementwise.elementwise(config, n)


def share_of_products(parts: dict[str, int]) -> float:
    """The matrix products' share of all operations."""
    return sum(parts[name] for name in counting.PRODUCTS) / sum(parts.values())


def _length(run: Run, config: ModelConfig) -> int:
    """The number of tokens that is read: the reader's, else the prompt's."""
    offered = lengths(config.n_context, len(run.token_ids))
    return _nearest(read("machine_length") or len(run.token_ids), offered)


def _predict_share(page: Lesson, run: Run) -> Prediction:
    config = _config(run, "pass")
    n = _length(run, config)

    def truth(_: int) -> Truth:
        parts = made_of(config, n)
        share, largest = share_of_products(parts), max(parts, key=parts.get)
        return Truth(bisect(PRODUCTS_LIMITS, share), said=percent(share, 2), 
                     seen=0 if largest == "mlp" else 1 if share > 0.5 else 2,
                     values={"share": percent(share, 2), "rest": percent(1 - share, 2),
                             "part": page.label(f"pass_{largest}")})

    options = [page.label(f"products_{i}") for i in range(len(PRODUCTS_LIMITS) + 1)]
    return Prediction("hardware", Options(options), truth,
                      {"name": _name(page, run, read("pass_model")), "tokens": _said(page, "token", n)},
                      ("pass", n, config))


def _pass(page: Lesson, run: Run) -> Reading:
    config = _config(run, "pass")
    n = _length(run, config)
    parts = made_of(config, n)
    offered = lengths(config.n_context, len(run.token_ids))
    _show(page, "pass", "pass", own=len(run.token_ids), at=n, products=list(counting.PRODUCTS),
          states=[_state(page, config, length) for length in offered])
    share = share_of_products(parts)
    title = page.label("pass_title", share=percent(share, 2), total=prefixed(sum(parts.values())),
                       tokens=_said(page, "token", n))
    table = page.table([(page.label(f"pass_{name}"), _of(page, config, n, name), count,
                         percent(count / sum(parts.values()), 3)) for name, count in parts.items()],
                       "name", "of", "operations", "share", labels="pass_column")
    return Reading(_pass_lines(page, config, n, parts), _pass_question(page, config),
                   [counting.products, elementwise.elementwise],
                   {"operations.csv": lambda: pd.DataFrame([made_of(config, length) | {"n": length}
                                                            for length in offered])},
                   ".instrument .pass", title, table, {page.label("pass_products"): percent(share, 2)})


def _state(page: Lesson, config: ModelConfig, n: int) -> dict:
    """The picture's texts for n tokens."""
    parts = made_of(config, n)
    total, products = sum(parts.values()), share_of_products(parts)
    return {"n": n, "tokens": _said(page, "token", n), "total": prefixed(total), "share": percent(products, 2),
            "rest": percent(1 - products, 2),
            "parts": [{"name": name, "value": count, "count": prefixed(count), "share": percent(count / total, 2),
                       "of": _of(page, config, n, name)} for name, count in parts.items()]}


def _of(page: Lesson, config: ModelConfig, n: int, name: str) -> str:
    """The operands of a part of the pass, in words."""
    kinds = {"mlp": "_experts" if config.experts.n_experts else "_gated" if config.gated else "",
             "norms": "_queries" if config.sublayer.qk_norm else ""}
    kind = kinds.get(name, "")
    return page.label(f"pass_of_{name}{kind}", **_sizes(config, n))


def _sizes(config: ModelConfig, n: int) -> dict[str, str]:
    """The sizes of the products as the labels name them."""
    blocks, heads = sum(count for count, _ in counting.stacks(config)), config.n_heads
    attentions = sum(count * each for count, each in counting.stacks(config))
    sizes = {"n": n, "d": config.d_model, "blocks": blocks, "attentions": attentions, "size": config.vocab_size,
             "columns": heads * config.d_k + config.n_kv_heads * (config.d_k + config.d_v), "d_k": config.d_k,
             "d_v": config.d_v, "heads": heads * config.d_v, "pairs": attentions * heads, "d_ff": config.d_ff or 0,
             "k": config.experts.n_active_experts, "experts": config.experts.n_experts,
             "norms": counting.norm_count(config) * n,
             "queries": attentions * (heads + config.n_kv_heads) * n,
             "weights": attentions * heads * n, "neurons": n * counting.active_neurons(config, blocks),
             "each": elementwise.activation(config),
             "residuals": n * (attentions + blocks * (config.d_ff is not None))}
    return {name: grouped(value) for name, value in sizes.items()}


def _pass_lines(page: Lesson, config: ModelConfig, n: int, parts: dict[str, int]) -> list[tuple[str, str]]:
    products = [parts[name] for name in counting.PRODUCTS]
    rest = [parts[name] for name in elementwise.PARTS]
    d, L, h = config.d_model, config.n_layers, config.n_heads
    maps = 3 if config.gated else 2
    lines = [(page.label("numbers_pass_share"),
              rf"\frac{{{sum(products)}}}{{{sum(products)} + {sum(rest)}}} = {latex_number(share_of_products(parts))}"),
             (page.label("numbers_pass_products"), f"{' + '.join(map(str, products))} = {sum(products)}"),
             (page.label("numbers_pass_rest"), f"{' + '.join(map(str, rest))} = {sum(rest)}")]
    if config.kind != "encoder-decoder":
        fed = (page.label("numbers_pass_mlp"),
               rf"2 N \cdot {maps}\, d\, d_{{ff}} \cdot L = 2 \cdot {n} \cdot {maps} \cdot {d} \cdot "
               rf"{config.d_ff or 0} \cdot {L} = {parts['mlp']}")
        if config.experts.n_experts:
            fed = (page.label("numbers_pass_experts"),
                   rf"2 \cdot {n} \cdot {counting.fed_parameters(config, L, active=True)[0]} = {parts['mlp']}")
        lines[1:1] = [fed, (page.label("numbers_pass_scores"),
                       rf"2 N \cdot N d_k \cdot h L = 2 \cdot {n} \cdot {n} \cdot {config.d_k} \cdot {h} \cdot {L} = "
                       rf"{parts['scores']}")]
    return lines


def _pass_question(page: Lesson, config: ModelConfig) -> Question:
    """By what the operations of the scores and of the feed-forward part grow for twice as many tokens."""
    n = 64
    now, then = made_of(config, n), made_of(config, 2 * n)
    options = [(2, 2), (4, 2), (2, 4), (4, 4)]
    grown = tuple(then[name] // now[name] if now[name] else 2 for name in ("scores", "mlp"))
    return page.question("pass", [page.label("pass_option", scores=scores, mlp=mlp) for scores, mlp in options],
                         options.index(grown), n=n, twice=2 * n, before=grouped(now["scores"]),
                         after=grouped(then["scores"]), mlp_before=grouped(now["mlp"]), mlp_after=grouped(then["mlp"]))


# ---- the roofline ----------------------------------------------------------------------------------------------------


def _device() -> Hardware:
    return built_models.load().hardware[read("machine_device")]


def _context(config: ModelConfig) -> int:
    return _nearest(read("machine_context"), lengths(config.n_context))


def batch() -> int:
    """The number of texts that are written at the same time: the power of two nearest to the setting."""
    return _nearest(read("machine_batch"), list(BATCHES))


def _predict_reached(page: Lesson, run: Run) -> Prediction:
    config, device, texts = _config(run, "roofline"), _device(), batch()
    n = _context(config)

    def truth(_: int) -> Truth:
        read_, write = roofline.reading(config, n), roofline.writing(config, n, texts)
        ridge = device.peak / device.bandwidth
        reached = [roofline.attainable(work, device) / device.peak for work in (read_, write)]
        seen = 0 if write.intensity < ridge <= read_.intensity else 1 if write.intensity < ridge else 2
        return Truth(bisect(REACHED_LIMITS, reached[1]), said=percent(reached[1], 2), seen=seen,
                     values={"reached": percent(reached[1], 2), "reading": percent(reached[0], 1),
                             "write": readable(write.intensity), "ridge": readable(ridge)})

    options = [page.label(f"reached_{i}") for i in range(len(REACHED_LIMITS) + 1)]
    return Prediction("hardware_roofline", Options(options), truth,
                      {"name": _name(page, run, read("roofline_model")), "device": device.short,
                       "tokens": _said(page, "token", n), "texts": _said(page, "text", texts)},
                      ("roofline", config, device, n, texts))


def _roofline(page: Lesson, run: Run) -> Reading:
    config, device, texts = _config(run, "roofline"), _device(), batch()
    n = _context(config)
    offered = lengths(config.n_context)
    devices = built_models.load().hardware
    _show(page, "roofline", "roofline", at=n, batches=list(BATCHES),
          weights=counting.weight_bytes(config, roofline.DTYPE),
          devices=[{"id": key, "name": one.name, "short": one.short, "peak": one.peak,
                    "bandwidth": one.bandwidth, "bytes": one.gigabytes * 1e9, "source": one.source}
                   for key, one in devices.items() if key in SETTINGS.each["machine_device"].options],
          states=[_work(config, length) for length in offered])
    read_, write = roofline.reading(config, n), roofline.writing(config, n, texts)
    rates = [roofline.attainable(work, device) / device.peak for work in (read_, write)]
    title = page.label("roofline_said", tokens=_said(page, "token", n), texts=_said(page, "text", texts),
                       read=readable(read_.intensity), reading=percent(rates[0], 1),
                       write=readable(write.intensity), writing=percent(rates[1], 2), device=device.short)
    return Reading(_roofline_lines(page, config, device, n, texts), _roofline_question(page, config, n),
                   [roofline.reading, roofline.writing, roofline.weights_read, roofline.attainable],
                   {"roofline.csv": lambda: _roofline_table(config, offered)},
                   ".instrument .roof", title, _device_table(page), explanation="hardware_roofline")


def _work(config: ModelConfig, n: int) -> dict:
    """Operations and bytes for n tokens: of reading them at once, and of writing the last: `fixed` bytes, and `each` of
    the texts.
    """
    whole, one, two = roofline.reading(config, n), *(roofline.writing(config, n, texts) for texts in (1, 2))
    each = two.bytes - one.bytes
    return {"n": n, "operations": whole.operations, "bytes": whole.bytes, "written": one.operations,
            "fixed": one.bytes - each, "each": each, "cache": counting.kv_cache_bytes(config, n, roofline.DTYPE)}


def _roofline_lines(page: Lesson, config: ModelConfig, device: Hardware, n: int,
                    texts: int) -> list[tuple[str, str]]:
    read_, write, d = roofline.reading(config, n), roofline.writing(config, n, texts), config.d_model
    ridge = device.peak / device.bandwidth
    said = {"tokens": _said(page, "token", n), "texts": _said(page, "text", texts)}
    lines = [(page.label(f"numbers_roofline_{name}", **said),
              rf"I = \frac{{{work.operations}}}{{{work.bytes}}} = {latex_number(work.intensity)}, "
              rf"\qquad \min\left({_power(device.peak)},\ {latex_number(work.intensity)} \cdot "
              rf"{_power(device.bandwidth)}\right) = {_power(roofline.attainable(work, device))}")
             for name, work in (("read", read_), ("write", write))]
    rate = texts * roofline.attainable(write, device) / write.operations
    size = counting.weight_bytes(config, roofline.DTYPE)
    return [*lines,
            (page.label("numbers_roofline_ridge", device=device.short),
             rf"\frac{{{_power(device.peak)}}}{{{_power(device.bandwidth)}}} = {latex_number(ridge)}"),
            (page.label("numbers_roofline_rate", device=device.short),
             rf"{texts} \cdot \frac{{{latex_operand(roofline.attainable(write, device))}}}{{{write.operations}}} = "
             rf"{latex_number(rate)}"),
            (page.label("numbers_roofline_square"),
             rf"\frac{{2 d^3}}{{2 \cdot 3 d^2}} = \frac{{d}}{{3}} = {latex_number(d / 3)}, \qquad "
             rf"\frac{{2 d^2}}{{2 (d^2 + 2 d)}} = {latex_number(d / (d + 2))}"),
            (page.label("numbers_roofline_size"), rf"2 \cdot {counting.n_parameters(config)} = {size}")]


def _power(value: float) -> str:
    """A large number for a formula, with a power of ten."""
    digits, exponent = f"{value:.3e}".split("e")
    return rf"{digits.rstrip('0').rstrip('.')} \cdot 10^{{{int(exponent)}}}"


def _roofline_question(page: Lesson, config: ModelConfig, n: int) -> Question:
    """Ask for the change that writes one text faster: a higher peak, a faster or a larger memory."""
    device, write = _device(), roofline.writing(config, n)
    rate = roofline.attainable(write, device)
    faster = [min(2 * device.peak, write.intensity * device.bandwidth) / rate,
              min(device.peak, write.intensity * 2 * device.bandwidth) / rate, 1.0]
    return page.question("roofline", [page.label(f"roofline_option_{name}") for name in ("peak", "memory", "room")],
                         int(np.argmax(faster)), device=device.short, peak=readable(faster[0]),
                         memory=readable(faster[1]))


def _roofline_table(config: ModelConfig, offered: list[int]) -> pd.DataFrame:
    works = [(n, "read", 1, roofline.reading(config, n)) for n in offered]
    works += [(n, "write", texts, roofline.writing(config, n, texts)) for n in offered for texts in BATCHES]
    return pd.DataFrame([(n, what, texts, work.operations, work.bytes, work.intensity)
                         for n, what, texts, work in works],
                        columns=["n", "what", "batch", "operations", "bytes", "intensity"])


def _device_table(page: Lesson) -> pd.DataFrame:
    hardware = built_models.load().hardware
    shown = [hardware[key] for key in SETTINGS.each["machine_device"].options]
    return page.table([(one.name, prefixed(one.peak, "FLOP/s", 3), prefixed(one.bandwidth, "B/s"),
                        f"{one.gigabytes:g} GB", readable(one.peak / one.bandwidth), one.source) for one in shown],
                      "name", "peak", "bandwidth", "size", "ridge", "source", labels="devices")


# ---- the systolic array ----------------------------------------------------------------------------------------------


def factors(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """X (m, n) and W (n, n), small whole numbers of the lesson's seed."""
    dice = np.random.default_rng(read("seed"))
    X, W = dice.integers(1, 6, (MOST_ROWS, MOST_SIDE)), dice.integers(-2, 4, (MOST_SIDE, MOST_SIDE))
    return X[:m, :n].astype(float), W[:n, :n].astype(float)


def _predict_ticks(page: Lesson, run: Run) -> Prediction:
    m, n = read("machine_rows"), read("machine_side")

    ticks = systolic.ticks(m, n)
    # a row in each tick, as if all cells always worked; the truth; a row after the other; one product in each tick
    offered = sorted({m, ticks, m * n, m * n * n})

    def truth(_: int) -> Truth:
        return Truth(offered.index(ticks), values={"ticks": ticks, "flow": 2 * n - 2, "work": grouped(m * n * n),
                                    "used": percent(systolic.utilisation(m, n))})

    return Prediction("hardware_array", Options([page.label("array_ticks", n=each) for each in offered]), truth,
                      {"n": n, "cells": n * n, "rows": page.label("array_rows_n" if m > 1 else "array_rows_one", n=m)},
                      ("array", m, n))


def _array(page: Lesson, run: Run) -> Reading:
    m, n = read("machine_rows"), read("machine_side")
    most, whole = factors(MOST_ROWS, MOST_SIDE)
    _show(page, "array", "array", X=most.tolist(), W=whole.tolist(), rows=MOST_ROWS, seed=read("seed"),
          sides=list(range(int(SETTINGS.each["machine_side"].low), MOST_SIDE + 1)))
    X, W = factors(m, n)
    title = page.label("array_said", m=m, n=n, ticks=systolic.ticks(m, n), used=percent(systolic.utilisation(m, n)))
    return Reading(_array_lines(page, X, W), _array_question(page), [systolic.run, systolic.ticks,
                                                                     systolic.utilisation],
                   {"ticks.csv": lambda: _ticks_table(X, W)}, ".instrument .array", title,
                   explanation="hardware_array")


def _array_lines(page: Lesson, X: np.ndarray, W: np.ndarray) -> list[tuple[str, str]]:
    m, n = X.shape
    ticks, working = systolic.ticks(m, n), [tick.working for tick in systolic.run(X, W)]
    matrices = rf"{_matrix(X)} {_matrix(W)} = {_matrix(X @ W)}"
    sizes = (1, TPU, 8 * TPU)
    return [(page.label("numbers_array_product"), matrices),
            (page.label("numbers_array_ticks"), rf"m + 2n - 2 = {m} + 2 \cdot {n} - 2 = {ticks}"),
            (page.label("numbers_array_used"),
             rf"\frac{{{' + '.join(map(str, working))}}}{{{n}^2 \cdot {ticks}}} = \frac{{{sum(working)}}}"
             rf"{{{n * n * ticks}}} = \frac{{m}}{{m + 2n - 2}} = {latex_number(systolic.utilisation(m, n))}"),
            (page.label("numbers_array_tpu", n=TPU),
             r", \qquad ".join(rf"\frac{{{rows}}}{{{systolic.ticks(rows, TPU)}}} = "
                               rf"{latex_number(systolic.utilisation(rows, TPU))}" for rows in sizes))]


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(f"{value:g}" for value in row) for row in values)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"


def _array_question(page: Lesson) -> Question:
    """Ask for the share of the first TPU's array that one row keeps busy."""
    used = systolic.utilisation(1, TPU)
    shares = [used, 1 / 16, 1 / 2, 1.0]
    return page.question("array", [percent(share) for share in shares], shares.index(used), n=TPU,
                         ticks=systolic.ticks(1, TPU), used=percent(used, 2),
                         more=percent(systolic.utilisation(8 * TPU, TPU)), rows=grouped(8 * TPU))


def _ticks_table(X: np.ndarray, W: np.ndarray) -> pd.DataFrame:
    rows = [(k, i, j, tick.inputs[i, j], W[i, j], tick.sums[i, j])
            for k, tick in enumerate(systolic.run(X, W), 1) for i, j in np.argwhere(~np.isnan(tick.inputs))]
    return pd.DataFrame(rows, columns=["tick", "row", "column", "input", "weight", "sum"])
