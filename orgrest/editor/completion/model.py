"""What is written at a place of a document, and what can be put in there."""

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
    "version",
    "header",
    "value",  # of a header
    "parameter",  # of such a value, after a semicolon
    "variable",
    "function",
    "environment",  # the name of an environment variable
    "file",
    "hook",
    "language",  # of an Org block
    "property",  # of an Org document
    "argument",  # header argument of an Org block
    "argument value",
    "reference",  # the name of a block, table or list
    "directive",  # of a request file: `# @name`
    "request",  # the name of one
    "script",  # a name that scripts see
    "subject",  # of an assertion
    "operator",  # of an assertion
]


@attrs.frozen
class Context:
    """What is written at a place: `prefix` is its text up to the place.

    `span` is where that stands, with what belongs to it behind the place (but for a URL).
    `subject` is what it belongs to: the header of a value or parameter, the header argument of a
    value, the folder of a file, the opening (``:`` or ``{{``) of a variable, the subject of an
    operator.
    """

    kind: Kind
    span: Span
    prefix: str
    subject: str = ""


@attrs.frozen
class Candidate:
    """A text to put in: `insert` in place of what stands in `span`; `label` is its name.

    `documentation` is a short plain text: what it is, and the specification or line that says so.
    """

    label: str
    kind: Kind
    span: Span
    insert: str
    documentation: str


@attrs.frozen
class Offer:
    """A candidate before it is fitted in; the lower its rank, the likelier it is."""

    text: str
    documentation: str
    insert: str | None = None
    rank: int = 1

    @property
    def inserted(self) -> str:
        """What is put in: its own text, unless another was given."""
        return self.text if self.insert is None else self.insert


@attrs.frozen
class Imported:
    """What other files bring to a request file, by name: a variable's value and where it is set.

    Of a request, where it stands.
    """

    variables: Mapping[str, tuple[str, str]] = attrs.field(factory=dict)
    requests: Mapping[str, str] = attrs.field(factory=dict)


def fits(text: str, prefix: str) -> bool:
    """Tell whether a text begins as what was typed, in whatever case."""
    return text[: len(prefix)].lower() == prefix.lower()
