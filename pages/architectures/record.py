"""Record: models over time, the cost of a training, the GPT family, the scaling laws, the first Transformer's scores,
training data, and modifications of the transformer.
"""
import math
from bisect import bisect

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.cost import built_models, scaling_laws
from core.figures.numbers import grouped, latex_number, latex_power, readable, superscript
from pages.architectures import charts as figures
from pages.architectures import family, modifications, pieces, training_cost, training_data
from pages.architectures.shared import PREFIX, SETTINGS, attached, choice, prefixed, read, show

CHART, PRESENT_CHART = 370, 323      # px
# the models whose names stand at rest, the first of them first; the others' stand where they cover nothing
NAMED = ("GPT-3", "GPT-4", "BERT large", "GPT-2", "GPT", "T5", "PaLM", "LLaMA 2", "ChatGPT", "Chinchilla", "LLaMA",
         "Transformer (big)", "GLaM", "PanGu-Σ", "GShard", "PaLM 2", "BART", "RoBERTa")
SHAPE = "layers", "width", "heads", "context"     # of a model: L, d, h, N
TICKS = {"layers": [6, 12, 24, 48, 96], "width": [1024, 2048, 4096, 8192, 16384], "heads": [16, 32, 64, 128]}

# days of training on eight GPUs, in the paper of the rows (Vaswani et al. 2017, section 5.2)
TRAINED = {"Transformer (base)": 0.5, "Transformer (big)": 3.5}
GROWN = (30, 300, 3000)      # times as many parameters, between the options of the question


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many times as many parameters as the first transformer the largest model has; asked of that picture alone."""
    if (read("record"), read("measure")) != ("models", "parameters"):
        return None
    models = [model for model in built_models.load().models if model.billions is not None]
    first = models[0]

    def truth(_: int) -> Truth:
        largest = max(models, key=lambda model: model.billions)
        times = largest.billions / first.billions
        return Truth(bisect(GROWN, times), said=page.label("grown_times", n=grouped(round(times))),
                     seen=1 if largest is models[-1] else 2 if largest.access == "open" else 0,
                     values={"largest": largest.name, "high": grouped(round(largest.billions)),
                             "month": largest.released, "last": models[-1].name,
                             "factor": grouped(round(times))})

    return Prediction("record", Options([page.label(f"grown_{i}") for i in range(len(GROWN) + 1)]), truth,
                      {"low": readable(first.billions * 1000), "n": len(models)})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, gap="small"):
        view = choice(page, "record")
        further = {"models": "measure", "translation": "pair", "data": "mix", "pieces": "sequence"}.get(view)
        picked = [choice(page, further)] if further else []
    if view == "models":
        return training_cost.draw(page) if picked == ["energy"] else _models(page, *picked)
    return {"scaling": _scaling, "translation": _translation, "data": training_data.draw, "family": family.draw,
            "pieces": pieces.draw, "modifications": modifications.draw}[view](page, *picked)


def _height(less: int = 0) -> int:
    return (PRESENT_CHART if reader.present() else CHART) - less


# ---- models ----------------------------------------------------------------------------------------------------------


def quantity(model: built_models.Model, measure: str) -> float | None:
    """A model's measure on the timeline: its parameters, tokens, operations, layers, width, heads or context length;
    None if it is unknown.
    """
    name, unit = {"parameters": ("billions", 1e9), "tokens": ("billion_tokens", 1e9), "compute": ("flops", 1)}.get(
        measure, (measure, 1))
    value = getattr(model, name)
    return None if value is None else value * unit


def _models(page: Lesson, measure: str) -> Reading:
    models = built_models.load().models
    known = [(model, value) for model in models if (value := quantity(model, measure)) is not None]
    write = {"compute": superscript, "context": lambda value: page.label("at_once", n=grouped(value)),
             **dict.fromkeys(TICKS, grouped)}.get(measure, lambda value: prefixed(value, digits=3))
    (first, low), (last, high) = known[0], max(known, key=lambda pair: pair[1])
    title = page.label(f"title_{measure}", first=first.name, low=write(low), last=last.name, high=write(high),
                       factor=readable(high / low, 2), n=len(known))
    unpublished = [model for model in models if model.billions is None] if measure == "parameters" else []
    missing = len(models) - len(known) - len(unpublished)
    st.markdown(f"**{title}**  \n{page.label('timeline_key')}"
                + (f" {page.label('timeline_missing', n=missing)}" if missing else ""))
    rows = pd.DataFrame([_point(page, model, value, write(value)) for model, value in known]
                        + [_point(page, model, math.nan, page.label("not_published"))
                           for model in unpublished])
    show("timeline", figures.timeline, rows, page.label(f"axis_{measure}"),
         height=_height(0 if reader.present() else 14),
         lane=page.label("not_published") if unpublished else "",
         ticks=sorted({value for _, value in known}) if measure == "context" else TICKS.get(measure))
    lines = {"context": lambda: _context_lines(page, low, high)} | dict.fromkeys(TICKS, lambda: _shape_lines(page))
    return Reading(lines.get(measure, lambda: _model_lines(page))(),
                   _largest_question(page), [scaling_laws.training_flops, built_models.Model],
                   {"models.csv": lambda: pd.DataFrame([vars(model) | {"flops": model.flops} for model in models])},
                   f".st-key-{PREFIX}timeline", title,
                   _table(page, [model for model, _ in known] + unpublished))


def _point(page: Lesson, model: built_models.Model, value: float, shown: str) -> dict:
    """A model's row of the timeline. value: NaN if it is not published."""
    is_first = model.name in NAMED
    rank = 1000 - NAMED.index(model.name) if model.name in NAMED else math.log(value)
    return {"name": model.name, "date": f"{model.released}-15", "value": value, "access": model.access, "rank": rank,
            "named": True, "modest": not is_first or reader.present(), "shown": shown, "more": _more(page, model)}


def _more(page: Lesson, model: built_models.Model) -> str:
    parts = [model.released, page.label(f"access_{model.access}"), page.label(f"made_{model.made}"), model.hardware,
             model.days and page.label("days", days=readable(model.days))]
    return ", ".join(filter(None, parts))


def _table(page: Lesson, models: list[built_models.Model]) -> pd.DataFrame:
    rows = [(model.name, model.released, model.billions and prefixed(model.billions * 1e9),
             model.billion_tokens and prefixed(model.billion_tokens * 1e9),
             *(getattr(model, name) and grouped(getattr(model, name)) for name in SHAPE),
             model.flops and superscript(model.flops), model.hardware, model.days and readable(model.days),
             model.MWh and readable(model.MWh, 4),
             "; ".join(filter(None, (model.source, model.shape_source and page.label("shape_from",
                                                                                     source=model.shape_source)))))
            for model in models]
    return _dashed(page.table(rows, "name", "released", "parameters", "tokens", *SHAPE, "compute", "hardware", "days",
                              "MWh", "source", labels="models"))


def _dashed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a dash for unknown values."""
    return table.astype(object).where(table.notna(), "–")


def _model_lines(page: Lesson) -> list[tuple[str, str]]:
    gpt3 = next(model for model in built_models.load().models if model.name == "GPT-3")
    n, d = gpt3.billions * 1e9, gpt3.billion_tokens * 1e9
    return [(page.label("numbers_training"),
             rf"6 N D = 6 \cdot {latex_power(n)} \cdot {latex_power(d)} = {latex_power(gpt3.flops)}")]


def _shape_lines(page: Lesson) -> list[tuple[str, str]]:
    """The parameters that layers and width make, of the first GPT and of GPT-3, and the width of GPT-3's heads."""
    models = {model.name: model for model in built_models.load().models}
    lines = [(page.label("numbers_shape", name=name, published=prefixed(models[name].billions * 1e9, digits=3)),
              rf"12 L d^2 = 12 \cdot {models[name].layers} \cdot {models[name].width}^2 = "
              rf"{latex_power(12 * models[name].layers * models[name].width ** 2)}") for name in ("GPT", "GPT-3")]
    gpt3 = models["GPT-3"]
    return [*lines, (page.label("numbers_head", name=gpt3.name),
                     rf"\frac{{d}}{{h}} = \frac{{{gpt3.width}}}{{{gpt3.heads}}} = {gpt3.width // gpt3.heads}")]


def _context_lines(page: Lesson, low: float, high: float) -> list[tuple[str, str]]:
    """The pairs of attention in the shortest and in the longest context."""
    return [(page.label("numbers_context"),
             rf"\frac{{{low}^2}}{{{high}^2}} = \frac{{{low ** 2}}}{{{high ** 2}}} = "
             rf"\frac{{1}}{{{round((high / low) ** 2)}}}")]


def _largest_question(page: Lesson) -> Question:
    """Ask which of four known models took most operations."""
    names = ("GPT-3", "Gopher", "LLaMA", "Chinchilla")
    models = {model.name: model for model in built_models.load().models}
    texts = "; ".join(page.label("compute_of", name=name, flops=superscript(models[name].flops),
                                parameters=prefixed(models[name].billions * 1e9, digits=3),
                                tokens=prefixed(models[name].billion_tokens * 1e9, digits=3))
                     for name in names)
    return page.question("compute", names, int(np.argmax([models[name].flops for name in names])), said=texts)


# ---- scaling ---------------------------------------------------------------------------------------------------------


def _scaling(page: Lesson) -> Reading:
    n, d = (1e9 * column.number_input(page.label(f"{name}_field"), 1e-6, SETTINGS.each[name].high, step=step,
                                      format="%.6g", **attached(name))
            for column, (name, step) in zip(st.columns([2, 2, 5]), (("parameters", 1.0), ("tokens", 10.0))))
    flops = scaling_laws.training_flops(n, d)
    title = page.label("title_scaling", n=prefixed(n), d=prefixed(d), flops=superscript(flops),
                       joint=f"{scaling_laws.joint_loss(n, d):.4f}")
    st.markdown(f"**{title}**")
    scales = {"parameters": n, "tokens": d, "compute": flops / scaling_laws.PETAFLOP_DAY}
    with st.container(key=f"{PREFIX}laws"):
        for column, (name, scale) in zip(st.columns(3, gap="medium"), scales.items()):
            with column:
                show(f"law_{name}", figures.power_law, _curve(name, scale), (scale, scaling_laws.law(name, scale)),
                     (page.label(f"axis_law_{name}"), page.label("axis_loss")),
                     height=_height(70 if reader.present() else 120))
    page.note(page.label("laws_note", ratio=readable(d / n)))
    best_n, best_d = scaling_laws.best_split(flops)
    a_n, n_c = scaling_laws.LAWS["parameters"]
    lines = [(page.label("numbers_training_own"),
              rf"6 N D = 6 \cdot {latex_power(n)} \cdot {latex_power(d)} = {latex_power(flops)}"),
             (page.label("numbers_law"), rf"\mathcal{{L}}(N) = \left(\frac{{N_c}}{{N}}\right)^{{\alpha_N}} = "
                                         rf"\left(\frac{{{latex_power(n_c)}}}{{{latex_power(n)}}}\right)^{{{a_n}}} = "
                                         rf"{latex_number(scaling_laws.law('parameters', n))}"),
             (page.label("numbers_best"),
              rf"N = \sqrt{{\frac{{C}}{{6 \cdot 20}}}} = \sqrt{{\frac{{{latex_power(flops)}}}{{120}}}} = "
              rf"{latex_power(best_n)}, \qquad D = 20 N = {latex_power(best_d)}")]
    return Reading(
        lines, _loss_question(page, n),
        [scaling_laws.training_flops, scaling_laws.law, scaling_laws.joint_loss],
        {"laws.csv": lambda: pd.concat([_curve(name, scale).assign(quantity=name) for name, scale in scales.items()])},
        f".st-key-{PREFIX}law_parameters", title, explanation="record_scaling")


def _curve(name: str, scale: float) -> pd.DataFrame:
    """A scaling law over several powers of ten, up to the reader's point at least."""
    low, high = {"parameters": (6, 13), "tokens": (7, 14), "compute": (-6, 6)}[name]
    place = math.log10(scale)
    scales = np.logspace(min(low, place), max(high, place), 60)
    return pd.DataFrame({"scale": scales, "loss": scaling_laws.law(name, scales)})


def _loss_question(page: Lesson, n: float) -> Question:
    """By which factor, in order of magnitude, the parameters must grow to halve the loss, by the law for N alone."""
    factor = 2 ** (1 / scaling_laws.LAWS["parameters"][0])
    options = [2, 10, 100, 10_000]
    return page.question("halve", [page.label("halve_option", n=grouped(option)) for option in options],
                         int(np.abs(np.log(np.array(options) / factor)).argmin()), factor=grouped(round(factor)),
                         n=prefixed(n), then=prefixed(n * factor))


# ---- translation -----------------------------------------------------------------------------------------------------


def _translation(page: Lesson, pair: str) -> Reading:
    source, rows = built_models.load().translation
    table = pd.DataFrame(rows)
    flops = f"flops_{pair}"
    known = table.dropna(subset=[pair, flops]).set_index("name", drop=False)
    ours = known["name"].str.startswith("Transformer")
    frame = pd.DataFrame({"name": known["name"], "flops": known[flops], "bleu": known[pair], "ours": ours, "shown": [
        f"{bleu} BLEU, {superscript(work)} FLOP"
        for bleu, work in zip(known[pair], known[flops])]}).reset_index(drop=True)
    big, best = known.loc["Transformer (big)"], known.loc[known[pair][~ours].idxmax()]
    cheaper = best[flops] / big[flops]
    title = page.label("title_translation", pair=page.label(f"pair_{pair}"), big=big[pair], best=best["name"],
                       bleu=best[pair], factor=readable(cheaper, 2))
    st.markdown(f"**{title}**")
    show("scores", figures.scores, frame, (page.label("axis_training"), "BLEU"), height=_height())
    lines = [
        (page.label("numbers_gain", best=best["name"]), rf"{big[pair]} - {best[pair]} = {big[pair] - best[pair]:.2f}"),
        (page.label("numbers_cheaper"),
         rf"\frac{{{latex_power(best[flops])}}}{{{latex_power(big[flops])}}} = {latex_number(cheaper)}")]
    cells = [(row["name"], *(row[name] and str(row[name]) for name in ("en_de", "en_fr")),
              *(row[name] and superscript(row[name]) for name in ("flops_en_de", "flops_en_fr"))) for row in rows]
    return Reading(lines, _time_question(page, pair, best, known), [built_models.load],
                   {"translation.csv": lambda: table.assign(source=source)}, f".st-key-{PREFIX}scores", title,
                   _dashed(page.table(cells, "name", "en_de", "en_fr", "flops_en_de", "flops_en_fr", labels="scores")),
                   explanation="record_translation")


def _time_question(page: Lesson, pair: str, best: pd.Series, known: pd.DataFrame) -> Question:
    """How long the best of the other systems would have taken where the small Transformer was trained; its reason
    calculates it a second time, from the big Transformer.
    """
    work = known[f"flops_{pair}"]
    days, again = (float(best[f"flops_{pair}"] / work[name]) * known_days for name, known_days in TRAINED.items())
    options = [page.label("time_option", days=readable(factor * days, 2)) for factor in (0.1, 1, 10, 100)]
    small, big = TRAINED
    return Question(f"time_{pair}", page.label("question_time", best=best["name"], hours=round(24 * TRAINED[small])),
                    options, 1,
                    page.label("because_time", work=superscript(best[f"flops_{pair}"]), small=superscript(work[small]),
                               hours=round(24 * TRAINED[small]), days=readable(days), big=superscript(work[big]),
                               big_days=readable(TRAINED[big]), again=readable(again)))
