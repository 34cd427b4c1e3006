"""Reads and writes ProtoJSON, protobuf's mapping to JSON. The reader is strict.

A message becomes an object, a repeated field an array, an enum value its name, and an int64 a
string. Unset fields are left out. The reader also accepts the other forms that the mapping allows:
names in lowerCamelCase, `null` for unset fields, an int32 as `1.0` or `"1"`, an enum value as a
number. Anything else is an error whose message includes the path to the value. Protobuf's Python
library, in contrast, accepts `[]` as an empty message and `true` as a double, and truncates 1.5 to
an enum value.

Source: the Protocol Buffers manual, "ProtoJSON Format"; RFC 8259.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Any, Final, Literal, NoReturn, TypeVar

from scriptschema import wire
from scriptschema.base import INTEGERS, FieldInfo, Int64, Message, Path, short, walk
from scriptschema.codec.errors import FormatError, clipped
from scriptschema.messages import Schema, schema
from scriptschema.versions import Version

Unknown = Literal["drop", "error"]
MessageT = TypeVar("MessageT", bound=Message)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def to_json(message: Message, *, luau: str | Version | None = None) -> str:
    """Return the message in protobuf's JSON mapping, with the schema's field names.

    `luau` is the version of the schema, or None for the original. Raises FormatError for a string
    that is not UTF-8, and wire.EncodeError for a tree that cannot be encoded.
    """
    # Raises errors about the tree, and ensures that it is not too deep for the code below.
    wire.encode(message, luau=luau)
    for node, path in walk(message):
        for name, field in node.ALL_FIELDS.items():
            if field.type is str and _SURROGATE.search(getattr(node, name) or ""):
                raise FormatError(
                    f"{Path(path, name)}: the string is not valid UTF-8, so JSON cannot "
                    "represent it: use text or binary"
                )
    return json.dumps(_plain(message), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        result = {}
        for name, field in value.ALL_FIELDS.items():
            part = getattr(value, name)
            if part is not None and part != []:
                result[field.schema_name] = str(part) if field.type is Int64 else _plain(part)
        return result
    if isinstance(value, float) and not math.isfinite(value):
        return next(name for name, number in _NO_DIGITS.items() if repr(number) == repr(value))
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.name if isinstance(value, IntEnum) else value


_NO_DIGITS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The strings for the doubles that JSON numbers cannot represent."""


def from_json(
    cls: type[MessageT],
    text: str | bytes,
    *,
    unknown: Unknown = "error",
    luau: str | Version | None = None,
) -> MessageT:
    """Return the message of class `cls` that `text` describes in protobuf's JSON mapping.

    Fields and enum values that are not in the schema are an error, or are dropped with
    `unknown="drop"`. `luau` is the version of the schema, or None for the original.

    Raises FormatError unless `text` describes a complete message that is nested at most 100 levels
    deep. The error gives the path, the line and column if the text is not JSON, or the byte if it
    is not UTF-8. It gives no location for a bare `NaN` or `Infinity`, or for JSON that is nested
    too deeply for the `json` module. Raises TypeError if that version has no message class `cls`.
    """
    drop = not wire.refuses(unknown)
    version_schema = schema(luau)
    version_schema.require(cls)
    too_deep = FormatError(f"messages are nested more than {wire.MAX_DEPTH} levels deep")
    try:
        data = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            object_pairs_hook=_Object,
            parse_constant=_no_number,
            parse_int=_integer,
        )
        reader = _Reader(version_schema, drop=drop)
        message = reader.message(cls, data, Path(), 0)
    except _Refused as error:
        raise FormatError(clipped(str(error))) from None
    except json.JSONDecodeError as error:
        raise FormatError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"byte {error.start}: not valid UTF-8") from None
    except RecursionError:
        raise too_deep from None
    return message


class _Refused(Exception):  # noqa: N818  # becomes a FormatError
    """Raised if the reader rejects a value."""


class _Object(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, so that duplicate names are detected."""


def _no_number(text: str) -> NoReturn:
    raise _Refused(f"{text} is not a JSON number")


def _integer(text: str) -> int | float:
    # Python refuses to read very long integers; no field's integer is longer than this.
    return int(text) if len(text) < 100 else float(text)


@cache
def _names(schema: Schema, cls: type[Message]) -> dict[str, FieldInfo]:
    names = {}
    for field in schema.fields[cls].values():
        name = field.schema_name
        camel = re.sub("_(.)", lambda match: match[1].upper(), name)
        names[camel] = names[name] = field
    return names


class _Reader:
    """Converts values parsed by the `json` module to messages."""

    def __init__(self, schema: Schema, *, drop: bool) -> None:
        self.schema = schema
        self.drop = drop

    def message(self, cls: type[MessageT], data: Any, path: Path, depth: int) -> MessageT:
        if depth > wire.MAX_DEPTH:
            _refuse(path, f"messages are nested more than {wire.MAX_DEPTH} levels deep")
        if not isinstance(data, _Object):
            _refuse(path, f"{cls.__name__} must be an object, found {_shown(data)}")
        names = _names(self.schema, cls)
        arguments: dict[str, Any] = {}
        seen = set()
        for key, value in data:
            field = names.get(key)
            if field is None:
                if not self.drop:
                    fields = self.schema.fields[cls].values()
                    listed = ", ".join(field.schema_name for field in fields)
                    _refuse(
                        path, f"{cls.__name__} has no field {short.repr(key)}; available: {listed}"
                    )
                continue
            if field.name in seen:
                _refuse(path, f"duplicate field {cls.__name__}.{field.schema_name}")
            seen.add(field.name)
            if value is None:
                continue
            read = self.field(field, value, path, depth)
            if read is not None:
                arguments[field.name] = read
        try:
            return cls(**arguments)
        except ValueError as error:  # a required field is missing, or two alternatives are set
            _refuse(path, str(error))

    def field(self, field: FieldInfo, data: Any, path: Path, depth: int) -> Any:
        """Return the field's value, or None if it is an unknown enum value."""
        if field.rule != "repeated":
            return self.value(field, data, Path(path, field.schema_name), depth)
        if data.__class__ is not list:
            _refuse(
                Path(path, field.schema_name),
                f"{field.message}.{field.schema_name} must be an array, found {_shown(data)}",
            )
        values = [
            self.value(field, item, Path(path, field.schema_name, index), depth)
            for index, item in enumerate(data)
        ]
        return [value for value in values if value is not None]

    def value(self, field: FieldInfo, data: Any, path: Path, depth: int) -> Any:
        if field.is_message:
            return self.message(field.type, data, path, depth + 1)
        if issubclass(field.type, IntEnum):
            return self.enum(field, data, path)
        return _SCALARS[field.type](field, data, path)

    def enum(self, field: FieldInfo, data: Any, path: Path) -> IntEnum | None:
        enum: type[IntEnum] = field.type
        if isinstance(data, str):
            member = enum.__members__.get(data)
        else:
            number = _whole(field, data, path)
            member = next((member for member in enum if member == number), None)
        if member is None and not self.drop:
            _refuse(path, f"{field.type_name} has no value {_shown(data)}")
        return member


_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def _whole(field: FieldInfo, data: Any, path: Path) -> int:
    value = data
    if isinstance(data, str) and _NUMBER.fullmatch(data):
        value = float(data) if len(data) > 20 or not data.lstrip("-").isdigit() else int(data)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        _refuse(path, f"must be {field.type_name}, found {_shown(data)}")
    least, most = INTEGERS.get(field.type, INTEGERS[int])  # an enum's value is an int32
    if not least <= value <= most:
        name = field.type_name if field.type in INTEGERS else "int32"
        _refuse(path, f"must be in {name}'s range {least}..{most}, found {_shown(data)}")
    return value


def _double(_field: FieldInfo, data: Any, path: Path) -> float:
    if isinstance(data, str) and data in _NO_DIGITS:
        return _NO_DIGITS[data]
    if isinstance(data, str) and not _NUMBER.fullmatch(data):
        _refuse(path, f"must be a double, found {_shown(data)}")
    if isinstance(data, bool) or not isinstance(data, int | float | str):
        _refuse(path, f"must be a double, found {_shown(data)}")
    value = float(data)
    if math.isinf(value):
        _refuse(path, f"must be in the range of a double, found {_shown(data)}")
    return value


def _bool(_field: FieldInfo, data: Any, path: Path) -> bool:
    if not isinstance(data, bool):
        _refuse(path, f"must be true or false, found {_shown(data)}")
    return data


def _string(_field: FieldInfo, data: Any, path: Path) -> str:
    if not isinstance(data, str):
        _refuse(path, f"must be a string, found {_shown(data)}")
    if _SURROGATE.search(data):
        _refuse(path, "unpaired surrogate, which represents no character")
    return data


_SCALARS: Final[dict[type, Callable[[FieldInfo, Any, Path], Any]]] = {
    int: _whole,
    Int64: _whole,
    float: _double,
    bool: _bool,
    str: _string,
}


def _shown(data: Any) -> str:
    if isinstance(data, _Object):
        return "an object"
    if isinstance(data, list):
        return "an array"
    return json.dumps(data) if data is None or isinstance(data, bool) else short.repr(data)


def _refuse(path: Path, reason: str) -> NoReturn:
    raise _Refused(f"{path}: {reason}" if path else reason)
