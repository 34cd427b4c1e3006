"""Turns each declaration in `messages.py` into a class.

`@message` creates a class with slots. When all classes exist, `complete` reads the annotations. The
`__init__` of a class is compiled on its first call. The attrs fields, the signature and
pure-protobuf's descriptors of a class are created on first use.
"""

from __future__ import annotations

import inspect
import linecache
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final, NoReturn, TypeVar

import attrs
from pure_protobuf.annotations import Field, double

from scriptschema.base import (
    INTEGERS,
    MISSING,
    FieldInfo,
    Int32,
    Int64,
    Message,
    OneOf,
    Rule,
    ValidationError,
)
from scriptschema.versions import Version

MessageT = TypeVar("MessageT", bound=Message)


class _Parts:
    """Replaces `Annotated` while fields are read: typing's own objects take five times as long."""

    def __class_getitem__(cls, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return parts


class _Alternative:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, message: Any, owner: type) -> Any:
        if message is None:
            return self
        return message.alternative if message.which == self.name else None


def message(cls: type[MessageT]) -> type[MessageT]:
    """Turn a declaration in `messages.py` into an attrs class with slots (a class decorator)."""
    namespace = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
    oneof = next((name for name, value in namespace.items() if isinstance(value, OneOf)), None)
    attributes = {}
    slots = []
    for name, hint in namespace.get("__annotations__", {}).items():
        attributes[name] = namespace.pop(name, attrs.NOTHING)
        if "one_of=" in hint:  # annotations are strings until `complete`
            namespace[name] = _Alternative(name)
        else:
            slots.append(name)
    if oneof:
        slots += ["which", "alternative"]
        namespace.pop("which")  # declared for type checkers only; the slot replaces it
    namespace |= {"__slots__": tuple(slots), "_slots": tuple(slots), "ONEOF": oneof}
    namespace["_defaults"] = attributes
    # mypy does not understand a call of a metaclass.
    new_class: type[MessageT] = type(cls)(cls.__name__, cls.__bases__, namespace)  # type: ignore[misc]
    return new_class


def complete(module: types.ModuleType, sources: Mapping[str, str]) -> dict[str, type[Message]]:
    """Finish the messages in `module`. Return them by name, in the order of their declaration.

    All messages must already exist, because they refer to each other. `sources` is as in
    `messages.SOURCES`.
    """
    names = {**vars(module), "Annotated": _Parts}
    origin = ""
    messages: dict[str, type[Message]] = {
        name: value
        for name, value in names.items()
        if isinstance(value, type) and issubclass(value, Message) and value is not Message
    }
    for name, cls in messages.items():
        origin = sources.get(name, origin)
        # In one call: compiling each annotation separately would take longer than all the rest.
        annotations = cls.__annotations__
        source = f"[{','.join(annotations.values())}]"
        values = eval(source, names, dict(vars(cls)))  # noqa: S307  # from `messages.py`
        hints = dict(zip(annotations, values, strict=True))
        fields = [_field_info(cls, name, hint) for name, hint in hints.items()]
        fields.sort(key=attrgetter("tag"))
        cls.ALL_FIELDS = types.MappingProxyType({field.name: field for field in fields})
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + _describe(fields, origin)
        cls._child_slots = _child_slots(fields)
        cls._newer_slots = tuple(
            (field.name, field.rule == "repeated")
            for field in fields
            if field.since and not field.oneof
        )
        cls.__init__ = _init_on_demand(cls)  # type: ignore[method-assign]
        cls._on_demand = {
            "_hints": partial(_hints, cls, hints),
            "__signature__": partial(_signature, cls, hints),
            "__attrs_attrs__": partial(_attributes, cls),
            "_unchecked": partial(_unchecked, cls),
        }
    return messages


def _field_info(cls: type[Message], name: str, hint: tuple[Any, ...]) -> FieldInfo:
    """Return the field that an annotation such as `Annotated[Expr | None, Field(2)]` declares."""
    inner, *metadata = hint
    [field] = (entry for entry in metadata if isinstance(entry, Field))
    rule: Rule = "required"
    if typing.get_origin(inner) is list:
        rule = "repeated"
        [inner] = typing.get_args(inner)
    elif typing.get_origin(inner) is types.UnionType:
        rule = "optional"
        [inner] = (part for part in typing.get_args(inner) if part is not types.NoneType)
    if Int64 in metadata:
        inner = Int64
    oneof = cls.ONEOF if field.one_of is not None else None
    since = next((entry for entry in metadata if isinstance(entry, Version)), None)
    return FieldInfo(cls.__name__, name, field.number, rule, inner, oneof, since)


def _describe(fields: Sequence[FieldInfo], source: str) -> str:
    lines = [
        f"    {field.name}: {field.type_name}, "
        + (f"one of {field.oneof}" if field.oneof else field.rule)
        + f", tag {field.tag}"
        + (f", since Luau {field.since}" if field.since else "")
        for field in fields
    ]
    return f"\n\nSource: {source}\n\nFields:\n" + "\n".join(lines or ["    none"]) + "\n"


def _child_slots(fields: Sequence[FieldInfo]) -> tuple[tuple[str, bool], ...]:
    """Return (slot, is_list) for each slot that holds messages, last tag first."""
    slots = {
        ("alternative" if field.oneof else field.name): field.rule == "repeated"
        for field in fields
        if field.is_message
    }
    return tuple(reversed(slots.items()))


def _init_on_demand(cls: type[Message]) -> Callable[..., None]:
    # Compiling every `__init__` during the import would take a tenth of the import time.
    def init(self: Message, *values: Any, **fields: Any) -> None:
        compiled = cls.__init__ = _compile_init(cls)  # type: ignore[method-assign]
        compiled(self, *values, **fields)

    return init


def _compile_init(cls: type[Message]) -> Callable[..., None]:
    scope: dict[str, Any] = {"MISSING": MISSING, "clash": _clash}
    parameters = []
    body = []
    if cls.ONEOF:
        body.append("which = alternative = None")
    for field in cls.ALL_FIELDS.values():
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
        elif field.rule == "optional" and field.since:
            body += [f"if {name} is not None:", f"    check_{name}({name})"]
        elif field.type in (*INTEGERS, bool):
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


def _hints(cls: type[Message], hints: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Return the annotations for pure-protobuf, whose `float` has 32 bits."""
    return {
        name: Annotated[double if cls.ALL_FIELDS[name].type is float else inner, *metadata]
        for name, (inner, *metadata) in hints.items()
    }


def _signature(cls: type[Message], hints: Mapping[str, tuple[Any, ...]]) -> inspect.Signature:
    # The compiled `__init__` has defaults for required fields too: it reports missing arguments
    # itself.
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
                annotation=Int32 if field.type is int else hints[name][0],
            )
            for name, field in cls.ALL_FIELDS.items()
        ]
    )


def _unchecked(cls: type[Message]) -> type[Any]:
    """Return a class with the slots of `cls`, but without checks, for objects being filled."""
    return type(
        cls.__name__,
        (Message,),
        {
            "__slots__": cls._slots,
            "__init__": object.__init__,
            # CPython has one slot for both, so both are replaced. Assignment is four times as fast.
            "__setattr__": object.__setattr__,
            "__delattr__": object.__delattr__,
            "__doc__": f"A {cls.__name__} that is still being filled in, before its class is set.",
        },
    )


def _attributes(cls: type[Message]) -> tuple[attrs.Attribute[Any], ...]:
    fields = {
        name: value if isinstance(value, _AttrsField) else attrs.field(default=value)
        for name, value in cls._defaults.items()
    }
    holder = attrs.make_class(cls.__name__, fields, init=False, repr=False, eq=False, kw_only=True)
    attributes: tuple[attrs.Attribute[Any], ...] = attrs.fields(holder)
    parameters = inspect.signature(cls).parameters
    for attribute in attributes:
        object.__setattr__(attribute, "type", parameters[attribute.name].annotation)
    return attributes


_AttrsField: Final = type(attrs.field())


def _clash(message: str, oneof: str, first: str, second: str) -> NoReturn:
    raise ValidationError(
        f"{message}: {first!r} and {second!r} are both set, but only one field of {oneof} can be "
        "set"
    )


def compile_source(source: str, scope: dict[str, Any], name: str) -> None:
    """Run `source`, generated from the schema, in `scope`. Tracebacks show its lines."""
    filename = f"<scriptschema {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), scope)  # noqa: S102  # not from user input
