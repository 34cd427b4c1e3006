"""Converts trees to and from upstream's schema: Luau's own `luau.proto`, as of release 0.735.

Upstream's schema evolved from the original schema and is no longer compatible. For example, a call
became one of two messages, a type name became one of three, and the properties of table types have
different tags. So trees are converted, message by message, with protobuf's Python runtime. Fields
with the same name in both schemas are copied. The tables here list the messages that differ.
Anything that the other schema cannot represent is left out and reported.

Source: https://github.com/luau-lang/luau, `fuzz/luau.proto` at tag 0.735.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import attrs

from scriptschema import messages as m
from scriptschema import wire
from scriptschema.base import Message, Path
from scriptschema.codec.errors import FormatError, clipped
from scriptschema.interop.text import parse_text
from scriptschema.interop.upstream_schema import RELEASE, classes
from scriptschema.versions import TODAY


@attrs.frozen
class Omission:
    """A part of a tree that the other schema cannot represent.

    `path` is where the part is, and `what` says what was dropped, moved or replaced.
    """

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path or 'tree'}: {self.what}"


MessageT = TypeVar("MessageT", bound=Message)


def to_upstream(tree: Message, form: str = "binary") -> tuple[bytes, list[Omission]]:
    """Return the encoding of a tree in upstream's schema, and the omissions.

    `form` is `binary`, `text` or `json`. Raises wire.EncodeError for a tree that cannot be encoded.
    Raises FormatError if upstream's schema has no such message, if the converted tree is nested too
    deeply, or if JSON cannot represent one of its strings.
    """
    wire.encode(tree, luau=TODAY)  # raises an error if the tree is invalid
    cls = _class_of(type(tree), form)
    converter = _ToUpstream(strings=form == "json")
    theirs = cls()
    try:
        converter.write(tree, theirs, Path())
    except UnicodeEncodeError:
        raise FormatError("a string is not valid UTF-8, so JSON cannot represent it") from None
    data: bytes = theirs.SerializeToString(deterministic=True)
    _parsed(cls, data)
    if form == "text":
        from google.protobuf import text_format

        data = text_format.MessageToString(theirs).encode()
    elif form == "json":
        from google.protobuf import json_format

        printed = json_format.MessageToJson(theirs, preserving_proto_field_name=True)
        data = printed.encode() + b"\n"
    return data, converter.omissions


def from_upstream(
    cls: type[MessageT], data: bytes, form: str = "binary"
) -> tuple[MessageT, list[Omission]]:
    """Return the tree of class `cls` that `data` encodes in upstream's schema, and the omissions.

    Raises FormatError if `data` does not contain such a message, has unknown fields, or is nested
    more than 100 levels deep.
    """
    theirs = _class_of(cls, form)
    if form == "text":
        message = parse_text(theirs, data, "error")
    elif form == "json":
        from google.protobuf import json_format

        try:
            message = json_format.Parse(data, theirs())
        except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
            raise FormatError(clipped(str(error))) from None
    else:
        message = _parsed(theirs, data)
    if not message.IsInitialized():
        missing = ", ".join(message.FindInitializationErrors()[:3])
        raise FormatError(f"missing required fields: {clipped(missing)}")
    without_unknown = theirs()
    without_unknown.CopyFrom(message)
    without_unknown.DiscardUnknownFields()
    if without_unknown.ByteSize() != message.ByteSize():
        raise FormatError(f"the tree has fields that the upstream schema (Luau {RELEASE}) lacks")
    converter = _FromUpstream()
    tree: MessageT = converter.read(cls, message, Path())
    return tree, converter.omissions


def _class_of(cls: type[Message], form: str) -> Any:
    theirs = classes(strings=form == "json").get(cls.__name__)
    if theirs is None:
        raise FormatError(f"the upstream schema (Luau {RELEASE}) has no message {cls.__name__}")
    return theirs


def _parsed(cls: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return cls.FromString(data)
    except DecodeError:
        raise FormatError(
            "not a message of the upstream schema, or nested more than 100 levels deep"
        ) from None


class _Converter:
    def __init__(self) -> None:
        self.omissions: list[Omission] = []

    def report(self, path: Path, what: str) -> None:
        self.omissions.append(Omission(str(path), what))


class _ToUpstream(_Converter):
    def __init__(self, *, strings: bool) -> None:
        super().__init__()
        self.strings = strings

    def write(self, node: Any, into: Any, path: Path) -> None:
        special = _TO.get(node.__class__)
        if special is not None:
            special(self, node, into, path)
        else:
            self.fields(node, into, path)

    def fields(self, node: Any, into: Any, path: Path, *, skip: tuple[str, ...] = ()) -> None:
        their_fields = into.DESCRIPTOR.fields_by_name
        for name, field in node.ALL_FIELDS.items():
            value = getattr(node, name)
            if value is None or value == [] or name in skip:
                continue
            theirs = field.schema_name
            theirs = theirs if theirs in their_fields else _RENAMED.get(theirs, theirs)
            if theirs not in their_fields:
                self.report(path, f"{field.message}.{field.schema_name}: dropped")
            elif field.rule == "repeated":
                for index, item in enumerate(value):
                    self.write(item, getattr(into, theirs).add(), Path(path, name, index))
            elif field.is_message:
                getattr(into, theirs).SetInParent()
                self.write(value, getattr(into, theirs), Path(path, name))
            elif field.type is str:
                encoded = value if self.strings else value.encode("utf-8", "surrogateescape")
                setattr(into, theirs, encoded)
            else:
                setattr(into, theirs, value)


_RENAMED: Final = {"class": "extern"}


def _write_expression(writer: _ToUpstream, node: Any, into: Any, path: Path) -> None:
    if node.which == "cast":
        writer.report(path, "Expr.cast: dropped; its operand was kept")
        writer.write(node.alternative.expr, into, Path(Path(path, "cast"), "expr"))
    elif node.which == "instantiate":
        writer.report(path, f"{type(node).__name__}.instantiate: dropped; the function was kept")
        writer.write(node.alternative.expr, into, Path(Path(path, "instantiate"), "expr"))
    else:
        writer.fields(node, into, path)


def _write_call(writer: _ToUpstream, node: m.ExprCall, into: Any, path: Path) -> None:
    alone = node.args[0] if len(node.args) == 1 else None
    if node.parenless and not node.self_ and alone and alone.which in ("string", "table"):
        call = into.parenless
        call.func.SetInParent()
        writer.write(node.func, call.func, Path(path, "func"))
        argument = getattr(call, alone.which or "")
        argument.SetInParent()
        writer.write(alone.alternative, argument, Path(path, "args", 0))
        return
    if node.parenless:
        writer.report(path, "ExprCall.parenless: dropped")
    into.paren.SetInParent()
    writer.fields(node, into.paren, path, skip=("parenless",))


def _write_typename(writer: _ToUpstream, node: m.Typename, into: Any, path: Path) -> None:
    kind = node.kind if node.kind is not None else m.Typename.Kind.Regular
    if into.DESCRIPTOR.name == "TypeName":
        getattr(into, kind.name.lower()).index = node.index
        return
    into.index = node.index
    if node.kind is not None and not into.DESCRIPTOR.name.startswith(kind.name):
        writer.report(path, "Typename.kind: dropped")


def _write_class(writer: _ToUpstream, node: m.StatClass, into: Any, path: Path) -> None:
    writer.fields(node, into, path, skip=("members", "is_open", "extends"))
    if node.extends is not None:
        writer.report(path, "StatClass.extends: dropped")
    into.is_open = bool(node.is_open)
    # Upstream's schema requires a local and an instance: these are placeholders.
    into.local.name = 0
    into.inst.index = 0
    into.inst.firstArg.nil.SetInParent()
    for index, member in enumerate(node.members):
        here = Path(path, "members", index)
        if member.which is None:
            writer.report(here, "an empty class member: dropped")
        elif member.which == "method":
            writer.write(member.alternative, into.methods.add(), here)
        else:
            if into.methods:
                writer.report(here, "a property after a method: moved before it")
            writer.write(member.alternative, into.props.add(), here)


_TO: Final[dict[type[Message], Callable[[_ToUpstream, Any, Any, Path], None]]] = {
    m.Expr: _write_expression,
    m.ExprPrefix: _write_expression,
    m.ExprCall: _write_call,
    m.Typename: _write_typename,
    m.StatClass: _write_class,
}
"""The functions that write messages whose fields differ from upstream's."""


class _FromUpstream(_Converter):
    def read(self, cls: type[Message], message: Any, path: Path) -> Any:
        special = _FROM.get(cls)
        values = special(self, message, path) if special else self.fields(cls, message, path)
        return cls(**values)

    def fields(
        self, cls: type[Message], message: Any, path: Path, *, skip: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        ours = {field.schema_name: field for field in cls.ALL_FIELDS.values()}
        renamed = {theirs: our for our, theirs in _RENAMED.items()}
        values: dict[str, Any] = {}
        for descriptor, value in message.ListFields():
            field = ours.get(descriptor.name) or ours.get(renamed.get(descriptor.name, ""))
            if descriptor.name in skip:
                continue
            if field is None:
                self.report(path, f"{message.DESCRIPTOR.name}.{descriptor.name}: dropped")
            elif field.rule == "repeated":
                values[field.name] = [
                    self.read(field.type, item, Path(path, field.name, index))
                    for index, item in enumerate(value)
                ]
            elif field.is_message:
                values[field.name] = self.read(field.type, value, Path(path, field.name))
            elif isinstance(value, bytes):
                values[field.name] = value.decode("utf-8", "surrogateescape")
            else:
                values[field.name] = field.type(value) if field.type in _ENUM_TYPES else value
        return values


_ENUM_TYPES: Final = frozenset(m.schema(TODAY).enums.values())


def _read_call(reader: _FromUpstream, message: Any, path: Path) -> dict[str, Any]:
    which = message.WhichOneof("call_oneof")
    if which is None:
        reader.report(path, "an empty call: replaced by a call to an empty expression")
        return {"func": m.ExprPrefix(), "self_": False}
    if which == "paren":
        return reader.fields(m.ExprCall, message.paren, path)
    call = message.parenless
    values: dict[str, Any] = {
        "func": reader.read(m.ExprPrefix, call.func, Path(path, "func")),
        "self_": False,
        "parenless": True,
    }
    argument = call.WhichOneof("arg_oneof")
    if argument is None:
        reader.report(
            path,
            "a call with neither parentheses nor an argument: read as a call without arguments",
        )
    else:
        field = m.Expr.ALL_FIELDS[argument]
        inner = reader.read(field.type, getattr(call, argument), Path(path, "args", 0))
        values["args"] = [m.Expr(**{argument: inner})]
    return values


def _read_typename(reader: _FromUpstream, message: Any, path: Path) -> dict[str, Any]:
    if message.DESCRIPTOR.name != "TypeName":
        return {"index": message.index}
    which = message.WhichOneof("expr_oneof")
    if which is None:
        reader.report(path, "an empty type name: replaced by the first name in the table of types")
        return {"index": 0}
    kind = None if which == "regular" else m.Typename.Kind[which.capitalize()]
    return {"index": getattr(message, which).index, "kind": kind}


def _read_class(reader: _FromUpstream, message: Any, path: Path) -> dict[str, Any]:
    skipped = ("props", "methods", "is_open", "extends")
    values = reader.fields(m.StatClass, message, path, skip=skipped)
    values["is_open"] = message.is_open or None
    if message.HasField("extends"):
        reader.report(path, "StatClass.extends: dropped")
    here = Path(path, "members")
    values["members"] = [
        *(m.ClassMember(prop=reader.read(m.ClassProp, prop, here)) for prop in message.props),
        *(m.ClassMember(method=reader.read(m.ClassMethod, each, here)) for each in message.methods),
    ]
    return values


def _read_method(reader: _FromUpstream, message: Any, path: Path) -> dict[str, Any]:
    values = reader.fields(m.ClassMethod, message, path)
    values.setdefault("name", m.Name())
    if message.WhichOneof("name_oneof") is None:
        reader.report(path, "a method without a name: it gets the first name in the table of names")
    return values


_FROM: Final[dict[type[Message], Callable[[_FromUpstream, Any, Path], dict[str, Any]]]] = {
    m.ExprCall: _read_call,
    m.Typename: _read_typename,
    m.StatClass: _read_class,
    m.ClassMethod: _read_method,
}
"""The functions that read messages whose fields differ from upstream's."""
