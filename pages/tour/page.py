"""The tour of a first visit. No lesson, so it has none of their seven parts."""
from pages.tour import steps

steps.draw()
