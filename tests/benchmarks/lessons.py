"""The slider of each lesson that the benchmark presses, and the picture that answers it."""
from __future__ import annotations

from tests.benchmarks.browser import Case

SLIDER = "[data-testid=stSlider] input[type=range], [data-testid=stSlider] [role=slider]"
WALL_SLIDER = ".st-key-heads_wall input[type=range]"

# Overview has no slider: its tokens take the arrow keys. Recurrence answers through a run of the page, Heads over HTTP,
# the others in the browser.
LESSONS = [
    Case("Overview, the picked token", "", ".st-key-overview_map [role=radio][tabindex='0']", ".st-key-overview_map"),
    Case("Positions, length of the waves", "positions?positions_view=waves",
         ".st-key-positions_stage input[type=range]", ".st-key-positions_stage"),
    Case("Heads, block of the rollout", "heads?heads_panel=rollout&heads_block=5",
         ".st-key-heads_rollout input[type=range]", ".st-key-heads_rollout"),
    Case("Residual stream, depth of the lens", "residual_stream?residual_stream_view=lens",
         ".st-key-residual_stream_lens_grid input[type=range]", ".st-key-residual_stream_lens_grid"),
    Case("From recurrence to attention, the norm", "recurrence?recurrence_view=gradient", SLIDER,
         ".st-key-recurrence_gradient", canvas=False, alone="chart.py"),
    Case("Next token, temperature", "next_token",
         ".st-key-next_token_view input[type=range]", ".st-key-next_token_view"),
]

# The lesson whose slider goes through Python: what the server's settings are measured on.
RERUN = LESSONS[4]

# A slider that changes all patterns of the later layers, so that the whole wall is drawn anew. It only goes on:
# a value that was there before would find its Trace and its bytes kept.
WALL = Case("Heads, factor of block 0 with the wall", "heads?heads_panel=change&heads_changed=0.*&heads_action=scale",
            WALL_SLIDER, ".st-key-heads_wall", keys=("ArrowRight",))

# The pages whose picture follows a new prompt, as they open.
PROMPTED = [
    Case("Overview", "", "", ".st-key-overview_map"),
    Case("Heads", "heads", "", WALL.picture),
    Case("Next token", "next_token", "", ".st-key-next_token_view"),
    Case("Residual stream", "residual_stream?residual_stream_view=norms", "", ".st-key-residual_stream_norms"),
    Case("Attention, step by step", "attention", "", ".st-key-attention_steps_instrument"),
    Case("Tokens", "tokens", "", ".st-key-tokens_merges_player", canvas=False),
    Case("Embeddings", "embeddings?embeddings_view=product", "", ".st-key-embeddings_product"),
    Case("Residual stream, the lens", "residual_stream?residual_stream_view=lens", "",
         ".st-key-residual_stream_lens_grid"),
    Case("Residual stream, the contributions", "residual_stream?residual_stream_view=contributions", "",
         ".st-key-residual_stream_waterfall svg.marks", canvas=False),
    Case("Residual stream, the neurons", "residual_stream?residual_stream_view=mlp", "",
         ".st-key-residual_stream_neurons", canvas=False),
    Case("Residual stream, a vector's norm", "residual_stream?residual_stream_view=norm", "",
         ".st-key-residual_stream_vector_after svg.marks", canvas=False),
    Case("Training, teacher forcing", "training", "", ".st-key-training_columns", canvas=False),
    Case("From recurrence to attention", "recurrence", "", ".st-key-recurrence_unrolled"),
]

FIRST_PICTURE = ".st-key-overview_map canvas"
