"""The scope of a request's variables: options, captures, environments, files, its run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http.values.context import RunContext
from orgrest.http.values.environment import Environment
from orgrest.http.values.exchanges import Exchanges
from orgrest.http.values.files import locate
from orgrest.http.values.global_variables import GlobalVariables
from orgrest.http.values.inputs import Inputs
from orgrest.http.values.netrc import look_up
from orgrest.http.values.taken_secrets import TakenSecrets
from orgrest.http.values.token_provider import TokenProvider
from orgrest.model import OrgrestError, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values.dynamic import DynamicContext
    from orgrest.http.values.script_value import ScriptValue
    from orgrest.model import Response


@attrs.frozen
class Captured:
    """A captured variable, and the position of the capture; None for an earlier run.

    `made` is the value that a script gave it, which may have no text: `value` is then None.
    """

    value: str | None
    source: Source | None = None
    offset: int = 0
    made: ScriptValue | None = None


def _note(secrets: set[str], value: str) -> str:
    if value.strip():
        secrets.add(value)
    return value


def _env(inputs: Inputs, secret: Callable[[str], str], name: str) -> str | None:
    value = inputs.environ.get(name, inputs.env_file.get(name))
    return None if value is None else secret(value)


class Session:
    """The mutable state that a document's requests share: captures and secrets."""

    def __init__(self, inputs: Inputs) -> None:
        """Start with the captures of earlier runs."""
        self.inputs = inputs
        self.captures = {name: Captured(value) for name, value in inputs.remembered.items()}
        self.secrets = set(inputs.secrets)
        self.globals = inputs.globals_ or GlobalVariables()
        self.secrets.update(self.globals.secrets())
        self.secret = partial(_note, self.secrets)  # not a method: that would be a reference cycle
        self.env = partial(_env, inputs, self.secret)
        self.taken = TakenSecrets(inputs.user_secrets)
        self.environment = Environment(inputs.directory, inputs.environments, self.secret)
        self.dynamic_context: DynamicContext | None = None
        # of the names of overrides and captures
        self.lengths = {len(name) for name in (*inputs.overrides, *self.captures)}

    @property
    def captured(self) -> dict[str, str]:
        """The captures so far, those of earlier runs included."""
        captures = dict(self.captures)  # in one step: a run may continue in another thread
        return {name: one.value for name, one in captures.items() if one.value is not None}

    @property
    def new_captures(self) -> dict[str, str]:
        """The captures so far, without those of earlier runs."""
        captures = dict(self.captures)
        return {
            name: one.value
            for name, one in captures.items()
            if one.source is not None and one.value is not None
        }


class Scope:
    """The values of one document's variables; `block` returns the scope of one block."""

    def __init__(
        self,
        inputs: Inputs | None = None,
        run: RunContext | None = None,
        session: Session | None = None,
    ) -> None:
        """Take values from `inputs` and the requests of `run`; continue a `session` if given."""
        self._session = session or Session(inputs or Inputs())
        self._run = run or RunContext()
        self.directory = self._session.inputs.directory
        self.values: Mapping[str, str] = {}
        self.literal: Mapping[str, str] = {}
        self.replaced: Mapping[str, str] = {}
        """The values that a `run` line passes to its requests."""
        self.saves_below = self.directory
        """The folder below which responses are saved."""

    def block(
        self,
        values: Mapping[str, str] | None = None,
        literal: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Scope:
        """Return the scope of one block, with its `:var`s.

        `values` may refer to variables; `literal` ones are not expanded. `directory` is the folder
        that its paths are relative to, and below which it saves. Captures and secrets are the
        document's.
        """
        inner = Scope(run=self._run, session=self._session)
        inner.directory = self.directory if directory is None else directory
        inner.values = values or {}
        inner.literal = literal or {}
        inner.replaced = self.replaced
        inner.saves_below = self.saves_below if directory is None else directory
        return inner

    def imported(self, directory: Path, replaced: Mapping[str, str]) -> Scope:
        """Return the scope of another file's requests, whose paths are relative to `directory`.

        `replaced` are the values of the `run` line that runs them. Responses are still saved below
        the document's folder.
        """
        inner = self.block(self.values, self.literal)
        inner.directory = directory
        inner.replaced = replaced
        return inner

    @property
    def secrets(self) -> frozenset[str]:
        """The values taken from the environment, an env file or netrc, now or in earlier runs."""
        return frozenset(self._session.secrets)

    def capture(self, parsed: ParsedRequest, name: str, value: str) -> None:
        """Set `name` for the rest of this block, and for later blocks."""
        self._session.captures[name] = Captured(value, parsed.source, parsed.span.start)
        self._session.lengths.add(len(name))

    @property
    def captured(self) -> dict[str, str]:
        """The captures so far, those of earlier runs included."""
        return self._session.captured

    @property
    def lengths(self) -> set[int]:
        """The lengths of the names of variables that come from outside the request's own text."""
        return self._session.lengths.union(map(len, self.values), map(len, self.literal))

    @property
    def overrides(self) -> Mapping[str, str]:
        """The variables given from outside, which take precedence over all others."""
        return self._session.inputs.overrides

    def override(self, name: str) -> str | None:
        """Return the value of a variable given from outside, which takes precedence."""
        return self._session.inputs.overrides.get(name)

    def captured_variable(self, name: str) -> Captured | None:
        """Return the last capture of a name, those of earlier runs included."""
        return self._session.captures.get(name)

    # what request files have besides

    def set_variable(self, name: str, value: str | None, made: ScriptValue | None = None) -> None:
        """Set a variable for the rest of the run, as a script does, which `made` its value."""
        self._session.captures[name] = Captured(value, None, 0, made)
        self._session.lengths.add(len(name))

    def remove_variable(self, name: str) -> None:
        """Forget what set a variable in this run, as a script does."""
        self._session.captures.pop(name, None)

    @property
    def variables_of_scripts(self) -> dict[str, Captured]:
        """The variables that scripts and responses set, those of earlier runs included."""
        return dict(self._session.captures)

    @property
    def globals(self) -> GlobalVariables:
        """The global variables of scripts."""
        return self._session.globals

    @property
    def seed(self) -> int | None:
        """What makes random values repeatable, or None."""
        return self._session.inputs.seed

    @property
    def environment(self) -> Environment:
        """The variables of the chosen environments."""
        return self._session.environment

    @property
    def exchanges(self) -> Exchanges:
        """The exchanges of the document's named requests."""
        return Exchanges(self._run, self._session.taken)

    @property
    def access(self) -> TokenProvider:
        """The tokens that requests carry."""
        return TokenProvider(self._run, self._session.secret, self._session.taken)

    @property
    def placeholders(self) -> bool:
        """Whether a name in angle brackets replaces a value of a response."""
        return self._run.placeholders

    def ask(self, name: str, what: str, *, hidden: bool) -> str:
        """Ask the user for a value. Raises `OrgrestError` if nobody can be asked."""
        inputs = self._session.inputs
        given = inputs.overrides.get(name)
        if given is None and inputs.ask is not None:
            given = inputs.ask(what, hidden)
        if given is None:
            reason = f"a value is asked for here: {what}; where nobody can answer, give"
            given_by = f"--var '{name}=VALUE' (in an editor, the setting variables has it)"
            raise OrgrestError(f"{reason} {given_by}", code="unanswered")
        return self.secret(given) if hidden else given

    def dynamic(self, text: str) -> str | None:
        """Return the value of `{{$...}}`, None if only a run gives it. Raises `OrgrestError`."""
        from orgrest.http.values import dynamic, environments

        session = self._session
        folder = session.inputs.directory
        if session.dynamic_context is None:
            session.dynamic_context = dynamic.DynamicContext(
                environ=session.env,
                dotenv=lambda name: environments.dotenv_beside(folder).get(name),
                variable=session.environment.value,
                project=str(folder.resolve()),
                seed=session.inputs.seed,
                user_secret=partial(session.taken.take, ask=not self.placeholders),
            )
        value, secret = dynamic.value(text, session.dynamic_context)
        return self.secret(value) if secret and value is not None else value

    def imported_variable(self, name: str) -> str | None:
        """Return the source of a name in an imported file, or None."""
        return self._run.imported_value(name)

    def compute(
        self, code: str, variables: Mapping[str, Any], responses: Mapping[str, Response]
    ) -> tuple[str, Any]:
        """Return the text and the value of an expression in JavaScript. Raises `OrgrestError`."""
        return self._run.compute(code, variables, responses)

    def value_of_script(self, name: str) -> str | None:
        """Return None in a dry run, which runs no script; otherwise raise `OrgrestError`."""
        if self._run.placeholders:
            return None
        reason = (
            f"the variable {name} is not defined yet: a script sets it, which did not run, or gave "
            "it a function, which no variable holds"
        )
        raise OrgrestError(reason, code="undefined-variable")

    def protect(self, result: str, *inputs: str) -> str:
        """Return `result`, registered as a secret if an input contains one."""
        if any(secret in given for given in inputs for secret in self._session.secrets):
            self.secret(result)
        return result

    def secret(self, value: str) -> str:
        """Return `value`, registered as a secret."""
        return self._session.secret(value)

    def env(self, name: str) -> str | None:
        """Return the value of a variable of the environment or the env file, as a secret."""
        return self._session.env(name)

    @property
    def taken(self) -> TakenSecrets:
        """The user's secrets that the document's requests hold."""
        return self._session.taken

    def user_secret(self, name: str) -> str | None:
        """Return a secret that the user keeps elsewhere, or None in a dry run.

        Raises `OrgrestError` if there is none.
        """
        value = self._session.taken.take(name, ask=not self.placeholders)
        return None if value is None else self.secret(value)

    def netrc(self, host: str, field: str) -> str:
        """Return the `login`, `account` or `password` for `host`, as a secret.

        Raises `OrgrestError` if there is none.
        """
        value = look_up(self._session.inputs.netrc, host, field)
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
        """Return the path of a file named in the document.

        Raises `OrgrestError` as `read` does. Paths are relative to `base`, by default the
        document's folder.
        """
        inputs = self._session.inputs
        return locate(
            path, base or self.directory, inputs.directory, inputs.allow_read, inputs.on_read
        )
