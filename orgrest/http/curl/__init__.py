"""Requests as curl commands, and curl commands as request blocks.

A command holds everything that orgrest would send and nothing of its own, quoted for a POSIX shell;
it may be pasted. Reading one back understands the options that say what is sent, in the quotes of a
POSIX shell, bash's ``$'...'`` and those of Windows' cmd as browsers write them; options about what
curl shows (``-s``, ``-v``, ``-o`` ...) are passed over, those about how it sends become directives
or are named in a comment, and one that is not known is an error, because what it changes would be
lost.

`writing` makes commands. `shell` splits one into words, `options` is the table of what curl
understands, `forms` reads what stands behind ``-F``, and `reading` makes a request of it all.
"""

from orgrest.http.curl.errors import CurlError
from orgrest.http.curl.reading import to_block, to_request
from orgrest.http.curl.writing import to_command

__all__ = ["CurlError", "to_block", "to_command", "to_request"]
