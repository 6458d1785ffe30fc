"""Instructions: the known collections by how they were built, and how an instance is built: from a data set, from a
chat, by a model; and how the tasks of GPT-1, which took no instructions, were given to it.
"""
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.analysis import text_probability
from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.state import Run, reader
from core.base.markdown import escaped
from core.figures.numbers import grouped, latex_number, latex_operand, percent, readable
from core.learning import instructions
from core.learning.instructions import BUILT, Candidate, Collection
from pages.training import cards, charts, task_inputs
from pages.training.shared import (
    PREFIX,
    ask,
    chart_height,
    choice,
    fraction,
    keep,
    look,
    nats,
    numeric,
    own_seed,
    read,
    show,
    side_by_side,
)

LEAST_CONTEXT = 96              # tokens of context that the instances need
LOWER = 0.5                     # the bound of the question
KEY = f"{PREFIX}instructions"


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How most instances were built; none of the ways where none has half of them."""
    if read("built") != "collections":
        return None
    totals = totals_of(instructions.collections())

    def truth(_: int) -> Truth:
        most = max(BUILT, key=totals.get)
        share = totals[most] / sum(totals.values())
        return Truth(BUILT.index(most) if share > 0.5 else len(BUILT), said=percent(share) if share > 0.5 else "",
                     values={name: readable(totals[name] / 1e6) for name in BUILT})

    options = [page.label(f"most_{way}") for way in (*BUILT, "none")]
    return Prediction("instructions", Options(options), truth, {"n": len(instructions.collections())})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with side_by_side("bottom", "medium"):
        choice(page, "built")
        built = read("built")
        {"collections": _sorting, "datasets": _row_controls, "people": _turn_controls, "model": _writing,
         "inputs": task_inputs.controls}[built](page)
    if built == "collections":
        return _collections(page)
    if run.loaded.model.config.n_context < LEAST_CONTEXT:
        return cannot(page.label("instructions_too_short", name=escaped(run.title),
                                 n=run.loaded.model.config.n_context, least=LEAST_CONTEXT))
    return {"datasets": _from_data, "people": _from_people, "model": _by_model,
            "inputs": task_inputs.draw}[built](page, run.loaded)


def totals_of(found: Sequence[Collection]) -> dict[str, int]:
    """The number of instances by how they were built."""
    return {name: sum(each.instances for each in found if each.built == name) for name in BUILT}


# ---- the collections -------------------------------------------------------------------------------------------------


def _sorting(page: Lesson) -> None:
    choice(page, "collections_by")


def sorted_by(by: str) -> list[Collection]:
    """The collections, the largest or latest first, or by how they were built and then by size."""
    found = sorted(instructions.collections(), key=lambda each: -each.instances)
    if by == "date":
        return sorted(found, key=lambda each: each.date, reverse=True)
    return found if by == "size" else sorted(found, key=lambda each: BUILT.index(each.built))


def _collections(page: Lesson) -> Reading:
    found, totals = sorted_by(read("collections_by")), totals_of(instructions.collections())
    title = page.label("collections_title_short" if reader.present() else "collections_title", n=len(found),
                       all=readable(sum(totals.values()) / 1e6),
                       share=readable(100 * totals["datasets"] / sum(totals.values()), 3),
                       people=readable(totals["people"] / 1e6, 2), model=readable(totals["model"] / 1e6, 2))
    st.markdown(f"**{title}**")
    names = {name: page.label(f"instances_{name}") for name in BUILT}
    rows = [(each.name, each.built, each.instances, f"{grouped(each.instances)}, {each.date}") for each in found]
    with st.container(key=KEY):
        show(charts.sizes(rows, names, page.label("axis_instances"), look(),
                          chart_height(-140 if reader.present() else 0)), "collections")
    page.note(page.label("collections_source", source=found[0].source))
    lines = [(page.label("numbers_collections", built=names[name]),
              rf"{fraction(totals[name], sum(totals.values()))} = "
              f"{latex_number(totals[name] / sum(totals.values()))}") for name in BUILT]
    return Reading(lines, _chat_question(page), [instructions.collections], {"collections.csv": lambda: table(page)},
                   f".st-key-{KEY}", title, table(page))


def table(page: Lesson) -> pd.DataFrame:
    """The collections, a row for each, in the order that is shown."""
    return pd.DataFrame([(each.name, page.label(f"built_{each.built}"), each.date, each.instances)
                         for each in sorted_by(read("collections_by"))],
                        columns=page.label("columns_collections").split("|"))


# ---- from a data set -------------------------------------------------------------------------------------------------


def _row_controls(page: Lesson) -> None:
    choice(page, "data_set")
    choice(page, "template")
    if not reader.present():
        st.button(page.label("another_row"), key="training_another_row", icon=":material/skip_next:",
                  on_click=lambda: keep(data_row=read("data_row") + 1))


def _from_data(page: Lesson, loaded: LoadedModel) -> Reading:
    kind, picked = read("data_set"), int(read("template"))
    values, templates = instructions.row(kind, read("data_row")), instructions.forms()[kind]
    losses = [losses_of(loaded, *(instructions.filled(part, values) for part in template)) for template in templates]
    means = [sum(found) / len(found) for found in losses]
    title = page.label("from_data_title_short" if reader.present() else "from_data_title", n=len(templates),
                       loss=readable(means[picked]), template=picked + 1, least=readable(min(means)),
                       most=readable(max(means)))
    st.markdown(f"**{title}**")
    prompt, answer = templates[picked]
    steps = [{"title": page.label("card_row"), "lines": [{"parts": [[f"{name}: ", ""], [value, "slot"]]}
                                                         for name, value in values.items()]},
             {"title": page.label("card_template"), "note": page.label("card_template_note"),
              "lines": [{"parts": [[prompt, ""]]}, {"parts": [[answer.strip(), "answer"]]}]},
             {"title": page.label("card_instance"),
              "note": page.label("card_instance_note", n=len(losses[picked]), loss=readable(means[picked])),
              "lines": [{"parts": [*map(_slotted, instructions.pieces(prompt, values))]},
                        {"parts": [[instructions.filled(answer, values).strip(), "answer"]]}]}]
    _draw_cards(steps)
    page.note(page.label("caption_templates"))
    show(charts.bars({str(i + 1): mean for i, mean in enumerate(means)}, page.label("axis_template"),
                     page.label("axis_loss"), str(picked + 1), look(),
                     chart_height(150 if reader.present() else 235)), "templates")
    terms = " + ".join(map(latex_operand, losses[picked][:6])) + r" + \dots" * (len(losses[picked]) > 6)
    lines = [(page.label("numbers_template", n=len(losses[picked])),
              rf"\mathcal{{L}} = {fraction(terms, len(losses[picked]))} = {nats(means[picked])}")]
    return Reading(lines, _chat_question(page), [instructions.pieces, instructions.filled],
                   {"templates.csv": lambda: pd.DataFrame({"template": [a + b for a, b in templates], "nats": means})},
                   f".st-key-{KEY}", title)


def _slotted(piece: tuple[str, str]) -> list[str]:
    return [piece[0], "slot" if piece[1] else ""]


def losses_of(loaded: LoadedModel, prompt: str, answer: str) -> list[float]:
    """−ln p of each token of an answer after its prompt, for the chosen model, in nats; a long prompt loses its
    beginning.
    """
    tokenizer = loaded.tokenizer
    ids = tuple(tokenizer.encode(answer))[:LEAST_CONTEXT // 2]
    before = (tokenizer.first, *tokenizer.encode(prompt)[-(loaded.model.config.n_context - len(ids) - 1):])
    # by float64 from the logits on: a loss of 5 · 10⁻⁵ has two right digits in float32
    return cache.result(("instance", loaded.name, before, ids), lambda: (-text_probability.token_log_probs(
        loaded.model, [before + ids])[0][-len(ids):]).tolist(), lambda found: 8 * len(found))


def _draw_cards(steps: list[dict]) -> None:
    """Draw the cards of an instance in the making."""
    with st.container(key=KEY):
        cards.draw(steps, "instruction_cards")


# ---- from people -----------------------------------------------------------------------------------------------------


def _turn_controls(page: Lesson) -> None:
    found = instructions.instances(instructions.forms()["chat"])
    at = read("turn") % len(found)
    st.button(page.label("another_turn", i=at + 1, n=len(found)), key="training_another_turn",
              icon=":material/skip_next:", on_click=lambda: keep(turn=(at + 1) % len(found)))


def _from_people(page: Lesson, loaded: LoadedModel) -> Reading:
    chat = instructions.forms()["chat"]
    found = instructions.instances(chat)
    before, answer = found[read("turn") % len(found)]
    encode = loaded.tokenizer.encode
    n_before, n_answer = sum(len(encode(text)) for _, text in before), len(encode(answer))
    title = page.label("from_people_title", turns=len(chat), n=len(found), i=read("turn") % len(found) + 1,
                       before=len(before))
    st.markdown(f"**{title}**")

    def line(who: str, text: str, kind: str = "", part: str = "") -> dict:
        return {"parts": [[f"{page.label(f'chat_{who}')}: ", ""], [text, part]], "kind": kind}

    steps = [{"title": page.label("card_chat"), "note": page.label("card_chat_note"),
              "lines": [line(who, text, "picked" if i == len(before) else "muted" if i > len(before) else "")
                        for i, (who, text) in enumerate(chat)]},
             {"title": page.label("card_prompt"), "lines": [line(who, text) for who, text in before],
              "note": page.label("card_prompt_note", n=n_before)},
             {"title": page.label("card_answer"), "lines": [line("assistant", answer, part="answer")],
              "note": page.label("card_answer_note", n=n_answer)}]
    _draw_cards(steps)
    lines = [(page.label("numbers_turn"), rf"{fraction(n_answer, f'{n_before} + {n_answer}')} = "
              f"{latex_number(n_answer / (n_before + n_answer))}")]
    return Reading(lines, _chat_question(page), [instructions.instances],
                   {"chat.csv": lambda: pd.DataFrame(chat, columns=["who", "text"])}, f".st-key-{KEY}", title)


def _chat_question(page: Lesson) -> Question:
    """In how many instances of the chat its second answer stands in the prompt."""
    found = instructions.instances(instructions.forms()["chat"])
    answer = found[1][1]
    n = sum(answer in (text for _, text in before) for before, _ in found)
    return ask(page, "chat", set(range(len(found) + 1)), n, turns=len(instructions.forms()["chat"]), n=len(found))


# ---- by a model ------------------------------------------------------------------------------------------------------


def _writing(page: Lesson) -> None:
    st.button(page.label("write_one"), key="training_write_one", icon=":material/edit:", type="primary",
              on_click=lambda: keep(written=min(read("written") + 1, 40)))
    numeric(st.slider, page, "overlap", width=220, step=0.05,
            label_visibility="collapsed" if reader.present() else "visible")
    if not reader.present():
        own_seed(page)


def candidates_of(loaded: LoadedModel) -> list[Candidate]:
    """The chosen model's texts so far, and which are kept with the picked bound."""
    seed = read("seed")
    texts = [cache.result(("instruction", loaded.name, seed, k),
                          lambda k=k: instructions.write(loaded.model, loaded.tokenizer, k, seed), lambda _: 400)
             for k in range(read("written"))]
    return instructions.chosen(texts, read("overlap"))


def _by_model(page: Lesson, loaded: LoadedModel) -> Reading:
    found = candidates_of(loaded)
    last, kept = found[-1], [each for each in found if each.kept]
    answer = cache.result(("instruction answered", loaded.name, last.text), lambda: instructions.answered(
        loaded.model, loaded.tokenizer, last.text), len)
    title = page.label("by_model_title", name=escaped(loaded.title), n=len(found), kept=len(kept),
                       bound=readable(read("overlap")))
    st.markdown(f"**{title}**")
    _draw_cards(_writing_cards(page, found, answer))
    a, b = (instructions.words(text) for text in (last.text, last.nearest))
    common = round(last.overlap * (len(a) + len(b)) / 2)
    lines = [(page.label("numbers_overlap"), rf"\text{{ROUGE-L}} = \frac{{2 m}}{{n_a + n_b}} = "
              rf"\frac{{2 \cdot {common}}}{{{len(a)} + {len(b)}}} = {latex_number(last.overlap)}")]
    return Reading(lines, _bound_question(page, found), [instructions.write, instructions.rouge_l,
                                                          instructions.chosen],
                   {"instructions.csv": lambda: pd.DataFrame([vars(each) for each in found])}, f".st-key-{KEY}", title)


def _writing_cards(page: Lesson, found: list[Candidate], answer: str) -> list[dict]:
    """The seeds, the last text with its answer, and what was kept so far, the latest first."""
    last, n_kept = found[-1], sum(each.kept for each in found)
    return [{"title": page.label("card_seeds", n=len(instructions.forms()["seeds"])),
             "lines": [{"parts": [[f"Q: {text}", ""]], "kind": "picked" if text in last.seeds else "muted"}
                       for text in _shown_seeds(last)],
             "note": page.label("card_seeds_note", n=instructions.N_SHOWN)},
            {"title": page.label("card_written"),
             "lines": [{"parts": [["Q: ", ""], [last.text, "slot"]]}, {"parts": [["A: ", ""], [answer, "answer"]]}],
             "note": page.label("card_written_note", overlap=readable(last.overlap, 2), nearest=last.nearest)},
            {"title": page.label("card_kept", kept=n_kept, n=len(found)),
             "lines": [{"parts": [[each.text, ""]], "kind": "kept" if each.kept else "dropped",
                        "note": _dropped(page, each)} for each in found[::-1][:3 if reader.present() else 8]]}]


def _dropped(page: Lesson, each: Candidate) -> str:
    """A text's overlap, with a note if it is no question, which also drops it."""
    overlap = readable(each.overlap, 2)
    return overlap if each.is_question else page.label("card_no_question", overlap=overlap)


def _shown_seeds(last: Candidate) -> Sequence[str]:
    """All seeds; on a projector those that were read for the last text."""
    return last.seeds if reader.present() else instructions.forms()["seeds"]


def _bound_question(page: Lesson, found: list[Candidate]) -> Question:
    """How many of the same texts a lower bound would keep."""
    texts = [(each.seeds, each.text) for each in found]
    n = sum(each.kept for each in instructions.chosen(texts, LOWER))
    now = sum(each.kept for each in found)
    return ask(page, "bound", {now, len(found), max(0, n - 1), n + 1}, n, bound=readable(LOWER), n=len(found), now=now)
