"""The data that all importers produce: a collection of requests in folders.

Strings (URLs, header values, bodies, values of variables) are in the notation of request files:
`{{name}}` refers to a variable, and literal braces are escaped (see `texts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self, TypeAlias

from orgrest import classes
from orgrest.model import OrgrestError, explained

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from orgrest.model import Headers

POSTMAN_BODILESS: Final = ("GET", "COPY", "HEAD", "PURGE", "UNLOCK")
"""The methods whose body Postman leaves out, unless `disableBodyPruning` is set."""


class ConversionError(OrgrestError):
    """Raised if a source cannot be imported, or a file cannot be written."""


@classes.frozen
class Note:
    """A note about something that was not translated: its place in the source, and the reason.

    `blocks` is true if orgrest would send a different request than the source describes. The
    request is then disabled in the document. `bug` is true if the reason is a bug in orgrest.
    """

    place: str
    reason: str
    blocks: bool = False
    bug: bool = False

    @classmethod
    def of_error(cls, place: str, error: Exception) -> Self:
        """Return a note that a request or environment is missing because of `error`."""
        problem = explained(error)
        return cls(place, problem.reason, bug=problem.code == "bug")


@classes.frozen
class Inclusion:
    """A file whose bytes are sent as a part of a body."""

    path: str


Piece: TypeAlias = "str | bytes | Inclusion"
"""A part of a body: text, bytes to send unchanged, or a file."""


@classes.frozen
class Request:
    """An imported request, to be written to a document.

    - Each piece of `body` starts on a new line.
    - `definitions` contains variables for this request only.
    - `captures` contains the variables with values from the response: for each, its name, the
      value's path in a reference such as `response.body.$.id`, and a JavaScript expression for the
      value. `own_name` is the name for these references.
    - `assertions` contains the strings after `??`, and `titles` their titles. It may be shorter.
    - `before` and `after` contain the scripts that run before and after the request.
    - `place` is the request's place in the source.
    - `shorthand` is true if a header contains a shorthand, such as `Basic USER PASSWORD`, from
      which orgrest computes what is sent.
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
    titles: tuple[str, ...] = classes.field(default=(), eq=False)
    captures: tuple[tuple[str, str, str], ...] = ()
    own_name: str = ""


@classes.frozen
class Folder:
    """A folder of requests, with variables that all requests in the folder can use."""

    name: str
    items: tuple[Folder | Request, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    description: str = ""
    notes: tuple[Note, ...] = ()

    def requests(self) -> Iterator[Request]:
        """Yield the requests in the folder and its subfolders, in order."""
        for item in self.items:
            if isinstance(item, Request):
                yield item
            else:
                yield from item.requests()

    def all_notes(self) -> Iterator[Note]:
        """Yield the notes about untranslated parts in the folder and its subfolders, in order."""
        yield from self.notes
        for item in self.items:
            yield from item.notes if isinstance(item, Request) else item.all_notes()


@classes.frozen
class Environment:
    """A named set of variables. The values of the variables in `secrets` must not be shared."""

    name: str
    variables: tuple[tuple[str, str], ...]
    secrets: frozenset[str] = frozenset()


@classes.frozen
class Collection:
    """The requests and environments in a source. `folder` contains all of the requests.

    `has_files` is false if paths of files do not come from the source, but only from its importer.
    """

    folder: Folder
    environments: tuple[Environment, ...] = ()
    has_files: bool = True


@classes.frozen
class Written:
    """A written document, its body files by path, and notes about missing parts.

    An exported document takes the values of the variables in `filled` from responses.
    """

    text: str
    files: dict[str, bytes]
    notes: tuple[Note, ...]
    filled: Container[object] = ()
