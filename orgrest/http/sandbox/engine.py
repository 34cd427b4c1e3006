"""Runs JavaScript with QuickJS in the sandbox's process.

Each JetBrains or Postman script gets a new context. All httpyac scripts and all expressions share
one context, since httpyac scripts may export functions. The only Python code that scripts can call
are functions in this module (for digests, conversions, paths and random bytes). Scripts can load
the files in the folder `javascript`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import quickjs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

MEMORY = 64 * 2**20
STACK = 2**19
_MOST_RANDOM = 2**16
DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")

# JSON.stringify only escapes lone surrogates, which are halves of characters.
_LONE = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
_CHANGED = {
    "message": "it modified JavaScript's built-in objects, so its results cannot be read",
    "line": None,
}
_FRAME = re.compile(r"at (?:(\S+) \()?<input>:(\d+)")
_FOLDER = Path(__file__).with_name("javascript")


class Engine:
    """The JavaScript contexts of one process. The method `work` processes a job."""

    def __init__(self) -> None:
        """Read the files that scripts may load."""
        self._sources = {file.stem: file.read_text("utf-8") for file in _FOLDER.glob("*.js")}
        self._shared: Any = None
        self._random: random.Random = random.SystemRandom()
        self._seed: int | None = None

    def work(self, job: dict[str, Any]) -> Generator[str, dict[str, Any] | None, None]:
        """Run a job: yield an answer each time the script waits, and then the final answer.

        After an answer with `sleep`, resume the generator after that many seconds. After an answer
        with `send`, send the request, and pass its response to the generator. The field `cpu` is
        the CPU time since the previous answer, in seconds.
        """
        if job.get("seed") is not None and job["seed"] != self._seed:
            self._seed = job["seed"]
            self._random = random.Random(self._seed)  # noqa: S311  (must be repeatable)
        started = time.process_time()
        context = self._context(shared=job["host"] in ("httpyac", "expression"))
        error: dict[str, Any] | None = None
        try:
            context.set("__orgrest_job", json.dumps(job))
            context.eval("__orgrest.begin(__orgrest_job)")
            while (pause := _settled(context)) is not None:
                if isinstance(pause, str):
                    request = json.loads(_LONE.sub(r"\1\\ufffd", pause))
                    cpu = time.process_time() - started
                    response = yield json.dumps({"send": request, "cpu": cpu})
                    started = time.process_time()
                    context.set("__orgrest_answer", json.dumps(response))
                    context.eval("__orgrest.answered(__orgrest_answer)")
                    continue
                if pause < 0:
                    raise quickjs.JSException("it awaits a promise that never settles")
                yield json.dumps({"sleep": pause / 1000, "cpu": time.process_time() - started})
                started = time.process_time()
                context.eval("__orgrest.wake()")
            context.eval("__orgrest.check()")
        except quickjs.JSException as failure:
            error = _error(str(failure))
        except (ValueError, TypeError, RecursionError):
            error = _CHANGED
        answer: dict[str, Any] = {}
        try:
            result = json.loads(_LONE.sub(r"\1\\ufffd", context.eval("__orgrest.result()")))
            answer = dict(result)
        except quickjs.JSException as failure:
            error = error or _error(str(failure))
        except (ValueError, TypeError, RecursionError):
            error = error or _CHANGED
        answer["error"] = error
        yield json.dumps(answer)

    def _context(self, *, shared: bool) -> Any:
        if shared and self._shared is not None:
            return self._shared
        context = quickjs.Context()
        context.set_memory_limit(MEMORY)
        context.set_max_stack_size(STACK)
        functions: dict[str, Callable[..., str]] = {
            "convert": _convert,
            "decode": _decode,
            "digest": _digest,
            "encode": _encode,
            "jsonpath": _jsonpath,
            "random": self._random_bytes,
            "same": lambda one, other: json.dumps({"value": hmac.compare_digest(one, other)}),
            "source": self._source,
        }
        for name, function in functions.items():
            context.add_callable(f"__host_{name}", function)
        context.eval(self._sources["core"])
        if shared:
            self._shared = context
        return context

    def _source(self, name: str) -> str:
        return json.dumps({"value": self._sources[name]})

    def _random_bytes(self, count: float) -> str:
        if not 0 <= count <= _MOST_RANDOM or count != int(count):
            return json.dumps(
                {"error": f"crypto: the number of random bytes must be from 0 to {_MOST_RANDOM}"}
            )
        return json.dumps({"value": list(self._random.randbytes(int(count)))})


def _settled(context: Any) -> str | float | None:
    """Run pending jobs, and return a request (JSON), a pause (in ms), or None at the end."""
    while context.execute_pending_job():
        pass
    request: str | None = context.eval("__orgrest.asked()")
    if request is not None:
        return request
    pause: float | None = context.eval("__orgrest.wait()")
    return pause


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
    if job["algorithm"] not in DIGESTS:
        supported = ", ".join(DIGESTS)
        return json.dumps(
            {"error": f"crypto: unknown algorithm {job['algorithm']}; supported: {supported}"}
        )
    if key is None:
        digest = hashlib.new(job["algorithm"], data, usedforsecurity=False).digest()
    else:
        digest = hmac.new(key, data, job["algorithm"]).digest()
    if form == "hex":
        return json.dumps({"value": digest.hex()})
    encode = base64.urlsafe_b64encode if form == "base64url" else base64.b64encode
    text = encode(digest).decode()
    return json.dumps({"value": text.rstrip("=") if form == "base64url" else text})


def _convert(what: str, text: str) -> str:
    """Return the result of `btoa` or `atob` (HTML standard)."""
    if what == "btoa":
        try:
            data = text.encode("latin-1")
        except UnicodeEncodeError:
            return json.dumps({"error": "btoa: the text contains characters above U+00FF"})
        return json.dumps({"value": base64.b64encode(data).decode()})
    digits = re.sub(r"[\t\n\f\r ]", "", text)
    if len(digits) % 4 == 0:
        digits = re.sub("={1,2}$", "", digits)
    if len(digits) % 4 == 1 or not re.fullmatch("[A-Za-z0-9+/]*", digits):
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        return json.dumps({"error": f"atob: not valid Base64: {shown}"})
    return json.dumps(
        {"value": base64.b64decode(digits + "=" * (-len(digits) % 4)).decode("latin-1")}
    )


def _encode(text: str, encoding: str) -> str:
    """Return the bytes of Node's `Buffer.from(text, encoding)`."""
    # Like Node, decode the valid part of invalid text.
    if encoding == "hex":
        digits = re.match("(?:[0-9A-Fa-f]{2})*", text)
        data = bytes.fromhex(digits[0] if digits else "")
    elif encoding in ("base64", "base64url"):
        given = text.partition("=")[0].replace("-", "+").replace("_", "/")
        given = re.sub("[^A-Za-z0-9+/]", "", given)
        given = given[: len(given) - (len(given) % 4 == 1)]
        data = base64.b64decode(given + "=" * (-len(given) % 4))
    elif encoding == "latin1":
        data = bytes(ord(character) & 255 for character in text)
    else:
        data = text.encode("utf-16-le" if encoding == "utf16le" else "utf-8", "replace")
    return json.dumps({"value": list(data)})


def _decode(given: str, encoding: str) -> str:
    """Return the string of Node's `buffer.toString(encoding)`."""
    data = bytes(json.loads(given))
    if encoding == "hex":
        text = data.hex()
    elif encoding == "base64":
        text = base64.b64encode(data).decode()
    elif encoding == "base64url":
        text = base64.urlsafe_b64encode(data).decode().rstrip("=")
    else:
        text = data.decode(
            {"utf8": "utf-8", "utf16le": "utf-16-le"}.get(encoding, encoding), "replace"
        )
    return json.dumps({"value": text})


def _jsonpath(text: str, path: str) -> str:
    import jsonpath

    try:
        matches = jsonpath.findall(path, json.loads(text))
    except (jsonpath.JSONPathError, ValueError, RecursionError) as error:
        return json.dumps({"error": f"jsonPath: {error}"})
    # The result is a list only if the path may have several matches.
    single = not any(mark in path for mark in ("..", "*", "?", ",", ":"))
    return json.dumps({"value": (matches[0] if matches else None) if single else matches})


def _error(text: str) -> dict[str, Any]:
    """Parse the text of a QuickJS exception."""
    message, _, stack = text.partition("\n")
    if message.strip() in ("", "null", "InternalError: out of memory"):
        return {
            "message": f"the script used more than {MEMORY // 2**20} MiB of memory",
            "line": None,
        }
    frames = _FRAME.findall(stack)
    own = [line for name, line in frames if name in ("__script", "<eval>")]
    if not own and "SyntaxError" in message:
        own = [line for _, line in frames[:1]]
    return {"message": message.strip(), "line": int(own[0]) if own else None}
