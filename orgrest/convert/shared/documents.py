"""Writes a collection as a request file or an Org document.

Bodies that request files cannot express are written to files beside the document, since they would
be parsed as something else. A request that cannot be written at all becomes a comment, and is
reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from orgrest.convert.shared import texts
from orgrest.convert.shared.model import Folder, Inclusion, Note, Request, Written
from orgrest.convert.shared.reading_back import wrong_with
from orgrest.http.parsing import request_file
from orgrest.model import explained
from orgrest.org.text import escape
from orgrest.rendering.sanitize import (
    has_local_variables,
    in_heading,
    without_links,
    without_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.convert.shared.model import Collection

_LONGEST: Final = 200  # characters of a name
_SUFFIXES: Final = ("json", "xml")  # of the files of bodies
_NOT_IN_FILE: Final = re.compile(r"[^A-Za-z0-9-]+")


def _has_files(request: Request) -> bool:
    return any(isinstance(one, Inclusion) for one in request.body or ())


def request_file_of(
    collection: Collection, *, bodies: str | None, elsewhere: Iterable[str] = ()
) -> Written:
    """Write a collection as a request file.

    `bodies` is the folder for the files of bodies, beside the document; None if files cannot be
    written. `elsewhere` are the names of variables that are not written into the document.
    """
    writer = _Writer(bodies, frozenset(elsewhere))
    text = "\n".join(writer.folder(collection.folder, {}, 0)).strip("\n") + "\n"
    if request_file.is_restclient(text):
        text = f"# @title imported\n\n{text}"
    return Written(_safe_start(text), writer.files, tuple(writer.notes))


def org_of(collection: Collection, *, bodies: str | None, elsewhere: Iterable[str] = ()) -> Written:
    """Write a collection as an Org document; see `request_file_of`."""
    writer = _OrgWriter(bodies, frozenset(elsewhere))
    text = "\n".join(writer.folder(collection.folder, {}, 0)).strip("\n") + "\n"
    return Written(_safe_start(text), writer.files, tuple(writer.notes))


def _safe_start(text: str) -> str:
    """Return a document without settings for Emacs in its first line."""
    return f"# Imported\n{text}" if "-*-" in text.partition("\n")[0] else text


class _Writer:
    """The state of writing a request file."""

    def __init__(self, bodies: str | None, elsewhere: frozenset[str]) -> None:
        self.files: dict[str, bytes] = {}
        self.notes: list[Note] = []
        self._bodies = bodies
        self._elsewhere = elsewhere
        self._names: set[str] = set()

    def folder(self, folder: Folder, around: dict[str, str], depth: int) -> Iterator[str]:
        """Yield the lines of a folder; `around` are the variables in effect outside it."""
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
                yield from self._request(item)
                yield from _restored(known, (name for name, _ in item.definitions))
            else:
                yield from self.folder(item, known, depth + 1)
        yield from _restored(around, own)

    def _own(self, folder: Folder) -> dict[str, str]:
        """Return the variables of a folder that fit on a line."""
        own: dict[str, str] = {}
        for name, value in folder.variables:
            if name in self._elsewhere:
                continue
            if "\n" in value or "\r" in value or value != value.strip(" \t"):
                place = folder.name or "the collection"
                self.notes.append(
                    Note(place, f"the value of {name} has several lines or blanks around it")
                )
                continue
            if has_local_variables(value):
                place = folder.name or "the collection"
                self.notes.append(Note(place, f"Emacs would read settings in the value of {name}"))
                continue
            own[name] = value
        return own

    def _request(self, request: Request) -> Iterator[str]:
        name = self._unique(_line(request.name) or _title(request))
        head = [f"### {name}"]
        notes = self._comments(request.description, request.notes)
        lines = self._lines(request)
        yield "\n".join([*head, *notes, *lines, ""])

    def _lines(self, request: Request) -> list[str]:
        """Return the lines of a request, or of a comment if it cannot be written."""
        try:
            return self._written(request) if request.method else []
        except Exception as error:
            note = Note(request.place, explained(error).reason)
            self.notes.append(note)
            return self._comments("", (note,))

    def _written(self, request: Request) -> list[str]:
        if any(one.blocks for one in request.notes) and "disabled" not in request.directives:
            request = attrs.evolve(request, directives=(*request.directives, "disabled"))
        if request.body is not None and any(isinstance(one, bytes) for one in request.body):
            request = self._with_file(request)
        text = _written(request)
        what, reason = wrong_with(text, request)
        if not what and has_local_variables(text):
            what, reason = "body", "Emacs would read settings in it"
        if not what and "\0" in text:
            what, reason = "body", "a document with a NUL character is not text"
        if what == "body" and request.body is not None:
            again = self._with_file(request)
            text = _written(again)
            what, reason = wrong_with(text, again)
            if not what and has_local_variables(text):
                what, reason = "settings", "Emacs would read settings in it"
        if what in ("assertions", "scripts"):
            self.notes.append(Note(request.place, reason))
            lost = request.assertions
            less = attrs.evolve(request, assertions=())
            if what == "scripts":
                lost = (*request.before, *request.after)
                less = attrs.evolve(request, before=(), after=())
            return [*self._comments("\n".join(lost), ()), *self._written(less)]
        if not what:
            return text.split("\n")
        if what == "body" and self._bodies is None and not _has_files(request):
            reason += ": with -o FILE it goes into a file beside it"
        note = Note(request.place, reason)
        self.notes.append(note)
        return self._comments(text, (note,))

    def _with_file(self, request: Request) -> Request:
        """Return a request with its body in a file, if files can be written."""
        if self._bodies is None or _has_files(request):
            return request
        pieces = [one for one in request.body or () if not isinstance(one, Inclusion)]
        if any(isinstance(one, bytes) for one in pieces):
            data = b"\n".join(one if isinstance(one, bytes) else one.encode() for one in pieces)
            return attrs.evolve(request, body=(Inclusion(self._file(request, data)),))
        text = "\n".join(str(one) for one in pieces)
        plain = texts.plain(text)
        data = (text if plain is None else plain).encode("utf-8", "surrogateescape")
        found = attrs.evolve(request, body=(Inclusion(self._file(request, data)),))
        if plain is not None:
            return found
        return attrs.evolve(found, directives=(*request.directives, "inject-variables"))

    def _file(self, request: Request, data: bytes) -> str:
        stem = (
            _NOT_IN_FILE.sub("-", request.name or _title(request))[:40].strip("-").lower() or "body"
        )
        kinds = " ".join(value for key, value in request.headers if key.lower() == "content-type")
        suffix = next((one for one in _SUFFIXES if one in kinds), "body")
        path, number = f"{self._bodies}/{stem}.{suffix}", 1
        while path in self.files and self.files[path] != data:
            number += 1
            path = f"{self._bodies}/{stem}-{number}.{suffix}"
        self.files[path] = data
        return path

    def _comments(self, description: str, notes: Iterable[Note]) -> list[str]:
        """Return the description, and notes about untranslated parts, as lines of comments."""
        found = []
        for line in description.replace("\r", "\n").split("\n") if description.strip() else ():
            shown = "".join(c if c.isprintable() or c == "\t" else " " for c in line).rstrip()
            found.append(f"# {_unmarked(self._comment(shown))}".rstrip())
        return [
            *found,
            *(f"# not translated: {self._comment(_line(note.reason, 400))}" for note in notes),
        ]

    def _comment(self, line: str) -> str:
        return without_settings(line)

    def _unique(self, name: str) -> str:
        found, number = name, 1
        while found in self._names:
            number += 1
            found = f"{name} ({number})"
        self._names.add(found)
        return found


class _OrgWriter(_Writer):
    """The state of writing an Org document."""

    def _comment(self, line: str) -> str:
        return without_links(without_settings(line))

    def folder(self, folder: Folder, around: dict[str, str], depth: int) -> Iterator[str]:
        """Yield the lines of a folder: a heading, and the lines of its content."""
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
                yield from self._block(item, depth + 1)
            else:
                yield from self.folder(item, {**around, **own}, depth + 1)

    def _block(self, request: Request, depth: int) -> Iterator[str]:
        name = self._unique(without_links(_line(request.name)) or _title(request))
        if request.method:  # a block with a directive is never treated as restclient's
            own = any(one.startswith("name ") for one in request.directives)
            directives = (*([] if own else [f"name {name}"]), *request.directives)
            lines = self._lines(attrs.evolve(request, directives=directives))
        else:
            lines = []
        yield f"{'*' * depth} {in_heading(name.rstrip(':'))}"
        yield from self._comments(request.description, request.notes)
        if lines:
            body = escape("\n".join(lines))
            yield f"#+begin_src http\n{body}\n#+end_src"
        yield ""


def _restored(known: dict[str, str], names: Iterable[str]) -> Iterator[str]:
    """Yield the lines that restore the values from the enclosing folder."""
    back = [f"@{name} = {known[name]}" for name in names if name in known]
    if back:
        yield from ("###", *back, "")


def _written(request: Request) -> str:
    """Return the lines of a request, without its name."""
    lines = [f"@{name} = {value}" for name, value in request.definitions]
    lines += [f"# @{one}" for one in request.directives]
    for script in request.before:
        lines += ["< {%", script, "%}"]
    lines.append(f"{request.method} {request.url}")
    lines += [f"{name}: {value}".rstrip(" ") for name, value in request.headers]
    if request.body is not None:
        body = [f"< {one.path}" if isinstance(one, Inclusion) else str(one) for one in request.body]
        lines += ["", "\n".join(body)]
    if request.assertions or request.after:
        lines.append("")
    for one in request.assertions:
        title = _line(request.titles.get(one, ""))
        lines += [*([f"# {_unmarked(title)}"] if title else []), f"?? {one}"]
    for script in request.after:
        lines += ["> {%", script, "%}"]
    return "\n".join(lines)


def _unmarked(text: str) -> str:
    """Return the text of a comment that cannot be read as a directive, keyword or assertion."""
    return f"- {text}" if re.match(r"[#/\s]*[@+#?]", text) else text


def _line(text: str, longest: int = _LONGEST) -> str:
    """Return a text as a part of one line."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return without_settings(" ".join(shown.split())[:longest].rstrip())


def _title(request: Request) -> str:
    """Return a name for a nameless request: its method and the URL's path."""
    if not request.method:
        return "not translated"
    path = re.sub(r"^[a-z]+://[^/?#]*|^\{\{[^{}]*\}\}", "", request.url).partition("?")[0]
    return _line(re.sub(r"\{\{|\}\}", "", f"{request.method} {path or '/'}"), 80)


def _quoted(value: str) -> str:
    r"""Return a value of `:var`, as Org reads it: a string in double quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
