"""A design drawn and counted: the block's wiring with what changed marked, parameters part by part, and costs against a baseline. See design_view.js."""
from __future__ import annotations

from core.components.lib.token_view import token_view

design_view = token_view("design_view", __file__)
