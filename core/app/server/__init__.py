"""What stands between the browser and the app: the script that Streamlit runs, HTTP routes, mends of Streamlit.

Begin with script.py; app.py puts all of it together.
"""
