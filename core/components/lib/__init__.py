"""What the JavaScript of several components shares, and the Python that feeds it.

Begin with bytes.py and bytes.js, how arrays reach the browser, and view.js, a component's life there. numbers.js,
colours.js and theme.js say how a number and a colour are written; dom.js and canvas.js draw; keys.js lets the keys read
what the pointer reads, and focus.js keeps the focus where it was; echo.js, live.js and hand.js keep the hand ahead of
Python. component.css comes first in every component's style. instrument, token_view, pattern, tokens, text and player
are for several pictures of a kind.
"""
