"""What all 57 messages share: fields, validation, oneofs, `repr`, `==` and the walk over a tree.

`messages.py` declares the messages and nothing else; this module turns each declaration into a
class. `@message` makes an attrs class with slots, and `complete` (called once, when all messages
exist and can refer to each other) reads the annotations, lets pure-protobuf read them too, and
compiles each class's `__init__`.

A message with a oneof does not store one slot per alternative but two in all, `which` (the name of
the alternative that is set) and `alternative` (its value); `expr.binary` and its like read these.
An `Expr` therefore takes 48 bytes instead of 168, and asking what it holds takes one look.

Nothing here knows about bytes: see `wire.py`.
"""

from __future__ import annotations

import inspect
import keyword
import linecache
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from operator import attrgetter
from reprlib import Repr
from typing import (
    IO,
    Any,
    ClassVar,
    Final,
    Literal,
    NewType,
    NoReturn,
    Self,
    TypeVar,
    dataclass_transform,
)

import attrs
from pure_protobuf.annotations import Field
from pure_protobuf.message import BaseMessage
from pure_protobuf.one_of import OneOf

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1

Int32 = NewType("Int32", int)
"""What the signatures of messages call an int32, so that tools can tell it from any `int`."""

Rule = Literal["required", "optional", "repeated"]


class ValidationError(ValueError):
    """A value that the schema does not allow; the text names message, field, rule and value."""


class _Missing:
    """The type of `MISSING`, which stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING: Final = _Missing()


class _Short(Repr):
    """Shows any value in an error; Python itself refuses to print integers of many digits."""

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < 1000 else f"of {bits} bits"


short = _Short()
short.maxstring = short.maxother = 60


@attrs.frozen
class FieldInfo:
    """One row of the schema's tables.

    `name` is the attribute's name; `schema_name` the schema's spelling, which differs where that is
    a Python keyword or `self` (`else_`, `self_`). `type` is a message class (`is_message`), an
    IntEnum, `int` (for int32), `bool` or `str`. `oneof` names the oneof that the field is an
    alternative of, if any.
    """

    message: str
    name: str
    tag: int
    rule: Rule
    type: type
    oneof: str | None
    is_message: bool = attrs.field(
        init=False, default=attrs.Factory(lambda self: issubclass(self.type, Message), True)
    )

    @property
    def schema_name(self) -> str:
        """The field's name in the schema, the `.proto` file, text format and JSON."""
        bare = self.name.removesuffix("_")
        return bare if keyword.iskeyword(bare) or bare == "self" else self.name

    @property
    def type_name(self) -> str:
        """The type in the schema's spelling: `int32`, `bool`, `string`, `Expr`, `ExprUnary.Op`."""
        return {int: "int32", str: "string"}.get(self.type, self.type.__qualname__)

    @property
    def missing(self) -> str:
        """What is said where a required field is missing."""
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
        """Raise ValidationError unless `value` may be the field's value, or one of its list's."""
        if self.type is int:
            if isinstance(value, int) and not isinstance(value, bool):
                if not INT32_MIN <= value <= INT32_MAX:
                    raise self._wrong(where, f"in int32's range {INT32_MIN}..{INT32_MAX}", value)
                return
        elif self.is_message:
            if value.__class__ is self.type:
                return
        elif isinstance(value, self.type):
            return
        raise self._wrong(where, self.type_name, value)

    def _wrong(self, where: str, wanted: str, value: object) -> ValidationError:
        got = "None" if value is None else f"{type(value).__qualname__} {short.repr(value)}"
        return ValidationError(
            f"{self.message}.{self.name}{where} must be {wanted} "
            f"({self.rule}, tag {self.tag}), not {got}"
        )


class Path:
    """Where a message stands in a tree: `str(path)` is `program.body[2].return_.list[0]`.

    A path is one step and a link to the path above it, so that a walk over a tree of any depth
    makes each one in constant time. The root's path is `Path()`, and its text is empty.
    """

    __slots__ = ("index", "name", "parent")

    def __init__(
        self, parent: Path | None = None, name: str = "", index: int | None = None
    ) -> None:
        self.parent = parent
        self.name = name
        self.index = index

    def steps(self) -> list[tuple[str, int | None]]:
        """The steps from the root: each a field's name and, in a repeated field, the index."""
        steps = []
        path = self
        while path.parent is not None:
            steps.append((path.name, path.index))
            path = path.parent
        steps.reverse()
        return steps

    def __len__(self) -> int:
        """How many steps the path has: 0 for the root."""
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


class _Alternative:
    """Reads one alternative of a oneof off the message's `which` and `alternative`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, message: Any, owner: type) -> Any:
        if message is None:
            return self
        return message.alternative if message.which == self.name else None


@dataclass_transform(kw_only_default=True, field_specifiers=(attrs.field,))
class Message(BaseMessage):
    """The base of all messages.

    Arguments are keywords only. Construction and assignment raise ValidationError for what the
    schema does not allow; what is put into a list later is checked when the tree is encoded.
    Assigning one alternative of a oneof clears the others.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # mutable, and equal by value

    FIELDS: ClassVar[Mapping[str, FieldInfo]]
    """The fields by attribute name, in tag order."""
    ONEOF: ClassVar[str | None]
    """The name of the message's oneof, or None."""

    # What the compiled functions of this class and of `wire` use; not for others.
    _slots: ClassVar[tuple[str, ...]]
    _child_slots: ClassVar[tuple[tuple[str, bool], ...]]
    _unchecked: ClassVar[type[Any]]

    which: str | None = None
    """The attribute name of the oneof's alternative that is set; None: nothing is, or no oneof."""
    alternative: Any = None
    """The value of the oneof's alternative that is set, or None."""

    def __init_subclass__(cls) -> None:
        """Leave out what pure-protobuf does here: it needs all messages, see `complete`."""

    def __setattr__(self, name: str, value: object) -> None:
        field = self.FIELDS.get(name)
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
            f"a field of {type(self).__name__} cannot be deleted: assign None where it is optional"
        )

    @classmethod
    def _no_such_field(cls, name: str) -> str:
        if name in ("which", "alternative") and cls.ONEOF:
            return f"{cls.__name__}.{name} follows from the fields: assign one of {cls.ONEOF}'s"
        return f"{cls.__name__} has no field {name!r}; it has {', '.join(cls.FIELDS) or 'none'}"

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        pairs: list[tuple[Any, Any]] = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if one is two:
                continue
            cls = one.__class__
            if issubclass(cls, Message):
                if cls is not two.__class__:
                    return False
                pairs.extend((getattr(one, slot), getattr(two, slot)) for slot in cls._slots)
            elif isinstance(one, list) and isinstance(two, list):
                if len(one) != len(two):
                    return False
                pairs.extend(zip(one, two, strict=True))
            elif one != two:
                return False
        return True

    def __repr__(self) -> str:
        printer = _PlainPrinter()
        _ReprWriter(printer).write(self, 0)
        return "".join(printer.parts)

    @property
    def _repr_pretty_(self) -> Callable[[Any, bool], None]:
        """Print the `repr` on several lines, for IPython and for Hypothesis's failing examples.

        A property, because Hypothesis would call a plain method of a class that it prints.
        """
        return lambda printer, _cycle: _ReprWriter(printer).write(self, 0)

    # pure-protobuf's interface. `wire` is a floor above this one: it is looked up when it is asked.

    def __bytes__(self) -> bytes:
        """Return the encoding; raises wire.EncodeError."""
        encoded: bytes = _wire().encode(self)
        return encoded

    def write_to(self, io: IO[bytes]) -> None:
        """Write the encoding to a binary file; raises wire.EncodeError."""
        io.write(bytes(self))

    @classmethod
    def loads(cls, buffer: bytes) -> Self:
        """Return the message that `buffer` encodes; raises wire.DecodeError."""
        message: Self = _wire().decode(cls, buffer)
        return message

    @classmethod
    def read_from(cls, io: IO[bytes]) -> Self:
        """Return the message that a binary file encodes to its end; raises wire.DecodeError."""
        return cls.loads(io.read())

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, slot) for slot in self._slots)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for slot, value in zip(self._slots, state, strict=True):
            object.__setattr__(self, slot, value)


def _wire() -> Any:
    from scriptschema import wire

    return wire


class _PlainPrinter:
    """What a pretty printer offers, on one line."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.text = self.parts.append

    def begin_group(self, _indent: int, opening: str) -> None:
        self.text(opening)

    def breakable(self, separator: str = " ") -> None:
        self.text(separator)

    def end_group(self, _dedent: int, closing: str) -> None:
        self.text(closing)


class _ReprWriter:
    """Writes a message as the expression that makes it, as far as the limits reach.

    What is left out is shown as `...`; a test's small example is never cut.
    """

    depth: Final = 40
    messages: Final = 100
    items: Final = 20

    def __init__(self, printer: Any) -> None:
        self.printer = printer
        self.left = self.messages

    def write(self, value: object, depth: int) -> None:
        text = self.printer.text
        if isinstance(value, Message):
            name = type(value).__name__
            self.left -= 1
            if self.left < 0 or depth >= self.depth:
                text(f"{name}(...)")
                return
            self.printer.begin_group(4, f"{name}(")
            position = 0
            for name, field in type(value).FIELDS.items():
                part = getattr(value, name, None)
                if field.rule != "required" and (part is None or part == []):
                    continue
                self._separate(position)
                position += 1
                text(f"{name}=")
                self.write(part, depth + 1)
            self.printer.end_group(4, ")")
        elif isinstance(value, list):
            self.printer.begin_group(4, "[")
            for position, item in enumerate(value):
                self._separate(position)
                if position == self.items or self.left <= 0:
                    text(f"... {len(value) - position} more")
                    break
                self.write(item, depth)
            self.printer.end_group(4, "]")
        elif isinstance(value, IntEnum):
            text(f"{type(value).__qualname__}.{value.name}")
        else:
            short = repr(value)
            text(short if len(short) <= 200 else f"{short[:150]}...{short[-20:]}")

    def _separate(self, position: int) -> None:
        if position:
            self.printer.text(",")
        self.printer.breakable(" " if position else "")


def walk(tree: Message) -> Iterator[tuple[Message, Path]]:
    """Yield each message of `tree` and its path: parents before children, children in tag order.

    A message's children are looked up after it was yielded, so a loop may change the message it is
    at. Time is linear in the number of messages whatever the depth.
    """
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


MessageT = TypeVar("MessageT", bound=Message)


def message(cls: type[MessageT]) -> type[MessageT]:
    """Turn a declaration in `messages.py` into an attrs class with slots (a class decorator)."""
    namespace = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
    oneof = next((name for name, value in namespace.items() if isinstance(value, OneOf)), None)
    attributes = {}
    slots = []
    for name, hint in namespace.get("__annotations__", {}).items():
        default = namespace.pop(name, attrs.NOTHING)
        attributes[name] = (
            default if isinstance(default, _AttrsField) else attrs.field(default=default)
        )
        if "one_of=" in hint:  # the annotations are text until `complete`
            namespace[name] = _Alternative(name)
        else:
            slots.append(name)
    slots += ["which", "alternative"] if oneof else []
    namespace |= {"__slots__": tuple(slots), "_slots": tuple(slots), "ONEOF": oneof}
    # mypy does not follow a call of a metaclass.
    made: type[MessageT] = type(cls)(cls.__name__, cls.__bases__, namespace)  # type: ignore[misc]
    return attrs.define(
        made, these=attributes, slots=False, init=False, repr=False, eq=False, kw_only=True,
        on_setattr=attrs.setters.NO_OP,
    )  # fmt: skip


_AttrsField: Final = type(attrs.field())


def complete(module: types.ModuleType) -> dict[str, type[Message]]:
    """Finish the messages declared in `module`; return them by name, in the order of declaration.

    This waits until all of them exist because they refer to each other.
    """
    found: dict[str, type[Message]] = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Message) and value is not Message
    }
    for cls in found.values():
        # pure-protobuf's own reading of the annotations, which our __init_subclass__ put off.
        super(Message, cls).__init_subclass__()
        hints = inspect.get_annotations(cls, eval_str=True)
        fields = [_field_info(cls, name, hint) for name, hint in hints.items()]
        fields.sort(key=attrgetter("tag"))
        cls.FIELDS = types.MappingProxyType({field.name: field for field in fields})
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + _describe(fields)
        cls._child_slots = _child_slots(fields)
        # mypy knows none of the three names that a class is given or read here.
        cls.__init__ = _compile_init(cls)  # type: ignore[method-assign]
        signature = cls.__signature__ = _signature(cls, hints)  # type: ignore[attr-defined]
        for attribute in cls.__attrs_attrs__:  # type: ignore[attr-defined]
            # As attrs.resolve_types does, which cannot find the names of the base classes' hints.
            hint = signature.parameters[attribute.name].annotation
            object.__setattr__(attribute, "type", hint)
        cls._unchecked = type(
            cls.__name__,
            (Message,),
            {
                "__slots__": cls._slots,
                "__init__": object.__init__,
                "__setattr__": object.__setattr__,
                "__doc__": f"A {cls.__name__} while it is filled, before its class is set.",
            },
        )
    return found


def _field_info(cls: type[Message], name: str, hint: Any) -> FieldInfo:
    """Read a field's annotation, `Annotated[Expr | None, Field(2)]` for example."""
    inner, *metadata = typing.get_args(hint)
    [field] = (entry for entry in metadata if isinstance(entry, Field))
    rule: Rule = "required"
    if typing.get_origin(inner) is list:
        rule = "repeated"
        [inner] = typing.get_args(inner)
    elif typing.get_origin(inner) is types.UnionType:
        rule = "optional"
        [inner] = (part for part in typing.get_args(inner) if part is not types.NoneType)
    oneof = cls.ONEOF if field.one_of is not None else None
    return FieldInfo(cls.__name__, name, field.number, rule, inner, oneof)


def _describe(fields: Sequence[FieldInfo]) -> str:
    """The part of a message's docstring that its fields give: one line each."""
    lines = [
        f"    {field.name}: {field.type_name}, "
        + (f"one of {field.oneof}" if field.oneof else field.rule)
        + f", tag {field.tag}"
        for field in fields
    ]
    return "\n\nFields:\n" + "\n".join(lines or ["    none"]) + "\n"


def _child_slots(fields: Sequence[FieldInfo]) -> tuple[tuple[str, bool], ...]:
    """The slots that hold messages and whether each is a list; last tag first, as `walk` wants."""
    slots = {
        ("alternative" if field.oneof else field.name): field.rule == "repeated"
        for field in fields
        if field.is_message
    }
    return tuple(reversed(slots.items()))


def _compile_init(cls: type[Message]) -> Callable[..., None]:
    """Compile the `__init__` that checks each argument and fills the slots."""
    scope: dict[str, Any] = {"MISSING": MISSING, "clash": _clash}
    parameters = []
    body = []
    if cls.ONEOF:
        body.append("which = alternative = None")
    for field in cls.FIELDS.values():
        name = field.name
        scope[f"set_{name}"] = getattr(cls, name).__set__ if not field.oneof else None
        scope[f"check_{name}"] = field.check
        scope[f"{name}_type"] = field.type
        if field.oneof:
            parameters.append(f"{name}=None")
            body += [
                f"if {name} is not None:",
                f"    if {name}.__class__ is not {name}_type or {name}_type is int:",
                f"        check_{name}({name})",
                "    if which is not None:",
                f"        clash({cls.__name__!r}, {cls.ONEOF!r}, which, {name!r})",
                f"    which, alternative = {name!r}, {name}",
            ]
            continue
        parameters.append(f"{name}={'None' if field.rule == 'optional' else 'MISSING'}")
        if field.rule == "repeated":
            body += [f"if {name} is MISSING:", f"    {name} = []", "else:"]
            body += [f"    check_{name}({name})"]
        elif field.type in (int, bool):
            body += [f"check_{name}({name})"]
        else:
            body += [f"if {name}.__class__ is not {name}_type:", f"    check_{name}({name})"]
        body.append(f"set_{name}(self, {name})")
    if cls.ONEOF:
        scope["set_which"] = cls.__dict__["which"].__set__
        scope["set_alternative"] = cls.__dict__["alternative"].__set__
        body += ["set_which(self, which)", "set_alternative(self, alternative)"]
    star = "*, " if parameters else ""
    source = f"def __init__(self, {star}{', '.join(parameters)}):\n"
    source += "".join(f"    {line}\n" for line in body or ["pass"])
    compile_source(source, scope, f"{cls.__name__}.__init__")
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _signature(cls: type[Message], hints: dict[str, Any]) -> inspect.Signature:
    """What tools are told of `__init__`, which itself finds out what is missing, to say it well."""
    defaults: dict[Rule, Any] = {
        "required": inspect.Parameter.empty,
        "optional": None,
        "repeated": [],
    }
    return inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults[field.rule],
                annotation=Int32 if field.type is int else typing.get_args(hints[name])[0],
            )
            for name, field in cls.FIELDS.items()
        ]
    )


def _clash(message: str, oneof: str, one: str, two: str) -> NoReturn:
    raise ValidationError(
        f"{message}: {one!r} and {two!r} are both set, but {oneof} holds at most one"
    )


def compile_source(source: str, scope: dict[str, Any], name: str) -> None:
    """Run source made from the schema, functions, in `scope`; tracebacks show its lines."""
    filename = f"<scriptschema {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), scope)  # noqa: S102  # there is no outside text in it
