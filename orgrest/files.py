r"""Documents on disk: read as text, and saved atomically.

The text has ``\n`` line ends. Saving restores the file's line ends (LF, CRLF or CR throughout; a
mixture counts as LF with stray CRs, as in Emacs), byte order mark and encoding (UTF-8, else that of
a ``-*- coding: NAME -*-`` cookie, else Latin-1, which keeps every byte), so unchanged text yields
the bytes that were read.

Saving writes a temporary file in the document's folder, flushes it to disk, checks that the
document has not changed since it was read, and renames the file into place. Symbolic links are
followed; mode, owner, extended attributes and access control lists are kept. A file with several
hard links is overwritten in place, which is not atomic, while a complete copy exists next to it.
The next save removes the temporary file of a killed save, but not such a copy.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from orgrest import temporary
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REQUEST_SUFFIXES = frozenset({".http", ".rest"})
"""The suffixes of request files; other documents are Org files."""

_COOKIE = re.compile(rb"-\*-.*?coding:[ \t]*([-\w.]+?)(?:-(?:unix|dos|mac))?(?![-\w.])")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"", "utf-8"),
)


def resolved(path: Path) -> Path:
    """Return a path with symbolic links resolved. Raises OSError for a loop of links.

    From Python 3.13 on, `Path.resolve` does not raise for a loop.
    """
    target = path.resolve()
    if any(os.path.islink(part) for part in (target, *target.parents)):  # noqa: PTH114 (never raises)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def is_request_file(path: Path) -> bool:
    """Return whether this is a request file by its name; any other file is an Org document."""
    return path.suffix.lower() in REQUEST_SUFFIXES


_MOST_BESIDE = 1000


class FileError(OrgrestError):
    """A file cannot be read or written."""


class FileChangedError(FileError):
    """The file on disk has changed since it was read."""


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks with JSON escapes; a codec error handler."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = (units[i : i + 2].hex() for i in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), error.end


codecs.register_error("orgrest.json", _escape_unencodable)


@attrs.frozen
class Encoding:
    """The encoding of a text in a file: codec, byte order mark, line end."""

    codec: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"

    def encode(self, text: str) -> bytes:
        r"""Return the bytes of `text`; characters that the codec lacks become ``\uXXXX``."""
        if self.newline != "\n":
            text = text.replace("\n", self.newline)
        return self.mark + text.encode(self.codec, "orgrest.json")

    def lacks(self, text: str) -> bool:
        """Return whether this encoding lacks a character of `text`."""
        try:
            text.encode(self.codec)
        except UnicodeEncodeError:
            return True
        return False


def decode(data: bytes) -> tuple[str, Encoding]:
    """Return a file's bytes as text, and the `Encoding` that converts the text back."""
    for mark, codec in _MARKS:
        if data.startswith(mark) and (text := _try(data[len(mark) :], codec)) is not None:
            break
    else:
        mark, codec = b"", "latin-1"
        cookie = _COOKIE.search(b"\n".join(data[:400].split(b"\n", 2)[:2]))
        if cookie and (found := _try(data, cookie[1].decode("ascii"))) is not None:
            codec, text = cookie[1].decode("ascii"), found
        else:
            text = data.decode(codec)
    newline = line_end(text)
    return text.replace(newline, "\n"), Encoding(codec, mark, newline)


def decode_document(data: bytes, file: str) -> tuple[str, Encoding]:
    """Return a document's bytes as `decode` does. Raises FileError for binary data."""
    text, encoding = decode(data)
    if "\0" in text:
        raise FileError("this is binary data, not a text", file=file)
    return text, encoding


def _try(data: bytes, codec: str) -> str | None:
    """Decode `data`; return None unless encoding the text restores the same bytes."""
    try:
        text = data.decode(codec)
        return text if text.encode(codec) == data else None
    except (UnicodeError, LookupError):
        return None


def line_end(text: str) -> str:
    """Return the line end that a text uses throughout; LF if it uses several."""
    feeds, returns = text.count("\n"), text.count("\r")
    if returns and not feeds:
        return "\r"
    if feeds and feeds == text.count("\r\n"):
        return "\r\n"
    return "\n"


def read_bytes(path: Path) -> bytes:
    """Return the bytes of the file at `path`.

    Raises FileError if it cannot be read or is not a regular file: reading a FIFO would wait for a
    writer, reading a device might never end.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        with open(path, "rb", opener=opener) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise FileError("cannot be read: it is not a regular file", file=str(path))
            return stream.read()
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except ValueError as error:  # a NUL in the name
        raise FileError(f"cannot be read: {error}", file=str(path)) from None


@attrs.define
class File:
    """A document that was read, and the data needed to save it."""

    path: Path
    text: str
    encoding: Encoding
    _data: bytes = attrs.field(repr=False)

    @classmethod
    def read(cls, path: Path) -> File:
        """Read the file at `path`. Raises FileError if it cannot be read."""
        data = read_bytes(path)
        text, encoding = decode_document(data, str(path))
        return cls(path, text, encoding, data)

    def save(self, text: str) -> bool:
        """Replace the file's text by `text`; return whether it differed.

        Raises FileChangedError if the file changed since it was read, and FileError if it cannot be
        written; in both cases the file is left as it was.
        """
        data = self.encoding.encode(text)
        target = self.path.resolve()
        temporary.remove_left(target)
        if data == self._data:
            return False
        try:
            with _locked(target):
                if target.read_bytes() != self._data:
                    raise FileChangedError(
                        "was changed on disk in the meantime", file=str(self.path)
                    )
                _replace(target, data, self.path)
        except OSError as error:
            raise FileChangedError(
                f"cannot be read any more ({error.strerror})", file=str(self.path)
            ) from None
        self._data, self.text = data, text
        return True

    def is_unchanged(self) -> bool:
        """Return whether the file is as it was last read or saved, or cannot be read any more."""
        try:
            return read_bytes(self.path) == self._data
        except FileError:
            return True

    def check_writable(self) -> None:
        """Raise FileError if `save` could not write because the file or folder is read-only."""
        target = self.path.resolve()
        _check_writable(target, self.path)
        if not os.access(target.parent, os.W_OK):
            raise FileError("its folder is read-only", file=str(self.path))

    def save_beside(self, text: str) -> Path:
        """Write `text` to ``FILE.orgrest-results`` and return that path. Raises FileError.

        If that file exists, the first free suffix of ``-2``, ``-3`` ... is added.
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
        raise FileError(f"cannot be written: there are {_MOST_BESIDE} already", file=str(path))


def write(path: Path, data: bytes) -> None:
    """Write a file atomically. Raises FileError."""
    _replace(path.resolve(), data, path)


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file atomically from pieces that are produced on the fly. Raises FileError.

    A device or pipe is written to directly, not atomically. Exceptions of `pieces` propagate.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        try:
            with target.open("wb") as out:
                out.writelines(pieces)
        except OSError as error:
            raise FileError(f"cannot be written: {error.strerror}", file=str(path)) from None
        return
    _replace(target, pieces, path)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, atomically. Raises FileError."""
    _replace(path.resolve(), data, path, private=True)


def write_new(path: Path, data: bytes) -> None:
    """Write a file and create its folder. Raises FileError if it exists with other content."""
    if path.exists() and path.read_bytes() != data:
        raise FileError("this file exists, with another content", file=str(path))
    path.parent.mkdir(exist_ok=True)
    write(path, data)


def write_result(path: Path, data: bytes) -> None:
    """Write the file of a result, and create the folders above it. Raises FileError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", file=str(path)) from None
    write(path, data)


def entries(directory: Path, folder: str) -> list[str]:
    """List the names in `folder`, a path as written in a document in `directory`.

    Names of folders end in a slash. The list is empty for a folder that is outside `directory` or
    cannot be read.
    """
    try:
        found = (directory / folder).resolve()
        if not found.is_relative_to(directory.resolve()):
            return []
        return [f"{one.name}/" if one.is_dir() else one.name for one in os.scandir(found)]
    except (OSError, ValueError, RuntimeError):  # a NUL in the name, a loop of links
        return []


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Lock a document against saves of other runs. Raises OSError if it does not exist.

    A save replaces the locked file, so a run that waited for the lock finds different bytes.
    """
    with target.open("rb") as stream:
        try:
            import fcntl
        except ImportError:  # Windows has no fcntl
            yield
            return
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _replace(
    target: Path,
    data: bytes | Iterable[bytes],
    shown: Path,
    *,
    private: bool = False,
    new: bool = False,
) -> None:
    """Write a file atomically; with `new`, raise FileExistsError if it exists."""
    temporary.remove_left(target)
    made: Path | None = None
    try:
        _check_writable(target, shown)
        # (The module tempfile would do the same, but takes 5 ms to import.)
        made, number = temporary.create(target)
        with os.fdopen(number, "wb") as out:
            out.writelines((data,) if isinstance(data, bytes) else data)
            if not private:
                temporary.copy_owner(target, out.fileno())
            out.flush()
            os.fsync(out.fileno())
        linked = not (private or new) and target.exists() and target.stat().st_nlink > 1
        if linked and isinstance(data, bytes):
            # Named so that no later save removes it: after a kill, only this file is complete.
            made = made.rename(made.with_name(f"{made.name}.saved"))
            _write_into(target, data)
            made.unlink()
        elif new:
            _move_to_free(made, target)
        else:
            made.replace(target)
        made = None
        _sync_folder(target.parent)
    except OSError as error:
        if new and isinstance(error, FileExistsError):
            raise
        raise FileError(f"cannot be written: {error.strerror}", file=str(shown)) from None
    finally:
        if made is not None:
            with contextlib.suppress(OSError):
                made.unlink()


def _move_to_free(made: Path, target: Path) -> None:
    """Rename a file. Raises FileExistsError if the new name exists."""
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        made.replace(target)
    else:
        made.unlink()


def _write_into(target: Path, data: bytes) -> None:
    """Overwrite the file in place; if there is not enough space, it is left unchanged.

    Unlike a rename, this is not atomic: if the process is killed meanwhile, the file holds parts
    of both contents, and `.NAME.XXXXXXXX.saved`, which nothing removes, all of the new content.
    """
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
    """Raise FileError for a file without write permission, which a rename would replace."""
    if target.exists() and not os.access(target, os.W_OK):
        raise FileError("is read-only", file=str(shown))


def _sync_folder(folder: Path) -> None:
    """Flush the folder so that the rename survives a crash, if the system supports that."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
