"""Reads environments: sets of variables in files near a document, in the formats of other tools.

The files are searched for in the document's folder and its parents, up to the project's root (the
first folder with `.git`, `.hg`, `.idea`, `.vscode` or httpyac's JSON file). If a variable has
several values, the environment that was selected later takes precedence, then the file further down
in this table, then the nearer folder:

    .vscode/settings.json           VS Code REST Client's `rest-client.environmentVariables`
    .httpyac.json                   httpyac's `environments` (also httpyac.config.json)
    .env, env/.env                  variables of every environment
    NAME.env, .env.NAME, env/...    the variables of the environment NAME
    http-client.env.json            the format of JetBrains' HTTP Client and Visual Studio
    http-client.env.json.user       Visual Studio's file for one user
    http-client.private.env.json    JetBrains' file for unshared values, which are secrets

`$shared` in a JSON file holds the variables of every environment. `$schema` is not an environment.
Comments and trailing commas are accepted, but cause a warning in JetBrains' files, since other
tools may reject them. A malformed line of a `.env` file is ignored, with a warning. Variables in
`.env` and `.user` files are secret if their names suggest it (`..._TOKEN`, `PASSWORD` ...). Values
may refer to variables, like values in documents.

A broken file only affects variables that it might define. Files larger than `LARGEST` bytes are
rejected. No code is run, so httpyac's JavaScript configuration files are not read.

httpyac's files also contain settings for sending requests (`Environments.sending`).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from orgrest import classes
from orgrest.http.auth.providers import is_provided
from orgrest.http.transport.limits import MAX_TIMEOUT
from orgrest.http.values.global_variables import text_of
from orgrest.model import OrgrestError, short
from orgrest.regular import compiled
from orgrest.structured import without_comments

LARGEST: Final = 2**20
"""The maximum size of an environment file, in bytes."""
SHARED: Final = "$shared"
DEFAULT: Final = "$default"
"""The environment that httpyac uses by default."""
DEFAULT_HEADERS: Final = "$kulalaDefaultHeaders"
_MOST_LOOKED_THROUGH = 16 * LARGEST  # bytes to search of a file that is too large, or not JSON
_MOST_KNOWN = 10_000  # folders whose contents are cached
_TICK = 100_000_000  # ns; the clocks of file systems are coarser than the clock of a process
_HIGHEST = 40  # maximum number of folders up to a project's root
PUBLIC: Final = "http-client.env.json"
PRIVATE: Final = "http-client.private.env.json"
_JETBRAINS = (PUBLIC, "http-client.env.json.user", PRIVATE)
_VSCODE = ".vscode/settings.json"
_HTTPYAC = (".httpyac.json", "httpyac.config.json")
_PROJECT = (".git", ".hg", ".idea", ".vscode", *_HTTPYAC)
_NO_FILE: Final = (
    "there is no environment file in the document's folder or, within a project, in its parents "
    f"(a project's folder contains {', '.join(_PROJECT[:-1])} or {_PROJECT[-1]})"
)
SECRET_NAME = compiled(
    r"pass|pwd|secret|token|credential|private|api_?key|access_?key|auth", re.IGNORECASE
)
"""A pattern that finds the beginning of a secret's usual name in the name of a variable."""
_OF_EDITOR = Path("the editor's settings")
OBJECTS = ("Security", "SSLConfiguration")
_CERTIFICATES = (
    (_VSCODE, "rest-client.certificates"),
    *((name, "clientCertificates") for name in _HTTPYAC),
)
SETTINGS: Final = ("defaultHeaders", "cookieJarEnabled", "followRedirect", '"timeout"')
"""Every file with settings that affect how requests are sent contains one of these words."""
_HEADERS = (
    (_VSCODE, "rest-client.defaultHeaders"),
    *((name, "defaultHeaders") for name in _HTTPYAC),
)
# The settings in httpyac's `request` that are read.
_REQUEST_SETTINGS = ("timeout", "followRedirect")
_UNREAD = (
    "proxy",
    "proxyExcludeList",
    "requestBodyInjectVariablesExtensions",
    "useRegionScopedVariables",
)
_Stamp = tuple[int, int, int, int]
_DOTENV = compiled(r"(?P<before>.+)\.env|\.env(?:\.(?P<behind>.+))?")


@classes.frozen
class Setting:
    """The value of a variable in an environment, and the file that defines it.

    `kind` is "text" for a string, "object" for an object, "provider" for an object that names a
    provider, and "other" for any other value. `value` is JSON unless `kind` is "text". `error` is
    set if the value is null.
    """

    value: str
    file: Path
    secret: bool
    error: OrgrestError | None = None
    kind: Literal["text", "object", "provider", "other"] = "text"

    @property
    def data(self) -> Any:
        """The value: a string if `kind` is "text", otherwise the parsed JSON."""
        return self.value if self.kind == "text" else json.loads(self.value)


@classes.frozen
class Broken:
    """A file that cannot be read or is malformed, and the reason."""

    file: Path
    error: OrgrestError


@classes.frozen
class Environments:
    """The environments that the files near a document define.

    - `by_name` maps names to environments. The key `SHARED` has the variables common to all.
    - `project` is the folder where the search ended.
    - `certificates` contains the client certificates for each host, nearest folder first. Each has
      the folder to which its paths are relative.
    - `broken` lists unreadable files that might define variables, and `unread` lists unreadable
      files that might have other settings.
    - `certain` lists the files that take precedence over every broken file.
    - `headers` are the default headers for requests that lack them.
    - `notices` are other warnings about the files.
    - `sending` contains httpyac's settings for sending requests: whether to use `cookies`, whether
      to `follow` redirects, and the `timeout` in seconds.
    """

    by_name: Mapping[str, Mapping[str, Setting]]
    project: Path
    certificates: Sequence[tuple[Mapping[str, object], Path]] = ()
    broken: Sequence[Broken] = ()
    unread: Sequence[Broken] = ()
    certain: frozenset[Path] = frozenset()
    headers: Mapping[str, str] = classes.field(factory=dict)
    notices: Sequence[str] = ()
    sending: Mapping[str, Any] = classes.field(factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the environments that can be selected, in alphabetical order."""
        return tuple(sorted(name for name in self.by_name if name not in (SHARED, DEFAULT)))

    def choose(self, names: Sequence[str]) -> dict[str, Setting]:
        """Return the variables of these environments. Later environments take precedence.

        Raises OrgrestError for an environment that no file defines.
        """
        variables = dict(self.by_name.get(SHARED, {}))
        if not names:
            variables.update(self.by_name.get(DEFAULT, {}))
        for name in names:
            if name not in self.by_name or name in (SHARED, DEFAULT):
                self.check()
                raise OrgrestError(unknown(name, [self]))
            variables.update(self.by_name[name])
        return variables

    def over(self, settings: Mapping[str, Any]) -> Environments:
        """Return these environments with additions from an editor's settings for REST Client.

        The files take precedence over the settings. Settings in an unexpected format are ignored.
        """
        merged: dict[str, dict[str, Setting]] = {}
        with suppress(OrgrestError):
            overrides = settings.get("rest-client.environmentVariables", {})
            for name, variables in _environments(overrides, _OF_EDITOR, secret=SECRET_NAME):
                merged[name] = dict(variables)
        for name, own in self.by_name.items():
            _update(merged.setdefault(name, {}), own)
        certificates = settings.get("rest-client.certificates")
        more = ((certificates, self.project),) if isinstance(certificates, dict) else ()
        headers = settings.get("rest-client.defaultHeaders")
        texts = headers.items() if isinstance(headers, dict) else ()
        return classes.evolve(
            self,
            by_name=merged,
            certificates=(*self.certificates, *more),
            headers={name: content for name, content in texts if isinstance(content, str)}
            | dict(self.headers),
        )

    def check(self) -> None:
        """Raise OrgrestError if a file is broken."""
        for file in self.broken:
            raise file.error.with_traceback(None)


def unknown(name: str, found: Collection[Environments]) -> str:
    """Return the message that no environment in `found` has this name."""
    names = sorted({each for environments in found for each in environments.names})
    reason = f"; available: {', '.join(names)}" if names else f": {why_none(found)}"
    return f"unknown environment {name}{reason}"


def why_none(found: Iterable[Environments]) -> str:
    """Say why no environment can be selected among those that were found."""
    if any(each.by_name for each in found):
        return "the environment files only define variables that belong to no environment"
    return _NO_FILE


def find(folder: Path) -> Environments:
    """Return the environments for documents in `folder`, cached until one of their files changes.

    Errors in a file are part of the result, and are raised only when the file is needed.
    """
    folder = folder.resolve()
    entry = _found.get(folder)
    if entry is None or any(_stamp(path) != stamp for path, stamp in entry[1].items()):
        began = time.time_ns()
        folders = project_folders(folder)
        possible = [file for place in folders for kind in _KINDS for file in kind.files(place)]
        paths = (*folders, *(place / "env" for place in folders), *possible)
        stamps = {path: _stamp(path) for path in paths}
        has_files = any(stamps[file] for file in possible)
        entry = _read_all(folders) if has_files else Environments({}, folders[-1]), stamps
        if len(_found) >= _MOST_KNOWN:
            _found.clear()
        # A file that changed just now may change again within one tick of the file system's clock.
        if all(stamp is None or stamp[0] < began - _TICK for stamp in stamps.values()):
            _found[folder] = entry
    return entry[0]


_found: dict[Path, tuple[Environments, dict[Path, _Stamp | None]]] = {}


def require(names: Sequence[str], folders: Iterable[Path]) -> None:
    """Raise OrgrestError unless each name is an environment in one of the folders.

    If an environment file there is broken, unknown names are accepted, because it may define them.
    """
    found = [find(folder) for folder in dict.fromkeys(folders)] if names else []
    if any(each.broken for each in found):
        return
    for name in names:
        if not any(name in each.names for each in found):
            raise OrgrestError(unknown(name, found))


def _stamp(path: Path) -> _Stamp | None:
    """Return a value that changes with the file or folder, or None if it is inaccessible."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def files(folder: Path) -> Iterator[Path]:
    """Yield the paths of all environment files for documents in `folder`. Some may not exist."""
    for place in project_folders(folder.resolve()):
        for kind in _KINDS:
            yield from kind.files(place)


def _read_all(folders: Sequence[Path]) -> Environments:
    by_name: dict[str, dict[str, Setting]] = {}
    broken: list[Broken] = []
    certain: set[Path] = set()
    notices: list[str] = []
    for kind in _KINDS:
        for place in reversed(folders):  # the nearest folder comes last: it takes precedence
            for file in kind.files(place):
                try:
                    environments = list(kind.read(file, notices))
                except OrgrestError as error:
                    broken.append(Broken(file, error))
                    certain.clear()
                    continue
                certain.add(file)
                for name, variables in environments:
                    _update(by_name.setdefault(name, {}), variables)
    certificates, unread = _of_key(folders, _CERTIFICATES)
    headers: dict[str, str] = {}
    for defaults, _ in reversed(_of_key(folders, _HEADERS)[0]):
        headers.update((name, value) for name, value in defaults.items() if isinstance(value, str))
    sending = _sending(folders, notices)
    return Environments(
        by_name,
        folders[-1],
        certificates,
        broken,
        unread,
        frozenset(certain),
        headers,
        notices,
        sending,
    )


def _sending(folders: Sequence[Path], notices: list[str]) -> dict[str, Any]:
    """Return httpyac's settings for sending requests. The nearest file takes precedence."""
    sending: dict[str, Any] = {}
    for file in (folder / name for folder in reversed(folders) for name in _HTTPYAC):
        try:
            settings = json_of(file)
        except OrgrestError:
            continue  # reported as `unread`
        request = settings.get("request")
        request = request if isinstance(request, dict) else {}
        unread = [name for name in _UNREAD if settings.get(name)]
        unread += ["envDirName"] if settings.get("envDirName", "env") != "env" else []
        unread += [f"request.{name}" for name in request if name not in _REQUEST_SETTINGS]
        if unread:
            notices.append(
                f"{file}: these settings of httpyac are not supported, so they are ignored: "
                f"{', '.join(unread)}"
            )
        if "cookieJarEnabled" in settings:  # true, false, or an object with options
            sending["cookies"] = settings["cookieJarEnabled"] is not False
        if "followRedirect" in request:
            sending["follow"] = request["followRedirect"] is not False
        timeout: Any = request.get("timeout")
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if is_number and 0 < timeout / 1000 <= MAX_TIMEOUT:
            sending["timeout"] = timeout / 1000
        elif timeout is not None:
            notices.append(
                f"{file}: request.timeout is ignored, because it must be a number of milliseconds, "
                f"more than 0 and at most {MAX_TIMEOUT * 1000:.0f}; found {short(text_of(timeout))}"
            )
    return sending


def _update(known: dict[str, Setting], new: Mapping[str, Setting]) -> None:
    """Add `new` settings to the `known` settings. Members of JetBrains' objects are merged."""
    for name, setting in new.items():
        old = known.get(name)
        if old is not None and name in OBJECTS:
            both = _merged(old.data, setting.data)
            setting = classes.evolve(setting, value=text_of(both), secret=True, kind=_kind(both))
        known[name] = setting


def _merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return old | {name: _merged(old.get(name), value) for name, value in new.items()}


def _of_key(
    folders: Sequence[Path], where: Iterable[tuple[str, str]]
) -> tuple[list[tuple[Mapping[str, object], Path]], list[Broken]]:
    objects: list[tuple[Mapping[str, object], Path]] = []
    unread: list[Broken] = []
    for folder in folders:
        for file, key in where:
            try:
                value = json_of(folder / file).get(key)
            except OrgrestError as error:
                unread.append(Broken(folder / file, error))
                continue
            if isinstance(value, dict):
                objects.append((value, folder))
    return objects, unread


def mentions(file: Path, word: str) -> bool:
    """Return whether a broken file might define `word`.

    This is the case if the file contains the word or cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return word.encode() in stream.read(_MOST_LOOKED_THROUGH)
    except OSError:
        return True


def line_of(file: Path, name: str, value: str) -> int | None:
    """Return the number of the line that defines a variable in an environment file, or None.

    If several environments in the file define the variable, it is the line with this value.
    """
    try:
        text = _read(file) or ""
    except OrgrestError:
        return None
    if _DOTENV.fullmatch(file.name):
        pattern = rf"""^[ \t]*(?:export[ \t]+)?["']?{re.escape(name)}["']?[ \t]*="""
        found = [match.start() for match in re.finditer(pattern, text, re.MULTILINE)][-1:]
    else:
        key = re.escape(json.dumps(name, ensure_ascii=False))
        matches = list(re.finditer(rf"{key}\s*:\s*", text))
        found = [match.start() for match in matches if _is_at(text, match.end(), value)]
        found += [match.start() for match in matches]
    return text.count("\n", 0, found[0]) + 1 if found else None


def _is_at(text: str, at: int, value: str) -> bool:
    try:
        return text_of(json.JSONDecoder().raw_decode(text, at)[0]) == value
    except (ValueError, RecursionError):
        return False


def dotenv_near(folder: Path, chosen: Sequence[str]) -> dict[str, str]:
    """Return the variables of `.env`, and of `.env.NAME` for the `chosen` environments.

    As in VS Code REST Client, they are read from the nearest folder with such a file.
    """
    for place in project_folders(folder.resolve()):
        files = [place / name for name in (".env", *(f".env.{name}" for name in chosen))]
        if any(file.is_file() for file in files):
            settings = (item for file in files for item in _dotenv(file, []).items())
            return {name: setting.value for name, setting in settings}
    return {}


def project_folders(folder: Path) -> list[Path]:
    """Return a folder and its parents up to the project's root.

    If there is no root, only the folder is returned.
    """
    folders = []
    for place in (folder, *folder.parents)[:_HIGHEST]:
        folders.append(place)
        if any((place / mark).exists() for mark in _PROJECT):
            return folders
    return folders[:1]


_Found = Iterator[tuple[str, Mapping[str, Setting]]]


@classes.frozen
class _Kind:
    files: Callable[[Path], Iterable[Path]]
    read: Callable[[Path, list[str]], _Found]


def _vscode(file: Path, _: list[str]) -> _Found:
    settings = json_of(file)
    return _environments(settings.get("rest-client.environmentVariables", {}), file)


def _httpyac(file: Path, _: list[str]) -> _Found:
    return _environments(json_of(file).get("environments", {}), file)


def _jetbrains(file: Path, notices: list[str]) -> _Found:
    names = re.compile("") if file.name == PRIVATE else None
    names = SECRET_NAME if file.suffix == ".user" else names
    return _environments(json_of(file, notices), file, secret=names)


def _dotenv_files(folder: Path) -> Iterator[Path]:
    for place in (folder, folder / "env"):
        try:
            yield from sorted(file for file in place.iterdir() if _DOTENV.fullmatch(file.name))
        except OSError:
            continue  # the folder does not exist or cannot be read


def _dotenv_environment(file: Path, notices: list[str]) -> _Found:
    match = _DOTENV.fullmatch(file.name)
    yield (match and (match["before"] or match["behind"])) or SHARED, _dotenv(file, notices)


def _named(*names: str) -> Callable[[Path], Iterable[Path]]:
    return lambda folder: [folder / name for name in names]


_KINDS: Final = (
    _Kind(_named(_VSCODE), _vscode),
    _Kind(_named(*_HTTPYAC), _httpyac),
    _Kind(_dotenv_files, _dotenv_environment),
    *(_Kind(_named(name), _jetbrains) for name in _JETBRAINS),
)

PATTERNS: Final = (_VSCODE, *_HTTPYAC, ".env", "*.env", ".env.*", *_JETBRAINS)
"""Glob patterns for the names of all environment files."""


def _environments(given: Any, file: Path, *, secret: re.Pattern[str] | None = None) -> _Found:
    """Yield the environments in a JSON object. Variables whose names match `secret` are secret."""
    if not isinstance(given, dict):
        raise OrgrestError(
            'expected an object for each environment, as in {"dev": {"name": "value"}}',
            file=str(file),
        )
    shared = given.get(SHARED, {})
    for name, variables in given.items():
        if name == "$schema":
            continue
        if not isinstance(variables, dict):
            raise OrgrestError(f"the environment {name} must be an object", file=str(file))
        settings, common = {}, name in (SHARED, "$kulalaShared")
        own = {SHARED: shared, f"${name}": variables}
        for key, value in variables.items():
            kind = _kind(value)
            is_data = isinstance(value, dict | list) and key != DEFAULT_HEADERS
            if common and is_data and kind != "provider":
                continue
            why = f"{key} is null in the environment {name}: set it to a string, or remove it"
            error = OrgrestError(why, file=str(file), code="null") if value is None else None
            hidden = secret is not None and secret.search(key) is not None
            settings[key] = Setting(_referred(text_of(value), own), file, hidden, error, kind)
        yield SHARED if common else name, settings


def _kind(value: Any) -> Literal["text", "object", "provider", "other"]:
    if isinstance(value, dict):
        return "provider" if is_provided(value) else "object"
    return "text" if isinstance(value, str) else "other"


def _referred(text: str, environments: Mapping[str, Any]) -> str:
    """Replace `{{$shared name}}` and, in the environment dev, `{{$dev name}}` in a value.

    VS Code REST Client does so. `environments` maps `$shared` and `$dev` to their variables.
    """

    def value(match: re.Match[str]) -> str:
        variables = environments.get(match[1])
        if isinstance(variables, dict) and match[2] in variables:
            return text_of(variables[match[2]])
        return match[0]

    return re.sub(r"\{\{[ \t]*(\$[^\s{}]+)[ \t]+([^\s{}]+)[ \t]*\}\}", value, text)


def _dotenv(file: Path, notices: list[str]) -> dict[str, Setting]:
    """Return the variables in a `.env` file. Malformed lines only add a warning to `notices`."""
    from io import StringIO

    text = _read(file)
    if text is None:
        return {}
    from dotenv.parser import parse_stream

    settings = {}
    malformed = []  # the numbers of these lines
    for binding in parse_stream(StringIO(text)):
        name, value, original = binding.key, binding.value, binding.original
        if name is not None and value is not None:
            settings[name] = Setting(value, file, SECRET_NAME.search(name) is not None)
        elif name is not None or binding.error:
            above = original.string[: -len(original.string.lstrip())].count("\n")
            malformed.append(original.line + above)
    if malformed:
        more = f" (and {len(malformed) - 1} more such lines)" if len(malformed) > 1 else ""
        reason = f"this line is not of the form NAME=value, so it is ignored{more}"
        notices.append(f"{file}:{malformed[0]}: {reason}")
    return settings


def json_of(file: Path, notices: list[str] | None = None) -> dict[str, Any]:
    """Return the JSON object in a file, or {} if the file is missing.

    Comments and trailing commas are accepted, but add a warning to `notices`. Raises OrgrestError
    if the file cannot be read or is malformed.
    """
    text = _read(file)
    if text is None:
        return {}
    plain = without_comments(text)
    if notices is not None and plain != text:
        notices.append(
            f"{file}: comments and trailing commas are not valid JSON, so other tools reject them"
        )
    try:
        value = json.loads(plain)
    except RecursionError as error:
        raise OrgrestError("the JSON is nested too deeply", file=str(file)) from error
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            raise OrgrestError(
                f"not valid JSON: {error.msg}",
                file=str(file),
                line=error.lineno,
                column=error.colno,
            ) from error
        raise OrgrestError(f"not valid JSON: {error}", file=str(file)) from error
    if not isinstance(value, dict):
        raise OrgrestError("expected a JSON object", file=str(file), line=1)
    return value


def _read(file: Path) -> str | None:
    if not file.is_file():  # missing, or a virtual environment's folder named .env
        return None
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        reason = f"could not read the environment file: {error.strerror}"
        raise OrgrestError(reason, file=str(file)) from error
    if len(data) > LARGEST:
        raise OrgrestError(f"the environment file is larger than {LARGEST:,} bytes", file=str(file))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"the environment file is not UTF-8 (byte {error.start})"
        raise OrgrestError(reason, file=str(file)) from error
