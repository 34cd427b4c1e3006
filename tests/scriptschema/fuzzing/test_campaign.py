"""Campaigns: each bug is kept once, small and reproducible, however a run ends.

The target is `service.py`, which has deliberate bugs and starts fast.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from command import run, run_here

from scriptschema import wire
from scriptschema.files import FileError
from scriptschema.fuzzing.campaign import finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Reduced, Suspect
from scriptschema.fuzzing.campaign.folder import COMPILED, CORPUS, Campaign
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.programs import ProgramSource
from scriptschema.fuzzing.campaign.reduction import reduce_suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.session import CampaignError, Session, State
from scriptschema.fuzzing.campaign.workers import Order, Task, Worker, Workers
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import construct_of, operations_of
from scriptschema.fuzzing.oracles.judging import exception_of
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.report.content import gather
from scriptschema.fuzzing.report.page import pieces
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description, from_word
from scriptschema.fuzzing.targets.outcome import Outcome, Run
from scriptschema.fuzzing.targets.probing import Probed
from scriptschema.fuzzing.uncalled import body_of, runs_nothing, uncalled
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import check
from scriptschema.luau.sources import encode
from scriptschema.messages import ModuleSet

SERVICE = f"{sys.executable} {Path(__file__).with_name('service.py')}"
TARGET = Description("persistent", SERVICE, variants=("-O0", "-O2"), seconds=2)
CONFIG = Config(targets=(TARGET,), size=60, seed=1)


def fuzz(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "scriptschema", "fuzz", "-j", "1", *map(str, arguments)]


def new_campaign(folder: Path, **options: Any) -> list[str]:
    word = f"persistent:{SERVICE}"
    return fuzz("-t", word, "--variant=-O0", "--variant=-O2", "--size", 60, "-o", folder)


def check_folder(folder: Path) -> list[finds.Find]:
    """Check that all files of a campaign can be read and are consistent. Return the finds."""
    for path in (folder / CORPUS).rglob("*.pb"):
        data = path.read_bytes()
        assert name_of(data) == path.name
        wire.decode(ModuleSet, data)
    found = []
    for path, find in finds.load_all(folder):
        assert path.name == find.name == find.signature.name or find.reduced
        finds.tree_of(path)
        if find.reduced is not None:
            assert finds.source_of(path, finds.REDUCED)
            finds.tree_of(path, finds.REDUCED)
        found.append(find)
    return found


# The whole


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Return a finished campaign and its events."""
    folder = tmp_path_factory.mktemp("campaign") / "one"
    events: list[dict[str, Any]] = []
    with Campaign(folder, CONFIG) as campaign:
        session = Session(campaign, jobs=2, programs=800, finishing=600, on_event=events.append)
        session.run()
        assert session.programs_done == 800
    return folder, events


def test_each_bug_is_found_once_and_reduced(
    finished: tuple[Path, list[dict[str, Any]]],
) -> None:
    folder, _ = finished
    found = check_folder(folder)
    details = sorted(str(find.signature) for find in found)
    assert "assertion: reg < N" in details
    assert len({*details}) == len(details)
    for find in found:
        assert find.reduced is not None
        reduced = finds.tree_of(folder / finds.FOLDER / find.name, finds.REDUCED)
        # The function around a program that is only compiled cannot be removed.
        assert len(Index(body_of(reduced) if find.only_compiled else reduced)) <= 20
        assert find.count >= 1
    assert max(find.count for find in found) > 1


def test_the_statistics_are_those_of_the_programs(
    finished: tuple[Path, list[dict[str, Any]]],
) -> None:
    folder, events = finished
    total = statistics.total(statistics.read(folder))
    assert (total.programs, total.runs) == (800, 1600)
    assert total.outcomes.total() + total.compiled.total() == 800
    assert 120 < total.compiled.total() < 280
    assert (total.outcomes + total.compiled)["assertion"] > 0  # only the second variant breaks
    end = events[-1]
    assert (end["outcomes"], end["compiled"]) == (total.outcomes, total.compiled)
    assert 0 < end["corpus_compiled"] < end["corpus"] == total.corpus
    assert total.features["print"] > 0
    assert sum(row[2] for row in total.operators.values()) > 0
    assert total.corpus == len([*(folder / CORPUS).rglob("*.pb")])
    kinds = [event["event"] for event in events]
    assert (kinds[0], kinds[-1]) == ("start", "end")
    assert kinds.count("find") == total.finds == events[-1]["new_finds"]
    json.dumps(events)


def test_programs_that_are_only_compiled_are_a_corpus_of_their_own(
    finished: tuple[Path, list[dict[str, Any]]],
) -> None:
    folder, _ = finished
    for path in (folder / CORPUS).rglob("*.pb"):
        tree = wire.decode(ModuleSet, path.read_bytes())
        assert runs_nothing(tree) == (path.parent.name == COMPILED)


def test_mutants_of_programs_that_are_only_compiled_are_valid_and_run_nothing() -> None:
    config = attrs.evolve(CONFIG, compiled=1.0, broken=0.0, mutants=0.9)
    programs = ProgramSource(config, seed=1)
    mutants = 0
    for number in range(300):
        made = programs.next()
        assert made is not None
        mutants += made.parent is not None
        assert runs_nothing(made.tree)
        assert check(made.tree) == []
        programs.adopt(str(number), made.tree, ended=True)
    assert mutants > 200


def test_statements_beside_an_uncalled_function_join_its_code() -> None:
    """If the function were wrapped again instead, each generation of mutants would nest deeper."""
    tree = parse("local function f(...) print(1) end print(2)").tree
    again = uncalled(body_of(tree))
    assert render(again.program).count("function") == 1
    assert render(again.program).count("print") == 2


def test_a_find_that_must_not_run_is_never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when it is found nor when it is reduced."""
    ran: list[str] = []
    fuzzer = Fuzzer(attrs.evolve(CONFIG, compiled=1.0), seed=2)
    submit = fuzzer.runner.submit

    def watched(sources: Sources, **options: Any) -> None:
        if not runs_nothing(parse(sources.program).tree):
            ran.append(sources.program)
        submit(sources, **options)

    monkeypatch.setattr(fuzzer.runner, "submit", watched)
    batch = fuzzer.work(seconds=600, programs=100)
    assert batch.interval.compiled.total() == 100
    assert batch.suspects
    for suspect in batch.suspects:
        reduced = reduce_suspect(fuzzer.runner, suspect)
        assert reduced is not None
        assert reduced.nodes <= 25
        assert runs_nothing(reduced.tree)
    fuzzer.close()
    assert not ran


def reproduced(folder: Path, command: str, hash_seed: int) -> dict[str, Any]:
    """Run a campaign with a number of programs. Return what the same seed must reproduce."""
    words = ["-t", f"persistent:{command}", "--variant=-O0", "--variant=-O2", "--size", 60]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    whole = fuzz(*words, "-o", folder, "--count", 100, "--seed", 4, "--jobs", 1)
    subprocess.run(whole, env=environment, check=True, capture_output=True, timeout=300)
    total = statistics.total(statistics.read(folder))
    return {
        "corpus": sorted(path.name for path in (folder / CORPUS).rglob("*.pb")),
        "finds": {
            str(path.relative_to(folder)): path.read_bytes()
            for path in (folder / finds.FOLDER).glob("*/*")
            if path.suffix in (".pb", ".luau")
        },
        "counts": {find.name: (find.count, find.origin) for _, find in finds.load_all(folder)},
        "numbers": (total.programs, total.runs, total.outcomes, total.features, total.operators),
    }


@pytest.mark.slow
def test_a_seed_gives_the_same_programs_and_finds_however_busy_the_machine_is(
    tmp_path: Path, long_mode: bool
) -> None:
    quiet = reproduced(tmp_path / "quiet", SERVICE, 1)
    assert quiet["numbers"][0] == 100
    assert len(quiet["counts"]) > 1
    assert all(name.count("/") == 2 for name in quiet["finds"])
    slow = reproduced(tmp_path / "slow", f"{SERVICE} 0.02", 2)  # each run takes 20 ms
    assert slow == quiet
    if not long_mode:
        return  # to the campaign, a slow target is a busy machine; the loops slow other tests down
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        assert reproduced(tmp_path / "busy", SERVICE, 3) == quiet
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_a_find_says_how_it_came_about_and_is_reproduced(
    finished: tuple[Path, list[dict[str, Any]]],
) -> None:
    folder, _ = finished
    path, find = next(finds.load_all(folder))
    assert find.origin["seed"] == 1
    assert find.versions["python"] == sys.version.split()[0]
    for more in ([], ["--original"]):
        done = run(*finds.command_of(path, find).split()[1:], "--trust", *more)
        assert done.returncode == 0, done.stderr
        assert f"{find.signature}: reproduced" in done.stdout.decode()
    tree = parse("print(1)").tree
    other = folder.parent / "other"
    find.reduced = None
    finds.add(other, find, tree)
    source = other / "finds" / find.name / "program.luau"
    source.write_text("print(1) --\x1b[31m\n")  # a terminal would obey it
    done = run("reproduce", "--trust", other / "finds" / find.name)
    assert done.returncode == 1
    assert done.stdout.startswith(b"print(1) --\\x1b[31m\n")
    assert b"not reproduced" in done.stdout


def test_a_campaign_continues_and_reports_nothing_twice(
    finished: tuple[Path, list[dict[str, Any]]],
) -> None:
    folder, _ = finished
    before = {find.name for find in check_folder(folder)}
    corpus = {path.name for path in (folder / CORPUS).rglob("*.pb")}
    done = subprocess.run(
        fuzz("--trust", "-o", folder, "-n", 100, "--fail-on-find", "--json"),
        capture_output=True,
        text=True,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["programs"] == 900
    new = {event["name"] for event in events if event["event"] == "find"}
    assert not new & before
    assert done.returncode == (3 if new else 0), done.stderr
    assert {path.name for path in (folder / CORPUS).rglob("*.pb")} >= corpus


# What may happen


def a_slow_target(folder: Path, seconds: float, body: str = 'grep -q "for" $1') -> str:
    """Return a slow command that crashes if the shell condition `body` holds."""
    script = folder / "slow.sh"
    script.write_text(f"sleep {seconds}\nif {body}; then kill -SEGV $$; fi\n")
    return f"command:sh {script} {{file}}"


@pytest.mark.slow
def test_a_crash_whose_reduction_outlasts_the_run_is_a_find(tmp_path: Path) -> None:
    target = a_slow_target(tmp_path, 0.15, "grep -q end $1")  # nearly every program has one
    config = Config(targets=(from_word(target),), size=1500)
    folder = tmp_path / "campaign"
    with Campaign(folder, config) as campaign:
        session = Session(campaign, seconds=600, programs=1, finishing=1)
        session.run()
        [find] = session.state.finds.new
    [(path, kept)] = finds.load_all(folder)
    assert kept.name == find.name
    assert finds.source_of(path)
    assert not kept.is_smallest
    a_slow_target(tmp_path, 0, "grep -q end $1")
    with Campaign(folder, None) as campaign:  # which goes on with the reduction
        session = Session(campaign, programs=1, finishing=600)
        session.run()
    [(path, later)] = [each for each in finds.load_all(folder) if each[1].name == find.name]
    assert later.reduced is not None
    assert later.reduced.nodes < kept.program.nodes // 10


@pytest.mark.slow
def test_a_find_is_on_disk_from_the_moment_it_is_believed(tmp_path: Path) -> None:
    """All processes are killed when the campaign reports the find, before its reduction ends."""
    folder = tmp_path / "campaign"
    target = a_slow_target(tmp_path, 0.1, "grep -q for $1")
    command = fuzz("-t", target, "--size", 1500, "-o", folder, "--json")
    process = subprocess.Popen(
        command, stdout=-1, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["event"] == "find":
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    [(path, find)] = finds.load_all(folder)
    assert find.signature == Signature("crash", "SIGSEGV")
    done = run_here("reproduce", "--trust", path)
    assert done.returncode == 0, done.stdout


def test_programs_that_wait_for_their_reduction_are_there_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    with opened(folder) as it:
        it.suspect("math.floor(1)", HANG)
        other = it.suspect("string.rep('a', 2)", HANG)
    with opened(folder, None) as it:  # nothing was closed
        assert it.triage.waiting == 2
        first, second = it.next(), it.next()
        assert it.triage.unreduced == 2
        assert second.data == other.data
        it.reduce(second, "string.rep('', 0)")
        assert len(it.finds) == 1  # it may be that of the first
        it.reduce(first, "math.floor(1)")
        assert it.triage.unreduced == 0
        names = {str(find.signature) for _, find in finds.load_all(folder)}
        assert names == {"hang: -O2 (math.floor)", "hang: -O2 (string.rep)"}
        assert not [*(folder / finds.SUSPECTS).iterdir()]


def test_a_reduction_whose_worker_dies_takes_no_find_along(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        it.suspect("math.floor(1)", HANG)
        it.suspect("string.rep('a', 2)", HANG)
        for _ in range(4):
            it.triage.lost(it.next())
        assert it.triage.next() is None
        assert it.triage.unreduced == 2  # which the summary says
        assert [find.name for find in it.finds.new] == [HANG.name]
        assert len([*(it.path / finds.SUSPECTS).iterdir()]) == 1
    with opened(tmp_path / "campaign", None) as it:
        assert it.triage.waiting == 2


def test_a_hang_that_does_not_come_again_makes_room_for_what_waited(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        busy = it.suspect("math.floor(1)", HANG)
        true = it.suspect("string.rep('a', 2)", HANG)
        assert it.triage.next() is busy
        it.triage.reduced(busy, None)
        assert [event["event"] for event in it.events] == ["find", "retracted", "find"]
        assert it.triage.next() is true
        it.reduce(true, "string.rep('', 0)")
        [find] = it.finds.new
        assert str(find.signature) == "hang: -O2 (string.rep)"
        assert [*finds.load_all(it.path)] == [(it.path / "finds" / find.name, find)]


def test_a_reduction_that_came_to_no_end_continues_where_it_was(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        it.suspect_reduced(
            "math.floor(1) string.rep('a', 2) print(1)",
            HANG,
            "math.floor(1) string.rep('a', 2)",
            is_smallest=False,
        )
    with opened(tmp_path / "campaign", None) as it:
        left = it.next()
        assert left.data == wire.encode(parse("math.floor(1) string.rep('a', 2)").tree)
        it.reduce(left, "math.floor(1)")
        [find] = it.finds.by_name.values()
        assert (str(find.signature), find.is_smallest) == ("hang: -O2 (math.floor)", True)
        it.suspect("string.rep('a', 3)", HANG)
        assert find.count == 1


@pytest.mark.slow
def test_kills_lose_nothing_that_was_reported(tmp_path: Path, long_mode: bool) -> None:
    folder = tmp_path / "campaign"
    reported: set[str] = set()
    corpus: set[str] = set()
    command = [*new_campaign(folder), "--json"]

    def noted(line: str) -> dict[str, Any]:
        """Return an event, after recording the find that it reports or retracts."""
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "find":
            reported.add(event["name"])
        elif event["event"] == "retracted":
            reported.discard(event["name"])
        return event

    for number in range(100 if long_mode else 6):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout is not None
        # At another point in every round: at an early event, or some time after it. All finds may
        # have been found: another one is not waited for without an end.
        progress = 0
        for line in process.stdout:
            event = noted(line)
            if event["event"] == "progress" and event["programs"] < 50:
                continue
            progress += event["event"] == "progress"
            if event["event"] == ("start", "progress", "find")[number % 3]:
                break
            if progress >= 2 and reported:
                break
        time.sleep(number % 5 / 25)
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        for line in rest.splitlines():
            if line.endswith("}"):
                noted(line)
        corpus = check_after_kill(folder, reported, corpus)
    assert reported
    assert corpus


def check_after_kill(folder: Path, reported: set[str], corpus: set[str]) -> set[str]:
    """Check that nothing reported or written before is missing. Return the names in the corpus."""
    assert {find.name for find in check_folder(folder)} >= reported
    now = {path.name for path in (folder / CORPUS).rglob("[!.]*.pb")}
    assert now >= corpus
    return now


@pytest.mark.slow
def test_kills_amid_writing_lose_nothing_that_was_reported(tmp_path: Path, long_mode: bool) -> None:
    """A campaign writes without a pause, and is killed again and again."""
    folder, log = tmp_path / "campaign", tmp_path / "log"
    script = Path(__file__).with_name("killed.py")
    rounds = 500 if long_mode else 30
    subprocess.run([sys.executable, str(script), str(folder), str(log), str(rounds)], check=True)
    corpus: set[str] = set()
    found: set[str] = set()
    for line in log.read_text().splitlines():
        kind, name = line.split(" ", 1)
        (found if kind == "find" else corpus).add(name)
    assert found
    assert corpus
    check_after_kill(folder, found, corpus)
    with Campaign(folder, None) as campaign:
        State(campaign, lambda _: None).write()
    check_after_kill(folder, found, corpus)
    assert not [*(folder / finds.FOLDER).glob(".*")]


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_two_runs_in_one_folder_are_refused(stop: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    first = subprocess.Popen(fuzz("-t", "command:cat", "-o", folder, "--json"), stdout=-1)
    assert first.stdout is not None
    try:
        first.stdout.readline()
        second = run_here("fuzz", "-j", 1, "--trust", "-o", folder, "-n", 1)
    finally:  # it has no end of its own
        first.send_signal(stop)
    assert second.returncode == 1
    assert f"another run (process {first.pid}" in second.stderr.decode()
    assert first.wait() == 130
    first.stdout.close()
    third = subprocess.run(fuzz("--trust", "-o", folder, "-n", 1), capture_output=True, text=True)
    assert third.returncode == 0, third.stderr
    assert "1 program: nothing new was found" in third.stderr


def test_a_campaign_continues_after_a_kill_while_a_target_starts(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "campaign"
    killed = subprocess.Popen(["true"])
    killed.wait()
    with Campaign(folder, Config(targets=(Description("command", "cat"),))):
        pass
    with (folder / ".lock").open("wb") as lock:
        lock.write(b"%d" % killed.pid)
        fcntl.flock(lock, fcntl.LOCK_EX)
        began = time.monotonic()
        target = subprocess.Popen(["sleep", "0.3"], pass_fds=[lock.fileno()])
    with Campaign(folder, None):
        assert time.monotonic() - began >= 0.3
    assert target.wait(10) == 0


def test_a_worker_that_has_loaded_the_corpus_goes_on_fuzzing_while_another_reduces(
    tmp_path: Path,
) -> None:
    class Idle:
        order = None

        def __init__(self, seed: int) -> None:
            self.pipe = self.seed = seed

        def ask(self, order: Any) -> None:
            self.order = order

    class Team(Workers):
        def worker(self, campaign: Campaign, seed: int) -> Any:
            return Idle(seed)

    with Campaign(tmp_path / "campaign", CONFIG) as campaign:
        session = Session(campaign, workers=Team())
        session._start_worker()
        session._give_work()
        first, *_ = session._workers.values()
        assert isinstance(first.order, Order)
        first.order = None
        verdict = Verdict(Signature("assertion", "x < N"), "bad")
        tree = parse("print(1) print(2)").tree
        session.state.triage.suspect(Suspect(wire.encode(tree), verdict, [], {}))
        session._start_worker()
        session._give_work()
        _, second = session._workers.values()
        assert isinstance(first.order, Order)
        assert isinstance(second.order, Task)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    killed = []

    def on_event(event: dict[str, Any]) -> None:
        if event["event"] == "progress" and not killed:
            [worker] = session._workers.values()
            killed.append(session.programs_done)
            os.kill(worker.process.pid or 0, signal.SIGKILL)
        elif killed and session.programs_done > killed[0]:
            raise KeyboardInterrupt

    config = Config(targets=(Description("command", "cat"),), size=10)
    with Campaign(tmp_path / "campaign", config) as campaign:
        session = Session(campaign, on_event=on_event)
        with pytest.raises(KeyboardInterrupt):
            session.run()
    assert "died; starting another" in (campaign.path / "log.txt").read_text()


def test_a_second_control_c_loses_no_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(worker: Worker) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        stop_worker(worker)

    def on_event(event: dict[str, Any]) -> None:
        events.append(event["event"])
        if event["event"] == "progress" and session.programs_done:
            raise KeyboardInterrupt

    stop_worker, events = Worker.stop, []
    monkeypatch.setattr(Worker, "stop", stop)
    config = Config(targets=(Description("command", "cat"),), size=10)
    with Campaign(tmp_path / "campaign", config) as campaign:
        session = Session(campaign, jobs=2, on_event=on_event)
        with pytest.raises(KeyboardInterrupt):
            session.run()
        assert events[-1] == "end"
        assert not session._workers
        counted = statistics.total(statistics.read(campaign.path))
        assert counted.programs == session.programs_done
    assert (campaign.path / "log.txt").read_text().endswith(" end\n")


def test_a_target_that_stops_to_work_ends_the_campaign_with_a_word(tmp_path: Path) -> None:
    flag = tmp_path / "broken"
    script = f"sh -c 'test -e {flag} && kill -SEGV $$; cat'"
    config = Config(targets=(Description("command", script),), size=10)
    with Campaign(tmp_path / "campaign", config) as campaign:
        session = Session(campaign)
        flag.touch()
        with pytest.raises(
            CampaignError, match=r"none of the \d+ programs finished normally: crash"
        ):
            session.run()


def test_a_failing_judge_ends_the_campaign_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad_judge.py").write_text("def judge(source, runs):\n    return 1 // 0\n")
    monkeypatch.chdir(tmp_path)
    config = Config(targets=(TARGET,), judge="bad_judge:judge")
    with (
        Campaign(tmp_path / "campaign", config) as campaign,
        pytest.raises(CampaignError, match="ZeroDivisionError"),
    ):
        Session(campaign).run()


# The parts


def test_a_fuzzer_is_the_same_for_the_same_seed() -> None:
    batches = []
    for _ in range(2):
        fuzzer = Fuzzer(CONFIG, seed=5)
        batches.append(fuzzer.work(seconds=60, programs=60))
        fuzzer.close()
    assert batches[0].kept == batches[1].kept
    assert batches[0].interval.outcomes == batches[1].interval.outcomes


def test_a_target_that_prints_a_duration_has_no_false_finds(tmp_path: Path) -> None:
    script = tmp_path / "service.py"
    script.write_text("""import json, sys, time
for line in sys.stdin:
    identity = json.loads(line)["id"]
    output = f"took {time.perf_counter_ns()} ns"
    print(json.dumps({"id": identity, "kind": "ok", "output": output}), flush=True)
""")
    target = Description("persistent", f"{sys.executable} {script}")
    for variants in (("-O0", "-O2"), ("",)):  # the latter is compared with rewritten programs
        config = Config((attrs.evolve(target, variants=variants),), size=10, mutants=0)
        fuzzer = Fuzzer(attrs.evolve(config, probed=(Probed("x", runs=True),)), seed=1)
        batch = fuzzer.work(seconds=60, programs=40)
        fuzzer.close()
        assert batch.suspects == []
        assert 0 < batch.interval.unconfirmed <= batch.interval.programs


def test_repaired_trees_are_another_source_of_programs() -> None:
    fuzzer = Fuzzer(Config(targets=(TARGET,), source="repaired", mutants=0), seed=1)
    batch = fuzzer.work(seconds=60, programs=30)
    fuzzer.close()
    assert batch.interval.programs == 30


class Reported:
    """A campaign's state, the finds that it reported, and suspects made by hand."""

    def __init__(self, campaign: Campaign) -> None:
        self.path = campaign.path
        self.events: list[dict[str, Any]] = []
        self.state = State(campaign, self.events.append)
        self.triage = self.state.triage
        self.finds = self.state.finds

    def next(self) -> Suspect:
        suspect = self.triage.next()
        assert suspect is not None
        return suspect

    def suspect(self, source: str, signature: Signature, ends: Sequence[str] = ()) -> Suspect:
        tree = parse(source).tree
        runs = [Run("x", Outcome(end)) for end in ends or ["crash"]]
        suspect = Suspect(wire.encode(tree), Verdict(signature, "bad"), runs, {})
        self.triage.suspect(suspect)
        return suspect

    def reduce(
        self, suspect: Suspect, source: str, is_smallest: bool = True, nodes: int = 9
    ) -> None:
        tree = parse(source).tree
        construct = construct_of(tree)
        verdict, runs = suspect.verdict, suspect.runs
        used = construct, operations_of(tree)
        reduced = Reduced(wire.encode(tree), nodes, verdict, runs, *used, 5, is_smallest)
        self.triage.reduced(suspect, reduced)

    def suspect_reduced(
        self,
        source: str,
        signature: Signature,
        reduced: str | None = None,
        ends: Sequence[str] = (),
        **options: Any,
    ) -> None:
        """Add a suspect that is reduced at once, to itself if there is no `reduced`."""
        suspect = self.suspect(source, signature, ends)
        assert self.triage.next() is suspect
        self.reduce(suspect, source if reduced is None else reduced, **options)


@contextlib.contextmanager
def opened(folder: Path, config: Config | None = CONFIG) -> Iterator[Reported]:
    """Yield the state of a new campaign, or of the one in the folder if there is no `config`."""
    with Campaign(folder, config) as campaign:
        yield Reported(campaign)


HANG = Signature("hang", "-O2")


def test_a_bug_that_needs_nothing_is_a_find_beside_one_with_its_signature(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        for source in ("math.floor(1)", "print(1)"):
            it.suspect_reduced(source, HANG)
        names = [str(find.signature) for find in it.finds.by_name.values()]
        assert names == ["hang: -O2 (math.floor)", "hang: -O2"]
    kept = [(path.name, find.name) for path, find in finds.load_all(tmp_path / "campaign")]
    assert len(kept) == 2
    assert all(path == name for path, name in kept)


def test_bugs_with_one_signature_are_distinguished_by_what_they_use(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        both = "math.floor(1) string.rep('a', 2)"
        for source, reduced in (
            (both, "math.floor(1)"),
            ("string.rep('a', 2)", "string.rep('', 0)"),
            (both, "pcall(math.floor)"),
        ):
            it.suspect_reduced(source, HANG, reduced)
        names = [str(find.signature) for find in it.finds.by_name.values()]
        assert names == ["hang: -O2 (math.floor)", "hang: -O2 (string.rep)"]
        floor = next(iter(it.finds.by_name.values()))
        assert floor.count == 2  # of the two programs that show it; explained and reduced is once
        it.state.write()
        assert finds.load(tmp_path / "campaign" / "finds" / floor.name).count == 2


LESS = Signature("difference", "-O0 / -O2")


def test_each_bug_of_a_printer_is_a_find(tmp_path: Path) -> None:
    printed = Signature("round-trip", "printer: a different tree")
    with opened(tmp_path / "campaign") as it:
        for source in ("print(#x0)", "while nil do continue end", "return #nil", "print(1 // 2)"):
            it.suspect_reduced(source, printed)
        found = {find.signature.construct: find.count for find in it.finds.by_name.values()}
    assert found == {
        "ExprUnary.Op.Len": 2,
        "StatContinue, StatWhile": 1,
        "ExprBinary.Op.FloorDiv": 1,
    }


def test_no_program_that_runs_is_kept_from_the_printer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed, ran = tmp_path / "printed", []
    target = Description("command", "true {file}")
    config = Config((target,), printer=f"tee -a {printed}", size=20)
    seeds = [wire.encode(parse(f"print({number})").tree) for number in range(3)]
    fuzzer = Fuzzer(config, seed=1, corpus=[wire.encode(parse("return 7").tree)])
    fuzzer.run_first(seeds)
    submit = fuzzer.runner.submit

    def watched(sources: Sources, **options: Any) -> None:
        ran.append(sources)
        submit(sources, **options)

    monkeypatch.setattr(fuzzer.runner, "submit", watched)
    batch = fuzzer.work(seconds=60, programs=20)
    fuzzer.close()
    assert not batch.suspects
    assert len(ran) == 20
    text = printed.read_bytes()
    assert all(encode(each.program) in text for each in ran if each.module is None)


def test_a_common_bug_of_the_printer_hides_no_bug_that_a_rewritten_program_shows() -> None:
    target = Description("command", "wc -c")  # prints something else for the rewritten program
    config = Config((target,), printer="sed 1iprint(0)", probed=(Probed("x", runs=True),))
    fuzzer = Fuzzer(attrs.evolve(config, mutants=0, size=20, style="plain"), seed=1)
    batch = fuzzer.work(seconds=60, programs=30)
    fuzzer.close()
    kinds = {suspect.verdict.signature.kind for suspect in batch.suspects}
    assert kinds == {"round-trip", "difference"}


def test_a_slow_printer_hides_no_hang(tmp_path: Path) -> None:
    script = tmp_path / "target.sh"
    script.write_text("case $1$(cat) in -b*777*) exec sleep 60;; esac\n")
    target = Description("command", f"sh {script} {{variant}}", variants=("-a", "-b"), seconds=1)
    fuzzer = Fuzzer(Config((target,), printer="sh -c 'sleep 0.7; cat'"), seed=1)
    sources = ("print(777)", "print(1)", "print(2)")  # the last one is run first
    fuzzer.run_first(wire.encode(parse(source).tree) for source in sources)
    batch = fuzzer.work(seconds=60, programs=3)
    fuzzer.close()
    assert [str(suspect.verdict.signature) for suspect in batch.suspects] == ["hang: -b"]
    assert batch.interval.outcomes["ok"] == 2


def test_a_bug_of_a_printer_is_not_taken_for_one_of_an_operator_that_reduction_adds(
    tmp_path: Path,
) -> None:
    printer = tmp_path / "printer.sh"
    printer.write_text("sed 's/string.rep/string.len/; s/#/-/; s/continue/break/'\n")
    target = Description("command", "true {file}")
    config = Config((target,), printer=f"sh {printer}", style="plain")
    runner = Runner(config)
    reduced = set()
    for source in (
        "local v1 = tostring(x0) print(string.rep(v1, x2 + 1))",
        "for v1 = 1, 2 do print(v1) continue end",
        "repeat print(1) continue until x0",
    ):
        tree = parse(source).tree
        verdict, runs = runner.verdict(tree)
        assert verdict is not None
        result = reduce_suspect(runner, Suspect(wire.encode(tree), verdict, runs, {}))
        assert result is not None
        reduced.add(result.construct)
    runner.close()
    assert reduced == {frozenset({"string.rep"}), frozenset({"StatContinue", "StatWhile"})}


KEYS = """
import re, sys
OPERATORS = {"+=": 1}
def fmt(source):
    for operator in re.findall(r"[-+*/^]=", source):
        OPERATORS[operator]
fmt(sys.stdin.read())
"""


def test_each_message_of_an_exception_keeps_a_program(tmp_path: Path) -> None:
    script = tmp_path / "formatter.py"
    script.write_text(KEYS)
    suite = tmp_path / "suite"
    suite.mkdir()
    for number, operator in enumerate(["-=", "*=", "/=", "^=", "-=", "*="]):
        (suite / f"{number}.luau").write_text(f"local a = {number} a {operator} 2 print(a)\n")
    target = ["-t", f"command:{sys.executable} {script}", "--seeds", suite, "--seed", 1]
    for words in (target, []):  # the second run continues the campaign
        done = run_here("fuzz", *words, "-o", tmp_path / "campaign", "-n", 8)
        assert done.returncode == 0, done.stderr
    [(path, find)] = finds.load_all(tmp_path / "campaign")
    shown = [(path, find), *finds.load_all(path, finds.MEMBERS)]
    keys = {each.verdict.message.rpartition(" ")[2] for _, each in shown}
    assert keys >= {"'-='", "'*='", "'/='", "'^='"}
    assert len(keys) == len(shown)
    for folder, each in shown:
        key = each.verdict.message.rpartition("'")[0].rpartition("'")[2]
        assert key in finds.source_of(folder, each.stem)
    page = b"".join(pieces(gather(tmp_path / "campaign"), "1", "today")).decode()
    assert all(key.strip("'") in page for key in keys)
    for folder, each in shown[1:]:
        done = run_here("reduce", "--trust", folder)
        assert done.returncode == 0, done.stderr
        again = finds.load(folder)
        assert exception_of(again.verdict) == exception_of(each.verdict)


def test_a_note_of_the_user_s_is_not_a_program_that_waits(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        folder = it.path / finds.SUSPECTS
        folder.mkdir(exist_ok=True)
        (folder / "notes.txt").write_text("mine")
        assert it.triage.unreduced == 0


def test_one_wrong_operation_is_one_find_and_its_other_programs_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    programs = (
        (LESS, "print(a < 1)"),
        (LESS, "print(math.max(b > 1, 2))"),
        (HANG, "while c < 1 do end"),
        (LESS, "print(math.max(1, 2))"),  # it has something in common with one program only
        (Signature("hang", "-O0"), "while c < 1 do end"),  # another variant
    )
    with opened(folder) as it:
        for signature, source in programs:
            it.suspect_reduced(source, signature)
        it.state.write()
    loaded = {str(find.signature): (path, find) for path, find in finds.load_all(folder)}
    path, less = loaded.pop("difference: -O0 / -O2 (ExprBinary.Op.CompareLt)")
    assert loaded.keys() == {
        "difference: -O0 / -O2 (math.max)",
        "hang: -O0 (ExprBinary.Op.CompareLt, StatWhile)",
    }
    assert less.count == 3
    kept = dict(finds.load_all(path, finds.MEMBERS))
    assert {str(member.signature) for member in kept.values()} == {
        "difference: -O0 / -O2 (math.max, ExprBinary.Op.CompareGt)",
        "hang: -O2 (ExprBinary.Op.CompareLt, StatWhile)",
    }
    for place, member in kept.items():
        assert finds.source_of(place, finds.REDUCED)
        assert place.name == member.name
    page = b"".join(pieces(gather(folder), "1", "now")).decode()
    assert page.count("Another program, probably of the same bug") == 2
    with opened(folder, None) as it:  # and it stays so
        it.suspect_reduced("while d > 5 do end", HANG)
        assert len(it.finds.by_name) == 3


def test_a_bug_is_not_hidden_by_what_a_find_used_before_its_reduction(tmp_path: Path) -> None:
    """A smaller program shows that the bug needs no `%`: the other program has another bug."""
    folder = tmp_path / "campaign"
    with opened(folder) as it:
        it.suspect_reduced("print(math.floor(b % 2))", LESS)
        it.suspect_reduced("print(a ^ (a % 3))", LESS)
        it.suspect_reduced("print(math.floor(c))", LESS, nodes=7)
        [floor] = it.finds.by_name.values()
        assert (str(floor.signature), floor.count) == ("difference: -O0 / -O2 (math.floor)", 2)
        it.reduce(it.next(), "print(a ^ (a % 3))")
        it.state.write()
    counts = {str(find.signature): find.count for _, find in finds.load_all(folder)}
    assert counts == {
        "difference: -O0 / -O2 (math.floor)": 2,
        "difference: -O0 / -O2 (ExprBinary.Op.Mod, ExprBinary.Op.Pow)": 1,
    }
    [(_, kept)] = finds.load_all(folder / "finds" / floor.name, finds.MEMBERS)
    assert kept.signature.construct == "math.floor, ExprBinary.Op.Mod"  # the earlier program


OUTPUT, ENDING = ("ok", "ok"), ("error", "ok")


def test_a_small_program_that_one_run_rejects_hides_no_wrong_output(tmp_path: Path) -> None:
    """A loop that one run rejects is not the bug of the closures in a loop, although it is one."""
    closures = "local t = {} for i = 1, 2 do t[i] = function() print(i) end end t[1]()"
    loop = "for i = 1, 1, '5' do end"
    folder = tmp_path / "campaign"
    with opened(folder) as it:
        it.suspect_reduced(closures, LESS, ends=OUTPUT, nodes=48)
        it.suspect_reduced(loop, LESS, ends=ENDING, nodes=7)
        it.state.write()
    with opened(folder, None) as it:  # in any order, and if the campaign is continued
        it.suspect_reduced(closures.replace("2", "3"), LESS, ends=OUTPUT, nodes=50)
        it.suspect_reduced(loop.replace("5", "6"), LESS, ends=ENDING, nodes=8)
        it.state.write()
    found = {find.signature.construct: (path, find) for path, find in finds.load_all(folder)}
    path, find = found["ExprIndexExpr, ExprTable, StatFor"]
    assert finds.source_of(path, finds.REDUCED).startswith("local v0 = {}")
    path, other = found["StatFor"]
    assert (find.count, other.count) == (2, 2)


def test_programs_that_end_differently_because_of_one_operation_are_one_find(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "campaign") as it:
        it.suspect_reduced("print(math.clamp(a, 1, 2) // 1)", LESS, ends=OUTPUT, nodes=9)
        it.suspect_reduced("math.clamp(a, 1, 2)", LESS, ends=ENDING, nodes=7)
        [find] = it.finds.by_name.values()
        assert find.count == 2
        [(path, kept)] = finds.load_all(it.finds.folder(find), finds.MEMBERS)
    assert str(find.signature) == "difference: -O0 / -O2 (math.clamp)"
    assert str(kept.signature) == "difference: -O0 / -O2 (math.clamp, ExprBinary.Op.FloorDiv)"
    assert "//" in finds.source_of(path, finds.PROGRAM)
    assert "//" in finds.source_of(path, finds.REDUCED)


def reduce_all(it: Reported, *programs: tuple[Signature, str, int, bool]) -> None:
    """Add suspects that are reduced to themselves: signature, source, nodes and `is_smallest`."""
    for signature, source, nodes, is_smallest in programs:
        suspect = it.suspect(source, signature)
        while it.next() is not suspect:
            pass
        it.reduce(suspect, source, is_smallest=is_smallest, nodes=nodes)


def test_a_campaign_with_merged_finds_can_be_continued(tmp_path: Path) -> None:
    """The members of a find that is merged into another one become members of the other one."""
    folder = tmp_path / "campaign"
    loop = "while true do break end"
    with opened(folder) as it:
        reduce_all(
            it,
            (LESS, f"{loop} print(math.floor(a))", 20, True),
            (LESS, f"{loop} print(vector.dot(a, a))", 20, True),
            (HANG, "print(math.floor(a))", 20, True),
            (LESS, loop, 8, False),
            (HANG, "print(math.floor(b))", 20, True),
        )
        names = [find.name for find in it.finds.by_name.values()]
        it.state.write()
    kept = {find.name: path for path, find in finds.load_all(folder)}
    assert [*kept] == sorted(names)
    for path in kept.values():
        for place, member in finds.load_all(path, finds.MEMBERS):
            assert place.name == member.name
            assert not [*finds.load_all(place, finds.MEMBERS)]
    with opened(folder, None) as it:
        assert sorted(it.finds.by_name) == sorted(names)


def test_a_find_keeps_a_program_of_its_own_signature(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        reduce_all(
            it,
            (LESS, "print(a < 1)", 20, True),
            (HANG, "print(a < 2)", 20, True),
            (HANG, "print(c < d)", 8, True),
        )
        [less] = it.finds.by_name.values()
        assert less.verdict.signature.kind == "difference"
        assert less.reduced is not None
        assert less.reduced.nodes == 20


def test_programs_that_a_smaller_find_does_not_explain_are_suspects_again(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        others = ("print(a ^ (a % 3), a // 1)", "print(a ^ (a % 3))")
        reduce_all(
            it,
            (LESS, "print(math.floor(b % 2))", 20, True),
            *((LESS, other, 20, True) for other in others),
            (LESS, "print(math.floor(c))", 7, True),
        )
        [floor] = it.finds.by_name.values()
        assert floor.count == 2
        again = [it.triage.next(), it.triage.next()]
        assert {each.data for each in again if each} == {
            wire.encode(parse(other).tree) for other in others
        }


def test_wrong_shifts_are_one_find_and_so_are_wrong_fields_of_bits(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        for name in ("lshift", "rrotate", "arshift", "countlz", "extract", "replace"):
            source = f"print(bit32.{name}(1, 0))"
            it.suspect_reduced(source, LESS)
        counts = {str(find.signature): find.count for find in it.finds.by_name.values()}
    assert counts == {
        "difference: -O0 / -O2 (bit32.lshift)": 3,
        "difference: -O0 / -O2 (bit32.countlz)": 1,
        "difference: -O0 / -O2 (bit32.extract)": 2,
    }


def test_what_no_find_explains_is_reduced_first(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        it.suspect_reduced("math.floor(1)", HANG)
        known = it.suspect("math.floor(2)", HANG)
        new = it.suspect("string.rep('a', 2) string.rep('b', 2)", HANG)
        cheap = it.suspect("local a = 1", Signature("difference", "-O0 / -O2"))
        assert [it.triage.next() for _ in range(4)] == [cheap, new, known, None]
        it.triage.reduced(known, None)


def test_a_clear_signature_is_a_find_at_once_and_reduced_later(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        signature = Signature("assertion", "x < N")
        suspect = it.suspect("print(1) print(2)", signature)
        again = it.suspect("print(3)", signature)
        [find] = it.finds.by_name.values()
        assert (find.count, find.reduced) == (2, None)
        assert it.triage.enough() == {signature: ()}
        it.triage.again(signature, 5)
        it.state.write()
    with opened(tmp_path / "campaign", None) as it:
        waiting = it.next()
        assert waiting.data == suspect.data != again.data
        it.reduce(waiting, "print(1)")
        assert it.triage.next() is None
        [find] = it.finds.by_name.values()
        assert find.count == 7
        assert find.reduced is not None
        assert it.events[-1]["event"] == "reduced"


def test_each_of_two_bugs_with_one_signature_counts_the_programs_that_show_it(
    tmp_path: Path,
) -> None:
    known = tmp_path / "known"
    known.write_text("hang: -O2 (math.floor)\n")
    config = attrs.evolve(CONFIG, known=str(known))
    with opened(tmp_path / "campaign", config) as it:
        first = it.suspect("pcall(error) print(1 // 1)", LESS)
        it.triage.again(attrs.evolve(LESS, construct="buffer.len"), 2)  # before its reduction
        assert it.triage.next() is first
        it.reduce(first, "pcall()")
        it.suspect_reduced("print(not nil)", LESS)
        it.triage.again(attrs.evolve(LESS, construct="math.floor, pcall"), 5)
        it.triage.again(attrs.evolve(LESS, construct="ExprUnary.Op.Not"), 7)
        it.triage.again(attrs.evolve(LESS, construct="math.floor"), 9)  # a third bug
        counts = {find.signature.construct: find.count for find in it.finds.by_name.values()}
        assert counts == {"pcall": 8, "ExprUnary.Op.Not": 8}
        # Programs that use a known bug's features may show another bug.
        it.triage.again(attrs.evolve(HANG, construct="math.floor"), 3)
        assert not it.triage.seen_known
        it.state.write()


def test_a_program_that_is_only_counted_counts_for_the_bug_that_it_shows(tmp_path: Path) -> None:
    script = tmp_path / "service.py"
    script.write_text("""import json, sys
for line in sys.stdin:
    request = json.loads(line)
    output = request["variant"] if "pcall" in request["source"] else ""
    print(json.dumps({"id": request["id"], "kind": "ok", "output": output}), flush=True)
""")
    target = attrs.evolve(TARGET, command=f"{sys.executable} {script}")
    config = Config((target,), size=40, mutants=0, probed=(Probed("x", runs=True),))
    fuzzer = Fuzzer(config, seed=1)
    batch = fuzzer.work(seconds=60, programs=60, enough={LESS: (frozenset({"pcall"}),)})
    fuzzer.close()
    assert batch.again
    for signature in batch.again:
        assert attrs.evolve(signature, construct="") == LESS
        assert "pcall" in signature.construct.split(", ")


def test_a_crash_that_does_not_come_again_is_reported_all_the_same(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        for source in ("print(1)", "print(2)"):
            crash = it.suspect(source, Signature("crash", "SIGSEGV"))
            hang = it.suspect(source, HANG)  # a machine that was busy hangs, too
            assert {id(it.triage.next()), id(it.triage.next())} == {id(crash), id(hang)}
            it.triage.reduced(crash, None)
            it.triage.reduced(hang, None)
        [find] = it.finds.by_name.values()
        assert (str(find.signature), find.count, find.reduced) == ("crash: SIGSEGV", 2, None)


def test_a_bug_that_comes_now_and_then_is_one_find(tmp_path: Path) -> None:
    signature = Signature("assertion", "x: y < N")
    once = Signature("seen once", str(signature))
    with opened(tmp_path / "campaign") as it:
        it.suspect("print(1)", once)
        it.triage.again(once, 5)
        confirmed = it.suspect("print(2)", signature)
        assert [event["event"] for event in it.events] == ["find", "find", "retracted"]
        it.suspect("print(3)", once)
        it.triage.again(once, 2)
        [find] = it.finds.by_name.values()
        assert (find.signature, find.count) == (signature, 10)
        assert it.triage.next() is confirmed
        assert [each.name for _, each in finds.load_all(it.path)] == [find.name]
        # Without a clear signature, it may be another bug.
        crash = Signature("crash", "SIGSEGV")
        it.suspect("print(1)", crash)
        it.suspect("print(2)", Signature("seen once", str(crash)))
        assert len(it.finds) == 3


def test_known_bugs_are_counted_and_not_reported(tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text("assertion: *\nhang: -O2 (math.floor)\n")
    config = Config(targets=(TARGET,), known=str(known))
    with opened(tmp_path / "campaign", config) as it:
        it.suspect("print(1)", Signature("assertion", "x"))
        it.triage.again(Signature("assertion", "x"), 2)
        it.suspect("print(2)", Signature("seen once", "assertion: x"))
        it.suspect("math.floor(1)", HANG)
        it.reduce(it.next(), "math.floor(1)")
        assert not it.finds
        it.state.write()
        total = statistics.total(statistics.read(it.path))
        assert total.known == {"assertion: *": 4, "hang: -O2 (math.floor)": 1}


def test_what_was_not_reduced_in_time_is_kept_as_it_is(tmp_path: Path) -> None:
    with opened(tmp_path / "campaign") as it:
        it.suspect("math.floor(1)", HANG)
        it.state.write()
    with opened(tmp_path / "campaign", None) as it:
        [find] = it.finds.by_name.values()
        assert find.reduced is None
        it.reduce(it.next(), "math.floor(1)")
        assert find.reduced is not None


def test_a_find_that_is_reduced_in_a_later_run_is_still_reported_once(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    with opened(folder) as it:
        it.suspect("math.floor(1) print(2)", HANG)
        it.state.write()
    with opened(folder, None) as it:
        old = it.next()
        other = it.suspect("string.rep('a', 2)", HANG)  # which the old one does not explain
        same = it.suspect("math.floor(3) print(4)", HANG)
        assert [it.triage.next() for _ in range(3)] == [other, same, None]
        it.reduce(old, "math.floor(1)")
        it.reduce(other, "string.rep('', 0)")
        it.reduce(same, "math.floor(3)")
        it.state.write()
        found = [str(find.signature) for _, find in finds.load_all(folder)]
        assert sorted(found) == ["hang: -O2 (math.floor)", "hang: -O2 (string.rep)"]
    with opened(folder, None) as it:
        assert it.triage.next() is None
        it.suspect("string.rep('a', 5)", HANG)
        counts = {find.signature.construct: find.count for find in it.finds.by_name.values()}
        assert counts == {"math.floor": 2, "string.rep": 2}


def test_a_find_that_was_found_again_before_it_was_reduced_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    with opened(folder) as it:
        it.suspect("math.floor(1)", HANG)
        it.state.write()
    with opened(folder, None) as it:
        it.suspect("math.floor(2)", HANG)
        it.state.write()  # once more there was no time
        [(_, find)] = finds.load_all(folder)
        assert find.count == 2
    with opened(folder, None) as it:
        old = it.next()
        it.suspect("math.floor(3)", HANG)
        assert it.next().data == wire.encode(parse("math.floor(2)").tree)
        it.reduce(old, "math.floor(1)")
        it.state.write()
        [(_, find)] = finds.load_all(folder)
        assert (str(find.signature), find.count) == ("hang: -O2 (math.floor)", 3)


def test_a_suspect_is_reduced_with_the_verdict_that_it_has() -> None:
    tree = parse("local a = 1 print(a) repeat a += 1 until a > 3 print(a // 2)").tree
    runner = Runner(CONFIG)
    verdict, runs = runner.verdict(tree)
    assert verdict is not None
    suspect = Suspect(wire.encode(tree), verdict, runs, {})
    reduced = reduce_suspect(runner, suspect)
    assert reduced is not None
    source = render_module_set(reduced.tree).program
    assert source.startswith("repeat")
    assert reduced.nodes <= 8
    assert reduce_suspect(runner, suspect, seconds=0) is not None
    fine = Suspect(wire.encode(parse("print(1)").tree), verdict, runs, {})
    assert reduce_suspect(runner, fine) is None
    runner.close()


ENDLESS = """
import json, sys
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    limit = "hang" if {is_time} else "memory"
    broken = number > 9 and "print" in request["source"]  # later, time limits are shorter
    answer = {{"id": request["id"], "kind": limit if broken else "ok"}}
    print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("is_time", ['request["milliseconds"] < 60_000', "number // 2 % 2"])
def test_a_program_without_an_end_is_a_find_whichever_limit_it_reaches(
    tmp_path: Path, is_time: str
) -> None:
    (tmp_path / "service.py").write_text(ENDLESS.format(is_time=is_time))
    command = f"{sys.executable} {tmp_path / 'service.py'}"
    target = Description("persistent", command, seconds=60)
    fuzzer = Fuzzer(Config(targets=(target,), size=20, compiled=0), seed=1)
    batch = fuzzer.work(seconds=60, programs=20, at_once=True)
    assert not batch.interval.unconfirmed
    [suspect] = batch.suspects
    reduced = reduce_suspect(fuzzer.runner, suspect)
    fuzzer.close()
    assert reduced is not None
    assert reduced.is_smallest
    assert render_module_set(reduced.tree).program == "print()\n"


WORDS = """
import json, os, re, sys
for line in sys.stdin:
    request = json.loads(line)
    if re.search(r"\\bcontinue\\b|\\b0[bB]", request["source"]):
        os.abort()
    print(json.dumps({"id": request["id"], "kind": "ok"}), flush=True)
"""


def test_a_bug_is_one_find_whatever_surrounds_it_without_a_stack_trace(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text(WORDS)
    target = Description("persistent", f"{sys.executable} -S {tmp_path / 'service.py'}")
    runner = Runner(Config(targets=(target,)))
    sources = (
        ("for i = 1, 2 do print(i) continue end", False, None),
        ("for k in t do if a then continue end end", True, None),
        ("while true do continue end", True, None),
        ("repeat print(1) continue until true", False, None),
        ("if 10 then else end", False, 12),  # in this style, the number is binary
        ("print(10)", True, 12),
    )
    signatures = []
    for source, only_compiled, style in sources:
        tree = parse(source).tree
        tree = uncalled(tree) if only_compiled else tree
        verdict, runs = runner.verdict(tree, style)
        assert verdict is not None, source
        reduced = reduce_suspect(runner, Suspect(wire.encode(tree), verdict, runs, {}, (), style))
        assert reduced is not None
        signatures.append(reduced.construct)
    runner.close()
    styled = frozenset({"Spelling"})
    assert signatures == [*[frozenset({"StatContinue", "StatWhile"})] * 4, styled, styled]


def test_a_reduction_uses_the_last_of_several_variants_that_break() -> None:
    # The one that optimizes most: others may break only with `@native`, which would then be kept.
    target = attrs.evolve(TARGET, variants=("-O2", "-O1", "-O0"))
    runner = Runner(Config(targets=(target,), size=60, seed=1))
    _, [broken, _, right] = runner.verdict(parse("repeat until 1").tree)
    quick = runner.only_broken([broken, broken, right])
    assert quick is not None
    assert quick.config.targets[0].variants == ("-O1",)
    quick.close()
    runner.close()


def test_a_reduction_makes_only_the_run_that_breaks() -> None:
    runner = Runner(CONFIG)
    verdict, runs = runner.verdict(parse("repeat until 1").tree)
    quick = runner.only_broken(runs)
    assert quick is not None
    assert quick.verdict(parse("repeat until 2").tree)[0] == verdict
    [run] = quick.run(Sources(None, "repeat until 3"))
    assert run.target == runs[-1].target
    _, different = runner.verdict(parse("print(1 // 2)").tree)
    assert runner.only_broken(different) is None
    quick.close()
    runner.close()


TWO_BUGS = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    bug = ""
    if request["variant"] == "-O0" and "print" not in request["source"]:
        bug = "one.cpp:1: other"
    if request["variant"] == "-O2" and "repeat" in request["source"]:
        bug = "two.cpp:2: wanted"
    print(json.dumps({"id": request["id"], "kind": "assertion" if bug else "ok", "output": "",
                      "error": bug}), flush=True)
"""


def test_a_program_is_reduced_even_if_its_smallest_part_also_shows_another_bug(
    tmp_path: Path,
) -> None:
    (tmp_path / "service.py").write_text(TWO_BUGS)
    command = f"{sys.executable} {tmp_path / 'service.py'}"
    target = Description("persistent", command, variants=("-O0", "-O2"), seconds=5)
    runner = Runner(Config(targets=(target,), size=60, seed=1))
    tree = parse("local v0 = 1 print(v0) repeat v0 = {2, 3} until v0").tree
    verdict, runs = runner.verdict(tree)
    assert verdict is not None
    reduced = reduce_suspect(runner, Suspect(wire.encode(tree), verdict, runs, {}))
    runner.close()
    assert reduced is not None
    assert reduced.verdict.signature == verdict.signature
    assert reduced.is_smallest
    assert reduced.nodes < 14
    source = render_module_set(reduced.tree).program
    assert "print" in source
    assert "repeat" in source


def test_a_corpus_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    with Campaign(folder, CONFIG):
        pass
    (folder / CORPUS).rmdir()
    (folder / CORPUS).write_text("the folder")
    with pytest.raises(FileError, match="corpus"):
        Campaign(folder, None).__enter__()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_a_reduction_leaves_no_process_of_the_target_running(tmp_path: Path) -> None:
    def children() -> set[str]:
        found: set[str] = set()
        for thread in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):  # the thread has ended
                found.update((thread / "children").read_text().split())
        return found

    (tmp_path / "service.py").write_text(
        """import json, sys
for line in sys.stdin:
    request = json.loads(line)
    wrong = request["variant"] == "-O2" and "math.sqrt" in request["source"]
    print(json.dumps({"id": request["id"], "kind": "crash" if wrong else "ok"}), flush=True)
"""
    )
    command = f"{sys.executable} {tmp_path / 'service.py'}"
    target = Description("persistent", command, variants=("-O0", "-O2"), seconds=5)
    before = children()
    runner = Runner(Config(targets=(target,), size=60, seed=1))
    tree = parse("print(math.sqrt(1) + 2)").tree
    verdict, runs = runner.verdict(tree)
    assert verdict is not None
    reduced = reduce_suspect(runner, Suspect(wire.encode(tree), verdict, runs, {}))
    runner.close()
    assert reduced is not None
    assert reduced.operations == {"math.sqrt"}
    assert children() == before
