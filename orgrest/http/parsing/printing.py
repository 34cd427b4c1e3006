"""Printing requests in canonical form: the inverse of `requests.parse`."""

from __future__ import annotations

from orgrest.http.parsing.grammar import BODY_HERE, FILE, HERE
from orgrest.http.parsing.lines import BLANKS
from orgrest.http.syntax import Definition, Document, HeaderVariable, Import, ParsedRequest


def _needs_quoting(text: str) -> bool:
    lines = text.split("\n")
    return (
        any(line.startswith("#") or line != line.rstrip(BLANKS) for line in lines)
        or not lines[-1]
        or FILE.fullmatch(lines[0]) is not None
        or BODY_HERE.fullmatch(lines[0]) is not None
        or "\r" in text
    )


def _quote(text: str) -> str:
    word = "END"
    lines = frozenset(line.rstrip(BLANKS) for line in text.split("\n"))
    number = 1
    while word in lines:
        number += 1
        word = f"END{number}"
    return f"<<{word}\n{text}\n{word}"


def quote_body(text: str) -> str:
    """Return a body as written in a request: its text, or a here-document."""
    return _quote(text) if _needs_quoting(text) else text


def print_definition(name: str, value: str, operator: str = "=") -> str:
    """Return the lines of `:name = value`, as a here-document if the value needs one."""
    plain = "\n" not in value and value == value.strip(BLANKS) and not HERE.fullmatch(value)
    return f":{name} {operator} {value}\n" if plain else f":{name} {operator} {_quote(value)}\n"


def print_request(request: ParsedRequest) -> str:
    """Return the canonical text of one request, without the definitions in scope."""
    version = f" HTTP/{request.version}" if request.version else ""
    lines = [f"{request.method} {request.target.text}{version}"]
    for header in request.headers:
        if isinstance(header, HeaderVariable):
            lines.append(f":{header.name}")
        else:
            lines.append(f"{header.name.text}: {header.value.text}".rstrip(BLANKS))
    lines += [f"-> jq-set-var :{c.name} {c.expression}" for c in request.captures]
    if request.body is not None:
        lines.append("")
        if request.body.file is not None:
            lines.append(f"< {request.body.file.text}")
        else:
            lines.append(quote_body(request.body.template.text))
    return "\n".join(lines) + "\n"


def print_document(document: Document) -> str:
    """Return the canonical text of a document: it parses to the same requests.

    Comments among headers are not kept, nor is indentation.
    """
    out: list[str] = []
    for item in document.items:
        if isinstance(item, ParsedRequest):
            out.append(print_request(item) + "\n")
        elif isinstance(item, Definition):
            out.append(print_definition(item.name, item.value.text, item.operator))
        elif not isinstance(item, Import):  # restclient's language has none
            out.append(f"{item.text}\n")
    return "".join(out)
