"""The process that runs documents' scripts: QuickJS without I/O.

`process` starts it as a program, with an empty environment; of orgrest, it imports only the
evaluation of paths. Each line of standard input is a job (JSON: the script, its host API, its
data), each line of standard output the answer: `log`, `tests`, `globals`, `variables`, `cancelled`,
`request` (null, or what the script made of it) and `error` (`message`, `line` of the script from 1,
or null). Every job gets a fresh context. A job with `schemas` validates a value instead: JSON
Schemas come from documents, too, and matching their patterns may take exponential time. One with
`find` evaluates a path. Each job is preceded by its limit of CPU time in seconds, at which a signal
ends the process. Memory is limited, too.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

MEMORY = 64 * 2**20
STACK = 2**19
_MOST_ERRORS = 5  # reported for an invalid value

# Evaluated by the engine's own eval, so that its stack frames can be told from the host API's.
_JETBRAINS = (
    "try { (0, eval)(__orgrest.code); }"
    " catch (error) { if (!__orgrest.isExit(error)) throw error; }"
)
# An async function, so that await works.
_HTTPYAC = (
    "globalThis.__failed = null; (0, eval)('(async function () {' + __orgrest.code + '\\n})()')"
    ".catch(function (error) { globalThis.__failed = error; });"
)
# Strict, so that an assignment to a constant is an error.
_EXPRESSION = (
    "globalThis.__failed = null; (0, eval)('(async function () { \"use strict\"; return (' +"
    " __orgrest.code + '); })()').then(__orgrest.keep)"
    ".catch(function (error) { globalThis.__failed = error; });"
)
# An escaped surrogate in what JSON.stringify makes is half of a character.
_LONE = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
_FRAME = re.compile(r"at (?:(\S+) \()?<input>:(\d+)")


def _limit() -> None:
    """Drop what a script could use if it escaped the engine: files, processes, memory."""
    try:
        import resource
    except ImportError:  # missing on Windows
        return
    limits = (("RLIMIT_AS", 2**30), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0), ("RLIMIT_NPROC", 0))
    for name, value in limits:
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (OSError, ValueError):
            continue  # a lower limit is already set


def _bytes(kind: str, text: str) -> bytes:
    if kind == "hex":
        return bytes.fromhex(text)
    if kind == "base64":
        return base64.b64decode(text)
    return text.encode("utf-8", "replace")


def _digest(given: str, form: str) -> str:
    job = json.loads(given)
    try:
        data = b"".join(_bytes(kind, text) for kind, text in job["pieces"])
        key = None if job["key"] is None else _bytes(*job["key"])
    except ValueError as error:
        return json.dumps({"error": f"crypto: {error}"})
    if key is None:
        made = hashlib.new(job["algorithm"], data, usedforsecurity=False).digest()
    else:
        made = hmac.new(key, data, job["algorithm"]).digest()
    return json.dumps({"value": made.hex() if form == "hex" else base64.b64encode(made).decode()})


def _convert(what: str, text: str) -> str:
    """Convert to or from Base64, as the HTML Standard specifies `btoa` and `atob`."""
    if what == "btoa":
        try:
            data = text.encode("latin-1")
        except UnicodeEncodeError:
            return json.dumps({"error": "btoa: the text holds characters above U+00FF"})
        return json.dumps({"value": base64.b64encode(data).decode()})
    given = re.sub(r"[\t\n\f\r ]", "", text)
    if len(given) % 4 == 0:
        given = re.sub("={1,2}$", "", given)
    if len(given) % 4 == 1 or not re.fullmatch("[A-Za-z0-9+/]*", given):
        return json.dumps({"error": f"atob: this is not Base64: {text[:60]}"})
    return json.dumps(
        {"value": base64.b64decode(given + "=" * (-len(given) % 4)).decode("latin-1")}
    )


def _jsonpath(text: str, path: str) -> str:
    """Evaluate a JSONPath (RFC 9535): the value, or a list if the path can match several."""
    import jsonpath

    try:
        found = jsonpath.findall(path, json.loads(text))
    except (jsonpath.JSONPathError, ValueError, RecursionError) as error:
        return json.dumps({"error": f"jsonPath: {error}"})
    single = not any(mark in path for mark in ("..", "*", "?", ",", ":"))
    return json.dumps({"value": (found[0] if found else None) if single else found})


def _run(job: dict[str, Any], interface: str) -> str:
    import quickjs

    context = quickjs.Context()
    context.set_memory_limit(MEMORY)
    context.set_max_stack_size(STACK)
    for name, function in (("digest", _digest), ("convert", _convert), ("jsonpath", _jsonpath)):
        context.add_callable(f"__host_{name}", function)
    context.set("__host_job", json.dumps(job))
    context.eval(interface)
    error = None
    is_async = job["host"] != "jetbrains"
    try:
        if not is_async:
            context.eval(_JETBRAINS)
        else:
            context.eval(_EXPRESSION if job["host"] == "expression" else _HTTPYAC)
            while context.execute_pending_job():
                pass
            context.eval("if (__failed !== null) throw __failed;")
    except quickjs.JSException as failure:
        error = _error(str(failure), is_async=is_async)
    try:
        answer = json.loads(_LONE.sub(r"\1\\ufffd", context.eval("__orgrest.result()")))
    except (quickjs.JSException, ValueError) as failure:
        return json.dumps({"error": error or _error(str(failure), is_async=is_async)})
    answer["error"] = error
    return json.dumps(answer)


def _validate(job: dict[str, Any]) -> str:
    """Validate a value by a JSON Schema: return the first few locations and messages.

    The schema and those it refers to are in the job by URI: none is fetched.
    """
    import itertools

    import jsonschema
    import jsonschema_specifications
    import referencing
    import referencing.exceptions
    from referencing.jsonschema import DRAFT202012

    resources = [
        (uri, referencing.Resource.from_contents(content, default_specification=DRAFT202012))
        for uri, content in job["schemas"].items()
    ]
    schema = {"$ref": job["uri"]}
    draft = jsonschema.validators.validator_for(job["schemas"][job["uri"]])
    registry = jsonschema_specifications.REGISTRY.with_resources(resources)
    try:
        draft.check_schema(job["schemas"][job["uri"]])
        errors = draft(schema, registry=registry).iter_errors(job["value"])
        found = [
            [error.json_path, error.message] for error in itertools.islice(errors, _MOST_ERRORS)
        ]
    except jsonschema.SchemaError as error:
        return json.dumps({"error": f"no JSON Schema: {error.message}", "found": []})
    except referencing.exceptions.Unresolvable as error:
        return json.dumps({"error": f"refers to {error.ref}, which is not there", "found": []})
    except RecursionError:
        return json.dumps({"error": "never comes to an end", "found": []})
    return json.dumps({"error": None, "found": found})


def _find(job: dict[str, Any]) -> str:
    """Evaluate a path in a body."""
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from orgrest.model import OrgrestError

    try:
        if job["find"] == "XPath":
            from orgrest.http.sandbox import xpaths

            found: list[Any] = list(xpaths.find(job["path"], job["text"]))
        else:
            from orgrest.http.sandbox import jsonpaths

            found = jsonpaths.find(job["path"], json.loads(job["text"]))
        return json.dumps({"error": None, "found": found})
    except OrgrestError as error:
        return json.dumps({"error": error.reason})
    except RecursionError:
        return json.dumps({"error": f"{job['path']} leads too deep"})
    finally:
        del sys.path[0]


def _error(text: str, *, is_async: bool) -> dict[str, Any]:
    """Return an engine exception's message, and its line in the script."""
    message, _, stack = text.partition("\n")
    if message.strip() in ("", "null"):  # the engine's message when it is out of memory
        return {"message": f"more than {MEMORY // 2**20} MiB of memory are used", "line": None}
    frames = _FRAME.findall(stack.partition("at eval (native)")[0])
    own = [line for name, line in frames if name in ("", "<anonymous>" if is_async else "<eval>")]
    return {"message": message.strip(), "line": int(own[-1]) if own else None}


def _end_in(seconds: float) -> None:
    """Let SIGPROF end this process after this much CPU time, where supported; 0 disables that."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def main() -> None:
    """Answer jobs until standard input ends."""
    interface = Path(__file__).with_suffix(".js").read_text("utf-8")
    _limit()
    for line in sys.stdin.buffer:
        seconds, _, text = line.partition(b" ")
        job = json.loads(text)
        _end_in(float(seconds))
        try:
            if "find" in job:
                answer = _find(job)
            else:
                answer = _validate(job) if "schemas" in job else _run(job, interface)
        except MemoryError:
            answer = json.dumps({"error": {"message": "out of memory", "line": None}})
        _end_in(0)
        sys.stdout.buffer.write(answer.encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
