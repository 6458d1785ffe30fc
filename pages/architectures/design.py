"""Design: the table of architectures as switches; the wiring of the block, the parameters of every part, and the cost
of a change against a baseline.
"""
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, notices, reader
from core.components.lib.token_view import token_view
from core.cost import counting
from core.figures.numbers import grouped, latex_number, percent, readable
from core.model.config import ModelConfig
from core.model.initialisation import initialise
from core.model.norms import deepnorm_constants
from core.model.presets import PRESETS
from pages.architectures import designs
from pages.architectures.built import build
from pages.architectures.designs import CHOICES, NUMBERS, Design
from pages.architectures.shared import PREFIX, SHARED_CSS, keep, prefixed, read

MEANINGS = {"E": "kept", "P": "position", "attention": "attention", "mlp": "mlp", "norms": "excluded", "biases": "key",
            "output": "residual"}
ATTENTION_SETTINGS = "n_heads", "n_kv_heads", "d_model", "d_k", "d_v", "attention_bias"
HEIGHT, PRESENT_HEIGHT = 440, 330      # px of the diagram
LARGEST = "attention", "mlp", "E"      # one of these is the largest part, in the order of the options
ALIKE = 0.9             # a part with this share of the largest one's parameters has about as many
HALF = (0.45, 0.55)     # a part in between, of another one, is about half of it
# A design: the block's wiring with the changes marked, the parameters of each part, and the costs against a baseline.
_picture = token_view("design_view", __file__, SHARED_CSS)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the part with most parameters, if it is one of three parts of the design."""
    design = _possible(_design())[0]
    config = design.config
    parts = counting.parameters_by_part(config)
    *_, second, most = sorted(parts.values())
    if config.d_ff is None or most not in map(parts.get, LARGEST):
        return None

    def truth(_: int) -> Truth:
        total, ratio = sum(parts.values()), parts["attention"] / parts["mlp"]
        alike = second >= ALIKE * most
        return Truth(len(LARGEST) if alike else [*map(parts.get, LARGEST)].index(most),
                     said="" if alike else percent(most / total),
                     seen=1 if ratio < HALF[0] else 2 if ratio > HALF[1] else 0,
                     values={name: grouped(value) for name, value in {
                         "total": total, "attention": parts["attention"], "mlp": parts["mlp"],
                         "d": config.d_model, "d_ff": config.d_ff}.items()})

    options = [page.label(f"largest_{name}") for name in (*LARGEST, "none")]
    return Prediction("design", Options(options), truth, {"name": _name(page, design)}, design.spec)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls on the left, diagram and tables on the right, and return what they show."""
    with st.container(key=f"{PREFIX}design"):
        left, right = st.columns([1, 2], gap="medium")
    with left:
        design = _controls(page)
    base = _base(design)
    config, base_config = design.config, base.config
    name = _name(page, design)
    parts, base_parts = counting.parameters_by_part(config), counting.parameters_by_part(base_config)
    n = len(run.token_ids)
    costs, total = _costs(page, config, n), sum(parts.values())
    largest = max(parts, key=parts.get)
    title = page.label("design_title", name=name, total=grouped(total), part=page.label(f"part_{largest}"),
                       share=readable(100 * parts[largest] / total))
    with right:
        compared = _compared(page, design, base, total - sum(base_parts.values()))
        _picture({"titled": title, "compared": compared, "scale": reader.scale(),
                  "height": PRESENT_HEIGHT if reader.present() else HEIGHT,
                  "text": page.labels("column"),
                  "stacks": Diagram(page, config, base_config).stacks(),
                  "parts": _part_rows(page, parts, base_parts),
                  "costs": _cost_rows(page, costs, _costs(page, base_config, n), page.labels("cost"))},
                 key=f"{PREFIX}design_picture", on_settings=lambda settings: None)
        st.caption(_build_note(page, config, run))
        if note := page.words.labels.get(f"note_{design.preset}"):
            st.caption(note)
    table = page.table([(page.label(f"part_{part}"), count) for part, count in parts.items()], "part", "parameters")
    return Reading(
        _lines(page, config, parts, n), _question(page, name, config),
        [counting.parameters_by_part, counting.flops, counting.kv_cache_bytes, initialise],
        {"parameters.csv": lambda: pd.DataFrame([parts, base_parts]).assign(design=[design.spec, base.spec])},
        ".design-diagram", title, table,
        {page.label("cost_parameters"): prefixed(total), page.label("cost_kv_full"): costs["kv_full"][1],
         page.label("cost_flops"): costs["flops"][1]})


# ---- the controls ----------------------------------------------------------------------------------------------------


def _design() -> Design:
    design, valid = designs.parse(read("design"))
    if not valid:
        notices.notice("notice_url", name=f"{PREFIX}design", value="…")
        keep(design=design.spec)
    return design


def _base(design: Design) -> Design:
    """The baseline of the design: the reader's, else the unchanged preset."""
    spec = read("base")
    return _possible(designs.parse(spec)[0] if spec else Design(design.preset))[0]


def _possible(design: Design) -> tuple[Design, str]:
    """The design, or its unchanged preset where the changes contradict each other, with the reason ("" for none)."""
    try:
        _ = design.config
    except ValueError as error:
        return Design(design.preset), str(error)
    return design, ""


def _controls(page: Lesson) -> Design:
    """Draw the preset, the switches and the sizes, each of which changes the one setting "design".

    Return the design to draw: the preset while the chosen one is impossible.
    """
    design = _design()
    drawn, problem = _possible(design)
    values = {"preset": design.preset} | designs.values(drawn.config) | design.changes
    labelled = "collapsed" if reader.present() else "visible"       # a projector has no room for them
    with st.container(horizontal=True, gap="xsmall", key=f"{PREFIX}switches"):
        for name, options in {"preset": PRESETS, **CHOICES}.items():
            _field(page, design, name, values[name], st.selectbox, list(options), label_visibility=labelled,
                   format_func=lambda option, name=name: page.label(f"{name}_{option}"))
    with st.container(horizontal=True, gap="xsmall", key=f"{PREFIX}sizes"):
        for name, bounds in NUMBERS.items():
            if name != "d_ff" or values["d_ff"] is not None:
                _field(page, design, name, values[name], st.number_input, *bounds, step=1)
    if problem:
        st.warning(page.label("impossible", problem=problem))
    with st.container(horizontal=True, gap="xsmall"):
        st.button(page.label("keep_base"), on_click=lambda: keep(base=drawn.spec), help=page.label("keep_base_help"),
                  key=f"{PREFIX}keep_base")
        if read("base"):
            st.button(page.label("drop_base"), on_click=lambda: keep(base=""), key=f"{PREFIX}drop_base")
    return drawn


def _field(page: Lesson, design: Design, name: str, value: str | int, widget: Callable, *args, **options) -> None:
    """Draw a widget for one value of the design, which keeps the design with a new value."""
    key = f"{PREFIX}{name}_widget"
    if st.session_state.get(key) != value:
        st.session_state[key] = value

    def changed() -> None:
        given = st.session_state[key]
        keep(design=(Design(given) if name == "preset" else design.with_change(name, given)).spec)

    widget(page.label(name), *args, key=key, on_change=changed, **options)


# ---- words -----------------------------------------------------------------------------------------------------------


def _signed(value: float, written: str) -> str:
    return "=" if value == 0 else written if value < 0 else f"+{written}"


def _name(page: Lesson, design: Design) -> str:
    name = page.label(f"preset_{design.preset}")
    return page.label("changed_name", name=name) if design.changes else name


def _compared(page: Lesson, design: Design, base: Design, difference: int) -> str:
    """A sentence on the settings that differ from the baseline, and on the parameters that they cost."""
    now, before = designs.values(design.config), designs.values(base.config)
    changes = [page.label("one_change", name=page.label(name), before=_value(page, name, before[name]),
                          now=_value(page, name, now[name])) for name in now if now[name] != before[name]]
    name = _name(page, base)
    if not changes:
        return page.label("no_change", name=name)
    return page.label("changes", name=name, changes="; ".join(changes),
                      difference=_signed(difference, grouped(difference)))


def _value(page: Lesson, name: str, value) -> str:
    return page.label(f"{name}_{value}") if name in CHOICES else str(value)


def _build_note(page: Lesson, config: ModelConfig, run: Run) -> str:
    """A sentence on whether a model of this design was built, and on its loss on the prompt."""
    model, total = build(config, run), counting.n_parameters(config)
    if model is None:
        return page.label("not_built", total=grouped(total))
    kind = ("unread" if model.shape is None else "silent" if math.isnan(model.nats)
            else "trained" if model.trained else "random")
    return page.label(f"built_{kind}", n=grouped(model.n_parameters), size=config.vocab_size,
                      same=page.label("count_same" if model.n_parameters == total else "count_differs"),
                      shape=" × ".join(map(str, model.shape or ())), nats=f"{model.nats:.4f}",
                      uniform=f"{math.log(config.vocab_size):.4f}")


# ---- the diagram -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diagram:
    """The stacks of an architecture, bottom up, for design.js; differences from the baseline are marked."""

    page: Lesson
    config: ModelConfig
    base: ModelConfig

    def stacks(self) -> list[dict]:
        """The stacks: decoder or encoder, or, of an encoder-decoder, the encoder and the decoder."""
        return [self._stack(encoder) for encoder in ((True, False) if self._crosses() else (False,))]

    def _crosses(self) -> bool:
        return self.config.kind == "encoder-decoder"

    def _differs(self, *names: str) -> bool:
        return any(getattr(self.config, name) != getattr(self.base, name) for name in names)

    def _stack(self, encoder: bool) -> dict:
        page, config = self.page, self.config
        embedded, reads_memory = config.vocab_size * config.d_embedding, self._crosses() and not encoder
        name = page.label("box_E_shared" if reads_memory else "box_E", size=config.vocab_size, d=config.d_embedding)
        mapped = config.embedding.embedding_width * config.d_model
        items = [self._box("E", name, 0 if reads_memory else embedded + mapped, "vocab_size", "d_model")]
        if config.positions in ("sinusoidal", "learned"):
            rows = config.n_context if config.positions == "learned" else 0
            items.append(self._box("P", page.label(f"box_{config.positions}"), rows * config.d_entering, "positions",
                                   "n_context"))
        parts = ["attention", *["cross"] * reads_memory, *["mlp"] * (config.d_ff is not None)]
        items.append({"times": page.label("times", n=config.n_encoder_layers if encoder else config.n_layers),
                      "sublayers": [self._sublayer(part, encoder) for part in parts]})
        if not config.norms_sums:
            items.append(self._norm(self.base.norms_sums))
        if not encoder:
            name = page.label("box_tied" if config.tied_embeddings else "box_untied", size=config.vocab_size)
            items.append(self._box("output", name, 0 if config.tied_embeddings else embedded, "tied_embeddings",
                                   "vocab_size"))
        kind = ("encoder" if encoder else "decoder") if self._crosses() else config.kind
        return {"title": page.label(f"stack_{kind}_in"),
                "end": page.label("stack_memory" if encoder else f"stack_{kind}_out"), "items": items}

    def _box(self, part: str, name: str, count: int, *settings: str, changed: bool = False) -> dict:
        """A box with its parameters, marked where it or one of the settings has changed."""
        return {"name": name, "count": prefixed(count, digits=3) if count else "0",
                "meaning": MEANINGS[part], "changed": changed or self._differs(*settings)}

    def _norm(self, moved: bool) -> dict:
        config = self.config
        return self._box("norms", self.page.label(f"norm_{config.norm}"),
                         config.d_model * (config.sublayer.norm_gain + config.sublayer.norm_bias), "norm", "d_model",
                         changed=moved)

    def _sublayer(self, part: str, encoder: bool) -> dict:
        """One sublayer with its norms where the placement has them, and the sum at its end."""
        moved, config = self._differs("norm_placement"), self.config
        alpha, _ = deepnorm_constants(config, encoder)
        scaled = config.norm_placement == "deepnorm"
        norm, sublayer = self._norm(moved), self._mlp() if part == "mlp" else self._attention(part, encoder)
        inside = [*[norm] * config.reads_normed, sublayer, *[norm] * config.norms_output]
        return {"inside": inside, "after": [norm] * config.norms_sums, "sum_changed": moved,
                "sum": self.page.label("sum_deepnorm", alpha=f"{alpha:.2f}") if scaled else "",
                "cross": part == "cross", "cross_at": int(config.reads_normed)}

    def _mlp(self) -> dict:
        config = self.config
        activation = self.page.label(f"activation_{config.activation}")
        name = self.page.label("box_mlp", d_ff=config.d_ff, activation=activation)
        return self._box("mlp", name, counting.mlp_parameters(config) + counting.mlp_biases(config), "activation",
                         "d_ff", "d_model", "mlp_bias")

    def _attention(self, part: str, encoder: bool) -> dict:
        config, label = self.config, self.page.label
        seeing = "cross" if part == "cross" else "all" if encoder or config.kind == "encoder" else "causal"
        heads = label("heads_grouped" if config.n_kv_heads != config.n_heads else "heads_own", h=config.n_heads,
                      kv=config.n_kv_heads)
        name, settings = label(f"box_{seeing}", heads=heads), ATTENTION_SETTINGS
        if part != "cross":
            inner = [model.positions in ("rotary", "alibi", "relative") for model in (config, self.base)]
            settings += ("kind", "mask", *["positions"] * any(inner))
            name += label(f"box_{config.positions}") if inner[0] else ""
        return self._box("attention", name, counting.attention_parameters(config) + counting.attention_biases(config),
                         *settings)


# ---- the tables ------------------------------------------------------------------------------------------------------


def _part_rows(page: Lesson, parts: dict[str, int], base: dict[str, int]) -> list[dict]:
    total = sum(parts.values())
    return [{"name": page.label(f"part_{part}"), "meaning": MEANINGS[part], "now": count,
             "base": base[part], "now_text": prefixed(count, digits=3),
             "share_text": percent(count / total) if count else "–",
             "change_text": _signed(count - base[part], prefixed(count - base[part], digits=3))}
            for part, count in parts.items() if count or base[part]]


def _costs(page: Lesson, config: ModelConfig, n: int) -> dict[str, tuple[float, str]]:
    """The costs by name, each as (number, text)."""
    total, work = counting.n_parameters(config), sum(counting.flops(config, n).values())
    cache = {"kv_token": counting.kv_cache_bytes(config, 1),
             "kv_full": counting.kv_cache_bytes(config, config.n_context)}
    return {"parameters": (total, prefixed(total)),
            **{dtype: (size := counting.weight_bytes(config, dtype), prefixed(size, "B")) for dtype in counting.BYTES},
            "flops": (work, prefixed(work, "FLOP")), "flops_token": (work / n, prefixed(work / n, "FLOP")),
            **{name: (size, prefixed(size, "B") if config.kind != "encoder" else "–") for name, size in cache.items()}}


def _cost_rows(page: Lesson, now: dict, base: dict, names: dict[str, str]) -> list[dict]:
    return [{"name": names[name], "now_text": written, "base_text": base[name][1],
             "change_text": _factor(value, base[name][0])} for name, (value, written) in now.items()]


def _factor(now: float, base: float) -> str:
    """The ratio of two costs as text: as a change in percent below 50 %, else as a factor."""
    if now == base or not base or not now:
        return "=" if now == base else "–"
    ratio = now / base
    return (f"{'+' if ratio > 1 else ''}{percent(ratio - 1)}" if 0.5 < ratio < 1.5
            else f"× {readable(ratio)}")


# ---- in numbers, the question ----------------------------------------------------------------------------------------


def _lines(page: Lesson, config: ModelConfig, parts: dict[str, int], n: int) -> list[tuple[str, str]]:
    d, counts = config.d_model, [count for count in parts.values() if count]
    total, rough, core = sum(counts), counting.rough_parameters(config), parts["attention"] + parts["mlp"]
    work = counting.flops(config, n).values()
    lines = [(page.label("numbers_total",
                         parts=", ".join(page.label(f"part_{part}") for part, count in parts.items() if count)),
              f"{' + '.join(map(str, counts))} = {total}"),
             (page.label("numbers_rough", core=grouped(core)),
              rf"12\, L\, d^2 = 12 \cdot {config.n_layers} \cdot {d}^2 = {rough}"),
             (page.label("numbers_lecture", factor=readable(total / counting.lecture_parameters(config))),
              rf"|T|\, d + 5\, L\, d^2 = {config.vocab_size} \cdot {d} + 5 \cdot {config.n_layers} \cdot {d}^2 = "
              rf"{counting.lecture_parameters(config)}"),
             (page.label("numbers_attention"), _attention_line(config)),
             (page.label("numbers_flops", n=n),
              rf"{' + '.join(map(str, work))} = {sum(work)}, \qquad "
              rf"\frac{{{sum(work)}}}{{{n} \cdot 2 \cdot {total}}}"
              rf" = {latex_number(sum(work) / n / 2 / total)}")]
    if config.kind != "encoder":
        crossed, size = config.kind == "encoder-decoder", counting.kv_cache_bytes(config, 1)
        twice = r"2 \cdot " if crossed else ""
        lines.append((page.label("numbers_cache_crossed" if crossed else "numbers_cache"),
                      rf"{twice}L\, h_{{kv}} (d_k + d_v) \cdot 2 = {twice}{config.n_layers} \cdot {config.n_kv_heads} "
                      rf"\cdot ({config.d_k} + {config.d_v}) \cdot 2 = {size}, \qquad "
                      rf"{size} \cdot {config.n_context} = {size * config.n_context}"))
    structure = counting.structure_bits(config)
    lines.append((page.label("numbers_structure"),
                  rf"\frac{{16 \cdot {total}}}{{{structure}}} = "
                  rf"\frac{{{16 * total}}}{{{structure}}} = "
                  rf"{latex_number(16 * total / structure)}"))
    return lines


def _attention_line(config: ModelConfig) -> str:
    d, h, h_kv, d_k, d_v = config.d_model, config.n_heads, config.n_kv_heads, config.d_k, config.d_v
    return (rf"h\, d\, d_k + h_{{kv}}\, d\, (d_k + d_v) + h\, d_v\, d = {h} \cdot {d} \cdot {d_k} + {h_kv} \cdot {d} "
            rf"\cdot ({d_k} + {d_v}) + {h} \cdot {d_v} \cdot {d} = {counting.attention_parameters(config)}"
            rf", \qquad {'3' if config.gated else '2'}\, d\, d_{{ff}} = {'3' if config.gated else '2'} \cdot {d} \cdot "
            rf"{config.d_ff} = {counting.mlp_parameters(config)}")


def _question(page: Lesson, name: str, config: ModelConfig) -> Question:
    """By how much the model grows when its width doubles, counted on the wider one."""
    wider = _wider(config)
    now, then = counting.n_parameters(config), counting.n_parameters(wider)
    options = np.array([2, 3, 4])
    parts, wide = counting.parameters_by_part(config), counting.parameters_by_part(wider)
    growth = "; ".join(page.label("wider_part", part=page.label(f"part_{part}"), factor=f"{wide[part] / count:.3g}")
                     for part, count in parts.items() if count)
    return page.question("wider", [page.label(f"wider_{option}") for option in options],
                         int(np.abs(np.log(then / now / options)).argmin()), name=name, d=config.d_model,
                         wide=wider.d_model, d_ff=config.d_ff, wide_ff=wider.d_ff, factor=f"{then / now:.3f}",
                         now=grouped(now), then=grouped(then), parts=growth)


def _wider(config: ModelConfig) -> ModelConfig:
    """The same architecture with d and d_ff twice as large, and as many heads of twice the width."""
    fields = config.to_dict() | dict(d_model=2 * config.d_model, d_k=2 * config.d_k, d_v=2 * config.d_v,
                                     d_ff=None if config.d_ff is None else 2 * config.d_ff)
    return ModelConfig.of(**fields)
