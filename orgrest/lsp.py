"""What the language server offers, and how it is started.

Commands, for any editor to bind to a key; each takes one argument, `{"uri": ..., "line": N}` (lines
from 0; `position` may stand for `line`):

- ``orgrest.send`` sends the request there. In a request file the answer is shown in a document of
  its own, and the command gives `{"text", "language", "status", "duration", "uri", ...}`; in an Org
  file the result is put in below the block, and it gives `{"line", "state", "message", ...}`.
- ``orgrest.sendAllAbove`` sends all from the top to that line; `results` has what each gave.
- ``orgrest.copyAsCurl`` gives the request as a curl command, secrets included: it has to work.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async

from orgrest import org, outline
from orgrest.completion import complete
from orgrest.evaluate import Options
from orgrest.files import entries
from orgrest.hover import hover
from orgrest.model import OrgrestError, Span
from orgrest.names import Names, Occurrence
from orgrest.positions import Place
from orgrest.results import mask, visible
from orgrest.sending import Run
from orgrest.server import (
    Document,
    Server,
    to_diagnostic,
    to_place,
    to_range,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.analysis import Analysis
    from orgrest.positions import Text

_LONG = 200
"""How much of a message is logged, in characters."""

_Token = int | str | None

# --------------------------------------------------------------------------------------- commands


async def _send(
    server: Server, document: Document, line: int, token: int | str | None
) -> dict[str, Any]:
    number = document.text.line_number(document.text.offset(Place(line, 0)))
    found = await server.send(
        document, Options(languages=org.REQUEST_LANGUAGES, lines=(number,)), token
    )
    return {"line": line, **(found[0] if found else {"state": "skipped", "message": "nothing"})}


async def _send_all_above(
    server: Server, document: Document, line: int, token: int | str | None
) -> dict[str, Any]:
    number = document.text.line_number(document.text.offset(Place(line, 0)))
    found = await server.send(document, Options(until=number), token)
    texts = [one["text"] for one in found if "text" in one]
    last = found[-1] if found else {"state": "skipped", "message": "no request above"}
    whole = {"text": "\n".join(texts)} if texts else {}
    return {"line": line, **last, **whole, "results": found}


async def _copy_as_curl(
    server: Server, document: Document, line: int, _token: int | str | None
) -> str:
    from orgrest.curl import to_command

    number = document.text.line_number(document.text.offset(Place(line, 0)))
    run = Run(
        document.text.text,
        file=document.name,
        scope=server.scope(document),
        options=Options(
            languages=org.REQUEST_LANGUAGES, lines=(number,), dry_run=True, complete=True
        ),
        plain=document.kind == "http",
    )
    commands: list[str] = []
    try:
        async for outcome in run.outcomes():
            if outcome.reason is not None:
                reason = visible(mask(outcome.reason.reason, outcome.secrets))
                raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
            commands += (to_command(exchange.request) for exchange in outcome.exchanges)
    except OrgrestError as error:
        raise JsonRpcException(error.reason, types.LSPErrorCodes.RequestFailed) from error
    return "\n".join(commands)


_TITLES = {
    "orgrest.send": "Send request",
    "orgrest.sendAllAbove": "Send all above",
    "orgrest.copyAsCurl": "Copy as curl",
}
_COMMANDS = {
    "orgrest.send": _send,
    "orgrest.sendAllAbove": _send_all_above,
    "orgrest.copyAsCurl": _copy_as_curl,
}


# --------------------------------------------------------------------------------------- features

_TRIGGERS = ':{/? &=<+("'
_COMPLETIONS = {
    "method": types.CompletionItemKind.Method,
    "url": types.CompletionItemKind.Value,
    "query": types.CompletionItemKind.Field,
    "version": types.CompletionItemKind.Constant,
    "header": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.Value,
    "parameter": types.CompletionItemKind.Field,
    "variable": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
    "environment": types.CompletionItemKind.Constant,
    "file": types.CompletionItemKind.File,
    "hook": types.CompletionItemKind.Keyword,
}
_SYMBOLS = {
    "block": types.SymbolKind.Module,
    "request": types.SymbolKind.Method,
    "variable": types.SymbolKind.Variable,
}


def _complete(server: Server, params: types.CompletionParams) -> types.CompletionList | None:
    """Offer what can be typed at a place; in the loop, because typing waits for it."""
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    text = document.text
    found = complete(
        text.text,
        text.offset(to_place(params.position)),
        document=document.kind,
        files=functools.partial(entries, server.folder(document)),
        environ=os.environ,
    )
    items = [
        types.CompletionItem(
            one.label,
            kind=_COMPLETIONS[one.kind],
            documentation=one.documentation,
            text_edit=types.TextEdit(to_range(text, one.span), text.with_line_ends(one.insert)),
        )
        for one in found
    ]
    return types.CompletionList(is_incomplete=False, items=items)


async def _hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    names, text = await server.names(document)
    offset = text.offset(to_place(params.position))
    found = await asyncio.to_thread(hover, names.analysis, names, offset)
    if found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found[0])
    return types.Hover(content, to_range(text, found[1]))


async def _definition(
    server: Server, params: types.DefinitionParams
) -> list[types.Location] | None:
    return await _places(server, params, lambda names, one: names.definitions(one))


async def _references(server: Server, params: types.ReferenceParams) -> list[types.Location] | None:
    every = params.context.include_declaration
    return await _places(
        server,
        params,
        lambda names, one: [x for x in names.same(one) if every or x.role == "use"],
    )


async def _places(
    server: Server,
    params: types.DefinitionParams | types.ReferenceParams,
    find: Callable[[Names, Occurrence], list[Occurrence]],
) -> list[types.Location] | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    names, text = await server.names(document)
    one = await asyncio.to_thread(names.at, text.offset(to_place(params.position)))
    if one is None:
        return None
    return [types.Location(document.uri, to_range(text, x.span)) for x in find(names, one)]


async def _prepare_rename(
    server: Server, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    names, text = await server.names(document)
    one = await asyncio.to_thread(names.at, text.offset(to_place(params.position)))
    if one is None:
        return None
    return types.PrepareRenamePlaceholder(to_range(text, one.span), one.name)


async def _rename(server: Server, params: types.RenameParams) -> types.WorkspaceEdit | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    version = document.version
    names, text = await server.names(document)
    one = await asyncio.to_thread(names.at, text.offset(to_place(params.position)))
    if one is None:
        raise JsonRpcException("no name here", types.LSPErrorCodes.RequestFailed)
    try:
        edits = await asyncio.to_thread(names.rename, one, params.new_name)
    except OrgrestError as error:
        raise JsonRpcException(error.reason, types.LSPErrorCodes.RequestFailed) from error
    return server.workspace_edit(document.uri, version, text, edits)


async def _symbols(
    server: Server, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation] | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    analysis, text = await server.analysis(document)
    found = outline.symbols(analysis)
    if server.can("text_document", "document_symbol", "hierarchical_document_symbol_support"):
        return [_symbol(text, one) for one in found]
    flat = [x for one in found for x in (one, *one.children)]
    return [
        types.SymbolInformation(
            types.Location(document.uri, to_range(text, one.span)), one.name, _SYMBOLS[one.kind]
        )
        for one in flat
    ]


def _symbol(text: Text, one: outline.Symbol) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        one.name,
        _SYMBOLS[one.kind],
        to_range(text, one.span),
        to_range(text, one.selection),
        detail=one.detail,
        children=[_symbol(text, child) for child in one.children],
    )


async def _folds(
    server: Server, params: types.FoldingRangeParams
) -> list[types.FoldingRange] | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    analysis, text = await server.analysis(document)
    places = [(text.place(x.start).line, text.place(x.end).line) for x in outline.folds(analysis)]
    return [types.FoldingRange(first, last) for first, last in dict.fromkeys(places)]


async def _tokens(
    server: Server, params: types.SemanticTokensParams | types.SemanticTokensRangeParams
) -> types.SemanticTokens | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    analysis, text = await server.analysis(document)
    within = None
    if isinstance(params, types.SemanticTokensRangeParams):
        start, end = params.range.start, params.range.end
        within = Span(text.offset(to_place(start)), text.offset(to_place(end)))
    data = await asyncio.to_thread(_token_data, analysis, text, within)
    return types.SemanticTokens(data)


def _token_data(analysis: Analysis, text: Text, within: Span | None) -> list[int]:
    """Return tokens as the protocol writes them: each relative to the one before."""
    data: list[int] = []
    line = character = 0
    for token in outline.tokens(analysis, within):
        start, end = text.place(token.start), text.place(token.end)
        if start.line != line:
            character = 0
        length = end.character - start.character
        kind = outline.TOKEN_TYPES.index(token.type)
        data += (start.line - line, start.character - character, length, kind, 0)
        line, character = start.line, start.character
    return data


async def _lenses(server: Server, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    analysis, text = await server.analysis(document)
    found: list[types.CodeLens] = []
    for one in outline.lenses(analysis):
        where = to_range(text, one.span)
        titles = {"orgrest.send": "Send request"}
        if not one.first:
            titles["orgrest.sendAllAbove"] = "Send all above"
        found += (
            types.CodeLens(where, _command(name, title, document.uri, where.start.line))
            for name, title in titles.items()
        )
    return found


def _command(name: str, title: str, uri: str, line: int) -> types.Command:
    return types.Command(title, name, arguments=[{"uri": uri, "line": line}])


async def _actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction] | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    version = document.version
    analysis, text = await server.analysis(document)
    diagnostics = await asyncio.to_thread(lambda: analysis.diagnostics)
    start = text.offset(to_place(params.range.start))
    end = text.offset(to_place(params.range.end))
    wanted = params.context.only or ()
    found: list[types.CodeAction] = []
    for one in diagnostics:
        if one.span.start <= end and start <= one.span.end:
            found += (
                types.CodeAction(
                    fix.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[to_diagnostic(text, one)],
                    is_preferred=not fix.guess,
                    edit=server.workspace_edit(document.uri, version, text, fix.edits),
                )
                for fix in analysis.fixes(one)
            )
    if _has_request(analysis, start):
        line = params.range.start.line
        found += (
            types.CodeAction(
                title,
                kind=types.CodeActionKind.Source,
                command=_command(name, title, document.uri, line),
            )
            for name, title in _TITLES.items()
        )
    return [x for x in found if not wanted or any(_is_kind(x.kind, kind) for kind in wanted)]


def _is_kind(kind: types.CodeActionKind | str | None, wanted: types.CodeActionKind | str) -> bool:
    """Tell whether a kind is the wanted one or one below it: `a.b` is below `a`."""
    given = kind.value if isinstance(kind, types.CodeActionKind) else str(kind)
    above = wanted.value if isinstance(wanted, types.CodeActionKind) else wanted
    return not above or given == above or given.startswith(f"{above}.")


def _has_request(analysis: Analysis, offset: int) -> bool:
    """Tell whether a place belongs to a request that can be sent."""
    document = analysis.document
    if document is None:
        return bool(analysis.parts[0].parsed.requests)
    block = document.block_at(document.line_of(offset) + 1)
    if block is not None and block.call is not None:
        block = document.block_named(block.call.name)
    return block is not None and block.language in org.REQUEST_LANGUAGES


_LEGEND = types.SemanticTokensLegend(token_types=list(outline.TOKEN_TYPES), token_modifiers=[])
_FEATURES: tuple[tuple[str, Any, Any], ...] = (
    (
        types.TEXT_DOCUMENT_COMPLETION,
        _complete,
        types.CompletionOptions(trigger_characters=list(_TRIGGERS)),
    ),
    (types.TEXT_DOCUMENT_HOVER, _hover, None),
    (types.TEXT_DOCUMENT_DEFINITION, _definition, None),
    (types.TEXT_DOCUMENT_REFERENCES, _references, None),
    (types.TEXT_DOCUMENT_RENAME, _rename, types.RenameOptions(prepare_provider=True)),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, _prepare_rename, None),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols, None),
    (types.TEXT_DOCUMENT_FOLDING_RANGE, _folds, None),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _tokens, _LEGEND),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, _tokens, _LEGEND),
    (types.TEXT_DOCUMENT_CODE_LENS, _lenses, None),
    (
        types.TEXT_DOCUMENT_CODE_ACTION,
        _actions,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.Source]),
    ),
)


def make_server() -> Server:
    """Return a server with all its features, to be started."""
    server = Server()
    for name, command in _COMMANDS.items():
        server.command(name)(functools.partial(command, server))
    for method, handler, options in _FEATURES:
        server.feature(method, options)(functools.partial(handler, server))
    return server


# --------------------------------------------------------------------------------------- starting


def _favour_typing() -> None:
    """Let the thread that answers have its turn soon while others compute; seldom look for garbage.

    What analyses keep of a long document makes each full search for garbage a noticeable pause.
    """
    sys.setswitchinterval(0.0005)
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class _OneLine(logging.Formatter):
    """What pygls has to say of a message that it could not handle, without its tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line: the message, cut where it is long, and the error."""
        first, *more = record.getMessage().strip().splitlines() or [""]
        error = record.exc_info[1] if record.exc_info else None
        last = str(error) if error is not None else more[-1] if more else ""
        said = (x if len(x) <= _LONG else f"{x[:_LONG]}..." for x in (first, last) if x)
        return visible(f"orgrest: {': '.join(said)}", one_line=True)


def _log_in_short() -> None:
    """Write what the libraries log to standard error, a line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _clean_up_when_ended(server: Server) -> None:
    """Let the signals that end a process leave nothing behind of this one."""

    def end(number: int, _: object) -> None:
        server.stop()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)  # at once: a thread waits for standard input

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)


def serve_stdio() -> int:
    """Serve the client at standard input and output; give the exit status."""
    server = make_server()
    _favour_typing()
    _log_in_short()
    _clean_up_when_ended(server)
    try:
        server.start_io()
    finally:
        server.stop()
    return 0 if server.protocol.ended_well else 1


def serve_tcp(host: str, port: int, announce: Callable[[int], None]) -> int:
    """Serve the first client that connects; give the exit status.

    `announce` is told the port, which the system chooses where `port` is 0. Raises OSError where
    it cannot be listened on.
    """
    server = make_server()
    _favour_typing()
    _log_in_short()
    _clean_up_when_ended(server)
    try:
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            asyncio.run(_serve_one(server, host, port, announce))
    finally:
        server.stop()
    return 0 if server.protocol.ended_well else 1


async def _serve_one(server: Server, host: str, port: int, announce: Callable[[int], None]) -> None:
    connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    connected = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result((reader, writer))

    listener = await asyncio.start_server(accept, host, port)
    announce(listener.sockets[0].getsockname()[1])
    reader, writer = await connected
    listener.close()
    server.protocol.set_writer(writer)
    with contextlib.suppress(OSError, EOFError, ValueError):  # gone, or it speaks no LSP
        await run_async(
            stop_event=threading.Event(),
            reader=reader,
            protocol=server.protocol,
            error_handler=server.report_server_error,
        )
    writer.close()
