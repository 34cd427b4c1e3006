"""Prepares the comparison of a recorded response with the result in a document.

The response is rendered with the block's header arguments, so the results differ only where the
responses do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.model import OrgrestError
from orgrest.org import arguments as header
from orgrest.org import placing
from orgrest.org.blocks import VERB
from orgrest.org.results import result_of
from orgrest.regular import compiled
from orgrest.rendering import layout
from orgrest.rendering.results import options_of, render
from orgrest.run.comparison import ShownResponse, Volatile, content, without_parts
from orgrest.run.documents.verb import selected_part
from orgrest.run.record import replayed

if TYPE_CHECKING:
    from orgrest.org.blocks import Arguments
    from orgrest.org.document import OrgDocument
    from orgrest.run.record import Record

_MARK = r"[ \t]*(?:[:,|-] ?)?[=~]?(?://|<!--|/\*|#|;;)?[ \t]*"
_HEAD_BELOW = compiled(
    rf"^{_MARK}[A-Z-]+ \S+(?: (?:-->|\*/)[=~]?)?\n"
    rf"(?:{_MARK}\d{{3}} [^\n]* -> [^\n]*\n)*{_MARK}HTTP/[\d.]+ (?P<status>\d{{3}})\b",
    re.MULTILINE,
)
"""The beginning of the head that follows a body: request line, redirects and status line."""
_HEAD_ABOVE = compiled(r"HTTP/[\d.]+ (?P<status>\d{3})\b[^\n]*(?:\n[^\n]+)*(?:\n\n)?")
"""The head that precedes a body in the results of verb blocks."""


def stored_and_new(
    document: OrgDocument, name: str, record: Record
) -> tuple[ShownResponse, ShownResponse]:
    """Return the result of the block `name`, and the response in `record` in the same form.

    The parts that the block's `:volatile` lists are left out of the bodies.

    Raises OrgrestError if the block, its result or the response does not exist. Also raises it if
    they cannot be compared, for example because the result does not contain the whole body.
    """
    block = document.block_named(name)
    if block is None or result_of(document, block) is None:
        raise OrgrestError(f"the document has no result for a block named {name}")
    arguments = header.of_block(document, block)
    _check(arguments, record)
    rendered = render(*replayed(record["exchanges"][-1]), **options_of(arguments, None))
    is_verb = block.language == VERB
    value = rendered.as_verb(selected_part(arguments)) if is_verb else rendered.value
    shown = layout.show(arguments, [value], [rendered.block()], block.language)
    edit = placing.place(document, block, shown.text, prose=shown.prose)
    texts = (document.text[edit.start : edit.end], edit.text)
    if rendered.data is not None or ("[[file:" in texts[0] and "[[file:" not in texts[1]):
        raise OrgrestError(
            "cannot compare: the document contains only the beginning of the body, and a link to "
            "the rest"
        )
    old, new = (_split(content(text), is_verb=is_verb) for text in texts)
    bodies = without_parts(old.body, new.body, Volatile.of(arguments))
    return ShownResponse(bodies[0], old.status), ShownResponse(bodies[1], new.status)


def _check(arguments: Arguments, record: Record) -> None:
    response = record["exchanges"][-1]["response"] if record["exchanges"] else None
    if response is None:
        raise OrgrestError("cannot compare: the last request in the history got no response")
    if len(record["exchanges"]) > 1:
        raise OrgrestError("cannot compare: the result contains the responses to several requests")
    if "file" in arguments.results:
        raise OrgrestError(
            "cannot compare: the result is a link to a file, which you can compare with cmp"
        )
    if "text" not in response["body"]:
        raise OrgrestError(
            "cannot compare: the body is binary, and the result is a link to a file, which you can "
            "compare with cmp"
        )
    if response["body"]["cut"]:
        raise OrgrestError("cannot compare: only the beginning of the body was saved")
    if "post" in arguments:
        raise OrgrestError("cannot compare: the result was computed from the response (:post)")
    if arguments.get("headers").lower() == "only" or "get-headers" in arguments.get("op"):
        raise OrgrestError("cannot compare: the result does not contain the body")


def _split(text: str, *, is_verb: bool) -> ShownResponse:
    heads = [_HEAD_ABOVE.match(text)] if is_verb else list(_HEAD_BELOW.finditer(text))
    head = heads[-1] if heads else None
    if head is None:
        return ShownResponse(text, None)
    body = text[head.end() :] if is_verb else text[: head.start()]
    return ShownResponse(body, int(head["status"]))
