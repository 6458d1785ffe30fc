"""Controls and pages of the benchmarks: the slider of each lesson, the pages that follow a prompt, every view."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from core.base import catalogue
from tests.benchmarks.browser import Case
from tests.browser.views import LESSONS, address

SLIDER = "[data-testid=stSlider] input[type=range], [data-testid=stSlider] [role=slider]"
WALL_SLIDER = ".st-key-heads_wall input[type=range]"

# The lesson whose slider goes through Python: what the server's settings are measured on.
RERUN = Case("From recurrence to attention, the norm", "recurrence?recurrence_view=gradient", SLIDER,
             ".st-key-recurrence_gradient", canvas=False, alone="chart.py")

# By where the answer comes from. Overview has no slider: its tokens take the arrow keys. The lens opens at its left
# end.
SLIDERS = {
    "the browser": [
        Case("Overview, the picked token", "", ".st-key-overview_map [role=radio][tabindex='0']",
             ".st-key-overview_map"),
        Case("Positions, length of the waves", "positions?positions_view=waves",
             ".st-key-positions_stage input[type=range]", ".st-key-positions_stage"),
        Case("Residual stream, depth of the lens", "residual_stream?residual_stream_view=lens",
             ".st-key-residual_stream_lens_grid input[type=range]", ".st-key-residual_stream_lens_grid",
             keys=("ArrowRight", "ArrowLeft")),
        Case("Next token, temperature", "next_token", ".st-key-next_token_view input[type=range]",
             ".st-key-next_token_view [data-testid^=stBidiComponent]", canvas=False)],
    "the server, over HTTP": [
        Case("Heads, block of the rollout", "heads?heads_panel=rollout&heads_block=5",
             ".st-key-heads_rollout input[type=range]", ".st-key-heads_rollout")],
    "a run of the page": [RERUN],
}

# A slider that changes all patterns of the later layers, so that the whole wall is drawn anew. It only goes on:
# a value that was there before would find its Trace and its bytes kept.
WALL = Case("Heads, factor of block 0 with the wall", "heads?heads_panel=change&heads_changed=0.*&heads_action=scale",
            WALL_SLIDER, ".st-key-heads_wall", keys=("ArrowRight",))

# The pages whose picture follows a new prompt, as they open, by how it is drawn.
PROMPTED = {
    "on a canvas": [
        Case("Overview", "", "", ".st-key-overview_map"),
        Case("Heads", "heads", "", WALL.picture),
        Case("Residual stream", "residual_stream?residual_stream_view=norms", "", ".st-key-residual_stream_norms"),
        Case("Attention, step by step", "attention", "", ".st-key-attention_steps_instrument"),
        Case("Embeddings", "embeddings?embeddings_view=product", "", ".st-key-embeddings_product"),
        Case("Residual stream, the lens", "residual_stream?residual_stream_view=lens", "",
             ".st-key-residual_stream_lens_grid"),
        Case("From recurrence to attention", "recurrence", "", ".st-key-recurrence_unrolled")],
    "of elements": [
        Case("Next token", "next_token", "", ".st-key-next_token_view [data-testid^=stBidiComponent]", canvas=False),
        Case("Tokens", "tokens", "", ".st-key-tokens_merges_player", canvas=False),
        Case("Residual stream, the contributions", "residual_stream?residual_stream_view=contributions", "",
             ".st-key-residual_stream_waterfall svg.marks", canvas=False),
        Case("Residual stream, the neurons", "residual_stream?residual_stream_view=mlp", "",
             ".st-key-residual_stream_neurons", canvas=False),
        Case("Residual stream, a vector's norm", "residual_stream?residual_stream_view=norm", "",
             ".st-key-residual_stream_vector_after svg.marks", canvas=False),
        Case("Training, teacher forcing", "training", "", ".st-key-training_columns", canvas=False)],
}

FIRST_PICTURE = ".st-key-overview_map canvas"


def of_each(kinds: Mapping[str, Sequence[Case]], most: int | None) -> list[Case]:
    """The first cases of each kind, so many of it; None: all.

    >>> of_each({"a": [1, 2], "b": [3]}, 1), of_each({"a": [1, 2], "b": [3]}, None)
    ([1, 3], [1, 2, 3])
    """
    return [case for cases in kinds.values() for case in cases[:most]]


def views(lessons: Collection[str] = ()) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(lesson, view, the settings that open it) of every view of these lessons; none named: of all."""
    for entry in catalogue.existing():
        if lessons and entry.id not in lessons:
            continue
        for name in LESSONS[entry.id]:
            yield entry.id, name, address(entry.id, name)
