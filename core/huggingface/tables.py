"""Tables of families of models and of classes of tokenizers, by name; read once."""
import tomllib

from core.files import ASSETS

_SAID = tomllib.loads((ASSETS / "text" / "en" / "families.toml").read_text(encoding="utf-8"))
TITLES: dict[str, str] = _SAID["titles"]            # of the families that are read
NOT_READ = {family: reason for reason, families in _SAID["not_read"].items() for family in families.split()}
NEAREST: dict[str, str] = _SAID["nearest"]
_ALIKE = [(row["classes"].split(), row) for row in _SAID["tokenizers"]]
CLASS_OF = {family: kinds[0] for kinds, row in _ALIKE for family in row.get("families", "").split()}
SPECIAL_TOKENS = {kind: row["special"] for kinds, row in _ALIKE if "special" in row for kind in kinds}
AROUND = {kind: row["around"] for kinds, row in _ALIKE if "around" in row for kind in kinds}
