"""The data from which a request's variables get their values: options, captures, files, responses.

The context never sends anything. If a value requires a request or a token, it raises a
`NeededError`. The run then gets the value and tries again.
"""

from __future__ import annotations

import os
import re
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.http.values.environment import Environment
from orgrest.http.values.files import locate
from orgrest.http.values.global_variables import GlobalVariables, text_of
from orgrest.http.values.secrets import Secrets
from orgrest.model import OrgrestError, Secret, Source, Text, possible, secrets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from pathlib import Path

    from orgrest.http.auth.flows import Token
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.script_value import ScriptValue
    from orgrest.http.scripts import Engine
    from orgrest.http.syntax import Definition, ParsedRequest
    from orgrest.http.values.dynamic import DynamicContext
    from orgrest.http.values.global_variables import GlobalVariables
    from orgrest.http.values.secrets import UserSecrets
    from orgrest.model import Bound, Request, Response


@classes.define(kw_only=True, eq=False)
class Helpers:
    """The callbacks and stores that provide values of variables.

    - `prompt` asks the user a question. It also gets whether to hide the answer. It returns None if
      the user does not answer.
    - `on_read` is called with the path of each file that a document names, before the file is read.
    - `globals_` are the global variables of scripts. By default, each document has its own.
    - `user_secrets` are the secrets that the user stores outside documents.
    """

    prompt: Callable[[str, bool], str | None] | None = None
    on_read: Callable[[Path], None] | None = None
    globals_: GlobalVariables | None = None
    user_secrets: UserSecrets | None = None


@classes.frozen(kw_only=True)
class Inputs:
    """The inputs from which a document's variables get their values.

    - `directory` is the document's folder, to which paths are relative.
    - `allow_read` are other folders whose files the document may read.
    - `environ` and `env_file` contain environment variables. `environ` takes precedence.
    - `netrc` is the path of the netrc file.
    - `overrides` are variables that take precedence over all others (see `overrides_of`).
    - `remembered` are the captures of earlier runs, and `secrets` are the secrets of those runs.
    - `environments` are the names of the selected environments.
    - `editor_settings` are an editor's settings for VS Code REST Client, by name.
    - `seed` makes dynamic values reproducible.
    - `option_prefix` is what the caller's options start with in messages, or "" in an editor, which
      has settings instead.
    """

    directory: Path = classes.field(factory=Path)
    allow_read: tuple[Path, ...] = classes.field(default=(), converter=tuple)
    environ: Mapping[str, str] = classes.field(factory=dict, repr=False)
    env_file: Mapping[str, str] = classes.field(factory=dict, repr=False)
    netrc: Path | None = None
    overrides: Mapping[str, str] = classes.field(factory=dict, repr=False)
    remembered: Mapping[str, str] = classes.field(factory=dict)
    secrets: frozenset[str] = classes.field(default=frozenset(), converter=frozenset, repr=False)
    environments: tuple[str, ...] = classes.field(default=(), converter=tuple)
    editor_settings: Mapping[str, Any] = classes.field(factory=dict, repr=False)
    seed: int | None = None
    option_prefix: str = "--"

    @classmethod
    def of_user(cls, directory: Path, **given: Any) -> Inputs:
        """Return inputs with the environment variables and netrc file of the current user.

        `given` contains the values of other fields.
        """
        path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        netrc = path if path.is_file() else None
        return cls(
            directory=directory,
            environ=os.environ,
            netrc=netrc,
            **given,
        )


def overrides_of(
    variables: Iterable[tuple[str, str]], secrets: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Return the variables set by `--var` and `--secret`. The values of `secrets` are masked."""
    hidden = {name: Text(value, {Secret(value)} if value else ()) for name, value in secrets}
    return {**dict(variables), **hidden}


class NeededError(BaseException):
    """Raised if the run must obtain a value first. `except Exception` does not catch it."""


class RequestNeededError(NeededError):
    """Raised if another request has to be sent first.

    `key` identifies that request, which is sent with `variables`. If `again` is set, it is sent
    even if it has been sent before.
    """

    def __init__(
        self, key: Any, variables: Mapping[str, str] | None = None, *, again: bool = False
    ) -> None:
        super().__init__(key)
        self.key, self.variables, self.again = key, variables or {}, again


class TokenNeededError(NeededError):
    """Raised if the run has to get an OAuth 2.0 token for `grant` first.

    `secrets` are the secrets in the grant. `url` is the URL of the request that needs the token, or
    None if this URL is not known yet.
    """

    def __init__(self, grant: Grant, secrets: frozenset[Secret], url: str | None) -> None:
        super().__init__(grant)
        self.grant, self.secrets, self.url = grant, secrets, url


@classes.frozen
class Captured:
    """A captured variable's value, and the position of the request that captured it.

    `value` is None if it cannot be sent as text (for example, a function). `source` is None for
    captures of an earlier run, and for values set by a script or by `(verb-var NAME)`. `made` is
    the value that a script assigned, or None.
    """

    value: str | None
    source: Source | None = None
    offset: int = 0
    made: ScriptValue | None = None


@classes.define
class _Started:
    """Objects that are created on first use and shared by all blocks of a document."""

    engine: Engine | None = None
    dynamic: DynamicContext | None = None


class RequestNames:
    """Resolves the names of requests and imported variables.

    This base class knows only the `names` of requests, which are also their keys.
    """

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self._names = names

    @property
    def set_by_scripts(self) -> frozenset[str]:
        """The names of the variables set by those scripts of imported files that run once."""
        return frozenset()

    def requests_named(self, name: str, using: ParsedRequest) -> Iterable[Hashable]:
        """Return the keys of the requests that a name in the request `using` may refer to.

        If `using` itself has the name, its key comes first: once it has a response, the name refers
        to that response. The key of another request with that name comes next.
        """
        del using
        return (name,) if name in self._names else ()

    def imported_definition(self, name: str) -> tuple[Source, Definition] | None:
        """Return the definition of a variable that an imported file defines, with its source."""
        del name
        return None

    def paths(self) -> Iterable[Path]:
        """Return the paths of the document and of the imported files."""
        return ()


@classes.define(eq=False)
class Kept:
    """The value of a definition that a run computes once.

    `source` is the source of the request for which the value was computed. `used` contains the
    variables that it was computed from, with their values and sources. `made` contains the results
    of expressions (see `Values`). `passed` says whether the run has passed the definition.
    """

    value: str
    source: Source
    used: Mapping[str, tuple[str, Any]]
    made: Mapping[str, Any]
    passed: bool = False


@classes.define(eq=False)
class KeptValues:
    """The values of the definitions that the run has computed so far (see `kept`).

    The keys are the source and the offset of each definition. `size` is the total length of the
    values.
    """

    entries: dict[tuple[Source, int], Kept | OrgrestError | None] = classes.field(factory=dict)
    size: int = 0


@classes.define(eq=False)
class Answers:
    """The latest exchange and the first error of each request, by the request's key.

    `last` is the latest exchange of all requests. `unmet` contains the reasons why requests that
    are currently needed were not sent or got no response.
    """

    last: tuple[Request, Response] | None = None
    exchanges: dict[Hashable, tuple[Request, Response]] = classes.field(factory=dict)
    failures: dict[Hashable, OrgrestError] = classes.field(factory=dict)
    unmet: dict[Hashable, OrgrestError] = classes.field(factory=dict)


class Context:
    """The variables of one document. The method `block` returns the context of one block.

    All blocks share `captures`, `secrets`, `globals`, `environment`, `answers`, `kept` and
    `tokens`. `own` are the variables that scripts set only for the current request. `names`
    resolves the names of the document's requests. If `placeholders` is set, nothing is sent, and
    names in angle brackets replace the values that come from responses. If `computes` is set,
    JavaScript may run, and `close` must be called to stop the JavaScript engine.

    Paths are relative to `directory`, and responses are saved below `saves_below`. `values` are the
    `:var` values of a block that may refer to variables, and `literal` are those that are not
    expanded. `iteration` are the variables of the current iteration of a request. `replaced` are
    the values that a `run` line passes to its requests.
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
        self.inputs = inputs = inputs or Inputs()
        self.names = names or RequestNames()
        self.helpers = helpers = helpers or Helpers()
        self.placeholders = placeholders
        self.captures = {name: Captured(value) for name, value in inputs.remembered.items()}
        self.own: dict[str, Captured] = {}
        self.globals = helpers.globals_ or GlobalVariables()
        given = (secret.text for text in inputs.overrides.values() for secret in secrets_in(text))
        texts = {*inputs.secrets, *self.globals.secrets(), *given}
        self.secrets = Secrets(texts, helpers.user_secrets)
        self.environment = Environment(
            inputs.directory,
            inputs.environments,
            self.secrets,
            inputs.environ,
            inputs.editor_settings,
        )
        self.answers = Answers()
        self.kept = KeptValues()
        self.tokens: dict[tuple[Grant, str | None], tuple[Token, Bound | None] | OrgrestError] = {}
        """The tokens (or the errors) for the current request, by grant and URL."""
        self._computes = computes
        self._started = _Started()
        self.directory = self.saves_below = inputs.directory
        self.values: Mapping[str, str] = {}
        self.literal: Mapping[str, str] = {}
        self.iteration: Mapping[str, str] = {}
        self.replaced: Mapping[str, str] = {}

    def block(
        self,
        values: Mapping[str, str] | None = None,
        literal: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Context:
        """Return the context of a block, with its `:var` values and, if any, its own folder."""
        folders = {} if directory is None else {"directory": directory, "saves_below": directory}
        return self._with(values=values or {}, literal=literal or {}, **folders)

    def request(self) -> Context:
        """Return the context of a request. Its scripts can set variables that only it has."""
        return self._with(own=dict(self.own))

    def iterated(self, variables: Mapping[str, str]) -> Context:
        """Return the context of an iteration, in which `variables` are set."""
        return self._with(iteration={**self.iteration, **variables})

    def imported(self, directory: Path, replaced: Mapping[str, str]) -> Context:
        """Return a context for another file's requests, with paths relative to `directory`.

        `replaced` are the values in the `run` line that runs these requests. Responses are still
        saved in or below the document's folder.
        """
        return self._with(directory=directory, replaced=replaced)

    def apart(self) -> Context:
        """Return a context for checks: it asks nothing, and leaves the run's random values alone.

        It has no responses of other requests.
        """
        return self._with(helpers=Helpers(), answers=Answers(), _started=_Started())

    def _with(self, **changes: Any) -> Context:
        """Return a copy in which some attributes have other values."""
        inner = Context.__new__(Context)
        inner.__dict__ = self.__dict__ | changes
        return inner

    def capture(self, parsed: ParsedRequest, name: str, value: str) -> None:
        """Set a variable for the rest of the block that contains `parsed`, and for later blocks."""
        self.captures[name] = Captured(value, parsed.source, parsed.span.start)

    def captured(self, *, new: bool = False) -> dict[str, str]:
        """Return the captured strings by name. If `new` is set, leave out those of earlier runs."""
        captures = dict(self.captures)  # in one step: a run may continue in another thread
        return {
            name: capture.value
            for name, capture in captures.items()
            if capture.value is not None and not (new and capture.source is None)
        }

    @property
    def every_capture(self) -> dict[str, Captured]:
        """The captures by name, including the variables that only this request has."""
        return {**self.captures, **self.own}

    @property
    def lengths(self) -> set[int]:
        """The lengths of the names of all variables defined outside of the request's text."""
        outside = (self.inputs.overrides, self.captures, self.own, self.values, self.literal)
        return {len(name) for names in outside for name in names}

    @property
    def engine(self) -> Engine:
        """The JavaScript engine, created on first use.

        Raises `OrgrestError` if the context was created without `computes`.
        """
        if self._started.engine is None:
            if not self._computes:
                raise OrgrestError("JavaScript is only evaluated when requests are sent or shown")
            from orgrest.http.scripts import Engine

            self._started.engine = Engine()
        return self._started.engine

    def close(self) -> None:
        """Stop the JavaScript engine if it was started."""
        if self._started.engine is not None:
            self._started.engine.close()

    def ask(self, name: str, what: str, *, hidden: bool) -> str:
        """Return the value of `name` from the command line, or else the answer to `what`.

        If `hidden` is set, the value is a secret. Raises `OrgrestError` if the user cannot be
        asked, or does not answer.
        """
        override = self.inputs.overrides.get(name)
        if override is None and self.helpers.prompt is not None:
            override = self.helpers.prompt(what, hidden)
        if override is None:
            reason = f"this request asks for a value: {what}; to run it without a prompt, use"
            option = self.inputs.option_prefix and f"{self.inputs.option_prefix}var '{name}=VALUE'"
            given_by = option or f"the setting `variables` for {name}"
            raise OrgrestError(f"{reason} {given_by}", code="unanswered")
        return self.secrets.add(override) if hidden else override

    def dynamic(self, text: str) -> str:
        """Return the value of `{{$...}}`.

        In a dry run, `{{$secret NAME}}` is an empty string that still records the secret. Raises
        `OrgrestError` if there is no such dynamic value, or if it cannot be computed.
        """
        from orgrest.http.values import dynamic, environments

        if self._started.dynamic is None:
            inputs, folder = self.inputs, self.inputs.directory
            near = cache(partial(environments.dotenv_near, folder, self.environment.chosen))
            self._started.dynamic = dynamic.DynamicContext(
                environ=partial(_env, inputs, self.secrets),
                dotenv=lambda name: near().get(name),
                variable=self.environment.value,
                project=str(environments.project_folders(folder.resolve())[-1]),
                seed=inputs.seed,
                user_secret=partial(self.secrets.take, ask=not self.placeholders),
            )
        value, secret = dynamic.value(text, self._started.dynamic)
        if not secret or secrets_in(value):
            return value
        return self.secrets.add(value)

    def env(self, name: str) -> str | None:
        """Return the value of an environment variable as a secret, or None if it is not set.

        If the environment does not contain the variable, the env file is used.
        """
        return _env(self.inputs, self.secrets, name)

    def token(
        self, grant: Grant, secrets: frozenset[Secret], url: str | None, kind: str = "token"
    ) -> str | None:
        """Return the access token (or the ID token if `kind` is `idToken`), or None in a dry run.

        `secrets` are the secrets in the grant. `url` is the URL of the request, or None if it is
        not known yet. Raises `TokenNeededError` if the run does not have the token yet, and
        `OrgrestError` if the run could not get it or if there is no ID token.
        """
        for secret in grant.secrets:
            self.secrets.add(secret)
        if self.placeholders:
            return None
        if (grant, url) not in self.tokens:
            raise TokenNeededError(grant, secrets, url)
        result = self.tokens[grant, url]
        if isinstance(result, OrgrestError):
            raise result.with_traceback(None)
        token, itself = result
        for secret in token.secrets:
            self.secrets.add(secret, itself)
        if kind == "idToken" and token.identity is None:
            raise OrgrestError(f"{grant.token_url} returned no ID token", code="credentials")
        value = token.access if kind == "token" else token.identity
        return None if value is None else self.secrets.add(value, itself)

    def readable(self, code: str) -> frozenset[Secret]:
        """Return the secrets that a script can read.

        A secret is marked as `possible` unless `code` names the variable that contains it.
        """
        words = set(re.findall(r"[\w$-]+", code))
        values = [(name, capture.value or "") for name, capture in self.every_capture.items()]
        for others in (self.environment.values(), self.globals.values):
            values += ((name, text_of(value)) for name, value in others.items())
        within = ((name, self.secrets.within(text)) for name, text in values)
        return frozenset().union(
            *(secrets if name in words else possible(secrets) for name, secrets in within)
        )

    def read(self, path: str) -> bytes:
        """Return the content of a file that the document names.

        Raises `OrgrestError` if the document may not read the file, or if it is not a regular file
        or cannot be read.
        """
        try:
            return self.locate(path).read_bytes()
        except OSError as error:
            raise OrgrestError(f"could not read {path}: {error.strerror or error}") from error

    def locate(self, path: str, base: Path | None = None) -> Path:
        """Return the path of a file that the document names relative to `base`.

        `base` defaults to the document's folder. Raises `OrgrestError` if the document may not read
        the file, or if it is not a regular file or cannot be found.
        """
        inputs = self.inputs
        return locate(
            path, base or self.directory, inputs.directory, inputs.allow_read, self.helpers.on_read
        )


def _env(inputs: Inputs, secrets: Secrets, name: str) -> str | None:
    value = inputs.environ.get(name, inputs.env_file.get(name))
    return None if value is None else secrets.add(value)
