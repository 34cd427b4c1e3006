"""The process that runs untrusted jobs: it runs scripts, evaluates paths and validates values.

`process` starts this program. Jobs have no access to files. From orgrest, the program imports only
error classes, `orgrest.http.patterns`, and modules of this package. Each line of standard input is
a job in JSON, preceded by its CPU time limit in seconds. At that limit, a signal ends the process.
Each line of standard output is an answer.

- A job with `host` is a script (`engine`). After an answer with `sleep` or `send`, the script waits
  for a job with `resume` or `response`. The final answer has `log`, `tests`, `globals`,
  `variables`, `removed`, `cancelled`, `request` (the changed request, or null) and `error`. The
  error is null, or has a `message` and a `line`, where 1 is the first line of the script.
- A job with `schemas` validates a value. The JSON Schemas also come from documents, and matching
  their patterns may take exponential time.
- A job with `parts` validates values against the schemas of OpenAPI descriptions.
- A job with `find` evaluates a path.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

_MOST_ERRORS = 5  # reported errors per invalid value
_LONGEST = 200  # maximum length of a message in characters


def _limit() -> None:
    """Limit files, processes and memory, in case a script escapes from the engine."""
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


def _validate(job: dict[str, Any]) -> str:
    import itertools

    import jsonschema
    import jsonschema_specifications
    import referencing
    import referencing.exceptions
    from referencing.jsonschema import DRAFT202012

    # Nothing is fetched: a schema can only refer to schemas in the job.
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
        errors_found = [
            [error.json_path, error.message] for error in itertools.islice(errors, _MOST_ERRORS)
        ]
    except jsonschema.SchemaError as error:
        return json.dumps({"error": f"not a valid JSON Schema: {error.message}", "found": []})
    except referencing.exceptions.Unresolvable as error:
        return json.dumps({"error": f"refers to {error.ref}, which was not found", "found": []})
    except RecursionError:
        return json.dumps({"error": "refers to itself endlessly", "found": []})
    return json.dumps({"error": None, "found": errors_found})


def _validate_parts(job: dict[str, Any]) -> str:
    import itertools

    import jsonschema
    import jsonschema_specifications
    import referencing
    import referencing.exceptions
    from referencing.jsonschema import DRAFT202012

    definitions = referencing.Resource.from_contents(
        job["definitions"], default_specification=DRAFT202012
    )
    registry = jsonschema_specifications.REGISTRY.with_resource("description", definitions)
    messages: list[str] = []
    for name, definition, value in job["parts"]:
        schema = {"$ref": f"description#/$defs/{definition}"}
        validator = jsonschema.Draft202012Validator(schema, registry=registry)
        try:
            for error in itertools.islice(validator.iter_errors(value), _MOST_ERRORS):
                hidden = error.validator == "not" and error.validator_value == {}
                why = (
                    "is only allowed in requests (writeOnly)"
                    if hidden
                    else error.message[:_LONGEST]
                )
                messages.append(f"{name}{error.json_path[1:]}: {why}")
        except referencing.exceptions.Unresolvable as error:
            reference = str(error.ref)
            why = job["missing"].get(reference.rpartition("/")[2])
            why = why or f"{reference} is not defined in the description"
            messages.append(f"{name} cannot be checked: {why}")
        except RecursionError:
            messages.append(f"{name} cannot be checked: its schema refers to itself endlessly")
        except Exception as error:  # an invalid schema fails in many ways
            messages.append(
                f"{name} cannot be checked: its schema is invalid ({type(error).__name__})"
            )
    return json.dumps({"error": None, "found": messages})


def _find(job: dict[str, Any]) -> str:
    from orgrest.model import OrgrestError

    try:
        if job["find"] == "XPath":
            from orgrest.http.sandbox import xpaths

            matches: list[Any] = xpaths.find(job["path"], job["text"], job["prefixes"])
        else:
            from orgrest.http.sandbox import jsonpaths

            matches = jsonpaths.find(job["path"], json.loads(job["text"]))
        return json.dumps({"error": None, "found": matches})
    except OrgrestError as error:
        return json.dumps({"error": error.reason})
    except RecursionError:
        return json.dumps({"error": f"{job['path']}: the path or the data is nested too deeply"})


def _end_in(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # missing on Windows; 0 cancels the timer
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _script(job: dict[str, Any], engines: list[Any]) -> Generator[str, dict[str, Any] | None, None]:
    from orgrest.http.sandbox import engine

    if not engines:
        engines.append(engine.Engine())
    answers: Generator[str, dict[str, Any] | None, None] = engines[0].work(job)
    return answers


def main() -> None:
    """Process jobs until standard input ends."""
    # Packages imported later are installed next to orgrest, which may not be on this Python's path.
    sys.path.insert(0, str(Path(__file__).parents[3]))
    _limit()
    engines: list[Any] = []
    script: Generator[str, dict[str, Any] | None, None]
    for line in sys.stdin.buffer:
        seconds, _, text = line.partition(b" ")
        job = json.loads(text)
        _end_in(float(seconds))
        try:
            if "host" in job:
                script = _script(job, engines)
                answer = next(script)
            elif "find" in job:
                answer = _find(job)
            elif "parts" in job:
                answer = _validate_parts(job)
            else:
                answer = _validate(job) if "schemas" in job else script.send(job)
        except MemoryError:
            answer = json.dumps({"error": {"message": "out of memory", "line": None}})
        _end_in(0)
        sys.stdout.buffer.write(answer.encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
