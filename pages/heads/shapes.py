"""The shapes of multi-head attention, from X to what attention writes: today's model, or the first transformer."""
from dataclasses import dataclass

from core.app.lesson import Lesson
from core.app.state import Run, reader
from core.components.lib.token_view import token_view
from core.model.config import ModelConfig
from pages.heads.shared import PREFIX, Pair, choose, read

# The matrices of multi-head attention one after the other, as wide as they have columns.
_picture = token_view("heads_shapes", __file__)


@dataclass(frozen=True)
class Shapes:
    """The widths of multi-head attention over n tokens."""

    n: int
    d: int
    h: int
    d_k: int
    d_v: int
    h_kv: int       # how many heads of keys and values the h heads share

    @property
    def parameters(self) -> int:
        """The numbers in all W_Q, W_K, W_V and in W_O, without biases."""
        return self.d * (self.h * self.d_k + self.h_kv * (self.d_k + self.d_v) + self.h * self.d_v)


def of_model(config: ModelConfig, n: int) -> Shapes:
    return Shapes(n, config.d_model, config.n_heads, config.d_k, config.d_v, config.n_kv_heads)


def shown(run: Run) -> Shapes:
    """The shapes that the switch asks for, over the prompt's tokens."""
    n = len(run.token_ids)
    return Shapes(n, 512, 8, 64, 64, 8) if read("shapes") == "first" else of_model(run.model.config, n)


def lines(page: Lesson, run: Run) -> list[tuple[str, str]]:
    """The formula with the shapes of its matrices, and how many weights they have."""
    shapes = shown(run)
    n, d, h, d_k, d_v = shapes.n, shapes.d, shapes.h, shapes.d_k, shapes.d_v
    return [(page.label("numbers_shapes"),
             rf"(\mathrm{{head}}_1 \oplus \dots \oplus \mathrm{{head}}_{{{h}}})\, W^O: \quad [{n} \times "
             rf"{h * d_v}]\,[{h * d_v} \times {d}] = [{n} \times {d}]"),
            (page.label("numbers_weights" if shapes.h_kv == h else "numbers_weights_grouped", h=h, h_kv=shapes.h_kv),
             rf"{d} \cdot ({h} \cdot {d_k} + {shapes.h_kv} \cdot ({d_k} + {d_v}) + {h} \cdot {d_v}) = "
             rf"{shapes.parameters}")]


def draw(page: Lesson, run: Run, pair: Pair) -> None:
    """The switch and the row of matrices."""
    choose(page, "shapes")
    shapes = shown(run)
    widths = {"n": shapes.n, "d": shapes.d, "h": shapes.h, "d_k": shapes.d_k, "d_v": shapes.d_v,
              "both": shapes.h * shapes.d_v}
    _picture({"text": page.labels("shape"), "scale": reader.scale(), "widths": widths, "picked": pair.head,
              "title": page.label("shapes_title", **widths)},
             key=f"{PREFIX}shapes_picture", on_settings=lambda _: None)
