"""The sections of the lesson "Positions", one file each: `draw(page, run)` draws the instrument and says what
goes below it.
"""
