"""A slider that is answered while it moves: its HTML, which hand.js finds in a component, and its style."""
from pathlib import Path

HAND_HTML = '<label class="hand" hidden><span></span><input type="range"><output></output></label>'
HAND_CSS = Path(__file__).with_name("hand.css")
