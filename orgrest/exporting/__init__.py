"""Requests of a document in the formats of other tools: `FORMATS` has a module for each.

`reading` completes a document's requests as a dry run does, `kept` leaves references to variables
in them, and a module per format writes them: its `write` takes an `Export` and returns the text,
the files beside it, and what the format cannot say. Nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FORMATS: Final[Mapping[str, str]] = {
    "curl": "curl commands, as a script for a POSIX shell",
    "har": "a HAR 1.2 file",
    "postman": "a Postman collection 2.1",
    "python": "a script for Python's requests",
}
"""What each format is."""
