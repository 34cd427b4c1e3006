"""A failure that does not happen again is still a find, with the requests of its process."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from command import run_here

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.reduction import reduce_suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.targets.description import Description
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render

SERVICE = """
import json, os, signal, sys
for number, line in enumerate(sys.stdin, 1):
    request = json.loads(line)
    if number == 30:  # it takes more than one program
        print("lgc.cpp(7): ASSERTION FAILED: !isdead(o)", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    print(json.dumps({"id": request["id"], "kind": "ok"}), flush=True)
"""


def campaign(folder: Path, service: str, **options: Any) -> list[tuple[Path, finds.Find]]:
    script = folder / "service.py"
    script.write_text(service)
    target = Description("persistent", f"{sys.executable} {script}", **options)
    config = Config(targets=(target,), size=30, mutants=0)
    with Campaign(folder / "campaign", config) as campaign:
        Session(campaign, programs=200, finishing=60).run()
    return [*finds.load_all(folder / "campaign")]


def test_a_crash_that_needs_what_was_before_is_found_and_replayed(tmp_path: Path) -> None:
    [(folder, find)] = campaign(tmp_path, SERVICE)
    assert str(find.signature) == "seen once: assertion: lgc.cpp: !isdead(o)"
    assert find.reduced is None
    assert "lgc.cpp(7)" in find.program.runs[0].outcome.report
    requests = finds.requests_of(folder)
    assert len(requests) == 30
    assert find.count > 1
    assert json.loads(requests[-1])["source"] == finds.source_of(folder)
    assert finds.command_of(folder, find) == f"scriptschema reproduce {folder} --replay"
    alone = run_here("reproduce", "--trust", folder)
    assert alone.returncode == 1
    assert b"not reproduced" in alone.stdout
    assert b"it may depend on earlier requests: try --replay" in alone.stdout
    again = run_here("reproduce", "--trust", folder, "--replay")
    assert again.returncode == 0, again.stdout
    assert b"assertion: lgc.cpp:7: !isdead(o)" in again.stdout
    assert b"reproduced" in again.stdout


def test_a_bug_whose_message_varies_is_one_find_for_a_program(tmp_path: Path) -> None:
    script = tmp_path / "service.py"
    script.write_text("""import json, sys, time
for line in sys.stdin:
    words = "".join(chr(97 + int(digit)) for digit in str(time.perf_counter_ns()))
    answer = {"id": json.loads(line)["id"], "kind": "crash", "error": f"cannot lock {words}"}
    print(json.dumps(answer), flush=True)
""")
    target = Description("persistent", f"{sys.executable} {script}")
    fuzzer = Fuzzer(Config(targets=(target,), size=5), seed=1)
    batch = fuzzer.work(seconds=60, programs=3)
    fuzzer.close()
    assert [each.verdict.signature.kind for each in batch.suspects] == ["seen once"] * 3


def test_a_sequence_that_shows_nothing_is_reported(tmp_path: Path) -> None:
    [(folder, _)] = campaign(tmp_path, SERVICE)
    (tmp_path / "service.py").write_text(SERVICE.replace("== 30", "== 40"))
    done = run_here("reproduce", "--trust", folder, "--replay")
    assert done.returncode == 1
    assert b"not reproduced" in done.stdout


def test_a_crash_that_comes_now_and_then_is_replayed_by_its_program_alone(tmp_path: Path) -> None:
    flag, when = tmp_path / "flag", tmp_path / "when"
    when.write_text("40")
    script = tmp_path / "flaky.sh"
    # It breaks in one run only: the first of a program, after those that try out the target.
    script.write_text(
        f"echo >> {flag}; n=$(wc -l < {flag}); test $n -eq $(cat {when}) && kill -SEGV $$; true\n"
    )
    config = Config(targets=(Description("command", f"sh {script} {{file}}"),), size=5)
    with Campaign(tmp_path / "campaign", config) as campaign:
        Session(campaign, programs=40).run()
    [(folder, find)] = finds.load_all(tmp_path / "campaign")
    assert str(find.signature) == "seen once: crash: SIGSEGV"
    assert finds.requests_of(folder) == ()
    alone = run_here("reproduce", "--trust", folder)
    assert b"it may not happen every time: try --replay" in alone.stdout
    flag.unlink()
    when.write_text("4")
    done = run_here("reproduce", "--trust", folder, "--replay")
    assert done.returncode == 0, done.stdout
    assert b"run 4" in done.stdout


STARTED = """
import json, os, signal, sys
for number, line in enumerate(sys.stdin, 1):
    request = json.loads(line)
    if number < 2 and "{}" in request["source"]:  # before there is much memory to collect
        print("lgc.cpp(7): ASSERTION FAILED: !isdead(o)", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    print(json.dumps({"id": request["id"], "kind": "ok"}), flush=True)
"""


def test_a_bug_that_only_a_new_process_shows_is_reduced_like_any_other(tmp_path: Path) -> None:
    script = tmp_path / "service.py"
    script.write_text(STARTED)
    target = Description("persistent", f"{sys.executable} {script}")
    tree = parse("local a = 1 for i = 1, 9 do a += i print(a, {}) end return a").tree
    with contextlib.closing(Runner(Config(targets=(target,)))) as runner:
        verdict, runs = runner.verdict(tree)
        assert verdict is not None
        runner.verdict(parse("print(1)").tree)
        reduced = reduce_suspect(runner, finds.Suspect(encoding.encode(tree), verdict, runs, {}))
    assert reduced is not None
    assert reduced.is_smallest
    assert render(reduced.tree) == "x0({})\n"
