"""The page of a phone: one small document without Streamlit; its scripts are those of the app."""
import functools
import html
import json

from core.base import prose
from core.components import COMPONENTS, addresses, scripts
from core.figures import style

_FOLDER = COMPONENTS / "phone"
_STYLES = ("lib/component.css", "prediction/prediction.css", "class_tally/class_tally.css", "phone/phone.css")


def written() -> str:
    """The document; the code of the class is only in its address."""
    words = prose.load("phone")
    light, dark = (_variables(theme) for theme in style.THEMES)
    told = json.dumps({"text": words.labels, "base": addresses.below("j")}).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="{prose.LANGUAGE}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{html.escape(words.label("title"))}</title>
<link rel="icon" href="data:,">
<style>:root {{ {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
{_css()}</style>
{"".join(f'<link rel="modulepreload" href="{address}">' for address in _modules())}
</head>
<body>
<main class="component prediction phone" aria-live="off"></main>
<noscript>{html.escape(words.label("no_script"))}</noscript>
<script type="application/json" id="told">{told}</script>
<script type="module" src="{scripts.address(_FOLDER / "phone.js")}"></script>
</body>
</html>
"""


def _variables(theme: str) -> str:
    return "".join(f"{name}:{value};" for name, value in style.css_variables(theme).items())


@functools.cache
def _css() -> str:
    return "\n".join((COMPONENTS / path).read_text(encoding="utf-8") for path in _STYLES)


@functools.cache
def _modules() -> list[str]:
    script = _FOLDER / "phone.js"
    return [scripts.address((_FOLDER / path).resolve()) for path in scripts.imported(script)]
