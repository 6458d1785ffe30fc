"""Documents in rows of N tokens: what is read, what has to be predicted, where a row cuts; and the places that packing and padding use. See packing_rows.js."""
from core.components.lib.token_view import token_view

packing_rows = token_view("packing_rows", __file__)
