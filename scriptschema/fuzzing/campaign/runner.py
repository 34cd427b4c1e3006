"""The runner, which runs programs on all targets and variants of a campaign, and judges them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import attrs

from scriptschema import messages as m
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles import differential, round_trip
from scriptschema.fuzzing.oracles.judging import Judge, Plain
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.rewriting import REWRITINGS
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources, Spelling, written
from scriptschema.fuzzing.targets.description import from_table
from scriptschema.fuzzing.targets.opening import open_target, try_target
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.targets.persistent import PersistentTarget
from scriptschema.fuzzing.uncalled import runs_nothing
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.maker import STEPS
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ModuleSet

SHORTEST: Final = 0.5
TIMES: Final = 30
"""The time limit of a run is `TIMES` times the usual duration, but at least `SHORTEST` seconds.

A hang is reported only if a run exceeds the target's full time limit as well.
"""


_CATCHES: Final = re.compile(r"\bx?pcall\b|\bcoroutine\b")
_OVERFLOW: Final = "a stack overflow was caught"
_REPORTING: Final = f"""
do
    local function noted(ok, ...)
        local text = tostring((...))
        if not ok and (text:find("stack overflow") or text:find("error in error handling")) then
            print("{_OVERFLOW}")
        end
        return ok, ...
    end
    local called, xcalled, resumed = pcall, xpcall, coroutine.resume
    local environment = getfenv()
    environment.pcall = function(...) return noted(called(...)) end
    environment.xpcall = function(f, handler, ...)
        return xcalled(f, function(...) noted(false, ...) return handler(...) end, ...)
    end
    environment.coroutine = table.clone(coroutine)
    environment.coroutine.resume = function(...) return noted(resumed(...)) end
end
"""
"""Code that is inserted before a program, and prints a line if the program catches a stack
overflow."""


_MOST: Final = 2
_SURELY: Final = 20
"""A program may be endless if it takes more than `_MOST` times as many steps as generated programs
usually take, and is certainly not a correctly executed generated program after `_SURELY` times as
many."""

_STOPPED: Final = "stopped after many steps"
_COUNTING: Final = """
local {name}
do
    local steps, print, error = 0, print, error
    {name} = function()
        steps = steps + 1
        if steps > {most} then
            print("{stopped}")
            error("{stopped}")
        end
    end
end
"""
"""Code that `_counting` inserts before a program. It declares the function that counts steps."""


def _counting(tree: ModuleSet, times: int = _MOST) -> Sources | None:
    """Return the sources of a program that stops itself after too many steps.

    These are `times` as many as generated programs of this size usually take. A step is an
    iteration of a loop or a call of one of the program's functions. The result is None if no name
    is free for the function that counts.
    """
    edited = copy(tree)
    index = Index(edited)
    free = index.unused_local()
    if free is None:
        return None
    # Type functions cannot call the program's functions.
    unsuited = {n for number in index.of(m.StatTypeFunction) for n in index.inside(number)}
    for cls in (m.ExprFunction, m.StatFor, m.StatForIn, m.StatRepeat, m.StatWhile):
        for number in index.of(cls):
            if number not in unsuited:
                node: Any = index.nodes[number]
                node.body.body.insert(0, nodes.call_statement(nodes.call_local(free, [])))
    text = _COUNTING.format(
        name=DEFAULT.locals[free], most=times * (STEPS + len(index)), stopped=_STOPPED
    )
    return Sources(None, text + render_module_set(edited).program)


def _plain(tree: ModuleSet, style: Spelling) -> Plain | None:
    return None if style is None else partial(render_module_set, tree)


def try_commands(config: Config, runs: Sequence[Run] = ()) -> None:
    """Try a campaign's targets, its checker and its printer on a one-line program.

    A target is skipped if `runs` contains a run that ended normally for each variant. Raises
    TargetError if a command does not work.
    """
    worked = {run.target for run in runs if run.outcome.kind == outcome.OK}
    for description in config.targets:
        if not worked.issuperset(map(description.run_name, description.variants)):
            try_target(description)
    judge = Judge(config.oracles, (), checker=config.checker, printer=config.printer)
    with contextlib.closing(judge):
        judge.try_commands()


class Runner:
    """Runs programs on a campaign's targets, and judges them.

    If `full_limits` is true, all runs have the targets' full time limits. Callers must call
    `close`. Raises TargetError and JudgeError.
    """

    def __init__(self, config: Config, *, full_limits: bool = False) -> None:
        self.config = config
        self.full_limits = full_limits
        self._targets = [open_target(description) for description in config.targets]
        self._usual = [description.seconds / TIMES for description in config.targets]
        numbers = [
            number
            for number, description in enumerate(config.targets)
            for _ in description.variants
        ]
        self.judge = Judge(
            config.oracles,
            numbers,
            checker=config.checker,
            printer=config.printer,
            function=config.judge,
            compare=config.compare,
            ulps=config.ulps,
        )

    def submit(self, sources: Sources, *, whole: bool = False) -> None:
        """Start a program on all targets.

        If `whole` is true, all variants run, with the targets' full time limits. Otherwise, a
        target's remaining variants are skipped after an outcome in `BROKEN`, such as a crash.
        """
        for target, usual in zip(self._targets, self._usual, strict=True):
            seconds = target.description.seconds
            if not (whole or self.full_limits):
                seconds = min(seconds, max(SHORTEST, TIMES * usual))
            target.submit(sources, seconds, until_broken=not whole)

    def collect(self) -> list[Run]:
        """Wait for the submitted program, and return its runs."""
        runs = []
        for number, target in enumerate(self._targets):
            variants = target.description.variants
            for variant, result in zip(variants, target.collect(), strict=True):
                runs.append(Run(target.description.run_name(variant), result))
                if result.kind in outcome.ORDINARY:
                    self._usual[number] += 0.05 * (result.seconds - self._usual[number])
        return runs

    def run(self, sources: Sources, *, whole: bool = False) -> list[Run]:
        """Run a program, and return its runs. `whole` is explained in `submit`."""
        self.submit(sources, whole=whole)
        return self.collect()

    def verdict(
        self,
        tree: ModuleSet,
        style: Spelling = None,
        *,
        whole: bool = False,
        wanted: Signature | None = None,
    ) -> tuple[Verdict | None, list[Run]]:
        """Run a program, written according to `style`. Return all oracles' verdict, and the runs.

        If `wanted` is the signature of a difference between a program and its rewritten version,
        the rewritten version is run as well. The round-trip oracles are applied only if `wanted` is
        None or one of their signatures.
        """
        sources = written(tree, style)
        runs = self.run(sources, whole=whole)
        verdict = self.judge_runs(tree, style, sources, runs)
        is_text = wanted is not None and wanted.kind == round_trip.KIND
        if is_text and all(run.outcome.kind in outcome.LIMITS for run in runs):
            verdict = None  # a printer may also have a bug with programs that do not end
        if verdict is not None:
            verdict = self.unless_exempt(tree, style, runs, verdict, whole=whole)
        if verdict is None and wanted is not None and wanted.detail in REWRITINGS:
            rewritten = REWRITINGS[wanted.detail](tree)
            if rewritten is not None:
                sources = written(rewritten, style)
                others = self.run(sources, whole=whole)
                if self.judge_runs(rewritten, style, sources, others) is None:
                    verdict, runs = self.judge_rewritten(wanted.detail, tree, runs, others)
                    if verdict and self._overflows(sources, whole=whole):
                        verdict = None  # the stack of the rewritten version overflows earlier
        if verdict is None and (wanted is None or is_text):
            verdict = self.judge_text(tree, style, written(tree, style))
        return verdict, runs

    def unless_exempt(
        self,
        tree: ModuleSet,
        style: Spelling,
        runs: Sequence[Run],
        verdict: Verdict,
        *,
        whole: bool,
    ) -> Verdict | None:
        """Return the verdict on the runs of a program, or None if the program itself is the cause.

        That is so if all runs reach a limit because the program is endless, and if runs differ
        because the program catches a stack overflow. For a program that is certainly endless, the
        verdict is `outcome.ENDLESS`: it shows a bug if the program was generated to terminate.
        """
        kind = verdict.signature.kind
        if isinstance(style, str) or runs_nothing(tree):
            return verdict
        if kind == differential.KIND:
            overflows = self._overflows(written(tree, style), whole=whole)
            return None if overflows else verdict
        # If a program has several runs, those that end show that it is not the cause.
        kinds = {run.outcome.kind for run in runs}
        if kind not in outcome.LIMITS or not kinds <= outcome.LIMITS:
            return verdict
        if not self._takes(_MOST, tree, whole=whole):
            return verdict
        if kind == outcome.MEMORY or not self._takes(_SURELY, tree, whole=whole):
            return None
        signature = Signature(outcome.ENDLESS, verdict.signature.detail)
        return Verdict(signature, "all runs hang, and the program takes too many steps")

    def _takes(self, times: int, tree: ModuleSet, *, whole: bool) -> bool:
        """Return whether a program takes more than `times` the usual number of steps."""
        sources = _counting(tree, times)
        if sources is None:
            return False
        return any(_STOPPED in run.outcome.output for run in self.run(sources, whole=whole))

    def _overflows(self, sources: Sources, *, whole: bool) -> bool:
        """Return whether a program catches a stack overflow.

        The depth of an overflow, and thus the program's output, depends on the optimization level.
        """
        if not _CATCHES.search(sources.program):
            return False
        runs = self.run(Sources(sources.module, _REPORTING + sources.program), whole=whole)
        return any(_OVERFLOW in run.outcome.output for run in runs)

    def judge_rewritten(
        self, name: str, tree: ModuleSet, runs: list[Run], others: list[Run]
    ) -> tuple[Verdict | None, list[Run]]:
        """Return the verdict on a program and its rewritten version, and the runs of both.

        `runs` are the runs of the program, `others` those of the rewritten version. `name` is the
        key in `REWRITINGS`. In the result, it is appended to the target names of `others`.
        """
        named = [Run(f"{run.target}, {name}", run.outcome) for run in others]
        verdict = self.judge.judge_rewritten(name, render_module_set(tree), runs, named)
        return verdict, [*runs, *named]

    def judge_all(
        self,
        tree: ModuleSet,
        style: Spelling,
        sources: Sources,
        runs: Sequence[Run],
        *,
        claim: Verdict | None = None,
        own: bool = True,
    ) -> Verdict | None:
        """Return the combined verdict of all oracles on a program, given its runs.

        `sources` is the program, written according to `style`. `claim` is the verdict of another
        engine, which counts if the runs show no bug. `own` is as in `Judge.judge_text`.
        """
        of_runs = self.judge_runs(tree, style, sources, runs)
        return of_runs or claim or self.judge_text(tree, style, sources, own=own)

    def judge_runs(
        self, tree: ModuleSet, style: Spelling, sources: Sources, runs: Sequence[Run]
    ) -> Verdict | None:
        """Like `judge_all`, but without the round-trip oracles."""
        if isinstance(style, str):
            return self.judge.judge_refusal(style, runs)
        return self.judge.judge(sources, runs, _plain(tree, style))

    def judge_text(
        self, tree: ModuleSet, style: Spelling, sources: Sources, *, own: bool = True
    ) -> Verdict | None:
        """Like `judge_all`, but with only the round-trip oracles, which need no runs."""
        if isinstance(style, str):
            return None
        return self.judge.judge_text(sources, _plain(tree, style), own=own)

    def only_broken(self, runs: Sequence[Run]) -> Runner | None:
        """Return a runner for only the target and variant of the last broken run in `runs`.

        A broken run has an outcome in `BROKEN`, such as a crash, and decides the verdict. Returns
        None if no run is broken, or if there is only one variant.
        """
        variants = [(each, variant) for each in self.config.targets for variant in each.variants]
        # Variants that optimize more usually come last, and show the bug even without `@native`.
        for (description, variant), run in reversed([*zip(variants, runs, strict=False)]):
            if run.outcome.kind in outcome.BROKEN and len(variants) > 1:
                target = from_table({**attrs.asdict(description), "variants": [variant]})
                config = attrs.evolve(self.config, targets=(target,))
                return Runner(config, full_limits=self.full_limits)
        return None

    def restart(self) -> None:
        """Terminate the services, so that the next program runs in new processes."""
        for target in self._targets:
            if isinstance(target, PersistentTarget):
                target.close()

    def close(self) -> None:
        """Terminate all target processes."""
        for target in self._targets:
            target.close()
        self.judge.close()
