"""Reads and writes trees in three formats, recognizes a file's format, and writes files atomically.

All commands use this module. A file is written completely or not at all: its content is first
written to a hidden temporary file in the same folder, which is then renamed. Folders may be
untrusted, so links in them are never followed when writing.

A stream is many trees in one file or pipe. Each tree is preceded by its length as a varint, as in
protobuf's `writeDelimitedTo`. The suffix of a stream is `.pbstream`.
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
    from scriptschema.interop.upstream import Omission

Format = Literal["binary", "text", "json"]
Form = Literal["binary", "text", "json", "luau"]
"""A format of trees, or Luau source."""

FORMATS: Final[tuple[Format, ...]] = ("binary", "text", "json")
ENDINGS: Final[dict[str, Format]] = {".pb": "binary", ".textproto": "text", ".json": "json"}
SOURCE_ENDINGS: Final = (".luau", ".lua")
ALL_ENDINGS: Final[dict[str, Form]] = {**ENDINGS, **dict.fromkeys(SOURCE_ENDINGS, "luau")}
"""The suffixes of trees and sources."""

STREAM_ENDING: Final = ".pbstream"

DROP: Final[interop.Unknown] = "drop"
ERROR: Final[interop.Unknown] = "error"

STANDARD: Final = Path("-")
"""The path that means standard input or output."""

MessageT = TypeVar("MessageT", bound=Message)


class ReportedError(Exception):
    """An error whose message is all that a user needs: a command prints it and exits."""


class FileError(ReportedError):
    """Raised when a file cannot be read or written as requested.

    The message says which file and why.
    """


def ending_of(form: str) -> str:
    """Return the suffix of the files that are written in the form `form`."""
    return next(ending for ending, name in ALL_ENDINGS.items() if name == form)


def format_of(path: Path) -> Format:
    """Return the format for the suffix of `path`. Raises FileError if the suffix is unknown."""
    try:
        return ENDINGS[path.suffix]
    except KeyError:
        if path == STANDARD:
            raise FileError(
                f"{name_of(path)}: use --from to give the format, such as --from text"
            ) from None
        if not path.exists():
            raise FileError(f"{path}: {os.strerror(errno.ENOENT)}") from None
        if path.is_dir():
            raise FileError(f"{path}: {os.strerror(errno.EISDIR)}") from None
        if path.suffix in SOURCE_ENDINGS:
            raise FileError(
                f"{path}: Luau source, not a tree; to read it, run `scriptschema parse {path}`"
            ) from None
        endings = ", ".join(f"{ending} ({name})" for ending, name in ENDINGS.items())
        raise FileError(
            f"{path}: unknown suffix (known: {endings}); use --from to give the format"
        ) from None


def parse(
    cls: type[MessageT],
    data: bytes,
    form: Format,
    unknown: interop.Unknown,
    luau: str | Version | None = None,
) -> MessageT:
    """Return the message in `data`, which has the format `form`. Raises that format's errors."""
    if form == "binary":
        return wire.decode(cls, data, unknown=unknown, luau=luau)
    read = interop.from_text if form == "text" else interop.from_json
    return read(cls, data, unknown=unknown, luau=luau)


def serialize(message: Message, form: Format, luau: str | Version | None = None) -> bytes:
    """Return `message` in the format `form`. Raises that format's errors."""
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
    """Return the message in a file. `form` defaults to the format for the file's suffix.

    `luau` is the version of the schema, or None for the original. Raises FileError if the file
    cannot be read or does not contain a message of class `cls`.
    """
    form = form or format_of(path)
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
        return parse(cls, data, form, unknown, luau)
    except (OSError, wire.WireError, interop.FormatError) as error:
        raise FileError(f"{name_of(path)}: {reason_of(error)}") from None


def read_upstream(
    cls: type[MessageT], path: Path, form: Format | None = None
) -> tuple[MessageT, list[Omission]]:
    """Read a message in the upstream schema. Return the converted message and the omissions.

    `form` defaults to the format for the file's suffix. Raises FileError.
    """
    from scriptschema.interop import upstream

    form = form or format_of(path)
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
        return upstream.from_upstream(cls, data, form)
    except (OSError, interop.FormatError) as error:
        raise FileError(f"{name_of(path)}: {reason_of(error)}") from None


def write_upstream(source: Input, target: Path, tree: Message, form: Format) -> list[Omission]:
    """Write `tree`, which was read from `source`, in the upstream schema. Return the omissions.

    Raises FileError.
    """
    from scriptschema.interop import upstream

    try:
        data, left_out = upstream.to_upstream(tree, form)
    except (wire.WireError, interop.FormatError) as error:
        raise FileError(f"{name_of(source.path)}: {error}") from None
    write(target, data, below=source.base_of(target))
    return left_out


def delimited(data: bytes) -> bytes:
    """Return an encoded tree preceded by its length as a varint, as it is stored in streams."""
    return varints.varint_bytes(len(data)) + data


def read_delimited(file: IO[bytes], limit: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (offset of the first byte, bytes) for each tree in a stream.

    Only one tree is in memory at a time. Raises FileError if the stream is truncated or invalid, or
    if a tree has more than `limit` bytes.
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
            what = "the length prefix of a tree is truncated" if not byte else "invalid tree length"
            raise FileError(f"byte {position}: {what}")
        position += shift // 7
        pieces = []
        left = size
        # In chunks, so that a wrong length allocates no more memory than the stream has bytes.
        while left and (piece := file.read(min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
            if limit is not None and size - left > limit:
                raise FileError(
                    f"byte {position}: a tree of {size} bytes is larger than the maximum of {limit}"
                )
        if left:
            raise FileError(
                f"byte {position}: a tree of {size} bytes is truncated ({left} bytes are missing)"
            )
        yield position, b"".join(pieces)
        position += size


def name_of(path: Path) -> str:
    """Return the file's name for use in error messages."""
    return "standard input" if path == STANDARD else str(path)


def reason_of(error: Exception) -> str:
    """Return the error as text, without the file's name."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


@contextlib.contextmanager
def errors_of(what: object) -> Iterator[None]:
    """Convert an OSError raised in the block to a FileError that names `what`, usually a file.

    A BrokenPipeError is not converted: click ends the program silently, as users expect with
    `| head`.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"{what}: {reason_of(error)}") from None


def content_of(path: Path) -> bytes | None:
    """Return the content of a file, or None if it does not exist. Raises FileError."""
    with errors_of(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


@attrs.frozen
class Input:
    """A file to read.

    If `in_folder` is true, the user named a folder that contains the file, and `relative` is the
    file's path within that folder. Otherwise `relative` is the file's name.
    """

    path: Path
    relative: Path
    in_folder: bool = False

    def base_of(self, target: Path) -> Path | None:
        """Return the output folder that contains `target`, or None for standard output."""
        return None if target == STANDARD else target.parents[len(self.relative.parts) - 1]


def expand(paths: Iterable[Path]) -> list[Input]:
    """Return the files to read, with each folder replaced by all files below it, in sorted order.

    Hidden files below folders are skipped: a killed process may leave an incomplete hidden file.
    """
    input_files = []
    for path in paths:
        if path != STANDARD and path.is_dir():
            for inside in sorted(p for p in path.rglob("*") if not p.is_dir()):
                relative = inside.relative_to(path)
                if not any(part.startswith(".") for part in relative.parts):
                    input_files.append(Input(inside, relative, in_folder=True))
        else:
            input_files.append(Input(path, Path(path.name)))
    return input_files


def require_regular(path: Path) -> None:
    """Raise FileError if `path` is a pipe or device, because reading it could block.

    Call this only for files found in a folder: users may name pipes and devices explicitly.
    """
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: not a regular file")


def write(path: Path, data: bytes, *, below: Path | None = None) -> None:
    """Write a file completely or not at all. The path `-` is standard output. Raises FileError.

    An existing file keeps its mode, and missing folders are created. `below` is a folder that
    contains the file, by default its own folder. Links in the path of `below` are followed. Below
    that folder, any link is an error, including the file itself.
    """
    with errors_of("standard output" if path == STANDARD else path):
        if path == STANDARD:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        with replacing(path, below=below) as file:
            file.write(data)


@contextlib.contextmanager
def replacing(path: Path, *, below: Path | None = None) -> Iterator[IO[bytes]]:
    """Yield a binary file whose content replaces that of `path` if the block ends without an error.

    `below` has the same meaning as in `write`. Without `below`, an existing pipe, terminal or other
    special file is written to directly. Raises OSError.
    """
    if path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)):  # /dev/stdout, >(command)
        with path.open("wb") as file:
            yield file
        return
    with _parent_of(path, below) as (folder, name):
        mode = _mode_of(folder, name)
        if mode is not None and not stat.S_ISREG(mode):
            if below is not None or stat.S_ISDIR(mode):
                raise OSError(errno.EINVAL, "not a regular file")
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


def open_to_append(path: Path) -> IO[bytes]:
    """Open a file for reading and appending, and create it if missing.

    Raises OSError, for example if `path` is a symbolic link, has several hard links, or is not a
    regular file.
    """
    with _parent_of(path, None) as (folder, name):
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | _SAFE
        _mode_of(folder, name)
        descriptor = os.open(name, flags, 0o666, dir_fd=folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise OSError(
            errno.EINVAL, "not a regular file, or a file with several hard links: remove it"
        )
    return os.fdopen(descriptor, "ab+")


def open_to_append_lines(path: Path) -> IO[bytes]:
    """Open a file like `open_to_append`. If its last line was cut off, a new line begins."""
    file = open_to_append(path)
    if file.tell():
        file.seek(-1, os.SEEK_END)
        if file.read() != b"\n":
            file.write(b"\n")
    return file


def make_folder(path: Path, *, below: Path) -> None:
    """Create the folder `path` if missing. `below` is as in `write`. Raises OSError."""
    with _parent_of(path / "-", below):
        pass


_SAFE: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_LINK: Final = "a symbolic link: links are not followed when writing"


@contextlib.contextmanager
def _parent_of(path: Path, below: Path | None) -> Iterator[tuple[int, str]]:
    """Create the folder that contains `path`, and yield its descriptor and the file's name."""
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
        yield folder, path.name or "."  # the folder / has no name
    finally:
        os.close(folder)


def _mode_of(folder: int, name: str) -> int | None:
    """Return a file's mode, or None if the file does not exist. Raises OSError for a link."""
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
        raise FileError(f"{path}: the folder {path.parent} does not exist: create it first")


def is_one_file(inputs: Sequence[Input], output: str) -> bool:
    """Return whether `outputs` treats `output` as the name of a file, not of a folder."""
    single = len(inputs) == 1 and not inputs[0].in_folder
    return single and not Path(output).is_dir() and not output.endswith("/")


def outputs(inputs: Sequence[Input], output: str | None, ending: str) -> list[Path]:
    """Return the path to write for each input: `output`, or a file in it with the suffix `ending`.

    `output` is treated as a folder if a folder of that name exists, if it ends in a slash, if there
    are several inputs, or if the input is a folder. None and `-` mean standard output. Raises
    FileError if two results would have the same path, if `output` must be a folder but is a file,
    or if its parent folder does not exist.
    """
    if output is None or output == "-":
        if len(inputs) > 1:
            raise FileError("several inputs can only be written to a folder: use -o FOLDER")
        return [STANDARD for _ in inputs]
    folder = Path(output)
    require_parent(folder)
    if is_one_file(inputs, output):
        return [folder]
    if folder.exists() and not folder.is_dir():
        raise FileError(
            f"{output}: several inputs can only be written to a folder, and this is a file"
        )
    input_of: dict[Path, Path] = {}
    for item in inputs:
        has_known_suffix = item.relative.suffix in ENDINGS
        name = item.relative.stem if has_known_suffix else item.relative.name
        target = folder / item.relative.with_name(name + ending)
        if target in input_of:
            raise FileError(f"{item.path} and {input_of[target]} would both be written to {target}")
        input_of[target] = item.path
    return list(input_of)
