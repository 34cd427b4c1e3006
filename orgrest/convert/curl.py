"""curl commands, one or a shell script of them.

Assignments become variables, and `$NAME` refers to them. Of a command's here-document comes what
`-d @-` sends. What else a script does is reported: nothing of it runs. Source: POSIX.1-2024, "Shell
Command Language"; the Bash manual.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

import attrs

from orgrest.convert.shared import texts
from orgrest.convert.shared.exports import Call, Export, Text, identifiers
from orgrest.convert.shared.exports import Variable as ExportedVariable
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Folder,
    Inclusion,
    Note,
    Piece,
    Request,
    Written,
)
from orgrest.convert.shared.source import Source
from orgrest.convert.shared.texts import Variable
from orgrest.http.curl import CurlError, Parts, is_cmd, parts, to_command, words_of
from orgrest.http.curl.shell import split

BEGINS: Final = re.compile(r"\s*(?:\$ +)?(?:\S*/)?curl(?:\.exe)?\s")
"""A text that begins with a curl command."""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = rf"\$(?:(?P<name>{_NAME})|\{{(?P<braced>{_NAME})(?::?-(?P<default>[^{{}}$`\"']*))?\}})"
_SUBSTITUTION = r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$[0-9@*#?]"
_PIECE: Final = re.compile(
    rf"""(?P<blank>(?:[ \t\r]|\\\r?\n)+)
    | (?P<newline>\n)
    | '(?P<single>[^']*)'
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | \\(?P<escaped>.)
    | (?P<redirect>\d?(?:>>|>\||>&|<<-?|<&|[<>])[&\d]*)
    | (?P<operator>&&|\|\||;;|\|&|[;&|()])
    | (?P<reference>{_REFERENCE})
    | (?P<substitution>{_SUBSTITUTION})
    | (?P<plain>[^\s'"\\$`;&|()<>]+|\$)""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: Final = ("single", "ansi", "double", "escaped", "reference", "substitution", "plain")
_KINDS: Final = (*_WORDS, "blank", "newline", "redirect", "operator")
_IN_QUOTES: Final = re.compile(
    rf"\\(?P<escape>\r?\n|[$`\"\\])|(?P<reference>{_REFERENCE})|(?P<substitution>{_SUBSTITUTION})"
)
_ASSIGNMENT: Final = re.compile(rf"(?P<name>{_NAME})=(?P<value>.*)", re.DOTALL)
_DECLARES: Final = ("export", "local", "readonly", "declare")
_SILENT: Final = ("set", "fi", "done", "esac", "}", "{")


@attrs.define
class _Statement:
    """A command of a script: its words, its here-document, and what follows it in a pipe."""

    line: int
    words: list[str] = attrs.field(factory=list)
    here: str | None = None
    piped: bool = False
    start: int = 0
    end: int = 0


class _Script:
    """The state of reading a script. Variables within words are marked, and unmarked later."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.at = 0
        self.mark = "ORGRESTxVARIABLEx"
        while self.mark in text:
            self.mark += "x"
        self.names: list[str] = []
        self.substitutions: dict[str, str] = {}
        self.defaults: dict[str, str] = {}

    def statements(self) -> list[_Statement | str]:
        """Return the commands, and the comments between them."""
        found: list[_Statement | str] = []
        now = self._begun()
        open_word = False
        target: list[str] | None = None  # the word behind a redirection, as far as read
        heres: list[tuple[_Statement, str, bool]] = []
        operator, literal = "", False
        while self.at < len(self.text):
            if self.text[self.at] == "#" and not open_word:
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                if not now.words:
                    found.append(self.text[self.at + 1 : end].strip())
                self.at = end
                continue
            match = _PIECE.match(self.text, self.at)
            if match is None:
                line = self.text.count("\n", 0, self.at) + 1
                reason = "a quote or a substitution that begins here never ends"
                raise ConversionError(reason, file=self.name, line=line)
            self.at = match.end()
            kind = next(key for key in _KINDS if match[key] is not None)
            if kind in _WORDS:
                word = self._word(kind, match)
                if target is not None:
                    target.append(word)
                    literal = literal or kind in ("single", "double", "escaped")
                elif not now.piped:
                    if open_word:
                        now.words[-1] += word
                    else:
                        now.words.append(word)
                open_word = True
                continue
            if target and operator.startswith("<<"):
                heres.append((now, "".join(target), literal))
            target = None if target else target
            open_word = False
            if kind == "redirect":
                operator, literal = match[0].lstrip("0123456789"), False
                target = None if operator[-1].isdigit() else []
            elif kind == "operator" and match[0] in ("|", "|&"):
                now.piped, target = True, None
            elif kind in ("newline", "operator"):
                now.end = match.start()
                if now.words:
                    found.append(now)
                for of, word, as_is in heres if kind == "newline" else ():
                    of.here = self._here(word, as_is)
                heres, now, target = ([] if kind == "newline" else heres), self._begun(), None
        now.end = len(self.text)
        return [*found, now] if now.words else found

    def _begun(self) -> _Statement:
        return _Statement(self.text.count("\n", 0, self.at) + 1, start=self.at)

    def _here(self, word: str, literal: bool) -> str:
        """Consume a here-document, and return its text."""
        lines = []
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line, self.at = self.text[self.at : end], end + 1
            if line.strip("\t") == word:
                break
            lines.append(f"{line}\n")
        text = "".join(lines)
        return text if literal else self._quoted(text)

    def _word(self, kind: str, match: re.Match[str]) -> str:
        if kind == "reference":
            return self._reference(match)
        if kind == "substitution":
            return self._substitution(match[0])
        if kind == "double":
            return self._quoted(match["double"])
        if kind == "ansi":
            return split(match[0])[0] if match["ansi"] else ""
        return match[kind]

    def _quoted(self, text: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            if match["escape"] is not None:
                return match["escape"].strip("\r\n")
            return self._reference(match) if match["reference"] else self._substitution(match[0])

        return _IN_QUOTES.sub(replaced, text)

    def _reference(self, match: re.Match[str]) -> str:
        name = match["name"] or match["braced"]
        if match["default"] is not None:
            self.defaults.setdefault(name, match["default"])
        return self._marked(name)

    def _substitution(self, code: str) -> str:
        name = f"shell_{len(self.substitutions) + 1}"
        self.substitutions[name] = code
        return self._marked(name)

    def _marked(self, name: str) -> str:
        if name not in self.names:
            self.names.append(name)
        return f"{self.mark}{self.names.index(name)}z"

    def unmarked(self, text: str) -> str:
        """Return a text with its marks as references to variables."""
        pieces: list[str | Variable] = []
        at = 0
        for match in re.finditer(rf"{self.mark}(\d+)z", text):
            pieces += (text[at : match.start()], Variable(self.names[int(match[1])]))
            at = match.end()
        return texts.written([*pieces, text[at:]])

    def substituted(self, text: str) -> list[str]:
        """Return the names that stand for the output of commands in a text."""
        return [
            self.names[int(one[1])]
            for one in re.finditer(rf"{self.mark}(\d+)z", text)
            if self.names[int(one[1])] in self.substitutions
        ]


def recognizes(source: Source) -> bool:
    """Tell whether a source holds curl commands."""
    return BEGINS.search(source.text) is not None


def read(source: Source) -> Collection:
    """Return the requests of curl commands. Raises ConversionError."""
    text, name = source.text, source.name
    if is_cmd(text):
        return _collection([_of_cmd(text, name)], {}, ())
    script = _Script(text.replace("\r\n", "\n"), name)
    requests: list[Request] = []
    notes: list[Note] = []
    values: dict[str, str] = {}
    again: set[str] = set()
    unknown: set[str] = set()
    comments: list[str] = []
    for one in script.statements():
        if isinstance(one, str):
            comments = [*comments, one] if not one.startswith("!") else comments
            continue
        place = f"{name}:{one.line}"
        words = one.words[1:] if one.words[0] in ("$", "time", *_DECLARES) else one.words
        assignments = [match for word in words if (match := _ASSIGNMENT.fullmatch(word))]
        if words and len(assignments) == len(words):
            for match in assignments:
                if script.substituted(match["value"]):
                    reason = f"{match['name']}: what a command prints is not known here"
                    notes.append(Note(place, reason))
                    unknown.add(match["name"])
                    continue
                again |= {match["name"]} & set(values)
                values[match["name"]] = script.unmarked(match["value"])
        elif words and re.fullmatch(r"(?:.*/)?curl(?:\.exe)?", words[0]):
            found = _request(script, one, words, place, "\n".join(comments))
            requests.append(attrs.evolve(found, definitions=tuple(values.items())))
            comments = []
        elif one.words[0] not in _SILENT:
            shown = " ".join(script.text[one.start : one.end].split())
            notes.append(Note(place, f"not a curl command: {shown[:80]}"))
    if not requests:
        reason = notes[0].reason if notes else "there is no curl command"
        raise ConversionError(reason, file=name)
    for key, value in script.defaults.items():
        values.setdefault(key, texts.literal(value))
    for key in script.names:
        if key not in values and key not in script.substitutions and key not in unknown:
            values[key] = texts.written([Variable(f"$processEnv {key}")])
    requests = [
        attrs.evolve(one, definitions=tuple(pair for pair in one.definitions if pair[0] in again))
        for one in requests
    ]
    first = {key: value for key, value in values.items() if key not in again}
    return _collection(requests, first, notes)


def _collection(
    requests: list[Request], values: dict[str, str], notes: list[Note] | tuple[()]
) -> Collection:
    return Collection(Folder("", tuple(requests), tuple(values.items()), notes=tuple(notes)))


def _of_cmd(text: str, name: str) -> Request:
    """Return the request of a command that is quoted for Windows' cmd."""
    try:
        return _translated(parts(words_of(text)), texts.literal, f"{name}:1", "")
    except CurlError as error:
        raise ConversionError(error.reason, file=name) from None


def _request(
    script: _Script, one: _Statement, words: list[str], place: str, description: str
) -> Request:
    notes = [
        Note(place, f"{script.substitutions[key]} does not run: give {{{{{key}}}}} a value")
        for key in script.substituted(" ".join(words))
    ]
    if one.piped:
        notes.append(Note(place, "what the output is piped into is left out"))
    try:
        if one.here is not None:
            words = [_from_here(word, before, one.here) for before, word in
                     zip(["", *words], words, strict=False)]  # fmt: skip
        given = parts(words)
        if given.url.startswith(f"http://{script.mark}") and given.url not in words:
            given = attrs.evolve(given, url=given.url.removeprefix("http://"))
        found = _translated(given, script.unmarked, place, description)
    except (CurlError, ConversionError) as error:
        shown = script.text[one.start : one.end].strip()
        return Request("", "", description=shown, notes=(Note(place, error.reason),), place=place)
    return attrs.evolve(found, notes=(*notes, *found.notes))


def _from_here(word: str, option: str, here: str) -> str:
    """Return the data of a here-document in the place of `@-`."""
    if word != "@-" or not option.startswith(("-d", "--data", "--json")):
        return word
    return here.replace("\n", "") if option in ("-d", "--data", "--data-ascii") else here


def _translated(given: Parts, text: Callable[[str], str], place: str, description: str) -> Request:
    body: tuple[Piece, ...] | None = None
    if given.file is not None:
        body = (Inclusion(given.file),)
    elif given.text is not None:
        body = _pieces(text(given.text)) if _is_form(given) else (text(given.text),)
    return Request(
        given.method,
        text(given.url),
        headers=tuple((name, text(value)) for name, value in given.headers),
        body=body,
        directives=given.directives,
        description=description,
        notes=tuple(Note(place, one) for one in given.comments),
        place=place,
        shorthand=given.shorthand,
    )


def _is_form(given: Parts) -> bool:
    return any(
        name.lower() == "content-type" and value.lower().startswith("multipart/")
        for name, value in given.headers
    )


def _pieces(text: str) -> tuple[Piece, ...]:
    """Return a form's text as pieces, with the files in it."""
    pieces: list[Piece] = []
    for line in text.split("\n"):
        if match := re.fullmatch(r"< (.+)", line):
            pieces.append(Inclusion(match[1]))
        elif pieces and isinstance(last := pieces[-1], str):
            pieces[-1] = f"{last}\n{line}"
        else:
            pieces.append(line)
    return tuple(pieces)


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


def _command(call: Call, names: dict[ExportedVariable, str]) -> str:
    def quoted(word: str) -> str:
        pieces: Text = call.text(word) or ("",)
        return "".join(
            shlex.quote(one) if isinstance(one, str) else f'"${{{names[one]}}}"' for one in pieces
        )

    limit = () if call.timeout is None else ("--max-time", f"{call.timeout:g}")
    return to_command(call.request, quoted, limit)


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
