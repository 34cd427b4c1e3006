"""Reads netrc and env files, and locates the files that a document names.

A document may name files below its folder and below the folders that the caller allows. Files in a
`.git` or `.hg` folder there are excluded, because `.git/config` may contain a password. A document
in a repository may also name the repository's other files, except hidden ones such as `.env`. A
repository that contains the user's home folder does not count.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.http.values.references import unquote
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def look_up(path: Path | None, host: str, field: str) -> str:
    """Return the `login`, `account` or `password` for `host` in a netrc file.

    Raises `OrgrestError` if the file or the entry is missing, or if the file is malformed.
    """
    import netrc

    if path is None:
        raise OrgrestError(
            "there is no netrc file: create ~/.netrc, or set NETRC to the path of one"
        )
    try:
        entry = netrc.netrc(str(path)).authenticators(host)
    except OSError as error:
        raise OrgrestError(f"could not read {path}: {error.strerror}") from error
    except (netrc.NetrcParseError, UnicodeError) as error:
        reason = error.msg if isinstance(error, netrc.NetrcParseError) else "not UTF-8"
        raise OrgrestError(f"could not read {path}: {reason}") from error
    if entry is None:
        raise OrgrestError(f"{path} has no entry for {host}")
    fields = dict(zip(("login", "account", "password"), entry, strict=True))
    if field not in fields:
        raise OrgrestError(f"unknown netrc field {field}: expected login, account or password")
    return fields[field] or ""


def read_env_file(path: Path) -> dict[str, str]:
    r"""Return the variables of an env file, which consists of lines of the form `NAME=value`.

    A line may start with `export`. Lines that start with `#` are comments. Values may be in quotes.
    In double quotes, `\n`, `\t`, `\"` and `\\` are decoded. Raises `OrgrestError` if the file
    cannot be read, or if a line is malformed (the error includes the line number).
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise OrgrestError(
            f"could not read the env file: {error.strerror}", file=str(path)
        ) from error
    except UnicodeError as error:
        raise OrgrestError("the env file is not UTF-8", file=str(path)) from error
    variables = {}
    for number, line in enumerate(text.split("\n"), 1):
        definition = line.strip().removeprefix("export ").lstrip()
        if not definition or definition.startswith("#"):
            continue
        name, equals, value = definition.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or any(c.isspace() for c in name):
            raise OrgrestError("expected a line NAME=value", file=str(path), line=number)
        if value[:1] in ("'", '"'):
            match = re.fullmatch(r"""("(?:[^"\\]|\\.)*"|'[^']*')(?:\s+#.*|\s*)""", value)
            if match is None:
                raise OrgrestError("the quote is never closed", file=str(path), line=number)
            value = unquote(match[1]) if value[0] == '"' else match[1][1:-1]
        else:
            value = re.sub(r"(?:^|\s+)#.*", "", value)
        variables[name] = value
    return variables


_REPOSITORY = (".git", ".hg")


def locate(
    path: str,
    directory: Path,
    folder: Path,
    allowed: Iterable[Path],
    on_read: Callable[[Path], None] | None = None,
) -> Path:
    """Return the path of a file that a document in `folder` names relative to `directory`.

    If the document may name the file, `on_read` is called with the path, even if no such file
    exists. Raises `OrgrestError` if the document may not name the file, if it is not a regular
    file, or if it cannot be found.
    """
    if "\0" in f"{directory}{path}":
        raise OrgrestError("file names cannot contain NUL characters")
    try:
        file = (directory / Path(path).expanduser()).resolve()
        folder = folder.resolve()
        readable = [each.resolve() for each in allowed]
        inside = any(_is_allowed(file, each) for each in readable)
        if not inside and not _is_in_git_or_hg(Path(path)):  # not even through a link
            inside = _is_allowed(file, folder) or _is_in_project(file, folder)
        if not inside:
            is_below = any(file.is_relative_to(each) for each in (folder, *readable))
            where = "in a .git or .hg folder" if is_below else "outside the document's folder"
            raise OrgrestError(
                f"{path} is {where}: use --allow-read {file.parent} to allow reading it"
            )
        if on_read is not None:
            on_read(file)
        if not stat.S_ISREG(file.stat().st_mode):
            raise OrgrestError(f"{path} is not a regular file")
    except OSError as error:
        raise OrgrestError(f"could not read {path}: {error.strerror or error}") from error
    except RuntimeError as error:  # a loop of symbolic links, or a ~user without a home folder
        raise OrgrestError(f"could not read {path}: {error}") from error
    return file


def _is_allowed(file: Path, folder: Path) -> bool:
    return file.is_relative_to(folder) and not _is_in_git_or_hg(file.relative_to(folder))


def _is_in_git_or_hg(path: Path) -> bool:
    # The last part is not a folder: a file may be called .git.
    return any(part.casefold() in _REPOSITORY for part in path.parts[:-1])


def _is_in_project(file: Path, folder: Path) -> bool:
    """Return whether a file is in the document's repository and not hidden there."""
    home = Path.home().resolve()
    for place in (folder, *folder.parents):
        if home.is_relative_to(place):
            return False
        if any((place / mark).exists() for mark in _REPOSITORY):
            return file.is_relative_to(place) and not any(
                part.startswith(".") for part in file.relative_to(place).parts
            )
    return False
