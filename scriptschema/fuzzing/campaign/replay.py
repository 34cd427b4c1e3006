"""Reproduces finds: runs the program, or replays the requests to the process that broke.

`bisect` finds the first of several builds that shows a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Spelling
from scriptschema.fuzzing.targets.description import WITH_COMMAND, TargetError
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.targets.persistent import PersistentTarget
from scriptschema.messages import ModuleSet

SEQUENCES: Final = 5
PROGRAMS: Final = 20
"""The number of attempts with a sequence of requests or, without such a sequence, the program."""


@attrs.frozen
class Shown:
    """The result of a program, or of a sequence that ends with it: runs and verdict."""

    runs: list[Run]
    verdict: Verdict | None


def is_of(signature: Signature, find: Find) -> bool:
    """Return whether a signature is that of a find, apart from the construct."""
    if find.signature.kind == outcome.ONCE:
        return str(signature) == find.signature.detail
    return (signature.kind, signature.detail) == (find.signature.kind, find.signature.detail)


def run(config: Config, find: Find, tree: ModuleSet, style: Spelling) -> Shown:
    """Run a find's program, written in a style, on all targets of a campaign.

    Raises TargetError and JudgeError.
    """
    runner = Runner(config)
    try:
        verdict, runs = runner.verdict(tree, style, whole=True, wanted=find.signature)
        return Shown(runs, verdict)
    finally:
        runner.close()


def replay(
    config: Config, folder: Path, find: Find, tree: ModuleSet, style: Spelling
) -> Iterator[Shown]:
    """Run a find's program repeatedly until it is reproduced; yield each result.

    Raises FileError, TargetError and JudgeError.
    """
    requests = finds.requests_of(folder)
    for _ in range(SEQUENCES if requests else PROGRAMS):
        if requests:
            shown = _replay(config, requests, find, tree, style)
        else:
            shown = run(config, find, tree, style)
        yield shown
        if shown.verdict is not None and is_of(shown.verdict.signature, find):
            return


def _replay(
    config: Config,
    requests: tuple[str, ...],
    find: Find,
    tree: ModuleSet,
    style: Spelling,
) -> Shown:
    """Replay the requests on the target that broke."""
    broken = next(
        (n for n, run in enumerate(find.program.runs) if run.outcome.kind in outcome.BROKEN), 0
    )
    pairs = [(each, variant) for each in config.targets for variant in each.variants]
    description, variant = pairs[min(broken, len(pairs) - 1)]
    target = open_target(description)
    try:
        found = target.replay(requests) if isinstance(target, PersistentTarget) else None
    finally:
        target.close()
    if found is None:
        return Shown([], None)
    runner = Runner(config)
    try:
        runs = [Run(description.run_name(variant), found)]
        return Shown(runs, runner.judge_all(tree, style, runs))
    finally:
        runner.close()


@attrs.frozen
class Bisection:
    """The builds, oldest first, and for each that was run whether it shows the find's bug.

    `first` is the first build that shows it; None if the newest does not. `before` is the last
    build that does not; None if the oldest shows it, so that the bug may be older still.
    """

    builds: list[str]
    shows: dict[str, bool]
    first: str | None = None
    before: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data."""
        return attrs.asdict(self)

    def __str__(self) -> str:
        if self.first is None:
            return f"{self.builds[-1]} does not show it"
        if self.before is None:
            return f"all builds show it: {self.first}, the oldest of these, too"
        return f"{self.first} is the first that shows it, {self.before} the last that does not"


def bisect(
    find: Find,
    tree: ModuleSet,
    builds: Sequence[tuple[str, str]],
    on_run: Callable[[str, bool], None],
) -> Bisection:
    """Search for the first build by bisection; `builds` are names and commands, oldest first.

    `tree` is that of the find's smallest program.

    Each command replaces that of the campaign's first target, whose variants and limits are kept. A
    build shows the find if its verdict has the same kind, since stacks may differ between builds.

    Raises TargetError and JudgeError.
    """
    config = Config.from_json(find.config)
    found = Bisection([name for name, _ in builds], {})

    def shows(number: int) -> bool:
        name, command = builds[number]
        if name not in found.shows:
            built = _with_build(config, command)
            verdict = run(built, find, tree, find.smallest.style).verdict
            found.shows[name] = verdict is not None and verdict.signature.kind == kind_of(find)
            on_run(name, found.shows[name])
        return found.shows[name]

    good, bad = 0, len(builds) - 1
    if not shows(bad):
        return found
    if shows(good):
        return attrs.evolve(found, first=builds[good][0])
    while bad - good > 1:
        middle = (good + bad) // 2
        if shows(middle):
            bad = middle
        else:
            good = middle
    return attrs.evolve(found, first=builds[bad][0], before=builds[good][0])


def kind_of(find: Find) -> str:
    """Return the kind of verdict that a find's program yields."""
    if find.signature.kind == outcome.ONCE:
        return find.signature.detail.partition(":")[0]
    return find.signature.kind


def _with_build(config: Config, command: str) -> Config:
    first, *others = config.targets
    if first.kind not in WITH_COMMAND:
        raise TargetError(
            f"a campaign on {first.kind} has no command in whose place builds could be"
        )
    return attrs.evolve(config, targets=(attrs.evolve(first, command=command), *others))
