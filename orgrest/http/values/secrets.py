"""The secrets of a document: strings to mask, and the user's secrets that the document names.

A value records the secrets that it was computed from (`model.Text`), and values computed from it
record the same secrets. Therefore, the secrets in each part of a request are known (`Request.held`)
even if the text of a secret was encoded. Everything that a script returns may contain the secrets
that the script has read.

A document refers to one of the user's secrets by name: `{{$secret github}}`, `secret("github")`.
The user lists these secrets in a file, each with the hosts that it may be sent to and the provider
that stores it. A document can neither change the list nor use a secret that is not listed:

    provider = "pass"                 # the default for secrets that name no provider

    [github]
    hosts = ["api.github.com", "*.githubusercontent.com", "http://localhost:3000"]
    key = "work/github"               # the provider's name for it; default: the secret's name

The file is `$XDG_CONFIG_HOME/orgrest/secrets.toml` (`~/.config/orgrest/secrets.toml`), or the file
that `ORGREST_SECRETS` names. Each row of `PROVIDERS` describes a program that stores secrets. The
program is run without a shell, at most once for each secret in a run.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.files import user_folder
from orgrest.installing import install_command
from orgrest.model import Bound, OrgrestError, Secret, Text, possible, secrets_in
from orgrest.occurrences import Index
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


_SHORTEST = 6  # minimum length of a computed text that is searched for in other texts

_ORIGIN = compiled(r"(?:https?|wss?)://[\w.-]+(?::\d+)?/?")


class Secrets:
    """The secrets of a document, including the user's secrets that it names."""

    def __init__(self, texts: set[str], known: UserSecrets | None) -> None:
        """Start with `texts`, the secrets of earlier runs. `known` contains the user's secrets."""
        self._known = known
        self._texts: set[str] = set()
        self._shown: frozenset[str] = frozenset()
        self._held: Index[str, frozenset[Secret]] = Index()  # texts with the secrets in them
        self.bound: set[Secret] = set()
        """The secrets that may only be sent to certain hosts."""
        self.read_by_scripts: frozenset[Secret] = frozenset()
        """The secrets that a script could read, and may therefore have stored."""
        for text in filter(None, texts):
            self._texts.add(text)
            self._hold(text, {Secret(text)})

    @property
    def texts(self) -> frozenset[str]:
        """The secrets known so far, from the environment, env files, netrc and providers."""
        if len(self._shown) < len(self._texts):
            self._shown = frozenset(self._texts)
        return self._shown

    def within(self, text: str) -> frozenset[Secret]:
        """Return the secrets that a string was computed from, and the secrets that occur in it.

        The search for occurrences finds secrets that a server sent back.
        """
        occurring = (held for _, _, held in self._held.occurrences(text))
        return secrets_in(text).union(*occurring)

    def within_all(self, texts: Iterable[str]) -> frozenset[Secret]:
        """Return the secrets in any of several strings."""
        return frozenset().union(*map(self.within, texts))

    def add(self, text: str, bound: Bound | None = None) -> str:
        """Register a string as a secret, and return it.

        If `bound` is given, the secret may be sent only to its hosts. Otherwise, a blank string or
        the mere origin of a URL is not registered.
        """
        secret = Secret(text, bound)
        if bound is not None:
            self.bound.add(secret)
            self._hold(text, {secret})
        elif not text.strip() or _ORIGIN.fullmatch(text):
            return text
        if text.strip() and text not in self._texts:
            self._texts.add(text)
            self._hold(text, {Secret(text)})
        return Text(text, (secret,))

    def computed(self, result: str, secrets: frozenset[Secret]) -> str:
        """Return `result` as a string that records the `secrets` that it was computed from.

        The result is also a secret, unless all of `secrets` are only `possible` (see
        `model.Secret`).
        """
        if not secrets:
            return result
        itself = secrets_in("" if _only_possible(secrets) else self.add(result))
        held = possible(secrets) | itself
        if len(result) >= _SHORTEST:
            self._hold(result, held)
        return Text(result, held)

    def _hold(self, text: str, secrets: Iterable[Secret]) -> None:
        """Record that `text`, and any string in which it occurs, contains `secrets`."""
        known_secrets = self._held.get(text) or frozenset()
        if text and not known_secrets.issuperset(secrets):
            self._held.put(text, known_secrets.union(secrets))

    def take(self, name: str, *, ask: bool) -> str:
        """Return one of the user's secrets, or an empty placeholder if `ask` is False.

        Raises OrgrestError if the secret is not listed, or if its provider does not return it.
        """
        if self._known is None:
            raise OrgrestError(
                "secrets cannot be used here, because secrets.toml was not read", code="no-secret"
            )
        bound = self._known.bound(name)
        if ask:
            return self.add(self._known.value(name), bound)
        unknown = Secret("", bound, possible=True)
        self.bound.add(unknown)
        return Text("", (unknown,))

    def show_to_scripts(self, secrets: Iterable[Secret]) -> frozenset[Secret]:
        """Record that scripts can read `secrets`.

        Returns all secrets that the results of scripts may contain from then on.
        """
        secrets = frozenset(secrets)
        self.read_by_scripts |= possible(secrets)
        return self.read_by_scripts | secrets


def _only_possible(secrets: Iterable[Secret]) -> bool:
    return all(secret.possible for secret in secrets)


def in_made_part(secrets: Iterable[Secret]) -> frozenset[Secret]:
    """Return the secrets in a part of a request that a script created.

    `secrets` are those that the script may have read. The part may contain any of them. If the
    script is known to have read a secret, the whole part is also a secret.
    """
    secrets = frozenset(secrets)
    return possible(secrets) | ({Secret("")} if not _only_possible(secrets) else frozenset())


VARIABLE = "ORGREST_SECRETS"
PATIENCE = 120.0
"""The timeout for a provider in seconds, including the time that the user takes to reply."""
_LARGEST = 2**20
_MOST_SAID = 200  # maximum length of a provider's message in characters
_TOKEN = compiled(r"'([^'\n]*)'|\"([^\"\n]*)\"|(\S+)")
_FIELDS = {
    "machine": "machine", "host": "machine", "login": "login", "user": "login",
    "account": "login", "port": "port", "protocol": "port", "password": "password",
    "secret": "password",
}  # fmt: skip


@classes.frozen
class Entry:
    """A secret in the user's list: its hosts, its provider, and the provider's name for it.

    `others` are the settings that are specific to this provider.
    """

    bound: Bound
    provider: str
    key: str
    others: Mapping[str, str] = classes.field(factory=dict)


def _first_line(out: str, _: Entry) -> str:
    return out.split("\n", 1)[0].removesuffix("\r")


def _whole(out: str, _: Entry) -> str:
    return out.removesuffix("\n").removesuffix("\r")


def _keyring(entry: Entry) -> list[str]:
    import sys
    from importlib.util import find_spec

    # Without -P, Python would also import modules from the folder in which it is started.
    own = [sys.executable, "-P", "-m", "keyring"] if find_spec("keyring") else ["keyring"]
    return [*own, "get", entry.others.get("service", "orgrest"), entry.key]


def _op(entry: Entry) -> list[str]:
    if not entry.key.startswith("op://"):
        raise OrgrestError(
            f"key must be a reference such as op://vault/item/field, found {entry.key}"
        )
    return ["op", "read", "--no-newline", entry.key]


def _authinfo(entry: Entry) -> list[str]:
    file = Path(entry.others.get("file", "~/.authinfo.gpg")).expanduser()
    return ["gpg", "--quiet", "--decrypt", str(file.absolute())]


def _of_authinfo(out: str, entry: Entry) -> str:
    """Return the password of the first entry with the machine, login and port of `entry`."""
    required = {name: entry.others[name] for name in ("login", "port") if name in entry.others}
    for fields in _entries(out):
        if fields.get("machine") == entry.key and required.items() <= fields.items():
            return fields.get("password", "")
    what = " ".join(
        ["machine", entry.key, *(f"{name} {setting}" for name, setting in required.items())]
    )
    raise OrgrestError(f"no such entry: {what}")


def _entries(text: str) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = []
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    words = [
        single or double or bare for line in lines for single, double, bare in _TOKEN.findall(line)
    ]
    pairs = zip(words[::2], words[1::2], strict=False)
    for name, value in pairs:
        field = _FIELDS.get(name, name)
        if field == "machine":
            entries.append({})
        if entries:
            entries[-1].setdefault(field, value)
    return entries


@classes.frozen
class Provider:
    """A program that stores secrets: its command, how to read its output, and help for the user.

    `settings` are the settings that an entry may have in addition to `hosts`, `provider` and `key`.
    """

    command: Callable[[Entry], Sequence[str]]
    value: Callable[[str, Entry], str]
    get: str
    settings: frozenset[str] = frozenset()


PROVIDERS: Mapping[str, Provider] = {
    "keyring": Provider(
        _keyring,
        _whole,
        "to store it, run `keyring set {service} {key}` ({install})",
        frozenset({"service"}),
    ),
    "pass": Provider(
        lambda entry: ["pass", "show", entry.key],
        _first_line,
        "to store it, run `pass insert {key}`",
    ),
    "op": Provider(
        _op,
        _whole,
        "to unlock 1Password, run `op signin`; to test the reference, run `op read {key}`",
    ),
    "bw": Provider(
        lambda entry: ["bw", "--nointeraction", "get", "password", entry.key],
        _whole,
        "to unlock Bitwarden, set BW_SESSION to the value that `bw unlock` prints",
    ),
    "authinfo": Provider(
        _authinfo,
        _of_authinfo,
        "expected an entry in authinfo format: machine {key} login NAME password SECRET",
        frozenset({"file", "login", "port"}),
    ),
}


class UserSecrets:
    """The secrets of a user for one run. Any thread of the run may request them."""

    def __init__(self, path: Path | None) -> None:
        """Use the list in the file `path`, if it exists. If `path` is None, the list is empty."""
        self._path = path
        self._lock = threading.RLock()
        self._listed: dict[str, Entry] | None = None
        self._known: dict[str, str | OrgrestError] = {}

    @classmethod
    def of_user(cls) -> UserSecrets:
        """Return the secrets of the current user."""
        path = os.environ.get(VARIABLE, "")
        if path:
            return cls(Path(path))
        try:
            return cls(user_folder("config") / "secrets.toml")
        except RuntimeError:  # the user has no home folder
            return cls(None)

    def bound(self, name: str) -> Bound:
        """Return the hosts that a secret may be sent to.

        Raises OrgrestError if the secret is not listed.
        """
        return self._entry(name).bound

    def value(self, name: str) -> str:
        """Return a secret. Its provider is run at most once.

        Raises OrgrestError if the secret is not listed, or if its provider does not return it.
        """
        with self._lock:
            if name not in self._known:
                try:
                    self._known[name] = _from_provider(name, self._entry(name))
                except OrgrestError as error:
                    self._known[name] = error
            secret = self._known[name]
        if isinstance(secret, OrgrestError):
            raise OrgrestError(secret.reason, code=secret.code)
        return secret

    def _entry(self, name: str) -> Entry:
        with self._lock:
            if self._listed is None:
                self._listed = {} if self._path is None else _read(self._path)
            entry = self._listed.get(name)
        if entry is None:
            where = self._path or f"the file named by {VARIABLE}"
            raise OrgrestError(
                f"the secret {name[:60]} is not listed in {where}: add [{name[:60]}] with "
                'hosts = ["..."] (the hosts that it may be sent to) and provider (the program '
                "that stores it)",
                code="no-secret",
            )
        return entry


def _read(path: Path) -> dict[str, Entry]:
    """Return the entries in a file by the secret's name, or {} if the file does not exist."""
    import tomllib

    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise OrgrestError(f"{path} is too large: the maximum is 1 MiB")
        tables = tomllib.loads(data.decode())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise OrgrestError(f"could not read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError, TOMLDecodeError
        raise OrgrestError(f"{path} is not valid TOML: {error}") from None
    usual = tables.pop("provider", "keyring")
    try:
        return {name: _entry(name, table, usual, str(path)) for name, table in tables.items()}
    except OrgrestError as error:
        raise OrgrestError(f"{path}: {error.reason}", code="no-secret") from None


def _entry(name: str, given: Any, usual: Any, file: str) -> Entry:
    if not isinstance(given, dict):
        raise OrgrestError(f"{name} must be a table, as in [{name}]")
    provider = given.pop("provider", usual)
    row = PROVIDERS.get(provider) if isinstance(provider, str) else None
    if row is None:
        raise OrgrestError(
            f"{name}: unknown provider {provider}; available: {', '.join(PROVIDERS)}"
        )
    hosts, key = given.pop("hosts", None), given.pop("key", name)
    if not isinstance(hosts, list) or not hosts or not all(isinstance(host, str) for host in hosts):
        raise OrgrestError(
            f'{name}: list the hosts that it may be sent to, as in hosts = ["api.example.com"]'
        )
    for setting, value in (("key", key), *given.items()):
        if setting not in {"key", *row.settings}:
            raise OrgrestError(f"{name}: {provider} has no setting {setting}")
        if not isinstance(value, str) or not value or "\0" in value or value.startswith("-"):
            raise OrgrestError(f"{name}: {setting} must be a string that does not start with -")
    return Entry(Bound(name, tuple(hosts), file), provider, key, given)


def _from_provider(name: str, entry: Entry) -> str:
    provider = PROVIDERS[entry.provider]
    help_ = provider.get.format(
        key=entry.key,
        service=entry.others.get("service", "orgrest"),
        install=install_command("keyring"),
    )
    try:
        value = provider.value(_run(provider.command(entry)), entry)
        if not value:
            raise OrgrestError("the value is empty")
    except OrgrestError as error:
        reason = f"could not get the secret {name} from {entry.provider}: {error.reason}; {help_}"
        raise OrgrestError(reason, code="no-secret") from None
    return value


def _run(command: Sequence[str]) -> str:
    """Run a program without a shell, and return its output. Raises OrgrestError if that fails."""
    import shutil
    import subprocess
    import sys

    from orgrest.http.sandbox.child import Child

    program = shutil.which(command[0])
    if program is None or not os.path.isabs(program):  # noqa: PTH117 - else beside a document
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
        raise OrgrestError(f"could not start {program}: {error.strerror}") from None
    with child:
        try:
            printed, errors = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            raise OrgrestError(f"no response within {PATIENCE:g} seconds") from None
        except BaseException:  # Ctrl-C
            child.kill()
            raise
    if child.broken_off:
        raise OrgrestError("interrupted, because the run has ended")
    if child.returncode:
        message = errors.decode("utf-8", "replace").strip().split("\n")[-1]
        raise OrgrestError(message[:_MOST_SAID] or f"exit status {child.returncode}")
    try:
        return printed.decode()
    except UnicodeDecodeError:
        raise OrgrestError("the output is not UTF-8") from None
