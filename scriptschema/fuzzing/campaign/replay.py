"""Reproduces finds: runs the program, or replays the requests to the process that broke."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.writing import Spelling
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.targets.persistent import PersistentTarget
from scriptschema.messages import ModuleSet

SEQUENCES: Final = 5
PROGRAMS: Final = 20
"""The number of attempts with a sequence of requests or, without one, with the program."""


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
