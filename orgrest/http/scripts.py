"""JavaScript of request files: `> {% %}`, `< {% %}` and `{{ }}`, run in a sandbox.

Documents are not trusted, so scripts run in QuickJS (the extra `scripts`) in a process of its own:
no files, no network, no modules, nothing of the environment, 64 MiB of memory, and a limit on time.
The engine's process (`sandbox`) is started for the first script and serves a whole run; each script
gets a fresh context, and has no effect but its result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final, Self

import attrs

from orgrest.http.responses import text_of
from orgrest.http.sandbox.process import Sandbox
from orgrest.model import OrgrestError, Request, Response, Verdict

TIMEOUT: Final = 2.0
"""The CPU time that a script may take, in seconds."""
VALIDATION_TIMEOUT: Final = 10.0
"""The CPU time that the validation of a value may take, in seconds."""


class ScriptError(OrgrestError):
    """A script that cannot be run, fails, or does not terminate; `line` is that of the script."""


@attrs.frozen
class Context:
    """The data of a script, besides the request and its response.

    `variables` are those of its request, `globals_` those of the run: a script can change both.
    `environment` and `file` (the document's own variables) are read-only. `named` are the responses
    of named requests, as httpyac has them. `iteration` counts the passes of a loop.
    """

    variables: Mapping[str, Any] = attrs.field(factory=dict)
    globals_: Mapping[str, Any] = attrs.field(factory=dict)
    environment: Mapping[str, str] = attrs.field(factory=dict)
    file: Mapping[str, str] = attrs.field(factory=dict)
    named: Mapping[str, Any] = attrs.field(factory=dict)
    environment_selected: bool = False
    iteration: int = 0


@attrs.frozen
class Result:
    """The result of a script: its output, tests, and the variables after it.

    `cancelled` means that the request must not be sent (httpyac's `exports.$cancel`). `request` is
    what the script made of the `method`, `url`, `headers` and `body` of the request, None if it
    changed nothing.
    """

    log: tuple[str, ...]
    tests: tuple[Verdict, ...]
    variables: dict[str, Any]
    globals_: dict[str, Any]
    cancelled: bool = False
    request: dict[str, Any] | None = None


class Engine:
    """Runs scripts; a context manager that ends the engine's process."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        """Prepare an engine whose scripts may take `timeout` seconds each."""
        self._timeout = timeout
        self._sandbox = Sandbox(ScriptError)

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
        context: Context,
        request: Request,
        response: Response | None = None,
    ) -> Result:
        """Run a script with the API of `host`: `jetbrains` or `httpyac`.

        Raises ScriptError if the engine is not installed, or the script does not compile, throws,
        takes too long or too much memory, or returns too much.
        """
        _need_engine()
        job = _job(code, host, context, request, response)
        answer = self._sandbox.answer(job, "script", self._timeout)
        if answer["error"] is not None:
            raise ScriptError(f"script: {answer['error']['message']}", line=answer["error"]["line"])
        return Result(
            log=tuple(answer["log"]),
            tests=tuple(Verdict(one["name"], one["ok"], one["message"]) for one in answer["tests"]),
            variables=answer["variables"],
            globals_=answer["globals"],
            cancelled=answer["cancelled"],
            request=answer["request"],
        )

    def evaluate(
        self, code: str, variables: Mapping[str, Any], responses: Mapping[str, Response]
    ) -> tuple[str, Any]:
        """Return the text and the value of an expression, in which these names are constants.

        Raises ScriptError as `run` does, and if the value has no text form.
        """
        _need_engine()
        given = {name: _response(one) for name, one in responses.items()}
        job = {"code": code, "host": "expression", "variables": dict(variables), "globals": {}}
        line = json.dumps({**job, "responses": given}).encode() + b"\n"
        answer = self._sandbox.answer(line, "expression", self._timeout)
        if answer["error"] is not None:
            raise ScriptError(f"{code}: {answer['error']['message']}")
        if "text" not in answer:
            raise ScriptError(f"{code}: waits for something that never comes")
        return answer["text"], answer["value"]

    def validate(self, value: Any, schemas: Mapping[str, Any], uri: str) -> list[tuple[str, str]]:
        """Return the first few errors of a value by a JSON Schema, with their locations.

        `schemas` are the one at `uri` and those that it refers to. Raises ScriptError if the
        package jsonschema is not installed, the schema is invalid, or this takes too long.
        """
        if find_spec("jsonschema") is None:
            raise ScriptError(
                "JSON Schemas are read by jsonschema, which is not installed: "
                "pip install 'scriptschema[assertions]'"
            )
        job = json.dumps({"schemas": dict(schemas), "uri": uri, "value": value}).encode() + b"\n"
        answer = self._sandbox.answer(job, "validation", VALIDATION_TIMEOUT)
        if answer["error"] is not None:
            error = answer["error"]
            raise ScriptError(f"{uri}: {error if isinstance(error, str) else error['message']}")
        return [(path, message) for path, message in answer["found"]]


def _need_engine() -> None:
    if find_spec("quickjs") is None:
        raise ScriptError(
            "JavaScript is run by QuickJS, which is not installed: "
            "pip install 'scriptschema[scripts]'"
        )


def _job(
    code: str, host: str, context: Context, request: Request, response: Response | None
) -> bytes:
    job = {
        "code": code,
        "host": host,
        "globals": dict(context.globals_),
        "variables": dict(context.variables),
        "file": dict(context.file),
        "environment": dict(context.environment),
        "environmentSelected": context.environment_selected,
        "named": dict(context.named),
        "iteration": context.iteration,
        "request": {
            "method": request.method,
            "url": request.url,
            "headers": [list(header) for header in request.headers],
            "body": None if request.body is None else request.body.decode("utf-8", "replace"),
        },
        "response": response and _response(response),
    }
    return json.dumps(job).encode() + b"\n"


def _response(response: Response) -> dict[str, Any]:
    kind, charset = media_type(response.header("content-type") or "")
    return {
        "status": response.status,
        "reason": response.reason,
        "headers": [list(header) for header in response.headers],
        "type": {"mimeType": kind, "charset": charset},
        "body": text_of(response.body, response.headers),
    }


def media_type(value: str) -> tuple[str, str]:
    """Return the media type in lower case and the charset (UTF-8 where none) of a Content-Type."""
    from email.message import Message

    message = Message()
    message["content-type"] = value
    charset = message.get_param("charset", "utf-8")
    return message.get_content_type(), charset if isinstance(charset, str) else "utf-8"
