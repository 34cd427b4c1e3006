"""XPaths of documents; they run in `sandbox`, since they can take exponential time."""

from __future__ import annotations

from io import StringIO
from typing import Any
from xml.etree import ElementTree

import elementpath

from orgrest.model import OrgrestError


def find(path: str, text: str) -> list[str]:
    """Return the texts of all matches of an XPath in XML, in order.

    Raises OrgrestError if the path is malformed, or the text is not XML.
    """
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  (Expat bounds entities, and loads none)
        events = ElementTree.iterparse(StringIO(text), events=["start-ns"])  # noqa: S314
        namespaces = {str(prefix): str(uri) for _, (prefix, uri) in events}
    except (ElementTree.ParseError, RecursionError):
        raise OrgrestError(f"the body is no XML, in which {path} could be looked for") from None
    try:
        found = elementpath.select(root, path, namespaces=namespaces)
    except (elementpath.ElementPathError, RecursionError) as error:
        raise OrgrestError(f"{path} is no XPath: {error}") from None
    every: list[Any] = found if isinstance(found, list) else [found]
    return [_shown(one) for one in every if one is not None]


def _shown(item: Any) -> str:
    """Return an item of an XPath result as text: for an element, all the text in it."""
    if hasattr(item, "itertext"):
        return "".join(item.itertext())
    return str(item).lower() if isinstance(item, bool) else str(item)
