r"""Reads documents as text, and saves them atomically.

Text has ``\n`` line endings. Saving restores a file's line endings, byte order mark and encoding,
so that unchanged text yields the original bytes. Line endings are converted only if all are CRLF or
all are CR. Other files may contain stray CRs, as in Emacs.

The encoding is the first that fits the bytes: that of a byte order mark, UTF-8, that of a
``-*- coding: NAME -*-`` cookie, or Latin-1.

Saving writes a temporary file, and renames it to the document's name if the document has not
changed since it was read. Symbolic links are followed. Mode, owner, extended attributes and access
control lists are kept. A file with several hard links is overwritten in place, and a copy is kept
beside it in the meantime. After a run is killed, the next save removes its temporary file, but not
the copy.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes, temporary
from orgrest.model import OrgrestError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Stamp: TypeAlias = tuple[int, int, int] | None
_PATIENCE = 5.0
"""The maximum time to wait for a lock, in seconds. Another program might never release it."""
REQUEST_SUFFIXES = frozenset({".http", ".rest"})
"""The suffixes of request files. Other documents are Org documents."""
DOCUMENT_SUFFIXES = REQUEST_SUFFIXES | {".org"}
"""The suffixes of files that are treated as documents, even if no option or argument names them."""

_COOKIE = compiled(rb"-\*-.*?coding:[ \t]*([-\w.]+?)(?:-(?:unix|dos|mac))?(?![-\w.])")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"", "utf-8"),
)

_WIDE = {2: "UTF-16", 3: "UTF-32"}
"""Wide encodings, by the number of NUL bytes in four consecutive bytes of encoded ASCII text."""


def resolved(path: Path) -> Path:
    """Return a path with symbolic links resolved. Raises OSError if links form a loop.

    Since Python 3.13, `Path.resolve` itself no longer raises for a loop.
    """
    target = path.resolve()
    if any(os.path.islink(part) for part in (target, *target.parents)):  # noqa: PTH114 (never raises)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def is_request_file(path: Path) -> bool:
    """Return whether a file's suffix marks it as a request file rather than an Org document."""
    return path.suffix.lower() in REQUEST_SUFFIXES


_MOST_BESIDE = 1000


class FileError(OrgrestError):
    """Raised if a file cannot be read or written."""


class FileChangedError(FileError):
    """Raised if the file on disk has changed since it was read."""


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = (units[i : i + 2].hex() for i in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), error.end


codecs.register_error("orgrest.json", _escape_unencodable)


_READ_AS_LATIN = "the file was read as Latin-1, but requests are sent in UTF-8"


@classes.frozen
class Encoding:
    """A text file's codec, byte order mark and line ending.

    If the codec was guessed, `notes` contains a warning.
    """

    codec: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"
    notes: tuple[str, ...] = ()

    def encode(self, text: str) -> bytes:
        r"""Return the bytes of `text`. Characters that the codec lacks become ``\uXXXX``."""
        if self.newline != "\n":
            text = text.replace("\n", self.newline)
        return self.mark + text.encode(self.codec, "orgrest.json")

    def lacks(self, text: str) -> bool:
        """Return whether `text` contains a character that this encoding cannot represent."""
        try:
            text.encode(self.codec)
        except UnicodeEncodeError:
            return True
        return False


def decode(data: bytes) -> tuple[str, Encoding]:
    """Return the bytes of a file as text, and the `Encoding` that converts the text back."""
    notes: tuple[str, ...] = ()
    for mark, codec in _MARKS:
        if data.startswith(mark) and (text := _decoded(data[len(mark) :], codec)) is not None:
            break
    else:
        mark, codec = b"", "latin-1"
        cookie = _COOKIE.search(b"\n".join(data[:400].split(b"\n", 2)[:2]))
        if cookie and (decoded := _decoded(data, cookie[1].decode("ascii"))) is not None:
            codec, text = cookie[1].decode("ascii"), decoded
        else:
            text = data.decode(codec)
            notes = (f"line {_line_that_is_not_utf8(data)} is not UTF-8: {_READ_AS_LATIN}",)
    newline = line_end(text)
    return text.replace(newline, "\n"), Encoding(codec, mark, newline, notes)


def _line_that_is_not_utf8(data: bytes) -> int:
    valid = re.split("[\udc80-\udcff]", data.decode("utf-8", "surrogateescape"), maxsplit=1)[0]
    return valid.count("\n") + 1


def decode_document(data: bytes, file: str) -> tuple[str, Encoding]:
    """Return the text and the encoding of a document. Raises FileError if the bytes are not text.

    `file` is the document's name in the error.
    """
    text, encoding = decode(data)
    if "\0" in text:
        encoding_name = _WIDE.get(
            sum(2 * data[i:4096:4].count(0) > len(data[i:4096:4]) for i in range(4))
        )
        reason = "binary data, not text"
        if encoding_name is not None:
            reason = (
                f"seems to be {encoding_name} without a byte order mark, or damaged: save the "
                "file as UTF-8"
            )
        raise FileError(reason, file=file)
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked and data[2:] and not (encoding.mark and re.search("[ -~]", text)):
        reason = "starts with a UTF-16 byte order mark, but is not UTF-16: save the file as UTF-8"
        raise FileError(reason, file=file)
    return text, encoding


def _decoded(data: bytes, codec: str) -> str | None:
    try:
        text = data.decode(codec)
        return text if text.encode(codec) == data else None
    except (UnicodeError, LookupError):
        return None


def line_end(text: str) -> str:
    """Return the line ending that `text` uses throughout, or LF if its line endings are mixed."""
    feeds, returns = text.count("\n"), text.count("\r")
    if returns and not feeds:
        return "\r"
    if feeds and feeds == text.count("\r\n"):
        return "\r\n"
    return "\n"


def user_folder(kind: Literal["cache", "config", "state"]) -> Path:
    """Return the folder for orgrest's files of this kind, which need not exist.

    Source: the XDG Base Directory Specification. Raises RuntimeError if the user has no home
    folder, and the environment does not set another one.
    """
    folder = Path(os.environ.get(f"XDG_{kind.upper()}_HOME", ""))
    if not folder.is_absolute():
        folder = Path.home() / (".local/state" if kind == "state" else f".{kind}")
    return folder / "orgrest"


def stamp(path: str | Path) -> Stamp:
    """Return a file's modification time (ns), size (bytes) and inode.

    Return None if the file is not accessible.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises FileError if it is unreadable or not a regular file."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        with open(path, "rb", opener=opener) as stream:
            # Reading a FIFO or a device might never end.
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise FileError("could not read the file: not a regular file", file=str(path))
            return stream.read()
    except OSError as error:
        raise FileError(f"could not read the file: {error.strerror}", file=str(path)) from None
    except ValueError as error:  # a NUL in the name
        raise FileError(f"could not read the file: {error}", file=str(path)) from None


@classes.define
class File:
    """A document that was read from a file, with the data needed to save it."""

    path: Path
    text: str
    encoding: Encoding
    _data: bytes = classes.field(repr=False)
    _unfinished: bytes | None = classes.field(default=None, repr=False)
    """The content that the last save was writing: Ctrl-C may end a save just after the rename."""

    @classmethod
    def read(cls, path: Path) -> File:
        """Return the document at `path`. Raises FileError if it cannot be read."""
        data = read_bytes(path)
        text, encoding = decode_document(data, str(path))
        return cls(path, text, encoding, data)

    def save(self, text: str) -> bool:
        """Replace the content of the file with `text`. Return whether the content changed.

        Raises FileChangedError if the file has changed since it was read, and FileError if it
        cannot be written. In both cases, the file is not modified.
        """
        data = self.encoding.encode(text)
        target = self.path.resolve()
        temporary.remove_left(target)
        if data == self._data:
            return False
        try:
            with locked(target):
                found = target.read_bytes()
                if found not in (self._data, self._unfinished):
                    raise FileChangedError(
                        "the file was changed on disk in the meantime", file=str(self.path)
                    )
                self._data, self._unfinished = found, data
                _replace(target, data, self.path)
        except OSError as error:
            raise FileChangedError(
                f"could not read the file again ({error.strerror})", file=str(self.path)
            ) from None
        self._data, self.text = data, text
        return True

    def is_unchanged(self) -> bool:
        """Return whether the file still has the content that was last read or saved.

        Also returns True if the file cannot be read.
        """
        try:
            return read_bytes(self.path) in (self._data, self._unfinished)
        except FileError:
            return True

    def check_writable(self) -> None:
        """Raise FileError if `save` would fail because the file or its folder is read-only."""
        target = self.path.resolve()
        _check_writable(target, self.path)
        if not os.access(target.parent, os.W_OK):
            raise FileError("the folder is read-only", file=str(self.path))

    def save_beside(self, text: str) -> Path:
        """Write `text` to ``FILE.orgrest-results`` beside the file, and return the new file's path.

        If a file with this name has different content, ``-2``, ``-3`` and so on is added to the
        name. Raises FileError if no file can be written.
        """
        data = self.encoding.encode(text)
        name = f"{self.path.name}.orgrest-results"
        for number in range(1, _MOST_BESIDE):
            path = self.path.with_name(name if number == 1 else f"{name}-{number}")
            try:
                _replace(path, data, path, new=True)
            except FileExistsError:
                with contextlib.suppress(OSError):
                    if path.read_bytes() == data:
                        return path
            else:
                return path
        raise FileError(
            f"could not write the file: there are already {_MOST_BESIDE - 1} numbered "
            "files with this name; delete some of them",
            file=str(path),
        )


def write(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file atomically, readable only by its owner if `private`. Raises FileError."""
    _replace(path.resolve(), data, path, private=private)


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write the pieces of a file's content to it atomically. Raises FileError.

    A device or pipe is written to directly. Exceptions of `pieces` propagate, except OSError.
    """
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as out:
                out.writelines(pieces)
        except OSError as error:
            raise FileError(f"could not write the file: {error.strerror}", file=str(path)) from None
        return
    _replace(path.resolve(), pieces, path)


def write_new(path: Path, data: bytes) -> None:
    """Write a new file, and create its folder if necessary.

    Raises FileError if the file already exists with different content, or cannot be written.
    """
    if path.exists() and path.read_bytes() != data:
        reason = "the file already exists with different content: move it, or choose another output"
        raise FileError(reason, file=str(path))
    path.parent.mkdir(exist_ok=True)
    write(path, data)


def write_result(path: Path, data: bytes) -> None:
    """Write a result file, and create its parent folders if necessary.

    Raises FileError if this fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"could not write the file: {error.strerror}", file=str(path)) from None
    write(path, data)


def entries(directory: Path, folder: str) -> list[str]:
    """Return the names of the files and folders in `directory/folder`. Folder names end in a slash.

    The list is empty if the folder is outside `directory` or cannot be read.
    """
    try:
        path = (directory / folder).resolve()
        if not path.is_relative_to(directory.resolve()):
            return []
        return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in os.scandir(path)]
    except (OSError, ValueError, RuntimeError):  # a NUL in the name, a loop of links
        return []


@contextlib.contextmanager
def locked(target: Path, *, seconds: float | None = None, create: bool = False) -> Iterator[None]:
    """Return a context manager that locks a file or folder, so that one run at a time changes it.

    Nothing is locked if the target does not exist, if locks are not supported, or if another
    program holds the lock for more than `seconds` (default: `_PATIENCE`). With `create`, a missing
    file is created, and a symbolic link is not followed.

    Saving replaces the locked file, so a run that waited for the lock finds that the file has
    changed.
    """
    number: int | None = None
    try:
        with contextlib.suppress(ImportError, OSError):  # Windows has no fcntl
            import fcntl

            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW if create else os.O_RDONLY
            number = os.open(target, flags, 0o600)
            end = time.monotonic() + (_PATIENCE if seconds is None else seconds)
            while time.monotonic() < end:
                try:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.02)
        yield
    finally:
        if number is not None:
            os.close(number)


def _replace(
    target: Path,
    data: bytes | Iterable[bytes],
    shown: Path,
    *,
    private: bool = False,
    new: bool = False,
) -> None:
    """Write a file atomically, readable only by its owner if `private`.

    `shown` is the file's name in errors. Raises FileExistsError if the file exists and `new` is
    true.
    """
    temporary.remove_left(target)
    temporary_file: Path | None = None
    try:
        _check_writable(target, shown)
        # (The module tempfile would do the same, but takes 5 ms to import.)
        temporary_file, number = temporary.create(target)
        with os.fdopen(number, "wb") as out:
            out.writelines((data,) if isinstance(data, bytes) else data)
            if not private:
                temporary.copy_owner(target, out.fileno())
            out.flush()
            os.fsync(out.fileno())
        linked = not (private or new) and target.exists() and target.stat().st_nlink > 1
        if linked and isinstance(data, bytes):
            # Later saves do not remove a file with this name. If the process is killed now, it
            # contains the only complete copy.
            copy = temporary_file.rename(temporary_file.with_name(f"{temporary_file.name}.saved"))
            temporary_file = None
            try:
                _write_into(target, data)
            except KeyboardInterrupt:
                _write_into(target, data)  # completes the file; another Ctrl-C leaves the copy
                copy.unlink()
                raise
            except OSError:
                temporary_file = copy
                raise
            copy.unlink()
        elif new:
            _move_to_free(temporary_file, target)
        else:
            temporary_file.replace(target)
        temporary_file = None
        _sync_folder(target.parent)  # so that the rename survives a crash
    except OSError as error:
        if new and isinstance(error, FileExistsError):
            raise
        raise FileError(f"could not write the file: {error.strerror}", file=str(shown)) from None
    finally:
        if temporary_file is not None:
            with contextlib.suppress(OSError):
                temporary_file.unlink()


def _move_to_free(source: Path, target: Path) -> None:
    try:
        os.link(source, target)  # unlike a rename, this fails if the target exists
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        source.replace(target)
    else:
        source.unlink()


def _write_into(target: Path, data: bytes) -> None:
    """Overwrite a file in place, which is not atomic. If the disk is full, leave it as it was."""
    with target.open("r+b", buffering=0) as out:
        size = os.fstat(out.fileno()).st_size
        try:
            os.pwrite(out.fileno(), data[size:], size)
            if os.fstat(out.fileno()).st_size < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(out.fileno())
        except OSError:
            out.truncate(size)
            raise
        os.pwrite(out.fileno(), data[:size], 0)
        out.truncate(len(data))
        os.fsync(out.fileno())


def _check_writable(target: Path, shown: Path) -> None:
    # A rename would replace a read-only file without an error.
    if target.exists() and not os.access(target, os.W_OK):
        raise FileError("the file is read-only", file=str(shown))


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
