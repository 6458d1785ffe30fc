"""The messages that a browser sends over Streamlit's websocket."""
from __future__ import annotations

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg


def kind_of(frame: bytes) -> tuple[str | None, str | None] | None:
    """The kind of a frame's message and, for a request to the server, its operation; None if it is no message.

    >>> kind_of(BackMsg(clear_cache=True).SerializeToString())
    ('clear_cache', None)
    >>> kind_of(b"no message") is None
    True
    """
    try:
        message = BackMsg.FromString(frame)
    except DecodeError:
        return None
    return message.WhichOneof("type"), message.backend_operation_request.WhichOneof("payload")
