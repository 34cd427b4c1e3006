"""The secrets of a document: texts to mask, and the secrets of the user that it names.

A value knows the secrets that went into it (`model.Text`), and passes them on to what is computed
with it. So each part of a request knows its secrets (`Request.held`), in any encoding. A script can
put a secret that it has read into everything that it returns.

A document names them: `{{$secret github}}`, `secret("github")`.

A file of the user's lists them, each with the hosts that it may be sent to and where it is kept. A
document can neither change that nor request a secret that is not listed:

    provider = "pass"                 # of those that name none

    [github]
    hosts = ["api.github.com", "*.githubusercontent.com", "http://localhost:3000"]
    key = "work/github"               # what the provider calls it; without it, the secret's name

The file is `$XDG_CONFIG_HOME/orgrest/secrets.toml` (`~/.config/orgrest/secrets.toml`), or the file
that `ORGREST_SECRETS` names. A row of `PROVIDERS` is a program that is run without a shell, once
per secret and run.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.installing import install_command
from orgrest.model import Bound, OrgrestError, Secret, Text, possible, secrets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


_SHORTEST = 6  # minimum characters of a computed text to search for in other texts

_ORIGIN = re.compile(r"(?:https?|wss?)://[\w.-]+(?::\d+)?/?")


class Secrets:
    """The secrets of a document, including those of the user."""

    def __init__(self, texts: set[str], known: UserSecrets | None) -> None:
        """Start with `texts`, the secrets of earlier runs; `known` are the user's secrets."""
        self._texts = texts
        self._known = known
        self._computed: dict[str, frozenset[Secret]] = {}  # computed texts, with their secrets
        self.bound: set[Secret] = set()
        """The secrets that may be sent to some hosts only."""
        self.read_by_scripts: frozenset[Secret] = frozenset()
        """The secrets that a script could read, and so may keep."""

    @property
    def texts(self) -> frozenset[str]:
        """The texts to mask so far: from the environment, an env file, netrc or a provider."""
        return frozenset(self._texts)

    def within(self, text: str) -> frozenset[Secret]:
        """Return the secrets that went into a text, and those found in it.

        The search is a second line of defence, for secrets that a server sent back.
        """
        found = {Secret(one) for one in self._texts if one in text}
        found.update(one for one in self.bound if one.text and one.text in text)
        computed = (held for one, held in self._computed.items() if one in text)
        return secrets_in(text).union(found, *computed)

    def within_all(self, texts: Iterable[str]) -> frozenset[Secret]:
        """Return the secrets within any of several texts."""
        return frozenset().union(*map(self.within, texts))

    def add(self, text: str, bound: Bound | None = None) -> str:
        """Return a text, registered as a secret; without `bound`, blanks and origins are not."""
        secret = Secret(text, bound)
        if bound is not None:
            self.bound.add(secret)
        elif not text.strip() or _ORIGIN.fullmatch(text):
            return text
        if text.strip():
            self._texts.add(text)
        return Text(text, (secret,))

    def computed(self, result: str, secrets: frozenset[Secret]) -> str:
        """Return a result computed with `secrets`: it holds them, and is a secret itself."""
        if not secrets:
            return result
        itself = secrets_in("" if _only_possible(secrets) else self.add(result))
        held = possible(secrets) | itself
        if len(result) >= _SHORTEST:
            self._computed[result] = held
        return Text(result, held)

    def take(self, name: str, *, ask: bool) -> str:
        """Return one of the user's secrets; an empty text if its provider is not asked.

        Raises OrgrestError.
        """
        if self._known is None:
            raise OrgrestError("there is no list of secrets here", code="no-secret")
        bound = self._known.bound(name)
        if ask:
            return self.add(self._known.value(name), bound)
        unknown = Secret("", bound, possible=True)
        self.bound.add(unknown)
        return Text("", (unknown,))

    def show_to_scripts(self, secrets: Iterable[Secret]) -> frozenset[Secret]:
        """Note that a script can read these; return the secrets in everything that it returns."""
        secrets = frozenset(secrets)
        self.read_by_scripts |= possible(secrets)
        return self.read_by_scripts | secrets


def _only_possible(secrets: Iterable[Secret]) -> bool:
    return all(one.possible for one in secrets)


def in_made_part(secrets: Iterable[Secret]) -> frozenset[Secret]:
    """Return the secrets in a part of a request that a script created after reading `secrets`.

    The whole part is secret if the script certainly read a secret.
    """
    secrets = frozenset(secrets)
    return possible(secrets) | ({Secret("")} if not _only_possible(secrets) else frozenset())


VARIABLE = "ORGREST_SECRETS"
PATIENCE = 120.0
"""The timeout of a provider in seconds, which includes its questions to the user."""
_LARGEST = 2**20
_MOST_SAID = 200  # maximum characters of a program's message
_TOKEN = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"|(\S+)")
_FIELDS = {
    "machine": "machine", "host": "machine", "login": "login", "user": "login",
    "account": "login", "port": "port", "protocol": "port", "password": "password",
    "secret": "password",
}  # fmt: skip


@attrs.frozen
class Entry:
    """A secret as its file lists it: its hosts, its provider, and its name there.

    `others` are settings that only its provider has.
    """

    bound: Bound
    provider: str
    key: str
    others: Mapping[str, str] = attrs.field(factory=dict)


def _first_line(out: str, _: Entry) -> str:
    return out.split("\n", 1)[0].removesuffix("\r")


def _whole(out: str, _: Entry) -> str:
    return out.removesuffix("\n").removesuffix("\r")


def _keyring(entry: Entry) -> list[str]:
    """Return the command of keyring, preferring the one installed in this Python."""
    import sys
    from importlib.util import find_spec

    # Without -P, Python would take modules out of the folder in which it is started.
    own = [sys.executable, "-P", "-m", "keyring"] if find_spec("keyring") else ["keyring"]
    return [*own, "get", entry.others.get("service", "orgrest"), entry.key]


def _op(entry: Entry) -> list[str]:
    if not entry.key.startswith("op://"):
        raise OrgrestError(f"key is a reference such as op://vault/item/field, not {entry.key}")
    return ["op", "read", "--no-newline", entry.key]


def _authinfo(entry: Entry) -> list[str]:
    file = Path(entry.others.get("file", "~/.authinfo.gpg")).expanduser()
    return ["gpg", "--quiet", "--decrypt", str(file.absolute())]


def _of_authinfo(out: str, entry: Entry) -> str:
    """Return the password of the first entry for a machine, login and port, as Emacs does."""
    wanted = {name: entry.others[name] for name in ("login", "port") if name in entry.others}
    for found in _entries(out):
        if found.get("machine") == entry.key and wanted.items() <= found.items():
            return found.get("password", "")
    what = " ".join(["machine", entry.key, *(f"{name} {one}" for name, one in wanted.items())])
    raise OrgrestError(f"there is no entry: {what}")


def _entries(text: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    words = [one or two or three for line in lines for one, two, three in _TOKEN.findall(line)]
    pairs = zip(words[::2], words[1::2], strict=False)
    for name, value in pairs:
        field = _FIELDS.get(name, name)
        if field == "machine":
            found.append({})
        if found:
            found[-1].setdefault(field, value)
    return found


@attrs.frozen
class Provider:
    """A program that keeps secrets: its command, how to read its output, and help for the user.

    `settings` are those of an entry in addition to `hosts`, `provider` and `key`.
    """

    command: Callable[[Entry], Sequence[str]]
    value: Callable[[str, Entry], str]
    get: str
    settings: frozenset[str] = frozenset()


PROVIDERS: Mapping[str, Provider] = {
    "keyring": Provider(
        _keyring,
        _whole,
        "`keyring set {service} {key}` puts it there ({install})",
        frozenset({"service"}),
    ),
    "pass": Provider(
        lambda entry: ["pass", "show", entry.key], _first_line, "`pass insert {key}` puts it there"
    ),
    "op": Provider(_op, _whole, "`op signin` unlocks 1Password, `op read {key}` tries it"),
    "bw": Provider(
        lambda entry: ["bw", "--nointeraction", "get", "password", entry.key],
        _whole,
        "`bw unlock` prints the BW_SESSION that unlocks Bitwarden",
    ),
    "authinfo": Provider(
        _authinfo,
        _of_authinfo,
        "the file is Emacs's: machine {key} login NAME password SECRET",
        frozenset({"file", "login", "port"}),
    ),
}


class UserSecrets:
    """The secrets of a user for one run, which any of its threads may ask for."""

    def __init__(self, path: Path | None) -> None:
        """Use the list in a file, which need not exist; None means that no secrets are listed."""
        self._path = path
        self._lock = threading.RLock()
        self._listed: dict[str, Entry] | None = None
        self._known: dict[str, str | OrgrestError] = {}

    @classmethod
    def of_user(cls) -> UserSecrets:
        """Return the secrets of this process's user."""
        given = os.environ.get(VARIABLE, "")
        if given:
            return cls(Path(given))
        config = os.environ.get("XDG_CONFIG_HOME", "")
        try:
            base = Path(config) if Path(config).is_absolute() else Path.home() / ".config"
        except RuntimeError:  # no home
            return cls(None)
        return cls(base / "orgrest" / "secrets.toml")

    def bound(self, name: str) -> Bound:
        """Return where a secret may be sent. Raises OrgrestError if it is not listed."""
        return self._entry(name).bound

    def value(self, name: str) -> str:
        """Return a secret; its provider is asked once. Raises OrgrestError if that fails."""
        with self._lock:
            if name not in self._known:
                try:
                    self._known[name] = _ask(name, self._entry(name))
                except OrgrestError as error:
                    self._known[name] = error
            found = self._known[name]
        if isinstance(found, OrgrestError):
            raise OrgrestError(found.reason, code=found.code)
        return found

    def _entry(self, name: str) -> Entry:
        with self._lock:
            if self._listed is None:
                self._listed = {} if self._path is None else _read(self._path)
            entry = self._listed.get(name)
        if entry is None:
            where = self._path or f"the file of {VARIABLE}"
            raise OrgrestError(
                f'{where} lists no secret {name[:60]}: [{name[:60]}] with hosts = ["..."] there '
                "says where it may be sent, and provider, who keeps it",
                code="no-secret",
            )
        return entry


def _read(path: Path) -> dict[str, Entry]:
    """Return the secrets that a file lists. Raises OrgrestError."""
    import tomllib

    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise OrgrestError(f"{path} is too large: a list of secrets has 1 MiB at most")
        given = tomllib.loads(data.decode())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OrgrestError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError, TOMLDecodeError
        raise OrgrestError(f"{path} is not TOML: {error}") from None
    usual = given.pop("provider", "keyring")
    try:
        return {name: _entry(name, one, usual, str(path)) for name, one in given.items()}
    except OrgrestError as error:
        raise OrgrestError(f"{path}: {error.reason}", code="no-secret") from None


def _entry(name: str, given: Any, usual: Any, file: str) -> Entry:
    if not isinstance(given, dict):
        raise OrgrestError(f"{name} is no table: [{name}] is one")
    provider = given.pop("provider", usual)
    row = PROVIDERS.get(provider) if isinstance(provider, str) else None
    if row is None:
        raise OrgrestError(f"{name}: there is no provider {provider}, but {', '.join(PROVIDERS)}")
    hosts, key = given.pop("hosts", None), given.pop("key", name)
    if not isinstance(hosts, list) or not hosts or not all(isinstance(one, str) for one in hosts):
        raise OrgrestError(f'{name}: hosts are where it may be sent: hosts = ["api.example.com"]')
    for setting, value in (("key", key), *given.items()):
        if setting not in {"key", *row.settings}:
            raise OrgrestError(f"{name}: {provider} has no setting {setting}")
        if not isinstance(value, str) or not value or "\0" in value or value.startswith("-"):
            raise OrgrestError(f"{name}: {setting} is a text that does not begin with -")
    return Entry(Bound(name, tuple(hosts), file), provider, key, given)


def _ask(name: str, entry: Entry) -> str:
    """Ask a provider for a secret. Raises OrgrestError."""
    provider = PROVIDERS[entry.provider]
    help_ = provider.get.format(
        key=entry.key,
        service=entry.others.get("service", "orgrest"),
        install=install_command("keyring"),
    )
    try:
        value = provider.value(_run(provider.command(entry)), entry)
        if not value:
            raise OrgrestError("it is empty")
    except OrgrestError as error:
        reason = f"{entry.provider} does not give the secret {name}: {error.reason}; {help_}"
        raise OrgrestError(reason, code="no-secret") from None
    return value


def _run(command: Sequence[str]) -> str:
    """Run a program without a shell; return its output. Raises OrgrestError."""
    import shutil
    import subprocess
    import sys

    from orgrest.http.sandbox.child import Child

    program = shutil.which(command[0])
    if program is None or not os.path.isabs(program):  # noqa: PTH117 - one beside a document
        raise OrgrestError(f"{command[0]} is not installed, or not on PATH")
    # Only a terminal can answer questions; standard input may be the document, or an editor.
    asks = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    try:
        child = Child(  # a program that asks on the terminal must stay in its process group
            [program, *command[1:]],
            group=not asks,
            stdin=None if asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise OrgrestError(f"{program} cannot be started: {error.strerror}") from None
    with child:
        try:
            printed, errors = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            raise OrgrestError(f"no answer within {PATIENCE:g} seconds") from None
        except BaseException:  # Ctrl-C
            child.kill()
            raise
    if child.broken_off:
        raise OrgrestError("it was broken off: the run is over")
    if child.returncode:
        said = errors.decode("utf-8", "replace").strip().split("\n")[-1]
        raise OrgrestError(said[:_MOST_SAID] or f"it ended with status {child.returncode}")
    try:
        return printed.decode()
    except UnicodeDecodeError:
        raise OrgrestError("it is not UTF-8") from None
