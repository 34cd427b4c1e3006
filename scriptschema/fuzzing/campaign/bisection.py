"""Which of several builds is the first that shows a find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from scriptschema.fuzzing.campaign import replay
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.description import WITH_COMMAND, TargetError
from scriptschema.messages import ModuleSet


@attrs.frozen
class Bisection:
    """The builds, the oldest first, and whether those that were run show the find.

    `first` is the first that shows it; None if the newest does not. `before` is the last that does
    not show it; None if the oldest shows it, and then one that is older still may be the first.
    """

    builds: list[str]
    shows: dict[str, bool]
    first: str | None = None
    before: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
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
    """Look for the first build, by halves; the builds are names and commands, the oldest first.

    A command takes the place of that of the campaign's first target, whose variants and limits
    stay. A build shows the find if what it does is of the same kind: a stack may be another there.

    Raises TargetError and JudgeError.
    """
    config = Config.from_json(find.config)
    found = Bisection([name for name, _ in builds], {})

    def shows(number: int) -> bool:
        name, command = builds[number]
        if name not in found.shows:
            verdict = replay.run(_with_build(config, command), tree).verdict
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
    """The kind of verdict that a find's program brings when it shows it."""
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
