"""The base class of all messages, their fields and paths, and `walk`.

`messages.py` only declares the messages, and `declaration.py` turns each declaration into a class.
`wire.py` encodes messages.

A message with a oneof has two slots instead of one per alternative: `which` (the name of the
alternative that is set) and `alternative` (its value). Attributes such as `expr.binary` read these
slots. This shrinks an `Expr` from 168 to 48 bytes.
"""

from __future__ import annotations

import importlib
import keyword
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from reprlib import Repr
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NewType,
    Self,
    SupportsIndex,
    TypeVar,
    dataclass_transform,
)

import attrs
from pure_protobuf.message import BaseMessage
from pure_protobuf.one_of import OneOf as _OneOf

from scriptschema import pickling, printing
from scriptschema.versions import Version

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1

MAX_DEPTH: Final = 100
"""The number of levels below the outermost message that protobuf's C++ and upb runtimes allow."""

Int32 = NewType("Int32", int)
"""The annotation of int32 fields in message signatures. Tools can distinguish it from a plain
`int`."""


class Int64(int):
    """The annotation of int64 fields. Their values are plain `int`. Other integers are int32."""


Since: Final = Version.parse
"""Annotates an extension field with the first version of Luau that accepts its syntax."""

Rule = Literal["required", "optional", "repeated"]

UNSET: Final = "unset"
"""The name that weights and statistics use for a oneof in which no alternative is set."""


class ValidationError(ValueError):
    """Raised for a value that the schema does not allow. It names the field, rule and value."""


MISSING: Final = object()
"""The default argument for a required field."""


class _Short(Repr):
    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print very long integers.
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < 1000 else f"of {bits} bits"


short = _Short()
short.maxstring = short.maxother = 60


@attrs.frozen
class FieldInfo:
    """A field of a message, as the schema declares it.

    `name` is the attribute's name, and `schema_name` the name in the schema. They differ only for
    `self` and Python keywords: the field `else` is the attribute `else_`. `type` is a message
    class, an IntEnum, `int` (for int32), `Int64`, `bool`, `float` (for double) or `str`. `oneof` is
    the name of the oneof that the field belongs to.

    `since` is the version of Luau that introduced the field. It is None for fields of the original
    schema, and for fields as old as their extension message.
    """

    message: str
    name: str
    tag: int
    rule: Rule
    type: type
    oneof: str | None
    since: Version | None = None
    is_message: bool = attrs.field(
        init=False, default=attrs.Factory(lambda self: issubclass(self.type, Message), True)
    )

    @property
    def schema_name(self) -> str:
        """Return the field's name in the schema, the `.proto` file, text format and JSON."""
        bare = self.name.removesuffix("_")
        return bare if keyword.iskeyword(bare) or bare == "self" else self.name

    @property
    def type_name(self) -> str:
        """Return the type as the schema spells it: `int32`, `string`, `Expr`, `ExprUnary.Op`."""
        return _TYPE_NAMES.get(self.type, self.type.__qualname__)

    @property
    def missing(self) -> str:
        """Return the error message for a missing required field."""
        return f"{self.message}.{self.name} is required ({self.type_name}, tag {self.tag})"

    def check(self, value: object) -> None:
        """Raise ValidationError unless `value` may be assigned to the field."""
        if self.rule == "repeated":
            if not isinstance(value, list):
                raise self._wrong("", f"a list of {self.type_name}", value)
            for index, item in enumerate(value):
                self.check_item(item, f"[{index}]")
        elif value is not None and value is not MISSING:
            self.check_item(value)
        elif self.rule == "required":
            raise ValidationError(self.missing)

    def check_item(self, value: object, where: str = "") -> None:
        """Raise ValidationError unless the field, or the list if repeated, may contain `value`.

        `where` is the index that the error message shows, such as `[2]`.
        """
        if self.type in INTEGERS:
            if isinstance(value, int) and not isinstance(value, bool):
                least, most = INTEGERS[self.type]
                if not least <= value <= most:
                    raise self._wrong(where, f"in {self.type_name}'s range {least}..{most}", value)
                return
        elif self.is_message:
            if value.__class__ is self.type:
                return
        elif isinstance(value, self.type):
            return
        raise self._wrong(where, self.type_name, value)

    def _wrong(self, where: str, expected: str, value: object) -> ValidationError:
        actual = "None" if value is None else f"{type(value).__qualname__} {short.repr(value)}"
        return ValidationError(
            f"{self.message}.{self.name}{where} must be {expected} ({self.rule}, tag "
            f"{self.tag}), found {actual}"
        )


_TYPE_NAMES: Final[dict[type, str]] = {
    int: "int32",
    Int64: "int64",
    float: "double",
    str: "string",
}
INTEGERS: Final[dict[type, tuple[int, int]]] = {
    int: (INT32_MIN, INT32_MAX),
    Int64: (INT64_MIN, INT64_MAX),
}
"""The smallest and largest value of each integer type."""


class Path:
    """The path of a message in a tree: `str(path)` is `program.body[2].return_.list[0]`.

    `Path()` is the path of the root. `Path(parent, name, index)` adds a step to `parent`.
    """

    __slots__ = ("index", "name", "parent")

    def __init__(
        self, parent: Path | None = None, name: str = "", index: int | None = None
    ) -> None:
        self.parent = parent
        self.name = name
        self.index = index

    def steps(self) -> list[tuple[str, int | None]]:
        """Return the steps from the root: field names, with an index for repeated fields."""
        steps = []
        path = self
        while path.parent is not None:
            steps.append((path.name, path.index))
            path = path.parent
        steps.reverse()
        return steps

    def __len__(self) -> int:
        """Return the number of steps: 0 for the root."""
        return len(self.steps())

    def __bool__(self) -> bool:
        return self.parent is not None

    def __str__(self) -> str:
        return ".".join(
            name if index is None else f"{name}[{index}]" for name, index in self.steps()
        )

    def __repr__(self) -> str:
        return f"<Path {str(self) or '(root)'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self.steps() == other.steps()

    def __hash__(self) -> int:
        return hash(tuple(self.steps()))


WhichT_co = TypeVar("WhichT_co", bound=str, covariant=True)


class Which(Generic[WhichT_co]):
    """Declares the type of `which` for type checkers only: `@message` replaces it with a slot."""

    def __get__(self, message: object, owner: type) -> WhichT_co | None:
        """Declare the type of the attribute to type checkers. This method is never called."""
        raise NotImplementedError


class OneOf(_OneOf[Any]):
    """Declares a oneof: `message.expr_oneof` is the value of the alternative that is set."""

    def _which_one_of(self, message: Any) -> str | None:
        which: str | None = message.which
        return which


class _MessageType(ABCMeta):
    # The checks of ABCMeta, which `BaseMessage` requires, take five times as long.
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    if not TYPE_CHECKING:  # type checkers see only the declared attributes

        def __getattr__(cls, name: str) -> object:
            make = vars(cls).get("_on_demand", {}).get(name)
            if make is None:
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
            value = make()
            setattr(cls, name, value)
            return value


@dataclass_transform(kw_only_default=True, field_specifiers=(attrs.field,))
class Message(BaseMessage, metaclass=_MessageType):
    """The base class of all messages.

    The constructor takes keyword arguments. Construction and assignment raise ValidationError for a
    value that the schema does not allow. Items added to a list later are checked when the tree is
    encoded. Assigning one alternative of a oneof clears the others.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # mutable, and equal by value

    FIELDS: ClassVar[Mapping[str, FieldInfo]]
    """The fields in the original schema by attribute name, in tag order. For an extension message,
    these are all its fields."""
    ALL_FIELDS: ClassVar[Mapping[str, FieldInfo]]
    """All fields by attribute name, in tag order, including those for newer versions of Luau."""
    ONEOF: ClassVar[str | None]
    """The name of the message's oneof, or None."""

    # For the compiled functions of this class and of `wire` only.
    _slots: ClassVar[tuple[str, ...]]
    _child_slots: ClassVar[tuple[tuple[str, bool], ...]]
    _newer_slots: ClassVar[tuple[tuple[str, bool], ...]]
    _unchecked: ClassVar[type[Any]]
    # The declared defaults, pure-protobuf's annotations, and functions that create attributes on
    # first use.
    _defaults: ClassVar[Mapping[str, Any]]
    _hints: ClassVar[dict[str, Any]]
    _on_demand: ClassVar[Mapping[str, Callable[[], object]]]

    if TYPE_CHECKING:
        which = Which[str]()
    else:
        which = None
    """The name of the alternative that is set, or None if no alternative is set or the message has
    no oneof."""
    alternative: Any = None
    """The value of the alternative that is set, or None."""

    def __init_subclass__(cls) -> None:
        """Postpone pure-protobuf's initialization, which needs all messages: see `Descriptors`."""

    def __setattr__(self, name: str, value: object) -> None:
        field = self.ALL_FIELDS.get(name)
        if field is None:
            raise AttributeError(self._no_such_field(name))
        field.check(value)
        if field.oneof is None:
            object.__setattr__(self, name, value)
        elif value is not None:
            object.__setattr__(self, "which", name)
            object.__setattr__(self, "alternative", value)
        elif self.which == name:
            object.__setattr__(self, "which", None)
            object.__setattr__(self, "alternative", None)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"fields of {type(self).__name__} cannot be deleted: assign None to optional "
            "fields instead"
        )

    @classmethod
    def _no_such_field(cls, name: str) -> str:
        if name in ("which", "alternative") and cls.ONEOF:
            return (
                f"{cls.__name__}.{name} cannot be assigned: assign one of the fields of "
                f"{cls.ONEOF} instead"
            )
        return (
            f"{cls.__name__} has no field {name!r}; available: "
            f"{', '.join(cls.ALL_FIELDS) or 'none'}"
        )

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        pairs: list[tuple[Any, Any]] = [(self, other)]
        while pairs:
            mine, theirs = pairs.pop()
            if mine is theirs:
                continue
            cls = mine.__class__
            if issubclass(cls, Message):
                if cls is not theirs.__class__:
                    return False
                pairs.extend((getattr(mine, slot), getattr(theirs, slot)) for slot in cls._slots)
            elif isinstance(mine, list) and isinstance(theirs, list):
                if len(mine) != len(theirs):
                    return False
                pairs.extend(zip(mine, theirs, strict=True))
            elif mine != theirs:
                return False
        return True

    def __repr__(self) -> str:
        return printing.one_line(self)

    @property
    def _repr_pretty_(self) -> Callable[[Any, bool], None]:
        # IPython and Hypothesis call this. Hypothesis would call a plain method even to print the
        # class.
        return lambda printer, _cycle: printing.write(self, printer)

    # pure-protobuf's interface.

    def __bytes__(self) -> bytes:
        """Return the message in the binary format. Raises wire.EncodeError."""
        data: bytes = _wire().encode(self)
        return data

    def write_to(self, io: IO[bytes]) -> None:
        """Write the message to the file `io` in the binary format. Raises wire.EncodeError."""
        io.write(bytes(self))

    @classmethod
    def loads(cls, buffer: bytes) -> Self:
        """Return the message that `buffer` encodes. Raises wire.DecodeError."""
        message: Self = _wire().decode(cls, buffer)
        return message

    @classmethod
    def read_from(cls, io: IO[bytes]) -> Self:
        """Read the rest of the binary file `io`, and return the message that it encodes.

        Raises wire.DecodeError.
        """
        return cls.loads(io.read())

    # Without recursion, so that trees of any depth can be copied and pickled.

    def __copy__(self) -> Self:
        """Return a shallow copy with the same values, for `copy.copy`."""
        return pickling.shallow(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return pickling.deep(self, memo)

    def __reduce_ex__(self, _protocol: SupportsIndex) -> tuple[Any, ...]:
        return pickling.reduced(self)


@cache
def _wire() -> Any:
    # Imported on first use: it is in a layer above this one.
    return importlib.import_module("scriptschema.wire")


class Descriptors:
    """One of pure-protobuf's two tables of field descriptors, created on first access.

    `name` is the attribute that contains the table. pure-protobuf would create the table together
    with the class, before all message classes exist.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, message: object, owner: type[Message]) -> Any:
        """Create both tables of `owner`, and return the table called `name`."""
        # In a temporary class: other threads must never see a table that is being filled.
        made = ABCMeta(owner.__name__, (BaseMessage,), {"__annotations__": owner._hints})
        for name in TABLES:
            setattr(owner, name, getattr(made, name))
        return getattr(made, self.name)


TABLES: Final = ("__PROTOBUF_FIELDS_BY_NUMBER__", "__PROTOBUF_FIELDS_BY_NAME__")
"""The attributes with pure-protobuf's descriptors."""

for _name in TABLES:
    setattr(Message, _name, Descriptors(_name))


def require_message(tree: object) -> None:
    """Raise TypeError if `tree` is not a message, for example if it is a source."""
    if not isinstance(tree, Message):
        raise TypeError(not_a_message(tree))


def not_a_message(value: object) -> str:
    """Return an error message that says what to pass instead of a value that is not a message."""
    advice = ""
    if isinstance(value, str):
        advice = ": to read a source, use scriptschema.luau.parse.parse(source).tree"
    elif isinstance(getattr(value, "tree", None), Message):  # such as a ParseResult
        advice = ": pass its .tree"
    return f"not a message: {type(value).__qualname__}{advice}"


def walk(tree: Message) -> Iterator[tuple[Message, Path]]:
    """Yield each message of `tree` with its path: parents before children, children in tag order.

    The loop body may change the current message. The time is linear in the number of messages, at
    any depth. Raises TypeError if `tree` is not a message.
    """
    require_message(tree)
    return _walk(tree)


def _walk(tree: Message) -> Iterator[tuple[Message, Path]]:
    stack = [(tree, Path())]
    while stack:
        item = stack.pop()
        yield item
        message, path = item
        for slot, repeated in message._child_slots:
            child = getattr(message, slot)
            if child is None:
                continue
            if repeated:
                for index in range(len(child) - 1, -1, -1):
                    stack.append((child[index], Path(path, slot, index)))
            else:
                name = message.which if slot == "alternative" else slot
                stack.append((child, Path(path, name or "", None)))
