"""The scripts before and after a request of a request file.

They run in a separate engine process (`http.scripts`), which starts with the first one.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http.values import Values
from orgrest.http.values.computing import for_script, text_of_value
from orgrest.model import OrgrestError, Request, TransportError, to_bytes
from orgrest.run.bound_secrets import bound, without_secrets
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from orgrest.http.scripts import Engine, Result
    from orgrest.http.syntax import ParsedRequest, Script
    from orgrest.http.values import Scope, Session
    from orgrest.model import Response, Source, Verdict


@attrs.define
class ScriptResults:
    """The results of one request's scripts: lines to show, and tests.

    `wait` lets them sleep, and `send` sends a request of theirs; it raises EvaluationError where
    nothing is sent, and TransportError.
    """

    wait: Callable[[float], None] | None = None
    send: Callable[[Request], Response] | None = None
    notes: list[str] = attrs.field(factory=list)
    tests: list[Verdict] = attrs.field(factory=list)
    cancelled: bool = False

    def take(self, others: ScriptResults) -> None:
        """Add what other scripts logged and tested."""
        self.notes += others.notes
        self.tests += others.tests


class ScriptRunner:
    """Runs the scripts of one run."""

    def __init__(self) -> None:
        """Create a runner; the engine starts with the first script."""
        self._engine: Engine | None = None
        self.defined: dict[object, str] = {}
        """The values of definitions that scripts of the present request saw."""
        self._pending = ScriptResults()  # of those that run once, for the first request
        self._ran: dict[tuple[Source, int], OrgrestError | bool] = {}  # those that run once

    def close(self) -> None:
        """End the engine, if one was started."""
        if self._engine is not None:
            self._engine.close()

    def before(self, parsed: ParsedRequest, scope: Scope, results: ScriptResults) -> ParsedRequest:
        """Run the scripts above a request; return the request as they left it.

        Raises ScriptError, and another OrgrestError for what they made that cannot be sent.
        """
        self.defined = {}
        for script in _of(parsed, "before"):
            if script.runs == "once":
                results.cancelled |= self._once(script, parsed, scope, results.wait)
                results.take(self._pending)
                self._pending = ScriptResults()
            else:
                from orgrest.run.script_changes import as_written, rewritten

                code, result = self._run(script, parsed, scope, as_written(parsed), None, results)
                if result.request is not None:
                    with _located(script, parsed):
                        parsed = rewritten(parsed, script, code, result.request)
            if results.cancelled:
                break
        return parsed

    def prepare(self, parsed: ParsedRequest, scope: Scope, wait: Callable[[float], None]) -> None:
        """Run the scripts of a request's document that run once. Raises what they fail with.

        What they log and test is reported with the first request.
        """
        for script in _of(parsed, "before"):
            if script.runs == "once":
                self._once(script, parsed, scope, wait)

    def _once(
        self,
        script: Script,
        parsed: ParsedRequest,
        scope: Scope,
        wait: Callable[[float], None] | None,
    ) -> bool:
        """Run a script that belongs to no request, unless it ran; its failure is everyone's.

        Returns whether it cancels all requests.
        """
        key = (parsed.source, script.span.start)
        if key not in self._ran:
            try:
                results = ScriptResults(wait)
                self._run(script, parsed, scope, Request("", ""), None, results)
                self._pending.take(results)
                self._ran[key] = results.cancelled
            except OrgrestError as error:
                self._ran[key] = error
        ran = self._ran[key]
        if isinstance(ran, OrgrestError):
            raise ran.with_traceback(None)
        return ran

    def completed(
        self, parsed: ParsedRequest, scope: Scope, request: Request, results: ScriptResults
    ) -> Request:
        """Run the scripts for a completed request; return the request as they left it.

        Raises ScriptError, and another OrgrestError for what they made that cannot be sent.
        """
        for script in _of(parsed, "request"):
            if results.cancelled:
                break
            _, result = self._run(script, parsed, scope, request, None, results)
            if result.request is not None:
                from orgrest.run.script_changes import resent

                with _located(script, parsed):
                    request = resent(request, result.request, scope.secrets)
        return request

    def after(
        self,
        parsed: ParsedRequest,
        scope: Scope,
        exchange: tuple[Request, Response],
        results: ScriptResults,
    ) -> None:
        """Run the scripts below a request, with access to its response. Raises ScriptError."""
        for script in _of(parsed, "response", "after", "end"):
            self._run(script, parsed, scope, *exchange, results)

    def _run(
        self,
        script: Script,
        parsed: ParsedRequest,
        scope: Scope,
        request: Request,
        response: Response | None,
        results: ScriptResults,
    ) -> tuple[str, Result]:
        """Run a script, and record its results; return its code and what it did."""
        from orgrest.http import scripts

        code, offset = _code(script, scope)
        values, taken = Values(parsed, scope, defined=self.defined), scope.taken
        mark = taken.mark
        variables, responses = for_script(code, values, script.span.start)
        self.defined.update(values.defined)
        taken.show_to_scripts(taken.since(mark))
        if response is None:
            taken.show_to_scripts(request.bound)
        else:
            request = without_secrets(request)
        everything = {
            name: one.made or _value(one.value or "")
            for name, one in scope.variables_of_scripts.items()
        }
        everything.update(variables)
        environment = scope.environment.values()
        context = scripts.Context(
            variables=everything,
            globals_=scope.globals.values,
            environment=environment,
            file={d.name: d.value.text for d in parsed.definitions},
            responses=responses,
            environment_selected=bool(environment),
            iteration=_turn(scope),
            elements=tuple(v for name, v in scope.literal.items() if name.startswith("$.")),
            seed=scope.seed,
            name=parsed.name,
        )
        send = None if results.send is None else _sending(results.send, parsed, scope, mark)
        try:
            result = self.started().run(
                code, script.host, context, request, response, results.wait, send
            )
        except scripts.ScriptError as error:
            raise _at_line(error, script, parsed, offset) from None
        inputs = [text_of_value(one) for one in variables.values()]
        for name in result.removed:
            scope.remove_variable(name)
        for name, made in result.variables.items():
            if made.text is not None:
                scope.protect(made.text, *inputs)
            scope.set_variable(name, made.text, made)
        for _, value in result.request["headers"] if result.request is not None else ():
            if value not in (given for _, given in request.headers):
                scope.protect(value, *inputs)
        scope.globals.replace(result.globals_, scope.secrets, keep=not taken.seen_by_scripts)
        _keep(result, script, parsed, results)
        return code, result

    def evaluate(
        self,
        code: str,
        variables: Mapping[str, Any],
        responses: Mapping[str, Response],
        session: Session,
    ) -> tuple[str, Any]:
        """Return the text and the value of an expression, as `Engine.evaluate` does."""
        from orgrest.http.scripts import Context

        seed = session.inputs.seed
        context = Context(variables, session.globals.values, responses=responses, seed=seed)
        return self.started().evaluate(code, context)

    def started(self) -> Engine:
        """Return the engine; start it if necessary."""
        from orgrest.http.scripts import Engine

        if self._engine is None:
            self._engine = Engine()
        return self._engine


def _sending(
    send: Callable[[Request], Response], parsed: ParsedRequest, scope: Scope, mark: int
) -> Callable[[dict[str, Any]], Response | str]:
    """Return what sends a script's request, with the secrets that it may hold, and no others."""
    from orgrest.http.transport import BrokenOffError

    def sent(given: dict[str, Any]) -> Response | str:
        body = given["body"]
        place = parsed.source.position(parsed.target.offset(0))
        request = Request(
            str(given["method"]),
            str(given["url"]),
            tuple((str(name), str(value)) for name, value in given["headers"]),
            None if body is None else to_bytes(str(body)),
            secrets=scope.secrets,
            file=parsed.source.file,
            line=place.line,
        )
        try:
            return send(bound(request, scope.taken, mark))
        except BrokenOffError:
            raise
        except TransportError as error:
            return error.reason

    return sent


def _of(parsed: ParsedRequest, *moments: str) -> Iterator[Script]:
    """Yield a request's scripts for these moments, in their order."""
    for moment in moments:
        for script in (*parsed.shared_scripts, *parsed.scripts):
            if script.when == moment:
                yield script


def _keep(result: Result, script: Script, parsed: ParsedRequest, results: ScriptResults) -> None:
    """Record the results of a script; its tests get the script's position."""
    results.notes += (f"log: {line}" for line in result.log)
    place = parsed.source.position(script.span.start)
    results.tests += (
        attrs.evolve(one, file=parsed.source.file, line=place.line, column=place.column)
        for one in result.tests
    )
    results.cancelled |= result.cancelled


def _code(script: Script, scope: Scope) -> tuple[str, int | None]:
    """Return a script's code and its offset in the source, None for a script in a file."""
    if script.text is not None:
        return script.text.text, script.text.offset(0)
    if script.file is None:
        return "", None
    data = scope.read(script.file.text)
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        raise OrgrestError(f"{script.file.text} is not UTF-8: byte {error.start}") from None


def _at_line(
    error: OrgrestError, script: Script, parsed: ParsedRequest, offset: int | None
) -> OrgrestError:
    """Return the error of a script with its position in the document."""
    source = parsed.source
    place = source.position(script.span.start if offset is None else offset)
    if script.file is not None:
        where = f" (line {error.line})" if error.line else ""
        reason = f"{script.file.text}{where}: {error.reason}"
        return EvaluationError(reason, file=source.file, line=place.line)
    line = place.line + (error.line - 1 if error.line else 0)
    return EvaluationError(error.reason, file=source.file, line=line)


@contextlib.contextmanager
def _located(script: Script, parsed: ParsedRequest) -> Iterator[None]:
    """Give errors about what a script made its position in the document."""
    try:
        yield
    except OrgrestError as error:
        raise _at_line(error, script, parsed, None) from None


def _turn(scope: Scope) -> int:
    """Return the number of the turn of a loop, or of an element, from 0."""
    given = scope.literal.get("$index", "0")
    return int(given) if given.isdecimal() else 0


def _value(text: str) -> Any:
    """Return a variable as a script sees it: parsed if it is JSON other than a string."""
    if text[:1] not in "{[":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
