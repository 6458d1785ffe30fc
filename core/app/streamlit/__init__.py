"""All that is not documented of Streamlit, in one room: the mends of its faults (fixes.py), what a run may know of
itself (context.py), and the messages that browsers send (wire.py). Another version of Streamlit is tried here first.
"""
