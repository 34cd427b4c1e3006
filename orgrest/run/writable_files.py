"""The files that documents may write: data, below their folder, overwriting only orgrest's own.

Their content may come from an untrusted server, and their name from the document. So only suffixes
of data are allowed. Files that a tool could find by name (JSON, XML, text, archives ...) must also
contain the document's name: `api.org` writes `api-users.json` and `api-results/users.json`, which
no tool looks for. Digests of written files are kept in one of the user's files
(`$XDG_STATE_HOME/orgrest/written`), so that other files, and files edited since, are not
overwritten. Below the folders of `--allow-write` none of these limits apply.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.files import FileError, read_bytes, resolved, write_result
from orgrest.rendering.content import DATA_ENDINGS, PLAIN_ENDINGS
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orgrest.http.syntax import Saving
    from orgrest.http.values import Context

# Known configuration files are not overwritten, even if a document's result links to them.
_CONFIGURATION = re.compile(
    r".*(?:config|settings|manifest|requirements|constraints|workspace)[^/]*"
    r"|(?:.*\.)?env\.json|(?:package|npm|composer|bower|deno|lerna|nx|turbo|rush|now|vercel|firebase"
    r"|angular|biome|netlify|renovate|project|global|app|tasks|launch|extensions|pipfile|cargo"
    r"|codecov|devcontainer|server|mcp)[^/]*\.json"
    r"|(?:pom|build|ivy|web|phpunit|logback|log4j2?|tox|testng)\.xml|cmakelists\.txt|llms\.txt",
    re.IGNORECASE,
)
_MOST_NAMES = 9999
_MOST = 2**21  # bytes of the file of digests; beyond that, the older half is dropped


def check(
    target: Path,
    given: str,
    document: Path,
    allowed: Iterable[Path],
    *,
    linked: bool = False,
) -> None:
    """Raise EvaluationError unless a document may write the file `target`.

    `given` is its name in the document. `linked`: whether the document's result is a link to it.
    `allowed` are the folders of `--allow-write`. All paths are without links.
    """
    folder = document.parent
    if any(target.is_relative_to(one.resolve()) for one in allowed):
        return
    hint = f"(--allow-write {target.parent} lets it be written)"
    if not target.is_relative_to(folder) or any(
        part.startswith(".") for part in target.relative_to(folder).parts
    ):
        raise EvaluationError(
            f"{given}: results are written below the document's folder only, "
            f"and not to hidden files {hint}"
        )
    if target.suffix.lower() not in DATA_ENDINGS:
        raise EvaluationError(
            f"{given}: a document writes data only, such as .json, .txt or .png {hint}"
        )
    exists = os.path.exists(target)  # noqa: PTH110 (never raises)
    own = exists and _is_own(target)
    named = (
        target.relative_to(folder)
        .parts[0]
        .startswith((f"{document.stem}-", f"{own_name(document.name)}-"))
    )
    known = own or (linked and not _CONFIGURATION.fullmatch(target.name))
    if not (named or known or target.suffix.lower() in PLAIN_ENDINGS):
        raise EvaluationError(
            f"{given}: tools may look for a file of this name. A document's {target.suffix} files "
            f"begin with its own: {document.stem}-{target.name}, or "
            f"{document.stem}-results/{target.name} {hint}"
        )
    if exists and not linked and not own:
        raise EvaluationError(
            f"{given} is there already, and orgrest did not write it: it is kept {hint}"
        )


def own_name(document: str) -> str:
    """Return the prefix of the names of a document's files: its own name, as written in links."""
    return re.sub(r"[^\w.-]+", "-", Path(document).stem).lstrip("-.") or "result"


def write(path: Path, data: bytes) -> None:
    """Write a file for a result, and remember its digest. Raises FileError."""
    write_result(path, data)
    line = f"{_digest(data)} {json.dumps(str(path.resolve()))}\n".encode()
    memory = _memory()
    with contextlib.suppress(OSError):  # then it counts as another's file
        memory.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(memory, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(number, "ab") as out:
            out.write(line)
            long = out.tell() > _MOST
        if long:
            kept = memory.read_bytes()[-_MOST // 2 :].partition(b"\n")[2]
            memory.write_bytes(kept)


def _is_own(target: Path) -> bool:
    """Return whether a file is unchanged since it was last written."""
    name = json.dumps(str(target)).encode()
    try:
        lines = _memory().read_bytes().split(b"\n")
        found = next((one for one in reversed(lines) if one[65:] == name), b"")
        return found[:64].decode() == _digest(read_bytes(target))
    except (OSError, FileError):
        return False


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _memory() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "state"
    return state / "orgrest" / "written"


def saved(
    saving: Saving, path: str, context: Context, document: str, allowed: Sequence[Path] = ()
) -> Path:
    """Return the file to save a response to, if `check` allows it.

    `path` is the written path with its variables substituted, `document` the document's. Only
    `>>!` overwrites an existing file; `>>` takes the next free name. Raises EvaluationError.
    """
    try:
        target = resolved(context.directory.resolve() / path)
    except (OSError, RuntimeError, ValueError) as error:
        raise EvaluationError(f"{path} cannot be written: {error}") from None
    number = 0
    named = target
    while not saving.overwrite and os.path.exists(target) and number < _MOST_NAMES:  # noqa: PTH110 (never raises)
        number += 1
        target = named.with_name(f"{named.stem}-{number}{named.suffix}")
    if number == _MOST_NAMES:
        raise EvaluationError(f"{path}: all names up to -{number} are taken; >>! overwrites")
    check(target, path, context.saves_below.resolve() / Path(document).name, allowed)
    return target
