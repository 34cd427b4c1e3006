"""The elements of an Org document: headings, blocks, calls, and their header arguments.

This module has only data types. `orgrest.org.reader` parses the elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REQUEST_LANGUAGES = frozenset({"restclient", "http", "rest"})
VERB = "verb"
"""The language of verb's blocks, and of the headings that contain verb requests."""
ALL_LANGUAGES = REQUEST_LANGUAGES | {VERB}
INLINE = ("inline", "inline call")
"""The kinds of blocks that are part of a line of text."""


@classes.frozen(eq=False)
class Heading:
    """A heading, or the text above the first heading (level 0).

    The keys of `properties` are in upper case. `comment` is true if the heading or an ancestor is a
    COMMENT heading. `tags` include inherited tags.
    """

    level: int
    line: int
    comment: bool
    parent: Heading | None
    properties: dict[str, str]
    tags: frozenset[str] = frozenset()

    def path(self) -> Iterator[Heading]:
        """Yield this heading and its ancestors. The heading with level 0 comes last."""
        here: Heading | None = self
        while here is not None:
            yield here
            here = here.parent


@classes.frozen(eq=False)
class Enclosure:
    """The region around an element, which ends before the line `limit`.

    `item` is the bullet column of the enclosing list item, or -1 outside lists. `footnote` is true
    in a footnote. `inside` contains a pair for each enclosing block or drawer: the kind of its
    closing line (a block type, ``:end:``, ``#+end:``) and the index of its first line.
    """

    limit: int
    item: int
    footnote: bool
    inside: tuple[tuple[str, int], ...] = ()

    def moved(self, lines: int) -> Enclosure:
        """Return the enclosure moved down by a number of lines."""
        inside = self.inside and tuple((kind, line + lines) for kind, line in self.inside)
        return Enclosure(self.limit + lines, self.item, self.footnote, inside)


@classes.frozen
class BabelCall:
    """The parts of ``NAME[inside](arguments) end``. In an inline call, `end` is in brackets."""

    name: str
    inside: str
    arguments: str
    end: str


@classes.frozen(eq=False)
class Block:
    """A source block, a call, or another element that can be evaluated.

    `kind` is ``block``, ``call``, ``inline``, ``inline call``, or ``heading`` for a verb request. A
    verb request's name is the title of its heading, and its body is the text below.

    `start` and `end` are the element's offsets, without affiliated keywords and the final newline.
    `line` is the index of the first line. The body consists of the lines from index `first` up to,
    but not including, `last`. `arguments` are the header arguments in the element itself, and
    `headers` are those in its ``#+HEADER:`` lines. A block may itself be a result: `result` is then
    the index of the results keyword directly above it.
    """

    kind: str
    start: int
    end: int
    line: int
    heading: Heading
    region: Enclosure
    language: str = ""
    switches: str = ""
    arguments: str = ""
    headers: tuple[str, ...] = ()
    name: str | None = None
    indent: int = 0
    first: int = 0
    last: int = 0
    inline: str = ""
    call: BabelCall | None = None
    result: int | None = None

    def moved(self, lines: int, characters: int, heading: Heading) -> Block:
        """Return the block with `lines` added to its line indexes and `characters` to its offsets.

        `heading` becomes the heading of the block.
        """
        # Many blocks move after each keystroke: `evolve` would take five times as long.
        return Block(
            self.kind,
            self.start + characters,
            self.end + characters,
            self.line + lines,
            heading,
            self.region.moved(lines),
            self.language,
            self.switches,
            self.arguments,
            self.headers,
            self.name,
            self.indent,
            self.first + lines if self.first else 0,
            self.last + lines if self.last else 0,
            self.inline,
            self.call,
            None if self.result is None else self.result + lines,
        )


class ArgumentError(OrgrestError):
    """Raised if header arguments are invalid. The message says which arguments and why."""


@classes.frozen
class Lisp:
    """The text of an Emacs Lisp expression, which Emacs would evaluate but orgrest does not."""

    text: str


@classes.frozen
class Arguments:
    """The header arguments that apply to one block.

    `values` contains all arguments except ``:results`` and ``:var``. An argument without a value
    has the value None. `results` contains the words of ``:results``. `variables` contains the
    assignments of ``:var`` by name, in order.
    """

    values: Mapping[str, str | Lisp | None] = classes.field(factory=dict)
    results: tuple[str, ...] = ()
    variables: Mapping[str, str] = classes.field(factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str, default: str = "") -> str:
        """Return the value of an argument, or `default` if it is missing or empty.

        Raises ArgumentError if the value is Emacs Lisp.
        """
        value = text_of(name, self.values.get(name))
        return default if value is None else value

    @property
    def eval(self) -> str:
        """The value of ``:eval``. If it is missing, ``:noeval`` means "no".

        Raises ArgumentError if the value is Emacs Lisp.
        """
        return self.get("eval") or ("no" if "noeval" in self else "")

    def flag(self, name: str) -> bool:
        """Return whether a yes-or-no argument is on. The name without a value means yes."""
        return name in self.values and self.get(name, "yes").lower() not in ("no", "nil")

    @property
    def inserts_noweb(self) -> bool:
        """Whether ``<<name>>`` in the block is replaced before it is evaluated.

        Raises ArgumentError if the value of ``:noweb`` is Emacs Lisp.
        """
        return self.flag("noweb") and self.get("noweb") != "tangle"


def text_of(name: str, value: str | Lisp | None) -> str | None:
    """Return the value of the header argument `name`. Raises ArgumentError if it is Emacs Lisp."""
    if isinstance(value, Lisp):
        raise ArgumentError(
            f"header argument :{name} contains Emacs Lisp, which is not run: {value.text}"
        )
    return value
