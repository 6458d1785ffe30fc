"""The known families of Hugging Face models: the ModelConfig of their config.json, and the names of their weights.

A family is a function from a config.json's Fields (and the names in its weight files, which alone show a few things) to
a Plan. Features that our Transformer lacks are refused by name, never ignored.
"""
import dataclasses
from collections.abc import Callable, Collection

from core.huggingface import (
    bart,
    decoders,
    encoder_decoders,
    encoders,
    experts,
    modernbert,
    newer_decoders,
    older_decoders,
)
from core.huggingface.errors import PretrainedError
from core.huggingface.fields import Fields, family_of
from core.huggingface.keys import passed_over
from core.huggingface.plan import Plan
from core.huggingface.refusals import refuse_quantised, unknown_family
from core.huggingface.tables import TITLES

FAMILIES: dict[str, Callable[[Fields, Collection[str]], Plan]] = {family.__name__: family for family in (
    *decoders.FAMILIES, *newer_decoders.FAMILIES, *older_decoders.FAMILIES, *experts.FAMILIES, *encoders.FAMILIES,
    *modernbert.FAMILIES, *encoder_decoders.FAMILIES, *bart.FAMILIES)}
FAMILIES |= encoders.SAME


def refuse_unknown(values: dict) -> None:
    """Raise PretrainedError for a config.json of a family that is not read."""
    family = family_of(values)
    if not isinstance(family, str) or family not in FAMILIES:
        raise unknown_family(values, TITLES.values())


def plan_of(values: dict, names: Collection[str]) -> Plan:
    """The plan for a model with this config.json and weights of these names.

    Raises PretrainedError for an unknown family or option.
    """
    refuse_unknown(values)
    refuse_quantised(values)
    family = family_of(values)
    try:
        fields = Fields(values)
        plan = FAMILIES[family](fields, names)
        passed = fields.passed + passed_over(values, fields.read, family)
        return dataclasses.replace(plan, passed_over=tuple(dict.fromkeys(passed)))
    except PretrainedError:
        raise
    except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
        raise PretrainedError("config", f"config.json describes no model that can be built: {error} Fetch the original "
                                        f"file again.") from error
