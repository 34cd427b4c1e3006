"""The context at an offset of a document, and the candidates for completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from orgrest.model import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind: TypeAlias = Literal[
    "method",
    "url",
    "query",  # the name of a parameter in a URL
    "query value",
    "version",
    "header",
    "value",  # of a header
    "parameter",  # of such a value, after a semicolon
    "variable",
    "function",
    "environment",  # the name of an environment variable
    "file",
    "field",  # of a JSON body
    "field value",
    "hook",
    "language",  # of an Org block
    "property",  # of an Org document
    "argument",  # header argument of an Org block
    "argument value",
    "reference",  # the name of a block, table or list
    "directive",  # of a request file: `# @name`
    "request",  # the name of a request
    "script",  # a name in the API of scripts
    "subject",  # of an assertion
    "operator",  # of an assertion
    "path",  # of the subject of an assertion
    "expected",  # value of an assertion
]


@attrs.frozen
class Context:
    """The context at an offset: `prefix` is its text up to the offset.

    `span` is its extent, including text after the offset (except for a URL). `subject` is its
    owner: the header of a value or parameter, the header argument of a value, the folder of a
    file, the opening (``:`` or ``{{``) of a variable, the subject of an operator or a path, the
    subject and path of an expected value.
    """

    kind: Kind
    span: Span
    prefix: str
    subject: str = ""


@attrs.frozen
class Candidate:
    """A candidate: `insert` replaces the text in `span`; `label` is its name.

    `documentation` is a short plain text: a description, and the specification or line that defines
    it.
    """

    label: str
    kind: Kind
    span: Span
    insert: str
    documentation: str


@attrs.frozen
class Offer:
    """A candidate before it is fitted to the context; lower ranks come first."""

    text: str
    documentation: str
    insert: str | None = None
    rank: float = 1

    @property
    def inserted(self) -> str:
        """The text to insert: by default the candidate's `text`."""
        return self.text if self.insert is None else self.insert


@attrs.frozen
class Imported:
    """Imported names of a request file: variables with value and definition.

    Requests have their position. `answered` are the paths into the last responses by the names of
    their requests, each with a description of its target.
    """

    variables: Mapping[str, tuple[str, str]] = attrs.field(factory=dict)
    requests: Mapping[str, str] = attrs.field(factory=dict)
    answered: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)


def fits(text: str, prefix: str) -> bool:
    """Return whether a text starts with the typed `prefix`, ignoring case."""
    return text[: len(prefix)].lower() == prefix.lower()
