"""A worksheet of attention to be filled in by hand: every cell is checked as it is typed. See attention_worksheet.js."""
from __future__ import annotations

from core.components.lib.token_view import token_view

attention_worksheet = token_view("attention_worksheet", __file__)
