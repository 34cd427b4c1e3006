"""Reports of a real build with sanitizers are distinguished, kept, and recognized elsewhere.

The build is `sanitized.c`, compiled by clang with AddressSanitizer and UBSan.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import run_here
from components import require

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.oracles.judging import Judge
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.targets.persistent import PersistentTarget
from scriptschema.luau.parse import parse

SOURCE = Path(__file__).with_name("sanitized.c")


def build(folder: Path) -> Description:
    """The program, built in a folder, as a target."""
    require("clang")
    folder.mkdir()
    shutil.copy(SOURCE, folder / "target.c")
    command = ["clang", "-g", "-O1", "-fsanitize=address,undefined", "-o", "luau", "target.c"]
    subprocess.run([*command[:-1], str(folder / "target.c")], cwd=folder, check=True)
    return Description("command", f"{folder / 'luau'} {{file}}")


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Description, Description]:
    """Two builds of the same source, in folders with different names."""
    folder = tmp_path_factory.mktemp("builds")
    return build(folder / "mine"), build(folder / "another-folder")


def run(target: Description, source: str) -> Run:
    opened = open_target(target)
    try:
        opened.submit(Sources(None, source), 20)
        return Run("luau", opened.collect()[0])
    finally:
        opened.close()


def judged(run: Run) -> Verdict:
    verdict = Judge(("broken",), [0]).judge(Sources(None, ""), [run])
    assert verdict is not None
    return verdict


def test_a_service_does_not_continue_after_a_report_of_undefined_behaviour(
    builds: tuple[Description, Description],
) -> None:
    command = builds[0].command.replace("{file}", "--serve")
    service = Description("persistent", command)
    assert run(service, "print(1)").outcome.kind == "ok"
    found = run(service, "overflow_here()").outcome
    assert found.kind == "undefined behaviour"
    assert "signed integer overflow" in found.error
    assert "add" in found.frames


@pytest.mark.parametrize(
    ("source", "kind", "error", "frame"),
    [
        ("after_free()", "sanitizer", "heap-use-after-free", "use_after_free"),
        ("overflow_here()", "undefined behaviour", "signed integer overflow", "add"),
        ("nothing_there()", "crash", "SIGSEGV", "read_nothing"),
        ("luau_assert()", "assertion", "lvm.cpp:12: n > 0", ""),
        ("c_assert()", "assertion", "target.c:49: number < 0", ""),
    ],
)
def test_each_way_to_break_is_reported_with_its_evidence(
    source: str, kind: str, error: str, frame: str, builds: tuple[Description, Description]
) -> None:
    found = run(builds[0], source).outcome
    assert found.kind == kind, found
    assert found.error.startswith(error)
    assert frame in (*found.frames, "")
    said = "runtime error" if kind == "undefined behaviour" else "ERROR: AddressSanitizer"
    assert said in found.report
    assert "#0 0x" in found.report  # our options have it print a stack for each
    assert found.status is not None


@pytest.mark.parametrize(
    "source", ["after_free()", "overflow_here()", "nothing_there()", "luau_assert()", "c_assert()"]
)
def test_a_bug_has_one_signature_wherever_it_was_built(
    source: str, builds: tuple[Description, Description]
) -> None:
    one, other = (judged(run(target, source)).signature for target in builds)
    assert one == other
    assert "/" not in one.detail


def test_undefined_behaviour_is_known_by_its_site_and_not_by_who_calls_it(
    builds: tuple[Description, Description],
) -> None:
    here, there = (
        judged(run(builds[0], source)).signature
        for source in ("overflow_here()", "overflow_there()")
    )
    assert here == there
    site = next(n for n, s in enumerate(SOURCE.read_text().splitlines(), 1) if "the site" in s)
    assert here.detail.startswith(f"target.c:{site}:")
    assert "signed integer overflow" in here.detail


def test_the_evidence_is_in_the_find_and_shown_when_it_is_reproduced(
    tmp_path: Path, builds: tuple[Description, Description]
) -> None:
    source = 'print("after_free")'
    found = run(builds[0], source)
    config = Config(targets=builds[:1]).as_json()
    find = finds.Find("one", judged(found), finds.ShownProgram(3, [found]), config=config)
    folder = finds.add(tmp_path, find, parse(source).tree)
    kept = json.loads((folder / finds.FILE).read_text())["program"]["runs"][0]["outcome"]
    assert "freed by thread" in kept["report"]
    done = run_here("reproduce", "--trust", folder)
    assert done.returncode == 0, done.stderr
    assert b"freed by thread" in done.stdout
    assert b"reproduced" in done.stdout


def test_what_users_tell_their_sanitizers_counts_more(
    monkeypatch: pytest.MonkeyPatch, builds: tuple[Description, Description]
) -> None:
    monkeypatch.setenv("ASAN_OPTIONS", "handle_segv=0:handle_sigill=0")
    found = run(builds[0], "nothing_there()").outcome
    assert (found.kind, found.error) == ("crash", "SIGSEGV")
    assert "AddressSanitizer" not in found.report
    found = judged(run(builds[0], "luau_assert()"))
    assert found.signature == Signature("assertion", "lvm.cpp: n > N")


THROWS = """
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
#define ALONE __attribute__((noinline))
ALONE void check(int number) { if (number > 0) throw std::runtime_error("no register"); }
ALONE int floor_of(std::vector<int> &all, int n) { check(n); return all[0]; }
ALONE int abs_of(std::vector<int> &all, int n) { check(n); return all[0] + 1; }
ALONE int min_of(std::vector<int> &all, int n) { return all.at(n); }
ALONE int max_of(std::vector<int> &all, int n) { return all.at(n) + 1; }
ALONE void never(int n) noexcept { if (n > 0) throw n; }
ALONE int run(int n, int c) {
    std::vector<int> all{1};
    switch (c) {
        case '0': return floor_of(all, n);
        case '1': return abs_of(all, n);
        case '2': return min_of(all, n);
        case '3': return max_of(all, n);
        case '4': never(n); return 0;
        case '5': abort();
    }
    return 0;
}
int main(int count, char **arguments) {
    int first = std::fgetc(std::fopen(arguments[1], "r"));
    return run(count + 3, first) == 77;
}
"""


@pytest.mark.parametrize("compiler", ["clang++", "g++"])
def test_exceptions_of_cpp_are_known_by_the_targets_functions(
    compiler: str, tmp_path: Path
) -> None:
    require(compiler)
    (tmp_path / "throws.cpp").write_text(THROWS)
    flags = ["-g", "-O1", "-fsanitize=address"]
    subprocess.run([compiler, *flags, "throws.cpp", "-o", "throws"], cwd=tmp_path, check=True)
    target = Description("command", f"{tmp_path / 'throws'} {{file}}")
    details = [judged(run(target, f"{number}")).signature.detail for number in range(6)]
    within = "std::vector::_M_range_check const < std::vector::at"
    assert details == [
        "check < floor_of < run: std::runtime_error",
        "check < abs_of < run: std::runtime_error",
        f"{within} < min_of: std::out_of_range",
        f"{within} < max_of: std::out_of_range",
        "never < run: int",
        "run",
    ]


ASSERTIONS = """
#include <assert.h>
#include <stdio.h>
__attribute__((noinline)) static void check(int first) {
    int is_call = first == 'a', is_block = first == 'b';
    assert(!is_call);
    assert(!is_block);
}
int main(int count, char **arguments) {
    check(fgetc(fopen(arguments[1], "r")));
}
"""


def test_two_assertions_of_a_function_are_two_bugs_with_and_without_a_sanitizer(
    tmp_path: Path,
) -> None:
    require("clang")
    (tmp_path / "asserts.c").write_text(ASSERTIONS)
    for name, flags in (("plain", ()), ("sanitized", ("-g", "-fsanitize=address"))):
        subprocess.run(["clang", *flags, "asserts.c", "-o", name], cwd=tmp_path, check=True)
        env = "env ASAN_OPTIONS=handle_abort=1 "  # so that the report has a stack trace
        target = Description("command", f"{env}{tmp_path / name} {{file}}")
        runs = [run(target, source) for source in ("a", "b")]
        assert [judged(each).signature for each in runs] == [
            Signature("assertion", "asserts.c: !is_call"),
            Signature("assertion", "asserts.c: !is_block"),
        ]
        assert bool(runs[0].outcome.frames) == (name == "sanitized")


CASTS = """
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments) {
    char text[100] = "";
    FILE *file = fopen(arguments[1], "r");
    fgets(text, sizeof text, file);
    volatile double value = strtod(text, 0);
    volatile int whole = (int)value;
    return whole == 1;
}
"""


def test_the_values_that_a_report_names_do_not_make_another_bug(tmp_path: Path) -> None:
    require("clang")
    (tmp_path / "casts.c").write_text(CASTS)
    flags = ["-g", "-fsanitize=undefined,float-cast-overflow"]
    subprocess.run(["clang", *flags, "casts.c", "-o", "casts"], cwd=tmp_path, check=True)
    target = Description("command", f"{tmp_path / 'casts'} {{file}}")
    runs = [run(target, value) for value in ("nan", "-nan", "inf", "-inf", "1e300", "-3000000000")]
    assert {found.outcome.kind for found in runs} == {"undefined behaviour"}
    assert "inf" in "".join(found.outcome.error for found in runs)
    [signature] = {judged(found).signature for found in runs}
    assert "casts.c:9" in signature.detail


SLOW = """
import sys, time
sys.stdin.readline()
print("lvm.cpp:1:2: runtime error: shift exponent 64 is too large", file=sys.stderr, flush=True)
time.sleep(2)
print("    #0 0x1 in luaV_shift lvm.cpp:1:2", file=sys.stderr)
sys.exit(1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["command", "persistent"])
def test_a_report_that_has_begun_is_waited_for_beyond_the_time_limit(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    command = f"{sys.executable} {tmp_path / 'slow.py'}"
    opened = open_target(Description(kind, command))
    if isinstance(opened, PersistentTarget):
        opened._starting = 0  # as if it had been started before
    try:
        opened.submit(Sources(None, "print(1)"), 0.5)
        [found] = opened.collect()
    finally:
        opened.close()
    assert found.kind == "undefined behaviour"
    assert found.frames == ("lvm.cpp:1:2", "luaV_shift")


def test_the_memory_of_a_service_behind_a_script_or_env_is_the_sanitizers_own(
    builds: tuple[Description, Description], tmp_path: Path
) -> None:
    program = builds[0].command.removesuffix(" {file}")
    script = tmp_path / "service.sh"
    script.write_text(f'#!/bin/sh\nexec "{program}" --serve\n')
    script.chmod(0o755)
    for command in (f"env X=1 {program} --serve", str(script)):
        service = Description("persistent", command, megabytes=1)
        assert run(service, "print(1)").outcome.kind == "ok", command
