"""The context at an offset in a document, and the candidates for completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes
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


@classes.frozen
class Context:
    """The context at an offset in a document.

    `prefix` is the text from the start of the context to the offset. `span` also includes text
    after the offset, except for a URL. `subject` depends on the kind of context:

    - for a value or parameter of a header: the header;
    - for the value of a header argument: the argument;
    - for a file: the folder;
    - for a variable: the text that begins it (``:`` or ``{{``);
    - for an operator or path in an assertion: the assertion's subject;
    - for an expected value: the assertion's subject and path.
    """

    kind: Kind
    span: Span
    prefix: str
    subject: str = ""


@classes.frozen
class Candidate:
    """A candidate for completion, shown as `label`. `insert` replaces the text in `span`.

    `documentation` is plain text: a description, then the specification or the defining line.
    """

    label: str
    kind: Kind
    span: Span
    insert: str
    documentation: str


@classes.frozen
class Offer:
    """A suggestion that is turned into a candidate for a context. Lower ranks are listed first."""

    text: str
    documentation: str
    insert: str | None = None
    rank: float = 1

    @property
    def inserted(self) -> str:
        """The text to insert: `insert` if it is given, otherwise `text`."""
        return self.text if self.insert is None else self.insert


@classes.frozen
class Imported:
    """The names that a request file can use from imported files and from responses.

    `variables` maps each name to the value and the place of its definition, and `requests` maps
    each name to a position. `answered` maps the name of a request to the paths into its last
    response, with their descriptions. `sent` is the same by the content of a request.
    """

    variables: Mapping[str, tuple[str, str]] = classes.field(factory=dict)
    requests: Mapping[str, str] = classes.field(factory=dict)
    answered: Mapping[str, Mapping[str, str]] = classes.field(factory=dict)
    sent: Mapping[object, Mapping[str, str]] = classes.field(factory=dict)


def fits(text: str, prefix: str) -> bool:
    """Return whether `text` starts with the typed `prefix`, ignoring case."""
    return text[: len(prefix)].lower() == prefix.lower()
