"""Trees in files: the three formats, how a file's format is recognized, and how files are written.

All commands share this. A file is written whole or not at all: into a hidden temporary
file beside it, then renamed.

A stream is many trees in one file or pipe, each after its length as a varint, as protobuf's
`writeDelimitedTo` and `parseDelimitedFrom` have it; its ending is `.pbstream`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal, TypeVar

import attrs

from scriptschema import interop, wire
from scriptschema.base import Message
from scriptschema.codec import varints
from scriptschema.versions import Version

if TYPE_CHECKING:
    from scriptschema.interop.upstream import Told

Format = Literal["binary", "text", "json"]
FORMATS: Final[tuple[Format, ...]] = ("binary", "text", "json")
ENDINGS: Final[dict[str, Format]] = {".pb": "binary", ".textproto": "text", ".json": "json"}

STREAM_ENDING: Final = ".pbstream"

DROP: Final[interop.Unknown] = "drop"
ERROR: Final[interop.Unknown] = "error"

STANDARD: Final = Path("-")
"""Stands for standard input or output."""

MessageT = TypeVar("MessageT", bound=Message)


class FileError(Exception):
    """A file that cannot be read or written as asked; the text names it and says why."""


def format_of(path: Path) -> Format:
    """Return the format that a file's ending names; raises FileError if it names none."""
    try:
        return ENDINGS[path.suffix]
    except KeyError:
        if path != STANDARD and not path.exists():
            raise FileError(f"{path}: {os.strerror(errno.ENOENT)}") from None
        if path.suffix in (".luau", ".lua"):
            raise FileError(
                f"{path}: a Luau source, not a tree: `scriptschema parse {path}` reads it"
            ) from None
        endings = ", ".join(f"{ending} ({name})" for ending, name in ENDINGS.items())
        raise FileError(
            f"{path}: the ending does not tell the format (known are {endings}): say it with --from"
        ) from None


def parse(
    cls: type[MessageT],
    data: bytes,
    form: Format,
    unknown: interop.Unknown,
    luau: str | Version | None = None,
) -> MessageT:
    """Return the message that `data` holds in the format `form`; raises what that format raises."""
    if form == "binary":
        return wire.decode(cls, data, unknown=unknown, luau=luau)
    read = interop.from_text if form == "text" else interop.from_json
    return read(cls, data, unknown=unknown, luau=luau)


def serialize(message: Message, form: Format, luau: str | Version | None = None) -> bytes:
    """Return `message` in the format `form`; raises what that format raises."""
    if form == "binary":
        return wire.encode(message, luau=luau)
    return (interop.to_text if form == "text" else interop.to_json)(message, luau=luau).encode()


def read(
    cls: type[MessageT],
    path: Path,
    form: Format | None = None,
    unknown: interop.Unknown = "error",
    luau: str | Version | None = None,
) -> MessageT:
    """Read a message from a file, in the format `form` or the one that the file's ending tells.

    `luau` is as in `wire.decode`. Raises FileError for a file that cannot be read or does not hold
    a message of class `cls`.
    """
    form = form or format_of(path)
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
        return parse(cls, data, form, unknown, luau)
    except (OSError, wire.WireError, interop.FormatError) as error:
        raise FileError(f"{name_of(path)}: {reason_of(error)}") from None


def read_upstream(
    cls: type[MessageT], path: Path, form: Format | None = None
) -> tuple[MessageT, list[Told]]:
    """Read a message from a file in upstream's schema, as `read`, and what was left out of it."""
    from scriptschema.interop import upstream

    form = form or format_of(path)
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
        return upstream.from_upstream(cls, data, form)
    except (OSError, interop.FormatError) as error:
        raise FileError(f"{name_of(path)}: {reason_of(error)}") from None


def write_upstream(source: Path, target: Path, tree: Message, form: Format) -> list[Told]:
    """Write the tree that `source` holds in upstream's schema; return what was left out of it.

    Raises FileError.
    """
    from scriptschema.interop import upstream

    try:
        data, told = upstream.to_upstream(tree, form)
    except (wire.WireError, interop.FormatError) as error:
        raise FileError(f"{name_of(source)}: {error}") from None
    write(target, data)
    return told


def delimited(data: bytes) -> bytes:
    """A tree's bytes as they stand in a stream."""
    return varints.varint_bytes(len(data)) + data


def read_delimited(file: IO[bytes], limit: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the trees' bytes from a stream, each with the position at which it starts.

    Only one is held at a time. Raises FileError where the stream is cut off or is none, or a tree
    has more than `limit` bytes.
    """
    position = 0
    while first := file.read(1):
        size = shift = 0
        byte = first
        while byte and shift < 35:
            size |= (byte[0] & 127) << shift
            shift += 7
            if byte[0] < 128:
                break
            byte = file.read(1)
        else:
            what = (
                "the length of a tree is cut off" if not byte else "this is not a length of a tree"
            )
            raise FileError(f"byte {position}: {what}")
        position += shift // 7
        pieces = []
        left = size
        # In pieces, so that a wrong length does not take memory that is not there.
        while left and (piece := file.read(min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
            if limit is not None and size - left > limit:
                raise FileError(f"byte {position}: a tree of {size} bytes, more than {limit}")
        if left:
            raise FileError(
                f"byte {position}: a tree of {size} bytes is cut off ({left} bytes are missing)"
            )
        yield position, b"".join(pieces)
        position += size


def name_of(path: Path) -> str:
    """The file's name as error messages give it."""
    return "standard input" if path == STANDARD else str(path)


def reason_of(error: Exception) -> str:
    """The error in words, without the file's name."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


@attrs.frozen
class Input:
    """A file to read, and where it lies below the folder that was named (`in_folder`)."""

    path: Path
    relative: Path
    in_folder: bool = False


def expand(paths: Iterable[Path]) -> list[Input]:
    """The files to read: a folder stands for all files below it, in sorted order.

    Hidden files in it are left out: one may be what a killed process left of its output.
    """
    found = []
    for path in paths:
        if path != STANDARD and path.is_dir():
            for inside in sorted(p for p in path.rglob("*") if p.is_file()):
                relative = inside.relative_to(path)
                if not any(part.startswith(".") for part in relative.parts):
                    found.append(Input(inside, relative, in_folder=True))
        else:
            found.append(Input(path, Path(path.name)))
    return found


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; `-` is standard output. Raises FileError.

    A link is followed, an existing file's mode is kept, and what is not a regular file (a pipe, a
    terminal) is written to directly.
    """
    try:
        if path == STANDARD:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(data)
    except FileExistsError as error:
        raise FileError(f"{path}: {error.filename} is not a folder") from None
    except BrokenPipeError:
        raise  # click ends the program silently, as one expects before `| head`
    except OSError as error:
        name = "standard output" if path == STANDARD else path
        raise FileError(f"{name}: {reason_of(error)}") from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a binary file whose content becomes that of `path` when the block ends without error."""
    target = path.resolve()
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as file:
            yield file
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            Path(name).chmod(stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def require_parent(path: Path) -> None:
    """Raise FileError unless the folder of `path` exists."""
    if path.parent.exists() and not path.parent.is_dir():
        raise FileError(f"{path}: {os.strerror(errno.ENOTDIR)}")
    if not path.parent.exists():
        raise FileError(f"{path}: there is no folder {path.parent}: make it first")


def outputs(inputs: Sequence[Input], output: str | None, ending: str) -> list[Path]:
    """Where each input's result goes: `output`, or files below it with the ending `ending`.

    `output` is a folder where it exists as one or ends in a slash, where there are several inputs,
    or where a folder was named as the input; None and `-` are standard output. Raises FileError
    where that cannot be, or the folder of `output` does not exist.
    """
    if output is None or output == "-":
        if len(inputs) > 1:
            raise FileError("several inputs need a folder to write to: name one with -o")
        return [STANDARD for _ in inputs]
    folder = Path(output)
    require_parent(folder)
    single = len(inputs) == 1 and not inputs[0].in_folder
    if single and not folder.is_dir() and not output.endswith("/"):
        return [folder]
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{output}: several inputs need a folder to write to, and this is a file")
    taken: dict[Path, Path] = {}
    for item in inputs:
        known = item.relative.suffix in ENDINGS
        name = item.relative.stem if known else item.relative.name
        target = folder / item.relative.with_name(name + ending)
        if target in taken:
            raise FileError(f"{item.path} and {taken[target]} would both be written to {target}")
        taken[target] = item.path
    return list(taken)
