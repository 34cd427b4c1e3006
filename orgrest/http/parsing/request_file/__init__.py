r"""Parses request files of VS Code REST Client, JetBrains' HTTP Client and httpyac.

The three tools share most of their language. A file that only uses the shared part has
the same meaning in all three:

    @host = https://example.org        a variable, used as {{host}}
    ### Log in                         separates requests, and names the request below it
    # @name login                      a directive (also `// @name login`); other `#` and `//` lines
    POST {{host}}/login                are comments, even in bodies
        ?verbose=1
    Content-Type: application/json

    {"user": "me"}                     the body; `< file`, `<@ file`, `<@latin1 file` insert a file
    > {% client.log("answered") %}     JavaScript for the response (also `> file.js`); a script
                                       `< {% %}` above the request runs before it is sent
    ?? status == 200                   an assertion (also `# ?? status == 200`)
    >> answer.json                     saves the response in a file; `>>!` overwrites the file

    GET {{host}}/a                     a line with a method begins a request even without ###
    https://example.org/b              below ###, a URL begins a request with the method GET

`{{` alone on a line begins an httpyac script (also `{{@response`, `{{+`), and `}}` ends the script.
The line `<> file` names a stored response, and is skipped. A response pasted below its request
(`HTTP/1.1 200 OK`) is also skipped, with a warning. Assertions, scripts, directives, variables and
`>>` lines in the response or below it still belong to the request. `import file`, `run file` and
`run #name` are JetBrains' syntax, and `# @import file` is httpyac's.

Rules: `parse` never raises, and reads each line at most twice. If a line is misplaced, or if
orgrest does not support its syntax, the `problems` of the request contain an error, and the request
is not sent.

Sources: the tools' documentation, and httpyac's parser where the documentation is unclear.

Modules: `grammar` contains the patterns, `region` the state of the current request, and `reader`
the loop over the lines. `lines`, `request` and `scripts` contain the steps tried on each line.
"""

from __future__ import annotations

from orgrest import classes
from orgrest.http.parsing.request_file import lines, request, scripts
from orgrest.http.parsing.request_file.grammar import (
    LONG_COMMENT,
    SEPARATORS,
    begins_request,
    is_jetbrains,
    is_restclient,
)
from orgrest.http.parsing.request_file.reader import Reader
from orgrest.http.syntax import Definitions, Document, LineState
from orgrest.model import Source, Span

__all__ = [
    "STEPS",
    "begins_request",
    "is_jetbrains",
    "is_restclient",
    "parse",
    "parts",
    "read_above",
]

STEPS = (
    ("", request.skipped),
    ("#", lines.separator),
    ("#/@", lines.comment),
    (None, request.request_line),
    ("fg", request.fragment),
    ("ir", lines.import_line),
    ("@:", lines.definition),
    ("<>", scripts.handler),
    ("{", scripts.script_of_httpyac),
    ("?<>H#/;-\uff1f\u2047", scripts.after_response),
    (None, request.pasted_response),
    (None, request.header),
    (None, request.body_line),
)
"""The steps that are tried on each line, in order, until one consumes it.

Each step is only tried on lines that begin with one of its characters, or on all if it has None. A
step with "" is tried on empty lines.
"""


def read_above(text: str) -> LineState:
    """Return the parser's state at the end of `text`. Only the last part is parsed."""
    reader = Reader(Source(text), Span(parts(text)[-1], len(text)))
    reader.read(STEPS)
    return classes.evolve(reader.state, directives=tuple(reader.region.directives))


def parts(text: str) -> list[int]:
    """Return the start offsets of the parts of `text` that can be parsed separately.

    The first offset is 0.
    """
    lined = f"\n{text}"
    across = LONG_COMMENT.search(lined)
    starts = () if across else (match.start() for match in SEPARATORS.finditer(lined))
    return sorted({0, *starts})


def parse(
    source: Source | str,
    part: Span | None = None,
    known: Definitions | None = None,
    *,
    in_org: bool = False,
) -> Document:
    """Parse a request file, or only an independent `part` of it (see `parts`).

    `known` contains the definitions in the whole file. If `in_org` is set, the source is a block of
    an Org document, which cannot import files. Never raises: errors are in the `problems` of the
    document and its requests.
    """
    source = source if isinstance(source, Source) else Source(source)
    return Reader(source, part, known, in_org=in_org).document(STEPS)
