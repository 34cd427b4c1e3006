"""The schema for protobuf's own tools: the `.proto` file and descriptors, without protoc.

Source: the Protocol Buffers manual, "Language Guide (proto 2)"; descriptor.proto.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from scriptschema.base import Message
from scriptschema.messages import Schema, schema
from scriptschema.versions import Version

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

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


def file_descriptor_set(luau: str | Version | None = None) -> bytes:
    """Return the schema as an encoded `google.protobuf.FileDescriptorSet` that contains one file.

    `luau` is as in `proto_source`.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    data: bytes = FileDescriptorSet(file=[file_descriptor(schema(luau))]).SerializeToString()
    return data


def file_descriptor(version_schema: Schema, *, strings: bool = True) -> FileDescriptorProto:
    """Return the descriptor of the `.proto` file.

    If `strings` is false, string fields are declared as bytes, because not all values are UTF-8.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    descriptor = FileDescriptorProto(name=f"{PACKAGE}.proto", package=PACKAGE)
    for name, cls in version_schema.messages.items():
        message = descriptor.message_type.add(name=name)
        for info in version_schema.fields[cls].values():
            type_name = "bytes" if info.type is str and not strings else info.type_name
            is_enum = issubclass(info.type, IntEnum)
            add_field(
                message, info.schema_name, info.tag, info.oneof or info.rule, type_name, is_enum
            )
        for enum in _enums(version_schema, cls):
            add_enum(message, enum.__name__, enum)
    return descriptor


def add_field(
    message: DescriptorProto, name: str, tag: int, rule: str, type_name: str, is_enum: bool
) -> None:
    """Add a field to the descriptor of a message. `rule` can also be the name of its oneof."""
    in_oneof = rule not in ("required", "optional", "repeated")
    field = message.field.add(name=name, number=tag)
    field.label = field.Label.Value(f"LABEL_{'OPTIONAL' if in_oneof else rule.upper()}")
    if in_oneof:
        field.oneof_index = 0
        if not message.oneof_decl:
            message.oneof_decl.add(name=rule)
    if type_name.islower():  # a scalar type
        field.type = field.Type.Value(f"TYPE_{type_name.upper()}")
    else:
        field.type = field.TYPE_ENUM if is_enum else field.TYPE_MESSAGE
        field.type_name = f".{PACKAGE}.{type_name}"


def add_enum(
    owner: FileDescriptorProto | DescriptorProto, name: str, members: Iterable[IntEnum]
) -> None:
    """Add an enum to the descriptor of a file or of a message."""
    enum = owner.enum_type.add(name=name)
    for member in members:
        enum.value.add(name=member.name, number=member.value)
