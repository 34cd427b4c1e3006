r"""The request files of VS Code REST Client, JetBrains' HTTP Client and httpyac, as one language.

The three tools share most of their language, and a file that keeps to it means the same in all:

    @host = https://example.org        a variable, used as {{host}}
    ### Log in                         separates requests, and names the one below it
    # @name login                      a directive (also `// @name login`); other `#` and `//` lines
    POST {{host}}/login                are comments, in bodies, too
        ?verbose=1
    Content-Type: application/json

    {"user": "me"}                     the body; `< file`, `<@ file`, `<@latin1 file` put a file in
    > {% client.log("answered") %}     JavaScript for the response; `> file.js`; `< {% %}` before it
    ?? status == 200                   an assertion (also `# ?? status == 200`)
    >> answer.json                     where the response is saved; `>>!` overwrites

    GET {{host}}/a                     a line with a method begins a request even without ###
    https://example.org/b              and so does a URL, below ###; its method is GET

`{{` alone on a line begins a script of httpyac's (`{{@response`, `{{+`), which `}}` ends. `<> file`
names a stored response; a response pasted below its request (`HTTP/1.1 200 OK`) is skipped with a
notice. `import file`, `run file` and `run #name` are JetBrains', `# @import file` is httpyac's.

Rules: like `restclient.parse`, this one never raises and reads each line once or twice. Syntax that
some tool supports and orgrest does not is a problem of its request, which is then not sent; a line
that has no meaning in its place is a problem, too, and never becomes part of the body.

Sources: the tools' documentation; where that is unclear, this follows httpyac's parser.

The modules: `grammar` has the patterns, `region` the state of parsing a request, `reader` the pass
over the lines, and `lines`, `request` and `scripts` its steps.
"""

from __future__ import annotations

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
    lines.separator,
    lines.comment,
    request.skipped,
    request.fragment,
    lines.import_line,
    request.request_line,
    lines.definition,
    scripts.handler,
    scripts.script_of_httpyac,
    scripts.after_response,
    request.pasted_response,
    request.header,
    request.body_line,
)
"""The steps that are tried on each line, in this order."""


def read_above(text: str) -> LineState:
    """Return the parser's state after a text; only the last region is parsed."""
    reader = Reader(Source(text[parts(text)[-1] :]))
    reader.read(STEPS)
    return reader.state


def parts(text: str) -> list[int]:
    """Return the offsets of the parts of a text that can be parsed separately, the first 0."""
    across = LONG_COMMENT.search(text)
    starts = () if across else (one.start() for one in SEPARATORS.finditer(text))
    return sorted({0, *starts})


def parse(
    source: Source | str, part: Span | None = None, known: Definitions | None = None
) -> Document:
    """Parse a request file in the tools' common language, or an independent `part` of one.

    `known` are the definitions of the whole file. Never raises: errors are in the document's and
    its requests' `problems`.
    """
    source = source if isinstance(source, Source) else Source(source)
    return Reader(source, part, known).document(STEPS)
