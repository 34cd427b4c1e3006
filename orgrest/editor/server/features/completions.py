"""Completion and signature help, answered in the event loop because users notice any delay."""

from __future__ import annotations

import functools
import json
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from orgrest.editor.completion import complete
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.completion.model import Imported
from orgrest.editor.completion.signatures import signature
from orgrest.editor.server.documents import OpenDocument, to_json_range, to_offset
from orgrest.editor.server.fragments import Encoded
from orgrest.editor.used_files import of_definition, of_lines, of_request
from orgrest.files import entries
from orgrest.http.values import Context
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orgrest.editor.completion.model import Candidate, Kind
    from orgrest.editor.positions import Text
    from orgrest.editor.server.server import Server

TRIGGERS = ':{/? &=<+("@$.'
_KINDS: Mapping[str, tuple[Kind, ...]] = {
    "Method": ("method",),
    "Value": ("url", "value", "argument value"),
    "Field": ("query", "parameter", "field", "path"),
    "EnumMember": ("query value", "field value", "expected"),
    "Constant": ("version", "environment", "language"),
    "Property": ("header", "property", "argument", "subject"),
    "Variable": ("variable",),
    "Function": ("function", "script"),
    "File": ("file",),
    "Keyword": ("hook", "directive"),
    "Reference": ("reference", "request"),
    "Operator": ("operator",),
}
_COMPLETIONS: Mapping[Kind, types.CompletionItemKind] = {
    kind: types.CompletionItemKind[name] for name, kinds in _KINDS.items() for kind in kinds
}


def answer(server: Server, document: OpenDocument, params: types.CompletionParams) -> Encoded:
    """Return the candidates for completion at a position."""
    text = document.text
    cursor = Cursor(
        text.text,
        to_offset(text, params.position),
        document.kind,
        files=functools.partial(entries, server.folder(document)),
        environ=os.environ,
        settings=functools.partial(_settings, server, document),
        imported=functools.partial(_imported, server, document),
        described=lambda name: server.described.get(name, Context(server.inputs(document))),
        beside=lambda: server.described.beside(Context(server.inputs(document))),
    )
    return _completion_list(server, text, complete(cursor))


def _completion_list(server: Server, text: Text, candidates: Sequence[Candidate]) -> Encoded:
    """Return candidates as an LSP completion list.

    A range that all candidates replace is sent only once if the client supports this.
    """
    list_ = "text_document", "completion", "completion_list", "item_defaults"
    spans = {offer.span for offer in candidates}
    shared = len(spans) == 1 and "editRange" in (server.capability(*list_) or ())
    answer: dict[str, Any] = {"isIncomplete": False, "items": []}
    ranges = {span: to_json_range(text, span) for span in spans}
    if shared:
        answer["itemDefaults"] = {"editRange": ranges[candidates[0].span]}
    for number, offer in enumerate(candidates):
        item: dict[str, Any] = {
            "label": offer.label,
            "kind": _COMPLETIONS[offer.kind].value,
            "labelDetails": {"description": offer.kind},
            "sortText": f"{number:05}",  # else clients sort by name
        }
        if offer.documentation:
            item["documentation"] = offer.documentation
        new = text.with_line_ends(offer.insert)
        if not shared:
            item["textEdit"] = {"range": ranges[offer.span], "newText": new}
        elif new != offer.label:
            item["textEditText"] = new
        answer["items"].append(item)
    return Encoded(json.dumps(answer))


def _settings(server: Server, document: OpenDocument) -> dict[str, tuple[str, str]]:
    """Return the variables of the chosen environments as (value, source)."""
    try:
        settings = Context(server.inputs(document)).environment.settings()
    except OrgrestError:  # reported at the requests that need it
        return {}
    # `{{$dotenv NAME}}` declares that the values of these files are secret.
    hidden = (".env",) if "$dotenv" in document.text.text else ()
    return {
        name: (
            "***" if setting.secret or setting.file.name.startswith(hidden) else setting.value,
            setting.file.name,
        )
        for name, setting in settings.items()
    }


def _imported(server: Server, document: OpenDocument) -> Imported:
    """Return the names that other files define, and the paths into responses."""
    name = PurePath(document.name).name
    imports = of_lines(document.text.text, name, Context(server.inputs(document)), server.files)
    answered, sent = dict(document.last.answered), dict(document.last.sent)
    if imports is None:
        return Imported(answered=answered, sent=sent)
    variables = {
        name: (definition.value.text, str(of_definition(file, definition)))
        for name, (file, definition) in imports.variables().items()
    }
    requests = {
        request.name: str(of_request(file, request, own=False))
        for file in imports.files[1:]
        for request in file.document.requests
        if request.name is not None
    }
    return Imported(variables, requests, answered, sent)


def signature_help(
    _: Server, document: OpenDocument, params: types.SignatureHelpParams
) -> types.SignatureHelp | None:
    """Return the signature of the function at a position, or None."""
    text = document.text
    function = signature(Cursor(text.text, to_offset(text, params.position), document.kind))
    if function is None:
        return None
    information = types.SignatureInformation(
        function.label,
        documentation=function.documentation,
        parameters=[types.ParameterInformation(span) for span in function.parameters],
    )
    return types.SignatureHelp([information], active_signature=0, active_parameter=function.active)
