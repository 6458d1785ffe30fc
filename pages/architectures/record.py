"""Record: models over time, the GPT family, the scaling laws with a calculator, the first Transformer's scores,
training data, and modifications of the transformer.
"""
import math
from bisect import bisect

import numpy as np
import pandas as pd
import streamlit as st

from core.app.frame import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.cost import built_models, scaling_laws
from core.figures.numbers import grouped, latex_number, readable, superscript
from pages.architectures import charts as figures
from pages.architectures import family, modifications, pieces, training_data
from pages.architectures.shared import PREFIX, SETTINGS, attached, choice, prefixed, read, show

CHART, PRESENT_CHART = 370, 323      # px
# the models whose names stand at rest, the first of them first; the others' stand where they cover nothing
NAMED = ("GPT-3", "GPT-4", "BERT large", "GPT-2", "GPT", "T5", "PaLM", "LLaMA 2", "ChatGPT", "Chinchilla", "LLaMA",
         "Transformer (big)", "GLaM", "PanGu-Σ", "GShard", "PaLM 2", "BART", "RoBERTa")
SHAPE = "layers", "width", "heads", "context"     # of a model: L, d, h, N

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
    with st.container(horizontal=True, gap="medium"):
        view = choice(page, "record")
        further = {"models": "measure", "translation": "pair", "data": "mix"}.get(view)
        picked = [choice(page, further)] if further else []
    if view == "models":
        return _models(page, *picked)
    return {"scaling": _scaling, "translation": _translation, "data": training_data.draw, "family": family.draw,
            "pieces": pieces.draw, "modifications": modifications.draw}[view](page, *picked)


def _height(less: int = 0) -> int:
    return (PRESENT_CHART if reader.present() else CHART) - less


def power(value: float) -> str:
    """A large number for a formula, as a product with a power of ten.

    >>> power(3.15e23), power(300e9)
    ('3.15 \\\\cdot 10^{23}', '3 \\\\cdot 10^{11}')
    """
    digits, exponent = f"{value:.6e}".split("e")
    return rf"{digits.rstrip('0').rstrip('.')} \cdot 10^{{{int(exponent)}}}"


# ---- models ----------------------------------------------------------------------------------------------------------


def quantity(model: built_models.Model, measure: str) -> float | None:
    """A model's measure on the timeline: its parameters, tokens, operations, context length or energy in watt hours;
    None if it is unknown.
    """
    name, unit = {"parameters": ("billions", 1e9), "tokens": ("billion_tokens", 1e9), "compute": ("flops", 1),
                  "context": ("context", 1), "energy": ("MWh", 1e6)}[measure]
    value = getattr(model, name)
    return None if value is None else value * unit


def _models(page: Lesson, measure: str) -> Reading:
    models = built_models.load().models
    known = [(model, value) for model in models if (value := quantity(model, measure)) is not None]
    write = {"compute": superscript, "context": lambda value: page.label("at_once", n=grouped(value))}.get(
        measure, lambda value: prefixed(value, "Wh" if measure == "energy" else "", 3))
    (first, low), (last, high) = known[0], max(known, key=lambda pair: pair[1])
    title = page.label(f"title_{measure}", first=first.name, low=write(low), last=last.name, high=write(high),
                       factor=readable(high / low, 2), n=len(known))
    st.markdown(f"**{title}**  \n{page.label('timeline_key')}")
    unpublished = [model for model in models if model.billions is None] if measure == "parameters" else []
    rows = pd.DataFrame([_point(page, model, value, write(value), measure) for model, value in known]
                        + [_point(page, model, math.nan, page.label("not_published"), measure)
                           for model in unpublished])
    show("timeline", figures.timeline, rows, page.label(f"axis_{measure}"), height=_height(),
         lane=page.label("not_published") if unpublished else "",
         ticks=sorted({value for _, value in known}) if measure == "context" else None)
    return Reading(_context_lines(page, low, high) if measure == "context" else _model_lines(page),
                   _largest_question(page), [scaling_laws.training_flops, built_models.Model],
                   {"models.csv": lambda: pd.DataFrame([vars(model) | {"flops": model.flops} for model in models])},
                   f".st-key-{PREFIX}timeline", title,
                   _table(page, [model for model, _ in known] + unpublished))


def _point(page: Lesson, model: built_models.Model, value: float, shown: str, measure: str) -> dict:
    """A model's row of the timeline. value: NaN if it is not published."""
    is_first = model.name in NAMED or measure == "energy"
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
    hours = 10_000 * gpt3.days * 24
    days = rf"10000 \cdot {gpt3.days}"
    return [(page.label("numbers_training"), rf"6 N D = 6 \cdot {power(n)} \cdot {power(d)} = {power(gpt3.flops)}"),
            (page.label("numbers_rate"), rf"\frac{{{power(gpt3.flops)}}}{{{days} \cdot 86400}} = "
                                         rf"{power(gpt3.flops / hours / 3600)}"),
            (page.label("numbers_energy"), rf"\frac{{{round(gpt3.MWh)} \cdot 10^6}}{{{days} \cdot 24}} "
                                           rf"= {latex_number(gpt3.MWh * 1e6 / hours)}")]


def _context_lines(page: Lesson, low: float, high: float) -> list[tuple[str, str]]:
    """The pairs of attention in the shortest and in the longest context."""
    return [(page.label("numbers_context"),
             rf"\frac{{{low}^2}}{{{high}^2}} = \frac{{{low ** 2}}}{{{high ** 2}}} = "
             rf"\frac{{1}}{{{round((high / low) ** 2)}}}")]


def _largest_question(page: Lesson) -> Question:
    """Which of four well-known models took most operations."""
    names = ("GPT-3", "Gopher", "LLaMA", "Chinchilla")
    models = {model.name: model for model in built_models.load().models}
    texts = "; ".join(page.label("compute_of", name=name, flops=superscript(models[name].flops),
                                parameters=prefixed(models[name].billions * 1e9, digits=3),
                                tokens=prefixed(models[name].billion_tokens * 1e9, digits=3))
                     for name in names)
    return page.question("compute", names, int(np.argmax([models[name].flops for name in names])), said=texts)


# ---- scaling ---------------------------------------------------------------------------------------------------------


def _scaling(page: Lesson) -> Reading:
    columns = st.columns([2, 2, 2, 3], vertical_alignment="bottom")
    n, d = (1e9 * column.number_input(page.label(f"{name}_field"), 1e-6, SETTINGS.each[name].high, step=step,
                                      format="%.6g", **attached(name))
            for column, name, step in ((columns[0], "parameters", 1.0), (columns[1], "tokens", 10.0)))
    hardware = built_models.load().hardware
    device = hardware[columns[2].selectbox(page.label("hardware_field"), list(hardware),
                                           format_func=lambda key: hardware[key].name, **attached("hardware"))]
    share = columns[3].slider(page.label("share_field"), 1, 100, format="%d %%", **attached("share"))
    flops = scaling_laws.training_flops(n, d)
    days = scaling_laws.device_days(flops, device.teraflops, share / 100)
    energy = days * 24 * device.watts
    title = page.label("title_scaling", n=prefixed(n), d=prefixed(d), flops=superscript(flops),
                       days=readable(days), device=device.name, thousand=readable(days / 1000),
                       energy=prefixed(energy, "Wh"))
    st.markdown(f"**{title}**")
    scales = {"parameters": n, "tokens": d, "compute": flops / scaling_laws.PETAFLOP_DAY}
    with st.container(key=f"{PREFIX}laws"):
        for column, (name, scale) in zip(st.columns(3, gap="medium"), scales.items()):
            with column:
                show(f"law_{name}", figures.power_law, _curve(name, scale), (scale, scaling_laws.law(name, scale)),
                     (page.label(f"axis_law_{name}"), page.label("axis_loss")),
                     height=_height(70 if reader.present() else 120))
    page.note(page.label("laws_note", joint=f"{scaling_laws.joint_loss(n, d):.4f}", ratio=readable(d / n)))
    best_n, best_d = scaling_laws.best_split(flops)
    a_n, n_c = scaling_laws.LAWS["parameters"]
    lines = [(page.label("numbers_training_own"), rf"6 N D = 6 \cdot {power(n)} \cdot {power(d)} = {power(flops)}"),
             (page.label("numbers_days", device=device.name, share=share),
              rf"\frac{{{power(flops)}}}{{{power(device.teraflops * 1e12)} \cdot {share / 100:g} \cdot "
              rf"86400}} = {latex_number(days)}"),
             (page.label("numbers_power", watts=device.watts),
              rf"{latex_number(days)} \cdot 24 \cdot {device.watts / 1e6:g} = {latex_number(energy / 1e6)}"),
             (page.label("numbers_law"), rf"\mathcal{{L}}(N) = \left(\frac{{N_c}}{{N}}\right)^{{\alpha_N}} = "
                                         rf"\left(\frac{{{power(n_c)}}}{{{power(n)}}}\right)^{{{a_n}}} = "
                                         rf"{latex_number(scaling_laws.law('parameters', n))}"),
             (page.label("numbers_best"),
              rf"N = \sqrt{{\frac{{C}}{{6 \cdot 20}}}} = \sqrt{{\frac{{{power(flops)}}}{{120}}}} = {power(best_n)}, "
              rf"\qquad D = 20 N = {power(best_d)}")]
    return Reading(
        lines, _loss_question(page, n),
        [scaling_laws.training_flops, scaling_laws.device_days, scaling_laws.law, scaling_laws.joint_loss],
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
         rf"\frac{{{power(best[flops])}}}{{{power(big[flops])}}} = {latex_number(cheaper)}")]
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
