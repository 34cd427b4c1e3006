"""JavaScript of request files: `> {% %}`, `< {% %}` and `{{ }}`, run in a sandbox.

Documents are not trusted, so scripts run in QuickJS in a separate process:
no files, no network, nothing of the environment, 64 MiB of memory, and a limit on time. The
engine's process (`sandbox`) is started for the first script and serves a whole run. A script has no
effect but its result, and the requests that the run sends for it; exports of httpyac's scripts stay
in the engine, since they may be functions.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final, Self

import attrs

from orgrest.http.responses import reads_status, text_of
from orgrest.http.sandbox import answers
from orgrest.http.sandbox.process import Sandbox
from orgrest.http.script_value import ScriptValue
from orgrest.installing import install_command
from orgrest.model import OrgrestError, Request, Response, Verdict

TIMEOUT: Final = 2.0
"""The CPU time that a script may take, in seconds."""
NAP: Final = 0.001
"""The seconds of that time that each wait of a script costs, which limits their number."""
VALIDATION_TIMEOUT: Final = 10.0
"""The CPU time that the validation of a value may take, in seconds."""


class ScriptError(OrgrestError):
    """A script that cannot be run, fails, or does not terminate; `line` is that of the script.

    `result` is its result until it failed, if that is known.
    """

    result: Result | None = None


@attrs.frozen
class ScriptInput:
    """The data of a script, in addition to the request and its response.

    `variables` are those of its request, as JSON or a `ScriptValue`, `globals_` those of the run: a
    script can change both. `environment` and `file` (the document's own variables) are read-only.
    `responses` are those of other requests, by the name that httpyac gives them. `iteration` counts
    the passes of a loop, and `elements` are the list elements of this pass. `seed` makes random
    values repeatable. `name` is the request's.
    """

    variables: Mapping[str, Any] = attrs.field(factory=dict)
    globals_: Mapping[str, Any] = attrs.field(factory=dict)
    environment: Mapping[str, str] = attrs.field(factory=dict)
    file: Mapping[str, str] = attrs.field(factory=dict)
    responses: Mapping[str, Response] = attrs.field(factory=dict)
    environment_selected: bool = False
    iteration: int = 0
    elements: tuple[str, ...] = ()
    seed: int | None = None
    name: str | None = None


@attrs.frozen
class Result:
    """The result of a script: its output, tests, the variables that it set and removed.

    `cancelled` means that the request must not be sent (httpyac's `exports.$cancel`). `request` is
    the `method`, `url`, `headers` and `body` as the script changed them, None if it changed
    nothing.
    """

    log: tuple[str, ...]
    tests: tuple[Verdict, ...]
    variables: dict[str, ScriptValue]
    removed: tuple[str, ...]
    globals_: dict[str, Any]
    cancelled: bool = False
    request: dict[str, Any] | None = None


class Engine:
    """Runs scripts; a context manager that ends the engine's process."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        """Prepare an engine whose scripts may compute for `timeout` seconds each."""
        self._timeout = timeout
        self._sandbox = Sandbox(ScriptError)
        self._next = 0  # the number of the next value that the engine keeps

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if one was started."""
        self._sandbox.close()

    def run(
        self,
        code: str,
        host: str,
        given: ScriptInput,
        request: Request,
        response: Response | None = None,
        wait: Callable[[float], None] | None = None,
        send: Callable[[dict[str, Any]], Response | str] | None = None,
    ) -> Result:
        """Run a script with the API of `host`: `jetbrains` or `httpyac`.

        `wait` waits when the script sleeps, and `send` sends the script's request (`method`, `url`,
        `headers` and `body`) and returns the response, or the reason why it failed. Without these
        callbacks, waiting or sending is an error.

        Raises ScriptError if the engine is not installed, or the script does not compile, throws,
        takes too long or too much memory, or returns too much. The error has the `result` so far of
        a script that throws.
        """
        job = _job(code, host, given, request, response)
        answer = self._answer(job, "script", answers.SCRIPT, wait, send)
        result = _result(answer, about_status=reads_status(code)) if "log" in answer else None
        failed = answer["error"]
        if failed is not None or result is None:
            error = ScriptError(f"script: {failed['message']}", line=failed["line"])
            error.result = result
            raise error
        return result

    def evaluate(self, code: str, given: ScriptInput) -> tuple[str, Any]:
        """Return the text and the value of an expression, in which the variables are constants.

        Raises ScriptError as `run` does, and if the value has no text form.
        """
        job = _job(code, "expression", given, Request("", ""), None)
        answer = self._answer(job, "expression", answers.EXPRESSION)
        if answer["error"] is not None:
            raise ScriptError(f"{code}: {answer['error']['message']}")
        return answer["text"], answer["value"]

    def _answer(
        self,
        job: dict[str, Any],
        what: str,
        shape: answers.Shape,
        wait: Callable[[float], None] | None = None,
        send: Callable[[dict[str, Any]], Response | str] | None = None,
    ) -> dict[str, Any]:
        """Return the answer to a job, after performing each wait and request of the script."""
        if find_spec("quickjs") is None:
            raise ScriptError(
                "JavaScript is run by QuickJS, which is not installed: "
                f"{install_command('quickjs-ng')}"
            )
        line = json.dumps({**job, "next": self._next}).encode() + b"\n"
        left = self._timeout
        while (answer := self._sandbox.answer(line, what, left, shape)).keys() & {"sleep", "send"}:
            left -= answer["cpu"] + NAP
            if left <= 0:
                self.close()
                raise ScriptError(f"the {what} did not come to an end within {self._timeout:g} s")
            if "send" in answer:
                if send is None:
                    raise ScriptError("pm.sendRequest: only scripts of requests send others")
                came = send(answer["send"])
                line = json.dumps(_came(came)).encode() + b"\n"
                continue
            if wait is None:
                raise ScriptError(f"the {what} sleeps, which scripts of requests alone do")
            wait(answer["sleep"])
            line = b'{"resume": true}\n'
        self._next = answer.get("next", self._next)
        return answer

    def validate(self, value: Any, schemas: Mapping[str, Any], uri: str) -> list[tuple[str, str]]:
        """Return the first few errors of a value by a JSON Schema, with their locations.

        `schemas` has the schema at `uri` and those that it refers to. Raises ScriptError if the
        schema is invalid or this takes too long, or without jsonschema, which is compiled and so
        not in the extension for VS Code.
        """
        if find_spec("jsonschema") is None:
            command = install_command("jsonschema")
            raise ScriptError(f"JSON Schemas need the package jsonschema: {command}")
        job = json.dumps({"schemas": dict(schemas), "uri": uri, "value": value}).encode() + b"\n"
        answer = self._sandbox.answer(job, "validation", VALIDATION_TIMEOUT, answers.ERRORS)
        if answer["error"] is not None:
            error = answer["error"]
            raise ScriptError(f"{uri}: {error if isinstance(error, str) else error['message']}")
        return [(path, message) for path, message in answer["found"]]

    def validate_parts(self, job: Mapping[str, Any]) -> list[str]:
        """Return the errors of values by a description's schemas; `description` prepares the job.

        Raises ScriptError if this takes too long.
        """
        line = json.dumps(job).encode() + b"\n"
        answer = self._sandbox.answer(line, "validation", VALIDATION_TIMEOUT, answers.PARTS)
        if answer["error"] is not None:
            raise ScriptError(f"the validation ended: {answer['error']['message']}")
        found: list[str] = answer["found"]
        return found


def _result(answer: dict[str, Any], *, about_status: bool) -> Result:
    return Result(
        log=tuple(answer["log"]),
        tests=tuple(
            Verdict(one["name"], one["ok"], one["message"], about_status=about_status)
            for one in answer["tests"]
        ),
        variables={
            name: ScriptValue(one["text"], one["value"], one["number"])
            for name, one in answer["variables"].items()
        },
        removed=tuple(answer["removed"]),
        globals_=answer["globals"],
        cancelled=answer["cancelled"],
        request=answer["request"],
    )


def _job(
    code: str, host: str, given: ScriptInput, request: Request, response: Response | None
) -> dict[str, Any]:
    variables = given.variables
    raw = "rawBody" in code
    kept = {
        name: one.number
        for name, one in variables.items()
        if isinstance(one, ScriptValue) and one.number is not None
    }
    return {
        "code": code,
        "host": host,
        "globals": dict(given.globals_),
        "variables": {
            name: one.json if isinstance(one, ScriptValue) else one
            for name, one in variables.items()
        },
        "kept": kept,
        "file": dict(given.file),
        "environment": dict(given.environment),
        "environmentSelected": given.environment_selected,
        "responses": {name: _response(one, raw=raw) for name, one in given.responses.items()},
        "iteration": given.iteration,
        "elements": list(given.elements),
        "seed": given.seed,
        "name": given.name,
        "request": {
            "method": request.method,
            "url": request.url,
            "headers": [list(header) for header in request.headers],
            "body": None if request.body is None else request.body.decode("utf-8", "replace"),
        },
        "response": response and _response(response, raw=raw),
    }


def _came(came: Response | str) -> dict[str, Any]:
    """Return the result of a script's request as JSON."""
    if isinstance(came, str):
        return {"error": came, "response": None}
    return {"error": None, "response": _response(came, raw=False)}


def _response(response: Response, *, raw: bool) -> dict[str, Any]:
    """Return a response as JSON; with `raw`, also the bytes of its body."""
    kind, charset = media_type(response.header("content-type") or "")
    return {
        "status": response.status,
        "reason": response.reason,
        "headers": [list(header) for header in response.headers],
        "type": {"mimeType": kind, "charset": charset},
        "body": text_of(response.body, response.headers),
        "base64": base64.b64encode(response.body).decode() if raw else None,
        "milliseconds": round(response.duration * 1000, 3),
    }


def media_type(value: str) -> tuple[str, str]:
    """Return the media type of a Content-Type, in lower case, and its charset (default UTF-8)."""
    from email.message import Message

    message = Message()
    message["content-type"] = value
    charset = message.get_param("charset", "utf-8")
    return message.get_content_type(), charset if isinstance(charset, str) else "utf-8"
