"""Heads: every attention head of the model on the reader's prompt, what each one does, and what is lost without it."""
from core.ui import lesson as frame
from core.ui.heads import below, instrument

page = frame.open_lesson("heads")
run = page.run()

instrument.draw(page, run)     # the wall of all heads, and the panel beside it
below.draw(page, run)          # explanation, numbers, experiments, question and code of the picked head, query and key
