"""The third stage: alignment with preferences, the reader's own votes or a rule that stands in for them, by direct
preference optimisation.
"""
import math
from collections.abc import Callable

import pandas as pd
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from core.app.compute import cache
from core.app.compute.cache import LoadedModel
from core.app.lesson import Lesson, Question, Reading, cannot
from core.app.state import Run, reader
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import tuning, tuning_texts
from core.learning.tuning import Candidates, Preference, PreferenceTuner
from core.model.transformer import Transformer
from pages.training import recorded_tuning
from pages.training import tuning_parts as parts
from pages.training.recorded_tuning import TuningRun
from pages.training.shared import PREFIX, ask, attached, chart_height, fraction, keep, one_of, read
from pages.training.tuning_parts import Stage, one_line

STEP = "judge"                       # of the wizard, between the stage and the button
VOTES = "training_votes"             # of the session: (model, seed) -> the votes by opening
LEAST_VOTES = 8
BETAS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
N_SCORED = 24                        # continuations of held-out openings that the rule scores


def settings(page: Lesson) -> None:
    """Draw the choice of the judge."""
    one_of(page, "judge")


def draw(page: Lesson, run: Run, loaded: LoadedModel, place: DeltaGenerator) -> Reading:
    """Draw the instrument; return what it shows."""
    judge, beta = read("judge"), min(BETAS, key=lambda value: abs(value - read("beta")))
    keep(beta=beta)                                 # a URL may have a value between two steps
    candidates, votes = candidates_of(loaded), tuple(votes_of(loaded).items()) if judge == "own" else ()
    if judge == "own":
        _ballot(page, loaded, candidates)
        if len(votes) < LEAST_VOTES:
            return _too_few(page, loaded)
    train, held_out = preferences_of(loaded, candidates)
    if not train or not held_out:
        return cannot(page.label("aligned_no_pairs"))
    learned = parts.tuner_settings()        # read here: a job has no session
    score = score_of(candidates, rule_of(loaded, judge), read("seed"))

    def make() -> PreferenceTuner:
        return PreferenceTuner(loaded.model, parts.old_of(loaded), train, held_out, beta, *learned, score)

    example = held_out[read("example") % len(held_out)]
    stage = Stage(page, loaded, ("aligned", loaded.name, judge, votes, beta, *learned), make, len(held_out),
                  parts.given_text(run, loaded.tokenizer.decode(example.prompt)), place,
                  _recorded(loaded, learned, beta))
    parts.draw_stage(stage, lambda: _title(stage), lambda: _losses(stage), _above(stage, example),
                     lambda: st.selectbox(page.label("beta"), BETAS, width=110, help=page.label("beta_help"),
                                          **attached("beta")))
    functions = [tuning.margins, tuning.dpo_loss, tuning.answer_log_probs, PreferenceTuner._loss, tuning.preferences]
    return parts.reading(stage, _title(stage), _lines(stage, example), question=_question(page),
                         functions=functions, table=_margin_table(stage),
                         data={"tuning.csv": lambda: parts.table(stage.history),
                               "preferences.csv": lambda: _pairs_table(loaded, train + held_out)})


def _recorded(loaded: LoadedModel, learned: tuple[str, int, int], beta: float) -> TuningRun | None:
    """The recorded run of the present settings, if there is one."""
    kept = recorded_tuning.MODEL, recorded_tuning.LEARNED, recorded_tuning.BETA, recorded_tuning.DICE
    if (loaded.name, learned, beta, read("dice")) != kept:
        return None
    return recorded_tuning.tuning_run("aligned", read("judge"))


# ---- candidates and votes --------------------------------------------------------------------------------------------


def candidates_of(loaded: LoadedModel) -> Candidates:
    """The model's continuations of some openings, shared by all readers."""
    seed = read("seed")
    return cache.result(("candidates", loaded.name, seed), lambda: write_candidates(loaded, seed),
                        lambda _: 64 * tuning.N_OPENINGS * tuning.N_EACH * tuning.N_NEW)


def write_candidates(loaded: LoadedModel, seed: int) -> Candidates:
    """The model's continuations of some openings."""
    tokenizer = loaded.tokenizer
    openings = tuning_texts.openings(4 * tuning.N_OPENINGS, seed)
    return tuning.candidates(loaded.model, [(tokenizer.first, *tokenizer.encode(opening)) for opening in openings],
                             seed)


def votes_of(loaded: LoadedModel) -> dict[int, tuple[int, int]]:
    """This reader's votes on this model's texts: opening -> (index of the preferred text, index of the other)."""
    return st.session_state.setdefault(VOTES, {}).setdefault((loaded.name, read("seed")), {})


def preferences_of(loaded: LoadedModel, candidates: Candidates) -> tuple[list[Preference], list[Preference]]:
    """The preferences to train on and those held out: by the rule, or the votes, of which every fourth is held out."""
    if (value := rule_of(loaded, read("judge"))) is not None:
        return tuning.preferences(candidates, value)
    voted = [Preference(candidates.prompts[i], candidates.texts[i][better], candidates.texts[i][worse])
             for i, (better, worse) in votes_of(loaded).items()]
    return [preference for i, preference in enumerate(voted) if i % 4 != 3], voted[3::4]


def rule_of(loaded: LoadedModel, judge: str) -> Callable[[tuple[int, ...]], int] | None:
    """The rule as a function of token ids; None if the reader votes."""
    rule, decode = tuning_texts.JUDGES.get(judge), loaded.tokenizer.decode
    return None if rule is None else lambda ids: rule(decode(ids))


def score_of(candidates: Candidates, value: Callable[[tuple[int, ...]], int] | None,
             seed: int) -> Callable[[Transformer], float] | None:
    """A function of a model: the mean value, by the rule, of its new continuations of held-out openings; None without a
    rule.
    """
    if value is None:
        return None
    held_out = candidates.prompts[:len(candidates.prompts) // 4]
    prompts = [held_out[i % len(held_out)] for i in range(N_SCORED)]

    def score(model: Transformer) -> float:
        texts = tuning.draw_texts(model, prompts, tuning.N_NEW, torch.Generator().manual_seed(seed + 1),
                                  tuning.TEMPERATURE)
        return sum(map(value, texts)) / len(texts)

    return score


def _ballot(page: Lesson, loaded: LoadedModel, candidates: Candidates) -> None:
    """Draw two continuations to choose from."""
    votes, texts = votes_of(loaded), candidates.texts
    opening = next((i for i in range(len(texts)) if i not in votes and texts[i][0] != texts[i][1]), None)
    with st.container(key=f"{PREFIX}ballot"):
        if opening is None:
            st.caption(page.label("ballot_done", n=len(votes)))
            return
        st.caption(page.label("ballot", n=len(votes), least=LEAST_VOTES,
                              opening=one_line(loaded.tokenizer.decode(candidates.prompts[opening]))))
        for place, column in enumerate(st.columns(2, gap="small")):
            column.button("… " + one_line(loaded.tokenizer.decode(texts[opening][place])),
                          key=f"training_vote_{place}", width="stretch", on_click=votes.__setitem__,
                          args=(opening, (place, 1 - place)))


def _too_few(page: Lesson, loaded: LoadedModel) -> Reading:
    """The Reading before there are enough votes."""
    title = page.label("ballot_title", n=len(votes_of(loaded)), least=LEAST_VOTES)
    st.markdown(f"**{title}**")
    return Reading([_start_line(page)], _question(page), [tuning.margins, tuning.dpo_loss], {},
                   f".st-key-{PREFIX}ballot", title)


# ---- pictures and numbers --------------------------------------------------------------------------------------------


def _title(stage: Stage) -> str:
    page, tuner, first, last = stage.page, stage.tuner, stage.history[0], stage.history[-1]
    if not last.step:
        return page.label("aligned_title_before", n=len(tuner.pairs), held_out=len(tuner.held_out), round=tuning.ROUND)
    title = page.label("aligned_title", steps=last.step, seconds=f"{last.seconds:.0f}",
                       right=readable(100 * last.right), n=len(tuner.held_out), kl=readable(last.kl),
                       old_before=readable(first.old), old=readable(last.old))
    scores = [step.score for step in stage.history if not math.isnan(step.score)]
    return " ".join([title, *([page.label("aligned_title_score", before=readable(scores[0]), now=readable(scores[-1]))]
                              if scores else [])])


def _losses(stage: Stage) -> None:
    page, history = stage.page, stage.history
    if not reader.present():            # a projector has room for one picture, which names its own lines
        st.caption(page.label("caption_aligned"))
        parts.curves(page, "losses", parts.values_of(history, "held_out", "loss"), chart_height(225),
                     levels={"ln 2": math.log(2)})
    parts.curves(page, "margins", parts.values_of(history, "margin", "kl"),
                 chart_height(60 if reader.present() else 225))


def _above(stage: Stage, example: Preference) -> tuple[str, str]:
    """The caption and the text above the model's outputs: the reader's prompt, or a preference."""
    page, decode, given = stage.page, stage.loaded.tokenizer.decode, one_line(stage.given)
    if read("asked") == "prompt":
        return page.label("caption_own_prompt"), given
    if reader.present():                # the pair has no room beside what the model writes
        return page.label("caption_given"), given
    return (page.label("caption_preference"),
            f"{given}  \n✓ {one_line(decode(example.chosen))}  \n✗ {one_line(decode(example.rejected))}")


def _start_line(page: Lesson) -> tuple[str, str]:
    return (page.label("numbers_dpo_start"),
            rf"m = 0, \qquad -\ln \sigma(0) = -\ln \tfrac{{1}}{{2}} = \ln 2 = {latex_number(math.log(2))}")


@torch.no_grad()
def log_ratios(model: Transformer, reference: Transformer, example: Preference) -> list[float]:
    """ln π and ln π_ref of the preferred continuation, then of the rejected one, float64."""
    rows = [tuning.answers([tuning.Pair(example.prompt, text)]) for text in (example.chosen, example.rejected)]
    return [float(tuning.answer_log_probs(each, row).double()) for row in rows for each in (model, reference)]


def _ratios(stage: Stage, example: Preference) -> list[float]:
    """The `log_ratios` of the example in the current state."""
    if stage.replay is not None:
        return stage.replay.examples[read("example") % stage.n_held_out].values
    return stage.latest("ratios", example, lambda: log_ratios(stage.tuner.copy(), stage.tuner.start, example))


def _lines(stage: Stage, example: Preference) -> list[tuple[str, str]]:
    page, tuner = stage.page, stage.tuner
    values = _ratios(stage, example)
    won, ref_won, lost, ref_lost = map(latex_operand, values)
    m, beta = (values[0] - values[1]) - (values[2] - values[3]), tuner.beta
    exponential = rf"1 + e^{{-{beta:g} \cdot ({latex_operand(m)})}}"
    return [_start_line(page),
            (page.label("numbers_margin"),
             r"m = \ln \frac{\pi(y^+ \mid x)}{\pi_{\text{ref}}(y^+ \mid x)} - "
             r"\ln \frac{\pi(y^- \mid x)}{\pi_{\text{ref}}(y^- \mid x)}"
             f" = ({won} - ({ref_won})) - ({lost} - ({ref_lost})) = {latex_number(m)}"),
            (page.label("numbers_dpo"),
             rf"-\ln \sigma(\beta m) = -\ln {fraction(1, exponential)} = "
             f"{latex_number(float(tuning.dpo_loss(torch.tensor(m, dtype=torch.float64), beta)))}")]


def _margin_table(stage: Stage) -> pd.DataFrame:
    """The held-out pairs with their current margins."""
    tuner = stage.tuner
    if stage.replay is not None:
        margins = [(now - before) - (other - other_before)
                   for now, before, other, other_before in (example.values for example in stage.replay.examples)]
    else:
        with torch.no_grad():
            margins = stage.latest("margins", None, lambda: tuner.held_out_margins().tolist())
    return _pairs_table(stage.loaded, tuner.held_out).assign(**{stage.page.label("table_margin"): margins})


def _pairs_table(loaded: LoadedModel, pairs: list[Preference]) -> pd.DataFrame:
    decode = loaded.tokenizer.decode
    return pd.DataFrame([{"prompt": decode(p.prompt), "preferred": decode(p.chosen), "other": decode(p.rejected)}
                         for p in pairs])


def _question(page: Lesson) -> Question:
    """The value of DPO's loss before the first step."""
    beta = read("beta")
    return ask(page, "aligned", {0.0, 0.5, 1.0}, float(tuning.dpo_loss(torch.zeros(1, dtype=torch.float64), beta)),
               readable, beta=readable(beta))
