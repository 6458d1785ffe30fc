"""Links as QR codes."""
import io

import segno

from core.figures import style


def qr_code(link: str) -> bytes:
    """The link as a QR code, a PNG: dark on white in both themes, since readers of codes expect it so."""
    picture = io.BytesIO()
    segno.make(link, error="m", micro=False).save(
        picture, kind="png", scale=6, border=3, dark=style.colour("text", "light"), light=style.colour("page", "light"))
    return picture.getvalue()
