"""Recognises uncaught exceptions and panics in the standard error of a process.

`LANGUAGES` has the format of each language's reports and stack traces.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from functools import cache
from typing import Final

import attrs


@attrs.frozen
class _Language:
    """The format in which a language reports an uncaught exception.

    `report` has the groups `name` (the exception's class, or the position of a panic), `said` (the
    message) and `stack`. `frame` matches a line of the stack, with the function as the group
    `name`, and its position as `file` and `line` if the language has code outside functions. Frames
    that `library` matches are left out, because an exception in the language's library may be the
    caller's fault. `is_last` is true if reports list the innermost function and the exception
    itself last.

    `cause` matches the line before a cause in `stack`, and has the cause's class and message as its
    group. `joint` matches the text between the separate reports of an exception and of its cause.
    Its group, if any, matches only if the program declares the cause.
    """

    report: re.Pattern[str]
    frame: re.Pattern[str] | None = None
    library: re.Pattern[str] | None = None
    is_last: bool = False
    cause: re.Pattern[str] | None = None
    joint: re.Pattern[str] | None = None


@attrs.frozen
class Uncaught:
    """An uncaught exception: its class (`name`), its class and message (`line`), and its frames.

    `frames` are the functions in the stack trace, innermost first. Functions of the language's
    library are left out unless there are no others. If the innermost code is in no function, or in
    a function without a name, its position is the first frame: `target.py:7`. A Rust panic has no
    class. Its `name` is its position in the source. If a panic during another one, or in a function
    that must not panic, ends the process, this is the position of the first panic.

    If the exception wraps another exception, `line` and `frames` are those of the original cause.
    `name` is still the outer class, because targets report errors in programs by their own
    exceptions. An exception group is reported as the last exception in it that has a stack trace.
    """

    name: str
    line: str
    frames: tuple[str, ...]

    @property
    def identity(self) -> str:
        """The class in `line`, or for Go the kind of the panic. Empty if it is unknown."""
        match = _IDENTITY.match(self.line)
        return match[0] if match else ""


_IDENTITY: Final = re.compile(
    r"panic: (?:runtime error: [a-z][a-z ]*[a-z]|interface conversion)"
    r"|(?!panicked at )[^\n]*?(?= \[|: |$)"
)
_MARGIN: Final = re.compile(r"^ *[|+] ", re.MULTILINE)
"""The start of each line of an exception group's report in Python."""
_RUST_LIBRARY: Final = re.compile(r"^/(?:rustc/[0-9a-f]+|.*/rustlib/src/rust)/(?=library/)")
"""The folder of Rust's library, which depends on the compiler and the machine."""
_ABORTING: Final = {
    "panic in a destructor during cleanup": 2,
    "panic in a function that cannot unwind": 1,
}
"""The panics with which Rust ends a process because of earlier ones, and the number of these."""
_UNNAMED: Final = "unhandled exception"
"""What Ruby prints instead of the message and the class of a RuntimeError without a message."""

IN_THREAD: Final = re.compile(
    r"^(?:(?P<said>Exception in thread )"
    r"(?:\"[^\"\n]*\" |[^\n]*:\n(?=[ +]*(?:Exception Group )?Traceback ))"
    r"|#<Thread:[^\n]* (?=terminated with exception \(report_on_exception is true\):\n)"
    r"|thread '[^'\n]*'(?: \(\d+\))? panicked at )",
    re.MULTILINE,
)
"""The start of the report of an exception that ends a thread, in Java and Python, Ruby, and Rust.
Programs that catch exceptions and print them do not print this."""

_OUTSIDE: Final = re.compile(
    r"<(?:module|lambda|main|top \(required\))>|Object\.<anonymous>|<Main>\$$"
)
"""The name of a frame whose code is in no function, or in a function without a name."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


LANGUAGES: Final[Mapping[str, _Language]] = {
    "python": _Language(
        _pattern(
            r"^(?:Exception Group )?Traceback \(most recent call last\):\n"
            r"(?P<stack>(?:[ \t][^\n]*\n|\n?\[\.\.\.\]\n[^\n]*\n)+)"  # [...]: see `bounded`
            r"(?P<name>[^\W\d][\w.<>]*)(?::(?P<said>[^\n]*))?$"
        ),
        _pattern(r"^  File \"(?P<file>[^\"\n]*)\", line (?P<line>\d+), in (?P<name>\S+)"),
        re.compile(r"/lib/python3|<frozen "),
        is_last=True,
        joint=re.compile(
            r"(?s:.*)\n\n(?:(The above exception was the direct cause of the following exception)"
            r"|During handling of the above exception, another exception occurred):\n\n\Z"
        ),
    ),
    "node": _Language(
        _pattern(
            r"^(?P<caret>[ \t]*\^+ *\n++)?"  # below the line that raised it
            r"(?:(?:Uncaught )?(?P<name>[A-Za-z_$][\w$.]*)(?: \[\w+\])?(?::(?P<said>[^\n]*))?\n"
            r"(?(caret)(?:(?! +at |[ \t]*\^+ *\n\n+[A-Za-z_$][\w$.]*(?: \[\w+\])?[:\n])"
            r"[^\n]*\n){0,1000}?)"
            r"(?P<stack> +at [^\n]*\n(?: +(?:at |\.\.\. \d+ lines |[\w$]+: )[^\n]*\n"
            r"| +\[cause\]: [^\n]*\n(?:(?: +(?!at |\[cause\]: )[^\n]*)?\n){0,100}?(?= +at )"
            r"| +\[cause\]: [^\n]*\n)*+)"
            r"(?=(?:[^\n]*\n){0,1000}?Node\.js v)"
            # A thrown value that is not an Error:
            r"|(?(caret)(?P<said_before>(?! +at )[^\n]*)\n"
            r"(?:(?! +at |[ \t]*\^+ *\n)[^\n]*\n){0,1000}?"
            r"(?P<place>Node\.js) v\d|(?!)))"
        ),
        _pattern(
            r"^ +at (?:async )?(?>(?:(?P<name>[^\s(](?:[^(\n]*[^\s(])?) \()?)(?!node:)"
            r"(?:(?P<file>[^()\n]+):(?P<line>\d+):\d+\)?|[^\n]*)$"
        ),
        re.compile(r"\(<anonymous>\)$|\(index "),
        cause=_pattern(r"^ +\[cause\]: ([^\n]*)\n"),
    ),
    "java": _Language(
        _pattern(
            r"^Exception in thread \"[^\"\n]*\" (?P<name>[\w.$]+)(?::(?P<said>[^\n]*))?\n"
            r"(?P<stack>(?:(?:(?!Exception in |[ \t]+(?:at|\.\.\.) )[^\n]*\n){0,100}?"
            r"[ \t]+(?:at|\.\.\.) [^\n]*\n?)*)"
        ),
        _pattern(r"^[ \t]+at (?P<name>[^\s(]+)\("),
        re.compile(r"\bat (?:java\.\w+/|jdk\.|java[.x]|sun\.)"),
        cause=_pattern(r"^Caused by: ([^\n]*)\n?"),
    ),
    ".net": _Language(
        _pattern(
            r"^Unhandled exception\. (?P<name>[\w.]+)(?::(?P<said>[^\n]*))?\n"
            r"(?P<stack>(?:(?:(?!Unhandled exception\. | +at )[^\n]*\n){0,100}?"
            r" +at [^\n]*\n?)*)"
        ),
        _pattern(
            r"^ +at (?P<name>[^\s(]+)\([^\n]*?\)"
            r"(?: in (?P<file>(?:(?! in )[^\n])*):line (?P<line>\d+)| \+ 0x[0-9a-f]+)?$"
        ),
        re.compile(r"\bat System\."),
        cause=_pattern(r"^ ---> (?:\(Inner Exception #\d+\) )?([^\n]*)\n"),
    ),
    "go": _Language(
        _pattern(
            r"^(?P<name>panic|fatal error):(?P<said>[^\n]*)\n(?:[^\n]*\n){0,40}?"
            r"goroutine \d+[^\n]*\n(?P<stack>(?:[^\n]+\n?)*)"
        ),
        _pattern(r"^(?P<name>\S+)\([^()\n]*\)$"),
        re.compile(r"^(?:runtime\.|panic\()"),
    ),
    "ruby": _Language(
        _pattern(
            r"^(?P<stack>\S+\.rb:\d+:in [`'][^'\n]*': "
            rf"(?:(?P<said>[^\n]*) \((?P<name>[A-Z][\w:]*)\)|(?P<place>{_UNNAMED}))$"
            r"(?:(?:\n(?!\S+\.rb:\d+:in |\t(?:from|\.\.\.) )[^\n]*){0,100}?"
            r"(?:\n\t *(?:from|\.\.\.) [^\n]*)+)?)"
        ),
        _pattern(r"^(?:\tfrom )?(?P<file>\S+):(?P<line>\d+):in [`'](?P<name>[^'\n]*)'"),
        joint=re.compile(r"\n\Z"),
    ),
    "rust": _Language(
        _pattern(
            r"^thread '[^'\n]*'(?: \(\d+\))? panicked at "
            r"(?:(?P<name>[^\s'\":]+:\d+:\d+):\n(?P<said>[^\n]*)"
            r"|'(?P<said_before>[^\n]*)', (?P<place>[^\s:]+:\d+:\d+)$)"
        ),
    ),
    "c++": _Language(
        _pattern(
            r"^terminate called after throwing an instance of '(?P<name>[^'\n]+)'"
            r"(?:\n\s*what\(\): (?P<said>[^\n]*))?"
            r"|^(?:libc\+\+abi: )?terminating (?:due to|with) uncaught exception of type "
            r"(?P<place>[\w:<>, *]+?)(?:: (?P<said_before>[^\n]*))?$"
        ),
    ),
}


def uncaught(errors: str) -> Uncaught | None:
    """Return the last uncaught exception in the standard error of a process, or None."""
    last: tuple[int, Uncaught] | None = None
    if "Exception Group Traceback" in errors:
        errors = _MARGIN.sub("", errors)
    for language in LANGUAGES.values():
        before: list[tuple[re.Match[str], Uncaught]] = []
        for match in language.report.finditer(errors):
            found = _uncaught(language, match)
            if before and _are_joined(language, before[-1][0], match):
                earlier = before[-1][1]
                cause, wrapper = (earlier, found) if language.is_last else (found, earlier)
                found = attrs.evolve(cause, name=wrapper.name)
            if before and (count := _ABORTING.get(match["said"])):
                found = before[-count:][0][1]
            before.append((match, found))
            if last is None or match.start() >= last[0]:  # handled exceptions may precede it
                last = match.start(), found
    return last[1] if last is not None else None


def _are_joined(language: _Language, one: re.Match[str], other: re.Match[str]) -> bool:
    """Return whether two reports are about an exception and its cause.

    Unless the program declares the first as the cause, its handler must have raised the second.
    """
    if language.joint is None or language.frame is None:
        return False
    joint = language.joint.match(one.string, one.end(), other.start())
    if joint is None or joint.groups() != (None,):
        return joint is not None
    handling = language.frame.search(one["stack"])
    [*_, raising] = [None, *language.frame.finditer(other["stack"])]
    return (
        handling is not None
        and raising is not None
        and handling.group("file", "name") == raising.group("file", "name")
        and "raise " in other["stack"][raising.end() :]
    )


def _uncaught(language: _Language, match: re.Match[str]) -> Uncaught:
    groups = match.groupdict()
    name = groups["name"] or groups["place"].replace(_UNNAMED, "RuntimeError")
    message = (groups["said"] or groups.get("said_before") or "").strip()
    line = f"{name}: {message}" if message else name
    if language is LANGUAGES["rust"]:
        place = _RUST_LIBRARY.sub("", name)
        return Uncaught(place, f"panicked at {_RUST_LIBRARY.sub('', line)}", (place,))
    if language.frame is None:
        return Uncaught(name, line, ())
    stack = groups["stack"] or ""
    outer, *inner = language.cause.split(stack) if language.cause else [stack]
    found = Uncaught(name, line, _frames(language, outer) or _frames(language, outer, own=False))
    for cause, frames in zip(inner[::2], inner[1::2], strict=True):
        if names := _frames(language, frames):  # frames that both have may be left out
            found = Uncaught(name, cause.strip(), names)
    return found


def _frames(language: _Language, stack: str, *, own: bool = True) -> tuple[str, ...]:
    """Return the functions in a stack trace, without the library's if `own` is true."""
    library = language.library if own else None
    matches = language.frame.finditer(stack) if language.frame else ()
    frames = [match for match in matches if library is None or not library.search(match[0])]
    if language.is_last:
        frames.reverse()
    names = [frame["name"] for frame in frames]
    if frames and (not names[0] or _OUTSIDE.search(names[0])):
        names[0] = _place_of(frames[0]) or names[0]
    return tuple(filter(None, names))


def _place_of(frame: re.Match[str]) -> str | None:
    """Return the file and the line of a frame, or None if the code is not in a permanent file.

    A temporary file may contain the program itself, for instance compiled to JavaScript.
    """
    place = frame.groupdict()
    if not place.get("file") or "<" in place["file"] or _temporary().match(place["file"]):
        return None
    *_, file = re.split(r"[/\\]", place["file"])
    return f"{file}:{place['line']}"


@cache
def _temporary() -> re.Pattern[str]:
    """Return a pattern for files that `mktemp`, `tempfile` and scriptschema's targets create."""
    folder = re.escape(tempfile.gettempdir())
    return re.compile(rf"(?:file://)?(?:{folder}|/tmp)/(?:[^/]+\Z|tmp|scriptschema-run-)")
