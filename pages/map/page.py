"""The map of all views, a page of its own beside the course."""
from pages.map import model_map

model_map.draw()
