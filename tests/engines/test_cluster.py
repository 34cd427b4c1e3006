"""A campaign on a cluster, with Dask's real scheduler and worker processes."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pytest
from command import run_here
from waiting import wait_until

from scriptschema import wire
from scriptschema.fuzzing.campaign import finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.campaign.workers import Failure, Order
from scriptschema.fuzzing.targets.description import from_word
from scriptschema.luau.parse import parse

pytest.importorskip("distributed")

from scriptschema.fuzzing.campaign import cluster
from scriptschema.fuzzing.campaign.cluster import Cluster, ClusterError

SERVICE_PATH = Path(__file__).parents[1] / "scriptschema" / "fuzzing" / "service.py"
SERVICE = shlex.join([sys.executable, str(SERVICE_PATH)])
CONFIG = Config((from_word(f"persistent:{SERVICE}", variants=("-O0", "-O2")),), size=40)


@attrs.define
class Machines:
    """A scheduler and its workers."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    tmp_path = tmp_path_factory.mktemp("cluster")
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((tmp_path / "dask.log").open("wb"))

        def start(kind: str, *arguments: object) -> subprocess.Popen[bytes]:
            words = [sys.executable, "-m", "dask", kind, "--no-dashboard", *map(str, arguments)]
            process = subprocess.Popen(
                words, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True
            )
            stack.callback(end, process)
            return process

        file = tmp_path / "scheduler.json"
        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", file)
        worker = ("worker", "--scheduler-file", file, "--nthreads", 1, "--no-nanny")
        workers = [start(*worker) for _ in range(2)]
        yield Machines(address_in(file), scheduler, workers)


def address_in(file: Path) -> str:
    """Return the address of the scheduler that writes the file."""

    def address() -> str:
        with contextlib.suppress(OSError, ValueError):
            return str(json.loads(file.read_text())["address"])
        return ""

    return wait_until(address)


def end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_finds_come_as_they_happen_and_a_killed_worker_costs_its_task_only(
    machines: Machines, tmp_path: Path
) -> None:
    events: list[dict[str, Any]] = []
    killed = []

    def on_event(event: dict[str, Any]) -> None:
        events.append(event)
        if event["event"] != "progress" or not event["programs"]:
            return
        if not killed:
            killed.append(event["programs"])
            machines.workers[0].kill()
        elif event["programs"] > killed[0] + 100 and any(e["event"] == "reduced" for e in events):
            raise KeyboardInterrupt  # as a user may

    with Campaign(tmp_path / "campaign", CONFIG) as campaign:
        with Cluster(machines.address, slice_seconds=1.5) as there:
            there.client.wait_for_workers(2, timeout=60)
            there.require(CONFIG)
            session = Session(
                campaign, jobs=there.threads, seconds=120, workers=there, on_event=on_event
            )
            with pytest.raises(KeyboardInterrupt):
                session.run()
        assert len([*(campaign.path / "corpus").iterdir()]) > 10
        found = [find for _, find in finds.load_all(campaign.path)]
        assert any(find.reduced for find in found)
        total = statistics.total(statistics.read(campaign.path))
        assert total.programs == session.programs_done > killed[0]


def test_a_target_that_works_on_no_worker_is_reported_at_once(
    machines: Machines, tmp_path: Path
) -> None:
    done = run_here(
        *("fuzz", "--target", "command:./no-such-luau", "--cluster", machines.address),
        *("-o", tmp_path / "campaign", "--for", "60s"),
    )
    assert done.returncode == 1
    assert b"no-such-luau" in done.stderr


def test_a_scheduler_that_goes_away_ends_the_campaign_which_has_what_came_before(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 2.0)

    def on_event(event: dict[str, Any]) -> None:
        if event["event"] == "progress" and event["programs"]:
            machines.scheduler.kill()

    with Campaign(tmp_path / "campaign", CONFIG) as campaign:
        with (
            pytest.raises(ClusterError, match="scheduler"),
            Cluster(machines.address, slice_seconds=0.5) as there,
        ):
            Session(campaign, jobs=1, seconds=120, workers=there, on_event=on_event).run()
        assert statistics.total(statistics.read(campaign.path)).programs > 0


def test_without_dask_the_way_to_install_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install .*distributed"), Cluster("local:1"):
        pass


def test_a_process_keeps_its_fuzzer_for_the_next_task_and_takes_what_others_kept() -> None:
    quiet = Config((from_word("command:cat"),), size=40)  # no suspect, which only a worker can tell
    order = Order(0.2, None, [wire.encode(parse("print(7)").tree)], {})
    try:
        batch = cluster._work("key", quiet, order, 1, 100_001)
        assert batch.interval.programs > 0
        [idle] = cluster._idle["key"]
        assert len(idle.names) >= 1 + len(batch.kept)
        again = cluster._work("key", quiet, order, 1, 100_002)
        assert again.interval.programs > 0
        assert cluster._idle["key"] == [idle]
    finally:
        cluster._close_idle("key")
    assert "key" not in cluster._idle


def test_a_target_that_fails_in_a_task_is_no_lost_task() -> None:
    gone = Config((from_word("command:./no-such-luau"),))
    answer = cluster._work("gone", gone, Order(0.2, None, [], {}), 1, 1)
    assert isinstance(answer, Failure)
    assert "no-such-luau" in answer.message
    assert "no-such-luau" in cluster._try(gone)
    assert cluster._try(CONFIG) == ""


def test_processes_of_this_machine_are_a_cluster_too(tmp_path: Path) -> None:
    with mock.patch.dict(os.environ):  # Dask sets variables for its processes here
        done = run_here(
            *("fuzz", "--target", f"persistent:{SERVICE}", "--cluster", "local:1"),
            *("-o", tmp_path / "campaign", "--count", 20),
        )
    assert done.returncode == 0, done.stderr
    assert statistics.total(statistics.read(tmp_path / "campaign")).programs >= 20


@pytest.mark.parametrize("address", ["local:0", "local:many", "somewhere", "tcp://"])
def test_what_is_no_cluster_is_refused(address: str, tmp_path: Path) -> None:
    done = run_here("fuzz", "--target", "luau-web", "--cluster", address, "-o", tmp_path / "c")
    assert done.returncode == 2
    assert b"expected tcp://HOST:PORT or local:N" in done.stderr


def test_a_scheduler_that_is_not_there_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scriptschema.fuzzing.campaign.cluster.PATIENCE", 0.5)
    done = run_here(
        *("fuzz", "--target", f"persistent:{SERVICE}", "--cluster", "tcp://127.0.0.1:9"),
        *("-o", tmp_path / "campaign"),
    )
    assert done.returncode == 1
    assert b"tcp://127.0.0.1:9" in done.stderr
