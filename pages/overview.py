"""Overview: the whole forward pass on one screen, from the prompt to the next token and round again."""
import functools

import streamlit as st

from core.figures.numbers import plain_number
from core.model import Transformer
from core.sampling import draw, truncate
from core.ui import catalogue, overview, state
from core.ui import lesson as frame
from core.ui.components.overview_map import overview_map

MAP = "overview_map"
MAP_TEXT = ("title", "title_long", "play", "pause", "back", "forth", "open", "chips", "chip_hint", "actual", "actual_rank", "last", "drawn", "append", "throw", "undo",
            "masked", "clipped", "bar_hint", "sky", "block")
MAP_PARTS = ("head_", "shape_", "sign_", "row_", "name_", "tip_", "stage_")
LESSONS = {"tokens": "tokens", "E": "embeddings", "P": "positions", "X": "positions", "blocks": "heads", "attention": "heads", "stream": "residual_stream",
           "feed_forward": "residual_stream", "h": "residual_stream", "logits": "next_token", "softmax": "next_token"}

page = frame.open_lesson("overview")
existing = {entry.id for entry in catalogue.existing()}
words = {key: page.label(key) for key in page.words.labels if key in MAP_TEXT or key.startswith(MAP_PARTS)}


@frame.fragment
def everything() -> None:
    """The map and all that is said of the picked row: a pick or a throw redraws these and nothing else."""
    if (asked := st.session_state.pop("overview_open", None)) in existing:
        state.open_lesson(asked, {})
    run = page.run()
    if not run.has_head:
        st.info(page.frame_words.label("no_head"))
        return
    selection = state.selection()
    position = selection.position
    truncation = overview.truncation_of(run, position)
    map_place, below = st.container(), st.container(horizontal=True, vertical_alignment="bottom", key="overview_below")
    with below:
        seed = None if run.is_encoder else st.number_input(page.label("seed"), 0, overview.MOST_SEED, step=1, help=page.label("seed_hint"), width=140, **overview.SETTINGS.attached("seed"))
        page.pins({page.label("pin_token"): run.tokens[position], page.label("pin_top"): run.tokenizer.visible(int(truncation.token_ids[0])),
                   page.label("pin_p"): plain_number(truncation.probs[0]), page.label("pin_entropy"): plain_number(truncation.entropy_before)})
    with map_place:
        overview_map(*overview.of_text(run, position, seed), key=MAP, layer=selection.layer, text=words | overview.own_words(page, run),
                     lessons={part: lesson for part, lesson in LESSONS.items() if lesson in existing}, can_undo=overview.can_undo(), scale=state.scale(), theme=state.theme(),
                     on=functools.partial(_happened, run.asked))
    if not page.is_seen():
        return
    page.named_token(run, position)

    page.explanation()
    page.numbers(overview.number_lines(page, run, position, selection.layer, truncation))
    page.experiments()
    page.check(overview.question(page, run, position, truncation))
    page.code([Transformer.forward, truncate, *([] if run.is_encoder else [draw])], data=overview.tables(page, run, truncation), picture=f".st-key-{MAP}", twin=overview.twin(page, run, position, truncation))


def _happened(asked: int, event: str, value) -> None:
    """What a click in the map asks for. Picking the `asked` token, the last one, follows the end of the text from then on; in an encoder its blank."""
    if event == "picked":
        state.select(position=None if value == asked else int(value))
    elif event == "layer":
        state.select(layer=int(value))
    elif event == "opened":
        st.session_state["overview_open"] = value
    elif event == "appended":
        overview.append(int(value))
    elif event == "thrown":
        overview.SETTINGS.keep(seed=(overview.SETTINGS.read("seed") + 1) % (overview.MOST_SEED + 1))
    elif event == "undone":
        overview.undo()


everything()
