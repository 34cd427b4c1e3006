"""The reader: the current token, scopes, errors, losses (see `Loss`), and the parser's main loop.

The parser is a recursive-descent parser that does not use Python's call stack. A function for
syntax that can nest is a generator: it yields a reading (also a generator) for each part, and
receives the result. `Reader.run` keeps these generators on a stack. So nesting, up to
`MAX_NESTING`, costs only memory and never causes a RecursionError. The time is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Final, NoReturn, TypeAlias

import attrs

from scriptschema.base import Message
from scriptschema.luau.lexer import Source, tokenize
from scriptschema.luau.literals import string_value, unescape
from scriptschema.luau.names import NameReader
from scriptschema.messages import ExprGlobal, ExprLocal, Local, Type, TypeLiteral, Typename
from scriptschema.versions import Version

MAX_NESTING: Final = 200_000
"""The maximum depth of nested readings, which limits memory. Luau itself does not compile anything
that deep."""


@attrs.frozen
class Loss:
    """A part of a source that the tree does not represent as it is written.

    `source` is `program` or `module`. `line` and `column` are counted from 1, and columns are
    counted in characters. `what` names the syntax, and `how` says what happened to it.
    """

    source: str
    line: int
    column: int
    what: str
    how: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.what}: {self.how}"


COMMENTS: Final = frozenset({"comment", "directive"})
"""The values of `Loss.what` for comments, which are not part of the program."""


class ParseError(ValueError):
    """Raised for a source that is not valid Luau.

    `source` is `program` or `module`. `line` and `column` are counted from 1. `expected` says what
    would be valid at that position, and `found` what is there instead.
    """

    def __init__(self, source: str, line: int, column: int, expected: str, found: str) -> None:
        super().__init__(source, line, column, expected, found)
        self.source = source
        self.line = line
        self.column = column
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: expected {self.expected}, found {self.found}"


Places: TypeAlias = dict[int, tuple[Message, str, int, int]]
"""Maps a message's id to the message, and to the source, line and column of its first token."""

Reading: TypeAlias = Generator[Any, Any, Any]
"""A generator that reads a part of the source. It yields the readings of nested parts, and returns
the result."""


class Reader:
    """The state of the parser for one source.

    `expression` and `block` are the functions that read an expression and a block. The reader
    passes them to the other functions, because types can contain expressions (`typeof`), and
    expressions contain types and blocks (functions).
    """

    def __init__(
        self,
        label: str,
        text: str | bytes,
        names: NameReader,
        losses: list[Loss],
        luau: Version | None,
        *,
        expression: Callable[[Reader], Reading],
        block: Callable[[Reader], Reading],
        places: Places | None = None,
    ) -> None:
        self._places = places
        self.expression = expression
        self.block = block
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        self.label = label
        self.source = Source(text)
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            line, column = self.source.position(error.start)
            found = ascii(text[error.start])
            raise ParseError(
                label, line, column, "a character that UTF-8 can encode", found
            ) from None
        tokens = tokenize(text)
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.problem = tokens.problem
        self.names = names
        self.losses = losses
        self.luau = luau
        self.extended = luau is not None
        """Whether the tree may have extension fields. If not, syntax that needs these fields is
        recorded as a loss."""
        self.index = 0
        self.kind = self.kinds[0]
        self.depth = 0  # the number of functions around the current token
        self.in_scope: dict[str, list[int]] = {}
        """Maps each name to the locals in scope with this name: the `depth` of each declaration."""
        self.scopes: list[tuple[list[str], set[str], int]] = []
        self.generics_in_scope: dict[str, int] = {}
        self.undecided: dict[str, list[tuple[int, Type]]] = {}
        """Maps each name that the source declares as a type anywhere to the uses that are still
        undecided: the index of the name's token, and the type. The declaration may follow the use,
        or be in a scope that does not include it. So the type is set at the end of the scope that
        declares the name. If there is no such scope, it is set at the end of the source."""
        self.aliases = {
            self.texts[number + 1 + (self.kinds[number + 1] == "function")]
            for number, word in enumerate(self.texts[:-2])
            if word == "type" and self.kinds[number + 1] in ("name", "function")
        }
        self.identifiers = set(self.texts)
        for start, comment in tokens.comments:
            what = "directive" if comment.startswith("--!") else "comment"
            self.lose_at(start, what, "dropped")

    # Tokens

    def advance(self) -> int:
        """Move past the current token, and return its index."""
        index = self.index
        self.index = index + 1
        self.kind = self.kinds[index + 1]
        return index

    def take(self) -> str:
        """Move past the current token, and return its text."""
        text = self.texts[self.index]
        self.index += 1
        self.kind = self.kinds[self.index]
        return text

    def skip(self, kind: str) -> bool:
        """Move past the current token if it has this kind. Return whether it does."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str, purpose: str) -> None:
        """Move past the current token. Raises ParseError unless the token is of this kind.

        `purpose`, such as `after the condition`, follows the kind in the error message.
        """
        if self.kind != kind:
            self.fail(f"`{kind}` {purpose}")
        self.advance()

    def close(self, kind: str, opening: int) -> None:
        """Move past the current token. Raises ParseError unless the token is of this kind.

        The error message says that the token should close the one at index `opening`.
        """
        if self.kind != kind:
            line, column = self.source.position(self.starts[opening])
            text = self.texts[opening]
            self.fail(f"`{kind}` to close the `{text}` at {line}:{column}")
        self.advance()

    def name(self, purpose: str) -> str:
        """Return the current token, which must be a name, and move past it.

        Raises ParseError for other tokens. `purpose`, such as `of a field`, follows "a name" in the
        error message.
        """
        if self.kind != "name":
            self.fail(f"a name {purpose}")
        return self.take()

    def fail(self, expected: str, index: int | None = None) -> NoReturn:
        """Raise ParseError: `expected` is missing at token `index`, by default the current one."""
        index = self.index if index is None else index
        line, column = self.source.position(self.starts[index])
        text = self.texts[index]
        kind = self.kinds[index]
        if kind == "eof":
            found = "the end of the source"
        elif len(text) == 1 and not text.isprintable():
            found = f"U+{ord(text):04X}"  # the character itself would be invisible
            if "\udc80" <= text <= "\udcff":
                found = f"the byte 0x{ord(text) - 0xDC00:02x}, which is not UTF-8"
            elif text == "\ufeff":
                found += ", a byte order mark, which Luau rejects: save the source without it"
        else:
            shown = text if len(text) <= 40 else text[:37] + "..."
            shown = shown.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            found = f"`{shown.splitlines()[0]}`"
        if kind == "error" and self.problem:
            found += f" ({self.problem})"
        raise ParseError(self.label, line, column, expected, found)

    def require(self, cls: type[Message], field: str, what: str, index: int) -> None:
        """Raise ParseError if an extension field is newer than the requested version of Luau.

        `what` describes the syntax that needs the field, and `index` is the index of a token in it.
        """
        since = cls.ALL_FIELDS[field].since
        if self.luau is not None and since is not None and self.luau < since:
            line, column = self.source.position(self.starts[index])
            found = f"{what}, which requires Luau {since}"
            raise ParseError(self.label, line, column, f"syntax of Luau {self.luau}", found)

    def check_extended(self, what: str, index: int) -> None:
        """Raise ParseError if no version of Luau was requested.

        `what` describes syntax that the original schema cannot represent, not even approximately,
        and `index` is the index of a token in it.
        """
        if not self.extended:
            line, column = self.source.position(self.starts[index])
            found = f"{what}, which requires a Luau version, such as today"
            raise ParseError(self.label, line, column, "syntax of the original schema", found)

    def lose(self, index: int, what: str, how: str) -> None:
        """Record that the tree does not represent `what` at the token at `index`."""
        self.lose_at(self.starts[index], what, how)

    def lose_at(self, offset: int, what: str, how: str) -> None:
        """Record that the tree does not represent `what` at this offset of the source."""
        line, column = self.source.position(offset)
        self.losses.append(Loss(self.label, line, column, what, how))

    # Scopes

    def open(self, *declared: str) -> None:
        """Begin a scope that contains these locals."""
        self.scopes.append(([], set(), self.index))
        for name in declared:
            self.declare(name)

    def shut(self) -> None:
        """End the innermost scope."""
        names, types, start = self.scopes.pop()
        for name in names:
            self.in_scope[name].pop()
        for name in types:
            undecided = self.undecided.get(name, [])
            while undecided and undecided[-1][0] >= start:
                _, type_ = undecided.pop()
                type_.literal = TypeLiteral(name=Typename(index=self.names.type(name)))

    def declare(self, name: str) -> Local:
        """Return a new local that is in scope from here on."""
        self.scopes[-1][0].append(name)
        self.in_scope.setdefault(name, []).append(self.depth)
        return Local(name=self.names.local(name))

    def declare_type(self, name: str) -> None:
        """Declare a type in the innermost scope, even for uses before the declaration."""
        self.scopes[-1][1].add(name)

    def variable(self, name: str) -> ExprLocal | ExprGlobal:
        """Return the local or global variable that a name refers to here."""
        if self.in_scope.get(name):
            return ExprLocal(var=Local(name=self.names.local(name)))
        return ExprGlobal(name=self.names.global_(name))

    def is_upvalue(self, name: str) -> bool:
        """Return whether a local is declared outside of the current function."""
        return self.in_scope[name][-1] < self.depth

    # The driver

    def run(self, reading: Reading) -> Any:
        """Run `reading` and the readings that it yields. Return the result of `reading`."""
        waiting: list[Reading] = []
        begun = [self.index]
        value = None
        while True:
            try:
                part = reading.send(value)
            except StopIteration as stop:
                value = stop.value
                if self._places is not None:
                    self.place(value, begun.pop())
                if not waiting:
                    return value
                reading = waiting.pop()
            else:
                if len(waiting) == MAX_NESTING:
                    self.fail("less deeply nested source")
                waiting.append(reading)
                if self._places is not None:
                    begun.append(self.index)
                reading = part
                value = None

    def place(self, message: Any, index: int) -> None:
        """Record that a message begins at the token at `index`, if positions were requested."""
        if self._places is not None and isinstance(message, Message):
            place = (message, self.label, *self.source.position(self.starts[index]))
            self._places.setdefault(id(message), place)

    # Literals

    def string(self) -> str:
        """Return the value of the string constant at the current token, and move past it."""
        return self.decode(string_value, self.texts[self.index])

    def text(self) -> str:
        """Return the value of the interpolated text at the current token, and move past it."""
        return self.decode(unescape, self.texts[self.index][1:-1])

    def decode(self, value: Callable[[str], str], text: str) -> str:
        """Return `value(text)`, the value of the current token, and move past it.

        Raises ParseError for an escape sequence that Luau does not have.
        """
        try:
            decoded = value(text)
        except ValueError as error:
            self.fail(f"a valid escape sequence instead of {error}")
        self.advance()
        return decoded
