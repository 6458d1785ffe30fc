"""The map of one forward pass, from text to the next token: one row a token, the whole model on one screen.

Hover reads a value, a click on a token picks its row, a click on a part goes into it (dive.js), a click on its name
opens its lesson, a click on a candidate appends it; playing walks the pass stage by stage in the browser, without
Python.
"""
import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Reading, Truth, prediction
from core.app.lesson.selection_controls import shared_seed
from core.app.state import Run, address, dice, reader
from core.app.state.fragments import redraw
from core.base import catalogue, tables
from core.components import addresses, declare
from core.components.lib.bytes import pack
from core.figures.numbers import percent, readable
from pages.overview import below, inside, packing
from pages.overview.shared import MAP, SETTINGS, logits_of, packed_pass, scaling, shown, trace_of, truncation_of
from pages.tour import shared as tour

MOST_OPEN = 8         # blocks: of more, the map may open some alone (layout.js)
N_OFFERED, MOST_LOOKED_AT = 4, 60        # words that a guess may be, and likely tokens among which they are looked for
MOST_END = 32         # characters
ADDING = "attention", "feed_forward"     # the parts of a block, from the top
# the view that shows more of each depth of the picture
MORE = {"block": ("residual_stream", "block"), "heads": ("heads", "wall"), "head": ("heads", "head"),
        "look": ("attention", "steps"), "product": ("attention", "scaling"), "number": ("attention", "steps"),
        "neurons": ("residual_stream", "mlp"), "neuron": ("residual_stream", "mlp"),
        "embedding": ("embeddings", "product"), "stream": ("residual_stream", "lens"), "end": ("next_token", ""),
        "logit": ("embeddings", "product")}
# what the numbers of a place name whose part can be changed
EDITED = {"heads": ("block",), "head": ("block", "head"), "product": ("block", "head", "token", "seen"),
          "neurons": ("block", "token"), "neuron": ("block", "token", "neuron"), "embedding": ("token",)}
IS_WIDE = True        # no room for what a class has answered beside it
HISTORY = "overview_history"
# in the session: the lesson, and the step of the tour, that a click in the map asks for
OPEN, STEP = "overview_open", "overview_step"
MAP_TEXT = ("title", "title_off", "title_long", "title_silent", "play", "play_hint", "pause", "back", "forth", "open",
            "chips", "chip_hint", "actual", "actual_rank", "last", "drawn", "append", "throw", "undo", "masked",
            "clipped", "bar_hint", "sky", "block", "met")
MAP_PARTS = ("dive_", "legend_", "head_", "shape_", "sign_", "row_", "name_", "tip_", "stage_")
HERE = Path(__file__).parent
CONTENT, STYLES = (HERE / "map.html").read_text(encoding="utf-8"), (HERE / "map.css", HERE / "dive.css")
_map = declare("overview_map", HERE / "map.js", html=CONTENT, styles=STYLES)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """The question for the word that the model finds likeliest after the prompt, among the likeliest ones; None for
    another row or a place inside the picture, for a model that continues no text, and for one whose blocks may not all
    be open.
    """
    config, is_inside = run.model.config, SETTINGS.read("at") or SETTINGS.read("edit")
    is_shown = run.own_ids and not is_inside and reader.picked_position() in (None, run.asked)
    if not is_shown or config.kind != "decoder" or config.d_ff is None or not 1 < config.n_layers <= MOST_OPEN:
        return None
    offered = offered_words(run)
    if len(offered) < 2:
        return None

    def truth(guess: int) -> Truth:
        probs = run.trace.probs[-1]
        p = [float(probs[token_id]) for token_id in offered.values()]
        best = max(range(len(p)), key=p.__getitem__)
        lengths = {name: norms[:, run.asked] for name, norms in packing.norm_arrays(run.trace).items()}
        added, after = np.stack([lengths[part] for part in ADDING]), lengths["stream"][1:]      # (2, L), (L)
        part, block = divmod(int(added.argmax()), config.n_layers)
        return Truth(best, said=percent(p[best]), own=percent(p[guess]), seen=int((np.diff(after) <= 0).any()), values={
            "top": list(offered)[best], "p": percent(p[best]), "token": run.tokens[-1], "d": config.d_model,
            "v": config.vocab_size, "n": config.n_layers, "block": block,
            "part": page.label(("row_attention", "row_mlp")[part]), "length": readable(float(added.max()))})

    return Prediction("pass", Options(list(offered)), truth, {"end": end_of(run.text)})


def offered_words(run: Run) -> dict[str, int]:
    """At most N_OFFERED whole words among the likeliest next tokens, the likeliest token always, in the order of the
    alphabet, which tells nothing; each with its token.
    """
    best = run.trace.probs[-1].topk(min(MOST_LOOKED_AT, run.model.config.vocab_size)).indices.tolist()
    words: dict[str, int] = {}
    for token_id in best:
        name = run.tokenizer.visible(token_id)
        if not words or name.startswith("·") and name[1:].isalpha():
            words.setdefault(name.removeprefix("·") or name, token_id)
        if len(words) == N_OFFERED:
            break
    return dict(sorted(words.items(), key=lambda word: word[0].casefold()))


def end_of(text: str) -> str:
    """The last words of a text, some MOST_END characters of it.

    >>> end_of("The cat sat on the mat, and the dog"), end_of("The cat")
    ('… cat sat on the mat, and the dog', 'The cat')
    """
    text = " ".join(text.split())
    return text if len(text) <= MOST_END else "… " + text[-MOST_END:].partition(" ")[2]


def draw(page: Lesson, run: Run) -> Reading:
    """The map, and below it the seed and the pins; a pick or a throw redraws these and what follows the picked row."""
    if SETTINGS.read("at"):
        prediction.look(page.id)            # the whole that the reader comes out to
    existing = {entry.id for entry in catalogue.existing()}
    if (asked := st.session_state.pop(OPEN, None)) in existing:
        reader.open_lesson(asked, {})
    if asked in MORE:
        lesson, view = MORE[asked]
        reader.open_lesson(lesson, catalogue.entry(lesson).opening(view))
    if step := st.session_state.pop(STEP, None):
        reader.open_lesson(catalogue.TOUR, {tour.KEY: step})
    selection, read = reader.selection(), shown(run)
    map_place = st.container()
    with (row := st.container(horizontal=True, vertical_alignment="bottom", key="overview_below")):
        if not run.is_encoder:
            shared_seed(page)
    with map_place:
        _draw_map(page, run, read)
    reading = below.reading(page, read, selection.position, selection.layer, row)
    return replace(reading, leads_to=MORE.get(SETTINGS.read("at").partition(".")[0]))


def _draw_map(page: Lesson, run: Run, read: Run) -> None:
    """The pass, with the row of the picked token lit; of many blocks those around the picked one are opened. read: the
    run with the token that the reader has put in.
    """
    selection = reader.selection()
    edit = SETTINGS.read("edit") if trace_of(run) is not run.trace else ""
    sizes, arrays, candidates = packed_pass(run, edit)
    text = {key: page.label(key) for key in page.words.labels if key in MAP_TEXT or key.startswith(MAP_PARTS)}
    header = {**sizes, **of_position(read, selection.position), "candidates": candidates,
              "layer": selection.layer, "text": text | own_words(page, run), "canUndo": can_undo(),
              "lessons": {part: entry.id for entry in catalogue.existing() for part in entry.overview},
              "scale": reader.scale(), "theme": reader.theme(), "silence": silence(page, run), "met": met(),
              "at": SETTINGS.read("at"), "more": more(),
              "path": addresses.live(inside.NAME), "question": inside.question(run, edit),
              "edit": edit, "edited": said(page, run, edit), "was": plain_guesses(run) if edit else []}
    if run.has_head:
        arrays = {**arrays, "logits": logits_of(read, selection.position).astype(np.float32)}
    _map(key=MAP, data=pack(header, arrays), events=events(run.asked))


def met() -> dict[str, dict]:
    """The parts of the map with the step of the tour in which each was met and its address; none of a reader who has
    not left the tour by its end.
    """
    if not st.session_state.get(tour.MET):
        return {}
    steps = {part: tour.STEPS.index(step) + 1 for part, step in tour.PLACES.items()}
    return {part: {"step": step, "href": address.link({catalogue.TOUR: step}, catalogue.TOUR, alone=True)}
            for part, step in steps.items()}


def plain_guesses(run: Run) -> list[tuple[str, float]]:
    """The likeliest next token at every position if nothing is changed, and its probability."""
    return [(form, p) for (form, _, p), *_ in packed_pass(run)[2]]


def said(page: Lesson, run: Run, edit: str) -> str:
    """The words for what an edit has changed, and that a press puts it back; "" for none."""
    if not edit:
        return ""
    place, _, value = edit.partition("=")
    depth, *at = place.split(".")
    number = dict(zip(EDITED[depth], map(int, at)))
    tokens = {name: run.tokens[number[name]] for name in ("token", "seen") if name in number}
    word = run.tokenizer.visible(int(value)) if depth == "embedding" else ""
    return page.label(f"edited_{depth}{'_to' if value else ''}", **number | tokens, word=word, value=value)


def more() -> dict[str, str]:
    """For each depth inside the picture the name of the view that shows more of it."""
    return {depth: tables.entry_name(catalogue.entry(lesson), view) for depth, (lesson, view) in MORE.items()}


def silence(page: Lesson, run: Run) -> str:
    """The text in place of predictions of a model without a language head; else ""."""
    if run.has_head:
        return ""
    return page.label("silence_classes" if run.model.config.head.n_classes else "silence")


def of_position(run: Run, position: int) -> dict:
    """The tokens, with a position picked, and the draw after the last one, as the map shows them.

    "draw" is None if nothing is drawn: before the last position, and in an encoder. "here": whether what is
    predicted at a position is the token that stands there, as an encoder does it; "blanks": positions where none does.
    """
    n, thrown = len(run.token_ids), None
    if not run.is_encoder and position == n - 1:
        thrown = packing.throw(truncation_of(run, position), dice.of(n).xi(), run.tokenizer.visible)
    blanks = [i for i, token in enumerate(run.token_ids) if run.is_encoder and token == run.tokenizer.mask_token]
    return {"tokens": run.tokens, "ids": list(run.token_ids), "position": position, "draw": thrown,
            "here": run.is_encoder, "blanks": blanks}


def own_words(page: Lesson, run: Run) -> dict[str, str]:
    """The map's words that are otherwise for this model.

    They are so where it adds no P, scales E, norms its sums, has experts, an unembedding of its own or a map before it,
    or does more to the logits than to multiply.
    """
    config = run.model.config
    normed, untied = "plain" if config.norms_sums else "", "" if config.tied_embeddings else "untied"
    untied = f"mapped{untied and '_untied'}" if config.embedding.plain_maps else untied
    holds = {"stage_position": "" if run.trace.position is not None else config.positions,
             "stage_embed": scaling(config), "stage_norm": normed, "shape_h": normed}
    parallel, head = "parallel" if config.sublayer.parallel_residual else "", config.head
    holds |= dict.fromkeys(("head_blocks", "stage_feed_forward"), parallel)
    changed = not run.is_encoder and (head.logit_scale != 1 or head.logit_cap > 0 or head.unembedding_bias)
    holds |= {"shape_logits": "_".join(filter(None, ("from" if changed else "", untied))), "stage_logits": untied}
    if config.experts.n_experts:
        holds |= dict.fromkeys(("shape_mlp", "row_mlp_short", "stage_feed_forward"), "experts")
    return {name: page.label(f"{name}_{which}") for name, which in holds.items() if which}


def events(asked: int) -> dict[str, Callable[[Any], None]]:
    """The action of each event of a click in the map.

    A pick of the `asked` token, the last one, follows the end of the text from then on; in an encoder its blank.
    """
    acts = {"picked": lambda at: reader.select(position=None if at == asked else at),
            "layer": lambda layer: reader.select(layer=layer),
            "went": functools.partial(went, asked),
            "edited": lambda edit: SETTINGS.keep(edit=edit),
            "opened": lambda lesson: st.session_state.update({OPEN: lesson}),
            "stepped": lambda step: st.session_state.update({STEP: step}),
            "appended": append,
            "thrown": lambda _: dice.throw(),
            "undone": lambda _: undo()}

    def call(act: Callable, value: Any) -> None:
        act(value)
        redraw()

    return {event: functools.partial(call, act) for event, act in acts.items()}


def went(asked: int, where: dict) -> None:
    """Callback: the reader has gone to a place inside the picture; block, head and token stay picked in all lessons."""
    SETTINGS.keep(at=where["at"])
    picked = {name: where[name] for name in ("layer", "head") if where.get(name) is not None}
    reader.select(position=None if where["position"] == asked else where["position"], **picked)


# ---- appending, and taking back --------------------------------------------------------------------------------------


def append(token_id: int) -> None:
    """Callback: the token becomes the end of the prompt, and the last position the picked one."""
    history = st.session_state.setdefault(HISTORY, [])
    if not history or history[-1] != reader.prompt():
        history.append(reader.prompt())
    reader.select(position=None)
    reader.append_token(token_id)


def can_undo() -> bool:
    """Whether the present prompt is what an earlier one became by appending."""
    history, prompt = st.session_state.get(HISTORY), reader.prompt()
    return bool(history) and prompt.startswith(history[-1]) and prompt != history[-1]


def undo() -> None:
    """Callback: back to the prompt before the last appended token."""
    if can_undo():
        reader.apply({"prompt": st.session_state[HISTORY].pop(), "position": None})
