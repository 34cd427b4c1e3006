"""What a document's variables are made of: the command line, captures, environments, files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from orgrest.http.values.access import Access
from orgrest.http.values.environment import Environment
from orgrest.http.values.exchanges import Exchanges
from orgrest.http.values.files import locate
from orgrest.http.values.netrc import look_up
from orgrest.model import OrgrestError, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from orgrest.http.dynamic import DynamicContext
    from orgrest.http.syntax import ParsedRequest
    from orgrest.model import Response

    Compute: TypeAlias = Callable[[str, Mapping[str, Any], Mapping[str, Response]], tuple[str, Any]]


@attrs.frozen
class Captured:
    """A variable that a response set, and where it was asked for; None in an earlier run."""

    value: str
    source: Source | None = None
    offset: int = 0


@attrs.define(eq=False)
class _Shared:
    """What all blocks of a document have in common."""

    folder: Path
    allow_read: Sequence[Path]
    environ: Mapping[str, str]
    env_file: Mapping[str, str]
    netrc: Path | None
    overrides: Mapping[str, str]
    ask: Callable[[str, bool], str | None] | None
    seed: int | None
    placeholders: bool
    captures: dict[str, Captured]
    secrets: set[str]
    secret: Callable[[str], str]  # no method of this or of the scope, which it would keep alive
    environment: Environment = attrs.field(init=False)
    exchanges: Exchanges = attrs.field(init=False)
    access: Access = attrs.field(init=False)
    compute: Compute | None = None
    dynamic_context: DynamicContext | None = None
    imported: dict[str, str] = attrs.field(factory=dict)
    lengths: set[int] = attrs.field(factory=set)  # of the names of overrides and captures


def _noting(secrets: set[str]) -> Callable[[str], str]:
    def secret(value: str) -> str:
        if value.strip():
            secrets.add(value)
        return value

    return secret


class Scope:
    """What the variables of one document stand for; `block` narrows it to one block."""

    def __init__(
        self,
        *,
        directory: Path | None = None,
        allow_read: Iterable[Path] = (),
        environ: Mapping[str, str] | None = None,
        env_file: Mapping[str, str] | None = None,
        netrc: Path | None = None,
        overrides: Mapping[str, str] | None = None,
        remembered: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        environments: Sequence[str] = (),
        ask: Callable[[str, bool], str | None] | None = None,
        seed: int | None = None,
        placeholders: bool = False,
    ) -> None:
        """Start a document's scope.

        `directory` is the document's folder: paths start there, and only files below it, and below
        the folders of `allow_read`, are read. `environ` is what `env` reads, and `env_file` what it
        reads next; `netrc` is the netrc file. `overrides` are variables that win over all others;
        `remembered` are captures of earlier runs, over which all others win, and `secrets` the
        secrets of those runs: a capture may hold one. `environments` are chosen from those in the
        files around the document. `ask` asks the user (what for, whether to hide the answer), and
        gives None where nobody answers. `seed` makes dynamic values repeatable. With `placeholders`
        a name in angle brackets stands for what a request's response would give.
        """
        self.directory = directory if directory is not None else Path()
        known_secrets = set(secrets)
        shared = self._shared = _Shared(
            folder=self.directory,
            allow_read=tuple(allow_read),
            environ=environ or {},
            env_file=env_file or {},
            netrc=netrc,
            overrides=overrides or {},
            ask=ask,
            seed=seed,
            placeholders=placeholders,
            captures={name: Captured(value) for name, value in (remembered or {}).items()},
            secrets=known_secrets,
            secret=_noting(known_secrets),
        )
        shared.environment = Environment(shared.folder, environments, shared.secret)
        shared.exchanges = Exchanges(dry_run=placeholders)
        shared.access = Access(shared.secret, dry_run=placeholders)
        shared.lengths |= {len(x) for x in (*shared.overrides, *shared.captures)}
        self.values: Mapping[str, str] = {}
        self.literal: Mapping[str, str] = {}
        self.replaced: Mapping[str, str] = {}
        """What a `run` line gives the requests that it runs."""
        self.saves_below = self.directory
        """The folder below which responses are saved."""

    @classmethod
    def of_user(
        cls,
        directory: Path,
        *,
        allow_read: Iterable[Path] = (),
        env_file: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
        remembered: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        environments: Sequence[str] = (),
        ask: Callable[[str, bool], str | None] | None = None,
        seed: int | None = None,
        placeholders: bool = False,
    ) -> Scope:
        """Start the scope of a document of this process' user: their environment and netrc file."""
        path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        return cls(
            directory=directory,
            allow_read=allow_read,
            environ=os.environ,
            env_file=env_file,
            netrc=path if path.is_file() else None,
            overrides=overrides,
            remembered=remembered,
            secrets=secrets,
            environments=environments,
            ask=ask,
            seed=seed,
            placeholders=placeholders,
        )

    def block(
        self,
        values: Mapping[str, str] | None = None,
        literal: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Scope:
        """Return the scope of one block, with its `:var`s.

        `values` may hold variables; `literal` ones are taken as they are. `directory` is the folder
        where its paths start, and below which it saves. Captures and secrets are the document's.
        """
        inner = Scope.__new__(Scope)
        inner.directory = self.directory if directory is None else directory
        inner._shared = self._shared
        inner.values = values or {}
        inner.literal = literal or {}
        inner.replaced = self.replaced
        inner.saves_below = self.saves_below if directory is None else directory
        return inner

    def imported(self, directory: Path, replaced: Mapping[str, str]) -> Scope:
        """Return the scope of another file's requests, whose paths start in its `directory`.

        `replaced` are the values of the `run` line that runs them. Responses are saved below the
        document's folder all the same.
        """
        inner = self.block(self.values, self.literal)
        inner.directory = directory
        inner.replaced = replaced
        return inner

    @property
    def secrets(self) -> frozenset[str]:
        """The values that came from the environment, an env file or netrc so far, or earlier."""
        return frozenset(self._shared.secrets)

    def capture(self, parsed: ParsedRequest, name: str, value: str) -> None:
        """Set `name` for what stands further down in this block, and in the later blocks."""
        self._shared.captures[name] = Captured(value, parsed.source, parsed.span.start)
        self._shared.lengths.add(len(name))

    @property
    def captured(self) -> dict[str, str]:
        """The captures so far, those of earlier runs included."""
        captures = dict(self._shared.captures)  # at once: a run may go on in another thread
        return {name: captured.value for name, captured in captures.items()}

    @property
    def new_captures(self) -> dict[str, str]:
        """The captures so far, without those of earlier runs."""
        captures = dict(self._shared.captures)
        return {name: one.value for name, one in captures.items() if one.source is not None}

    @property
    def lengths(self) -> set[int]:
        """The lengths of the names of variables that come from outside the request's own text."""
        return self._shared.lengths.union(map(len, self.values), map(len, self.literal))

    @property
    def overrides(self) -> Mapping[str, str]:
        """The variables that were given from outside, over which no other counts."""
        return self._shared.overrides

    def override(self, name: str) -> str | None:
        """Return a variable's value that was given from outside, so that no other counts."""
        return self._shared.overrides.get(name)

    def captured_variable(self, name: str) -> Captured | None:
        """Return the last capture of a name, those of earlier runs included."""
        return self._shared.captures.get(name)

    # what request files have besides

    def set_variable(self, name: str, value: str) -> None:
        """Set a variable for the rest of the run, as a script does."""
        self._shared.captures[name] = Captured(value, None, 0)
        self._shared.lengths.add(len(name))

    @property
    def environment(self) -> Environment:
        """The variables of the environments that were chosen."""
        return self._shared.environment

    @property
    def exchanges(self) -> Exchanges:
        """What the named requests of the document sent and got."""
        return self._shared.exchanges

    @property
    def access(self) -> Access:
        """The tokens that requests carry."""
        return self._shared.access

    @property
    def placeholders(self) -> bool:
        """Whether a name in angle brackets stands for what a request's response would give."""
        return self._shared.placeholders

    def ask(self, name: str, what: str, *, hidden: bool) -> str:
        """Ask the user for a value. Raises `OrgrestError` where nobody can be asked."""
        shared = self._shared
        given = shared.overrides.get(name)
        if given is None and shared.ask is not None:
            given = shared.ask(what, hidden)
        if given is None:
            reason = f"a value is asked for here: {what}; where nobody can answer, give"
            given_by = f"--var '{name}=VALUE' (in an editor, the setting variables has it)"
            raise OrgrestError(f"{reason} {given_by}", code="unanswered")
        return self.secret(given) if hidden else given

    def dynamic(self, text: str) -> str:
        """Return what `{{$...}}` gives. Raises `OrgrestError`."""
        from orgrest.http import dynamic, environments

        shared = self._shared
        if shared.dynamic_context is None:
            shared.dynamic_context = dynamic.DynamicContext(
                environ=self.env,
                dotenv=lambda name: environments.dotenv_beside(shared.folder).get(name),
                variable=self.environment.value,
                project=str(shared.folder.resolve()),
                seed=shared.seed,
            )
        value, secret = dynamic.value(text, shared.dynamic_context)
        return self.secret(value) if secret else value

    def import_variables(self, values: Mapping[str, str]) -> None:
        """Take the variables of another file in, which count where the document has none."""
        for name, value in values.items():
            self._shared.imported.setdefault(name, value)

    def imported_variable(self, name: str) -> str | None:
        """Return what an imported file gives for a name, or None."""
        return self._shared.imported.get(name)

    def compute_with(self, compute: Compute) -> None:
        """Let expressions be computed; `compute` gets one, its variables and its responses.

        It gives the text and the value of it. Raises `OrgrestError`.
        """
        self._shared.compute = compute

    def compute(
        self, code: str, variables: Mapping[str, Any], responses: Mapping[str, Response]
    ) -> tuple[str, Any]:
        """Return the text and the value of an expression in JavaScript. Raises `OrgrestError`."""
        if self._shared.compute is None:
            raise OrgrestError("JavaScript is computed only when requests are sent, or shown")
        return self._shared.compute(code, variables, responses)

    def value_of_script(self, name: str) -> str | None:
        """Return None in a dry run, which runs no script. Raises `OrgrestError` in another."""
        if self._shared.placeholders:
            return None
        reason = (
            f"the variable {name} is not defined yet: a script sets it, which did not run, or gave "
            "it a function, which no variable holds"
        )
        raise OrgrestError(reason, code="undefined-variable")

    def protect(self, result: str, *inputs: str) -> str:
        """Return `result`, noted as a secret where an input holds one."""
        if any(secret in given for given in inputs for secret in self._shared.secrets):
            self.secret(result)
        return result

    def secret(self, value: str) -> str:
        """Return `value`, noted as a secret."""
        return self._shared.secret(value)

    def env(self, name: str) -> str | None:
        """Return the value of an environment variable or of the env file's; it is a secret now."""
        value = self._shared.environ.get(name, self._shared.env_file.get(name))
        if value is not None:
            self.secret(value)
        return value

    def netrc(self, host: str, field: str) -> str:
        """Return the `login`, `account` or `password` for `host`; a secret from now on.

        Raises `OrgrestError` when there is none.
        """
        value = look_up(self._shared.netrc, host, field)
        return self.secret(value)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file named in the document.

        Raises `OrgrestError` when it is outside the folders that may be read, is not a regular
        file, or cannot be read.
        """
        try:
            return self.locate(path).read_bytes()
        except OSError as error:
            raise OrgrestError(f"cannot read {path}: {error.strerror or error}") from error

    def locate(self, path: str, base: Path | None = None) -> Path:
        """Return where a file named in the document is; raises `OrgrestError` as `read` does.

        Paths start in `base`, the document's folder where None.
        """
        shared = self._shared
        return locate(path, base or self.directory, shared.folder, shared.allow_read)
