"""A text under teacher forcing, a column for each position: the token read, the model's guess, the true next token, and −log p as a bar."""
from pathlib import Path

from core.components.lib.token_view import token_view

teacher_forcing = token_view(Path(__file__))
