"""Environments: named sets of variables in files beside a document, found as their tools find them.

Looked for in the document's folder and the ones above it, up to the project's (the first one with
`.git`, `.hg`, `.idea`, `.vscode` or `.httpyac.json`); where a variable has several values, the file
further down in this table counts, then the nearer folder, then the environment named later:

    .vscode/settings.json           VS Code REST Client's `rest-client.environmentVariables`
    .httpyac.json                   httpyac's `environments` (also httpyac.config.json)
    .env, env/.env                  variables of every environment
    NAME.env, .env.NAME, env/...    the variables of the environment NAME
    http-client.env.json            JetBrains' HTTP Client's and Visual Studio's
    http-client.private.env.json    the same, for what is not shared: its values are secrets

`$shared` in a JSON file holds what every environment has. Values of `.env` files are secrets where
their name says so (`..._TOKEN`, `PASSWORD` ...). No value is looked through for variables here; the
documents' own rules do that.

Files are data: none is run, none may be larger than `LARGEST`, and folders are looked into, not
walked. JavaScript configurations of httpyac are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from orgrest.model import OrgrestError

LARGEST: Final = 2**20
"""How many bytes an environment file may have."""
SHARED: Final = "$shared"
_HIGHEST = 40  # how many folders up a project's may be
_PROJECT = (".git", ".hg", ".idea", ".vscode", ".httpyac.json", "httpyac.config.json")
_SECRET_NAME = re.compile(
    r"pass|pwd|secret|token|credential|private|api_?key|access_?key|auth", re.IGNORECASE
)
_OBJECTS = ("Security", "SSLConfiguration")
_CERTIFICATES = (
    (".vscode/settings.json", "rest-client.certificates"),
    (".httpyac.json", "clientCertificates"),
    ("httpyac.config.json", "clientCertificates"),
)
_DOTENV = re.compile(r"(?P<before>.+)\.env|\.env(?:\.(?P<behind>.+))?")


@attrs.frozen
class Setting:
    """The value of a variable in an environment, and the file that gives it."""

    value: str
    file: Path
    secret: bool


@attrs.frozen
class Environments:
    """What the files around a document give: for each environment its variables.

    `by_name` has the key `SHARED` for what every environment has. `project` is the folder up to
    which was looked. `certificates` are the settings about client certificates, by host, the nearer
    folder first, each with the folder where its paths start.
    """

    by_name: Mapping[str, Mapping[str, Setting]]
    project: Path
    certificates: Sequence[tuple[Mapping[str, object], Path]] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The environments that can be chosen, in alphabetical order."""
        return tuple(sorted(name for name in self.by_name if name != SHARED))

    def choose(self, names: Sequence[str]) -> dict[str, Setting]:
        """Return the variables of these environments, those of later ones over earlier ones.

        Raises OrgrestError for an environment that no file has.
        """
        variables = dict(self.by_name.get(SHARED, {}))
        for name in names:
            if name not in self.by_name or name == SHARED:
                known = ", ".join(self.names) or "none: no environment file is beside the document"
                raise OrgrestError(f"there is no environment {name}; there are {known}")
            variables.update(self.by_name[name])
        return variables


def find(folder: Path) -> Environments:
    """Look for the environments of a document in `folder`.

    Raises OrgrestError for a file that cannot be read or is not what it should be.
    """
    folders = _folders(folder.resolve())
    found: dict[str, dict[str, Setting]] = {}
    for kind in _KINDS:
        for place in reversed(folders):  # the nearer folder last: it counts
            for name, variables in kind(place):
                _update(found.setdefault(name, {}), variables)
    return Environments(found, folders[-1], _certificates(folders))


def _update(known: dict[str, Setting], new: Mapping[str, Setting]) -> None:
    """Let new values count; JetBrains' objects keep what a private file does not have."""
    for name, setting in new.items():
        old = known.get(name)
        if old is not None and name in _OBJECTS:
            both = _merged(json.loads(old.value), json.loads(setting.value))
            setting = attrs.evolve(setting, value=json.dumps(both), secret=True)
        known[name] = setting


def _merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return old | {name: _merged(old.get(name), value) for name, value in new.items()}


def _certificates(folders: Sequence[Path]) -> list[tuple[Mapping[str, object], Path]]:
    found: list[tuple[Mapping[str, object], Path]] = []
    for folder in folders:
        for file, key in _CERTIFICATES:
            given = _json(folder / file, comments=True).get(key)
            if isinstance(given, dict):
                found.append((given, folder))
    return found


def dotenv_beside(folder: Path) -> dict[str, str]:
    """Return the variables of the `.env` file in `folder`, or none where there is no such file."""
    return {name: setting.value for name, setting in _dotenv(folder / ".env").items()}


def _folders(folder: Path) -> list[Path]:
    """Return the folder and those above it up to the project's; itself where there is none."""
    folders = []
    for place in (folder, *folder.parents)[:_HIGHEST]:
        folders.append(place)
        if any((place / mark).exists() for mark in _PROJECT):
            return folders
    return folders[:1]


_Found = Iterator[tuple[str, Mapping[str, Setting]]]


def _vscode(folder: Path) -> _Found:
    file = folder / ".vscode" / "settings.json"
    settings = _json(file, comments=True)
    yield from _environments(settings.get("rest-client.environmentVariables", {}), file)


def _httpyac(folder: Path) -> _Found:
    for name in (".httpyac.json", "httpyac.config.json"):
        settings = _json(folder / name, comments=True)
        yield from _environments(settings.get("environments", {}), folder / name)


def _jetbrains(folder: Path) -> _Found:
    file = folder / "http-client.env.json"
    yield from _environments(_json(file), file)


def _jetbrains_private(folder: Path) -> _Found:
    file = folder / "http-client.private.env.json"
    yield from _environments(_json(file), file, secret=True)


def _dotenvs(folder: Path) -> _Found:
    for place in (folder, folder / "env"):
        try:
            files = sorted(file for file in place.iterdir() if _DOTENV.fullmatch(file.name))
        except OSError:
            continue  # no such folder, or not ours to look into
        for file in files:
            match = _DOTENV.fullmatch(file.name)
            name = match and (match["before"] or match["behind"])
            yield name or SHARED, _dotenv(file)


_KINDS: Final = (_vscode, _httpyac, _dotenvs, _jetbrains, _jetbrains_private)


def _environments(given: Any, file: Path, *, secret: bool = False) -> _Found:
    """Give the environments of a JSON object, each of which is an object."""
    if not isinstance(given, dict):
        raise OrgrestError("environments are an object of objects", file=str(file))
    shared = given.get(SHARED, {})
    for name, variables in given.items():
        if not isinstance(variables, dict):
            raise OrgrestError(f"the environment {name} is no object", file=str(file))
        yield (
            name,
            {
                key: Setting(_referred(_text(value), shared), file, secret)
                for key, value in variables.items()
                if not (name == SHARED and isinstance(value, dict | list))
            },
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _referred(text: str, shared: Any) -> str:
    """Replace `{{$shared name}}`, VS Code's way to use a shared variable in an environment."""
    if SHARED not in text or not isinstance(shared, dict):
        return text
    return re.sub(
        r"\{\{[ \t]*\$shared[ \t]+([^\s{}]+)[ \t]*\}\}",
        lambda match: _text(shared[match[1]]) if match[1] in shared else match[0],
        text,
    )


def _dotenv(file: Path) -> dict[str, Setting]:
    from io import StringIO

    text = _read(file)
    if text is None:
        return {}
    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text), interpolate=False)
    return {
        name: Setting(value, file, _SECRET_NAME.search(name) is not None)
        for name, value in values.items()
        if value is not None
    }


def _json(file: Path, *, comments: bool = False) -> dict[str, Any]:
    """Return a file's JSON object, or an empty one where there is no such file."""
    text = _read(file)
    if text is None:
        return {}
    try:
        value = json.loads(_without_comments(text) if comments else text)
    except RecursionError as error:
        raise OrgrestError("this JSON is nested too deep", file=str(file)) from error
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            raise OrgrestError(
                f"this is not JSON: {error.msg}",
                file=str(file),
                line=error.lineno,
                column=error.colno,
            ) from error
        raise OrgrestError(f"this is not JSON: {error}", file=str(file)) from error
    if not isinstance(value, dict):
        raise OrgrestError("a JSON object is expected here", file=str(file), line=1)
    return value


_JSONC = re.compile(r'("(?:[^"\\]|\\.)*+")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def _without_comments(text: str) -> str:
    """Blank out comments and trailing commas, which VS Code's settings may have."""
    return _JSONC.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)


def _read(file: Path) -> str | None:
    if not file.is_file():  # nothing there, or the folder .env of a virtual environment
        return None
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        reason = f"this environment file cannot be read: {error.strerror}"
        raise OrgrestError(reason, file=str(file)) from error
    if len(data) > LARGEST:
        raise OrgrestError(f"an environment file has at most {LARGEST:,} bytes", file=str(file))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"this environment file is not UTF-8 (byte {error.start})"
        raise OrgrestError(reason, file=str(file)) from error
