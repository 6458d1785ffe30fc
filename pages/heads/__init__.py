"""The lesson "Heads": what it reads from a run, its instrument (the wall, and a panel beside it), and
what stands below.
"""
