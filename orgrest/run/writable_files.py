"""The files that documents may write: data files inside the document's folder.

The content may come from an untrusted server, and the name comes from the document. Therefore, only
the suffixes of data files are allowed. Tools look for files of some types (JSON, XML, text,
archives ...) by name. The names of such files, or their paths, must also start with the document's
name: `api.org` writes `api-users.json`, `users/api-1.json` and `api-results/users.json`.

An existing file is overwritten only if orgrest wrote it and it has not changed since, or if the
result in the document links to it. To recognize unchanged files, orgrest stores the digests of the
files it writes in the user's state folder (`$XDG_STATE_HOME/orgrest/written`).

None of these limits apply inside the folders given with `--allow-write`. However, no document of
the run, imported files included, is ever overwritten.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.files import FileError, read_bytes, resolved, user_folder, write_result
from orgrest.regular import compiled
from orgrest.rendering.content import DATA_ENDINGS, PLAIN_ENDINGS
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orgrest.http.syntax import Saving
    from orgrest.http.values import Context

# Known configuration files are never overwritten, even if a result in the document links to them.
_CONFIGURATION = compiled(
    r".*(?:config|settings|manifest|requirements|constraints|workspace)[^/]*"
    r"|(?:.*\.)?env\.json|(?:package|npm|composer|bower|deno|lerna|nx|turbo|rush|now|vercel|firebase"
    r"|angular|biome|netlify|renovate|project|global|app|tasks|launch|extensions|pipfile|cargo"
    r"|codecov|devcontainer|server|mcp)[^/]*\.json"
    r"|(?:pom|build|ivy|web|phpunit|logback|log4j2?|tox|testng)\.xml|cmakelists\.txt|llms\.txt",
    re.IGNORECASE,
)
_MOST_NAMES = 9999
_MOST = 2**21  # maximum bytes of the digests; if exceeded, the older half is dropped


def check(
    target: Path,
    path_text: str,
    document: Path,
    allowed: Iterable[Path],
    *,
    linked: bool = False,
    documents: Iterable[Path] = (),
) -> None:
    """Raise EvaluationError unless a document may write the file `target`.

    `path_text` is the file's name as written in the document. If `linked` is true, a result in the
    document links to the file. `allowed` contains the folders given with `--allow-write`.
    `documents` contains the run's other documents, such as imported files. The paths of `target`
    and of the document's folder must be free of symbolic links.
    """
    folder = document.parent
    if target == document.resolve():
        raise EvaluationError(f"{path_text} is the document itself: choose another file")
    if target in (path.resolve() for path in documents):
        raise EvaluationError(f"{path_text} is a document of this run: choose another file")
    if any(target.is_relative_to(permitted.resolve()) for permitted in allowed):
        return
    hint = f"(use --allow-write {target.parent} to allow it)"
    if not target.is_relative_to(folder) or any(
        part.startswith(".") for part in target.relative_to(folder).parts
    ):
        raise EvaluationError(
            f"{path_text}: results can only be written inside the document's folder, and not to "
            f"hidden files {hint}"
        )
    if target.suffix.lower() not in DATA_ENDINGS:
        raise EvaluationError(
            f"{path_text}: documents can only write data files, such as .json, .txt or .png {hint}"
        )
    exists = os.path.exists(target)  # noqa: PTH110 (never raises)
    own = exists and _is_own(target)
    starts = (f"{document.stem}-", f"{own_name(document.name)}-")
    named = target.name.startswith(starts) or target.relative_to(folder).parts[0].startswith(starts)
    is_known = own or (linked and not _CONFIGURATION.fullmatch(target.name))
    if not (named or is_known or target.suffix.lower() in PLAIN_ENDINGS):
        raise EvaluationError(
            f"{path_text}: another tool might use a file with this name as its configuration. The "
            f"name of a {target.suffix} file must start with the document's own name: "
            f"{document.stem}-{target.name}, or {document.stem}-results/{target.name} {hint}"
        )
    if exists and not linked and not own:
        raise EvaluationError(
            f"{path_text} already exists and was not written by orgrest, so it was not "
            f"overwritten {hint}"
        )


def own_name(document: str) -> str:
    """Return the prefix for the names of the files that a document writes.

    It is the document's name without the suffix, in a form that is suitable for links.
    """
    return re.sub(r"[^\w.-]+", "-", Path(document).stem).lstrip("-.") or "result"


def write(path: Path, data: bytes) -> None:
    """Write a result file, and store its digest. Raises FileError."""
    write_result(path, data)
    line = f"{_digest(data)} {json.dumps(str(path.resolve()))}\n".encode()
    memory = _memory()
    with contextlib.suppress(OSError):  # without a digest, the file is not overwritten later
        memory.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(memory, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(number, "ab") as out:
            out.write(line)
            long = out.tell() > _MOST
        if long:
            newer_half = memory.read_bytes()[-_MOST // 2 :].partition(b"\n")[2]
            memory.write_bytes(newer_half)


def _is_own(target: Path) -> bool:
    """Return whether a file is unchanged since orgrest wrote it."""
    name = json.dumps(str(target)).encode()
    try:
        lines = _memory().read_bytes().split(b"\n")
        digest_line = next((line for line in reversed(lines) if line[65:] == name), b"")
        return digest_line[:64].decode() == _digest(read_bytes(target))
    except (OSError, FileError):
        return False


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _memory() -> Path:
    return user_folder("state") / "written"


def saved(
    saving: Saving,
    path: str,
    context: Context,
    document: str,
    documents: Iterable[Path] = (),
    allowed: Sequence[Path] = (),
) -> Path:
    """Return the file to save a response to, if `check` allows it.

    `path` is the path in the request, with its variables replaced. `document` is the document's
    file. `documents` and `allowed` are passed to `check`. `>>!` overwrites an existing file, and
    `>>` uses the next free name. Raises EvaluationError if the file may not be written.
    """
    try:
        target = resolved(context.directory.resolve() / path)
    except (OSError, RuntimeError, ValueError) as error:
        raise EvaluationError(f"could not write {path}: {error}") from None
    number = 0
    named = target
    while not saving.overwrite and os.path.exists(target) and number < _MOST_NAMES:  # noqa: PTH110 (never raises)
        number += 1
        target = named.with_name(f"{named.stem}-{number}{named.suffix}")
    if number == _MOST_NAMES:
        raise EvaluationError(
            f"{path} and the files numbered 1 to {number - 1} already exist: delete some, or use "
            ">>! to overwrite the first"
        )
    own = context.saves_below.resolve() / Path(document).name
    check(target, path, own, allowed, documents=documents)
    return target
