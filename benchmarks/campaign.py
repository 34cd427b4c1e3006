"""Campaigns: how many planted bugs they find, and the target's share of the time.

Needs Node, and `npm ci --prefix tests/luau`. Twenty bugs are planted in the real Luau
(tests/luau/planted.mjs). Two workers get ten minutes, without a corpus, to find the first ten. They
get another ten minutes for the others, which need boundary values, infinite loops, or a comparison
with a rewritten program. For comparison, the first campaign is repeated with repaired random trees.
Finally, a target that only uses CPU time shows the target's share of the time of a campaign.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.processes import TESTS, lacks_luau
from benchmarks.timing import table, verdict
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.targets.description import Description

PLANTED = f"node {TESTS / 'luau' / 'planted.mjs'} {TESTS / 'luau'}"
SERVICE = f"{sys.executable} {TESTS / 'scriptschema' / 'fuzzing' / 'service.py'}"

Bugs = Mapping[str, tuple[str, str]]

BUGS: Bugs = {
    "rep": ("difference", "string.rep"),
    "floordiv": ("difference", "Op.FloorDiv"),
    "floor": ("difference", "math.floor"),
    "internal": ("internal error", "until"),
    "leak": ("memory", "table.create"),
    "hang": ("hang", "string.find"),
    "crash": ("crash", "bit32.extract"),
    "compound": ("crash", "CompoundAssign"),
    "close": ("assertion", "not protected"),
    "interpolation": ("assertion", "top == base"),
}
"""The kind of each bug's signature, and a text that the signature contains."""

LATER_BUGS: Bugs = {
    "rotate": ("difference", "bit32.rrotate"),
    "sub": ("difference", "string.sub"),
    "create": ("assertion", "size > "),
    "precision": ("difference", "string.format"),
    "smallest": ("difference", "bit32.bor"),
    "fold": ("difference", "Op.Mod"),
    "step": ("difference", "StatFor"),
    "endless": ("internal error", "no block after a loop"),
    "once": ("difference", "statements in loops"),
    "wrapped": ("difference", "statements in coroutines"),
}
"""More bugs: at limits, in conversions, loops and coroutines; three of them occur at all levels."""


def main(smoke: bool) -> None:
    """Print all figures."""
    if not lacks_luau("the planted bugs"):
        find_planted(5.0 if smoke else 600.0)
    efficiency(8.0 if smoke else 30.0)


def find_planted(seconds: float) -> None:
    """Print how many planted bugs are found in `seconds`, with programs and with repaired trees."""
    for bugs in (BUGS, LATER_BUGS):
        finds = planted("program", seconds, bugs)
        verdict("planted bugs found", len(finds), len(bugs), least=True)
        most = max((len(each) for each in finds.values()), default=0)
        verdict("most reports of one", most, 1, least=False)
        # `floor` needs 22: constants are integers, so that it takes `print(math.floor(-1 / 2))`.
        nodes = [find.reduced.nodes for each in finds.values() for find in each if find.reduced]
        verdict("nodes of the largest", max(nodes, default=0), 20, least=False)
    verdict("found by repaired trees", len(planted("repaired", seconds, BUGS)), 5, least=False)


def planted(source: str, seconds: float, bugs: Bugs) -> dict[str, list[Find]]:
    """Return the finds of a campaign by bug.

    `source` is the source of its programs, and `bugs` are the bugs to plant.
    """
    command = " ".join([PLANTED, *bugs])
    target = Description("persistent", command, variants=("-O0", "-O2"), seconds=2)
    found: dict[str, list[Find]] = {}
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "campaign"
        with Campaign(folder, Config(targets=(target,), source=source)) as campaign:
            session = Session(campaign, jobs=2, seconds=seconds)
            session.run()
        for _, find in finds.load_all(folder):
            bug = bug_of(find, bugs)
            found.setdefault(bug, []).append(find)
            small = str(find.reduced.nodes) if find.reduced else "-"
            rows.append((bug, f"{find.seconds:.0f}", str(find.count), small, str(find.signature)))
    title = f"{source}s, {session.programs_done:,} in {seconds:.0f} s"
    table((title, "found at s", "times", "nodes", "signature"), rows)
    print()
    return {bug: each for bug, each in found.items() if bug in bugs}


def bug_of(find: Find, bugs: Bugs) -> str:
    """Return the name of the bug that a find shows; the find's name if it is none of `bugs`."""
    text = str(find.signature)
    for bug, (kind, part) in bugs.items():
        if find.signature.kind == kind and part in text:
            return bug
    return find.name


def efficiency(seconds: float) -> None:
    """Print the target's share of the time, and the runs per second."""
    rows = []
    for milliseconds in (10, 1):
        target = Description("persistent", f"{SERVICE} {milliseconds / 1000}")
        marks: list[tuple[float, int]] = []

        def on_event(event: dict[str, Any], marks: list[tuple[float, int]] = marks) -> None:
            if event["event"] == "progress" and event["runs"]:
                marks.append((time.monotonic(), event["runs"]))

        with (
            tempfile.TemporaryDirectory() as name,
            Campaign(Path(name) / "campaign", Config(targets=(target,))) as campaign,
        ):
            Session(campaign, jobs=2, seconds=seconds, on_event=on_event, finishing=0).run()
        lasted = marks[-1][0] - marks[0][0] if marks else 0.0
        rate = (marks[-1][1] - marks[0][1]) / lasted if lasted else 0.0
        share = rate * milliseconds / 1000 / 2
        rows.append((f"{milliseconds} ms", f"{rate:,.0f}", f"{share:.0%}"))
        if milliseconds == 10:
            verdict("target's share of the time at 10 ms", share, 0.9, least=True)
        else:
            verdict("runs a second at 1 ms", rate, 1000, least=True)
    table(("a run takes", "runs/s", "the target's"), rows)
    fuzzer = Fuzzer(Config(targets=(Description("persistent", SERVICE),)), seed=1)
    fuzzer.work(seconds=60, programs=200)
    start = time.process_time()
    programs = fuzzer.work(seconds=60, programs=1000).interval.programs
    taken = (time.process_time() - start) / programs
    fuzzer.close()
    # Two cores have two seconds of processor time per second: with a target that takes 1 ms, a
    # thousand runs leave 1 ms for each.
    verdict("own processor time for a program, ms", taken * 1000, 1, least=False)
