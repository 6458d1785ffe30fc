"""The server between browser and app: the script that Streamlit runs, HTTP routes, the door.

Begin with script.py; app.py puts all of it together.
"""
