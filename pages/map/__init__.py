"""The map: the model as a drawing, and every view of every lesson at the part that it opens."""
