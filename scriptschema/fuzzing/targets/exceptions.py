"""Recognises uncaught exceptions and panics in the standard error of a process.

`LANGUAGES` has the format of each language's reports and stack traces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import attrs


@attrs.frozen
class _Language:
    """The format in which a language reports an uncaught exception.

    The pattern `report` has the groups `name` (the exception's class, or the position of a panic),
    `said` (the message) and `stack`. `frame` matches a line of the stack, with the function as the
    group `name`. `library` matches frames of the language's own library, which are left out because
    an exception there may be the caller's fault. `is_last` is true if reports list the innermost
    function last.
    """

    report: re.Pattern[str]
    frame: re.Pattern[str] | None = None
    library: re.Pattern[str] | None = None
    is_last: bool = False


@attrs.frozen
class Uncaught:
    """An uncaught exception: its class (`name`), its class and message (`line`), and its frames.

    `frames` are the functions in the stack trace, innermost first. Functions of the language's
    library are left out unless there are no others. A Rust panic has no class. Its `name` is its
    position in the source.
    """

    name: str
    line: str
    frames: tuple[str, ...]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


LANGUAGES: Final[Mapping[str, _Language]] = {
    "python": _Language(
        _pattern(
            r"^Traceback \(most recent call last\):\n(?P<stack>(?:[ \t][^\n]*\n)+)"
            r"(?P<name>[A-Za-z_][\w.]*)(?::(?P<said>[^\n]*))?$"
        ),
        _pattern(r"^  File \"(?P<file>[^\"\n]*)\", line \d+, in (?P<name>\S+)"),
        re.compile(r"/lib/python3|<frozen "),
        is_last=True,
    ),
    "node": _Language(
        _pattern(
            r"^(?:Uncaught )?(?P<name>[A-Z][\w$]*)(?: \[\w+\])?(?::(?P<said>[^\n]*))?\n"
            r"(?P<stack>(?: +at [^\n]*\n)+)(?=(?:[^\n]*\n){0,40}Node\.js v)"
        ),
        _pattern(r"^ +at (?:async )?(?P<name>[\w.$<>]+) \((?!node:)"),
    ),
    "node, for a thrown value that is not an Error": _Language(
        _pattern(
            r"^ *\^+ *\n+(?P<said>[^\n]*)\n(?:\(Use `node [^\n]*\n)?\n*"
            r"(?P<stack>)(?P<name>Node\.js) v\d"
        ),
    ),
    "java": _Language(
        _pattern(
            r"^Exception in thread \"[^\"\n]*\" (?P<name>[\w.$]+)(?::(?P<said>[^\n]*))?\n"
            r"(?P<stack>(?:[ \t]+at [^\n]*\n?)*)"
        ),
        _pattern(r"^[ \t]+at (?P<name>[\w.$<>/]+)\("),
        re.compile(r"\bat (?:java\.\w+/|jdk\.|java[.x]|sun\.)"),
    ),
    ".net": _Language(
        _pattern(
            r"^Unhandled exception\. (?P<name>[\w.]+)(?::(?P<said>[^\n]*))?\n"
            r"(?P<stack>(?: +at [^\n]*\n?| +---[^\n]*\n?)*)"
        ),
        _pattern(r"^ +at (?P<name>[\w.<>|`]+)\("),
        re.compile(r"\bat System\."),
    ),
    "go": _Language(
        _pattern(
            r"^(?P<name>panic|fatal error):(?P<said>[^\n]*)\n(?:[^\n]*\n){0,9}?"
            r"goroutine \d+[^\n]*\n(?P<stack>(?:[^\n]+\n?)*)"
        ),
        _pattern(r"^(?P<name>[\w./*()]+)\([^()\n]*\)$"),
        re.compile(r"^(?:runtime\.|panic\()"),
    ),
    "ruby": _Language(
        _pattern(
            r"^(?P<stack>\S+\.rb:\d+:in [`'][^'\n]*'): (?P<said>[^\n]*) \((?P<name>[A-Z][\w:]*)\)$"
        ),
        _pattern(r"[`'](?P<name>[^'\n]*)'"),
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
    for language in LANGUAGES.values():
        for match in language.report.finditer(errors):
            if last is None or match.start() >= last[0]:  # handled exceptions may precede it
                last = match.start(), _uncaught(language, match)
    return last[1] if last is not None else None


def _uncaught(language: _Language, match: re.Match[str]) -> Uncaught:
    groups = match.groupdict()
    name = groups["name"] or groups["place"]
    message = (groups["said"] or groups.get("said_before") or "").strip()
    line = f"{name}: {message}" if message else name
    if language is LANGUAGES["rust"]:
        return Uncaught(name, f"panicked at {line}", (name,))
    if language.frame is None:
        return Uncaught(name, line, ())
    frames = [*language.frame.finditer(groups["stack"] or "")]
    own = [f for f in frames if language.library is None or not language.library.search(f[0])]
    names = tuple(frame["name"] for frame in own or frames)
    return Uncaught(name, line, names[::-1] if language.is_last else names)
