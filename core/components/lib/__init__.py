"""The JavaScript that several components share, and the Python that feeds it.

Begin with bytes.py and bytes.js, how arrays reach the browser, and view.js, a component's life there. numbers.js,
colours.js and theme.js write numbers and colours; dom.js and canvas.js draw; keys.js lets the keys read all that the
pointer reads, and focus.js keeps the focus in its place; echo.js, live.js and hand.js keep the hand ahead of Python.
component.css comes first in every component's style. instrument, token_view, pattern, tokens, text and player are for
several pictures of a kind.
"""
