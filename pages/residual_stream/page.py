"""Residual stream: every token's vector passes the blocks, and each part adds to it."""
from core.app.lesson import lesson, views
from pages.residual_stream import (
    contributions,
    feed_forward,
    layer_norm,
    lens,
    norms,
    one_block,
    patching,
    placement,
    without_path,
)
from pages.residual_stream.shared import SETTINGS

views.draw(lesson.open_lesson("residual_stream"), SETTINGS,
           {"lens": lens, "contributions": contributions, "patching": patching, "block": one_block, "mlp": feed_forward,
            "norms": norms, "norm": layer_norm, "placement": placement, "cut": without_path})
