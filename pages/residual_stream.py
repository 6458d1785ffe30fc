"""Residual stream: every token's vector flows through the blocks, and each part adds to it."""
from core.ui import lesson, views
from core.ui.residual_stream import contributions, feed_forward, layer_norm, lens, norms, without_path
from core.ui.residual_stream.reading import SETTINGS

views.draw(lesson.open_lesson("residual_stream"), SETTINGS,
           {"norms": norms, "lens": lens, "contributions": contributions, "norm": layer_norm, "mlp": feed_forward, "cut": without_path})
