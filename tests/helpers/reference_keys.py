"""The names that transformers itself declares or reads of a config.json, for core/huggingface/reference_keys.json:

    python -m tests.helpers.reference_keys          writes that file anew

Taken from the library's source, so more rather than fewer: every name that a family's configuration class declares or
mentions, that its modelling file reads of a config, and that the code common to all families does.
"""
import ast
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from core.huggingface.families import FAMILIES
from core.huggingface.reference import FILE

ROOT = Path(transformers.__file__).parent
# the code that all families share: configs, positions, masks, caches, attention, experts, the loading of weights
COMMON = ("configuration_utils.py", "modeling_rope_utils.py", "masking_utils.py", "cache_utils.py",
          "modeling_layers.py", "modeling_utils.py", "modeling_attn_mask_utils.py", "modeling_flash_attention_utils.py",
          "core_model_loading.py", "conversion_mapping.py", "pytorch_utils.py", "initialization.py",
          "integrations/sdpa_attention.py", "integrations/flash_attention.py", "integrations/flex_attention.py",
          "integrations/moe.py", "integrations/heterogeneity/configuration_utils.py", "models/auto/auto_factory.py",
          "models/auto/configuration_auto.py")
NAME = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE)
# the beginning of an expression that is a config, and of one that is a table of rotary positions
CONFIG = re.compile(r"(?<!generation_)(?<!quantization_)config(\.get_text_config\(.*\))?$|^kwargs$")
ROPE = re.compile(r"(?i)rope|^params$")


def table() -> dict:
    """"common": the names of all families, "families": those of each besides, "rope": those of a table of rotary
    positions; and the version of transformers that they were taken from.
    """
    common, rope, families = set(), set(), {}
    for name in COMMON:
        tree = _tree(ROOT / name)
        common |= set(_read(tree))
        rope |= set(_read(tree, ROPE))
    common = _names(common | _declared(transformers.PreTrainedConfig))
    for family in FAMILIES:
        cls = CONFIG_MAPPING[family]
        told = Path(importlib.import_module(cls.__module__).__file__)
        model = _tree(told.with_name(told.name.replace("configuration_", "modeling_")))
        families[family] = sorted(_names({*_declared(cls), *_mentioned(_tree(told)), *_read(model)}) - common)
        rope |= set(_read(model, ROPE)) | set(_read(_tree(told), ROPE))
    return dict(transformers=transformers.__version__, common=sorted(common), rope=sorted(rope), families=families)


def _names(found: set[str]) -> set[str]:
    """Those of the names that can be a key: not Python's own, nor a class."""
    return {name for name in found if not name.startswith("__") and not name[0].isupper()}


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _declared(cls: type) -> set[str]:
    """The fields of a configuration class, with other names for them."""
    return {*cls.__dataclass_fields__, *cls.attribute_map, *cls.attribute_map.values()}


def _read(tree: ast.Module, of: re.Pattern = CONFIG) -> Iterator[str]:
    """Yield the names that code reads of a config, as an attribute, by getattr or hasattr, or out of a table."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and of is CONFIG and of.search(ast.unparse(node.value)):
            yield node.attr
        elif isinstance(node, ast.Call) and len(node.args) > 0:
            named = ast.unparse(node.func)
            base, _, method = named.rpartition(".")
            if named in ("getattr", "hasattr", "setattr") and of.search(ast.unparse(node.args[0])):
                yield from _text(node.args[1])
            elif method in ("get", "pop", "setdefault") and of.search(base):
                yield from _text(node.args[0])
        elif isinstance(node, ast.Subscript) and of.search(ast.unparse(node.value)):
            yield from _text(node.slice)


def _mentioned(tree: ast.Module) -> Iterator[str]:
    """Yield every name in a file of configuration classes, of a field, of an attribute or as a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        yield from _text(node)


def _text(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
        yield node.value


if __name__ == "__main__":
    FILE.write_text(json.dumps(table(), indent=1) + "\n", encoding="utf-8")
