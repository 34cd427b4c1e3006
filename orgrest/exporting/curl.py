"""Requests as curl commands: a script for a POSIX shell."""

from __future__ import annotations

import shlex

from orgrest.exporting.model import Call, Export, Text, Variable
from orgrest.exporting.names import identifiers
from orgrest.http.curl import CurlError, to_command
from orgrest.importing.model import Note
from orgrest.importing.writing import Written


def write(export: Export, *, beside: str | None) -> Written:
    """Write a script, or a single command alone; `beside` is not needed."""
    del beside
    # In lower case a name means nothing to a shell, and is no setting of another program's.
    names = identifiers(export.variables, str.lower, ("_",))
    lines = []
    for one in export.variables:
        name = names[one]
        lines.append(
            f': "${{{name}:?the value of {one.name}}}"'
            if one.value is None
            else f"{name}={shlex.quote(one.value)}"
        )
    notes = [call.told(one) for call in export.calls for one in call.tests]
    for call in export.calls:
        try:
            command = _command(call, names)
        except CurlError as error:
            notes.append(Note(call.place, error.reason))
            continue
        lines += ["", f"# {_line(call.name)}", command]
    if lines[:1] == [""] and len(lines) == 3:  # to be pasted
        lines = lines[2:]
    elif lines:
        lines = ["#!/bin/sh", *lines]
    return Written("".join(f"{line}\n" for line in lines), {}, tuple(notes))


def _command(call: Call, names: dict[Variable, str]) -> str:
    def quoted(word: str) -> str:
        pieces: Text = call.text(word) or ("",)
        return "".join(
            shlex.quote(one) if isinstance(one, str) else f'"${{{names[one]}}}"' for one in pieces
        )

    limit = () if call.timeout is None else ("--max-time", f"{call.timeout:g}")
    return to_command(call.request, quoted, limit)


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
