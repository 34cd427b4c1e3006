"""Signature help for function calls: the function being called, and the argument being typed."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.parsing import grammar
from orgrest.http.values.expressions import FUNCTIONS

if TYPE_CHECKING:
    from orgrest.editor.completion.cursor import Cursor

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|(?P<name>[A-Za-z_]\w*)[ \t]*\(|(?P<mark>[(),])')


@classes.frozen
class Signature:
    """The usage of a function, its description, and its parameters.

    `parameters` are spans in `label`, the usage. `active` is the index of the argument being typed.
    """

    label: str
    documentation: str
    parameters: tuple[tuple[int, int], ...]
    active: int


def signature(cursor: Cursor) -> Signature | None:
    """Return the function being called at a cursor in a variable's value, or None."""
    if cursor.region is None and cursor.document == "org":
        return None
    line = grammar.DEFINITION.fullmatch(cursor.before.lstrip(" \t\r"))
    if line is None or line["operator"] != ":=" or cursor.state.part != "start":
        return None
    calls: list[tuple[str, int]] = []
    for token in _TOKEN.finditer(line["value"]):
        if token["name"] or token["mark"] == "(":
            calls.append((token["name"] or "", 0))
        elif token["mark"] == ")" and calls:
            calls.pop()
        elif token["mark"] == "," and calls:
            calls[-1] = (calls[-1][0], calls[-1][1] + 1)
    name, active = calls[-1] if calls else ("", 0)
    function = FUNCTIONS.get(name)
    if function is None:
        return None
    written = function.usage.removesuffix(")").partition("(")[2]
    parameters = [written] if written else []
    parameters += ["..."] * (function.most - len(parameters))
    label = f"{name}({', '.join(parameters)})"
    starts = itertools.accumulate(
        (len(parameter) + 2 for parameter in parameters), initial=len(name) + 1
    )
    spans = tuple(
        (at, at + len(parameter)) for at, parameter in zip(starts, parameters, strict=False)
    )
    return Signature(label, function.description, spans, active)
