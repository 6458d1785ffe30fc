"""The pictures of the course page: lessons, lectures, a class, the glossary, and a sheet as it is printed. See course.js."""
from __future__ import annotations

from pathlib import Path

from core.components.lib.token_view import token_view

course = token_view(Path(__file__))
