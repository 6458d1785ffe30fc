"""The settings of the sampling panel, as Python, the browser and a link write them."""
from __future__ import annotations

from dataclasses import asdict, dataclass

from core.model.sampling import OF_RULE, SamplingConfig

_DICE = ("xi", "seed", "thousand", "logarithmic", "all_cuts")
MOST_KEPT = 10 ** 7      # a top_k above any vocabulary means the same as this


@dataclass(frozen=True)
class PanelSettings:
    """The sampling settings and the dice, which stay frozen while anything else moves.

    xi           ξ in [0, 1), which decides the draw; None: the ξ of all lessons
    seed         whole number from 0, decides the thousand draws: `seeded_uniforms(seed, 1000)`
    thousand     whether the thousand draws are shown
    logarithmic  whether the bars stand on a logarithmic scale
    pinned       a SamplingConfig kept as A to compare with, or None
    all_cuts     whether the whole panel is shown even if none of the above asks for it

    A value out of range raises ValueError with the sentence to show a reader.
    """

    config: SamplingConfig = SamplingConfig()
    xi: float | None = None
    seed: int = 1
    thousand: bool = False
    logarithmic: bool = False
    pinned: SamplingConfig | None = None
    all_cuts: bool = False

    def __post_init__(self) -> None:
        if self.xi is not None and not 0 <= self.xi < 1:
            raise ValueError(f"xi must be at least 0 and below 1, not {self.xi!r}.")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"The seed must be a whole number from 0 to {2**32 - 1}, not {self.seed!r}.")

    @property
    def is_brief(self) -> bool:
        """Whether only temperature and the first bars are shown: nothing is cut, drawn a thousand times or compared.
        """
        plain = SamplingConfig(temperature=self.config.temperature)
        return self == PanelSettings(plain, xi=self.xi, seed=self.seed)

    def to_browser(self) -> dict:
        """The flat object that the panel keeps and sends back."""
        return (asdict(self.config) | {name: getattr(self, name) for name in _DICE}
                | {"pinned": asdict(self.pinned) if self.pinned else None})

    @classmethod
    def from_browser(cls, values: dict) -> PanelSettings:
        """The settings in an object that the panel sent."""
        pinned = SamplingConfig(**values["pinned"]) if values["pinned"] else None
        return cls(SamplingConfig(**{name: values[name] for name in OF_RULE}),
                   **{name: values[name] for name in _DICE}, pinned=pinned)

    def to_link(self) -> str:
        """A short text for the URL: the differences from plain sampling, separated by `_`; A's by `~`.

        >>> PanelSettings(SamplingConfig(temperature=0.7, top_k=40), pinned=SamplingConfig(top_p=0.9)).to_link()
        'T0.7_k40_s1_A~p0.9'
        """
        parts = [*_config_parts(self.config), *([] if self.xi is None else [f"x{_shortest(self.xi)}"]), f"s{self.seed}"]
        parts += ["draws"] * self.thousand + ["log"] * self.logarithmic + ["all"] * self.all_cuts
        if self.pinned:
            parts.append("~".join(["A", *_config_parts(self.pinned)]))
        return "_".join(parts)

    @classmethod
    def from_link(cls, written: str) -> PanelSettings:
        """The settings from a text of `to_link`. Settings not named are off: "k40" is plain top-k sampling with k = 40.
        """
        parts = written.split("_")
        pinned = [part for part in parts if part[:1] == "A"]
        rest = [part for part in parts if part not in (*pinned, "draws", "log", "all", "")]
        dice = {name: kind(part[1:]) for part in rest for name, letter, kind in (("xi", "x", float), ("seed", "s", int))
                if part[0] == letter}
        return cls(_config([part for part in rest if part[0] not in "xs"]), **dice, thousand="draws" in parts,
                   logarithmic="log" in parts, all_cuts="all" in parts,
                   pinned=_config(pinned[0].split("~")[1:]) if pinned else None)


def _config_parts(config: SamplingConfig) -> list[str]:
    return [OF_RULE[name].letter + _shortest(value) for name, value in config.active().items()]


def _shortest(value: float) -> str:
    """A number in the fewest digits that read back as the same number."""
    return repr(value).removesuffix(".0")


def _config(parts: list[str]) -> SamplingConfig:
    names = {rule.letter: name for name, rule in OF_RULE.items()}
    values = {}
    for part in parts:
        if (letter := part[:1]) not in names:
            raise ValueError(f"No setting of the sampling panel begins with {letter!r}.")
        values[names[letter]] = min(int(part[1:]), MOST_KEPT) if letter == "k" else float(part[1:])
    return SamplingConfig(**values)
