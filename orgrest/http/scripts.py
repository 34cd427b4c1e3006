"""Runs the JavaScript of request files (`> {% %}`, `< {% %}` and `{{ }}`) in a sandbox.

Documents are not trusted, so QuickJS runs in a separate process (`sandbox`). Scripts have no access
to files, the network or environment variables, and their memory (64 MiB) and CPU time are limited.
A script's only effects are its result, and the requests that the run sends for it. One process is
used for the whole run, because httpyac's scripts may export functions.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final, Self

from orgrest import classes
from orgrest.http.responses import body_text, reads_status
from orgrest.http.sandbox import answers
from orgrest.http.sandbox.process import Sandbox
from orgrest.http.script_value import ScriptValue
from orgrest.installing import install_command
from orgrest.model import OrgrestError, Request, Response, Verdict

TIMEOUT: Final = 2.0
"""The CPU time that a script may take, in seconds."""
NAP: Final = 0.001
"""The time, in seconds, that is deducted from TIMEOUT for each sleep and request of a script.

This limits the number of sleeps and requests.
"""
VALIDATION_TIMEOUT: Final = 10.0
"""The CPU time that validating a value may take, in seconds."""


class ScriptError(OrgrestError):
    """Raised if a script cannot be run, fails, or does not finish.

    `line` is a line of the script. If the script was running, `result` is its result so far.
    """

    result: Result | None = None


@classes.frozen
class ScriptFile:
    """A file that a script can load with `require`.

    `requires` maps each name that this file itself requires to the path of the required file.
    """

    source: str
    requires: Mapping[str, str]


@classes.frozen
class ScriptInput:
    """The data that a script gets in addition to the request and its response.

    - `variables` are the request's variables, each as JSON or a `ScriptValue`. `globals_` are the
      run's variables. A script can change both.
    - `environment` and `file` (the document's variables) are read-only.
    - `responses` are the responses to other requests, by the names that httpyac gives them.
    - `iteration` is the index of the current iteration, starting at 0. `elements` are the list
      elements used in that iteration.
    - `seed` makes random values reproducible.
    - `name` is the name of the request.
    - `written` is the request as written, if the script's request is the one that was sent and the
      script needs both. `placeholders` describes the names in a request that is not expanded yet
      (see `javascript.placeholders_for`).
    - `requires` maps each name that the script requires to a path. `files` contains every file that
      the script can load, by path.
    """

    variables: Mapping[str, Any] = classes.field(factory=dict)
    globals_: Mapping[str, Any] = classes.field(factory=dict)
    environment: Mapping[str, str] = classes.field(factory=dict)
    file: Mapping[str, str] = classes.field(factory=dict)
    responses: Mapping[str, Response] = classes.field(factory=dict)
    environment_selected: bool = False
    iteration: int = 0
    elements: tuple[str, ...] = ()
    seed: int | None = None
    name: str | None = None
    written: Request | None = None
    placeholders: Mapping[str, Mapping[str, Any]] = classes.field(factory=dict)
    requires: Mapping[str, str] = classes.field(factory=dict)
    files: Mapping[str, ScriptFile] = classes.field(factory=dict)


@classes.frozen
class Result:
    """A script's output and tests, and the variables that it set and removed.

    `own` contains the variables of the script's request only, with None for those that it removed.
    If `cancelled` is set, the request must not be sent (httpyac's `exports.$cancel`). `request` has
    the changed request's `method`, `url`, `headers` and `body`, or is None if nothing changed.
    """

    log: tuple[str, ...]
    tests: tuple[Verdict, ...]
    variables: dict[str, ScriptValue]
    removed: tuple[str, ...]
    own: dict[str, ScriptValue | None]
    globals_: dict[str, Any]
    cancelled: bool = False
    request: dict[str, Any] | None = None


class Engine:
    """Runs scripts. As a context manager, it stops the engine's process at the end."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        """Prepare an engine whose scripts may each use `timeout` seconds of CPU time."""
        self._timeout = timeout
        self._sandbox = Sandbox(ScriptError)
        self._next = 0  # the number for the next value that the engine keeps

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the process if it was started."""
        self._sandbox.close()

    def run(
        self,
        code: str,
        host: str,
        script_input: ScriptInput,
        request: Request,
        response: Response | None = None,
        wait: Callable[[float], None] | None = None,
        send: Callable[[dict[str, Any]], Response | str] | None = None,
    ) -> Result:
        """Run a script with the API of the tool `host`, such as `jetbrains` or `httpyac`.

        `wait` is called when the script sleeps. `send` sends a request for the script (`method`,
        `url`, `headers` and `body`), and returns the response or an error message. Without these
        callbacks, sleeping or sending is an error.

        Raises ScriptError if QuickJS is not installed, or if the script fails or exceeds a limit.
        """
        job = _job(code, host, script_input, request, response)
        answer = self._answer(job, "script", answers.SCRIPT, wait, send)
        result = _result(answer, about_status=reads_status(code)) if "log" in answer else None
        failure = answer["error"]
        if failure is not None or result is None:
            error = ScriptError(f"script: {failure['message']}", line=failure["line"])
            error.result = result
            raise error
        return result

    def evaluate(self, code: str, script_input: ScriptInput) -> tuple[str, Any]:
        """Return the value of an expression, both as text and as JSON.

        The expression cannot assign to its variables. Raises ScriptError if QuickJS is not
        installed, or if the expression fails, exceeds a limit, or has a value without text (such as
        a function).
        """
        job = _job(code, "expression", script_input, Request("", ""), None)
        answer = self._answer(job, "expression", answers.EXPRESSION)
        if answer["error"] is not None:
            raise ScriptError(f"{code}: {answer['error']['message']}")
        return answer["text"], answer["value"]

    def _answer(
        self,
        job: dict[str, Any],
        what: str,
        shape: object,
        wait: Callable[[float], None] | None = None,
        send: Callable[[dict[str, Any]], Response | str] | None = None,
    ) -> dict[str, Any]:
        """Run a job in the sandbox with its sleeps and requests, and return the final answer."""
        if find_spec("quickjs") is None:
            raise ScriptError(
                f"scripts require QuickJS, which is not installed: {install_command('quickjs-ng')}"
            )
        line = json.dumps({**job, "next": self._next}).encode() + b"\n"
        left = self._timeout
        while (answer := self._sandbox.answer(line, what, left, shape)).keys() & {"sleep", "send"}:
            left -= answer["cpu"] + NAP
            if left <= 0:
                self.close()
                raise ScriptError(f"the {what} did not finish within {self._timeout:g} s")
            if "send" in answer:
                if send is None:
                    raise ScriptError("pm.sendRequest is only available in request scripts")
                outcome = send(answer["send"])
                line = json.dumps(_sent(outcome)).encode() + b"\n"
                continue
            if wait is None:
                raise ScriptError(
                    f"the {what} calls sleep(), which is only available in request scripts"
                )
            wait(answer["sleep"])
            line = b'{"resume": true}\n'
        self._next = answer.get("next", self._next)
        return answer

    def validate(self, value: Any, schemas: Mapping[str, Any], uri: str) -> list[tuple[str, str]]:
        """Validate a value, and return the first few errors as (location, message).

        `schemas` contains the JSON Schema at `uri` and the schemas that it refers to. Raises
        ScriptError if the schema is invalid, if the validation takes too long, or if jsonschema is
        not installed.
        """
        if find_spec("jsonschema") is None:  # not in the VS Code extension: it needs compiled code
            command = install_command("jsonschema")
            raise ScriptError(
                f"validating against a JSON Schema requires the package jsonschema: {command}"
            )
        job = json.dumps({"schemas": dict(schemas), "uri": uri, "value": value}).encode() + b"\n"
        answer = self._sandbox.answer(job, "validation", VALIDATION_TIMEOUT, answers.ERRORS)
        if answer["error"] is not None:
            error = answer["error"]
            raise ScriptError(f"{uri}: {error if isinstance(error, str) else error['message']}")
        return [(path, message) for path, message in answer["found"]]

    def validate_parts(self, job: Mapping[str, Any]) -> list[str]:
        """Validate values against an API description, and return the errors.

        The package `description` creates `job`. Raises ScriptError if the validation does not
        finish.
        """
        line = json.dumps(job).encode() + b"\n"
        answer = self._sandbox.answer(line, "validation", VALIDATION_TIMEOUT, answers.PARTS)
        if answer["error"] is not None:
            raise ScriptError(f"the validation failed: {answer['error']['message']}")
        errors: list[str] = answer["found"]
        return errors


def _result(answer: dict[str, Any], *, about_status: bool) -> Result:
    return Result(
        log=tuple(answer["log"]),
        tests=tuple(
            Verdict(entry["name"], entry["ok"], entry["message"], about_status=about_status)
            for entry in answer["tests"]
        ),
        variables={name: _variable(entry) for name, entry in answer["variables"].items()},
        removed=tuple(answer["removed"]),
        own={name: entry and _variable(entry) for name, entry in answer["own"].items()},
        globals_=answer["globals"],
        cancelled=answer["cancelled"],
        request=answer["request"],
    )


def _variable(entry: dict[str, Any]) -> ScriptValue:
    return ScriptValue(entry["text"], entry["value"], entry["number"])


def _job(
    code: str, host: str, script_input: ScriptInput, request: Request, response: Response | None
) -> dict[str, Any]:
    variables = script_input.variables
    raw = "rawBody" in code
    kept = {
        name: item.number
        for name, item in variables.items()
        if isinstance(item, ScriptValue) and item.number is not None
    }
    return {
        "code": code,
        "host": host,
        "globals": dict(script_input.globals_),
        "variables": {
            name: item.json if isinstance(item, ScriptValue) else item
            for name, item in variables.items()
        },
        "kept": kept,
        "file": dict(script_input.file),
        "environment": dict(script_input.environment),
        "environmentSelected": script_input.environment_selected,
        "responses": {
            name: _response(item, raw=raw) for name, item in script_input.responses.items()
        },
        "iteration": script_input.iteration,
        "elements": list(script_input.elements),
        "seed": script_input.seed,
        "name": script_input.name,
        "requires": dict(script_input.requires),
        "files": {
            path: {"source": item.source, "requires": dict(item.requires)}
            for path, item in script_input.files.items()
        },
        "request": _request(request),
        "written": script_input.written and _request(script_input.written),
        "placeholders": {name: dict(item) for name, item in script_input.placeholders.items()},
        "response": response and _response(response, raw=raw),
    }


def _request(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.url,
        "headers": [list(header) for header in request.headers],
        "body": None if request.body is None else request.body.decode("utf-8", "replace"),
    }


def _sent(outcome: Response | str) -> dict[str, Any]:
    if isinstance(outcome, str):
        return {"error": outcome, "response": None}
    return {"error": None, "response": _response(outcome, raw=False)}


def _response(response: Response, *, raw: bool) -> dict[str, Any]:
    kind, charset = media_type(response.header("content-type") or "")
    return {
        "status": response.status,
        "reason": response.reason,
        "headers": [list(header) for header in response.headers],
        "type": {"mimeType": kind, "charset": charset},
        "unread": response.unread,
        "body": None if response.unread else body_text(response),
        "base64": base64.b64encode(response.body).decode() if raw and not response.unread else None,
        "milliseconds": round(response.duration * 1000, 3),
    }


def media_type(value: str) -> tuple[str, str]:
    """Return the media type and the charset in a `Content-Type` value.

    The media type is in lower case, and defaults to text/plain. The charset defaults to utf-8.
    """
    from email.message import Message

    message = Message()
    message["content-type"] = value
    charset = message.get_param("charset", "utf-8")
    return message.get_content_type(), charset if isinstance(charset, str) else "utf-8"
