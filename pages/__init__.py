"""What a reader sees: a folder a lesson, in it page.py, which Streamlit runs, and its views.

Begin with a page.py; shared.py has the lesson's settings.
"""
