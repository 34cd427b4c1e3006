"""A campaign's folder as it may look after a night, including hostile programs."""

from pathlib import Path

import pytest

from scriptschema.fuzzing.campaign import config, finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find, ShownProgram
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.oracles.verdict import Difference, Signature, Verdict
from scriptschema.fuzzing.targets.description import from_word
from scriptschema.fuzzing.targets.outcome import Outcome, Run
from scriptschema.luau.parse import parse

HOSTILE = (
    "</pre></script><script>document.title = 'owned'</script><img src=x onerror=alert(1)>\x1b[31m"
)


def run(target: str, kind: str, output: str = "", error: str = "", **more: object) -> Run:
    return Run(target, Outcome(kind, output, error, **more))  # type: ignore[arg-type]


def difference() -> tuple[Find, str, str]:
    verdict = Verdict(
        Signature("difference", "line 2", "math.floor"),
        "-O0 and -O2 print different lines",
        Difference(2, "luau-web -O0", "luau-web -O2", "sum 12 <b>ok</b>", "sum 13 <b>ok</b>"),
    )
    runs = [
        run("luau-web -O0", "ok", "start\nsum 12 <b>ok</b>\n"),
        run("luau-web -O1", "ok", "start\nsum 12 <b>ok</b>\n"),
        run("luau-web -O2", "ok", "start\nsum 13 <b>ok</b>\n"),
    ]
    find = Find(
        verdict.signature.name,
        verdict,
        ShownProgram(240, runs),
        ShownProgram(9, runs),
        count=31,
        first_seen="2026-11-22T01:02:03Z",
        last_seen="2026-11-22T05:00:00Z",
        seconds=754.2,
        origin={"fuzzer": 1000, "number": 71, "operators": ["insert"]},
        versions={"scriptschema": "0.1.0", "luau-web": "1.3.0"},
        reduction_tests=188,
    )
    found = "local v0 = 12.5\nfor i = 1, 3 do\n  print('x', i)\nend\nprint(math.floor(v0))\n"
    return find, found, "-- small\nprint(math.floor(12.5) + 1)\n"


def crash() -> tuple[Find, str]:
    verdict = Verdict(
        Signature("sanitizer", f"heap-use-after-free luau_{HOSTILE}", "coroutine.close"),
        f"AddressSanitizer: heap-use-after-free {HOSTILE}",
    )
    error = "ERROR: AddressSanitizer\n    #0 luaV_close lvm.cpp:12\n" + HOSTILE
    runs = [run("luau -O2", "sanitizer", HOSTILE + "\ud800", error, status=-6, frames=("f", "g"))]
    find = Find(
        verdict.signature.name,
        verdict,
        ShownProgram(80, runs),
        first_seen="2026-11-22T01:00:00Z",
        seconds=2.5,
    )
    return find, f"print({HOSTILE.replace(chr(27), '')!r}, [[\u202e reversed]])"


def megabyte() -> tuple[Find, str]:
    verdict = Verdict(Signature("hang", "print"), "longer than 5 s")
    runs = [run("luau", "hang", "y" * 1_000_000)]
    find = Find(verdict.signature.name, verdict, ShownProgram(3, runs), seconds=9000.0, count=2)
    return find, f"print('{'x' * 1_000_000}')"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "campaign"
    folder.mkdir()
    config.save(folder, Config((from_word("luau-web"),), seed=4))
    for find, source in (crash(), megabyte()):
        add(folder, find, source)
    find, source, reduced = difference()
    add(folder, find, source, reduced)
    for number in range(1, 200):
        statistics.append(folder, interval(number))
    return folder


def add(folder: Path, find: Find, source: str, reduced: str | None = None) -> None:
    """Add a find with its exact sources, because trees do not preserve everything in them."""
    small = parse("print(1)").tree
    path = finds.add(folder, find, small, None if reduced is None else small)
    data = source.encode("utf-8", "surrogateescape")
    (path / "program.luau").write_bytes(data)
    if reduced is not None:
        (path / "reduced.luau").write_text(reduced)


def interval(number: int) -> Interval:
    return Interval(
        seconds=number * 60.0,
        at="2026-11-22T01:00:00Z",
        programs=1000 + number,
        runs=3 * (1000 + number),
        run_seconds=58.0,
        corpus=100 + number // 2,
        finds=min(3, number // 60),
        outcomes={"ok": 900 + number, "error": 100},
        errors={"attempt to call a nil value": 80, f"line N: {HOSTILE}": 20},
        features={"math.floor": 50, "print": 1000, "StatWhile.cond: ExprBinary": 7},
        known={"difference: os.clock": 2},
        operators={"insert": [500, 400, 20], "hoist": [100, 40, 1]},
    )
