"""RLHF: the three stages as a picture, each with what it reads and makes, and the same pairs by DPO; a recorded run,
and anew in the page.
"""
import math
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence

import pandas as pd
import streamlit as st

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, job_controls
from core.app.state import Run, reader
from core.base.markdown import escaped
from core.figures.lines import Axis
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import rlhf, tuning
from core.learning.rlhf import Feedback, Outcome, PolicyStep
from pages.training import cards, charts
from pages.training.shared import (
    PREFIX,
    ask,
    attached,
    chart_height,
    choice,
    keep,
    look,
    newest,
    own_seed,
    read,
    reset_button,
    show,
    show_curve,
    side_by_side,
)

FEEDBACKS = f"{PREFIX}feedbacks"        # of the session: seed -> its Feedback that has begun
MOST_FEEDBACKS = 1
STAGES = ("demonstrations", "comparisons", "reinforcement")
N_RECORDS = tuning.ROUND // tuning.EVERY + 1 + (rlhf.REWARD_STEPS + rlhf.STEPS) // rlhf.EVERY      # of all stages
KEY = f"{PREFIX}rlhf_picture"
MEASURES = ("reward", "value")          # of a policy's texts
KL_HEIGHT = 95                          # px
SHARPNESS = 0.5                         # β of the question
# how far the rule's value has moved over how far the reward has risen, between the options of the question
LIMITS = (-0.1, 0.1, 0.9)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the rule's value of the policy's texts rises with the reward, where a recorded run is shown."""
    policy = rlhf.recorded().policies.get(read("policy"))
    if policy is None or read("seed") != rlhf.SEED or feedback_of(rlhf.SEED) is not None:
        return None
    first, last = policy[0], policy[-1]

    def truth(_: int) -> Truth:
        moved = (last.value - first.value) / (last.reward - first.reward)
        rises = max(step.value for step in policy) > first.value
        return Truth(bisect(LIMITS, moved), said=readable(last.value),
                     seen=2 if last.value >= first.value else 0 if rises else 1,
                     values={"before": readable(first.value), "value": readable(last.value), "kl": readable(last.kl)})

    return Prediction("rlhf", Options([page.label(f"rule_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"policy": policy_name(page, read("policy")), "steps": last.step,
                       "reward_before": readable(first.reward), "reward": readable(last.reward)})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    seed, policy = read("seed"), read("policy")
    with side_by_side("bottom", "medium"):
        choice(page, "rlhf_stage")
        if read("rlhf_stage") == "reinforcement":
            st.selectbox(page.label("policy"), policies(), **attached("policy"), width=160,
                         format_func=lambda name: policy_name(page, name), label_visibility="collapsed")
        key = ("rlhf", seed, policy)
        running = job_controls.training_controls(page, key, "rlhf_train", _learning(seed, policy), stop="pause")
        if job_controls.trains() and not reader.present():
            if feedback_of(seed) is not None:
                reset_button(page, FEEDBACKS, seed)
            own_seed(page)
    job_controls.follow(page, key, running, lambda records: _picture(page, records[-1] if records and running else ""),
                        N_RECORDS)
    outcome, _ = shown()
    return Reading(_lines(page, outcome), _question(page),
                   [rlhf.RewardModel, rlhf.preferred_loss, rlhf.PolicyTuner._policy_gradient, rlhf.above_the_others],
                   {"policies.csv": lambda: policy_table(outcome), "pairs.csv": lambda: pair_table(outcome)},
                   f".st-key-{KEY}", _title(page, outcome), _ends_table(page, outcome))


def policies() -> list[str]:
    """The names of the policies: each β, and DPO."""
    return [*map(str, rlhf.BETAS), "dpo"]


def policy_name(page: Lesson, name: str) -> str:
    """How a policy is called: its β, or DPO."""
    return page.label("policy_dpo") if name == "dpo" else page.label("policy_beta", beta=f"{float(name):g}")


def feedback_of(seed: int) -> Feedback | None:
    """This session's own run of that seed; None before it has begun."""
    return st.session_state.get(FEEDBACKS, {}).get(seed)


def _learning(seed: int, policy: str) -> Callable[[], Iterator[str]]:
    """The function of a job: it goes through the stages as far as this policy."""
    kept = st.session_state.setdefault(FEEDBACKS, {})       # here, since a job has no session

    def learn() -> Iterator[str]:
        if seed not in kept:
            small = cache.shared_model(rlhf.MODEL, "cpu")
            kept[seed] = Feedback(small.model, small.tokenizer, seed)
            newest(kept, MOST_FEEDBACKS)
        yield from kept[seed].learn(policy)

    return learn


def shown() -> tuple[Outcome, bool]:
    """The shown run, and whether it is the recorded one: the reader's own as soon as it has begun."""
    own = feedback_of(read("seed"))
    return (rlhf.recorded(), True) if own is None else (own.outcome(), False)


def policy_of(outcome: Outcome) -> Sequence[PolicyStep]:
    """The records of the picked policy; none before it has begun."""
    return outcome.policies.get(read("policy"), ())


def at_of(outcome: Outcome) -> PolicyStep | None:
    """The picked record of the picked policy, else its last."""
    records, at = policy_of(outcome), read("rlhf_at")
    return records[at if 0 <= at < len(records) else -1] if records else None


# ---- the picture -----------------------------------------------------------------------------------------------------


def _title(page: Lesson, outcome: Outcome) -> str:
    records, is_recorded = policy_of(outcome), shown()[1]
    if not records:
        return page.label("rlhf_title_before")
    first, last = records[0], records[-1]
    title = page.label("rlhf_title", policy=policy_name(page, read("policy")), steps=last.step,
                       reward_before=readable(first.reward), reward=readable(last.reward),
                       value_before=readable(first.value), value=readable(last.value))
    return f"{page.label('recorded')} {title}" if is_recorded and read("seed") == rlhf.SEED else (
        f"{page.label('rlhf_recorded_seed', seed=rlhf.SEED)} {title}" if is_recorded else title)


def _picture(page: Lesson, running: str) -> None:
    """Draw the stages, and below them the picked one; the one at work, while the reader's own run goes on."""
    outcome, _ = shown()
    stage = running or read("rlhf_stage")
    with st.container(key=f"{PREFIX}headline"):
        st.markdown(f"**{_title(page, outcome)}**")
    with st.container(key=KEY):
        if not reader.present():        # a projector has room for the picked stage: its curve and its texts
            cards.draw(_cards(page, outcome, stage, running), "rlhf_stages")
        {"demonstrations": _demonstrations, "comparisons": _comparisons,
         "reinforcement": _reinforcement}[stage](page, outcome)


def _cards(page: Lesson, outcome: Outcome, stage: str, running: str) -> list[dict]:
    """The stages as cards: what each reads and makes, and its numbers once it has begun."""
    values = _card_values(outcome)

    def lines(name: str) -> list[dict]:
        told = [{"parts": [[f"{page.label(f'rlhf_card_{part}')} ", ""],
                           [page.label(f"rlhf_{name}_{part}", **values), ""]], "kind": "muted beside"}
                for part in ("reads", "makes")]
        numbers = page.label(f"rlhf_{name}_numbers", **values) if values[name] else "–"
        return [*told, {"parts": [[numbers, "number"]]}]

    return [{"title": f"{i} {page.label(f'rlhf_{name}')}", "lines": lines(name),
             "kind": "running" if name == running else "picked" if name == stage else ""}
            for i, name in enumerate(STAGES, 1)]


def _card_values(outcome: Outcome) -> dict[str, object]:
    """The numbers of the cards; by a stage's name whether it has begun."""
    first, last = outcome.demonstrations[0], outcome.demonstrations[-1]
    now = at_of(outcome)
    values = {"demonstrations": True, "comparisons": bool(outcome.rewards), "reinforcement": now is not None,
              "n": rlhf.N_DEMONSTRATIONS - rlhf.N_SHOWN, "before": readable(first.held_out),
              "now": readable(last.held_out), "pairs": outcome.n_pairs, "texts": rlhf.TEXTS}
    if outcome.rewards:
        values |= {"right": readable(100 * outcome.rewards[-1].right), "held_out": len(outcome.compared)}
    if now is not None:
        values |= {"reward": readable(now.reward), "value": readable(now.value), "kl": readable(now.kl)}
    return values


def _below(left: Callable[[], None], right: Callable[[], None]) -> None:
    """Two columns, each drawn by its function."""
    for column, part in zip(st.columns([4, 5] if reader.present() else [5, 6], gap="medium"), (left, right)):
        with column:
            part()


def _demonstrations(page: Lesson, outcome: Outcome) -> None:
    history = outcome.demonstrations

    def texts() -> None:
        rows = [[page.label("column_opening"), page.label("column_demonstration")]]
        rows += [[opening, f"… {text.strip()}"] for opening, text in rlhf.demonstrations()[:4]]
        _table(rows)
        st.caption(page.label("caption_demonstrations", writer=rlhf.WRITER))

    def curve() -> None:
        st.caption(page.label("caption_sft"))
        steps = [step.step for step in history]
        top = max(value for step in history for value in (step.held_out, step.old)) + 0.5
        show_curve(page, "rlhf_sft", "tuning_line", {line: (steps, [getattr(step, line) for step in history])
                                                     for line in ("held_out", "old")},
                   Axis(page.label("axis_steps"), (0, tuning.ROUND)),
                   Axis(page.label("axis_loss"), (0, math.ceil(top))), _height())

    _below(curve, texts)


def _comparisons(page: Lesson, outcome: Outcome) -> None:
    if not outcome.rewards:
        st.caption(page.label("rlhf_not_yet"))
        return
    pair = outcome.compared[read("example") % len(outcome.compared)]

    def curve() -> None:
        st.caption(page.label("caption_rewarding", n=len(outcome.compared)))
        steps = [step.step for step in outcome.rewards]
        lines = {"held_out": [step.held_out for step in outcome.rewards],
                 "accuracy": [step.right for step in outcome.rewards]}
        show_curve(page, "rlhf_rewarding", "reward_line", {name: (steps, ys) for name, ys in lines.items()},
                   Axis(page.label("axis_steps"), (0, rlhf.REWARD_STEPS)), Axis("", (0, 1.2)), _height(),
                   levels={"ln 2": math.log(2)})

    def texts() -> None:
        st.button(page.label("another"), key="training_rlhf_another", icon=":material/skip_next:",
                  on_click=lambda: keep(example=(read("example") + 1) % len(outcome.compared)))
        rows = [["", page.label("column_text"), page.label("column_reward"), page.label("column_rule")]]
        rows += [[mark, f"{each.prompt} …{each.text}", readable(each.reward), readable(each.value)]
                 for mark, each in zip("✓✗", pair)]
        _table(rows)
        st.caption(page.label("caption_pair_chance", p=readable(_sigmoid(pair[0].reward - pair[1].reward))))

    _below(curve, texts)


def _reinforcement(page: Lesson, outcome: Outcome) -> None:
    records, now = policy_of(outcome), at_of(outcome)
    if now is None:
        st.caption(page.label("rlhf_not_yet"))
        return

    def texts() -> None:
        if len(records) > 1:
            _step_picker(page, records, now)
        rows = [[page.label("column_text"), page.label("column_reward"), page.label("column_rule")]]
        rows += [[f"{each.prompt} …{each.text}", readable(each.reward), readable(each.value)]
                 for each in now.texts[:2 if reader.present() else 3]]
        _table(rows)

    _below(lambda: _policies_chart(page, outcome, records, now), texts)


def _step_picker(page: Lesson, records: Sequence[PolicyStep], now: PolicyStep) -> None:
    """Draw a slider over the records, for the texts."""
    steps, widget = [record.step for record in records], f"{PREFIX}rlhf_at_{len(records)}"
    st.select_slider(page.label("rlhf_at"), range(len(steps)), key=widget, value=records.index(now),
                     format_func=lambda i: str(steps[i]), on_change=lambda: keep(rlhf_at=st.session_state[widget]))


def _policies_chart(page: Lesson, outcome: Outcome, records: Sequence[PolicyStep], now: PolicyStep) -> None:
    """Chart the picked policy over its steps, and all policies at their ends."""
    if reader.present():
        st.caption(page.label("caption_policy"))
        _over_steps(page, records, MEASURES, now.step, _height())
        return
    columns = st.columns([5, 4], gap="small")
    with columns[0]:
        _over_steps(page, records, MEASURES, now.step, _height())
        _over_steps(page, records, ("kl",), now.step, KL_HEIGHT)
    with columns[1]:
        ends = {page.label(f"policy_short_{name}"): {which: getattr(outcome.policies[name][-1], which)
                                                     for which in MEASURES}
                for name in policies() if name in outcome.policies}
        st.caption(page.label("caption_ends"))
        show(charts.ends(ends, {which: page.label(f"policy_line_{which}") for which in MEASURES},
                         page.label("axis_policies"), look(), _height() + 40), "rlhf_ends")


def _over_steps(page: Lesson, records: Sequence[PolicyStep], which: Sequence[str], at: int, height: int) -> None:
    """Chart some measures of a policy over its steps, with a mark at the picked one."""
    steps = [record.step for record in records]
    drawn = {line: (steps, [getattr(record, line) for record in records]) for line in which}
    values = [0.0, *(value for _, ys in drawn.values() for value in ys)]
    show_curve(page, f"rlhf_{which[0]}", "policy_line", drawn, Axis(page.label("axis_steps"), (0, rlhf.STEPS)),
               Axis(page.label("axis_policy_kl" if "kl" in which else "axis_score"),
                    (math.floor(min(values)), math.ceil(max(1.0, *values)))), height, changes={at: ""},
               points=len(steps) == 1)


def _height() -> int:
    """The height of a chart below the stages, in px."""
    return chart_height(-30 if reader.present() else 165)


def _table(rows: Sequence[Sequence[str]]) -> None:
    """A table in Markdown, its first row the head; what a model wrote is escaped."""
    lines = [f"| {' | '.join(rows[0])} |", "|" + " --- |" * len(rows[0])]
    lines += [f"| {' | '.join(escaped(cell.replace(chr(10), ' ⏎ ')) for cell in row)} |" for row in rows[1:]]
    with st.container(key=f"{PREFIX}rlhf_table"):
        st.markdown("\n".join(lines))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# ---- numbers and words -----------------------------------------------------------------------------------------------


def _lines(page: Lesson, outcome: Outcome) -> list[tuple[str, str]]:
    lines = []
    if outcome.compared:
        better, worse = outcome.compared[read("example") % len(outcome.compared)]
        r, other = latex_operand(better.reward), latex_operand(worse.reward)
        loss = -math.log(_sigmoid(better.reward - worse.reward))
        lines += [(page.label("numbers_pair_loss"),
                   rf"-\ln \sigma(r^+ - r^-) = -\ln \sigma({r} - ({other})) = {latex_number(loss)}")]
    if (now := at_of(outcome)) is not None and read("policy") != "dpo":
        beta, r, kl = float(read("policy")), latex_operand(now.reward), latex_operand(now.kl)
        lines += [(page.label("numbers_objective", n=rlhf.MEASURED, step=now.step),
                   rf"\overline{{R}} = \overline{{r}} - \beta\, \overline{{\ln(\pi / \pi_\text{{ref}})}} = {r} - "
                   rf"{beta:g} \cdot {kl} = {latex_number(now.reward - beta * now.kl)}")]
    if now is not None:
        first = policy_of(outcome)[0]
        lines += [(page.label(f"numbers_{name}_moved"), rf"{latex_operand(getattr(now, name))} - "
                   f"({latex_operand(getattr(first, name))}) = "
                   f"{latex_number(getattr(now, name) - getattr(first, name))}") for name in ("reward", "value")]
    return [*lines, (page.label("numbers_optimum"),
                     r"\pi_\text{best}(y \mid x) \propto \pi_\text{ref}(y \mid x)\, e^{r(x, y) / \beta}")]


def _question(page: Lesson) -> Question:
    """How much one more of reward makes a text more probable at the optimum, for one β."""
    right = math.exp(1 / SHARPNESS)
    return ask(page, "rlhf", {math.exp(SHARPNESS), 1 / SHARPNESS, math.e}, right, readable, beta=readable(SHARPNESS),
               factor=readable(right))


def _ends_table(page: Lesson, outcome: Outcome) -> pd.DataFrame:
    """The last record of every policy."""
    rows = [(policy_name(page, name), steps[-1].step, steps[-1].reward, steps[-1].value, steps[-1].kl)
            for name, steps in outcome.policies.items()]
    return pd.DataFrame(rows, columns=page.label("columns_policies").split("|"))


def policy_table(outcome: Outcome) -> pd.DataFrame:
    """The records of all policies, a row for each."""
    return pd.DataFrame([(name, record.step, record.reward, record.value, record.kl)
                         for name, records in outcome.policies.items() for record in records],
                        columns=["policy", "step", "reward", "rule", "kl"])


def pair_table(outcome: Outcome) -> pd.DataFrame:
    """The held-out pairs with their rewards."""
    return pd.DataFrame([(better.prompt, better.text, better.reward, worse.text, worse.reward)
                         for better, worse in outcome.compared],
                        columns=["prompt", "preferred", "reward_preferred", "other", "reward_other"])
