"""The request `orgrest/session`: the cookies and the variables of an open document.

The server returns no secrets, except in the `state` that a client keeps so that it can restore the
session if the server ends unexpectedly.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams

from orgrest.http.transport.cookies import Cookie
from orgrest.http.values.global_variables import GlobalVariables, text_of
from orgrest.model import OrgrestError
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from orgrest.editor.server.documents import OpenDocument
    from orgrest.editor.server.server import Server


def session(server: Server, params: Any) -> dict[str, Any]:
    """Return the cookies of a document, and the variables that responses and scripts have set.

    If `clear` is `cookies` or `variables`, these are removed first. If `state` is true, the answer
    also contains a `state`. A later request with this `state` restores the cookies and variables.
    """
    document = server.document_of(params)
    clear, state = getattr(params, "clear", None), getattr(params, "state", None)
    if isinstance(state, str):
        _restore(document, state)
        server.look_soon(document, 0)
    if clear == "cookies":
        document.cookies.clear()
    elif clear == "variables":
        document.captured = {}
        document.globals = GlobalVariables()
        server.look_soon(document, 0)
    elif clear is not None:
        raise JsonRpcInvalidParams("`clear` must be `cookies` or `variables`")
    return _shown(document) | ({"state": _state(document)} if state is True else {})


def _shown(document: OpenDocument) -> dict[str, Any]:
    cookies = [
        {
            "name": cookie.name,
            "domain": cookie.scope,
            "path": cookie.path,
            "expires": _time(cookie.expires),
        }
        for cookie in document.cookies
    ]
    secrets = document.secrets | document.globals.secrets()
    set_by_scripts = {name: text_of(value) for name, value in document.globals.values.items()}
    variables = [
        {"name": name, "value": visible(mask(value, secrets))}
        for name, value in {**document.captured, **set_by_scripts}.items()
    ]
    return {"cookies": cookies, "variables": variables}


def _time(seconds: int) -> str | None:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else None


def _state(document: OpenDocument) -> str:
    state = {
        "cookies": [{**vars(cookie)} for cookie in document.cookies],
        "captured": document.captured,
        "globals": document.globals.written().decode(),
        "secrets": sorted(document.secrets),
    }
    return json.dumps(state)


def _restore(document: OpenDocument, state: str) -> None:
    """Add cookies and variables to a document from `state`, a result of `_state`.

    Raises JsonRpcInvalidParams if the state is malformed.
    """
    try:
        restored = json.loads(state)
        document.cookies.add(Cookie(**cookie) for cookie in restored["cookies"])
        document.captured = {**restored["captured"], **document.captured}
        document.secrets |= frozenset(restored["secrets"])
        if not document.globals.values:
            document.globals = GlobalVariables.read(restored["globals"].encode(), "state")
    except (OrgrestError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise JsonRpcInvalidParams("expected a state that `orgrest/session` returned") from error
