"""The cost of a training: from parameters, tokens and devices to operations, time, energy and money, beside what is
published of four trainings.
"""
import pandas as pd

from core.app.lesson import Lesson, Question, Reading
from core.app.state import reader
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument
from core.cost import built_models, scaling_laws
from core.cost.built_models import Hardware, Model
from core.figures.numbers import grouped, latex_number, latex_power, percent, readable, superscript
from pages.architectures.shared import PREFIX, keep, prefixed, read

MOVED = "parameters", "tokens", "hardware", "devices", "share", "pue", "price"      # what the browser changes
SITE = 5e9               # watts of the lecture's site
# Hours and energy over operations, with lines for devices, dots for published trainings, and the reader's training.
_picture = instrument("training_cost", __file__)


def published() -> list[Model]:
    """The trainings whose energy is published."""
    return [model for model in built_models.load().models if model.MWh]


def device_of(model: Model) -> tuple[str, Hardware] | None:
    """The key and the kind of the devices that a model was trained on; None if the table of hardware lacks it."""
    return next(((key, one) for key, one in built_models.load().hardware.items()
                 if model.machine and one.short == model.machine[1]), None)


def share_reached(model: Model) -> float | None:
    """The share of their peak that its devices reached, from its published time; None if that is not published."""
    device = device_of(model)
    return model.flops / (model.device_hours * 3600 * device[1].peak) if device and model.device_hours else None


def draw(page: Lesson) -> Reading:
    """Draw the calculator and return what it shows."""
    settings = {name: read(name) for name in MOVED}
    devices = built_models.load().hardware
    sent = {"labels": page.labels("training_cost"), "settings": settings, "present": reader.present(),
            "devices": [{"id": key, "short": one.short, "name": one.name, "peak": one.peak, "watts": one.watts,
                         "source": one.source} for key, one in devices.items()],
            "models": [_sent(model) for model in published()]}
    _picture(key=f"{PREFIX}training_cost", data=pack(sent),
             on_settings=lambda said: keep(**{name: said[name] for name in MOVED if name in said}))
    title = _title(page)
    return Reading(_lines(page), _question(page),
                   [scaling_laws.training_flops, scaling_laws.device_days, scaling_laws.training_energy,
                    scaling_laws.writing_flops], {"trainings.csv": _data}, ".instrument .charts", title, _table(page),
                   explanation="record_energy")


def _sent(model: Model) -> dict:
    """A published training, for training_cost.js."""
    share, known = share_reached(model), device_of(model)
    return {"name": model.name, "parameters": model.billions, "tokens": model.billion_tokens,
            "device": known[0], "devices": model.machine[0], "hardware": model.hardware,
            "share": round(100 * share) if share else None, "operations": model.flops,
            "reported": model.reported_flops, "hours": model.device_hours, "days": model.days,
            "energy": model.MWh * 1e6, "source": model.source}


def _computed() -> tuple[Hardware, float, float, float]:
    """The picked kind of device; operations, device-days, and energy in watt hours of the training that is set."""
    device = built_models.load().hardware[read("hardware")]
    flops = scaling_laws.training_flops(1e9 * read("parameters"), 1e9 * read("tokens"))
    days = scaling_laws.device_days(flops, device.teraflops, read("share") / 100)
    return device, flops, days, scaling_laws.training_energy(days, device.watts, read("pue"))


def _title(page: Lesson) -> str:
    device, flops, days, energy = _computed()
    return page.label("training_cost_title", n=prefixed(1e9 * read("parameters"), digits=3),
                      d=prefixed(1e9 * read("tokens"), digits=3), operations=superscript(flops),
                      days=readable(days / read("devices")), devices=grouped(read("devices")), device=device.short,
                      energy=prefixed(energy, "Wh", 3), price=f"$ {prefixed(24 * days * read('price'), digits=3)}")


def _lines(page: Lesson) -> list[tuple[str, str]]:
    device, flops, days, energy = _computed()
    n, d, count, share = read("parameters") * 1e9, read("tokens") * 1e9, read("devices"), read("share")
    hours, work, one = latex_number(24 * days), latex_power(flops), latex_power(n)
    reached = rf"{latex_power(device.peak)} \cdot {share / 100:g}"
    lines = [(page.label("numbers_training_own"), rf"6 N D = 6 \cdot {one} \cdot {latex_power(d)} = {work}"),
             (page.label("numbers_days", device=device.short, share=share),
              rf"\frac{{{work}}}{{{reached} \cdot 86400 \cdot {count}}} = {latex_number(days / count)}"),
             (page.label("numbers_power", watts=device.watts),
              rf"{hours} \cdot {device.watts / 1e6:g} \cdot {read('pue'):g} = {latex_number(energy / 1e6)}"),
             (page.label("numbers_price"),
              rf"{hours} \cdot {read('price'):g} = {latex_number(24 * days * read('price'))}"),
             (page.label("numbers_site"),
              rf"\frac{{{latex_number(energy / 1e6)}}}{{{SITE / 1e6:g}}} = {latex_number(energy / SITE)}"),
             (page.label("numbers_written"),
              rf"2 N = 2 \cdot {one} = {latex_power(scaling_laws.writing_flops(n))}")]
    model = next((one for one in published() if share_reached(one)
                  and (one.billions, one.billion_tokens) == (read("parameters"), read("tokens"))), None)
    return lines + (_check(page, model) if model else [])


def _check(page: Lesson, model: Model) -> list[tuple[str, str]]:
    """The published time and energy of each device."""
    _, device = device_of(model)
    hours = rf"{model.machine[0]} \cdot {model.days:g} \cdot 24"
    return [(page.label("numbers_reached", name=model.name, device=device.short),
             rf"\frac{{{latex_power(model.flops)}}}{{{hours} \cdot 3600 \cdot {latex_power(device.peak)}}} = "
             rf"{latex_number(share_reached(model))}"),
            (page.label("numbers_watts", name=model.name, device=device.short, watts=device.watts),
             rf"\frac{{{model.MWh:g} \cdot 10^6}}{{{hours}}} = {latex_number(model.MWh * 1e6 / model.device_hours)}")]


def _question(page: Lesson) -> Question:
    """How many tokens a model writes with as many operations as its training took."""
    n, d = read("parameters") * 1e9, read("tokens") * 1e9
    written = scaling_laws.training_flops(n, d) / scaling_laws.writing_flops(n)
    offered = [d / 3, d, written, 2 * written]
    return page.question("written", [page.label("written_option", n=prefixed(each, digits=3)) for each in offered],
                         offered.index(written), n=prefixed(n, digits=3), d=prefixed(d, digits=3),
                         written=prefixed(written, digits=3))


def _table(page: Lesson) -> pd.DataFrame:
    rows = [(model.name, superscript(model.flops), model.hardware, model.days and readable(model.days) or "–",
             percent(share) if (share := share_reached(model)) else "–", readable(model.MWh, 4), model.source)
            for model in published()]
    return page.table(rows, "name", "compute", "hardware", "days", "share", "MWh", "source", labels="models")


def _data() -> pd.DataFrame:
    rows = [(model.name, model.flops, model.reported_flops, model.hardware, model.device_hours, share_reached(model),
             model.MWh, model.source) for model in published()]
    return pd.DataFrame(rows, columns=["model", "flops", "reported_flops", "hardware", "device_hours", "share", "MWh",
                                       "source"])
