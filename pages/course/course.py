"""The pictures of the course page: lessons, lectures, a class, the glossary, and a sheet as it is printed. See course.js."""
from __future__ import annotations

from core.components.lib.token_view import token_view

course = token_view("course", __file__)
