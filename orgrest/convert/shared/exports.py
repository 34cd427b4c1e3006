"""The data to export: a document's requests, and the variables that they refer to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from orgrest import classes
from orgrest.convert.shared.model import Note
from orgrest.http.auth.basic import PasswordCredentials
from orgrest.http.syntax import Assertion

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from collections.abc import Collection as Container

    from orgrest.convert.shared.model import Written
    from orgrest.http.syntax import Script
    from orgrest.model import Request, Response


_Made = TypeVar("_Made")


@classes.frozen
class Variable:
    """A variable that exported requests refer to. `value` is None if it is secret or unknown.

    `environ` is the environment variable that such a value comes from, or "". `late` is true if
    only a run provides the value, for example from a response. If it is a value in a JSON response,
    `response` contains the name of the request and a JSONPath in normalized spelling.
    """

    name: str
    value: str | None
    environ: str = ""
    late: bool = False
    response: tuple[str, str] | None = None


@classes.frozen
class Basic(PasswordCredentials):
    """A user name and password for Basic authentication (RFC 7617).

    They are not encoded, because they may contain references to variables.
    """

    def flow(
        self, request: Request, _host: str, _target: str
    ) -> Generator[Request, Response, str | None]:
        """Yield the request unchanged, since the importing tool encodes the credentials."""
        yield request
        return None

    def curl(self, _host: str) -> list[str]:
        """Return the curl options for these credentials."""
        return ["--user", f"{self.user}:{self.password}"]


Text: TypeAlias = "tuple[str | Variable, ...]"
"""A string with references to variables, split into literal strings and variables."""


@classes.frozen
class ExportedRequest:
    """A request to export. `place` is its place in the document.

    - `kept` maps each marker in the strings of `request` to the variable that it represents.
    - If `follows` is true, redirects are followed.
    - If `keeps_cookies` is true, cookies from responses are stored and sent with later requests.
    - `timeout` is in seconds, or None for the default.
    - `tests` contains the request's scripts and assertions.
    - `lost` contains notes about parts that no export format can express.
    - `needed` contains a note about each late variable that an export may lack.
    - `added` contains the lower-case names of headers that the document does not contain.
    """

    name: str
    place: str
    request: Request
    follows: bool
    timeout: float | None
    kept: Mapping[str, Variable] = classes.field(factory=dict)
    tests: tuple[Script | Assertion, ...] = ()
    lost: tuple[Note, ...] = ()
    added: frozenset[str] = frozenset()
    keeps_cookies: bool = True
    needed: Mapping[Variable, Note] = classes.field(factory=dict)

    def lost_in(self, written: Written) -> Iterator[Note]:
        """Yield a note for each part of this request that an export lacks in any format."""
        yield from self.lost
        yield from (note for each, note in self.needed.items() if each not in written.filled)

    def told(self, test: Script | Assertion) -> Note:
        """Return a note that the export leaves out a script or assertion of this request."""
        if isinstance(test, Assertion):
            return Note(self.place, f"?? {test.text.text}")
        early = test.when in ("before", "request")
        what = "a script that runs before the request" if early else "a script for the response"
        return Note(self.place, what)

    def text(self, value: str) -> Text:
        """Return `value`, a string of this request, with its markers replaced by variables."""
        if not self.kept:
            return (value,) if value else ()
        pieces = re.split(f"({'|'.join(self.kept)})", value)
        return tuple(self.kept.get(piece, piece) for piece in pieces if piece)

    def unprotected(self, tool: str, *safe: str) -> Iterator[Note]:
        """Yield a note for each secret that `tool`, unlike orgrest, sends on to other origins.

        `safe` contains the lower-case names of headers that `tool` does not send to other origins.
        """
        if not self.follows:
            return
        parts = [pair for pair in self.request.headers if pair[0].lower() not in safe]
        secret_parts = [
            name
            for name, text in (*parts, ("the body", self.body() or ""))
            if any(isinstance(each, Variable) and each.value is None for each in self.text(text))
        ]
        for name in dict.fromkeys(secret_parts):
            reason = f"after a redirect, {tool} also sends it to another origin"
            yield Note(self.place, f"the restriction of {name} to one origin: {reason}")

    def late(self, seen: set[Variable]) -> list[Variable]:
        """Return the late variables of this request that are not in `seen`, and add them to it."""
        variables = dict.fromkeys(self.kept.values())
        new = [each for each in variables if each.late and each not in seen]
        seen.update(new)
        return new

    def body(self) -> str | None:
        """Return the body as text, or None if there is no body or it is not text."""
        return None if self.request.body is None else text_of(self.request.body)


def text_of(body: bytes) -> str | None:
    """Return a body as text, or None if it is not text."""
    try:
        return None if b"\0" in body else body.decode()
    except UnicodeDecodeError:
        return None


@classes.frozen
class Export:
    """The requests to export from a document, and the variables that they refer to.

    `title` is the document's name. `failed` says why other requests cannot be exported. `secrets`
    contains strings that must not be shown. `suspects` contains messages about text that looks like
    a block or a header argument but is neither. `beside` names the folder for bodies that are not
    text, or is None if no files can be written.
    """

    title: str
    calls: tuple[ExportedRequest, ...]
    variables: tuple[Variable, ...] = ()
    failed: tuple[str, ...] = ()
    secrets: frozenset[str] = classes.field(default=frozenset(), repr=False)
    suspects: tuple[str, ...] = ()
    beside: str | None = None


def each(
    calls: Iterable[ExportedRequest], write: Callable[[ExportedRequest], _Made], notes: list[Note]
) -> Iterator[_Made]:
    """Yield the result of `write` for each request. If `write` fails, add a note to `notes`."""
    for call in calls:
        try:
            written = write(call)
        except Exception as error:
            notes.append(Note.of_error(call.place, error))
        else:
            yield written


def shell_names(variables: Iterable[Variable]) -> dict[Variable, str]:
    """Return the name of each variable in a shell, and in the environment of a script.

    A value from the environment keeps its name there. Other names are in lower case, because these
    have no meaning to a shell or to other programs.
    """
    variables = list(variables)
    known = {variable: variable.environ for variable in variables if variable.environ}
    return {
        **identifiers(variables, str.lower, ("_", "cookies", "response", *known.values())),
        **known,
    }


def identifiers(
    variables: Iterable[Variable], spelled: Callable[[str], str], reserved: Container[str]
) -> dict[Variable, str]:
    """Return a unique identifier for each variable.

    `spelled` converts a variable's name to an identifier. Identifiers in `reserved` are not used.
    """
    names: dict[Variable, str] = {}
    used = set(reserved)
    for variable in variables:
        base = spelled(re.sub(r"\W+", "_", variable.name, flags=re.ASCII).strip("_")) or "variable"
        base = f"v{base}" if base[0].isdigit() else base
        if base.endswith("_proxy"):  # HTTP clients use such variables as settings
            base += "_"
        while base in used:
            base += "_"
        used.add(base)
        names[variable] = base
    return names
