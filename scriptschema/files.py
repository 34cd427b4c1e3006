"""Reading and writing trees: the three formats, recognizing a file's format, atomic writes.

All commands use this. A file is written whole or not at all: to a hidden temporary file beside it,
which is then renamed. Folders may come from strangers, so writing never follows links in them.

A stream is many trees in one file or pipe, each after its length as a varint, like protobuf's
`writeDelimitedTo` and `parseDelimitedFrom`; its ending is `.pbstream`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
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
"""The path that means standard input or output."""

MessageT = TypeVar("MessageT", bound=Message)


class FileError(Exception):
    """A file cannot be read or written as requested; the message names it and says why."""


def format_of(path: Path) -> Format:
    """Return the format that a file's ending names. Raises FileError if it names none."""
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
    """Read a message from a file, in the format `form` or by default that of the file's ending.

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
    """Return a message read from a file in upstream's schema, and what the conversion omitted."""
    from scriptschema.interop import upstream

    form = form or format_of(path)
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
        return upstream.from_upstream(cls, data, form)
    except (OSError, interop.FormatError) as error:
        raise FileError(f"{name_of(path)}: {reason_of(error)}") from None


def write_upstream(source: Input, target: Path, tree: Message, form: Format) -> list[Told]:
    """Write the tree of `source` in upstream's schema; return what the conversion omitted.

    Raises FileError.
    """
    from scriptschema.interop import upstream

    try:
        data, told = upstream.to_upstream(tree, form)
    except (wire.WireError, interop.FormatError) as error:
        raise FileError(f"{name_of(source.path)}: {error}") from None
    write(target, data, below=source.base_of(target))
    return told


def delimited(data: bytes) -> bytes:
    """Return a tree's bytes in the form used by streams: after their length as a varint."""
    return varints.varint_bytes(len(data)) + data


def read_delimited(file: IO[bytes], limit: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield pairs from a stream: the offset at which a tree's bytes start, and the bytes.

    Only one tree is in memory at a time. Raises FileError if the stream is cut off or not a stream,
    or if a tree has more than `limit` bytes.
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
        # In chunks, so that a wrong length does not allocate more than the stream holds.
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
    """Return the file's name for use in error messages."""
    return "standard input" if path == STANDARD else str(path)


def reason_of(error: Exception) -> str:
    """Return the error in words, without the file's name."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


@attrs.frozen
class Input:
    """A file to read. With `in_folder`, its folder was named, and `relative` is its path there."""

    path: Path
    relative: Path
    in_folder: bool = False

    def base_of(self, target: Path) -> Path | None:
        """Return the named folder that contains `target`, the result of this input."""
        return None if target == STANDARD else target.parents[len(self.relative.parts) - 1]


def expand(paths: Iterable[Path]) -> list[Input]:
    """Return the files to read, with each folder replaced by all files below it, in sorted order.

    Hidden files below folders are skipped: one may be incomplete output of a killed process.
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


def write(path: Path, data: bytes, *, below: Path | None = None) -> None:
    """Write a file whole or not at all; `-` is standard output. Raises FileError.

    An existing file's mode is kept. Missing folders below `below` (by default the file's own
    folder) are created. A link below `below`, or at `path` itself, is an error.
    """
    try:
        if path == STANDARD:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        with replacing(path, below=below) as file:
            file.write(data)
    except BrokenPipeError:
        raise  # click ends the program silently, as one expects before `| head`
    except OSError as error:
        name = "standard output" if path == STANDARD else path
        raise FileError(f"{name}: {reason_of(error)}") from None


@contextlib.contextmanager
def replacing(path: Path, *, below: Path | None = None) -> Iterator[IO[bytes]]:
    """Yield a binary file whose content replaces that of `path` when the block ends without error.

    `below` is as in `write`. Anything but a regular file (a pipe, a terminal) is written to
    directly if it is named itself, without `below`. Raises OSError.
    """
    if path.is_absolute() and path.parts[1] in ("dev", "proc"):  # /dev/stdout, >(command)
        with path.open("wb") as file:
            yield file
        return
    with _parent_of(path, below) as (folder, name):
        mode = _mode_of(folder, name)
        if mode is not None and not stat.S_ISREG(mode):
            if below is not None or stat.S_ISDIR(mode):
                raise OSError(errno.EINVAL, "this is not a regular file")
            with os.fdopen(os.open(name, os.O_WRONLY | _SAFE, dir_fd=folder), "wb") as file:
                yield file
            return
        hidden = f".{name[:100]}.{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
        descriptor = os.open(hidden, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                if mode is not None:
                    os.fchmod(descriptor, stat.S_IMODE(mode))
            os.replace(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(hidden, dir_fd=folder)
            raise


def open_to_append(path: Path, *, below: Path | None = None) -> IO[bytes]:
    """Open a file to read and append, created if missing; `below` is as in `write`.

    Raises OSError, also for a link, a file with a second name elsewhere (a hard link), and anything
    but a regular file.
    """
    with _parent_of(path, below) as (folder, name):
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | _SAFE
        _mode_of(folder, name)
        descriptor = os.open(name, flags, 0o666, dir_fd=folder)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "this is not a regular file of its own: remove it")
    return os.fdopen(descriptor, "ab+")


def make_folder(path: Path, *, below: Path) -> None:
    """Create a folder below `below` if missing. Raises OSError, also for a link on the way."""
    with _parent_of(path / "-", below):
        pass


_SAFE: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_LINK: Final = "this is a link, and links are not followed when writing"


@contextlib.contextmanager
def _parent_of(path: Path, below: Path | None) -> Iterator[tuple[int, str]]:
    """Yield the descriptor of a file's folder, and the file's name in it."""
    base = path.parent if below is None else below
    try:
        base.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OSError(errno.ENOTDIR, f"{error.filename} is not a folder") from None
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        reached = base
        for part in path.relative_to(base).parts[:-1]:
            reached /= part
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
            try:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=folder)
            except OSError as error:
                _mode_of(folder, part)
                raise OSError(error.errno, f"{reached} is not a folder") from None
            os.close(folder)
            folder = inner
        yield folder, path.name
    finally:
        os.close(folder)


def _mode_of(folder: int, name: str) -> int | None:
    """Return a file's mode, or None if it does not exist. Raises OSError for a link."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, _LINK)
    return mode


def require_parent(path: Path) -> None:
    """Raise FileError unless the folder of `path` exists."""
    if path.parent.exists() and not path.parent.is_dir():
        raise FileError(f"{path}: {os.strerror(errno.ENOTDIR)}")
    if not path.parent.exists():
        raise FileError(f"{path}: there is no folder {path.parent}: make it first")


def outputs(inputs: Sequence[Input], output: str | None, ending: str) -> list[Path]:
    """Return where each input's result goes: `output`, or files below it with the ending `ending`.

    `output` is a folder if it exists as one or ends in a slash, if there are several inputs, or if
    a folder was named as the input; None and `-` are standard output. Raises FileError if the
    results cannot go there, or if the folder of `output` does not exist.
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
