"""Prose from assets/text/<language>/*.md: sections, labels and experiments. No sentence for a reader stands in Python.

A file is Markdown with headings of one `#`:

    # title                  one line
    # sentence               the idea in one sentence
    # explanation            at most three paragraphs
    # about                  lines `view: what it shows`, one for each view of a lesson
    # labels                 lines `key: text with {values}`
    # try: id                one experiment: `title: …`, then lines `setting: value`, an empty line, then what to look
                             for (other kinds of entry, such as the course's `# step: id`, have the same form)
    # anything_else          a Markdown section, read by its name
    # encoder: name          the version of the section for an encoder: labels replace those of the same key, an empty
                             experiment is left out; `encoder-decoder: name` is the version for an encoder-decoder
    # published: name        the version for a model that others have published, whose training text is not known

A setting's value is JSON if it parses as JSON (numbers, true, "text with \\n"), plain text otherwise.
"""
from __future__ import annotations

import functools
import json
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path

from core.figures.numbers import grouped
from core.files import modified

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "text"
LANGUAGE = "en"
_HEADING = re.compile(r"^# +(.+?)\s*$", re.MULTILINE)
PUBLISHED = "published"
_SIGN = re.compile(r"(?<=[\d}*]) %")
_LINE = re.compile(r"^([\w.-]+):\s?(.*)$")
NAMES = ("id", "seed")          # numbers that are names, not counts


@dataclass(frozen=True)
class Experiment:
    """One "Try this": its title, the settings that it makes (widget keys, prompt, layer, head, position, target), and
    what to look for.
    """

    id: str
    title: str
    settings: dict
    look: str


@dataclass(frozen=True, eq=False)       # one object while the file stays as it is: it may be the key of a cache
class TextFile:
    """One parsed file. A missing section or label raises KeyError with its name and the file's."""

    name: str
    sections: dict[str, str]
    labels: dict[str, str]

    @functools.cached_property
    def experiments(self) -> tuple[Experiment, ...]:
        """The sections `# try: id`."""
        return self.entries("try")

    def section(self, key: str) -> str:
        """The Markdown under `# key`."""
        if key not in self.sections:
            raise KeyError(f"assets/text/{LANGUAGE}/{self.name}.md has no section '# {key}'.")
        return self.sections[key]

    def label(self, key: str, **values) -> str:
        """The line `key: …` of the labels with {values} put in (without values, braces are left alone), whole numbers
        with commas between their thousands.

        >>> parse("demo", "# labels\\nrows: {n} rows, id {id}").label("rows", n=4096, id=4096)
        '4,096 rows, id 4096'
        """
        if key not in self.labels:
            raise KeyError(f"assets/text/{LANGUAGE}/{self.name}.md has no label '{key}'.")
        return filled(self.labels[key], values)

    def about(self, view: str) -> str:
        """The line of the section `# about` on a view; a lesson of one view has it under its own name."""
        return _labels(self.section("about"))[view or self.name]

    def names(self, section: str) -> tuple[str, ...]:
        """The keys of a section of lines `key: text`, in their order."""
        return tuple(_labels(self.section(section)))

    def of_kind(self, kind: str) -> TextFile:
        """The version of the file for a model of that kind (ModelConfig.kind): its sections `# <kind>: name` replace
        `# name`.

        >>> parse("demo", "# labels\\nsays: next\\n# encoder: labels\\nsays: here").of_kind("encoder").label("says")
        'here'
        """
        return _of_kind(self, kind)

    def entries(self, kind: str) -> tuple[Experiment, ...]:
        """The sections `# <kind>: id`, in the form of experiments, in their order."""
        return tuple(_experiment(heading.removeprefix(f"{kind}:").strip(), body)
                     for heading, body in self.sections.items() if heading.startswith(f"{kind}:") and body)


class _Sentence(string.Formatter):
    """Put values into a label: an id or a seed, which is a name, as it is, any other whole number by `grouped`."""

    def get_value(self, key, args, kwargs):
        value = super().get_value(key, args, kwargs)
        return str(value) if key in NAMES else value

    def format_field(self, value, format_spec):
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return grouped(int(value)) if is_whole and not format_spec else super().format_field(value, format_spec)


_SENTENCE = _Sentence()


def filled(template: str, values: Mapping[str, object]) -> str:
    """A template with its {names} filled in, whole numbers with commas; without values it stays as it is.

    >>> filled("{n} tokens", {"n": 4096}), filled("{n} tokens", {})
    ('4,096 tokens', '{n} tokens')
    """
    return _SENTENCE.vformat(template, (), values) if values else template


def load(name: str) -> TextFile:
    """The parsed file assets/text/<language>/<name>.md, read again only when it has changed on disk."""
    path = FOLDER / LANGUAGE / f"{name}.md"
    return _parsed(name, path, modified(path))


def unbroken(text: str) -> str:
    """A text with a non-breaking space between each number and its per cent sign."""
    return _SIGN.sub("\u00a0%", text)


def parse(name: str, source: str) -> TextFile:
    """The parts of a file's text, its numbers and their per cent signs `unbroken`.

    >>> parse("demo", "# labels\\nshare: {p} % kept").label("share", p=50)
    '50\\xa0% kept'
    """
    pieces = _HEADING.split(unbroken(source))
    sections = {heading: body.strip() for heading, body in zip(pieces[1::2], pieces[2::2])}
    return TextFile(name, sections, _labels(sections.get("labels", "")))


@functools.lru_cache(maxsize=64)
def _parsed(name: str, path: Path, modified: int) -> TextFile:
    return parse(name, path.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=64)
def _of_kind(file: TextFile, kind: str) -> TextFile:
    own = {heading.removeprefix(f"{kind}: "): body for heading, body in file.sections.items()
           if heading.startswith(f"{kind}: ")}
    return TextFile(file.name, file.sections | own, file.labels | _labels(own.get("labels", ""))) if own else file


def _labels(body: str) -> dict[str, str]:
    matches = (_LINE.match(line) for line in body.splitlines())
    return {match[1]: match[2].strip() for match in matches if match}


def _experiment(identity: str, body: str) -> Experiment:
    head, _, look = body.partition("\n\n")
    settings = {key: _value(value) for key, value in _labels(head).items()}
    title = str(settings.pop("title", identity))
    return Experiment(identity, title, settings, look.strip())


def _value(written: str):
    try:
        return json.loads(written)
    except ValueError:
        return written
