"""The schema for protobuf's own tools: the `.proto` file and descriptors, without protoc.

Source: the Protocol Buffers manual, "Language Guide (proto 2)"; descriptor.proto.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Final

from pure_protobuf.annotations import Field
from pure_protobuf.message import BaseMessage

from scriptschema.base import FieldInfo, Int64, Message
from scriptschema.messages import Schema, schema
from scriptschema.versions import Version

PACKAGE: Final = "script"
"""The package name in the `.proto` file (section 2 of the specification)."""


def proto_source(luau: str | Version | None = None) -> str:
    """Return the schema as a `.proto` file that protoc can compile.

    If `luau` is a version such as `0.711` or `today`, the extension fields of that version are
    included. Raises ValueError for an unknown version.
    """
    version_schema = schema(luau)
    lines = ['syntax = "proto2";', "", f"package {PACKAGE};"]
    for name, cls in version_schema.messages.items():
        summary = (cls.__doc__ or "").partition("\n")[0]
        lines += ["", f"// {summary}", f"message {name} {{"]
        for enum in _enums(version_schema, cls):
            lines.append(f"  enum {enum.__name__} {{")
            lines += [f"    {member.name} = {member.value};" for member in enum]
            lines.append("  }")
        in_oneof = False
        for info in version_schema.fields[cls].values():
            if info.oneof and not in_oneof:
                lines.append(f"  oneof {info.oneof} {{")
            elif in_oneof and not info.oneof:
                lines.append("  }")
            in_oneof = info.oneof is not None
            start = "    " if in_oneof else f"  {info.rule} "
            type_name = info.type_name.removeprefix(f"{name}.")
            since = f"  // since Luau {info.since}" if info.since else ""
            lines.append(f"{start}{type_name} {info.schema_name} = {info.tag};{since}")
        lines += ["  }", "}"] if in_oneof else ["}"]
    return "\n".join([*lines, ""])


def _enums(version_schema: Schema, cls: type[Message]) -> list[type[IntEnum]]:
    return [
        enum
        for name, enum in version_schema.enums.items()
        if name == f"{cls.__name__}.{enum.__name__}"
    ]


# Descriptors: the part of descriptor.proto that the schema needs, written by pure-protobuf


@dataclass
class _EnumValue(BaseMessage):
    name: Annotated[str, Field(1)]
    number: Annotated[int, Field(2)]


@dataclass
class _Enum(BaseMessage):
    name: Annotated[str, Field(1)]
    value: Annotated[list[_EnumValue], Field(2)]


@dataclass
class _Field(BaseMessage):
    name: Annotated[str, Field(1)]
    number: Annotated[int, Field(3)]
    label: Annotated[int, Field(4)]
    type: Annotated[int, Field(5)]
    type_name: Annotated[str | None, Field(6)] = None
    oneof_index: Annotated[int | None, Field(9)] = None


@dataclass
class _Oneof(BaseMessage):
    name: Annotated[str, Field(1)]


@dataclass
class _Message(BaseMessage):
    name: Annotated[str, Field(1)]
    field: Annotated[list[_Field], Field(2)]
    enum_type: Annotated[list[_Enum], Field(4)]
    oneof_decl: Annotated[list[_Oneof], Field(8)]


@dataclass
class _File(BaseMessage):
    name: Annotated[str, Field(1)]
    package: Annotated[str, Field(2)]
    message_type: Annotated[list[_Message], Field(4)]


@dataclass
class _FileSet(BaseMessage):
    file: Annotated[list[_File], Field(1)] = field(default_factory=list)


LABELS: Final = {"optional": 1, "required": 2, "repeated": 3}
TYPE_NUMBERS: Final[dict[type, int]] = {float: 1, Int64: 3, int: 5, bool: 8, str: 9}
_TYPE_MESSAGE: Final = 11
TYPE_BYTES: Final = 12
_TYPE_ENUM: Final = 14


def file_descriptor_set(luau: str | Version | None = None) -> bytes:
    """Return the schema as an encoded `google.protobuf.FileDescriptorSet` that contains one file.

    `luau` is as in `proto_source`.
    """
    return bytes(_FileSet([file_descriptor(schema(luau), TYPE_NUMBERS)]))


def file_descriptor(version_schema: Schema, type_numbers: dict[type, int]) -> _File:
    """Return the descriptor of the `.proto` file.

    `type_numbers` maps each scalar type to its number in descriptors.
    """
    descriptor = _File(f"{PACKAGE}.proto", PACKAGE, [])
    for name, cls in version_schema.messages.items():
        fields = version_schema.fields[cls].values()
        enums = _enums(version_schema, cls)
        descriptor.message_type.append(
            _Message(
                name,
                [_field_descriptor(info, type_numbers) for info in fields],
                [
                    _Enum(enum.__name__, [_EnumValue(m.name, m.value) for m in enum])
                    for enum in enums
                ],
                [_Oneof(cls.ONEOF)] if cls.ONEOF else [],
            )
        )
    return descriptor


def _field_descriptor(info: FieldInfo, type_numbers: dict[type, int]) -> _Field:
    number = type_numbers.get(info.type)
    return _Field(
        info.schema_name,
        info.tag,
        LABELS[info.rule],
        number or (_TYPE_MESSAGE if info.is_message else _TYPE_ENUM),
        None if number else f".{PACKAGE}.{info.type_name}",
        0 if info.oneof else None,
    )
