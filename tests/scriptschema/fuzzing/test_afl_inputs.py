"""Inputs that AFL++ keeps are judged once, and none of them is silently skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.afl import (
    SEEDS,
    AflEngine,
    EngineError,
    Inputs,
    _seeds,
    counts,
)
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import CORPUS, Campaign
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.session import State
from scriptschema.fuzzing.corpora.folder import CorpusFolder
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.fuzzing.targets.description import Description
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render

CAT = Description("command", "cat", seconds=5)
CONFIG = Config(targets=(CAT,), engine="afl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a campaign, with inputs from two instances."""
    out = tmp_path / "afl" / "out"
    for name, source in {
        "main/queue/id:000000,orig:a": "print(1)\n",
        "main/queue/id:000001,src:000000": "print(2)\n",
        "main/queue/id:000002,sync:secondary1,src:000000": "print(3)\n",
        "main/queue/.state/x": "",
        "secondary1/crashes/id:000000,sig:06": "while true do end\n",
        "secondary1/crashes/README.txt": "AFL++'s own",
        "secondary1/crashes/id:000001,sig:11": "end end \xff",
        "secondary1/queue/id:000000,src:1": "no ((( Luau",
        "secondary1/hangs/id:000000": "print(4)\n",
    }.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="latin-1")
    return tmp_path


def judging(folder: Path) -> Fuzzer:
    return Fuzzer(CONFIG, seed=1, programs=Inputs(CONFIG, 1, folder))


def test_each_input_is_judged_once_and_those_of_other_instances_there(folder: Path) -> None:
    fuzzer = judging(folder)
    batch = fuzzer.work(seconds=1)
    assert batch.inputs == [
        "secondary1/crashes/id:000000,sig:06",
        "secondary1/hangs/id:000000",
        "main/queue/id:000000,orig:a",
        "main/queue/id:000001,src:000000",
    ]
    assert batch.interval.programs == 4
    assert fuzzer.work(seconds=0.2).inputs == []
    (folder / "afl/out/main/queue/id:000003").write_text("print(5)\n")
    assert fuzzer.work(seconds=0.5).inputs == ["main/queue/id:000003"]
    fuzzer.close()


def test_an_input_is_judged_in_the_style_that_its_name_tells(folder: Path) -> None:
    tree = parse("print('a', 16, {1, 2}) print 'b'").tree.program
    queue = folder / "afl/out/main/queue"
    for path in queue.glob("id:*"):
        path.unlink()
    for number, (style, text) in enumerate(
        [(7, render(tree, style=7)), (8, render(tree, style=8)), (8, render(tree, style=7))]
    ):
        (queue / f"id:00000{number},src:000000,swap+insert@{style},+cov").write_text(text)
    inputs = Inputs(CONFIG, 1, folder)
    made = [made for made in iter(inputs.next, None) if "queue" in made.origin["input"]]
    assert [each.style for each in made] == [7, 8, None]  # another program put into the third
    for each in made[:2]:
        assert each.tree.program == tree
        assert each.sources.program == render(tree, style=each.style)
    assert made[2].tree.program == parse(render(tree, style=7), luau="today").tree.program


def test_a_crash_that_does_not_come_again_is_a_find_of_its_own(folder: Path) -> None:
    fuzzer = judging(folder)
    batch = fuzzer.work(seconds=1)
    fuzzer.close()
    [suspect] = batch.suspects
    assert str(suspect.verdict.signature) == "seen once: crash"
    assert suspect.origin == {"engine": "afl", "input": "secondary1/crashes/id:000000,sig:06"}
    assert batch.interval.unconfirmed == 1  # the hang


def test_a_crash_that_is_no_luau_is_reported_with_its_file_and_once(folder: Path) -> None:
    events: list[dict[str, Any]] = []
    with Campaign(folder / "campaign", CONFIG) as campaign:
        (folder / "afl").rename(folder / "campaign" / "afl")
        state = State(campaign, events.append)
        for _ in range(2):  # the second worker knows what the first one has judged
            fuzzer = judging(campaign.path)
            state.take(fuzzer.work(seconds=0.5))
            fuzzer.close()
        state.write()
    [told] = [event for event in events if event["event"] == "unreadable"]
    assert told["path"].endswith("campaign/afl/out/secondary1/crashes/id:000001,sig:11")
    assert "unreadable: afl/out/secondary1/crashes" in (folder / "campaign/log.txt").read_text()
    assert state.total.programs == 4


def test_programs_do_without_what_another_target_lacks(folder: Path) -> None:
    path = folder / "afl/out/main/queue/id:000009"
    path.write_text("print(buffer.create(1))\nprint(2)\n")
    inputs = Inputs(Config(targets=(CAT,), engine="afl", without=("buffer",)), 1, folder)
    for _ in range(10):
        made = inputs.next()
        if made is not None and made.origin["input"].endswith("9"):
            assert made.sources.program == "print(2)\n"
            break
    else:
        pytest.fail("it was not read")


def test_afl_starts_without_what_the_campaign_leaves_out(folder: Path) -> None:
    config = Config(targets=(CAT,), engine="afl", only=("math",), types="none")
    restriction = Restriction(config.missing())
    with Campaign(folder / "campaign", config) as campaign:
        CorpusFolder(campaign.path / CORPUS).add(
            encoding.encode(parse("print(1)\nlocal a: any = buffer.create(1)").tree)
        )
        seeds = [source for _, source in _seeds(campaign)]
    assert b"print(1)\n" in seeds
    assert len(seeds) == SEEDS + 1
    assert all(restriction.admits(parse(source).tree) for source in seeds)


@pytest.mark.parametrize(
    "target",
    [
        Description("pluau"),
        Description("command", "luau {variant} {file}"),
        Description("command", "luau {file}", variants=("-O1", "-O2")),
    ],
    ids=str,
)
def test_what_afl_cannot_run_is_refused(target: Description, tmp_path: Path) -> None:
    config = Config(targets=(target,), engine="afl")
    campaign = Campaign(tmp_path / "campaign", config)
    with campaign, pytest.raises(EngineError, match="built with AFL"):
        AflEngine(campaign)


def test_afl_that_is_not_there_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    campaign = Campaign(tmp_path / "campaign", CONFIG)
    with campaign, pytest.raises(EngineError, match=r"apt install afl\+\+"):
        AflEngine(campaign).__enter__()


def test_the_rate_of_the_first_minute_is_not_that_of_the_calibration() -> None:
    # As afl-fuzz 4.04c writes it at its start, and after a minute.
    first = {"run_time": "0", "execs_done": "421", "execs_per_sec": "inf", "edges_found": "9"}
    later = {"run_time": "60", "execs_done": "24000", "execs_per_sec": "400.00", "edges_found": "8"}
    assert counts([]) == {"executions": 0, "executions_per_second": None, "covered": 0}
    assert counts([first, {}])["executions_per_second"] is None
    assert counts([first, later]) == {
        "executions": 24421,
        "executions_per_second": 400,
        "covered": 9,
    }
