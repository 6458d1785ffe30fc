"""A lesson as one file that needs no server."""
