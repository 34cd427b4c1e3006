"""Errors raised when trees are read or written, in binary, text format or JSON."""

from __future__ import annotations


class WireError(ValueError):
    """Raised when a message cannot be encoded, or when bytes cannot be decoded.

    `path` is where the error is (empty for the outermost message). `reason` says what is wrong.
    """

    path: str
    reason: str


class EncodeError(WireError):
    """Raised when a tree cannot be encoded: see `path` and `reason`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{clipped(self.path)}: {self.reason}" if self.path else self.reason


class DecodeError(WireError):
    """Raised when bytes do not encode the expected message.

    `offset` is the position of the error in bytes. See also `path` and `reason`.
    """

    def __init__(self, offset: int, path: str, reason: str) -> None:
        super().__init__(offset, path, reason)
        self.offset = offset
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        where = f", {clipped(self.path)}" if self.path else ""
        return f"byte {self.offset}{where}: {self.reason}"


def clipped(text: str) -> str:
    """Return `text`, which is a path or a reason, without its middle if it is very long."""
    return text if len(text) <= 200 else f"{text[:95]} ... {text[-95:]}"


class FormatError(ValueError):
    """Raised for text or JSON that does not describe a message.

    Also raised for a message that JSON or the upstream schema cannot represent.
    """
