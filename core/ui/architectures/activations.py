from core.ui.views import Reading
def draw(page, run):
    return Reading([], None, [], {}, ".x", "x")
