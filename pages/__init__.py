"""The lessons that a reader sees, a folder each: page.py, which Streamlit runs, and the views.

Begin with a page.py; shared.py has the lesson's settings.
"""
