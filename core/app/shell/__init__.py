"""The shell around every page: the run of the whole app (shell.py), the row of links, the style of the page.

Begin with shell.py.
"""
