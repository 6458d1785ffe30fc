"""Prompts that every lesson has to bear, by what is hard about them; None is the lesson's own."""
PROMPTS = {
    "default": None,
    "empty": "",
    "one token": "a",
    "256 tokens": "The dog ran to the park and saw a bird. " * 40,
    "emoji": "I ❤️ 🐶 and 👩‍👩‍👧‍👦!",
    "right to left": "שלום עולם مرحبا بالعالم",
    "HTML": "<script>alert(1)</script> <b>bold</b> & $x^2$ `code` [link](http://x)",
    # and a character of every plane of Unicode
    "control characters": "a\x00b\x07c\u202ed\ufffe" + "".join(chr(0x10000 * plane + 0xFE) for plane in range(17)),
}
