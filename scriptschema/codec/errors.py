"""The errors of reading and writing trees, in binary, text format and JSON."""

from __future__ import annotations


class WireError(ValueError):
    """A message that cannot be encoded, or bytes that cannot be decoded.

    `path` is the path to the error (empty for the outermost message). `reason` says what is wrong.
    """

    path: str
    reason: str


class EncodeError(WireError):
    """A tree that cannot be encoded: see `path` and `reason`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{clipped(self.path)}: {self.reason}" if self.path else self.reason


class DecodeError(WireError):
    """Bytes that do not encode the message: see `offset` (in bytes), `path` and `reason`."""

    def __init__(self, offset: int, path: str, reason: str) -> None:
        super().__init__(offset, path, reason)
        self.offset = offset
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        where = f", {clipped(self.path)}" if self.path else ""
        return f"byte {self.offset}{where}: {self.reason}"


def clipped(text: str) -> str:
    """Return a path or a reason as it is, or without its middle if it is very long."""
    return text if len(text) <= 200 else f"{text[:95]} ... {text[-95:]}"


class FormatError(ValueError):
    """Text or JSON that does not describe a message, or a message that JSON cannot represent."""
