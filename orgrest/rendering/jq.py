"""Runs jq programs on response bodies: `:jq`, `:jq-args` and `-> jq-set-var`.

Neither the program, which comes from a document, nor its input from a server is trusted. jq runs in
a child process with limits on time, memory and output. The process has no environment that jq's
`env` could show. Modules are disabled because any file could be loaded as a module. Options that
name a file are rejected. The Python package `jq` is used if it is installed, else the `jq`
executable.

The child process first runs `_CHILD`, a few lines of Python that set the limits and then replace
the process with jq.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from itertools import islice
from typing import IO, cast

from orgrest import classes
from orgrest.http.sandbox.child import Child
from orgrest.installing import install_command
from orgrest.model import BROKEN_OFF, OrgrestError, short
from orgrest.regular import compiled


class CaptureError(OrgrestError):
    """Raised if jq is missing, does not accept the program, or fails on the response."""


TIMEOUT = 10
"""The CPU time that a program may take, in seconds.

On systems that cannot limit CPU time, it is a limit on wall-clock time.
"""
PATIENCE = 60
"""The extra wall-clock time, in seconds, that a program is allowed in case the machine is busy.

It is added to `TIMEOUT`, but only on systems that can limit CPU time.
"""
MAX_OUTPUT = 16 * 2**20

_PLAIN = {
    "-r": "r", "--raw-output": "r", "-c": "c", "--compact-output": "c", "-j": "j",
    "--join-output": "j", "-s": "s", "--slurp": "s", "-S": "S", "--sort-keys": "S", "-a": "a",
    "--ascii-output": "a", "-n": "n", "--null-input": "n", "-e": "e", "--exit-status": "e",
    "--tab": "t",
}  # fmt: skip
_WITH_VALUES = {"--indent": 1, "--arg": 2, "--argjson": 2}
_BY_PACKAGE = frozenset("rcjs")

# The part of jq's lexer that separates code from strings and comments. A backslash at the end of a
# line continues a comment.
_TOKEN = compiled(
    r"(?P<comment>\#(?:[^\\\n]|\\\r\n|\\.|\\\Z)*)"
    r"|(?P<name>[.$]?[a-zA-Z_][a-zA-Z_0-9]*(?:::[a-zA-Z_][a-zA-Z_0-9]*)*)"
    r"|(?P<blank>\s+)|.",
    re.DOTALL,
)
_TEXT = compiled(r'(?:[^"\\]|\\[^(])*(?:"|\\\(|\\?\Z)', re.DOTALL)
_COLON = compiled(r"\s*:")
_KEYWORDS = frozenset({"import", "include"})
_BUILTINS = frozenset({"modulemeta", "get_search_list", "get_jq_origin", "get_prog_origin"})

_COUNTS = hasattr(signal, "SIGXCPU")  # whether the system limits CPU time

# Environment variables that Python may need to start; jq sees none of them.
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")

_CHILD = """
import os, sys
seconds = int(sys.argv.pop(1))
sys.stdin.reconfigure(encoding="utf-8")
sys.stdout.reconfigure(encoding="utf-8", errors="replace")
try:
    import resource
    for limit, value in (("AS", 2**31), ("CORE", 0), ("CPU", seconds)):
        resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (value, value + (limit == "CPU")))
except (ImportError, OSError, ValueError):
    pass
if sys.argv[1] != "package":
    os.execve(sys.argv[1], sys.argv[1:], {})
os.environ.clear()
import json, jq
try:
    program, values, letters = json.loads(sys.argv[2])
except RecursionError:
    sys.exit("jq: a value of --argjson is nested too deeply")
compact = "c" in letters or "j" in letters
style = {"separators": (",", ":")} if compact else {"indent": 2}
end = "" if "j" in letters else "\\n"
try:
    text = sys.stdin.read()
    for value in jq.compile(program, args=values).input_text(text, slurp="s" in letters):
        raw = isinstance(value, str) and ("r" in letters or "j" in letters)
        print(value if raw else json.dumps(value, ensure_ascii=False, **style), end=end)
except (ValueError, MemoryError) as error:
    sys.exit("jq: " + (str(error) or "out of memory"))
except RecursionError:
    sys.exit("jq: the result is nested too deeply")
"""


@classes.frozen
class _Options:
    """The command-line arguments for jq, in parsed form and as `words`.

    `letters` contains a letter for each flag (see `_PLAIN`), and `i` for `--indent`. `values`
    contains the variables of `--arg` and `--argjson`.
    """

    letters: frozenset[str]
    values: dict[str, object]
    words: tuple[str, ...]


def _options(args: str) -> _Options:
    try:
        words = shlex.split(args)
    except ValueError as error:
        raise CaptureError(f"invalid jq arguments {args!r}: {error}") from error
    letters: set[str] = set()
    values: dict[str, object] = {}
    left = iter(words)
    for word in left:
        count = _WITH_VALUES.get(word)
        if count is not None:
            arguments = list(islice(left, count))
            if len(arguments) < count:
                raise CaptureError(f"jq argument {word} requires a value")
            if word == "--indent":
                letters.add("i")
            else:
                values[arguments[0]] = _json(arguments[1]) if word == "--argjson" else arguments[1]
        elif word in _PLAIN:
            letters.add(_PLAIN[word])
        elif re.fullmatch(r"-[rcjsSane]{2,}", word):
            letters.update(word[1:])
        else:
            allowed = ", ".join([*_PLAIN, *_WITH_VALUES])
            raise CaptureError(f"unsupported jq argument {word}; supported: {allowed}")
    return _Options(frozenset(letters), values, tuple(words))


def _json(text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        reason = f"the value of jq's --argjson is not valid JSON: {short(text)}"
        raise CaptureError(reason) from error
    except RecursionError:
        raise CaptureError("the value of jq's --argjson is nested too deeply") from None
    return value


def _checked(program: str) -> str:
    """Return the program without comments, since jq versions disagree on where comments end.

    Raises CaptureError if the program would read a file or reveal a path.
    """
    if "\0" in program:
        raise CaptureError("the jq program contains a NUL character")
    kept: list[str] = []
    inside: list[str] = []  # stack of enclosing contexts: brackets or a string
    before = ""
    at = 0
    while match := _TOKEN.match(program, at):
        word, start, at = match[0], match.end(), match.end()
        if match["comment"]:
            kept.append(" ")
            continue
        if word == ")" and inside:
            word = inside.pop()
        if word == "(":
            inside.append(")")
        elif word == '"':
            at = cast("re.Match[str]", _TEXT.match(program, at)).end()  # always matches
            if program.endswith("\\(", start, at):
                inside.append('"')
        elif before != "{" and (
            word in _BUILTINS or (word in _KEYWORDS and not _COLON.match(program, at))
        ):
            raise CaptureError(f"jq programs in documents cannot import modules: {word}")
        kept.append(program[match.start() : at])
        if not match["blank"]:
            before = word
    return "".join(kept)


def run(program: str, text: str, args: str = "") -> str:
    """Run `program` on the JSON `text`, and return jq's output without the last newline.

    Raises CaptureError if jq is missing, fails, exceeds its limits, or rejects the program or an
    argument.
    """
    options = _options(args)
    program = _checked(program)
    if options.letters <= _BY_PACKAGE and find_spec("jq") is not None:
        words = ["package", json.dumps([program, options.values, sorted(options.letters)])]
    elif executable := shutil.which("jq"):
        # The space keeps a program like -.a from being read as an option; jq 1.6 has no `--`.
        words = [executable, *options.words, f" {program}"]
    else:
        command = install_command("jq")
        raise CaptureError(f"jq is not installed: {command}, or install the program jq")
    return _start(words, text).removesuffix("\n")


def _start(words: list[str], text: str) -> str:
    """Run the child process and return its output.

    `words` starts with the executable's path, or with `package` for the Python package.
    """
    python = [sys.executable, "-I", *([] if words[0] == "package" else ["-S"]), "-c", _CHILD]
    environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    try:
        child = Child(
            [*python, str(TIMEOUT), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise CaptureError("the jq program is too long for the command line") from None
        raise CaptureError(f"could not start jq: {error.strerror}") from None
    except ValueError as error:  # a NUL or a lone surrogate in an argument
        raise CaptureError(f"invalid jq program or arguments: {error}") from None
    longest = TIMEOUT + PATIENCE if _COUNTS else TIMEOUT
    with child:
        out, errors = bytearray(), bytearray()
        threads = [
            threading.Thread(target=_write, args=(child.stdin, text.encode("utf-8", "replace"))),
            threading.Thread(target=_read, args=(child, child.stdout, out)),
            threading.Thread(target=_read, args=(child, child.stderr, errors)),
        ]
        for thread in threads:
            thread.start()
        try:
            status = child.wait(longest)
        except subprocess.TimeoutExpired:
            child.kill()
            status = None
        except BaseException:  # Ctrl-C
            child.kill()
            raise
        for thread in threads:
            thread.join()
    if child.broken_off:
        raise CaptureError("jq was interrupted, because the run has ended", code=BROKEN_OFF)
    if status is None:
        raise CaptureError(f"jq did not finish within {longest} s")
    if _COUNTS and status == -signal.SIGXCPU:
        raise CaptureError(f"jq used more than {TIMEOUT} s of CPU time")
    if len(out) > MAX_OUTPUT or len(errors) > MAX_OUTPUT:
        raise CaptureError(f"jq printed more than {MAX_OUTPUT // 2**20} MiB")
    if status != 0 and not (status in (1, 4) and not errors):  # 1 and 4: set by -e
        lines = errors.decode("utf-8", "replace").strip().split("\n")
        raise CaptureError(f"jq: {lines[0].removeprefix('jq: ') or f'exit status {status}'}")
    return out.decode("utf-8", "replace")


def _write(stream: IO[bytes], data: bytes) -> None:
    try:
        with stream:
            stream.write(data)
    except OSError:  # the child ended before it had read everything; its exit status has the reason
        pass


def _read(child: subprocess.Popen[bytes], stream: IO[bytes], sink: bytearray) -> None:
    while chunk := stream.read1(2**16):  # type: ignore[attr-defined]  # pipes are BufferedReaders
        sink += chunk
        if len(sink) > MAX_OUTPUT:
            child.kill()
            return
