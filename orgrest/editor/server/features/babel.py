"""Evaluation for Org Babel: the request `orgrest/babel`, which orgrest.el sends for a block.

Emacs has already parsed the block and resolved its references. It also inserts the result.

The request has:

- `textDocument`, and the `line` of the block in it, counted from 1;
- the `body` of the block with all references expanded;
- `arguments`: the header arguments as (name, value) pairs, with null for no value;
- `results`: the words of the header argument `:results`;
- `values`: the variables whose values are as written in the document, as (name, value) pairs. These
  values may contain variables;
- `literal`: the variables with literal values, such as the results of other blocks, as (name,
  value) pairs.

The answer contains:

- `text`: the text that Org must insert unchanged as the result of the block, or null if Org inserts
  `result` by its own rules;
- `result`: the value that the Babel function returns: a string, a list of items, a list of rows (in
  which null is a horizontal rule), or null;
- `room`: the span of the old result to replace, in characters counted from 0, and the blank lines
  to insert at its end; or null if Org itself removes the right text;
- `notes`, and the assertions that failed, as messages for the user.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from orgrest.editor.server.background_run import BackgroundRun, CancelledRunError
from orgrest.model import explained
from orgrest.org import data
from orgrest.org.blocks import REQUEST_LANGUAGES, Arguments
from orgrest.rendering.masking import mask
from orgrest.rendering.results import test_line
from orgrest.rendering.sanitize import visible
from orgrest.run import writable_files
from orgrest.run.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.babel import BabelBlock, Reply
    from orgrest.editor.server.server import Server
    from orgrest.run.outcomes import Outcome
    from orgrest.run.run import Run

_FIELDS = {"line": int, "body": str} | dict.fromkeys(
    ("arguments", "results", "values", "literal"), list
)


async def answer(server: Server, params: Any) -> dict[str, Any]:
    """Evaluate a block, and return its result.

    Raises JsonRpcException with the reason if the evaluation fails or is cancelled.
    """
    from orgrest.editor.babel import evaluate

    call = _call(params)
    document = server.document_of(params)
    replies: list[Reply] = []

    def evaluated(run: Run) -> Iterator[Outcome]:
        reply = evaluate(run, call, document.name)
        for path, content in reply.outcome.files:
            writable_files.write(path, content)
        replies.append(reply)
        yield reply.outcome

    settings = Settings(server.inputs(document), languages=REQUEST_LANGUAGES)
    services = server.services(document, cookies=document.cookies)
    run = BackgroundRun(server, document, settings, services, evaluate=evaluated)
    server.runs.add(run)
    try:
        async for _ in run.outcomes():
            pass
    except CancelledRunError:
        raise JsonRpcException("cancelled", types.LSPErrorCodes.RequestCancelled) from None
    except Exception as error:
        explanation = explained(error)
        if explanation.file == document.name:
            explanation.file = PurePath(document.name).name
        reason = visible(str(explanation))
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed) from error
    finally:
        server.runs.discard(run)
    (reply,) = replies
    outcome = reply.outcome
    messages = (*outcome.notes, *(test_line(test) for test in outcome.tests if not test.held))
    notes = [visible(mask(message, outcome.secrets)) for message in messages]
    room = reply.room and (reply.room.start, reply.room.end, reply.room.text)
    return {"result": reply.value, "text": reply.text, "room": room, "notes": notes}


def _call(params: Any) -> BabelBlock:
    """Return the Babel block that the parameters describe, or raise JsonRpcInvalidParams."""
    from orgrest.editor.babel import BabelBlock

    for name, kind in _FIELDS.items():
        if not isinstance(getattr(params, name, None), kind):
            raise JsonRpcInvalidParams(f"the parameter {name} is missing, or has the wrong type")
    values, literal = (
        {name: data.to_text(value) for name, value in _pairs(pairs)}
        for pairs in (params.values, params.literal)
    )
    arguments = Arguments(
        {name: None if value is None else str(value) for name, value in _pairs(params.arguments)},
        tuple(map(str, params.results)),
        dict.fromkeys([*values, *literal], ""),
    )
    return BabelBlock(params.line, params.body, arguments, values, literal)


def _pairs(values: list[Any]) -> Iterator[tuple[str, Any]]:
    for pair in values:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise JsonRpcInvalidParams("header arguments and variables must be [name, value] pairs")
        yield pair[0], pair[1]
