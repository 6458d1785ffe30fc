"""Compress: an arithmetic coder encodes the prompt's tokens with the model's probabilities and decodes them, beside
well-known compressors.
"""
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.analysis import text_probability
from core.app.compute import growing_results
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, prompts
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import grouped, latex_number, latex_operand, percent, plain_number
from core.language import arithmetic_coding, compression
from core.language.compression import CodedToken
from core.model.tokenizer import encodable
from pages.language_models.shared import PREFIX, keep, named, read

MOST_CODED = 120        # coded tokens of the prompt
DIGITS = 16             # shown digits of the interval's ends
LEFT = (0.25, 0.5, 1.0)    # shares of the text's bits: the limits between the answers before the picture
FORMATS = ("utf8", "gzip", "zlib", "bz2", "lzma")
# The arithmetic coder: a text's tokens, the interval of each, the bits so far, and the sizes of several formats.
_picture = token_view("lm_coder", __file__)


@dataclass(frozen=True)
class Coding:
    """A text in bits, the encoder's steps, and `back`, the tokens that the decoder made from the bits."""

    token_ids: tuple[int, ...]
    bits: tuple[int, ...]
    steps: tuple[CodedToken, ...]
    back: tuple[int, ...]


def _ids(run: Run, text: str) -> tuple[int, ...]:
    """The first tokens of a text, as many as are coded."""
    return tuple(run.tokenizer.encode(text)[:min(MOST_CODED, run.model.config.n_context - 1)])


def _bytes(run: Run, ids: Iterable[int]) -> bytes:
    return b"".join(map(run.tokenizer.token_bytes, ids))


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask what share of its bits the code takes: within the limits of LEFT."""
    text = prompts.clean_prompt(run.text)
    data = _bytes(run, _ids(run, text))
    if not data:
        return None

    def truth(_guess: int) -> Truth:
        bits, gzip = len(coded(page, run, text).bits), 8 * compression.sizes(data)["gzip"]
        longer = (gzip > 8 * len(data)) - (gzip < 8 * len(data))
        return Truth(int(np.searchsorted(LEFT, bits / (8 * len(data)), side="right")),
                     said=page.label("before_compress_said", bits=grouped(bits)), seen={1: 0, -1: 1, 0: 2}[longer],
                     values={"bits": grouped(bits), "gzip": grouped(gzip), "share": percent(bits / (8 * len(data)))})

    values = {"n": grouped(len(data)), "all": grouped(8 * len(data))}
    return Prediction("compress", Options([page.label(f"before_compress_{k}") for k in range(4)]), truth, values)


def coded(page: Lesson, run: Run, text: str) -> Coding:
    """The first tokens of a text, encoded and decoded, shared by all readers: two passes, token by token."""
    ids = _ids(run, text)

    def make() -> Coding:
        bits, steps = compression.compress(run.loaded.runner, ids)
        return Coding(ids, tuple(bits), tuple(steps), tuple(compression.decompress(run.loaded.runner, bits)))

    return growing_results.made(run.loaded.key("compressed", ids), make,
                                lambda value: 1_000 * len(value.steps) + 40 * len(value.bits))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the coder; return what it shows."""
    text = prompts.clean_prompt(run.text)
    coding = coded(page, run, text)
    data = _bytes(run, coding.token_ids)
    compared = _compared(page, coding, data)
    whole = coding.back == coding.token_ids
    title = page.label("compress_title" if data else "compress_empty", n=len(data), bits=len(coding.bits),
                       rate=plain_number(len(coding.bits) / max(1, len(data)), 2))
    header = page.header("coder", title_line=title.replace("**", "")) | {
        "stream": "".join(map(str, coding.bits)), "compared": compared,
        "tokens": [_token(run, step) for step in coding.steps],
        "likely": [_likely(run, step) for step in coding.steps], "settings": {"step": _step(coding)}}
    _picture(header, key=f"{PREFIX}coder", on_settings=lambda settings: keep(coded=settings["step"]))
    notes = [page.label("compress_back" if whole else "compress_lost", n=len(coding.token_ids),
                        text=named(data.decode(errors="replace")[-40:]))]
    notes += _floor(page, run, coding)
    notes += [page.label("compress_cut", n=len(coding.token_ids))] if data != encodable(text).encode() else []
    page.note(" ".join(notes))
    return Reading(_lines(page, run, coding, header["settings"]["step"]), _question(page, run, coding),
                   [arithmetic_coding.quantise, arithmetic_coding.Encoder, compression.compress],
                   {"coder.csv": lambda: _table(run, coding),
                    "sizes.csv": lambda: pd.DataFrame(compared)[["name", "bits"]]}, ".coder-chart", title)


def _step(coding: Coding) -> int:
    """The index of the picked token; by default that of the token whose share is nearest to ¼, which shows the zoom
    best.
    """
    if read("coded") >= 0:
        return min(read("coded"), len(coding.steps) - 1)
    return min(range(len(coding.steps)),
               key=lambda i: abs(share(coding.steps[i]) - 0.25))


def share(step: CodedToken) -> float:
    """The width of the token's interval as a share of the interval before it: its probability in the coder."""
    return (step.end - step.start) / step.total


def _floor(page: Lesson, run: Run, coding: Coding) -> list[str]:
    """The token that the coder's floor makes cheapest, if any by a bit or more."""
    least = max(coding.steps, key=_spared)
    if _spared(least) < 1:
        return []
    return [page.label("compress_floor", token=named(run.tokenizer.visible(least.token_id)),
                       bits=plain_number(-math.log2(share(least)), 1),
                       ideal=plain_number(-least.log_prob / math.log(2), 1))]


def _spared(step: CodedToken) -> float:
    """The bits by which a token takes less than −log₂ p, since the coder gives none a smaller share."""
    return math.log2(share(step)) - step.log_prob / math.log(2)


def _compared(page: Lesson, coding: Coding, data: bytes) -> list[dict]:
    sizes = {"utf8": 8 * len(data)} | {name: 8 * n for name, n in compression.sizes(data).items()}
    rows = [(page.label(f"format_{name}"), sizes[name], "") for name in FORMATS]
    rows += [(page.label("format_model"), len(coding.bits), "model"),
             (page.label("format_ideal"), compression.ideal_bits(coding.steps), "")]
    return [{"name": name, "bits": bits, "shown": plain_number(bits, 0 if isinstance(bits, int) else 1), "kind": kind}
            for name, bits, kind in rows]


def _token(run: Run, step: CodedToken) -> dict:
    low, high = interval_digits(step)
    return {"name": run.tokenizer.visible(step.token_id), "bits": -math.log2(share(step)),
            "start": step.start / step.total, "end": step.end / step.total, "sent": step.sent, "low": low, "high": high}


def interval_digits(step: CodedToken) -> tuple[str, str]:
    """The digits of the interval's two ends after the bits sent, pending ones included.

    While k bits are pending the interval contains the middle: its low end begins 0 1…1 (k ones), its high end 1 0…0.
    """
    low, high = (format(end, f"0{arithmetic_coding.WIDTH}b") for end in (step.low, step.high))
    return ((low[0] + "1" * step.pending + low[1:])[:DIGITS + step.pending],
            (high[0] + "0" * step.pending + high[1:])[:DIGITS + step.pending])


def _likely(run: Run, step: CodedToken) -> list[tuple[str, float]]:
    ends = np.cumsum(step.likely[:, 1]) / step.total
    return [(run.tokenizer.visible(int(token_id)), round(float(end), 6))
            for token_id, end in zip(step.likely[:, 0], ends)]


def _lines(page: Lesson, run: Run, coding: Coding, at: int) -> list[tuple[str, str]]:
    step = coding.steps[at]
    width, ideal = step.end - step.start, compression.ideal_bits(coding.steps)
    p = float(np.exp(step.log_prob))
    interval = (rf"\frac{{{step.end} - {step.start}}}{{2^{{24}}}} = \frac{{{width}}}{{{step.total}}} = "
                rf"{latex_number(share(step))} \approx p = {latex_number(p)}")
    cost = (rf"-\log_2 \frac{{{width}}}{{{step.total}}} = {latex_number(-math.log2(share(step)))}\ "
            rf"\text{{bits}}")
    total = (rf"-\log_2 p(x_1 \ldots x_L, \text{{end}}) = {latex_operand(ideal)} \;\to\; {len(coding.bits)}\ "
             rf"\text{{bits sent}}")
    name = code(run.tokenizer.visible(step.token_id))
    return [(page.label("numbers_share", token=name), interval), (page.label("numbers_cost", token=name), cost),
            (page.label("numbers_sent"), total)]


def _question(page: Lesson, run: Run, coding: Coding) -> Question | None:
    """How many bits the same words cost in reverse order."""
    if not coding.token_ids:
        return page.question("empty", [page.label("empty_none"), page.label("empty_some")], 1, n=len(coding.bits))
    words = run.tokenizer.decode(coding.token_ids).split()
    ids = run.tokenizer.encode(" ".join(reversed(words)))[:run.model.config.n_context - 2]
    backwards = float(text_probability.bits(text_probability.token_log_probs(
        run.loaded.runner, [(run.tokenizer.first, *ids, run.tokenizer.end_of_text)])[0]).sum())
    forwards = compression.ideal_bits(coding.steps)
    answer = 0 if backwards < forwards else 1 if backwards < 1.25 * forwards else 2
    return page.question("backwards", [page.label(f"backwards_{name}") for name in ("fewer", "little", "much")], answer,
                         forwards=plain_number(forwards, 1), backwards=plain_number(backwards, 1))


def _table(run: Run, coding: Coding) -> pd.DataFrame:
    return pd.DataFrame([{"token": run.tokenizer.visible(step.token_id), "id": step.token_id, "rank": step.rank + 1,
                          "p": float(np.exp(step.log_prob)), "start": step.start, "end": step.end,
                          "total": step.total, "bits": -math.log2(share(step)),
                          "bits_sent": step.sent, "bits_pending": step.pending} for step in coding.steps])
