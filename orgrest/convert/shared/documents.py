"""Writes a collection as a request file or an Org document.

A body that would be misparsed there is written to a file beside the document. A request that cannot
be written at all is replaced with a comment and reported.
"""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from orgrest import classes
from orgrest.convert.shared import texts
from orgrest.convert.shared.model import Folder, Inclusion, Note, Request, Written
from orgrest.convert.shared.reading_back import wrong_with
from orgrest.convert.shared.scopes import separated
from orgrest.convert.shared.texts import Variable
from orgrest.http.parsing import request_file
from orgrest.model import find_headers, whole
from orgrest.org.text import escape
from orgrest.rendering.sanitize import (
    has_local_variables,
    in_heading,
    with_escaped_links,
    without_links,
    without_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.convert.shared.model import Collection, Piece

_LONGEST: Final = 200  # the maximum number of characters in a name
_SUFFIXES: Final = ("json", "xml")  # the suffixes of the files for bodies
_NOT_IN_FILE: Final = re.compile(r"[^A-Za-z0-9-]+")


def _has_files(request: Request) -> bool:
    return any(isinstance(piece, Inclusion) for piece in request.body or ())


def document_of(
    collection: Collection, *, org: bool, bodies: str | None, elsewhere: Iterable[str] = ()
) -> Written:
    """Return a collection as an Org document if `org` is true, or else as a request file.

    `bodies` names a folder beside the document for body files, or is None if no files can be
    written. `elsewhere` contains the names of the variables in environments.
    """
    writer = (_OrgWriter if org else _Writer)(bodies)
    whole = collection.folder if org else separated(collection.folder, frozenset(elsewhere))
    text = "\n".join(writer.folder(whole, {}, 0)).strip("\n") + "\n"
    if not org and request_file.is_restclient(text):
        text = f"# @title imported\n\n{text}"
    return Written(_safe_start(text), writer.files, tuple(writer.notes))


def _safe_start(text: str) -> str:
    text = whole(text)
    # Emacs would read file variables from a first line that contains -*-.
    return f"# Imported\n{text}" if "-*-" in text.partition("\n")[0] else text


class _Writer:
    """Writes one request file."""

    def __init__(self, bodies: str | None) -> None:
        self.files: dict[str, bytes] = {}
        self.notes: list[Note] = []
        self._bodies = bodies
        self._names: set[str] = set()

    def folder(self, folder: Folder, around: dict[str, str], depth: int) -> Iterator[str]:
        """Yield the lines of a folder. `around` contains the enclosing folders' variables."""
        if folder.name:
            yield f"### {'/ ' * max(depth - 1, 0)}{_line(folder.name)}"
        yield from self._comments(folder.description, folder.notes)
        own = self._own(folder)
        yield from (f"@{name} = {value}" for name, value in own.items())
        if folder.name or own or folder.description or folder.notes:
            yield ""
        known = {**around, **own}
        for item in folder.items:
            if isinstance(item, Request):
                yield from self._safely(item, self._request(item))
                yield from _restored(known, (name for name, _ in item.definitions))
            else:
                yield from self.folder(item, known, depth + 1)
        yield from _restored(around, own)

    def _own(self, folder: Folder) -> dict[str, str]:
        """Return the folder's variables that can be written. Add notes about the others."""
        own: dict[str, str] = {}
        for name, value in folder.variables:
            text, reason = _value(name, value)
            if reason:
                self.notes.append(Note(folder.name or "the collection", reason))
            else:
                own[name] = text
        return own

    def _defined(self, request: Request) -> Request:
        """Return a request with only the variables that can be written. A lost one disables it."""
        kept, notes = [], []
        for name, value in request.definitions:
            text, reason = _value(name, value)
            if reason:
                notes.append(Note(request.place, reason, blocks=True))
            else:
                kept.append((name, text))
        self.notes += notes
        return classes.evolve(request, definitions=tuple(kept), notes=(*request.notes, *notes))

    def _request(self, request: Request) -> Iterator[str]:
        request = self._captured(self._defined(request))
        name = self._unique(_line(request.name) or _title(request))
        head = [f"### {name}"]
        notes = self._comments(request.description, request.notes)
        if _is_off(request) and "disabled" not in request.directives:
            request = classes.evolve(request, directives=(*request.directives, "disabled"))
        lines = self._written(request) if request.method else []
        yield "\n".join([*head, *notes, *lines, ""])

    def _captured(self, request: Request) -> Request:
        """Return a request with a name and, for its captures, definitions that refer to it."""
        if not request.captures:
            return request
        name, number = request.own_name, 1
        while name.lower() in self._names:  # another source may have a request of this name
            number += 1
            name = f"{request.own_name}_{number}"
        self._names.add(name.lower())
        captures = ((own, f"{{{{{name}.{path}}}}}") for own, path, _ in request.captures)
        return classes.evolve(
            request,
            directives=(f"name {name}", *request.directives),
            definitions=(*request.definitions, *captures),
        )

    def _safely(self, request: Request, lines: Iterator[str]) -> Iterator[str]:
        """Yield the `lines`, or a comment if an error occurs."""
        try:
            written = list(lines)
        except Exception as error:
            note = Note.of_error(request.place, error)
            self.notes.append(note)
            written = [f"# {_line(request.place)}: not translated: {_line(note.reason, 400)}", ""]
        yield from written

    def _written(self, request: Request) -> list[str]:
        text = _written(request)
        what, reason = wrong_with(text, request)
        if not what and has_local_variables(text):
            what, reason = "body", "Emacs would interpret it as file-local variables"
        if not what and "\0" in text:
            what, reason = "body", "text cannot contain NUL characters"
        if what == "body" and request.body is not None:
            again = self._with_file(request)
            text = _written(again)
            what, reason = wrong_with(text, again)
            if not what and has_local_variables(text):
                what, reason = "settings", "Emacs would interpret it as file-local variables"
        if what in ("assertions", "scripts"):
            self.notes.append(Note(request.place, reason))
            lost = request.assertions
            less = classes.evolve(request, assertions=(), titles=())
            if what == "scripts":
                lost = (*request.before, *request.after)
                less = classes.evolve(request, before=(), after=())
            return [*self._comments("\n".join(lost), ()), *self._written(less)]
        if not what:
            return text.split("\n")
        if what == "body" and self._bodies is None and not _has_files(request):
            reason += ": with -o FILE it is written to a file beside FILE"
        note = Note(request.place, reason)
        self.notes.append(note)
        return self._comments(text, (note,))

    def _with_file(self, request: Request) -> Request:
        """Return a request with its body in a file, if possible."""
        if self._bodies is None or _has_files(request):
            return request
        pieces = [part for part in request.body or () if not isinstance(part, Inclusion)]
        newline = "\n"
        kind = next(find_headers(request.headers, "Content-Type"), "")
        is_raw = any("\r\n" in str(part) for part in pieces)
        if kind.lower().startswith("multipart/") and not is_raw:
            # Its lines end with CRLF (RFC 2046, 5.1). Unlike a document's text, a file is not
            # converted when it is sent.
            newline = "\r\n"
            pieces = [p if isinstance(p, bytes) else str(p).replace("\n", newline) for p in pieces]
        if any(isinstance(part, bytes) for part in pieces):
            data = newline.encode().join(
                part if isinstance(part, bytes) else part.encode() for part in pieces
            )
            return classes.evolve(request, body=(Inclusion(self._file(request, data)),))
        text = newline.join(str(part) for part in pieces)
        plain = texts.plain(text)
        data = (text if plain is None else plain).encode("utf-8", "surrogateescape")
        changed = classes.evolve(request, body=(Inclusion(self._file(request, data)),))
        if plain is not None:
            return changed
        return classes.evolve(changed, directives=(*request.directives, "inject-variables"))

    def _file(self, request: Request, data: bytes) -> str:
        stem = (
            _NOT_IN_FILE.sub("-", request.name or _title(request))[:40].strip("-").lower() or "body"
        )
        kinds = " ".join(find_headers(request.headers, "Content-Type"))
        suffix = next((kind for kind in _SUFFIXES if kind in kinds), "body")
        path, number = f"{self._bodies}/{stem}.{suffix}", 1
        while path in self.files and self.files[path] != data:
            number += 1
            path = f"{self._bodies}/{stem}-{number}.{suffix}"
        self.files[path] = data
        return path

    def _comments(self, description: str, notes: Iterable[Note]) -> list[str]:
        """Return comment lines with a description and notes."""
        comments = []
        for line in description.replace("\r", "\n").split("\n") if description.strip() else ():
            shown = "".join(c if c.isprintable() or c == "\t" else " " for c in line).rstrip()
            comments.append(f"# {_unmarked(self._comment(shown))}".rstrip())
        return [
            *comments,
            *(f"# not translated: {self._comment(_line(note.reason, 400))}" for note in notes),
        ]

    def _comment(self, line: str) -> str:
        return without_settings(line)

    def _unique(self, name: str) -> str:
        unique, number = name, 1
        while unique.lower() in self._names:  # Org ignores case in names
            number += 1
            unique = f"{name} ({number})"
        self._names.add(unique.lower())
        return unique


class _OrgWriter(_Writer):
    """Writes one Org document."""

    def _comment(self, line: str) -> str:
        return without_links(without_settings(line))

    def _captured(self, request: Request) -> Request:
        """Return a request with a script for its captures: blocks cannot refer to other blocks."""
        if not request.captures:
            return request
        lines = [
            f"pm.environment.set({json.dumps(name)}, {expression});"
            for name, _, expression in request.captures
        ]
        return classes.evolve(request, after=(*request.after, "\n".join(lines)))

    def folder(self, folder: Folder, around: dict[str, str], depth: int) -> Iterator[str]:
        own = self._own(folder)
        variables = " ".join(f"{name}={_quoted(value)}" for name, value in own.items())
        if depth == 0:
            if folder.name:
                yield f"#+title: {in_heading(without_links(_line(folder.name)))}"
            if variables:
                yield f"#+property: header-args :var {variables}"
        else:
            title = without_links(_line(folder.name)).rstrip(":")
            yield f"{'*' * depth} {in_heading(title) or 'Folder'}"
            if variables:
                yield f":PROPERTIES:\n:header-args+: :var {variables}\n:END:"
        yield from self._comments(folder.description, folder.notes)
        yield ""
        for item in folder.items:
            if isinstance(item, Request):
                yield from self._safely(item, self._block(item, depth + 1))
            else:
                yield from self.folder(item, {**around, **own}, depth + 1)

    def _block(self, request: Request, depth: int) -> Iterator[str]:
        request = self._captured(self._defined(request))
        name = self._unique(without_links(_line(request.name)) or _title(request))
        own = next((d[5:] for d in request.directives if d.startswith("name ")), name)
        self._names.add(own.lower())
        if request.method:  # blocks with a directive are never read as restclient's
            directives = tuple(
                d for d in request.directives if d != "disabled" and not d.startswith("name ")
            )
            directives = directives or (f"title {name}",)
            lines = self._written(classes.evolve(request, directives=directives))
        else:
            lines = []
        yield f"{'*' * depth} {in_heading(name.rstrip(':'))}"
        yield from self._comments(request.description, request.notes)
        if lines:
            body = escape("\n".join(lines))
            is_comment = all(line.startswith("#") for line in lines)  # it could not be written
            off = " :eval no" if is_comment or _is_off(request) else ""
            yield f"#+NAME: {without_links(own)}\n#+begin_src http{off}\n{body}\n#+end_src"
        yield ""


def _value(name: str, value: str) -> tuple[str, str]:
    """Return a variable's value as it is written in a document, and why it cannot be, or ""."""
    if "\n" in value or "\r" in value or value != value.strip(" \t"):
        pieces = texts.pieces(value)
        if any(isinstance(piece, str) and "{{" in piece for piece in pieces):
            reason = "and spans several lines, or starts or ends with a space or tab"
            return "", f"the value of {name} contains {{{{, {reason}"
        value = texts.written(map(_expression, pieces))
    if has_local_variables(value):
        return "", f"Emacs would interpret the value of {name} as file-local variables"
    return value, ""


def _expression(piece: str | Variable) -> Variable:
    """Return an expression for a piece of a value, so that its blanks and lines are kept."""
    if isinstance(piece, Variable):
        return piece
    string = json.dumps(piece, ensure_ascii=False)
    return Variable(string.replace("{", r"\u007b").replace("}", r"\u007d"))


def _restored(known: dict[str, str], names: Iterable[str]) -> Iterator[str]:
    """Yield lines that reset variables to their `known` values."""
    back = [f"@{name} = {known[name]}" for name in names if name in known]
    if back:
        yield from ("###", *back, "")


def _written(request: Request) -> str:
    """Return the text of a request without its title."""
    lines = [f"@{name} = {value}" for name, value in request.definitions]
    lines += [f"# @{directive}" for directive in request.directives]
    for script in request.before:
        lines += ["< {%", script, "%}"]
    lines.append(f"{request.method} {request.url}")
    lines += [f"{name}: {value}".rstrip(" ") for name, value in request.headers]
    if request.body is not None:
        lines += ["", "\n".join(map(_piece, request.body))]
    if request.assertions or request.after:
        lines.append("")
    for assertion, title in zip_longest(request.assertions, request.titles, fillvalue=""):
        title = _line(title)
        lines += [*([f"# {_unmarked(title)}"] if title else []), f"?? {assertion}"]
    for script in request.after:
        lines += ["> {%", script, "%}"]
    return "\n".join(lines)


def _is_off(request: Request) -> bool:
    return "disabled" in request.directives or any(note.blocks for note in request.notes)


def _piece(piece: Piece) -> str:
    if isinstance(piece, bytes):
        return f"({len(piece)} bytes)"  # only in a comment: bytes need a file
    return f"< {piece.path}" if isinstance(piece, Inclusion) else piece


def _unmarked(text: str) -> str:
    # Without the dash, "# @name" would be a directive, and "# ?? ..." an assertion.
    return f"- {text}" if re.match(r"[#/\s]*[@+#?]", text) else text


def _line(text: str, longest: int = _LONGEST) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text)
    return without_settings(" ".join(shown.split())[:longest].rstrip())


def _title(request: Request) -> str:
    """Return a name for a request that has none."""
    if not request.method:
        return "not translated"
    return _line(re.sub(r"\{\{|\}\}", "", texts.title(request.method, request.url)), 80)


def _quoted(value: str) -> str:
    """Quote a value for Org's header argument `:var`."""
    escaped = with_escaped_links(value.replace("\\", "\\\\").replace('"', '\\"'))
    # Org takes the quote in `\\"` for an escaped one. In Lisp, a backslash and a space are ignored.
    return f'"{escaped}\\ "' if value.endswith("\\") else f'"{escaped}"'
