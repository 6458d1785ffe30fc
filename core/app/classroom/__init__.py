"""A class that takes part from its phones: what is asked, who may say what, what phones and the wall see,
and where the class is kept.

A class has a code and a key. Anyone with the code may answer once to each question; anyone with the key asks, closes
and reveals. It knows no persons: an answer belongs to a random number in one browser, and is gone with the class.

Begin with classes.py. The routes to it are in core/app/server/class_routes.py; Streamlit is not needed here.
"""
