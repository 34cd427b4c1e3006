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

    `report` has the groups `name` (the exception's class, or the position of a panic), `said` (the
    message) and `stack`. `frame` matches a line of the stack, with the function as the group
    `name`. Frames that `library` matches are left out, because an exception in the language's
    library may be the caller's fault. `is_last` is true if reports list the innermost function and
    the exception itself last.

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
    library are left out unless there are no others. A Rust panic has no class. Its `name` is its
    position in the source.

    If the exception wraps another exception, `line` and `frames` are those of the original cause.
    `name` is still the outer class, because targets report errors in programs by their own
    exceptions.
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
        joint=re.compile(
            r"(?s:.*)\n\n(?:(The above exception was the direct cause of the following exception)"
            r"|During handling of the above exception, another exception occurred):\n\n\Z"
        ),
    ),
    "node": _Language(
        _pattern(
            r"^(?:Uncaught )?(?P<name>[A-Z][\w$]*)(?: \[\w+\])?(?::(?P<said>[^\n]*))?\n"
            r"(?P<stack> +at [^\n]*\n"
            r"(?: +(?:at |\.\.\. \d+ lines |[\w$]+: |\[cause\]: )[^\n]*\n)*)"
            r"(?=(?:[^\n]*\n){0,40}Node\.js v)"
        ),
        _pattern(r"^ +at (?:async )?(?P<name>[\w.$<>]+) \((?!node:)"),
        cause=_pattern(r"^ +\[cause\]: ([^\n]*)\n"),
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
            r"(?P<stack>(?:(?:[ \t]+(?:at|\.\.\.) |\s*(?:Caused by|Suppressed): )[^\n]*\n?)*)"
        ),
        _pattern(r"^[ \t]+at (?P<name>[\w.$<>/]+)\("),
        re.compile(r"\bat (?:java\.\w+/|jdk\.|java[.x]|sun\.)"),
        cause=_pattern(r"^Caused by: ([^\n]*)\n?"),
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
        joint=re.compile(r"(?:\n\tfrom [^\n]*)*\n\Z"),
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
        before: tuple[re.Match[str], Uncaught] | None = None
        for match in language.report.finditer(errors):
            found = _uncaught(language, match)
            if before is not None and _are_joined(language, before[0], match):
                cause, wrapper = (before[1], found) if language.is_last else (found, before[1])
                found = attrs.evolve(cause, name=wrapper.name)
            before = match, found
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
        and handling.groups() == raising.groups()
        and "raise " in other["stack"][raising.end() :]
    )


def _uncaught(language: _Language, match: re.Match[str]) -> Uncaught:
    groups = match.groupdict()
    name = groups["name"] or groups["place"]
    message = (groups["said"] or groups.get("said_before") or "").strip()
    line = f"{name}: {message}" if message else name
    if language is LANGUAGES["rust"]:
        return Uncaught(name, f"panicked at {line}", (name,))
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
    frames = language.frame.finditer(stack) if language.frame else ()
    names = tuple(f["name"] for f in frames if library is None or not library.search(f[0]))
    return names[::-1] if language.is_last else names
