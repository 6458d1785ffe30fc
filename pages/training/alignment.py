"""The third stage: alignment with preferences, the reader's own votes or a rule that stands in for them, by direct
preference optimisation.
"""
import math
from collections.abc import Hashable

import pandas as pd
import streamlit as st
import torch

from core.app.base.markdown import unmarked
from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.frame import Lesson, Question, Reading, job_controls
from core.app.state import Run
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import tuning, tuning_texts
from core.learning.tuning import Candidates, Preference, PreferenceTuner
from core.model.transformer import Transformer
from pages.training.shared import PREFIX, attached, chart_height, choice, keep, read
from pages.training.tuning_parts import (
    asked_control,
    bars,
    comparison,
    controls,
    curves,
    ids_of,
    kl_line,
    last_of,
    learned_line,
    learning,
    old_line,
    old_of,
    one_line,
    table,
    tuner_of,
    written_before,
    written_now,
)

VOTES = "training_votes"             # of the session: (model, seed) -> the votes so far, by opening
LEAST_VOTES = 8
BETAS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
N_SCORED = 24                        # continuations that the rule judges, from openings that are not trained on


def settings(page: Lesson) -> None:
    """Whose preferences."""
    choice(page, "judge")


def draw(page: Lesson, run: Run, loaded: LoadedModel) -> Reading:
    """The instrument; returns what it shows."""
    judge, beta = read("judge"), min(BETAS, key=lambda value: abs(value - read("beta")))
    keep(beta=beta)                                 # an address may ask for what lies between two steps
    found = candidates_of(loaded)
    if judge == "own":
        _ballot(page, loaded, found)
        if len(votes_of(loaded)) < LEAST_VOTES:
            return _too_few(page, loaded)
    train, held_out = preferences_of(loaded, found)
    key = ("aligned", loaded.name, judge, tuple(votes_of(loaded).items()) if judge == "own" else (), beta,
           read("parts"), read("rank") if read("parts") == "adapters" else 0, read("seed"))
    if not train or not held_out:
        told = page.label("aligned_no_pairs")
        st.info(told)
        return Reading([], _question(page), [tuning.dpo_loss], {}, ".st-key-training_stage", told)
    settings = read("parts"), read("rank"), read("seed"), _score(loaded, found)     # read here: a job has no session

    def make() -> PreferenceTuner:
        return PreferenceTuner(loaded.model, old_of(loaded), train, held_out, beta, *settings)

    tuner = tuner_of(key, make)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        running = controls(page, key, tuner, learning(key, make), loaded)
        st.selectbox(page.label("beta"), BETAS, format_func=lambda value: page.label("beta_is", value=value),
                     label_visibility="collapsed", width=110, help=page.label("beta_help"), **attached("beta"))
        asked_control(page, len(held_out))
    example = tuner.held_out[read("example") % len(held_out)]
    given = run.text if read("asked") == "prompt" else loaded.tokenizer.decode(example.prompt)
    job_controls.follow(page, key, running, lambda _: _picture(page, loaded, key, tuner_of(key, make), example, given))
    title = _title(page, tuner)
    return Reading(
        _lines(page, loaded, key, tuner, example, given), _question(page),
        [tuning.margins, tuning.dpo_loss, tuning.answer_log_probs, PreferenceTuner._loss, tuning.preferences],
        {"tuning.csv": lambda: table(tuner.history), "preferences.csv": lambda: _pairs_table(loaded, train + held_out)},
        f".st-key-{PREFIX}tuning_pictures", title,
        _margin_table(page, loaded, key, tuner), summary={page.label("view_tuning"): unmarked(title)})


# ---- candidates and votes --------------------------------------------------------------------------------------------


def candidates_of(loaded: LoadedModel) -> Candidates:
    """What the model writes after some openings, written once for everybody."""
    def write() -> Candidates:
        tokenizer = loaded.tokenizer
        openings = tuning_texts.openings(4 * tuning.N_OPENINGS, read("seed"))
        return tuning.candidates(loaded.model,
                                 [(tokenizer.first, *tokenizer.encode(opening)) for opening in openings], read("seed"))

    return cache.result(("candidates", loaded.name, read("seed")), write,
                        lambda made: 64 * tuning.N_OPENINGS * tuning.N_EACH * tuning.N_NEW)


def votes_of(loaded: LoadedModel) -> dict[int, tuple[int, int]]:
    """This reader's votes on this model's texts: opening -> (the text preferred, the other)."""
    return st.session_state.setdefault(VOTES, {}).setdefault((loaded.name, read("seed")), {})


def preferences_of(loaded: LoadedModel, found: Candidates) -> tuple[list[Preference], list[Preference]]:
    """To train on and held out: by the rule, or the votes, of which every fourth is held out."""
    if read("judge") != "own":
        rule = tuning_texts.JUDGES[read("judge")]
        return tuning.preferences(found, lambda ids: rule(loaded.tokenizer.decode(ids)))
    made = [Preference(found.prompts[i], found.texts[i][better], found.texts[i][worse])
            for i, (better, worse) in votes_of(loaded).items()]
    return [p for i, p in enumerate(made) if i % 4 != 3], made[3::4]


def _score(loaded: LoadedModel, found: Candidates):
    """What the rule gives new continuations of openings that are not trained on, on average; None where
    there is no rule.
    """
    if read("judge") == "own":
        return None
    rule, decode = tuning_texts.JUDGES[read("judge")], loaded.tokenizer.decode
    held_out = found.prompts[:len(found.prompts) // 4]
    prompts = [held_out[i % len(held_out)] for i in range(N_SCORED)]
    seed = read("seed") + 1

    def score(model: Transformer) -> float:
        texts = tuning.draw_texts(model, prompts, tuning.N_NEW, torch.Generator().manual_seed(seed), tuning.TEMPERATURE)
        return sum(rule(decode(text)) for text in texts) / len(texts)

    return score


def _ballot(page: Lesson, loaded: LoadedModel, found: Candidates) -> None:
    """Two continuations to choose from."""
    votes = votes_of(loaded)
    at = next((i for i in range(len(found.prompts)) if i not in votes and found.texts[i][0] != found.texts[i][1]), None)
    with st.container(key=f"{PREFIX}ballot"):
        if at is None:
            st.caption(page.label("ballot_done", n=len(votes)))
            return
        st.caption(page.label("ballot", n=len(votes), least=LEAST_VOTES,
                              opening=one_line(loaded.tokenizer.decode(found.prompts[at]))))
        for place, column in enumerate(st.columns(2, gap="small")):
            with column:
                st.button("… " + one_line(loaded.tokenizer.decode(found.texts[at][place])),
                          key=f"training_vote_{place}", width="stretch", on_click=_vote, args=(votes, at, place))


def _vote(votes: dict, at: int, place: int) -> None:
    votes[at] = (place, 1 - place)


def _too_few(page: Lesson, loaded: LoadedModel) -> Reading:
    """Before there are enough votes: the ballot alone."""
    title = page.label("ballot_title", n=len(votes_of(loaded)), least=LEAST_VOTES)
    st.markdown(f"**{title}**")
    return Reading([_start_line(page)], _question(page), [tuning.margins, tuning.dpo_loss], {},
                   f".st-key-{PREFIX}ballot", title)


# ---- pictures and numbers --------------------------------------------------------------------------------------------


def _title(page: Lesson, tuner: PreferenceTuner) -> str:
    first, last = tuner.history[0], tuner.history[-1]
    if not last.step:
        return page.label("aligned_title_before", n=len(tuner.pairs), held_out=len(tuner.held_out), round=tuning.ROUND)
    scores = [step.score for step in tuner.history if not math.isnan(step.score)]
    told = (" " + page.label("aligned_title_score", before=readable(scores[0]), now=readable(scores[-1]))
            if scores else "")
    return page.label("aligned_title", steps=last.step, seconds=f"{last.seconds:.0f}", right=readable(100 * last.right),
                      n=len(tuner.held_out), kl=readable(last.kl), old_before=readable(first.old),
                      old=readable(last.old)) + told


def _picture(page: Lesson, loaded: LoadedModel, key: Hashable, tuner: PreferenceTuner, example: Preference,
             given: str) -> None:
    """Title, one pair, curves, texts and distribution, of what stands now."""
    st.markdown(f"**{_title(page, tuner)}**")
    decode, ids, history = loaded.tokenizer.decode, ids_of(loaded, given), list(tuner.history)
    before, now = written_before(loaded, ids), written_now(key, tuner, loaded, ids)
    with st.container(key=f"{PREFIX}tuning_pictures"):
        losses, texts, beside = st.columns([4, 6, 3], gap="medium")
        with losses:
            st.caption(page.label("caption_aligned"))
            curves(page, "losses", ("held_out", "loss"), history, chart_height(225), {"ln 2": math.log(2)})
            curves(page, "margins", ("margin", "kl"), history, chart_height(225))
        with texts, st.container(gap="xsmall"):
            own = read("asked") == "prompt"
            st.caption(page.label("caption_own_prompt" if own else "caption_preference"))
            st.markdown(one_line(given) + ("" if own else f"  \n✓ {one_line(decode(example.chosen))}  \n✗ "
                                                          f"{one_line(decode(example.rejected))}"))
            comparison(page, before, now)
        with beside:
            bars(page, loaded, before, now)


def _start_line(page: Lesson) -> tuple[str, str]:
    return (page.label("numbers_dpo_start"),
            rf"m = 0, \qquad -\ln \sigma(0) = -\ln \tfrac{{1}}{{2}} = \ln 2 = {latex_number(math.log(2))}")


@torch.no_grad()
def parts_of(tuner: PreferenceTuner, model: Transformer, example: Preference) -> list[float]:
    """ln π and ln π_ref of the preferred continuation, then of the other, float64."""
    rows = [tuning.answers([tuning.Pair(example.prompt, text)]) for text in (example.chosen, example.rejected)]
    return [float(tuning.answer_log_probs(which, row).double()) for row in rows for which in (model, tuner.start)]


def _lines(page: Lesson, loaded: LoadedModel, key: Hashable, tuner: PreferenceTuner, example: Preference,
           given: str) -> list[tuple[str, str]]:
    values = last_of("parts", (key, tuner.step, example), lambda: parts_of(tuner, tuner.copy(), example))
    won, ref_won, lost, ref_lost = (latex_operand(v) for v in values)
    m, beta, ids = (values[0] - values[1]) - (values[2] - values[3]), tuner.beta, ids_of(loaded, given)
    return [_start_line(page),
            (page.label("numbers_margin"), rf"m = \ln \frac{{\pi(y_w \mid x)}}{{\pi_{{\text{{ref}}}}(y_w \mid x)}} - "
                                           rf"\ln \frac{{\pi(y_l \mid x)}}{{\pi_{{\text{{ref}}}}(y_l \mid x)}}"
             rf" = ({won} - ({ref_won})) - ({lost} - ({ref_lost})) = {latex_number(m)}"),
            (page.label("numbers_dpo"),
             rf"-\ln \sigma(\beta m) = -\ln \frac{{1}}{{1 + e^{{-{beta:g} \cdot ({latex_operand(m)})}}}} = "
             rf"{latex_number(float(tuning.dpo_loss(torch.tensor(m, dtype=torch.float64), beta)))}"),
            learned_line(page, tuner), old_line(page, tuner),
            kl_line(page, written_before(loaded, ids), written_now(key, tuner, loaded, ids))]


def _margin_table(page: Lesson, loaded: LoadedModel, key: Hashable, tuner: PreferenceTuner) -> pd.DataFrame:
    """The held-out pairs with their margins, as the model is now."""
    with torch.no_grad():
        made = last_of("margins", (key, tuner.step), lambda: tuner.held_out_margins().tolist())
    return _pairs_table(loaded, tuner.held_out).assign(**{page.label("table_margin"): made})


def _pairs_table(loaded: LoadedModel, pairs: list[Preference]) -> pd.DataFrame:
    decode = loaded.tokenizer.decode
    return pd.DataFrame([{"prompt": decode(p.prompt), "preferred": decode(p.chosen), "other": decode(p.rejected)}
                         for p in pairs])


def _question(page: Lesson) -> Question:
    """What DPO's loss is before the first step."""
    beta = read("beta")
    values = sorted({0.0, 0.5, float(tuning.dpo_loss(torch.zeros(1, dtype=torch.float64), beta)), 1.0})
    return Question("aligned", page.label("question_aligned", beta=readable(beta)),
                    [readable(value) for value in values],
                    values.index(float(tuning.dpo_loss(torch.zeros(1, dtype=torch.float64), beta))),
                    page.label("because_aligned"))
