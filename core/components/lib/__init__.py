"""What the JavaScript of several components shares, each file with the Python that feeds it.

Begin with bytes.py and bytes.js: how arrays reach the browser.
"""
