"""Training data: the corpora by size, what GPT-3 was given of its collection, and what several models read."""
import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Question, Reading
from core.app.state import reader
from core.cost import built_models
from core.figures.numbers import grouped, latex_number, readable
from pages.architectures import charts as figures
from pages.architectures.shared import PREFIX, show

CHART, PRESENT_CHART = 250, 258     # px of the corpora
MIX, PRESENT_MIX = 130, 176         # px of two bars
MIXES = 225                         # px of a bar for each model, at the usual size of type


def draw(page: Lesson, mix: str) -> Reading:
    """Draw the instrument and return what it shows. mix: "gpt3", what was collected for it and what it read, or
    "models", what each of several models read.
    """
    source, rows = built_models.load().corpora
    known = [row for row in rows if row["gigabytes"] is not None]
    left, right = st.columns([3, 2], gap="large")
    title = page.label("title_data", least=known[0]["name"], low=known[0]["gigabytes"], most=known[-1]["name"],
                       high=grouped(known[-1]["gigabytes"]))
    with left:
        if mix == "models":
            st.markdown(f"**{_mixes_title(page)}**")
            _mixes(page)
        else:
            st.markdown(f"**{title}**")
            _corpora(page, rows)
            _mixture(page)
    with right:
        st.markdown(page.text("pipeline"))
    return Reading(_lines(page, mix), _code_question(page) if mix == "models" else _read_question(page),
                   [built_models.load],
                   {"corpora.csv": lambda: pd.DataFrame(rows).assign(source=source), "mixes.csv": shares},
                   f".st-key-{PREFIX}{'mixes' if mix == 'models' else 'corpora'}",
                   _mixes_title(page) if mix == "models" else title,
                   _mix_table(page) if mix == "models" else _corpora_table(page, rows), explanation="record_data")


# ---- corpora ---------------------------------------------------------------------------------------------------------


def _corpora(page: Lesson, rows: tuple[dict, ...]) -> None:
    """The corpora as bars; those without a published size are named below."""
    frame = pd.DataFrame([{"name": row["name"], "value": row["gigabytes"],
                           "shown": f"{grouped(row['gigabytes'])} GB, {row['kind']}"}
                          for row in rows if row["gigabytes"] is not None])
    show("corpora", figures.amounts, frame, page.label("axis_gigabytes"),
         height=PRESENT_CHART if reader.present() else CHART)
    page.note(page.label("corpora_unsized", names=", ".join(
        f"{row['name']} ({row['kind'].lower()})" for row in rows if row["gigabytes"] is None)))


def _corpora_table(page: Lesson, rows: tuple[dict, ...]) -> pd.DataFrame:
    cells = [(row["name"], "–" if row["gigabytes"] is None else f"{grouped(row['gigabytes'])} GB", row["kind"],
              row["updated"]) for row in rows]
    return page.table(cells, "name", "size", "kind", "updated", labels="corpora")


# ---- what GPT-3 read -------------------------------------------------------------------------------------------------


def _mixture(page: Lesson) -> None:
    """Two bars of one length: what was collected for GPT-3, and what was drawn from it."""
    source, mix = built_models.load().mixture
    everything = sum(row["percent"] for row in mix), sum(row["billions"] for row in mix)
    rows = [{"bar": page.label(f"mix_{bar}"), "part": row["name"], "order": order,
             "share": row[key] / whole, "shown": said.format(row[key])}
            for bar, key, whole, said in (("collected", "billions", everything[1], "{} · 10⁹ tokens"),
                                          ("read", "percent", everything[0], "{} %"))
            for order, row in enumerate(mix)]
    show("mixture", figures.mixture, pd.DataFrame(rows), [row["name"] for row in mix],
         height=PRESENT_MIX if reader.present() else MIX)
    page.note(page.label("mix_note", source=source))


def _lines(page: Lesson, mix: str) -> list[tuple[str, str]]:
    if mix == "models":
        [model] = [one for one in built_models.load().mixes if one.name == "LLaMA"]
        code = model.shares["code"]
        return [(page.label("numbers_code"), rf"\frac{{{code:g}}}{{100}} \cdot 1400 \cdot 10^9 = "
                                             rf"{latex_number(code * 14)} \cdot 10^9")]
    _, parts = built_models.load().mixture
    web, everything = parts[0]["billions"], sum(row["billions"] for row in parts)
    return [(page.label("numbers_collected"), rf"\frac{{{web}}}{{{everything}}} = {latex_number(web / everything)}"),
            (page.label("numbers_read"),
             r", \qquad ".join(rf"\frac{{{row['percent']} / 100 \cdot 300}}{{{row['billions']}}} = "
                               rf"{latex_number(3 * row['percent'] / row['billions'])}"
                               for row in (parts[0], parts[-1])))]


def _read_question(page: Lesson) -> Question:
    """How often GPT-3 met each text of its smallest part, against the largest."""
    _, mix = built_models.load().mixture
    times = [3 * row["percent"] / row["billions"] for row in mix]
    options = [row["name"] for row in mix]
    return page.question("read", options, int(np.argmax(times)), said="; ".join(
        f"{name}: {readable(often, 2)}" for name, often in zip(options, times)))


# ---- what each of several models read --------------------------------------------------------------------------------


def shares() -> pd.DataFrame:
    """A row for each model and kind of text: its share in percent, 0 where it read none."""
    record = built_models.load()
    return pd.DataFrame([{"model": mix.name, "kind": kind, "percent": mix.shares.get(kind, 0), "source": mix.source}
                         for mix in record.mixes for kind in record.kinds])


def _mixes(page: Lesson) -> None:
    """A bar for each model, its kinds of text side by side."""
    record = built_models.load()
    kinds = {kind: page.label(f"kind_of_text_{kind}") for kind in record.kinds}
    rows = [{"bar": mix.name, "part": name, "order": order,
             "share": mix.shares[kind] / sum(mix.shares.values()), "shown": f"{mix.shares[kind]:g} %"}
            for mix in record.mixes for order, (kind, name) in enumerate(kinds.items()) if kind in mix.shares]
    show("mixes", figures.mixture, pd.DataFrame(rows), list(kinds.values()), height=round(MIXES * reader.scale()))
    page.note(page.label("mixes_note"))


def _mixes_title(page: Lesson) -> str:
    """The share of code in each mix, in words."""
    code = {mix.name: mix.shares.get("code", 0) for mix in built_models.load().mixes}
    none = [name for name, share in code.items() if not share]
    some = sorted((share, name) for name, share in code.items() if share)
    return page.label("title_mixes", none=", ".join(none),
                      some=", ".join(f"{name} {share:g} %" for share, name in some))


def _mix_table(page: Lesson) -> pd.DataFrame:
    record = built_models.load()
    table = shares().pivot(index="model", columns="kind", values="percent").loc[[mix.name for mix in record.mixes]]
    rows = [(mix.name, *(f"{table.loc[mix.name, kind]:g} %" for kind in record.kinds), mix.source)
            for mix in record.mixes]
    return pd.DataFrame(rows, columns=[page.label("column_model"),
                                       *(page.label(f"kind_of_text_{kind}") for kind in record.kinds),
                                       page.label("column_source_of")])


def _code_question(page: Lesson) -> Question:
    """Ask which model read the largest share of code."""
    code = {mix.name: mix.shares["code"] for mix in built_models.load().mixes if "code" in mix.shares}
    return page.question("code", list(code), int(np.argmax([*code.values()])),
                         said="; ".join(f"{name} {share:g} %" for name, share in code.items()))
