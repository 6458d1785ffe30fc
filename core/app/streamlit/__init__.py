"""All uses of undocumented Streamlit, in one room: the mends of its faults (fixes.py), a run's session and fragments
(context.py), and the messages that browsers send (wire.py). Try another version of Streamlit here first.
"""
