"""The judge of a campaign: applies its oracles to a program and its runs."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from scriptschema.files import ReportedError
from scriptschema.fuzzing.oracles import differential, normalisation, round_trip
from scriptschema.fuzzing.oracles.determinism import is_determined
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.command import CommandTarget
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import TRIAL
from scriptschema.fuzzing.targets.outcome import Outcome, Run
from scriptschema.fuzzing.targets.reports import is_stack_overflow
from scriptschema.luau.breaking import is_luau

TYPES: Final = "types"
ACCEPTED: Final = "accepted"
"""The kind of verdict on a source that ran to completion although it is not valid Luau."""
ACCEPTING: Final = frozenset([outcome.OK, outcome.FLOOD])
"""The outcomes of runs that such a verdict is about."""
OWN: Final = "own"
UNCLEAR: Final = frozenset([differential.KIND, outcome.HANG, outcome.MEMORY, TYPES, ACCEPTED])
"""Kinds of verdicts whose signatures alone do not identify a bug: the reduced program is needed,
too."""

_TYPE_ERROR: Final = re.compile(
    r"attempt to (?:call|index|perform arithmetic|compare|concatenate|get length|iterate)"
    r"|missing argument #|expected, got"
)
"""Does not match errors about values, such as "invalid argument #1 to 'char' (out of range)"."""
_UNCHECKED: Final = re.compile(r"\bany\b|::")
"""A type or a cast that turns type checking off. Mutants often get one."""
_CHECKER_MEGABYTES: Final = 4096
_PRINTER_MEGABYTES: Final = 1024

_INVALID: Final = "for an invalid source"
_FRAMES: Final = 3
_REPEATED: Final = 3
_FEW: Final = 20
"""More frames than Node (10) and Ruby (14) print for a stack overflow."""
_CUT: Final = 10
"""The trace of an exception that has at least this many frames may be cut off."""

_SLOW: Final = 10
"""If another run of the program takes more than 1/`_SLOW` of the time limit, a hang is not
reported: the program is just slow."""

_UNSTEADY: Final = 0.5
"""On a busy machine, a process may start this many seconds later than usual."""

Function = Callable[[str, Sequence[Run]], object]
Plain = Callable[[], Sources]
"""Renders a program in the plain style. Few verdicts need that, so it is done on demand."""


class JudgeError(ReportedError):
    """The user's judge function cannot be loaded, or it failed. The message says why."""


class Judge:
    """Judges programs by the given `oracles`, which are names from `config.ORACLES`.

    `targets` contains the index of each run's target. `checker` and `printer` are commands that
    contain `{file}` or read standard input. Their time limit is `seconds`. `compare` and `ulps` are
    passed to `differential.difference`.

    `function` is the user's judge function, as `module:function`. It receives the source and the
    runs. It returns None, a string that identifies a bug, or a Verdict.

    Raises JudgeError if the function cannot be loaded.
    """

    def __init__(
        self,
        oracles: Sequence[str],
        targets: Sequence[int],
        *,
        checker: str = "",
        printer: str = "",
        function: str = "",
        compare: str = differential.OUTPUT,
        ulps: int = 0,
        seconds: float = 10.0,
    ) -> None:
        self.oracles = frozenset(oracles)
        self.targets = targets
        self._checker = self._printer = None
        if checker and "types" in self.oracles:
            self._checker = _command(checker, seconds, _CHECKER_MEGABYTES)
        if printer and "round-trip" in self.oracles:
            self._printer = _command(printer, seconds, _PRINTER_MEGABYTES)
        self.function = _function(function) if function else None
        self.compare = compare
        self.ulps = ulps

    @property
    def runs_commands(self) -> bool:
        """Whether programs are judged with the help of a checker or a printer."""
        return self._checker is not None or self._printer is not None

    def try_commands(self) -> None:
        """Run the checker and the printer on a one-line program, if the oracles use them.

        If one of them fails, raises TargetError with its output.
        """
        if self._checker is not None:
            round_trip.try_command("checker", self._checker, _strict(TRIAL))
        if self._printer is not None:
            round_trip.try_command("printer", self._printer, TRIAL)

    def close(self) -> None:
        """Remove the temporary folders of the checker and the printer."""
        for command in filter(None, (self._checker, self._printer)):
            command.close()

    def judge(
        self, sources: Sources, runs: Sequence[Run], plain: Plain | None = None
    ) -> Verdict | None:
        """Return the most severe verdict on a program's runs, or None if they do not show a bug.

        If `sources` were rendered with a style, `plain` returns them in the plain style. Raises
        JudgeError. Raises TargetError if the checker cannot be run.
        """
        kinds = {run.outcome.kind for run in runs}
        verdict: Verdict | None = None
        if not kinds <= outcome.ORDINARY:
            verdict = self._broken(runs) or self._exhausted(runs)
        if verdict is None and self.function is not None:
            verdict = self._own(sources, runs)
        if verdict is None and len(runs) > 1 and "difference" in self.oracles:
            verdict = differential.difference(runs, self.targets, self.compare, self.ulps)
            one_target = len({*self.targets}) == 1
            if verdict:
                read = plain() if plain else sources
                verdict = verdict if is_determined(read, one_target=one_target) else None
        if verdict is None and self._checker is not None:
            verdict = self._types(self._checker, sources, runs[0])
        if verdict is None and outcome.HANG in kinds:
            verdict = self._stuck(runs)
        return verdict

    def judge_refusal(self, text: str, runs: Sequence[Run]) -> Verdict | None:
        """Return the most severe verdict on the runs of an invalid source, or None.

        If the signature alone does not identify a bug, its detail ends with `_INVALID`, which
        distinguishes the bug from those of valid programs. A source that turns out to be valid Luau
        may run.
        """
        verdict = self._broken(runs) or self._exhausted(runs)
        if verdict is not None and not is_clear(verdict.signature):
            detail = f"{verdict.signature.detail}, {_INVALID}".lstrip(", ")
            return attrs.evolve(verdict, signature=attrs.evolve(verdict.signature, detail=detail))
        if verdict is None and ACCEPTED in self.oracles:
            pairs = zip(differential.short_names(runs), runs, strict=True)
            names = [name for name, run in pairs if run.outcome.kind in ACCEPTING]
            if names and not is_luau(text):
                message = f"source that is not valid Luau was accepted by {', '.join(names)}"
                verdict = Verdict(Signature(ACCEPTED, ", ".join(names)), message)
        return verdict

    def judge_rewritten(
        self,
        name: str,
        sources: Sources,
        runs: Sequence[Run],
        rewritten: Sequence[Run],
    ) -> Verdict | None:
        """Return the verdict on a program and its rewritten version (see `rewriting`).

        `name` is the key of the rewriting function in `REWRITINGS`. `sources` are the program's
        sources in the plain style. `runs` and `rewritten` are the runs of the two versions. Returns
        None if the versions behave the same, if the output is not deterministic, or if the
        metamorphic oracle is off.
        """
        if "metamorphic" not in self.oracles:
            return None
        verdict = differential.rewritten_difference(name, runs, rewritten, self.ulps)
        return verdict if verdict is not None and is_determined(sources) else None

    def judge_text(
        self, sources: Sources, plain: Plain | None = None, *, own: bool = True
    ) -> Verdict | None:
        """Return the verdict of the round-trip oracles, which run no target, or None.

        If `sources` were rendered with a style, `plain` returns them in the plain style. If `own`
        is false, only the campaign's printer is checked, not scriptschema's own.
        """
        if "round-trip" not in self.oracles:
            return None
        verdict = round_trip.own(sources, plain() if plain else None) if own else None
        if verdict is None and self._printer is not None and sources.module is None:
            verdict = round_trip.by_command(self._printer, sources)
        return verdict

    def _broken(self, runs: Sequence[Run]) -> Verdict | None:
        return broken(runs) if "broken" in self.oracles else None

    def _exhausted(self, runs: Sequence[Run]) -> Verdict | None:
        """Return a verdict if some but not all runs, or the only run, hang or exhaust memory."""
        kinds = [run.outcome.kind for run in runs]
        if len(runs) > 1 and outcome.LIMITS.issuperset(kinds):
            return None
        limits = outcome.LIMITS & self.oracles
        if _is_slow(runs):
            limits -= {outcome.HANG}
        names = differential.short_names(runs)
        exhausted = [
            (kind, name) for kind, name in zip(kinds, names, strict=True) if kind in limits
        ]
        if not exhausted:
            return None
        kind, name = exhausted[0]
        what = "hangs" if kind == outcome.HANG else "runs out of memory"
        others = "" if len(runs) == 1 else ", others do not"
        return Verdict(
            Signature(kind, ", ".join(name for _, name in exhausted)), f"{name} {what}{others}"
        )

    def _stuck(self, runs: Sequence[Run]) -> Verdict | None:
        """Return a verdict if all runs, one of which hangs, reach a limit and have the same target.

        A run may reach the memory limit before the time limit.
        """
        kinds = {run.outcome.kind for run in runs}
        limits = outcome.LIMITS & self.oracles
        if not kinds <= limits or len({*self.targets}) > 1:
            return None
        names = ", ".join(differential.short_names(runs))
        text = "all runs hang" + " or run out of memory" * (outcome.MEMORY in kinds)
        return Verdict(Signature(outcome.HANG, names), text)

    def _own(self, sources: Sources, runs: Sequence[Run]) -> Verdict | None:
        try:
            result = self.function(sources.program, runs) if self.function else None
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise JudgeError(
                f"the judge function failed with {type(error).__name__}: {error} "
                f"({place.filename}:{place.lineno})"
            ) from error
        if result is None or isinstance(result, Verdict):
            return result
        if not isinstance(result, str):
            raise JudgeError(
                f"the judge function returned {result!r}: it must return None, or a string that "
                "describes the bug"
            )
        # It may quote the source, in which bytes that are not UTF-8 are lone surrogates.
        text = result.encode("utf-8", "backslashreplace").decode()
        return Verdict(Signature(OWN, normalisation.message(text)), text)

    def _types(self, checker: CommandTarget, sources: Sources, run: Run) -> Verdict | None:
        """Return a verdict if the checker accepts a program that fails with a type error.

        Also returns a verdict if the checker crashes or does not finish.
        """
        if run.outcome.kind != outcome.ERROR or not _TYPE_ERROR.search(run.outcome.error):
            return None
        if _UNCHECKED.search(sources.program):
            return None
        name, checked = checker.description.name, round_trip.run_on(checker, _strict(sources))
        if checked.kind != outcome.OK:
            return round_trip.failure("checker", name, TYPES, checked)
        message = normalisation.message(run.outcome.error)
        error = run.outcome.error[:500]
        text = f"{name} accepts the program, but {run.target} reports: {error}"
        return Verdict(Signature(TYPES, message), text)


def broken(runs: Sequence[Run]) -> Verdict | None:
    """Return the verdict on the first run whose outcome is in `BROKEN`, or None."""
    for run in runs:
        if run.outcome.kind in outcome.BROKEN:
            # A sanitizer adds a stack trace to an assertion, which is the same without one.
            is_assertion = run.outcome.kind == outcome.ASSERTION
            frames = () if is_assertion else _site_of(run.outcome)
            normalised = normalisation.assertion if is_assertion else normalisation.message
            message = normalised(run.outcome.error)
            detail = " < ".join(frames) if frames else message
            if frames and run.outcome.exception:  # one function may have several bugs
                detail += f": {run.outcome.exception}"
            if run.outcome.kind == outcome.UNDEFINED:  # identified by its site, not by callers
                message = normalisation.undefined(run.outcome.error)
                detail = f"{frames[0]}: {message}" if frames else message
            text = f"{run.target}: {run.outcome.kind}: {run.outcome.error.strip()[:500]}"
            return Verdict(Signature(run.outcome.kind, detail), text)
    return None


def _command(words: str, seconds: float, megabytes: int) -> CommandTarget:
    return CommandTarget(
        Description("command", words, seconds=seconds, megabytes=megabytes, output=1 << 24)
    )


def _strict(sources: Sources) -> Sources:
    return attrs.evolve(sources, program=f"--!strict\n{sources.program}")


def _is_slow(runs: Sequence[Run]) -> bool:
    limit = min((r.outcome.seconds for r in runs if r.outcome.kind == outcome.HANG), default=0)
    # The maximum time of a run that started a process, not counting `starting`.
    started = max(limit / _SLOW, min(_UNSTEADY, limit / 2))
    ended = [run.outcome for run in runs if run.outcome.kind not in outcome.LIMITS]
    return any(
        each.seconds - each.starting > (started if each.starting else limit / _SLOW)
        for each in ended
    )


def _site_of(end: Outcome) -> Sequence[str]:
    """Return the functions that identify a crash, or () if it is not known which do."""
    frames = end.frames
    if not is_stack_overflow(end.error):
        return frames[:_FRAMES]
    # The top frames vary, but not the recursive functions.
    if len(frames) > _FEW:
        counts = Counter(frames)
        repeated = {name for name, count in counts.items() if count >= _REPEATED}
    else:  # the functions between the first two calls of the same function
        again = next((number for number, name in enumerate(frames) if name in frames[:number]), 0)
        repeated = {*frames[frames.index(frames[again]) : again]} if again else set()
        if not repeated and end.exception and len(frames) >= _CUT:
            return ()
    return sorted(repeated)[:_FRAMES] or frames[:_FRAMES]


def is_clear(signature: Signature) -> bool:
    """Return whether a signature alone identifies a bug, so that no reduced program is needed."""
    if signature.kind in UNCLEAR or signature.detail.endswith(outcome.SILENT):
        return False
    if signature.kind == round_trip.KIND:
        what, _, detail = signature.detail.partition(": ")[2].partition(": ")
        changed = what in (round_trip.DIFFERENT, round_trip.INVALID)
        return not changed and is_clear(Signature(what, detail))
    if is_stack_overflow(signature.detail):  # without frames
        return False
    return signature.kind != outcome.CRASH or not re.fullmatch(
        rf"(?:SIG[A-Z]+|signal N|SIGABRT: .*)?(?:(?:, )?{_INVALID})?", signature.detail
    )


def exception_of(verdict: Verdict) -> str:
    """Return the message of an uncaught exception, normalised, or "" for other verdicts.

    Exceptions at one place have one signature, but their messages may be about several bugs. Quoted
    strings are preserved, because they distinguish `KeyError: '+='` from `KeyError: '-='`.
    """
    signature = verdict.signature
    _, _, text = verdict.message.partition(f": {outcome.INTERNAL}: ")
    name = signature.detail.rpartition(": ")[2]
    of_target = signature.kind == outcome.INTERNAL and f"{name}: " in text
    of_printer = signature.kind == round_trip.KIND
    return normalisation.message(text, strings=True) if of_target or of_printer else ""


def _function(name: str) -> Function:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise JudgeError(f"invalid function name {name!r}: expected module:function")
    if os.getcwd() not in sys.path:  # noqa: PTH109  # as Python does for scripts
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        value: Any = importlib.import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise JudgeError(f"could not import {name!r}: {error}") from None
    if not callable(value):
        raise JudgeError(f"{name!r} is not a function")
    return value  # type: ignore[no-any-return]  # its result is checked
