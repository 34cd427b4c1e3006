"""Sends a task's requests in order: completes them, captures variables, renders the results."""

from __future__ import annotations

import contextlib
import itertools
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http import values as variables
from orgrest.http.parsing.request_file import is_jetbrains
from orgrest.http.transport import BrokenOffError
from orgrest.model import OrgrestError, TransportError
from orgrest.org.arguments import Arguments
from orgrest.run.assertions import verdicts
from orgrest.run.bound_secrets import bound
from orgrest.run.elements import scopes
from orgrest.run.outcomes import FAILURES, EvaluationError, Exchange, Outcome, failed
from orgrest.run.retry_policy import until
from orgrest.run.script_runner import ScriptResults, ScriptRunner
from orgrest.run.throttle import Limit, Throttle
from orgrest.run.token_requests import TokenRequests, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from orgrest.http.auth.flows import Token
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.transport import Client, Cookies
    from orgrest.http.values import Scope
    from orgrest.model import Bound, Request, Response, Verdict
    from orgrest.rendering.results import Rendered
    from orgrest.run.outcomes import Task
    from orgrest.run.results import RequestResults
    from orgrest.run.settings import Settings


_TIME = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


MOST_WAIT = 3600.0
"""How many seconds a document may make a run without a time limit wait."""


class Sender:
    """Sends the requests of one run; in a dry run, nothing is sent."""

    def __init__(
        self,
        client: Client | None,
        cookies: Cookies | None,
        settings: Settings,
        results: RequestResults,
        file: str,
    ) -> None:
        """Send requests of the document called `file` with `client`.

        `cookies` are those of earlier runs.
        """
        self._file = file
        self._numbers = itertools.count(1)
        if cookies is None and client is not None:
            cookies = client.new_cookies()
        self.client = client
        self._cookies = cookies
        self._settings = settings
        self.results = results
        self.scripts = ScriptRunner()
        document = identity(settings.inputs.directory, file)
        self._tokens = TokenRequests(self._numbers, settings.person, settings.logins, document)
        self._slept = 0.0
        self._throttle = Throttle()

    def token(
        self, grant: Grant, bound: tuple[Bound, ...] = (), url: str | None = None
    ) -> tuple[Token, Bound | None]:
        """Return a token of OAuth 2.0, one for all requests of the run, for `bound` secrets.

        `url` is where the request goes; a login's token is bound itself. Raises OrgrestError.
        """
        return self._tokens.get(grant, self._current_client(), bound, url)

    def _current_client(self) -> Client:
        if self.client is None:
            raise EvaluationError("nothing can be sent here")
        return self.client

    def _wait(self, seconds: float) -> None:
        self._current_client().budget.wait(seconds)

    def exchange(self, task: Task) -> Outcome:
        """Send the requests of a task in order; failures are in the outcome, not raised."""
        with self._tokens.of_task() as asked, task.scope.taken.of_request():
            made = _Made(task, asked, self._sleep, partial(self._for_script, asked))
            try:
                self._exchange(task, made)
            except FAILURES as error:
                return made.failed(error, self._file)
            return made.outcome()

    def _exchange(self, task: Task, made: _Made) -> None:
        scripts = made.scripts
        for need in task.needed:
            need()
        for parsed in task.parsed:
            tested = len(scripts.tests)
            if parsed.directive("no-reject-unauthorized") and not self._settings.insecure:
                raise EvaluationError(
                    "@no-reject-unauthorized: certificates are verified unless the run is started "
                    "with --insecure"
                )
            _proxy(parsed, self._settings)  # a dry run tells of it, too
            if not parsed.restclient:
                parsed = self._before(parsed, task.scope, made)
                if scripts.cancelled or not (self._settings.dry_run or self._is_wanted(parsed)):
                    continue
            mark = task.scope.taken.mark
            several = list(scopes(parsed, task.scope))
            task.scope.taken.show_to_scripts(task.scope.taken.since(mark))  # in any of the turns
            if not several:
                made.notes.append("the list is empty for which this is sent: nothing is sent")
            for scope in several:
                one = task if scope is task.scope else attrs.evolve(task, scope=scope)
                self._turn(one, parsed, made, tested)
                tested = len(scripts.tests)

    def _turn(self, task: Task, parsed: ParsedRequest, made: _Made, tested: int) -> None:
        """Send a request once; `tested` tests were judged before its own."""
        from orgrest.http.transport import wire_headers

        scripts = made.scripts
        values = variables.Values(parsed, task.scope, defined=self.scripts.defined)
        mark = task.scope.taken.mark
        request = expand(parsed, task.scope, values)
        if not parsed.restclient:
            request = self._completed(parsed, task.scope, request, made)
            if scripts.cancelled:
                return
            request = bound(request, task.scope.taken, mark)
        made.notes += (str(warning) for warning in request.notices)
        if self._settings.dry_run:
            request = self._with_cookies(parsed, request)
            wire_headers(request)  # what could not be sent is told here, too
            made.exchanges.append(Exchange(request, variables=tuple(values.origins())))
            for capture in parsed.captures if task.scope.placeholders else ():
                task.scope.capture(parsed, capture.name, f"<{capture.name}>")
            return
        from orgrest.rendering.results import captures  # a dry run needs none

        response = self._settled(task, parsed, request, made)
        self.results.answered(task.id, request, response)
        for name, value in captures(request, response):
            task.scope.capture(parsed, name, value)
        if not parsed.restclient:
            made.files += self._answered(task.scope, parsed, request, response, scripts)
        scripts.tests += verdicts(
            parsed,
            task.scope,
            task.arguments,
            task.line,
            (request, response),
            self.scripts.started,
        )
        described, unchecked = self._settings.descriptions.verdict(
            parsed, task.scope, task.arguments, (request, response), self.scripts.started
        )
        made.notes += unchecked
        scripts.tests += () if described is None else (described,)
        tests = tuple(scripts.tests[tested:])
        rendered = _render(task, request, response, tests, self._settings.limit)
        made.notes += rendered.notes
        made.keep(rendered, tests)

    def prepare(self, parsed: ParsedRequest, scope: Scope) -> None:
        """Run the scripts of a request's file that run once. Raises OrgrestError."""
        self.scripts.prepare(parsed, scope, self._sleep)

    def _before(self, parsed: ParsedRequest, scope: Scope, made: _Made) -> ParsedRequest:
        """Run the scripts above a request: in a dry run, too, as far as they need no response."""
        with self._shown_only(scope, made):
            return self.scripts.before(parsed, scope, made.scripts)
        return parsed

    def _completed(
        self, parsed: ParsedRequest, scope: Scope, request: Request, made: _Made
    ) -> Request:
        """Run the scripts for a completed request, in a dry run as `_before` does."""
        with self._shown_only(scope, made):
            return self.scripts.completed(parsed, scope, request, made.scripts)
        return request

    @contextlib.contextmanager
    def _shown_only(self, scope: Scope, made: _Made) -> Iterator[None]:
        """In a dry run, which has no responses, make a note of an error."""
        try:
            yield
        except OrgrestError as error:
            if not scope.placeholders:
                raise
            made.notes.append(f"a script above this request fails without responses: {error}")

    def _with_cookies(self, parsed: ParsedRequest, request: Request) -> Request:
        """Return a request with the cookies of earlier runs that would go along, if there are any.

        Raises TransportError for a URL that cannot be sent.
        """
        from orgrest.http.transport import wire_url

        url = wire_url(request)
        if self._cookies is None or parsed.directive("no-cookie-jar") is not None:
            return request
        cookie = self._cookies.header(url.replace("ws", "http", 1) if url[:2] == "ws" else url)
        if cookie is None or request.header("Cookie") is not None:
            return request
        return attrs.evolve(request, headers=(("Cookie", cookie), *request.headers))

    def _is_wanted(self, parsed: ParsedRequest) -> bool:
        """Prompt and wait as directives ask; tell whether the request is to be sent."""
        if (note := parsed.directive("note")) is not None:
            question = note.value.text or f"Send {parsed.method} {parsed.target.text}?"
            if self._settings.ask is None:
                raise EvaluationError("@note asks before sending, and needs a terminal to ask on")
            if not self._settings.ask(question):
                return False
        if (sleep := parsed.directive("sleep")) is not None:
            self._sleep(seconds(sleep.value.text, "sleep"), "@sleep")
        if (limit := parsed.directive("ratelimit")) is not None:
            self._sleep(self._throttle.wait(Limit.read(limit.value.text)), "@ratelimit")
        return True

    def _sleep(self, length: float, what: str = "sleep() in scripts") -> None:
        """Wait as a document asks; in a dry run, only as far as it goes. Raises EvaluationError."""
        if self._settings.dry_run:
            return
        self._slept += length
        self._check_wait(what, self._slept)
        self._wait(length)

    def _check_wait(self, what: str, length: float) -> None:
        """Raise EvaluationError if a document makes the run wait too long."""
        if length > MOST_WAIT and self._current_client().budget.deadline is None:
            limit = f"{MOST_WAIT / 60:g} minutes in all"
            reason = f"{what} makes a run wait for {limit} at most (more with --max-time)"
            raise EvaluationError(reason)

    def _answered(
        self,
        scope: Scope,
        parsed: ParsedRequest,
        request: Request,
        response: Response,
        scripts: ScriptResults,
    ) -> list[tuple[Path, bytes]]:
        """Run a request file's actions on a response; return the files to write."""
        self.scripts.after(parsed, scope, (request, response), scripts)
        from orgrest.run.writable_files import saved

        values = variables.Values(parsed, scope)
        return [
            (
                saved(
                    saving,
                    values.text(saving.path),
                    scope,
                    parsed.source.file or self._file,
                    self._settings.allow_write,
                ),
                response.body,
            )
            for saving in parsed.savings
        ]

    def _settled(
        self,
        task: Task,
        parsed: ParsedRequest,
        request: Request,
        made: _Made,
    ) -> Response:
        """Return the first response for which all `eventually` assertions hold.

        When the time for that is over, it is the last one.
        """

        def sent() -> Response:
            return self._sent(task, parsed, request, made)

        waited = tuple(one for one in parsed.assertions if one.within is not None)
        if not waited:
            return sent()
        judged = attrs.evolve(parsed, assertions=waited)

        def pending(response: Response) -> list[float]:
            """Return the time limits of the assertions that do not hold yet."""
            found = verdicts(
                judged,
                task.scope,
                Arguments(),
                task.line,
                (request, response),
                self.scripts.started,
            )
            return [
                one.within or 0.0
                for one, verdict in zip(waited, found, strict=True)
                if not verdict.held
            ]

        shortest = min(one.within or 0.0 for one in waited)
        self._check_wait("?? eventually", max(one.within or 0.0 for one in waited))
        return until(self._current_client().budget, sent, pending, shortest)

    def _sent(
        self,
        task: Task,
        parsed: ParsedRequest,
        request: Request,
        made: _Made,
    ) -> Response:
        """Return the response to a request, which is retried if that may help."""
        retry_policy = self._settings.retry_policy
        request = self._tokens.current(request)
        for attempt in itertools.count(1):
            one = self.send(task, parsed, request)
            made.attempts.append(one)
            if one.response is not None and one.response.status == 401:
                renewed = self._renewed(task.scope, request)
                if renewed is not None:
                    request = renewed
                    one = self.send(task, parsed, request)
                    made.attempts.append(one)
            if one.response is not None:
                delay = retry_policy.after_answer(request, one.response, attempt)
                if delay is None:
                    return one.response
            elif one.error is not None:
                delay = retry_policy.after_error(request, one.error, attempt)
                if delay is None:
                    raise one.error
            self._wait(delay or 0.0)
        raise AssertionError  # the count never ends

    def _renewed(self, scope: Scope, request: Request) -> Request | None:
        """Return a request whose token was refused with a new one, None if nobody gives one."""
        found = self._tokens.renewed(request)
        if found is None:
            return None
        old, new = found
        _, bound = scope.taken.values.get(old, (old, None))
        for secret in new.secrets:
            scope.secret(secret)
            if bound is not None:
                scope.taken.values[secret] = secret, bound
        return self._tokens.current(request)

    def _for_script(self, asked: list[Exchange], request: Request) -> Response:
        """Send a request of a script's, and record it. Raises EvaluationError, TransportError."""
        from orgrest.http.transport import Trace

        if self._settings.dry_run:
            raise EvaluationError("pm.sendRequest: nothing is sent in a dry run")
        trace = Trace(self._numbers)
        try:
            return self._current_client().send(
                request, cookies=self._cookies, trace=trace, timeout=self._settings.timeout
            )
        finally:
            asked += (
                Exchange(
                    attrs.evolve(hop.request, secrets=request.secrets),
                    hop.response,
                    number=hop.number,
                    started=hop.started,
                    reason="script",
                )
                for hop in trace.hops
            )

    def send(self, task: Task, parsed: ParsedRequest, request: Request) -> Exchange:
        """Send the request that was completed for `parsed`, once. Raises EvaluationError."""
        from orgrest.http.transport import Trace

        trace = Trace(self._numbers)
        try:
            response = self._current_client().send(
                request,
                on_message=_shown(self._settings.on_message, request.secrets),
                cookies=None if parsed.directive("no-cookie-jar") else self._cookies,
                trace=trace,
                **options(task.arguments, parsed, self._settings),
            )
        except TransportError as error:
            if isinstance(error, BrokenOffError) and not trace.hops:
                raise  # nothing was sent
            return Exchange.of_hops(request, trace.hops, error=error)
        return Exchange.of_hops(request, trace.hops, response)


class _Made:
    """The results of a task so far; `attempts` are those of the request being sent.

    `asked` are the requests of tokens and of scripts that no exchange has yet.
    """

    def __init__(
        self,
        task: Task,
        asked: list[Exchange],
        wait: Callable[[float], None],
        send: Callable[[Request], Response],
    ) -> None:
        self.task = task
        self.asked = asked
        self.exchanges: list[Exchange] = []
        self.attempts: list[Exchange] = []
        self.notes = list(task.notes)
        self.files: list[tuple[Path, bytes]] = []
        self.scripts = ScriptResults(wait, send)

    def keep(self, rendered: Rendered | None, tests: tuple[Verdict, ...]) -> None:
        """Take the last attempt for the exchange."""
        *others, last = self.attempts
        earlier = [*self.asked]
        for one in others:
            earlier += (*one.earlier, attrs.evolve(one, earlier=(), reason="attempt"))
        earlier += last.earlier
        self.exchanges.append(
            attrs.evolve(last, rendered=rendered, tests=tests, earlier=tuple(earlier))
        )
        self.attempts = []
        self.asked.clear()

    def outcome(self) -> Outcome:
        """Return its outcome; what was asked for a request that was skipped then is in it, too."""
        return Outcome(
            self.task.line,
            self.task.name,
            "done" if self.exchanges else "skipped",
            (*self.exchanges, *self.asked),
            notes=tuple(self.notes + self.scripts.notes),
            files=tuple(self.files),
            tests=tuple(self.scripts.tests),
            file=self.task.file,
        )

    def failed(self, error: Exception, file: str) -> Outcome:
        """Return its outcome up to the failure with one of FAILURES."""
        outcome = failed(self.task.line, self.task.name, error, self.task.file or file)
        if not self.attempts and self.asked:  # no token was given
            self.attempts = [self.asked.pop()]
        if self.attempts:
            self.keep(None, ())
            *_, broken = self.exchanges
            outcome = attrs.evolve(outcome, broken=broken, exchanges=tuple(self.exchanges[:-1]))
        return attrs.evolve(outcome, file=self.task.file)


def _shown(
    notify: Callable[[str], None] | None, secrets: frozenset[str]
) -> Callable[[str], None] | None:
    """Return a server's text for display: without secrets and control characters."""
    if notify is None:
        return None
    from orgrest.rendering.masking import mask
    from orgrest.rendering.sanitize import visible

    return lambda text: notify(visible(mask(text, secrets)))


def seconds(text: str, what: str, unit: str = "ms") -> float:
    """Parse the duration `text` of the directive `what`; return seconds.

    A bare number is in `unit`. Raises EvaluationError for anything else.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise EvaluationError(f"@{what} takes a time such as 500 ms, 30 s or 2 m, not {text!r}")
    return float(match["number"]) * _UNITS[match["unit"] or unit]


def options(arguments: Arguments, parsed: ParsedRequest, settings: Settings) -> dict[str, Any]:
    """Return how header arguments, directives and settings want a request to be sent."""
    follow = "follow" not in arguments or arguments.flag("follow")
    options: dict[str, Any] = {
        "follow": follow and parsed.directive("no-redirect") is None,
        "timeout": settings.timeout,
    }
    if given := arguments.get("timeout"):
        try:
            options["timeout"] = float(given)
        except ValueError:
            options["timeout"] = -1
        if not 0 < options["timeout"] < 1e6:
            raise EvaluationError(f":timeout is a number of seconds, not {given}")
    if (limit := parsed.directive("timeout")) is not None:
        unit = "s" if is_jetbrains(parsed.source.text) else "ms"
        options["timeout"] = seconds(limit.value.text, "timeout", unit)
    if (limit := parsed.directive("connection-timeout")) is not None:
        options["connect_timeout"] = seconds(limit.value.text, "connection-timeout", "s")
    options["proxy"] = _proxy(parsed, settings)
    if (count := parsed.directive("messages")) is not None:
        options["messages"] = _count(count.value.text)
    return options


def _proxy(parsed: ParsedRequest, settings: Settings) -> str | None:
    """Return the proxy that a directive chooses. Raises OrgrestError if it may not."""
    directive = parsed.directive("proxy")
    if directive is None:
        return None
    from orgrest.http.transport.proxies import chosen

    return chosen(directive.value.text.strip(), settings.proxies)


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:10]) <= 10**6:
        raise EvaluationError(f"@messages is a number from 1 to 1000000, not {text[:60]}")
    return int(text)


def expand(parsed: ParsedRequest, scope: Scope, values: variables.Values | None = None) -> Request:
    """Complete a request by the rules of its language, as `variables.expand` does.

    Raises ExpansionError, too, if a secret of the user's may not be sent where it goes.
    """
    mark = scope.taken.mark
    if parsed.above is not None:
        from orgrest.http import verb

        request = verb.expand(parsed, scope)
    else:
        request = variables.expand(parsed, scope, values)
    return bound(request, scope.taken, mark)


def _render(
    task: Task, request: Request, response: Response, tests: tuple[Verdict, ...], limit: int | None
) -> Rendered:
    """Make the result of a response; `limit` is how much is shown where the block does not say."""
    from orgrest.rendering import results as rendering

    arguments = task.arguments
    if given := arguments.get("limit"):
        try:
            limit = rendering.parse_size(given)
        except ValueError as error:
            raise EvaluationError(f":limit: {error}") from None
    # restclient.el writes no headers of what jq makes, either.
    bare = arguments.flag("noheaders") or arguments.get("jq")
    heads = arguments.get("headers", "no" if bare else "yes").lower()
    if heads not in ("yes", "no", "only"):
        raise EvaluationError(f":headers is yes, no or only, not {heads}")
    if heads == "yes" and arguments.flag("noheaders"):
        heads = "no"
    return rendering.render(
        request,
        response,
        headers=heads,
        tests=tests,
        jq=arguments.get("jq") or None,
        jq_args=arguments.get("jq-args"),
        limit=limit,
    )
