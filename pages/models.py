"""Models: which one every lesson runs on. No lesson, so it has none of their seven parts."""
from core.ui import lesson
from core.ui.library import page

lesson.enter_through_the_app()
page.draw()
