"""The result of every importer: a collection of requests in folders.

Texts (URLs, header values, bodies, values of variables) are in the notation of request files:
`{{name}}` refers to a variable, and literal braces are escaped (see `texts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orgrest.model import Headers


class ConversionError(OrgrestError):
    """A source that cannot be imported, or files that cannot be written."""


@attrs.frozen
class Note:
    """Something that was not translated: its place in the source, and the reason.

    If it `blocks`, the request would be sent differently without it: it is written as disabled.
    """

    place: str
    reason: str
    blocks: bool = False


@attrs.frozen
class Inclusion:
    """A file whose bytes are sent as a part of a body."""

    path: str


Piece: TypeAlias = "str | bytes | Inclusion"
"""A part of a body: text, bytes that are sent as they are, or a file."""


@attrs.frozen
class Request:
    """A request to write.

    The pieces of a `body` are written on separate lines. `definitions` are variables of this
    request only. `assertions` are the texts after `??`, with `titles`; `before` and `after` are
    scripts. `place` is its place in the source. With `shorthand`, its Authorization is in the
    notation of request files, from which the header is computed.
    """

    method: str
    url: str
    name: str = ""
    headers: Headers = ()
    body: tuple[Piece, ...] | None = None
    directives: tuple[str, ...] = ()
    assertions: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    definitions: tuple[tuple[str, str], ...] = ()
    description: str = ""
    notes: tuple[Note, ...] = ()
    place: str = ""
    shorthand: bool = False
    titles: Mapping[str, str] = attrs.field(factory=dict, eq=False)


@attrs.frozen
class Folder:
    """A folder of requests, with variables that its requests see."""

    name: str
    items: tuple[Folder | Request, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    description: str = ""
    notes: tuple[Note, ...] = ()

    def requests(self) -> Iterator[Request]:
        """Yield the requests of the folder and its folders, in order."""
        for item in self.items:
            if isinstance(item, Request):
                yield item
            else:
                yield from item.requests()

    def all_notes(self) -> Iterator[Note]:
        """Yield the notes on untranslated parts, in order."""
        yield from self.notes
        for item in self.items:
            yield from item.notes if isinstance(item, Request) else item.all_notes()


@attrs.frozen
class Environment:
    """A named set of variables; the values of the `secrets` among them must not be shared."""

    name: str
    variables: tuple[tuple[str, str], ...]
    secrets: frozenset[str] = frozenset()


@attrs.frozen
class Collection:
    """The content of a source."""

    folder: Folder
    environments: tuple[Environment, ...] = ()


@attrs.frozen
class Written:
    """A document, the files of bodies beside it by path, and notes on unwritten parts."""

    text: str
    files: dict[str, bytes]
    notes: tuple[Note, ...]
