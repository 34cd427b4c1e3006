"""Parses what targets print on abnormal exits: sanitizer reports, assertions, internal errors.

The patterns cover AddressSanitizer and related sanitizers, UndefinedBehaviorSanitizer, the `assert`
macros of glibc and macOS, LUAU_ASSERT, and Emscripten's abort. Patterns for uncaught exceptions are
in `exceptions.py`.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Callable
from typing import Final

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.calibration import Failed, Normal
from scriptschema.fuzzing.targets.exceptions import IN_THREAD, Uncaught, uncaught
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.luau.lexer import tokenize
from scriptschema.luau.literals import string_value, unescape

MOST: Final = 1 << 16
"""The number of characters of standard error that are kept: a quarter from the start, and the rest
from the end."""

_SANITIZER: Final = re.compile(
    r"^==\d+==\s*(?:ERROR|WARNING): \w+Sanitizer: (?P<what>[^\n]*)", re.MULTILINE
)
STACK_OVERFLOW: Final = "stack-overflow"
"""The error of a crash for which AddressSanitizer or a language's runtime reports that the stack is
full."""
_OVERFLOWED: Final = re.compile(
    r"^thread '[^'\n]*'(?: \(\d+\))? has overflowed its stack$", re.MULTILINE
)
_OVERFLOW: Final = re.compile(
    rf"{STACK_OVERFLOW}$|RecursionError\b|RangeError: Maximum call stack size exceeded"
    r"|(?:java\.lang\.)?StackOverflowError\b|fatal error: stack overflow|SystemStackError\b"
)
_SIGNAL: Final = re.compile(rf"(?P<name>SEGV|ILL|ABRT|BUS|FPE|TRAP|{STACK_OVERFLOW})\b")
"""The start of a sanitizer's report on a signal, which counts as a crash with a stack trace."""

_UNDEFINED: Final = re.compile(
    r"^(?!(?:\S*\.luau?|[^\s:./\\]+):)"  # interpreters report errors of programs in the same way
    r"(?P<path>[^\s:]+)(?P<place>:\d+:\d+): runtime error: (?P<what>[^\n]*)",
    re.MULTILINE,
)
_PLACE_BEFORE: Final = re.compile(r"([^\s:()/\\]+)(?::(\d+):|\((\d+)\):)")
_PLACE_BEHIND: Final = re.compile(r"file (?:[^\s,]*/)?([^\s,/]+), line (\d+)")
_ASSERTION: Final = re.compile(
    r"Assertion (?:failed: )?[`'\"(]?(?P<one>[^\n]{0,1000}?)['\")]? failed"
    r"|Assertion failed:? \(?(?P<two>[^\n,]*)"
    r"|ASSERTION FAILED: (?P<three>[^\n]*)"
)
_INTERNAL: Final = re.compile(
    r"^[^\n]*?\b(?P<said>internal (?:compiler |vm )?error"
    r"|thread '[^'\n]*'(?: \(\d+\))? panicked at|terminate called"
    r"|terminating (?:due to|with) uncaught)[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_UNREACHABLE: Final = re.compile(
    r"^[^\n]*?\b(?P<said>unreachable code)"
    r"(?! \(previous statement always )[^\n]*",  # a warning of Luau's linter
    re.IGNORECASE | re.MULTILINE,
)
_MEMORY: Final = re.compile(
    r"not enough memory|out of memory|bad_alloc|hard rss limit exhausted|allocation-size-too-big"
    r"|cannot allocate memory|cannot enlarge memory|failed to allocate|memory allocation of"
    r"|(?:reached|exceeded) (?:the )?heap limit|heap limit (?:reached|exceeded|allocation failed)"
    r"|\bMemoryError\b|OutOfMemory(?:Error|Exception)"
    r"|insufficient memory for the Java Runtime|(?P<said>os::commit_memory)\([^()\n]*\) failed;",
    re.IGNORECASE,
)
_REJECTED: Final = re.compile(r"\b(?:SyntaxError|CompileError|syntax error)\b")
_FRAME: Final = re.compile(r"^[ \t]*#\d+ 0x[0-9a-f]+ (?:in )?(?P<function>[^\n]*)", re.MULTILINE)
_WASM_FRAME: Final = re.compile(r"^[ \t]+at (?P<function>[\w.$:]+) \(?wasm:", re.MULTILINE)
_PLACE: Final = re.compile(r" (?:\([^()]*\+0x[0-9a-f]+\)|/?\S+:\d+(?::\d+)?|\(BuildId.*\)).*$")
_NOBODYS: Final = re.compile(
    r"^(?:__?(?:asan|ubsan|sanitizer|interceptor|GI|pthread|libc|assert)|abort|raise|gsignal"
    # How C++ throws exceptions and ends a process:
    r"|__cxa_|__cxxabiv1::|__clang_call_terminate|__gxx_personality|_Unwind_"
    r"|__gnu_cxx::__verbose_terminate|demangling_terminate_handler"
    r"|std::(?:\w+::)*(?:__throw_|(?:__)?terminate\b|rethrow_exception)"
    # How the C library checks memory:
    r"|malloc_printerr$|_int_(?:free|malloc|realloc)$|(?:c?free|malloc|calloc|realloc)$"
    r"|__(?:fortify|(?:stack_)?chk)_fail|__\w+_chk$"
    r"|main$|_start$|[(/])"  # without a symbol, there is only the build's path
)
_TEMPLATE: Final = re.compile(r"<[^<>]*>|\([^()]*\)")
_BESIDE: Final = re.compile(
    r"^(?:[^\n]*\d )?Aborted(?:$| {2,}| \(core dumped\))"  # a shell's
    r"|^\w+Sanitizer:DEADLYSIGNAL$|^=+$|\bwarning\b"
    r"|^[^\s:./\\]+:\d+:|\.luau?:\d+:|\[string \"",
    re.IGNORECASE,
)
"""A line that is not a target's reason to abort, such as the error of a program."""
_FATAL: Final = re.compile(
    r"^(?>.*?\b(?:fatal|panic|abort(?:ed|ing)?)\b)[^:\n]*: *\S|\bcheck failed: *\S"
    r"|\*\*\* [^*]* detected \*\*\*|^\w+\(\): |^double free|^corrupted ",  # of the C library
    re.IGNORECASE,
)
"""A reason to abort."""
_WORD: Final = re.compile(
    r"\b(?!(?:nil|boolean|number|string|table|function|thread|userdata|buffer|vector"
    r"|true|false|nan|inf)\b)[^\W\d]\w*"
)
"""A word, unless a program may print it for a type, or for a value that is not a string."""

_SIGNALLED: Final = {
    128 + number
    for number in (
        *(signal.SIGILL, signal.SIGTRAP, signal.SIGABRT),
        *(signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV),
    )
}
"""Exit statuses with which a shell reports that a signal ended a command."""


def frames_of(text: str) -> tuple[str, ...]:
    """Return the functions in the first stack trace of a report, innermost first.

    Functions of the sanitizers are left out, and so are those with which the C and C++ libraries
    start and abort a process, check the heap, and throw exceptions.
    """
    frames = []
    matches = [*_FRAME.finditer(text)] or [*_WASM_FRAME.finditer(text)]
    for number, match in enumerate(matches):
        if number and match[0].lstrip().startswith("#0 "):
            break  # another stack
        name = _PLACE.sub("", match["function"]).strip()
        while (shorter := _TEMPLATE.sub("", name)) != name:
            name = shorter
        if name and not _NOBODYS.match(name):
            frames.append(name.strip())
    return tuple(frames)


def is_about_memory(text: str, texts: Callable[[], str] = str) -> bool:
    """Return whether a message says that memory was exhausted. `texts` is as in `outcome_of`."""
    return _first(_MEMORY, text, texts) is not None


def has_begun(errors: str) -> bool:
    """Return whether a sanitizer has started a report, which may take a while to complete."""
    return bool(_SANITIZER.search(errors) or _UNDEFINED.search(errors))


def is_stack_overflow(error: str) -> bool:
    """Return whether the error of a crash says that the stack is full."""
    return _OVERFLOW.match(error) is not None


def failure_of(status: int, errors: str) -> Failed | None:
    """Return how an erroneous program failed, or None if the process did not report a failure."""
    exception = uncaught(bounded(errors))
    if exception is None and outcome_of(status, "", errors, 0).kind not in outcome.FAILED:
        return None
    is_said = status > 0 and status not in _SIGNALLED
    return Failed(status if is_said else None, exception.name if exception else None)


def outcome_of(
    status: int,
    output: str,
    errors: str,
    seconds: float,
    *,
    normal: Normal | None = None,
    texts: Callable[[], str] = str,
    is_shared: bool = False,
) -> Outcome:
    """Return the outcome of a process from its output and exit status.

    The status is negative for a signal. `seconds` is the time that the process took. `normal`
    describes how the target normally reports errors in programs, if that is known. `texts` returns
    the strings in the program (see `texts_of`): if they contain a phrase such as `internal error`,
    a message with this phrase counts as the program's own. `is_shared` is true if the process ran
    other programs before, about which `errors` may contain lines.
    """

    def made(kind: str, message: str, frames: tuple[str, ...] = (), exception: str = "") -> Outcome:
        report = "" if kind in outcome.ORDINARY else bounded(errors)
        return Outcome(
            kind, output, message.strip(), status, frames, seconds, report, exception=exception
        )

    noticed = _SANITIZER.search(errors)
    if noticed and is_about_memory(noticed[0]):
        return made(outcome.MEMORY, noticed[0])
    by_signal = _SIGNAL.match(noticed["what"]) if noticed else None
    if noticed and not by_signal:
        return made(outcome.SANITIZER, _without_addresses(noticed["what"]), frames_of(errors))
    is_signalled = by_signal is not None or status < 0 or status in _SIGNALLED
    own = str if is_signalled else texts  # errors of programs do not abort
    if match := _first(_ASSERTION, errors, own):  # before signals: a failed assertion may abort
        return made(outcome.ASSERTION, _assertion_of(match), frames_of(errors))
    # At status 0, such a line is a warning, or part of a log.
    if status and (match := _first(_MEMORY, errors, texts)):
        return made(outcome.MEMORY, _line_of(match))
    exception = uncaught(bounded(errors)) if status else _uncaught_in_thread(errors, texts)
    if not status and exception is not None and is_about_memory(exception.line, texts):
        return made(outcome.MEMORY, exception.line)
    failed = outcome.REJECTED if _REJECTED.search(errors) else outcome.ERROR
    if exception is not None:
        if normal is not None and exception.name in normal.exceptions:
            return made(failed, errors[:2000])
        frames = exception.frames or frames_of(errors)
        return made(outcome.INTERNAL, exception.line, frames, exception.identity)
    match = _first(_INTERNAL, errors, own)
    if match is None and status:
        match = _first(_UNREACHABLE, errors, own)
    if match is not None:
        return made(outcome.INTERNAL, match[0], frames_of(errors))
    undefined = _UNDEFINED.search(errors)
    aborted = status == -signal.SIGABRT or (by_signal and by_signal["name"] == "ABRT")
    if undefined and (aborted or not is_signalled):
        site = re.split(r"[/\\]", undefined["path"])[-1] + undefined["place"]
        frames = (site, *frames_of(errors[undefined.end() :]))
        return made(outcome.UNDEFINED, undefined["what"], frames)
    if is_signalled:
        if by_signal:
            name = by_signal["name"]
            name = name if name.islower() else f"SIG{name}"
        else:
            name = STACK_OVERFLOW if _OVERFLOWED.search(errors) else _signal_name(status)
        began = noticed.start() if noticed else len(errors)
        frames = frames_of(errors[began if noticed else 0 :])
        if frames or is_shared or name != "SIGABRT":
            return made(outcome.CRASH, name, frames)
        reason = _reason(errors[:began], texts)
        return made(outcome.CRASH, f"{name}: {reason}" if reason else name)
    if status == 0:
        return made(outcome.OK, "")
    if normal is not None and normal.statuses is not None and status not in normal.statuses:
        line = next(filter(str.strip, errors.splitlines()), outcome.SILENT)
        unlike = "which ordinary errors do not have"
        return made(outcome.INTERNAL, f"status {status}, {unlike}: {line.strip()}")
    return made(failed, errors[:2000])


def texts_of(sources: Sources) -> str:
    """Return the values of all strings in a program and its module, each on a separate line."""
    texts = []
    for source in filter(None, (sources.program, sources.module)):
        tokens = tokenize(source)
        for kind, token in zip(tokens.kinds, tokens.texts, strict=True):
            with contextlib.suppress(ValueError):
                if kind == "string":
                    texts.append(string_value(token))
                elif kind in ("whole", "first", "middle", "last"):  # an interpolated string
                    texts.append(unescape(token[1:-1]))
    return "\n".join(texts)


def _first(pattern: re.Pattern[str], errors: str, texts: Callable[[], str]) -> re.Match[str] | None:
    """Return the first match whose phrase is not in the result of `texts`, or None.

    The phrase is the group `said`, or what precedes the first colon.
    """
    own: str | None = None  # computed only if it is needed
    for match in pattern.finditer(errors):
        own = texts() if own is None else own
        if (match.groupdict().get("said") or match[0].partition(":")[0]) not in own:
            return match
    return None


def _line_of(match: re.Match[str]) -> str:
    """Return the line that contains the start of a match, or the start of a long line."""
    text, start = match.string, match.start()
    return text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0][:1000]


def _uncaught_in_thread(errors: str, texts: Callable[[], str]) -> Uncaught | None:
    """Return the exception that ended a thread of a process, but not the process, or None."""
    match = _first(IN_THREAD, errors, texts)
    return uncaught(bounded(errors[match.start() :])) if match else None


def _reason(errors: str, texts: Callable[[], str]) -> str:
    """Return the line that says why a target aborted, or "" if it is not known which does.

    It is the first line such as `fatal: no register`, or the only line. Lines with nothing but
    strings of the program (see `outcome_of`), numbers and other values do not count, because the
    program may have printed them.
    """
    own = {*_WORD.findall(texts())}
    lines = [
        line
        for line in dict.fromkeys(map(str.strip, bounded(errors).splitlines()))
        if not _BESIDE.search(line) and not own.issuperset(_WORD.findall(line))
    ]
    return next(filter(_FATAL.search, lines), lines[0] if len(lines) == 1 else "")


def bounded(errors: str) -> str:
    """Return standard error, shortened to `MOST` characters."""
    if len(errors) <= MOST:
        return errors
    start = f"{errors[: MOST // 4]}\n[...]\n"
    return start + errors[len(start) - MOST :]


def _assertion_of(match: re.Match[str]) -> str:
    """Return a failed assertion after its file and line, if known: `lvm.cpp:31: n > 0`."""
    condition = match["one"] or match["two"] or match["three"] or match[0]
    text = match.string
    before = text[max(text.rfind("\n", 0, match.start()) + 1, match.start() - 1000) : match.start()]
    behind = text[match.start() : match.end() + 1000].partition("\n")[0]
    place = _PLACE_BEFORE.search(before) or _PLACE_BEHIND.search(behind)
    if place is None:
        return condition.strip()
    return f"{place[1]}:{next(filter(None, place.groups()[1:]))}: {condition.strip()}"


def _without_addresses(text: str) -> str:
    """Return a sanitizer's error without addresses, such as `heap-use-after-free`."""
    return re.split(r" on (?:unknown )?address| \(pc | 0x", text, maxsplit=1)[0]


def _signal_name(status: int) -> str:
    number = -status if status < 0 else status - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
