"""Parses messages of abnormal exits: sanitizer reports, assertions, internal errors.

The patterns cover AddressSanitizer and its relatives, UndefinedBehaviorSanitizer, `assert` of glibc
and macOS, LUAU_ASSERT, Emscripten's abort, the run-time libraries of C++ and Rust, and uncaught
exceptions of Python, Node, Java, Go, Ruby and .NET.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Collection
from typing import Final

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Outcome

MOST: Final = 1 << 16
"""The number of characters kept of standard error: a quarter from the start, else from the end."""

_SANITIZER: Final = re.compile(
    r"^==\d+==\s*(?:ERROR|WARNING): \w+Sanitizer: (?P<what>[^\n]*)", re.MULTILINE
)
_SIGNAL: Final = re.compile(r"(?P<name>SEGV|ILL|ABRT|BUS|FPE|TRAP|stack-overflow)\b")
"""The first word of a sanitizer's report on a signal, which is a crash with its stack."""

_UNDEFINED: Final = re.compile(
    r"^(?P<path>[^\s:]+)(?P<place>:\d+:\d+): runtime error: (?P<what>[^\n]*)", re.MULTILINE
)
_PLACE_BEFORE: Final = re.compile(r"([^\s:()/\\]+)(?::(\d+):|\((\d+)\):)")
_PLACE_BEHIND: Final = re.compile(r"file (?:[^\s,]*/)?([^\s,/]+), line (\d+)")
_ASSERTION: Final = re.compile(
    r"Assertion (?:failed: )?[`'\"(]?(?P<one>[^\n]*?)['\")]? failed"
    r"|Assertion failed:? \(?(?P<two>[^\n,]*)"
    r"|ASSERTION FAILED: (?P<three>[^\n]*)"
)
_INTERNAL: Final = re.compile(
    r"[^\n]*\b(?:internal (?:compiler |vm )?error|unreachable code|thread '.*' panicked"
    r"|terminate called after throwing)[^\n]*",
    re.IGNORECASE,
)
_UNCAUGHT: Final = re.compile(
    r"^Traceback \(most recent call last\):\n(?P<python>(?:[ \t][^\n]*\n)+)"
    r"(?P<one>[A-Za-z_][\w.]*)(?P<one_said>:[^\n]*)?$"
    r"|^(?:Uncaught )?(?P<two>[A-Z]\w*(?:Error|Exception)\b)(?P<two_said>[^\n]*)\n"
    r"(?P<node>(?: +at [^\n]*\n)+)(?=(?:[^\n]*\n){0,40}Node\.js v)"
    r"|^Exception in thread \"[^\"\n]*\" (?P<three>[\w.$]+)(?P<three_said>[^\n]*)\n"
    r"(?P<java>(?:\s+at [^\n]*\n?)*)"
    r"|^Unhandled exception\. (?P<four>[\w.]+)(?P<four_said>[^\n]*)\n(?P<net>(?: +at [^\n]*\n?)*)"
    r"|^(?P<five>panic|fatal error)(?P<five_said>: [^\n]*)\n(?:[^\n]*\n){0,9}?"
    r"goroutine \d+[^\n]*\n(?P<go>(?:[^\n]+\n?)*)"
    r"|^\S+\.rb:\d+:in (?P<ruby>[`'][^'\n]*'): (?P<six_said>[^\n]*) \((?P<six>[A-Z][\w:]*)\)$",
    re.MULTILINE,
)
"""An uncaught exception: its class, message and stack, in the format of each language."""

_FRAMES_OF: Final = {
    "python": re.compile(r"^  File .*, line \d+, in (?P<name>\S+)", re.MULTILINE),
    "node": re.compile(r"^ +at (?:async )?(?P<name>[\w.$<>]+) \((?!node:)", re.MULTILINE),
    "java": re.compile(r"^\s+at (?P<name>[\w.$<>/]+)\(", re.MULTILINE),
    "net": re.compile(r"^ +at (?P<name>[\w.<>|`]+)\(", re.MULTILINE),
    "go": re.compile(r"^(?P<name>[\w./*()]+)\([^()\n]*\)$", re.MULTILINE),
    "ruby": re.compile(r"[`'](?P<name>[^'\n]*)'"),
}
_MEMORY: Final = re.compile(
    r"not enough memory|out of memory|bad_alloc|hard rss limit exhausted|allocation-size-too-big"
    r"|cannot allocate memory|cannot enlarge memory|failed to allocate|memory allocation of"
    r"|heap limit",
    re.IGNORECASE,
)
_REJECTED: Final = re.compile(r"\b(?:SyntaxError|CompileError|syntax error)\b")
_FRAME: Final = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ (?:in )?(?P<function>[^\n]*)", re.MULTILINE)
_WASM_FRAME: Final = re.compile(r"^\s+at (?P<function>[\w.$:]+) \(?wasm:", re.MULTILINE)
_PLACE: Final = re.compile(r" (?:\([^()]*\+0x[0-9a-f]+\)|/?\S+:\d+(?::\d+)?|\(BuildId.*\)).*$")
_NOBODYS: Final = re.compile(
    r"^(?:__?(?:asan|ubsan|sanitizer|interceptor|GI|pthread|libc|assert)|abort|raise|gsignal"
    r"|main$|_start$|[(/])"  # without a symbol, there is only the build's path
)
_TEMPLATE: Final = re.compile(r"<[^<>]*>|\([^()]*\)")

_SIGNALLED: Final = {
    128 + number
    for number in (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
}
"""Exit statuses by which a shell reports that a signal ended a command."""


def frames_of(text: str) -> tuple[str, ...]:
    """Return the functions of a report's first stack, innermost first, without the tools' own."""
    found = []
    matches = [*_FRAME.finditer(text)] or [*_WASM_FRAME.finditer(text)]
    for number, match in enumerate(matches):
        if number and match[0].lstrip().startswith("#0 "):
            break  # another stack
        name = _PLACE.sub("", match["function"]).strip()
        while (shorter := _TEMPLATE.sub("", name)) != name:
            name = shorter
        if name and not _NOBODYS.match(name):
            found.append(name.strip())
    return tuple(found)


def is_about_memory(text: str) -> bool:
    """Return whether a message says that memory was exhausted."""
    return _MEMORY.search(text) is not None


def has_begun(errors: str) -> bool:
    """Return whether a sanitizer has started a report, which may take a while to complete."""
    return bool(_SANITIZER.search(errors) or _UNDEFINED.search(errors))


def uncaught(errors: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Return an uncaught exception's class, its line, and the functions on the stack, if any.

    The innermost function comes first.
    """
    matches = [*_UNCAUGHT.finditer(bounded(errors))]
    if not matches:
        return None
    found = matches[-1]  # handled exceptions may precede it
    group = next(name for name in ("one", "two", "three", "four", "five", "six") if found[name])
    language = next((name for name in _FRAMES_OF if found[name]), "")
    frames: tuple[str, ...] = ()
    if language:
        frames = tuple(each["name"] for each in _FRAMES_OF[language].finditer(found[language]))
    said = (found[f"{group}_said"] or "").strip().removeprefix(":").strip()
    line = f"{found[group]}: {said}" if said else found[group]
    return found[group], line, frames[::-1] if language == "python" else frames


def outcome_of(
    status: int, output: str, errors: str, seconds: float, *, normal: Collection[str] = ()
) -> Outcome:
    """Return the outcome of a process by its output and status, which is negative for a signal.

    `normal` are the classes of uncaught exceptions by which it reports errors of programs.
    """

    def made(kind: str, message: str, frames: tuple[str, ...] = ()) -> Outcome:
        report = "" if kind in outcome.ORDINARY else bounded(errors)
        return Outcome(kind, output, message.strip(), status, frames, seconds, report)

    noticed = _SANITIZER.search(errors)
    if noticed and is_about_memory(noticed[0]):
        return made(outcome.MEMORY, noticed[0])
    by_signal = _SIGNAL.match(noticed["what"]) if noticed else None
    if noticed and not by_signal:
        return made(outcome.SANITIZER, _without_addresses(noticed["what"]), frames_of(errors))
    if found := _ASSERTION.search(errors):  # before signals: it may abort
        return made(outcome.ASSERTION, _assertion_of(found), frames_of(errors))
    if is_about_memory(errors):
        return made(outcome.MEMORY, errors[-1000:])
    if found := _INTERNAL.search(errors):
        return made(outcome.INTERNAL, found[0], frames_of(errors))
    undefined = _UNDEFINED.search(errors)
    aborted = status == -signal.SIGABRT or (by_signal and by_signal["name"] == "ABRT")
    if undefined and (aborted or not (by_signal or status < 0 or status in _SIGNALLED)):
        site = re.split(r"[/\\]", undefined["path"])[-1] + undefined["place"]
        frames = (site, *frames_of(errors[undefined.end() :]))
        return made(outcome.UNDEFINED, undefined["what"], frames)
    if by_signal:
        name = by_signal["name"]
        name = name if name.islower() else f"SIG{name}"
        return made(outcome.CRASH, name, frames_of(errors[noticed.start() if noticed else 0 :]))
    if status < 0 or status in _SIGNALLED:
        return made(outcome.CRASH, _signal_name(status), frames_of(errors))
    if status == 0:
        return made(outcome.OK, "")
    exception = uncaught(errors)
    if exception is not None and exception[0] not in normal:
        return made(outcome.INTERNAL, exception[1], exception[2])
    kind = outcome.REJECTED if _REJECTED.search(errors) else outcome.ERROR
    return made(kind, errors[:2000])


def bounded(errors: str) -> str:
    """Return the kept part of standard error."""
    if len(errors) <= MOST:
        return errors
    return f"{errors[: MOST // 4]}\n[...]\n{errors[-(MOST - MOST // 4) :]}"


def _assertion_of(found: re.Match[str]) -> str:
    """Return the failed assertion, prefixed by its file and line if known: `lvm.cpp:31: n > 0`."""
    said = found["one"] or found["two"] or found["three"] or found[0]
    text = found.string
    before = text[max(text.rfind("\n", 0, found.start()) + 1, found.start() - 1000) : found.start()]
    behind = text[found.start() : found.end() + 1000].partition("\n")[0]
    place = _PLACE_BEFORE.search(before) or _PLACE_BEHIND.search(behind)
    if place is None:
        return said.strip()
    return f"{place[1]}:{next(filter(None, place.groups()[1:]))}: {said.strip()}"


def _without_addresses(text: str) -> str:
    """Return the kind of a sanitizer's error: `heap-use-after-free`, or UBSan's sentence."""
    return re.split(r" on (?:unknown )?address| \(pc | 0x", text, maxsplit=1)[0]


def _signal_name(status: int) -> str:
    number = -status if status < 0 else status - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
