"""The files of a document: netrc, env files, and the files that it names.

It may name files below its folder, and others that the caller allows.

If the document is in a repository (`.git`, `.hg`), the files below the repository's root may be
named, too, except hidden files (`.git/config`, `.env`). A repository that contains the user's home
does not count.
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
    """Return the `login`, `account` or `password` that a netrc file has for `host`.

    Raises `OrgrestError` if the file or the entry is missing.
    """
    import netrc

    if path is None:
        raise OrgrestError("there is no netrc file")
    try:
        found = netrc.netrc(str(path)).authenticators(host)
    except OSError as error:
        raise OrgrestError(f"cannot read {path}: {error.strerror}") from error
    except (netrc.NetrcParseError, UnicodeError) as error:
        reason = error.msg if isinstance(error, netrc.NetrcParseError) else "not UTF-8"
        raise OrgrestError(f"cannot read {path}: {reason}") from error
    if found is None:
        raise OrgrestError(f"{path} has no entry for {host}")
    fields = dict(zip(("login", "account", "password"), found, strict=True))
    if field not in fields:
        raise OrgrestError(f"netrc knows login, account and password, not {field}")
    return fields[field] or ""


def read_env_file(path: Path) -> dict[str, str]:
    r"""Return the variables of an env file: `NAME=value` lines.

    `export` before the name, `#` lines, and quotes around a value are understood; in double quotes
    `\n`, `\t`, `\"`, `\\` too. Raises `OrgrestError` with the position of a malformed line.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise OrgrestError(f"cannot read the env file: {error.strerror}", file=str(path)) from error
    except UnicodeError as error:
        raise OrgrestError("the env file is not UTF-8", file=str(path)) from error
    variables = {}
    for number, line in enumerate(text.split("\n"), 1):
        given = line.strip().removeprefix("export ").lstrip()
        if not given or given.startswith("#"):
            continue
        name, equals, value = given.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or any(c.isspace() for c in name):
            raise OrgrestError("not a NAME=value line", file=str(path), line=number)
        if value[:1] in ("'", '"'):
            match = re.fullmatch(r"""("(?:[^"\\]|\\.)*"|'[^']*')(?:\s+#.*|\s*)""", value)
            if match is None:
                raise OrgrestError("the quote never ends", file=str(path), line=number)
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
    """Return the path of a file named by a document in `folder`, relative to `directory`.

    `on_read` gets the path of a file that may be read, whether it exists or not.
    Raises `OrgrestError` if it is outside the allowed folders, is not a regular file, or cannot be
    found.
    """
    if "\0" in f"{directory}{path}":
        raise OrgrestError("the name of a file cannot hold a NUL")
    try:
        found = (directory / Path(path).expanduser()).resolve()
        folder = folder.resolve()
        inside = any(found.is_relative_to(one.resolve()) for one in (folder, *allowed))
        if not inside and not _is_in_project(found, folder):
            raise OrgrestError(
                f"{path} is outside the document's folder: "
                f"--allow-read {found.parent} lets it be read"
            )
        if on_read is not None:
            on_read(found)
        if not stat.S_ISREG(found.stat().st_mode):
            raise OrgrestError(f"{path} is not a regular file")
    except OSError as error:
        raise OrgrestError(f"cannot read {path}: {error.strerror or error}") from error
    except RuntimeError as error:  # a loop of links, a ~user without a home
        raise OrgrestError(f"cannot read {path}: {error}") from error
    return found


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
