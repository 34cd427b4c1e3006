"""`generate`, as a person or a script uses it: many trees; repeated, parallel, interrupted runs."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import command
import pytest
from command import ok_here as ok
from command import on_a_terminal
from command import run_here as run
from waiting import wait_until

from scriptschema import files, interop, wire
from scriptschema.generation import bulk
from scriptschema.generation.trees import generate
from scriptschema.luau.parse import ParseError, parse
from scriptschema.messages import MESSAGES, Expr, ModuleSet, Stat


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def stream(data: bytes) -> list[bytes]:
    return [item for _, item in files.read_delimited(io.BytesIO(data))]


def test_each_tree_is_a_file_named_by_its_seed_and_can_be_made_alone(tmp_path: Path) -> None:
    ok("generate", "-n", 5, "--seed", 40, "--size", 60, "-o", tmp_path / "corpus")
    made = content(tmp_path / "corpus")
    assert sorted(made) == [f"{seed}.pb" for seed in range(40, 45)]
    for seed in range(40, 45):
        assert made[f"{seed}.pb"] == wire.encode(generate(seed=seed, size=60))
    assert ok("generate", "--seed", 43, "--size", 60) == made["43.pb"]


def test_without_n_one_tree_goes_to_the_file_in_the_format_of_its_ending(tmp_path: Path) -> None:
    wanted = generate(seed=0, size=30)
    for name, form in (("a.pb", "binary"), ("a.textproto", "text"), ("a.json", "json")):
        ok("generate", "--size", 30, "-o", tmp_path / name)
        assert files.read(ModuleSet, tmp_path / name) == wanted, form
    for name in ("a.luau", "a.lua"):
        ok("generate", "--programs", "--size", 30, "-o", tmp_path / name)
        parse((tmp_path / name).read_text())
    ok("generate", "--size", 30, "--format", "text", "-o", tmp_path / "a")
    assert interop.from_text(ModuleSet, (tmp_path / "a").read_bytes()) == wanted
    ok("generate", "--seed", 3, "-o", f"{tmp_path}/new/")
    assert list(content(tmp_path / "new")) == ["3.pb"]


def test_standard_output_gets_a_stream_in_the_format_that_is_requested() -> None:
    wanted = [generate(seed=seed, size=40) for seed in range(4)]
    assert stream(ok("generate", "-n", 4, "--size", 40)) == list(map(wire.encode, wanted))
    texts = stream(ok("generate", "-n", 4, "--size", 40, "--format", "text", "-o", "-"))
    assert [interop.from_text(ModuleSet, text) for text in texts] == wanted
    [one] = stream(ok("generate", "-n", 1, "--size", 40))
    assert one == wire.encode(wanted[0])
    assert ok("generate", "-n", 0) == b""


def test_a_stream_is_what_protobuf_itself_reads(tmp_path: Path) -> None:
    google = pytest.importorskip("google.protobuf.proto", reason="pip install protobuf")
    import spec

    ok("generate", "-n", 3, "--message", "Expr", "-o", tmp_path / "a.pbstream")
    source = io.BytesIO((tmp_path / "a.pbstream").read_bytes())
    for seed in range(3):
        read = google.parse_length_prefixed(spec.runtime_classes()["Expr"], source)
        assert read.SerializeToString() == wire.encode(generate(Expr, seed=seed))
    assert source.read() == b""


def test_a_stream_can_hold_a_single_tree(tmp_path: Path) -> None:
    ok("generate", "--size", 40, "-o", tmp_path / "a.pbstream")
    data = (tmp_path / "a.pbstream").read_bytes()
    assert stream(data) == [wire.encode(generate(seed=0, size=40))]


@pytest.mark.parametrize(
    "arguments",
    [
        ("-n", 3, "--format", "json", "-o", "a.pbstream"),
        ("--format", "text", "-o", "a.pbstream"),
        ("--format", "json", "-o", "a.pb"),
        ("--programs", "--format", "luau", "-o", "a.pb"),
        ("--programs", "--format", "binary", "-o", "a.lua"),
    ],
)
def test_no_file_has_the_suffix_of_another_format(
    arguments: tuple[str | int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("generate", *arguments)
    assert done.returncode == 2
    assert f"{arguments[-1]}: the suffix ".encode() in done.stderr
    assert content(tmp_path) == {}


def test_message_size_swarm_and_weights_are_those_of_the_library(tmp_path: Path) -> None:
    weights = tmp_path / "weights.toml"
    weights.write_text("[Stat]\nwhile = 1000\n")
    options = ("--message", "Stat", "--size", 90, "--swarm")
    seeds = range(7, 13)
    found = stream(ok("generate", "-n", 6, "--seed", 7, *options, "--weights", weights))
    assert found == [
        wire.encode(generate(Stat, seed=seed, size=90, swarm=True, weights=weights))
        for seed in seeds
    ]
    assert found != stream(ok("generate", "-n", 6, "--seed", 7, *options))


def test_json_has_every_tree_though_it_cannot_hold_all_strings(tmp_path: Path) -> None:
    ok("generate", "-n", 30, "--format", "json", "-o", tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 30
    replaced = 0
    for seed in range(30):
        data = (tmp_path / f"{seed}.json").read_bytes()
        tree = generate(seed=seed)
        bulk.make_unicode(tree)
        replaced += tree != generate(seed=seed)
        assert interop.from_json(ModuleSet, data) == tree
    assert replaced


def test_run_again_it_continues_and_keeps_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    ok("generate", "-n", 10, "-o", folder)
    whole = content(folder)
    kept = folder / "0.pb"
    os.utime(kept, (1, 1))
    for seed in (3, 7):
        (folder / f"{seed}.pb").unlink()
    (folder / "notes.txt").write_text("mine")
    done = run("generate", "-n", 10, "-o", folder)
    assert (done.returncode, done.stderr) == (0, b"8 of 10 trees already exist\n")
    assert content(folder) == {**whole, "notes.txt": b"mine"}
    assert kept.stat().st_mtime == 1


def test_trees_made_with_other_options_are_not_mixed_in(tmp_path: Path) -> None:
    ok("generate", "-n", 3, "-o", tmp_path)
    before = content(tmp_path)
    done = run("generate", "-n", 5, "--size", 20, "-o", tmp_path)
    assert done.returncode == 1
    assert "exists, but was not generated with these options:" in str(done.stderr)
    assert content(tmp_path) == before


@pytest.mark.parametrize("size", [1, 300])
def test_order_and_content_do_not_depend_on_the_number_of_processes(size: int) -> None:
    alone = ok("generate", "-n", 150, "--size", size)
    assert command.ok("generate", "-n", 150, "--size", size, "--jobs", 2) == alone


# Interruptions, with real processes and signals


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start a command that will be interrupted.

    Its coverage is not measured, because an interrupt during measurement leaves a lock held.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "scriptschema", "generate", *map(str, arguments)],
        env={name: v for name, v in os.environ.items() if not name.startswith("COVERAGE_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C goes to a terminal's whole group; so can we send it
    )


def in_group(group: int) -> Iterator[int]:
    """Return the processes of a process group (Linux)."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                yield int(path.name)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_leaves_whole_files_and_the_next_run_continues(
    tmp_path: Path, jobs: int, stop: signal.Signals
) -> None:
    process = start("-n", 100_000, "--size", 50, "--jobs", jobs, "-o", tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("*.pb"))) > 20)
    if stop == signal.SIGINT:
        os.killpg(process.pid, stop)
    else:
        process.send_signal(stop)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, b"")
    assert errors == b"interrupted: to continue, run the same command again\n"
    made = content(tmp_path)
    assert 20 < len(made) < 100_000
    assert made == {
        f"{seed}.pb": wire.encode(generate(seed=seed, size=50)) for seed in range(len(made))
    }
    more = len(made) + 5
    done = run("generate", "-n", more, "--size", 50, "-o", tmp_path)
    assert done.stderr == f"{len(made):,} of {more:,} trees already exist\n".encode()
    assert len(content(tmp_path)) == more
    wait_until(lambda: not [*in_group(process.pid)])


def test_a_killed_process_leaves_nothing_that_looks_like_a_tree(tmp_path: Path) -> None:
    # A file that is being written all the time, so that the kill comes in the middle of it.
    process = start("-n", 1_000_000, "--size", 2000, "-o", tmp_path / "a.pbstream")
    wait_until(lambda: any(path.stat().st_size for path in tmp_path.iterdir()))
    process.kill()
    process.communicate()
    [leftover] = tmp_path.iterdir()
    assert leftover.name.startswith(".a.pbstream.")
    assert files.expand([tmp_path]) == []
    ok("generate", "-n", 3, "-o", tmp_path)
    assert [item.path.name for item in files.expand([tmp_path])] == ["0.pb", "1.pb", "2.pb"]


def test_an_interrupted_stream_file_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.pbstream").write_bytes(b"the old one")
    process = start("-n", 1_000_000, "-o", tmp_path / "a.pbstream")
    wait_until(lambda: len(content(tmp_path)) == 2)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"interrupted: nothing was written\n")
    assert content(tmp_path) == {"a.pbstream": b"the old one"}


def test_workers_end_when_the_command_is_killed(tmp_path: Path) -> None:
    process = start("-n", 1_000_000, "--jobs", 2, "-o", tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("*.pb"))) > 20)
    process.kill()
    process.communicate()
    wait_until(lambda: not list(in_group(process.pid)))


def test_a_worker_that_is_killed_is_an_error_not_a_hang(tmp_path: Path) -> None:
    process = start("-n", 1_000_000, "--jobs", 2, "-o", tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("*.pb"))) > 20)
    workers = [
        pid
        for pid in in_group(process.pid)
        if pid != process.pid and b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith(b"scriptschema: ")
    assert b"Traceback" not in errors


def test_a_reader_that_has_enough_ends_the_command_quietly() -> None:
    process = start("-n", 100_000)
    assert process.stdout
    assert process.stderr
    assert process.stdout.read(1000)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


def test_a_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "scriptschema", "generate", "-n", "3"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"scriptschema: standard output: No space left on device\n"


def test_sources_that_are_not_luau_come_in_a_folder_a_file_or_alone(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "one.luau"
    arguments = ["generate", "--broken", "--size", "60"]
    assert run(*arguments, "-n", "4", "--style", "random", "-o", str(folder)).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == [f"{n}.luau" for n in range(4)]
    assert run(*arguments, "--seed", "2", "-o", str(file)).returncode == 0
    assert run(*arguments, "-n", "1", "-o", str(tmp_path / "first.luau")).returncode == 0
    assert (tmp_path / "first.luau").is_file()  # -n 1 does not make it a folder
    alone = run(*arguments, "--seed", "2")
    assert (alone.returncode, alone.stdout) == (0, file.read_bytes())
    for path in (*folder.iterdir(), file):
        with pytest.raises(ParseError):
            parse(path.read_bytes())


# Wrong use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "-1"], "-1 is not in the range x>=0"),
        (["--seed", "-1"], "-1 is not in the range x>=0"),
        (["--size", "0"], "0 is not in the range 1<=x<=1000000"),
        (["--size", "1000001"], "1000001 is not in the range 1<=x<=1000000"),
        (["--jobs", "0"], "0 is not in the range x>=1"),
        (["--message", "Exprs"], "unknown message 'Exprs'; did you mean Expr"),
        (["--weights", "nothing.toml"], "'nothing.toml' does not exist"),
        (["--weights", "WEIGHTS"], "unknown alternative 'nill' of Expr; available: group, nil,"),
        (["-n", "2", "-o", "WEIGHTS"], "is a file: several trees can only be written to a folder"),
        (["--broken", "--programs"], "--programs, --repaired and --broken cannot be combined"),
        (
            ["--broken", "--format", "json"],
            "invalid sources have no tree: omit --format, or use --format",
        ),
        (["--broken", "--message", "Expr"], "--broken generates ModuleSets, not Expr"),
        (["--repaired", "--wrong", "0"], "require --programs or --broken"),
    ],
)
def test_wrong_use_is_reported_with_status_2(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    weights = tmp_path / "weights.toml"
    weights.write_text("[Expr]\nnill = 3\n")
    done = run("generate", *(str(weights) if a == "WEIGHTS" else a for a in arguments))
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in " ".join(done.stderr.decode().split())


@pytest.mark.parametrize("text", ["[Expr", "Expr = 1", '[Expr]\nnil = "x"', "[Expr]\nnil = -1"])
def test_broken_weights_are_reported_with_their_file(tmp_path: Path, text: str) -> None:
    weights = tmp_path / "weights.toml"
    weights.write_text(text)
    done = run("generate", "--weights", weights)
    assert done.returncode == 2
    assert done.stderr.decode().count(str(weights)) == 1
    assert b"Traceback" not in done.stderr


def test_weights_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    weights = tmp_path / "weights.toml"
    weights.write_bytes(b"\xff\xfe")
    done = run("generate", "--weights", weights)
    assert (done.returncode, done.stdout) == (2, b"")
    assert str(weights) in done.stderr.decode()


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that fails is Linux's")
def test_weights_whose_reading_fails_are_reported() -> None:
    done = run("generate", "--weights", "/proc/self/mem")
    assert done.returncode == 2
    assert b"/proc/self/mem: Input/output error" in done.stderr


def test_a_folder_in_a_tree_s_place_is_reported(tmp_path: Path) -> None:
    (tmp_path / "1.pb").mkdir()
    done = run("generate", "-n", 2, "-o", tmp_path)
    assert done.returncode == 1
    assert done.stderr.decode() == f"scriptschema: {tmp_path}/1.pb: Is a directory\n"
    assert [path.name for path in tmp_path.iterdir()] == ["1.pb"]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("generate", "-n", 2, "-o", tmp_path / "file" / "folder")
    assert done.returncode == 1
    assert done.stderr.decode() == f"scriptschema: {tmp_path}/file/folder: Not a directory\n"


# Terminals


def test_a_terminal_gets_no_binary_data() -> None:
    status, shown = on_a_terminal("generate", "-n", 3, stream="stdout")
    assert status == 2
    assert b"\x0a" not in shown[:1]


def test_a_terminal_sees_progress_with_rate_and_time_left(tmp_path: Path) -> None:
    status, shown = on_a_terminal(
        "generate", "-n", 400, "--size", 300, "-o", tmp_path, stream="stderr"
    )
    assert status == 0
    assert b"generating" in shown
    assert b"/400" in shown
    assert b"/s" in shown
    assert len(list(tmp_path.iterdir())) == 400


# The workers' part, in this process


@pytest.mark.parametrize("by", ["main-thread", "other-thread"])
def test_an_interrupt_waits_until_a_file_is_written(by: str) -> None:
    done = []
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    thread = threading.main_thread() if by == "main-thread" else other

    def write() -> None:
        with bulk.interrupts_later():
            signal.pthread_kill(thread.ident or 0, signal.SIGINT)
            over.wait(0.1)  # otherwise, another thread may not have received it yet
            done.append("written")
        done.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        write()
    over.set()
    other.join()
    assert done == ["written"]


def test_bulk_makes_the_same_in_processes_and_ahead_of_nobody(tmp_path: Path) -> None:
    recipe = bulk.Recipe(Expr, 20_000, None, swarm=False, form="binary")
    taken: list[int] = []

    def seeds() -> Iterator[int]:
        for seed in range(1_000_000):
            taken.append(seed)
            yield seed

    made = bulk.make_all(recipe.make, recipe.size, seeds(), 2)
    assert [next(made) for _ in range(3)] == [recipe.make(seed) for seed in range(3)]
    assert len(taken) < 12
    made.close()  # type: ignore[attr-defined]


def test_every_message_can_be_made(tmp_path: Path) -> None:
    for cls in MESSAGES.values():
        recipe = bulk.Recipe(cls, 10, {"Expr": {"nil": 50}}, swarm=True, form="json")
        assert isinstance(json.loads(recipe.make(1)), dict)
