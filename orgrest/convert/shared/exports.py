"""Exports: completed requests, and the variables that remain in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import attrs

from orgrest.convert.shared.model import Note
from orgrest.http.syntax import Assertion
from orgrest.model import Credentials, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from collections.abc import Collection as Container

    from orgrest.http.syntax import Script
    from orgrest.model import Request, Response


_Made = TypeVar("_Made")


@attrs.frozen
class Variable:
    """A variable that remains: its `value` is None if it is a secret, or not known."""

    name: str
    value: str | None


@attrs.frozen
class Basic(Credentials):
    """A user and a password that refer to variables, and so cannot be encoded yet (RFC 7617)."""

    user: str
    password: str = attrs.field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password."""
        return (self.password,)

    def flow(
        self, request: Request, _host: str, _target: str
    ) -> Generator[Request, Response, str | None]:
        """Yield the request unchanged: the other tool encodes the credentials."""
        yield request
        return None

    def curl(self, _host: str) -> list[str]:
        """Return curl's options."""
        return ["--user", f"{self.user}:{self.password}"]


Text: TypeAlias = "tuple[str | Variable, ...]"
"""A text with references to variables."""


@attrs.frozen
class Call:
    """A request to write; `place` is its place in the document.

    In the texts of `request`, a key of `kept` marks its variable. `follows`: whether it follows
    redirects; `timeout` is in seconds, or None. `tests` are its scripts and assertions, and `lost`
    are the parts that no format can express. `added` are the names of headers that it does not have
    as written.
    """

    name: str
    place: str
    request: Request
    follows: bool
    timeout: float | None
    kept: Mapping[str, Variable] = attrs.field(factory=dict)
    tests: tuple[Script | Assertion, ...] = ()
    lost: tuple[Note, ...] = ()
    added: frozenset[str] = frozenset()

    def told(self, test: Script | Assertion) -> Note:
        """Return the note on one of its tests that is left out."""
        if isinstance(test, Assertion):
            return Note(self.place, f"?? {test.text.text}")
        early = test.when in ("before", "request")
        what = "a script that runs before it is sent" if early else "a script for its response"
        return Note(self.place, what)

    def text(self, given: str) -> Text:
        """Return a text of the request with its variables."""
        if not self.kept:
            return (given,) if given else ()
        pieces = re.split(f"({'|'.join(self.kept)})", given)
        return tuple(self.kept.get(one, one) for one in pieces if one)

    def body(self) -> str | None:
        """Return the body as text, None for a missing body or one that is not text."""
        if self.request.body is None or b"\0" in self.request.body:
            return None
        try:
            return self.request.body.decode()
        except UnicodeDecodeError:
            return None


@attrs.frozen
class Export:
    """The requests of a document called `title`, and the variables that remain in them.

    `failed` lists the requests that cannot be completed, with reasons. `secrets` must not be shown.
    """

    title: str
    calls: tuple[Call, ...]
    variables: tuple[Variable, ...] = ()
    failed: tuple[str, ...] = ()
    secrets: frozenset[str] = attrs.field(default=frozenset(), repr=False)


def each(
    calls: Iterable[Call], write: Callable[[Call], _Made], notes: list[Note]
) -> Iterator[_Made]:
    """Yield the result of `write` for each call; reasons for failures are added to the notes."""
    for call in calls:
        try:
            made = write(call)
        except Exception as error:
            notes.append(Note(call.place, explained(error).reason))
        else:
            yield made


def identifiers(
    variables: Iterable[Variable], spelled: Callable[[str], str], taken: Container[str]
) -> dict[Variable, str]:
    """Return an identifier for each variable, none of which is `taken`."""
    found: dict[Variable, str] = {}
    used = set(taken)
    for one in variables:
        wanted = spelled(re.sub(r"\W+", "_", one.name, flags=re.ASCII).strip("_")) or "variable"
        wanted = f"v{wanted}" if wanted[0].isdigit() else wanted
        if wanted.endswith("_proxy"):  # which HTTP clients read as a setting
            wanted += "_"
        while wanted in used:
            wanted += "_"
        used.add(wanted)
        found[one] = wanted
    return found
