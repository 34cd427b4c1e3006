"""Runs a find's program again, or replays the last requests to the process that failed.

`bisect` determines which of several builds is the first to show a bug.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.campaign.runner import Runner, try_commands
from scriptschema.fuzzing.oracles import differential, judging, round_trip
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Spelling, written
from scriptschema.fuzzing.targets.description import WITH_COMMAND, TargetError
from scriptschema.fuzzing.targets.opening import open_target, try_target
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.targets.persistent import PersistentTarget
from scriptschema.messages import ModuleSet

SEQUENCES: Final = 5
PROGRAMS: Final = 20
"""The maximum number of attempts to reproduce a find: `SEQUENCES` if requests are stored for it,
otherwise `PROGRAMS`."""


Judged: TypeAlias = tuple[Verdict | None, list[Run]]
"""The verdict on a program, or on a sequence of requests, and the runs."""


def run(config: Config, find: Find, tree: ModuleSet, style: Spelling) -> Judged:
    """Run a find's program, written in `style`, on all targets. Return the verdict and the runs.

    Raises TargetError and JudgeError.
    """
    with closing(Runner(config)) as runner:
        return runner.verdict(tree, style, whole=True, wanted=find.signature)


def shows(config: Config, find: Find, verdict: Verdict | None) -> bool:
    """Return whether a verdict is about the same bug as a find."""
    seen = find.signature.seen
    return verdict is not None and verdict.signature.agrees(seen, config.run_targets)


def replay(
    config: Config, folder: Path, find: Find, tree: ModuleSet, style: Spelling
) -> Iterator[Judged]:
    """Run a find's program until the bug is reproduced, and yield the result of each run.

    If the find has stored requests, they are replayed instead. The number of attempts is limited to
    `PROGRAMS` or `SEQUENCES`. Raises FileError, TargetError and JudgeError.
    """
    requests = finds.requests_of(folder)
    for _ in range(SEQUENCES if requests else PROGRAMS):
        if requests:
            verdict, runs = _replay(config, requests, find, tree, style)
        else:
            verdict, runs = run(config, find, tree, style)
        yield verdict, runs
        if shows(config, find, verdict):
            return


def _replay(
    config: Config,
    requests: tuple[str, ...],
    find: Find,
    tree: ModuleSet,
    style: Spelling,
) -> Judged:
    """Replay the requests on the target that crashed or failed."""
    broken = next(
        (n for n, run in enumerate(find.program.runs) if run.outcome.kind in outcome.BROKEN), 0
    )
    pairs = [(each, variant) for each in config.targets for variant in each.variants]
    description, variant = pairs[min(broken, len(pairs) - 1)]
    with closing(open_target(description)) as target:
        broke = target.replay(requests) if isinstance(target, PersistentTarget) else None
    if broke is None:
        return None, []
    with closing(Runner(config)) as runner:
        runs = [Run(description.run_name(variant), broke)]
        return runner.judge_all(tree, style, written(tree, style), runs), runs


@attrs.frozen
class Bisection:
    """The result of a bisection: the builds, oldest first, and whether each build shows the bug.

    `shows` contains only the builds that were run. `first` is the first build that shows the bug,
    or None if the newest build does not show it. `before` is the build before `first`, if there is
    one.
    """

    builds: list[str]
    shows: dict[str, bool]
    first: str | None = None
    before: str | None = None

    def __str__(self) -> str:
        if self.first is None:
            return f"the newest build, {self.builds[-1]}, does not show the bug"
        if self.before is None:
            return f"all builds show the bug, including {self.first}, the oldest"
        return f"{self.first} is the first build with the bug, {self.before} the last without it"


def bisect(
    config: Config,
    find: Find,
    tree: ModuleSet,
    builds: Sequence[tuple[str, str]],
    on_run: Callable[[str, bool], None],
    replaced: str = "",
) -> Bisection:
    """Find the first build that shows a find's bug.

    `config` is the configuration of the find's campaign. `tree` is the find's smallest program.
    `builds` are (name, command) pairs, oldest first. Each command replaces the command of the
    target that shows the bug, or of the target `replaced`, a value of `--target`. A build shows the
    bug if its verdict is of the same kind as the find's. Stacks are not compared, because they may
    differ between builds. `on_run` is called with the name of each build that was run, and whether
    it shows the bug. Each build runs a one-line program first, because a build that cannot run
    anything would wrongly seem to be free of the bug. The same applies to the campaign's other
    targets, its checker and its printer.

    Raises JudgeError, and TargetError, for example if a build cannot run a one-line program, or if
    several targets may have the bug.
    """
    bisection = Bisection([name for name, _ in builds], {})
    wanted = find.signature.seen.kind
    target = _replaced(config, find, replaced)
    others = config.targets[:target] + config.targets[target + 1 :]
    try_commands(attrs.evolve(config, targets=others))

    def shows(number: int) -> bool:
        name, command = builds[number]
        if name not in bisection.shows:
            built = _with_build(config, target, command)
            try:
                try_target(built.targets[target])
            except TargetError as error:
                raise TargetError(f"{name}: {error}") from None
            verdict, runs = run(built, find, tree, find.smallest.style)
            bisection.shows[name] = (
                verdict is not None
                and outcome.agree(verdict.signature.kind, wanted)
                and target in _suspected(built, verdict.signature, runs)
            )
            on_run(name, bisection.shows[name])
        return bisection.shows[name]

    good, bad = 0, len(builds) - 1
    if not shows(bad):
        return bisection
    if shows(good):
        return attrs.evolve(bisection, first=builds[good][0])
    while bad - good > 1:
        middle = (good + bad) // 2
        if shows(middle):
            bad = middle
        else:
            good = middle
    return attrs.evolve(bisection, first=builds[bad][0], before=builds[good][0])


def _replaced(config: Config, find: Find, word: str) -> int:
    """Return the index of the target that builds replace. `word` is a value of `--target` or empty.

    Raises TargetError if no target has the bug, or if it is not known which target has it.
    """
    signature = find.signature.seen
    role = signature.detail.partition(":")[0]
    if signature.kind == round_trip.KIND or (signature.kind, role) == (judging.TYPES, "checker"):
        place = "scriptschema's own parser" if role == "parse" else f"the campaign's {role}"
        raise TargetError(
            f"bisection replaces a target, but this bug is in {place}: run the find's program with "
            "each build of it instead"
        )
    words = {
        number: f"{target.kind}:{target.command}"
        for number, target in enumerate(config.targets)
        if target.kind in WITH_COMMAND
    }
    if word:
        if word not in words.values():
            raise TargetError(
                f"the campaign has no target {word!r} that is a command; its commands: "
                f"{', '.join(map(repr, words.values()))}"
            )
        return next(number for number in words if words[number] == word)
    suspected = _suspected(config, signature, find.smallest.runs)
    commands = [number for number in suspected if number in words]
    if not commands:
        raise TargetError(
            "bisection requires a campaign whose target is a command, found "
            f"{config.targets[suspected[0]].kind}"
        )
    if len(commands) > 1:
        values = " or ".join(f"--target {shlex.quote(words[number])}" for number in commands)
        raise TargetError(
            f"several targets may have the bug; say which one the builds replace: {values}"
        )
    return commands[0]


def _suspected(config: Config, signature: Signature, runs: Sequence[Run]) -> list[int]:
    """Return the indices of the targets that may have a bug, given its signature and its runs.

    If only the runs of two targets differ, either of them may have the bug.
    """
    every = [*range(len(config.targets))]
    numbers = [number for number in every for _ in config.targets[number].variants]
    kind = signature.kind

    def targets_of(chosen: Iterable[bool]) -> list[int]:
        pairs = zip(numbers, chosen, strict=False)
        return sorted({number for number, is_chosen in pairs if is_chosen})

    if kind in outcome.BROKEN | outcome.LIMITS:
        return targets_of(outcome.agree(run.outcome.kind, kind) for run in runs) or every
    if kind == judging.ACCEPTED:
        return targets_of(run.outcome.kind in judging.ACCEPTING for run in runs) or every
    names = differential.short_names(runs)
    same, different = (
        targets_of(name in part.split(", ") for name in names)
        for part in signature.detail.rpartition(" / ")[::2]
    )
    is_known = len(different) == 1 and (len(same) > 1 or same == different)
    return different if kind == differential.KIND and is_known else every


def _with_build(config: Config, number: int, command: str) -> Config:
    targets = [*config.targets]
    targets[number] = attrs.evolve(targets[number], command=command)
    return attrs.evolve(config, targets=tuple(targets))
