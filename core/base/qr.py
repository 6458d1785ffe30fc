"""Links as QR codes."""
import functools
import io

import segno

from core.figures import style


@functools.lru_cache(maxsize=64)        # in a class, every change of the bar draws it again
def qr_code(link: str) -> bytes:
    """The link as a QR code, a PNG: dark on white in both themes, as scanners expect."""
    picture = io.BytesIO()
    segno.make(link, error="l", micro=False).save(
        picture, kind="png", scale=6, border=3, dark=style.colour("text", "light"), light=style.colour("page", "light"))
    return picture.getvalue()
