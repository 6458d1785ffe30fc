"""The views of the lessons, and further states of them, as browser tests reach them: where each is found and which
part ends its picture.
"""
from __future__ import annotations

import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page

from core.base import catalogue, prose
from tests.browser.serving import rest, settle


@dataclass(frozen=True)
class View:
    """A view's place and its picture."""

    end: str                                    # CSS of the part that ends its picture
    picks: tuple[tuple[str, str], ...] = ()     # further controls: (setting, option)
    # whether the picture ends on the first screen when the explanation stands below it
    first_screen: bool = True
    # whether all that stands on its stage belongs to the picture, and is above the bar in present mode
    whole: bool = True


LESSONS = {
    "overview": {"": View(".st-key-overview_map")},
    "next_token": {"": View(".brief-figure svg")},
    "heads": {"wall": View(".wall canvas.tiles"), "head": View(".st-key-heads_view"),
              "roles": View(".st-key-heads_scatter"), "change": View(".st-key-heads_before_after"),
              "write": View(".st-key-heads_sum"), "prompts": View(".st-key-heads_there"),
              "rollout": View(".st-key-heads_rollout")},
    "tokens": {"merges": View(".waiting"), "methods": View(".table"), "bpe": View(".rules"),
               "unigram": View(".said"), "vocabulary": View(".list"), "train": View(".foot")},
    "embeddings": {"product": View(".product canvas"), "neighbours": View(".st-key-embeddings_spread"),
                   "map": View(".st-key-embeddings_map .nsewdrag"),
                   "map, neighbourhoods": View(".st-key-embeddings_map .nsewdrag", (("dimensions", "tsne"),)),
                   "contexts": View(".st-key-embeddings_alike"), "arithmetic": View(".st-key-embeddings_verdict")},
    "positions": {name: View(".instrument", first_screen=False)
                  for name in ("waves", "learned", "rotary", "biases", "concat", "symmetry", "beyond")}
    | {"measured": View(".st-key-positions_measured_losses", first_screen=False)},
    "language_models": {"sentences": View(".st-key-language_models_orders"),
                        "continuations": View(".st-key-language_models_odds"), "guess": View(".keys"),
                        "compress": View(".digits"), "table": View(".seen"), "toy": View(".toy-curves"),
                        "correct": View(".st-key-language_models_where"),
                        "decipher": View(".cipher-walk"), "decipher, model": View(".cipher-walk", (("by", "model"),)),
                        "tasks": View(".list"), "tasks, written": View(".list", (("task", "questions"),)),
                        "tasks, labels": View(".list", (("task", "labels"), ("shots", "4")))},
    "generation": {"writing": View(".written-bars"), "strategies": View("svg.strategies"),
                   "futures": View(".futures-tree"), "beam": View(".beam-tree"),
                   "beam, two tokens": View(".beam-tree", (("source", "tiny"),)),
                   "cache": View(".st-key-generation_work")},
    "training": {"forcing": View(".forcing-chart"), "backprop": View(".instrument .descent"),
                 "live": View(".st-key-training_loss"),
                 "childhood": View(".st-key-training_childhood_scores"),
                 "tuning": View("[class*=training_comparison] table"),
                 "tuning, pretrained": View("[class*=training_comparison] table", (("stage", "pretrained"),)),
                 "tuning, aligned": View(".st-key-training_tuning_margins", (("stage", "aligned"),), whole=False),
                 "instructions": View(".st-key-training_collections"),
                 "instructions, data": View(".st-key-training_templates", (("built", "datasets"),)),
                 "instructions, people": View(".training_cards .card", (("built", "people"),)),
                 "instructions, model": View(".training_cards .card", (("built", "model"),)),
                 "instructions, inputs": View(".training_cards .card", (("built", "inputs"),)),
                 "rlhf": View(".st-key-training_rlhf_reward", whole=False),
                 "rlhf, demonstrations": View(".st-key-training_rlhf_sft", (("rlhf_stage", "demonstrations"),),
                                              whole=False),
                 "rlhf, comparisons": View(".st-key-training_rlhf_rewarding", (("rlhf_stage", "comparisons"),),
                                           whole=False),
                 "packing": View(".packing_rows"), "schedules": View(".st-key-training_schedule"),
                 "schedules, paths": View(".st-key-training_descent", (("part", "descent"),)),
                 "kepler": View(".instrument .panels"),
                 "kepler, wrong": View(".instrument .panels", (("structure", "polynomial"),))},
    "residual_stream": {
        "norms": View(".residual-norms .profile"), "norms, turn": View(".residual-grid canvas", (("measure", "turn"),)),
        "lens": View(".residual-grid canvas"), "patching": View(".residual-grid canvas"),
        "patching, heads": View(".residual-grid canvas", (("patch_what", "heads"),)),
        "contributions": View(".st-key-residual_stream_waterfall"),
        "norm": View(".st-key-residual_stream_vector_after", first_screen=False),
        "norm, batch": View(".st-key-residual_stream_matrix_tokens", (("norm_view", "batch"),), first_screen=False),
        "block": View(".residual_block .row.H"),
        "placement": View(".st-key-residual_stream_placement", first_screen=False),
        "mlp": View(".neurons-table"), "cut": View(".st-key-residual_stream_cut_lines")},
    "attention": {"steps": View(".instrument .picture"), "three": View(".instrument .picture"),
                  "switches": View(".st-key-attention_switches_bars"),
                  "averages": View(".instrument .picture"),
                  "averages, bend": View(".st-key-attention_bend", (("average_part", "bend"),)),
                  "worksheet": View(".sheet"),
                  "scaling": View(".scaling-charts"), "roles": View(".st-key-attention_roles_alike .matrix"),
                  "roles, one matrix": View(".st-key-attention_singular", (("roles_part", "product"),)),
                  "roles, another basis": View(".matrices", (("roles_part", "change"),)),
                  "roles, another order": View(".matrices", (("roles_part", "relabel"),))},
    "architectures": {
        "design": View(".design-diagram", whole=False), "kinds": View(".masks-row"),
        "blank": View(".side.encoder .rest"),
        "translate": View(".heat"), "norms": View(".norms-table"),
        "experts": View(".st-key-architectures_experts_counts"),
        "activations": View(".architecture_curves .range.beta"), "cost": View(".st-key-architectures_operations"),
        "cost, patterns": View(".sparse canvas", (("cost", "patterns"),), whole=False),
        "hardware": View(".instrument .parts"),
        "hardware, roofline": View(".instrument .roof", (("machine", "roofline"),)),
        "hardware, array": View(".instrument .array", (("machine", "array"),)),
        "record": View(".st-key-architectures_timeline"),
        "record, context": View(".st-key-architectures_timeline", (("measure", "context"),)),
        "record, cost": View(".instrument .charts", (("measure", "energy"),)),
        "record, family": View(".architecture_family .said", (("record", "family"),)),
        "record, scaling": View(".st-key-architectures_law_compute", (("record", "scaling"),)),
        "record, translation": View(".st-key-architectures_scores", (("record", "translation"),)),
        "record, data": View(".st-key-architectures_corpora", (("record", "data"),), whole=False),
        "record, models' data": View(".st-key-architectures_mixes", (("record", "data"), ("mix", "models")),
                                     whole=False),
        "record, pieces": View(".architecture_pieces .pieces", (("record", "pieces"),)),
        "record, pieces read": View(".architecture_pieces .pieces", (("record", "pieces"), ("sequence", "head"))),
        "record, text and image": View(".architecture_pieces .pieces", (("record", "pieces"), ("sequence", "joined"))),
        "record, modifications": View(".st-key-architectures_modifications", (("record", "modifications"),))},
    "recurrence": {"unrolled": View(".unrolled canvas"), "gates": View(".recurrence_gates .cells"),
                   "gradient": View(".st-key-recurrence_gradient"),
                   "serial": View(".st-key-recurrence_flops"), "copy": View(".st-key-recurrence_accuracy"),
                   "bottleneck": View(".st-key-recurrence_alignment")},
    "limits": {"facts": View(".foot .verdict"), "memory": View(".st-key-limits_memory_nats"),
               "calibration": View(".st-key-limits_given_counts"),
               "inputs": View(".inputs-picture"),
               "inputs, random": View(".inputs-picture", (("control", "random"),)),
               "inputs, components": View(".limits_components .reading", (("detail", "components"),)),
               "words": View(".st-key-limits_movers"), "words, all": View(".st-key-limits_spreads", (("span", "all"),)),
               "words, tone": View(".st-key-limits_tone", (("span", "tone"),)),
               "meaning": View(".st-key-limits_shares"), "context": View(".st-key-limits_context_cosine"),
               "context, probe": View(".st-key-limits_probe", (("trace", "probe"),)),
               "structure": View(".limits_functions .bits")},
}


def address(lesson: str, name: str) -> dict[str, str]:
    """The settings that lead to a view."""
    picks = {f"{lesson}_{setting}": option for setting, option in LESSONS[lesson][name].picks}
    return catalogue.entry(lesson).opening(name.split(",")[0]) | picks


def has_stage(lesson: str) -> bool:
    """Whether a lesson's views are drawn on a stage, below the frame's bar of views."""
    entry = catalogue.entry(lesson)
    return bool(entry.views) and entry.picks == "view"


def opened(open_page: Callable[..., Page], lesson: str, name: str, query: str = "", **options) -> Page:
    """The page at the view's address, its picture standing."""
    view = LESSONS[lesson][name]
    page = open_page(f"{lesson}?{urllib.parse.urlencode(address(lesson, name))}{query}", **options)
    stand(page, view)
    return page


def reach(page: Page, lesson: str, name: str) -> View:
    """Pick the view as a reader does, and wait until its picture stands."""
    view = LESSONS[lesson][name]
    for setting, option in address(lesson, name).items():
        pick(page, lesson, setting.removeprefix(f"{lesson}_"), option)
        guess(page)
    stand(page, view)
    return view


def guess(page: Page) -> None:
    """Commit to some guess where a question waits before the picture."""
    if not page.locator(".prediction .question").count():
        return
    word, number = page.locator(".prediction input.text"), page.locator(".prediction .number input")
    if word.count():
        word.fill("cat")
    elif number.count():
        number.click()
    else:
        page.locator(".prediction input[type=radio]").first.check(force=True)
    page.locator(".prediction .commit").click()
    page.locator(".prediction .strip").wait_for()
    settle(page)


def pick(page: Page, lesson: str, setting: str, option: str) -> None:
    """Press one of a setting's options, where it is a view that does not stand in the bar, behind More."""
    label = prose.load(lesson).label(f"{setting}_{option}")
    bar = page.locator(f".st-key-{lesson}_{setting}_widget")
    if setting == catalogue.entry(lesson).picks and not bar.get_by_text(label, exact=True).count():
        page.locator(".st-key-more_views button").click()
        page.get_by_role("menuitem", name=label, exact=True).click()
        bar.get_by_role("radio", name=label, exact=True, checked=True).wait_for()
    else:
        bar.get_by_text(label, exact=True).click()
    settle(page)


def stand(page: Page, view: View) -> None:
    """Until the last part of the view's picture, on a page that has settled, is drawn and at rest."""
    place = page.locator(view.end)
    (place.locator("canvas, svg.marks") if view.end.startswith(".st-key") and not view.end.endswith(".nsewdrag")
     else place).first.wait_for()
    rest(page)


def end_of(page: Page, view: View) -> float:
    """The end of the view's picture, in pixels from the top of the window."""
    box = page.locator(view.end).first.bounding_box()
    return box["y"] + box["height"]
