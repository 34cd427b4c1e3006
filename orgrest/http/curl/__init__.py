"""Requests as curl commands, and curl commands as requests.

A command sends exactly what orgrest would send, and is quoted for a POSIX shell, ready to be
pasted. Parsing a command handles the options that determine what is sent, in the quoting of a POSIX
shell, bash's ``$'...'`` and Windows' cmd as browsers write it; options about output (``-s``,
``-v``, ``-o`` ...) are ignored, those about the transport become directives or are named in a
comment, and an unknown one is an error, because its effect would be lost.

`writing` produces commands. `shell` splits one into words, `options` is the table of curl's
options, `forms` parses the values of ``-F``, and `reading` builds a request from them.
"""

from orgrest.http.curl.errors import CurlError
from orgrest.http.curl.reading import (
    Parts,
    is_cmd,
    parts,
    words_of,
)
from orgrest.http.curl.writing import to_command

__all__ = [
    "CurlError",
    "Parts",
    "is_cmd",
    "parts",
    "to_command",
    "words_of",
]
