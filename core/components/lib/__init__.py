"""What the JavaScript of several components shares, each file with the Python that feeds it.

Begin with message.py and message.js: how arrays reach the browser.
"""
