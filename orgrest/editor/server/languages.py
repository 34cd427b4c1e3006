"""The editors' name for the language of a response's body."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from orgrest.rendering.content import media_type

if TYPE_CHECKING:
    from orgrest.model import Response
    from orgrest.rendering.results import Rendered

_NAMES = {"nxml": "xml", "text": "plaintext"}


def editor_language(rendered: Rendered, response: Response) -> str:
    """Return the LSP identifier of the language of a rendered body.

    Org calls JSON, JavaScript and what has no body `js`; an editor checks what it is told. So JSON
    is what is one JSON value, and JavaScript what its type says is, both only if they are whole.
    """
    if rendered.language != "js":
        return _NAMES.get(rendered.language, rendered.language)
    if rendered.is_cut or not rendered.body:
        return "plaintext"
    if media_type(response).endswith("javascript"):
        return "javascript"
    try:
        json.loads(rendered.body)
    except (ValueError, RecursionError):
        return "plaintext"
    return "json"
