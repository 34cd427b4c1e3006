"""Evaluates XPaths from documents. This runs in the sandbox, as it can take exponential time.

The other tools evaluate XPath 1.0. In XPath 2.0's compatibility mode, most of its expressions keep
their meaning: a function of a node gets the first match, and `<` compares numbers. Expressions that
this mode refuses, such as a comparison of dates, have the meaning of XPath 2.0.
"""

from __future__ import annotations

from decimal import Decimal
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import elementpath

from orgrest.model import OrgrestError


def find(path: str, text: str, prefixes: dict[str, str]) -> list[str]:
    """Return the text of each match of an XPath in an XML document, in order.

    `prefixes` maps namespace prefixes to namespaces, in addition to the declarations in the
    document. Raises OrgrestError if the path is malformed, or if the document is not valid XML.
    """
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  (Expat bounds entities, and loads none)
        events = ElementTree.iterparse(StringIO(text), events=["start-ns"])  # noqa: S314
        namespaces = {**{str(prefix): str(uri) for _, (prefix, uri) in events}, **prefixes}
    except (ElementTree.ParseError, RecursionError):
        raise OrgrestError(f"cannot look up {path}: the body is not valid XML") from None
    try:
        try:
            selected = elementpath.select(root, path, namespaces, compatibility_mode=True)
        except elementpath.ElementPathError:
            selected = elementpath.select(root, path, namespaces)
    except (elementpath.ElementPathError, RecursionError) as error:
        raise OrgrestError(f"{path} cannot be evaluated: {error}") from None
    items: list[Any] = selected if isinstance(selected, list) else [selected]
    return [_text(item) for item in items if item is not None]


def _text(item: Any) -> str:
    if hasattr(item, "itertext"):
        return "".join(item.itertext())
    if isinstance(item, float | Decimal):  # as XPath 1.0 writes numbers: 7, NaN, without exponents
        number = f"{Decimal(str(item)):f}"
        return number.rstrip("0").removesuffix(".") if "." in number else number
    return str(item).lower() if isinstance(item, bool) else str(item)
