"""A text under teacher forcing, a column for each position: the token read, the model's guess, the true next token, and −log p as a bar."""
from core.components.lib.token_view import token_view

teacher_forcing = token_view("teacher_forcing", __file__)
