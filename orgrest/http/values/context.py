"""The context of a request's variables: options, captures, environments, files, responses.

It holds data and never sends anything: a value that the run has to provide raises a `NeededError`.
"""

from __future__ import annotations

import os
import re
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http.values.environment import Environment
from orgrest.http.values.files import locate
from orgrest.http.values.global_variables import GlobalVariables, text_of
from orgrest.http.values.secrets import Secrets
from orgrest.model import OrgrestError, Source, possible, secrets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from pathlib import Path

    from orgrest.http.auth.flows import Token
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.script_value import ScriptValue
    from orgrest.http.scripts import Engine
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values.dynamic import DynamicContext
    from orgrest.http.values.global_variables import GlobalVariables
    from orgrest.http.values.secrets import UserSecrets
    from orgrest.model import Bound, Request, Response, Secret


# Annotated converters: attrs would parse the signature of a built-in function.
def _tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given)


def _set(given: Any) -> frozenset[Any]:
    return frozenset(given)


@attrs.define(kw_only=True, eq=False)
class Helpers:
    """The objects that give variables their values.

    `prompt` asks the user (the question, whether to hide the answer), and returns None if the user
    does not answer. `on_read` is called with each file that a document names, before it is read.
    `globals_` are the global variables of scripts, None if each document has its own.
    `user_secrets` are the secrets that the user keeps elsewhere, None to use no such secrets.
    """

    prompt: Callable[[str, bool], str | None] | None = None
    on_read: Callable[[Path], None] | None = None
    globals_: GlobalVariables | None = None
    user_secrets: UserSecrets | None = None


@attrs.frozen(kw_only=True)
class Inputs:
    """The inputs from which a document's variables get their values.

    `directory` is the document's folder: paths are relative to it, and only files below it, and
    below the folders of `allow_read`, are read. `env` reads `environ` first, then `env_file`;
    `netrc` is the netrc file. `overrides` are variables that take precedence over all others;
    `remembered` are captures of earlier runs, with the lowest precedence, and `secrets` the secrets
    of those runs: a capture may contain one. `environments` are the names chosen from those in the
    files around the document. `seed` makes dynamic values reproducible.
    """

    directory: Path = attrs.field(factory=Path)
    allow_read: tuple[Path, ...] = attrs.field(default=(), converter=_tuple)
    environ: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    env_file: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    netrc: Path | None = None
    overrides: Mapping[str, str] = attrs.field(factory=dict)
    remembered: Mapping[str, str] = attrs.field(factory=dict)
    secrets: frozenset[str] = attrs.field(default=frozenset(), converter=_set, repr=False)
    environments: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    seed: int | None = None

    @classmethod
    def of_user(cls, directory: Path, **given: Any) -> Inputs:
        """Return inputs with the environment and netrc file of this process's user, and `given`."""
        path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        netrc = path if path.is_file() else None
        return cls(
            directory=directory,
            environ=os.environ,
            netrc=netrc,
            **given,
        )


class NeededError(BaseException):
    """A value that the run must obtain first; not an error, so error handlers do not catch it."""


class RequestNeededError(NeededError):
    """A request that has to be sent first; `key` is its identity.

    `given` are variables that it is sent with. With `again`, it is sent even if it was before.
    """

    def __init__(
        self, key: Any, given: Mapping[str, str] | None = None, *, again: bool = False
    ) -> None:
        super().__init__(key)
        self.key, self.given, self.again = key, given or {}, again


class TokenNeededError(NeededError):
    """An OAuth 2.0 token is needed for a grant with these secrets; `url` is where it is sent."""

    def __init__(self, grant: Grant, secrets: frozenset[Secret], url: str | None) -> None:
        super().__init__(grant)
        self.grant, self.secrets, self.url = grant, secrets, url


@attrs.frozen
class Captured:
    """A captured variable, and the position of the capture; None for an earlier run.

    `made` is the value that a script gave it, which may have no text: `value` is then None.
    """

    value: str | None
    source: Source | None = None
    offset: int = 0
    made: ScriptValue | None = None


@attrs.define
class _Started:
    """Objects that are created on first use, for all blocks of a document."""

    engine: Engine | None = None
    dynamic: DynamicContext | None = None


class RequestNames:
    """Resolves names in a document's requests; this default resolves no names."""

    def requests_named(self, name: str, using: ParsedRequest) -> Iterable[Hashable]:
        """Return keys of requests that a name may refer to: `using`, once answered, and another."""
        del name, using
        return ()

    def imported_value(self, name: str) -> str | None:
        """Return the source of a variable in an imported file, or None."""
        del name
        return None


@attrs.define(eq=False)
class Answers:
    """The exchanges of requests by their identity, and the errors of failed requests.

    `unmet` is the reason why a request that is needed now was not sent.
    """

    last: tuple[Request, Response] | None = None
    exchanges: dict[Hashable, tuple[Request, Response]] = attrs.field(factory=dict)
    failures: dict[Hashable, OrgrestError] = attrs.field(factory=dict)
    unmet: dict[Hashable, OrgrestError] = attrs.field(factory=dict)


class Context:
    """The values of one document's variables; `block` returns the context of one block.

    With `placeholders` nothing is sent, and a name in angle brackets replaces a value of a
    response. `captures`, `secrets`, `globals`, `environment`, `answers` and `tokens` are the
    document's: all of its blocks share them. `names` are those of its requests.

    `directory` is the folder that paths are relative to, `saves_below` the one below which
    responses are saved. `values` are a block's ``:var``s that may refer to variables, `literal`
    those that are not expanded, and `replaced` the values that a `run` line passes to its requests.
    """

    def __init__(
        self,
        inputs: Inputs | None = None,
        names: RequestNames | None = None,
        helpers: Helpers | None = None,
        *,
        placeholders: bool = False,
        computes: bool = False,
    ) -> None:
        """Use the values of `inputs`, which include the captures of earlier runs.

        With `computes`, JavaScript may run; `close` ends its engine.
        """
        self.inputs = inputs = inputs or Inputs()
        self.names = names or RequestNames()
        self.helpers = helpers = helpers or Helpers()
        self.placeholders = placeholders
        self.captures = {name: Captured(value) for name, value in inputs.remembered.items()}
        self.globals = helpers.globals_ or GlobalVariables()
        self.secrets = Secrets({*inputs.secrets, *self.globals.secrets()}, helpers.user_secrets)
        self.environment = Environment(
            inputs.directory, inputs.environments, self.secrets, inputs.environ
        )
        self.answers = Answers()
        self.tokens: dict[tuple[Grant, str | None], tuple[Token, Bound | None] | OrgrestError] = {}
        """The tokens, or errors, of the current request by grant and URL."""
        self._computes = computes
        self._started = _Started()
        self.directory = self.saves_below = inputs.directory
        self.values: Mapping[str, str] = {}
        self.literal: Mapping[str, str] = {}
        self.replaced: Mapping[str, str] = {}

    def block(
        self,
        values: Mapping[str, str] | None = None,
        literal: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Context:
        """Return the context of one block: its ``:var``s, and its folder if it has its own."""
        inner = copy(self)
        inner.values = values or {}
        inner.literal = literal or {}
        if directory is not None:
            inner.directory = inner.saves_below = directory
        return inner

    def imported(self, directory: Path, replaced: Mapping[str, str]) -> Context:
        """Return the context of another file's requests, whose paths are relative to `directory`.

        `replaced` are the values of the `run` line that runs them. Responses are still saved below
        the document's folder.
        """
        inner = copy(self)
        inner.directory = directory
        inner.replaced = replaced
        return inner

    def capture(self, parsed: ParsedRequest, name: str, value: str) -> None:
        """Set `name` for the rest of this block, and for later blocks."""
        self.captures[name] = Captured(value, parsed.source, parsed.span.start)

    def captured(self, *, new: bool = False) -> dict[str, str]:
        """Return the captures so far; with `new`, without those of earlier runs."""
        captures = dict(self.captures)  # in one step: a run may continue in another thread
        return {
            name: one.value
            for name, one in captures.items()
            if one.value is not None and not (new and one.source is None)
        }

    @property
    def lengths(self) -> set[int]:
        """The lengths of the names of variables that come from outside the request's own text."""
        outside = (self.inputs.overrides, self.captures, self.values, self.literal)
        return {len(name) for names in outside for name in names}

    @property
    def engine(self) -> Engine:
        """The engine for JavaScript, which starts with the first script. Raises `OrgrestError`."""
        if self._started.engine is None:
            if not self._computes:
                raise OrgrestError("JavaScript is computed only when requests are sent, or shown")
            from orgrest.http.scripts import Engine

            self._started.engine = Engine()
        return self._started.engine

    def close(self) -> None:
        """End the engine, if one was started."""
        if self._started.engine is not None:
            self._started.engine.close()

    def ask(self, name: str, what: str, *, hidden: bool) -> str:
        """Ask the user for a value. Raises `OrgrestError` if that is not possible."""
        given = self.inputs.overrides.get(name)
        if given is None and self.helpers.prompt is not None:
            given = self.helpers.prompt(what, hidden)
        if given is None:
            reason = f"a value is asked for here: {what}; where nobody can answer, give"
            given_by = f"--var '{name}=VALUE' (in an editor, the setting variables has it)"
            raise OrgrestError(f"{reason} {given_by}", code="unanswered")
        return self.secrets.add(given) if hidden else given

    def dynamic(self, text: str) -> str | None:
        """Return the value of `{{$...}}`, None if only a run provides it. Raises `OrgrestError`."""
        from orgrest.http.values import dynamic, environments

        if self._started.dynamic is None:
            inputs, folder = self.inputs, self.inputs.directory
            self._started.dynamic = dynamic.DynamicContext(
                environ=partial(_env, inputs, self.secrets),
                dotenv=lambda name: environments.dotenv_beside(folder).get(name),
                variable=self.environment.value,
                project=str(folder.resolve()),
                seed=inputs.seed,
                user_secret=partial(self.secrets.take, ask=not self.placeholders),
            )
        value, secret = dynamic.value(text, self._started.dynamic)
        if value is None or not secret or secrets_in(value):
            return value
        return self.secrets.add(value)

    def env(self, name: str) -> str | None:
        """Return the value of a variable of the environment or the env file, as a secret."""
        return _env(self.inputs, self.secrets, name)

    def token(
        self, grant: Grant, secrets: frozenset[Secret], url: str | None, kind: str = "token"
    ) -> str | None:
        """Return the access token (or `idToken`) for a grant, or None in a dry run.

        `secrets` are those in the grant, which its token does not hold. `url` is where the request
        goes, None if that is not known yet. Raises `TokenNeededError` until the run has a token,
        and `OrgrestError` if it has no ID token.
        """
        for secret in grant.secrets:
            self.secrets.add(secret)
        if self.placeholders:
            return None
        if (grant, url) not in self.tokens:
            raise TokenNeededError(grant, secrets, url)
        found = self.tokens[grant, url]
        if isinstance(found, OrgrestError):
            raise found.with_traceback(None)
        token, itself = found
        for secret in token.secrets:
            self.secrets.add(secret, itself)
        if kind == "idToken" and token.identity is None:
            raise OrgrestError(f"{grant.token_url} gave no ID token", code="credentials")
        value = token.access if kind == "token" else token.identity
        return None if value is None else self.secrets.add(value, itself)

    def readable(self, code: str) -> frozenset[Secret]:
        """Return the secrets that a script can read: `possible` unless `code` has the variable."""
        words = set(re.findall(r"[\w$-]+", code))
        values = [(name, one.value or "") for name, one in dict(self.captures).items()]
        for others in (self.environment.values(), self.globals.values):
            values += ((name, text_of(value)) for name, value in others.items())
        within = ((name, self.secrets.within(text)) for name, text in values)
        return frozenset().union(
            *(found if name in words else possible(found) for name, found in within)
        )

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
        """Return the path of a file named in the document.

        Raises `OrgrestError` as `read` does. Paths are relative to `base`, by default the
        document's folder.
        """
        inputs = self.inputs
        return locate(
            path, base or self.directory, inputs.directory, inputs.allow_read, self.helpers.on_read
        )


def _env(inputs: Inputs, secrets: Secrets, name: str) -> str | None:
    value = inputs.environ.get(name, inputs.env_file.get(name))
    return None if value is None else secrets.add(value)
