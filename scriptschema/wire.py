"""proto2 binary: `encode` a message to bytes, `decode` bytes to a message.

Two readers and two writers, all derived from the messages' fields:

- The fast ones are functions compiled from the schema, one pair a message. They know only the
  canonical form that every protobuf runtime writes (fields in tag order, each as it should be), and
  give up at anything else: damage, unknown fields, a field given twice, too deep a tree.
- The careful ones then start over. They are plain loops with a stack of their own, take any input
  and any depth, and follow protobuf's upb runtime to the letter: what it accepts they accept, with
  the same result, and what it refuses they refuse, with the place and the reason.

So time and memory are linear in the input: at most one fast pass and one careful one. Measured on
1 kB to 1 MB: programs take 0.5 microseconds and 25 bytes of memory a byte of input; the worst case,
empty statements of two bytes each with damage at the end, 12 microseconds and 190 bytes.

pure-protobuf's interface of the messages (`bytes(m)`, `m.dumps()`, `m.write_to(io)`, `M.loads(b)`,
`M.read_from(io)`) comes here too.

Source: the Protocol Buffers manual, "Encoding"; specification 2, 8 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, Literal, TypeVar

from scriptschema.base import (
    INT32_MAX,
    FieldInfo,
    Message,
    Path,
    ValidationError,
    compile_source,
    walk,
)
from scriptschema.messages import ENUMS, MESSAGES

MAX_DEPTH: Final = 100
"""How deep protobuf's C++ and upb runtimes let messages nest below the outermost one."""

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
GROUP: Final = 3
END_GROUP: Final = 4
FIXED32: Final = 5

MessageT = TypeVar("MessageT", bound=Message)


class WireError(ValueError):
    """A message that cannot be encoded or bytes that cannot be decoded.

    `path` is the path of fields to the place (empty for the outermost message), `reason` what is
    wrong there.
    """

    path: str
    reason: str


class EncodeError(WireError):
    """A tree that has no encoding: see `path` and `reason`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{clipped(self.path)}: {self.reason}" if self.path else self.reason


class DecodeError(WireError):
    """Bytes that are no encoding of the message: see `offset` (in bytes), `path` and `reason`."""

    def __init__(self, offset: int, path: str, reason: str) -> None:
        super().__init__(offset, path, reason)
        self.offset = offset
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        where = f", {clipped(self.path)}" if self.path else ""
        return f"byte {self.offset}{where}: {self.reason}"


def clipped(text: str) -> str:
    """The text, a path or a reason, without its middle where it is very long."""
    return text if len(text) <= 500 else f"{text[:240]} ... {text[-240:]}"


def encode(message: Message, *, max_depth: int = MAX_DEPTH) -> bytes:
    """Return the canonical encoding: what protobuf's runtimes write with deterministic output.

    Fields come in tag order, varints are minimal, a negative int32 takes ten bytes, and a string's
    lone surrogates (from bytes that were not UTF-8) become those bytes again.

    Raises EncodeError if messages nest more than `max_depth` deep below `message`, a list holds
    something that does not belong there, or a string holds a surrogate that stands for no byte.

    >>> from scriptschema import messages, wire
    >>> wire.encode(messages.Local(name=300)).hex()
    '08ac02'
    """
    parts: list[bytes] = []
    try:
        _encoders()[message.__class__](message, parts.append, max_depth)
    except (_Unusual, RecursionError, UnicodeEncodeError, AttributeError, KeyError):
        parts = _encode_carefully(message, max_depth)
    parts.reverse()
    return b"".join(parts)


def decode(
    cls: type[MessageT],
    data: bytes | bytearray | memoryview,
    *,
    max_depth: int = MAX_DEPTH,
    unknown: Literal["drop", "error"] = "drop",
) -> MessageT:
    """Return the message of class `cls` that `data` encodes.

    Fields that the schema does not know, and unknown values of enums, are dropped, or refused with
    `unknown="error"`. Strings that are not UTF-8 keep their bytes as lone surrogates.

    Raises DecodeError, and nothing else, for bytes that protobuf's upb runtime refuses: damage of
    any kind, a required field that is missing anywhere, messages that nest more than `max_depth`
    deep below the outermost one.

    >>> from scriptschema import messages, wire
    >>> wire.decode(messages.Local, bytes.fromhex("08ac02"))
    Local(name=300)
    >>> wire.decode(messages.Local, bytes.fromhex("08"))
    Traceback (most recent call last):
    scriptschema.wire.DecodeError: byte 1, name: the value is cut off
    """
    if unknown not in ("drop", "error"):
        raise ValueError(f"unknown must be 'drop' or 'error', not {unknown!r}")
    if cls not in _REQUIRED:
        raise TypeError(f"not a message class: {getattr(cls, '__qualname__', cls)}")
    if data.__class__ is not bytes:
        data = bytes(memoryview(data))  # not what `bytes` takes beside: a number, a list
    try:
        message: MessageT = _decoders()[cls](data, 0, len(data), max_depth)
    except (_Unusual, RecursionError, IndexError, KeyError, TypeError):
        # TypeError: near the recursion limit, Python cannot compare classes when one is assigned.
        return _decode_carefully(cls, data, max_depth, refuse_unknown=unknown == "error")
    return message


class _Unusual(Exception):  # noqa: N818  # not an error: it never leaves this module
    """The fast functions leave this to the careful ones."""


# The careful reader

_NO_GROUP: Final = -1


def _decode_carefully(
    cls: type[MessageT], data: bytes, max_depth: int, *, refuse_unknown: bool
) -> MessageT:
    root: MessageT = _empty(cls)
    starts = {id(root): 0}
    # A frame is a message that is being read, or an unknown group (then with its number).
    frames: list[tuple[Message, Path, int, int]] = [(root, Path(), len(data), _NO_GROUP)]
    position = 0
    while frames:
        message, path, end, group = frames[-1]
        if position == end:
            if group != _NO_GROUP:
                raise DecodeError(position, str(path), f"group {group} has no end")
            frames.pop()
            continue
        start = position
        tag, position = _read_tag(data, position, end, path)
        number, wire_type = tag >> 3, tag & 7
        in_group = group != _NO_GROUP
        if number == 0 and not in_group and message.FIELDS:
            # upb minds the number only where it looks fields up.
            raise DecodeError(start, str(path), "there is no field 0")
        field = None if in_group else _FIELDS_BY_TAG[message.__class__].get(tag)
        if field is None:
            if refuse_unknown and not in_group and wire_type != END_GROUP:
                known = next((f for f in message.FIELDS.values() if f.tag == number), None)
                what = f"field {number} is unknown"
                if known:
                    what = f"field {number} ({known.name}) has the wrong wire type {wire_type}"
                raise DecodeError(start, str(path), f"{type(message).__name__}: {what}")
            if wire_type == GROUP:
                if len(frames) > max_depth:
                    raise _too_deep(start, path, max_depth)
                frames.append((message, path, end, number))
            elif wire_type == END_GROUP:
                if number != group:
                    raise DecodeError(start, str(path), f"end of group {number} that is not open")
                frames.pop()
            else:
                position = _skip(data, position, end, wire_type, path)
            continue
        here = Path(path, field.name)
        if field.is_message:
            size_at = position
            if field.rule == "repeated":
                siblings = getattr(message, field.name)
                here = Path(path, field.name, len(siblings))
                child = _empty(field.type)
                siblings.append(child)
            else:
                child = getattr(message, field.name)
                if child is None:
                    child = _empty(field.type)
                    _fill(message, field, child)
            size, position = _read_length(data, position, end, here)
            if len(frames) > max_depth:
                raise _too_deep(start, here, max_depth)
            starts[id(child)] = size_at
            frames.append((child, here, position + size, _NO_GROUP))
        elif field.type is str:
            size, position = _read_length(data, position, end, here)
            text = data[position : position + size].decode("utf-8", "surrogateescape")
            _fill(message, field, text)
            position += size
        else:
            number, position = _read_varint(data, position, end, here)
            value: Any = bool(number) if field.type is bool else _int32(number)
            if field.type not in (bool, int):
                if value in _ENUM_VALUES[field.type]:
                    value = field.type(value)
                elif refuse_unknown:
                    reason = f"{value} is no value of {field.type_name}"
                    raise DecodeError(start, str(here), reason)
                else:
                    continue
            _fill(message, field, value)
    for message, path in walk(root):
        for name in _REQUIRED[message.__class__]:
            if getattr(message, name) is None:
                reason = message.FIELDS[name].missing
                raise DecodeError(starts[id(message)], str(path), reason)
    return root


def _empty(cls: type[Any]) -> Any:
    """A message without any field, not even the required ones."""
    message = cls._unchecked()
    for slot in cls._slots:
        setattr(message, slot, None)
    for name in _REPEATED[cls]:
        setattr(message, name, [])
    message.__class__ = cls
    return message


def _fill(message: Message, field: FieldInfo, value: Any) -> None:
    """Assign a value that is known to be right, while other fields may be missing."""
    if field.oneof:
        object.__setattr__(message, "which", field.name)
        object.__setattr__(message, "alternative", value)
    else:
        object.__setattr__(message, field.name, value)


def _too_deep(offset: int, path: Path, max_depth: int) -> DecodeError:
    return DecodeError(offset, str(path), f"messages nest more than {max_depth} deep")


def _read_varint(data: bytes, position: int, end: int, path: Path) -> tuple[int, int]:
    """Read up to ten bytes; the value is cut to 64 bits."""
    value = 0
    for index in range(10):
        if position + index >= end:
            raise DecodeError(position, str(path), "the value is cut off")
        byte = data[position + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position + index + 1
    raise DecodeError(position, str(path), "a varint of more than 10 bytes")


def _read_tag(data: bytes, position: int, end: int, path: Path) -> tuple[int, int]:
    value = 0
    for index in range(5):
        if position + index >= end:
            raise DecodeError(position, str(path), "the tag is cut off")
        byte = data[position + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            if value >> 32:
                break
            return value, position + index + 1
    raise DecodeError(position, str(path), "a tag of more than 32 bits")


def _read_length(data: bytes, position: int, end: int, path: Path) -> tuple[int, int]:
    """Read the length of a field and check that so many bytes follow before `end`."""
    size, after = _read_varint(data, position, end, path)
    if after - position > 5 or size > INT32_MAX:
        raise DecodeError(position, str(path), "a length of more than 31 bits")
    if size > end - after:
        reason = f"length {size} runs past the end ({end - after} bytes left)"
        raise DecodeError(position, str(path), reason)
    return size, after


def _skip(data: bytes, position: int, end: int, wire_type: int, path: Path) -> int:
    """The position after an unknown field's value."""
    if wire_type == VARINT:
        return _read_varint(data, position, end, path)[1]
    if wire_type == LENGTH:
        size, position = _read_length(data, position, end, path)
        return position + size
    if wire_type not in (FIXED32, FIXED64):
        raise DecodeError(position - 1, str(path), f"there is no wire type {wire_type}")
    size = 4 if wire_type == FIXED32 else 8
    if size > end - position:
        reason = f"a value of {size} bytes runs past the end ({end - position} bytes left)"
        raise DecodeError(position, str(path), reason)
    return position + size


def _int32(value: int) -> int:
    """The low 32 bits as a signed number."""
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


# The careful writer


def _encode_carefully(root: Message, max_depth: int) -> list[bytes]:
    """The parts of the encoding, last part first."""
    if not isinstance(root, Message):
        raise EncodeError("", f"not a message: {root.__class__.__qualname__}")
    parts: list[bytes] = []
    # A frame: the message's path, the fields that are still to be written (the last tag first), the
    # tag and length to write before it (made when its size is known), and its size so far.
    frames: list[tuple[Path, Iterator[tuple[FieldInfo, Any, Path]], FieldInfo | None, list[int]]]
    frames = [(Path(), _set_fields(root, Path()), None, [0])]
    while frames:
        path, fields, owner, size = frames[-1]
        for field, value, here in fields:
            try:
                if here.index is None:
                    field.check(value)
                else:
                    field.check_item(value, f"[{here.index}]")
                encoded = b"" if field.is_message else _scalar_bytes(field, value)
            except ValidationError as error:
                raise EncodeError(str(path), str(error)) from None
            if field.is_message:
                if len(frames) > max_depth:
                    raise EncodeError(str(here), f"messages nest more than {max_depth} deep")
                frames.append((here, _set_fields(value, here), field, [0]))
                break
            parts.append(encoded)
            size[0] += len(encoded)
        else:
            frames.pop()
            if owner is not None:
                prefix = _tag_bytes(owner) + varint_bytes(size[0])
                parts.append(prefix)
                frames[-1][3][0] += size[0] + len(prefix)
    return parts


def _set_fields(message: Message, path: Path) -> Iterator[tuple[FieldInfo, Any, Path]]:
    """The values that are set, last tag first, items of lists singly, with their paths."""
    for field in reversed(list(message.FIELDS.values())):
        value = getattr(message, field.name, None)
        if field.rule == "repeated":
            if not isinstance(value, list):
                raise EncodeError(str(path), f"{field.message}.{field.name} is no list")
            for index in range(len(value) - 1, -1, -1):
                yield field, value[index], Path(path, field.name, index)
        elif value is not None or field.rule == "required":
            yield field, value, Path(path, field.name)


def _scalar_bytes(field: FieldInfo, value: Any) -> bytes:
    """The field's tag and value."""
    if field.type is not str:
        return _tag_bytes(field) + varint_bytes(value)
    try:
        text: bytes = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValidationError(
            f"{field.message}.{field.name} holds a surrogate that stands for no byte "
            f"(U+{ord(value[error.start]):04X} at index {error.start})"
        ) from None
    return _tag_bytes(field) + varint_bytes(len(text)) + text


def varint_bytes(value: int) -> bytes:
    """The integer as a varint; a negative one takes ten bytes."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _names(cls: type[Message], rule: str) -> tuple[str, ...]:
    return tuple(field.name for field in cls.FIELDS.values() if field.rule == rule)


def _tag(field: FieldInfo) -> int:
    """The field's number and wire type."""
    return field.tag << 3 | (LENGTH if field.is_message or field.type is str else VARINT)


def _tag_bytes(field: FieldInfo) -> bytes:
    return varint_bytes(_tag(field))


# The fast reader and writer: functions compiled from the schema, as lines of source


def _decoder_source(cls: type[Message]) -> str:
    """The source of `decode_X(b, p, e, depth)`, which reads an X from the bytes `b[p:e]`.

    It takes the fields in tag order only, so that a message is read in straight lines. It may read
    beyond `e`; then `p` ends up beyond `e` as well, never at it, and so the input is unusual.
    """
    name = cls.__name__
    body = [f"m = make_{name}()"]
    if any(field.is_message for field in cls.FIELDS.values()):
        body += ["if depth <= 0:", "    raise Unusual"]
    if _is_choice(cls):
        body += [
            "if p == e:",
            "    m.which = m.alternative = None",
            f"    m.__class__ = {name}",
            "    return m",
            "n = b[p]",
            "p += 1",
            "if n > 127:",
            "    n |= b[p] << 8",
            "    p += 1",
            f"m.which, read = choices_{name}[n]",
            *_read_size_lines(),
            "if p + n != e:",
            "    raise Unusual",
            "m.alternative = read(b, p, e, depth - 1)",
        ]
    else:
        if cls.ONEOF:
            body.append("m.which = m.alternative = None")
        word = "if"
        for field in _fields_by_tag_order(cls):
            [tag] = _tag_bytes(field)
            if field.rule == "repeated":
                body += ["v = []", f"while p < e and b[p] == {tag}:", "    p += 1"]
                body += _indented([*_read_value_lines(field, "w"), "v.append(w)"])
                body.append(f"m.{field.name} = v")
            elif field.oneof:
                body += [f"{word} p < e and b[p] == {tag}:", "    p += 1"]
                body += _indented(_read_value_lines(field, "m.alternative"))
                body.append(f"    m.which = {field.name!r}")
                word = "elif"
            elif field.rule == "optional":
                body += [f"if p < e and b[p] == {tag}:", "    p += 1"]
                body += _indented(_read_value_lines(field, f"m.{field.name}"))
                body += ["else:", f"    m.{field.name} = None"]
            else:
                body += [f"if b[p] != {tag}:", "    raise Unusual", "p += 1"]
                body += _read_value_lines(field, f"m.{field.name}")
        body += ["if p != e:", "    raise Unusual"]
    body += [f"m.__class__ = {name}", "return m"]
    return f"def decode_{name}(b, p, e, depth):\n" + "".join(_indented(body, end="\n"))


def _is_choice(cls: type[Message]) -> bool:
    """Whether the message is nothing but one of several messages."""
    fields = cls.FIELDS.values()
    return bool(fields) and all(field.oneof and field.is_message for field in fields)


def _fields_by_tag_order(cls: type[Message]) -> list[FieldInfo]:
    return sorted(cls.FIELDS.values(), key=lambda field: field.tag)


def _indented(lines: Iterable[str], end: str = "") -> list[str]:
    return [f"    {line}{end}" for line in lines]


def _read_size_lines() -> list[str]:
    """Read a length into `n`."""
    return ["n = b[p]", "p += 1", "if n > 127:", "    n, p = read_size(b, p)"]


def _read_value_lines(field: FieldInfo, target: str) -> list[str]:
    """Read the field's value at `p`, after the tag, into `target`, and put `p` behind it."""
    if field.is_message:
        read = f"{target} = decode_{field.type.__name__}(b, p, p + n, depth - 1)"
        return [*_read_size_lines(), read, "p += n"]
    if field.type is str:
        read = f"{target} = b[p : p + n].decode('utf-8', 'surrogateescape')"
        return [*_read_size_lines(), read, "p += n"]
    lines = ["n = b[p]", "p += 1"]
    if field.type is int:
        return [*lines, "if n > 127:", "    n, p = read_int32(b, p)", f"{target} = n"]
    if field.type is bool:
        return [*lines, "if n > 1:", "    raise Unusual", f"{target} = n == 1"]
    return [*lines, f"{target} = {_enum_variable(field.type)}[n]"]


def _enum_variable(enum: type) -> str:
    return enum.__qualname__.replace(".", "_")


def _read_size(b: bytes, p: int) -> tuple[int, int]:
    """Go on with a length whose first byte, at `p - 1`, says that more follow."""
    n = b[p - 1] & 127 | (b[p] & 127) << 7
    shift = 7
    while b[p] > 127:
        p += 1
        shift += 7
        if shift > 28:
            raise _Unusual
        n |= (b[p] & 127) << shift
    if n > INT32_MAX:
        raise _Unusual
    return n, p + 1


def _read_int32(b: bytes, p: int) -> tuple[int, int]:
    """Go on with an int32 whose first byte, at `p - 1`, says that more follow."""
    n = b[p - 1] & 127 | (b[p] & 127) << 7
    shift = 7
    while b[p] > 127:
        p += 1
        shift += 7
        if shift > 63:
            raise _Unusual
        n |= (b[p] & 127) << shift
    return _int32(n), p + 1


def _encoder_source(cls: type[Message]) -> str:
    """The source of `encode_X(m, put, depth)`, which puts the parts of X, last one first.

    It returns their size, so that whoever puts the tag and the length before them knows it, and no
    part is ever copied until all are joined.
    """
    name = cls.__name__
    body = []
    if any(field.is_message for field in cls.FIELDS.values()):
        body += ["if depth <= 0:", "    raise Unusual"]
    if _is_choice(cls):
        body += [
            "v = m.alternative",
            "if v is None:",
            "    return 0",
            f"write, prefixes = choices_{name}[m.which]",
            "n = write(v, put, depth - 1)",
            "if n < 128:",
            "    put(prefixes[n])",
            "    return n + len(prefixes[n])",
            "v = put_prefix(prefixes, n, put)",
            "return n + v",
        ]
    else:
        body.append("size = 0")
        word = "if"
        for field in reversed(_fields_by_tag_order(cls)):
            if field.rule == "repeated":
                body.append(f"for v in reversed(m.{field.name}):")
                body += [
                    f"    if v.__class__ is not {field.type.__name__}:",
                    "        raise Unusual",
                ]
                body += _indented(_write_value_lines(field))
            elif field.oneof:
                body += [f"{word} m.which == {field.name!r}:", "    v = m.alternative"]
                body += _indented(_write_value_lines(field))
                word = "elif"
            elif field.rule == "optional":
                body += [f"v = m.{field.name}", "if v is not None:"]
                body += _indented(_write_value_lines(field))
            else:
                body += [f"v = m.{field.name}", *_write_value_lines(field)]
        body.append("return size")
    return f"def encode_{name}(m, put, depth):\n" + "".join(_indented(body, end="\n"))


def _write_value_lines(field: FieldInfo) -> list[str]:
    """Put the value `v` of the field with what stands before it, and add to `size`."""
    variable = f"{field.message}_{field.name}"
    if field.is_message or field.type is str:
        write = f"n = encode_{field.type.__name__}(v, put, depth - 1)"
        if field.type is str:
            write = "v = v.encode('utf-8', 'surrogateescape'); n = len(v); put(v)"
        return [
            write,
            "if n < 128:",
            f"    v = {variable}[n]",
            "    put(v)",
            "    size += n + len(v)",
            "else:",
            f"    size += n + put_prefix({variable}, n, put)",
        ]
    if field.type is int:
        return [
            "if 0 <= v < 128:",
            f"    put({variable}[v])",
            "    size += 2",
            "else:",
            f"    v = {variable}[0][:1] + varint_bytes(v)",
            "    put(v)",
            "    size += len(v)",
        ]
    return [f"put({variable}[v])", "size += 2"]


def _put_prefix(prefixes: tuple[bytes, ...], n: int, put: Callable[[bytes], None]) -> int:
    """Put the tag that `prefixes` have and the length `n`; return how many bytes these are."""
    prefix = prefixes[0][:-1] + varint_bytes(n)
    put(prefix)
    return len(prefix)


@cache
def _decoders() -> dict[type, Callable[[bytes, int, int, int], Any]]:
    """Compile the decoders of all messages; at their first use, since it takes a while."""
    scope: dict[str, Any] = {
        "Unusual": _Unusual,
        "read_size": _read_size,
        "read_int32": _read_int32,
        **MESSAGES,
        **{f"make_{name}": cls._unchecked for name, cls in MESSAGES.items()},
        **{_enum_variable(enum): dict(enumerate(enum)) for enum in ENUMS.values()},
    }
    compile_source("".join(map(_decoder_source, MESSAGES.values())), scope, "decoders")
    functions = {cls: scope[f"decode_{name}"] for name, cls in MESSAGES.items()}
    for name, cls in MESSAGES.items():
        # A tag of two bytes is looked up as the number that they are in little-endian order.
        scope[f"choices_{name}"] = _is_choice(cls) and {
            int.from_bytes(_tag_bytes(field), "little"): (field.name, functions[field.type])
            for field in cls.FIELDS.values()
        }
    return functions


@cache
def _encoders() -> dict[type, Callable[[Message, Callable[[bytes], None], int], int]]:
    """Compile the encoders of all messages; at their first use, since it takes a while."""
    scope: dict[str, Any] = {
        "Unusual": _Unusual,
        "put_prefix": _put_prefix,
        "varint_bytes": varint_bytes,
        **MESSAGES,
    }
    for name, cls in MESSAGES.items():
        for field in cls.FIELDS.values():
            # What stands before a value below 128: the tag, and the length or the value itself.
            scope[f"{name}_{field.name}"] = tuple(
                _tag_bytes(field) + bytes([value]) for value in range(128)
            )
    compile_source("".join(map(_encoder_source, MESSAGES.values())), scope, "encoders")
    functions = {cls: scope[f"encode_{name}"] for name, cls in MESSAGES.items()}
    for name, cls in MESSAGES.items():
        scope[f"choices_{name}"] = _is_choice(cls) and {
            field.name: (functions[field.type], scope[f"{name}_{field.name}"])
            for field in cls.FIELDS.values()
        }
    return functions


_REQUIRED: Final = {cls: _names(cls, "required") for cls in MESSAGES.values()}
_REPEATED: Final = {cls: _names(cls, "repeated") for cls in MESSAGES.values()}
_ENUM_VALUES: Final = {enum: {member.value for member in enum} for enum in ENUMS.values()}
_FIELDS_BY_TAG: Final = {
    cls: {_tag(field): field for field in cls.FIELDS.values()} for cls in MESSAGES.values()
}
