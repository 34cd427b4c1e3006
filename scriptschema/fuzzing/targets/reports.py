"""What a process says when it ends badly: reports of sanitizers, assertions, internal errors.

The patterns are those of AddressSanitizer and its relatives, UndefinedBehaviorSanitizer, glibc's
and macOS's assert, LUAU_ASSERT, Emscripten's abort, C++'s and Rust's run-time libraries.
"""

from __future__ import annotations

import re
import signal
from typing import Final

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Outcome

_SANITIZER: Final = re.compile(
    r"^==\d+==\s*(?:ERROR|WARNING): (?P<who>\w+Sanitizer): (?P<what>[^\n]*)"
    r"|^[^\s:]+:\d+:\d+: runtime error: (?P<undefined>[^\n]*)",
    re.MULTILINE,
)
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
    r"^(?:__?(?:asan|ubsan|sanitizer|interceptor|GI|pthread|libc|assert)|abort|raise|gsignal|main$)"
)
_TEMPLATE: Final = re.compile(r"<[^<>]*>|\([^()]*\)")

_SIGNALLED: Final = {
    128 + number
    for number in (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
}
"""Statuses by which a shell tells that a command was ended by a signal."""


def frames_of(text: str) -> tuple[str, ...]:
    """The functions of the first stack in a report, the innermost first, without the tools' own."""
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
    """Whether a message says that there was too little memory."""
    return _MEMORY.search(text) is not None


def outcome_of(status: int, output: str, errors: str, seconds: float) -> Outcome:
    """The outcome of a process that ended: its status, negative for a signal, and what it wrote."""

    def made(kind: str, message: str, frames: tuple[str, ...] = ()) -> Outcome:
        return Outcome(kind, output, message.strip(), status, frames, seconds)

    if found := _SANITIZER.search(errors):
        if is_about_memory(found[0]):
            return made(outcome.MEMORY, found[0])
        what = found["what"] or found["undefined"]
        return made(outcome.SANITIZER, _without_addresses(what), frames_of(errors))
    if found := _ASSERTION.search(errors):
        said = found["one"] or found["two"] or found["three"] or found[0]
        return made(outcome.ASSERTION, said, frames_of(errors))
    if is_about_memory(errors):
        return made(outcome.MEMORY, errors[-1000:])
    if found := _INTERNAL.search(errors):
        return made(outcome.INTERNAL, found[0], frames_of(errors))
    if status < 0 or status in _SIGNALLED:
        return made(outcome.CRASH, _signal_name(status), frames_of(errors))
    if status == 0:
        return made(outcome.OK, "")
    kind = outcome.REJECTED if _REJECTED.search(errors) else outcome.ERROR
    return made(kind, errors[:2000])


def _without_addresses(text: str) -> str:
    """The kind of a sanitizer's error: `heap-use-after-free`, or the sentence of UBSan."""
    return re.split(r" on (?:unknown )?address| \(pc | 0x", text, maxsplit=1)[0]


def _signal_name(status: int) -> str:
    number = -status if status < 0 else status - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
