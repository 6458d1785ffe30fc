"""Models: which one every lesson runs on. No lesson, so it has none of their seven parts."""
from pages.models import listing

listing.draw()
