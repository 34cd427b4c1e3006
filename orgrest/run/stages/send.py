"""Sends a request, with retries, new tokens and `?? eventually` assertions.

`check` is an earlier stage, which rejects directives that the user did not allow.
"""

from __future__ import annotations

import itertools
import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from orgrest.http.transport.limits import MAX_TIMEOUT, BrokenOffError
from orgrest.model import REDIRECTS, TransportError, short
from orgrest.regular import compiled
from orgrest.run.directives import place_of, seconds
from orgrest.run.outcomes import EvaluationError, Exchange
from orgrest.run.settings import MOST_DELAY, may_pass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.syntax import Assertion, Directive, ParsedRequest
    from orgrest.http.transport.client import Hop
    from orgrest.model import Request, Response
    from orgrest.run.job import Job
    from orgrest.run.outcomes import Task
    from orgrest.run.results import Needing
    from orgrest.run.settings import Settings
    from orgrest.run.token_requests import TokenRequests

_ASKING = compiled(r"(?!not |!=|<).+")
"""The operators with which an assertion can ask for a status."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""The first and the longest pause between two checks of an `eventually` assertion, in seconds."""


def check(job: Job) -> None:
    """Raise OrgrestError if the user did not allow a directive. This applies to dry runs, too."""
    parsed, settings = job.parsed, job.work.settings
    if parsed.directive("no-reject-unauthorized") and not settings.insecure:
        raise EvaluationError(
            "@no-reject-unauthorized: certificates are verified unless the run was started "
            "with --insecure"
        )
    if (proxy := parsed.directive("proxy")) is not None:
        _proxy(proxy, settings)


def send(job: Job) -> Needing[None]:
    """Send the request, again and again until all `eventually` assertions hold.

    If some still fail at their time limits, the last response is used. Raises OrgrestError if no
    response arrives.
    """
    waited = tuple(assertion for assertion in job.parsed.assertions if assertion.within is not None)
    yield from _settled(job, waited) if waited else _retried(job)
    job.work.results.answered(job.task.id, *job.sent)


def _settled(job: Job, waited: tuple[Assertion, ...]) -> Needing[None]:
    """Get the first response for which all assertions in `waited` hold.

    If an assertion still fails at its time limit, the last response is used. If there is no
    response, the request is repeated until the shortest of the assertions' time limits expires.
    Raises the last TransportError after that time, or immediately if it is permanent.
    """
    from orgrest.run.stages.judge import verdicts

    limits = [assertion.within or 0.0 for assertion in waited]
    job.work.check_wait("?? eventually", max(limits))
    start, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            yield from _retried(job)
            held = [verdict.held for verdict in (yield from verdicts(job, waited, job.sent[1]))]
            end = min((end for end, ok in zip(limits, held, strict=True) if not ok), default=0.0)
            remaining = end - (time.monotonic() - start)
            if remaining <= 0:
                return
        except TransportError as error:
            remaining = min(limits) - (time.monotonic() - start)
            if remaining <= 0 or not may_pass(error):
                raise
        job.work.sending.budget.wait(min(pause, remaining))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _retried(job: Job) -> Needing[None]:
    """Get the response to the job's request, retrying as the retry policy allows.

    A response whose status the document expects is not retried, nor is a token replaced after it.
    """
    assert job.request is not None  # noqa: S101 - the order of the stages
    policy, tokens = job.work.settings.retry_policy, job.work.tokens
    if tokens is not None:
        job.request = tokens.current(job.request)
    for attempt in itertools.count(1):
        exchange = _once(job, job.request)
        refusal = exchange.response
        if tokens is not None and refusal is not None and refusal.status == 401:
            expected = yield from _is_expected(job, refusal)
            renewed = None if expected else _renewed(job, job.request, tokens)
            if renewed is not None:
                job.request = renewed
                exchange = _once(job, renewed)
                if exchange.response is not None and exchange.response.status == 401:
                    tokens.refused(renewed)
        job.response = exchange.response
        if exchange.response is not None:
            delay = policy.after_answer(job.request, exchange.response, attempt)
            if delay is None or (yield from _is_expected(job, exchange.response)):
                return
            if delay == math.inf:
                if all(assertion.within is None for assertion in job.parsed.assertions):
                    wait = short(exchange.response.header("Retry-After") or "")
                    reason = f"Retry-After is {wait}, which is more than {MOST_DELAY:g} s"
                    job.notes.append(f"not retried: {reason}")
                return
        elif exchange.error is not None:
            delay = policy.after_error(job.request, exchange.error, attempt)
            if delay is None:
                raise exchange.error
        job.work.sending.budget.wait(delay or 0.0)
    raise AssertionError  # itertools.count never ends


def _is_expected(job: Job, response: Response) -> Needing[bool]:
    """Return whether `:expect` or assertions ask for a status such as the response's.

    `?? status != 404`, for example, does not ask for any status.
    """
    from orgrest.http.assertions.judging import is_about_status
    from orgrest.run.documents.expect import expected_status
    from orgrest.run.stages.judge import verdicts

    of_argument = expected_status(job.task.arguments, job.parsed.source.file, job.task.line)
    assertions = (*filter(None, (of_argument,)), *filter(is_about_status, job.parsed.assertions))
    results = yield from verdicts(job, assertions, response)
    ask = any(_ASKING.fullmatch(assertion.operator) for assertion in assertions)
    return ask and all(verdict.held for verdict in results)


def _renewed(job: Job, request: Request, tokens: TokenRequests) -> Request | None:
    """Return the request with a new token, or None if no new token was obtained."""
    renewal, secrets = tokens.renewed(request), job.context.secrets
    if renewal is None:
        return None
    old, new = renewal
    bound = next((secret.bound for secret in secrets.bound if secret.text == old), None)
    for secret in new.secrets:
        secrets.add(secret, bound)
    return tokens.current(request)


def _once(job: Job, request: Request) -> Exchange:
    """Send a request once, and record the attempt even if it fails.

    Raises BrokenOffError if the run ended before the request was sent.
    """
    work, parsed = job.work, job.parsed
    limit = parsed.directive("ratelimit")
    if limit is not None:
        from orgrest.run.directives import ratelimit

        with place_of(limit, parsed.source):
            ratelimit.hold(limit.value.text, work)
    hops: list[Hop] = []
    response, failure = None, None
    cookies = work.cookies
    if not keeps_cookies(job.task, parsed):
        from orgrest.http.transport.cookies import NoCookies

        cookies = NoCookies()
    notify = work.services.on_message
    try:
        response = work.sending.send(
            request,
            on_message=None if notify is None else partial(_show, notify, request.secrets),
            cookies=cookies,
            hops=hops,
            numbers=work.numbers,
            **options(job.task, parsed, work.settings),
        )
    except TransportError as error:
        if isinstance(error, BrokenOffError) and not hops:
            raise  # nothing was sent
        if error.code == REDIRECTS:
            how = "# @no-redirect" if parsed.source.places is None else ":follow no"
            error.reason += f" (to see the first response, use {how})"
        failure = error
    job.attempts.append(Exchange.of_hops(request, hops, response, failure))
    return job.attempts[-1]


def _show(notify: Callable[[str], None], secrets: frozenset[str], message: str) -> None:
    from orgrest.rendering.masking import mask
    from orgrest.rendering.sanitize import visible

    notify(visible(mask(message, secrets)))


def keeps_cookies(task: Task, parsed: ParsedRequest) -> bool:
    """Return whether a request of a task sends and stores cookies."""
    sending = _httpyac_settings(task, parsed)
    has_jar: bool = sending.get("cookies", True)
    return has_jar and parsed.directive("no-cookie-jar") is None


def _httpyac_settings(task: Task, parsed: ParsedRequest) -> Mapping[str, Any]:
    return {} if parsed.restclient else task.context.environment.every.sending


def options(task: Task, parsed: ParsedRequest, settings: Settings) -> dict[str, Any]:
    """Return the client's options for a request of a task.

    Header arguments and directives take precedence over the run's settings, which take precedence
    over httpyac's settings in files. Raises EvaluationError if a value is invalid.
    """
    arguments, sending = task.arguments, _httpyac_settings(task, parsed)
    follow = arguments.flag("follow") if "follow" in arguments else sending.get("follow", True)
    options: dict[str, Any] = {
        "follow": follow and parsed.directive("no-redirect") is None,
        "timeout": sending.get("timeout") if settings.timeout is None else settings.timeout,
    }
    if duration := arguments.get("timeout"):
        try:
            options["timeout"] = _limit(float(duration), ":timeout", duration)
        except ValueError:
            reason = f":timeout must be a number of seconds, found {duration}"
            raise EvaluationError(reason) from None
    if (limit := parsed.directive("timeout")) is not None:
        from orgrest.http.parsing.request_file.grammar import is_jetbrains

        unit = "s" if is_jetbrains(parsed.source.text) else "ms"
        options["timeout"] = _time(limit, parsed, unit)
    if (limit := parsed.directive("connection-timeout")) is not None:
        options["connect_timeout"] = _time(limit, parsed, "s")
    if (proxy := parsed.directive("proxy")) is not None:
        options["proxy"] = _proxy(proxy, settings)
    if (count := parsed.directive("messages")) is not None:
        with place_of(count, parsed.source):
            options["messages"] = _count(count.value.text)
    return options


def _time(directive: Directive, parsed: ParsedRequest, unit: str) -> float:
    name, text = directive.name, directive.value.text
    with place_of(directive, parsed.source):
        return _limit(seconds(text, name, unit), f"@{name}", text)


def _limit(limit: float, name: str, found: str) -> float:
    if not 0 < limit <= MAX_TIMEOUT:
        most = f"{MAX_TIMEOUT:g}"
        reason = f"{name} must be more than 0 and at most {most} seconds, found {found}"
        raise EvaluationError(reason)
    return limit


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:10]) <= 10**6:
        raise EvaluationError(f"@messages must be a number from 1 to 1000000, found {text[:60]}")
    return int(text)


def _proxy(directive: Directive, settings: Settings) -> str:
    """Return the proxy that `@proxy` selects. Raises OrgrestError if the user did not allow it."""
    from orgrest.http.transport.pools import chosen

    return chosen(directive.value.text.strip(), settings.proxies)
