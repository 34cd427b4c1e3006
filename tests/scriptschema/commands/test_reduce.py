"""The command `reduce`: its input, output and messages."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import on_a_terminal, run, run_here
from waiting import is_alive, wait_until

from scriptschema import files
from scriptschema.commands import reducing
from scriptschema.fuzzing.command_test import CommandError, CommandTest
from scriptschema.luau.parse import parse
from scriptschema.messages import ModuleSet
from scriptschema.wire import encode

SOURCE = """
local total = 0
for number = 1, 10 do
  if number % 2 == 0 then
    total += number
    print("found " .. tostring(total), #function(a) return a end)
  end
end
return total
"""


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.luau").write_text(SOURCE)


def test_a_source_is_reduced_to_the_shortest_text_for_which_the_command_succeeds() -> None:
    done = run_here(
        "reduce", "program.luau", "--test", "grep -q '#function' {}", "-o", "small.luau"
    )
    assert done.returncode == 0, done.stderr
    assert Path("small.luau").read_text() == "local a=#function()end\n"
    assert b" nodes -> 10, " in done.stderr
    assert Path("program.luau").read_text() == SOURCE


def test_without_a_placeholder_the_command_reads_standard_input() -> None:
    done = run_here("reduce", "program.luau", "--test", "grep -q total")
    assert done.returncode == 0
    assert b"total" in done.stdout
    assert len(done.stdout) < 20


def test_standard_input_is_reduced_in_the_format_that_is_named() -> None:
    done = run("reduce", "-", "--from", "luau", "--test", "grep -q print {}", stdin=SOURCE.encode())
    assert done.returncode == 0, done.stderr
    assert b"print" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".pb", ".textproto", ".json"])
def test_trees_are_handed_over_and_written_in_the_format_of_the_placeholder(ending: str) -> None:
    pytest.importorskip("google.protobuf")
    tree = parse(SOURCE).tree
    Path(f"tree{ending}").write_bytes(files.serialize(tree, files.ENDINGS[ending]))
    Path("test.py").write_text(
        "import sys; from pathlib import Path\n"
        "from scriptschema import files, messages\n"
        "tree = files.read(messages.ModuleSet, Path(sys.argv[1]))\n"
        "source = open(sys.argv[2]).read()\n"
        "sys.exit(not (tree.program.body and 'return' in source))\n"
    )
    command = f"{sys.executable} test.py {{{ending}}} {{}}"
    done = run("reduce", f"tree{ending}", "--test", command, "-o", f"small{ending}")
    assert done.returncode == 0, done.stderr
    reduced = files.read(ModuleSet, Path(f"small{ending}"))
    assert [stat.which for stat in reduced.program.body] == ["return_"]


def test_a_program_with_a_module_stays_two_files() -> None:
    Path("module0.luau").write_text("local t = {}\nt.area = 12\nreturn t\n")
    Path("program.luau").write_text('local m = require("./module0")\nprint(m.area)\n' + SOURCE)
    Path("test.sh").write_text(
        'grep -q require "$1" && grep -q area "$(dirname "$1")/module0.luau"'
    )
    done = run_here("reduce", "program.luau", "--test", "sh test.sh {}", "-o", "small.luau")
    assert done.returncode == 0, done.stderr
    assert "require" in Path("small/program.luau").read_text()
    assert "area" in Path("small/module0.luau").read_text()
    told = done.stderr.decode().splitlines()
    assert " is written to the folder small, not to small.luau, unless" in told[0]
    assert told[-1] == "the result is in small"


def test_a_result_that_lost_its_module_is_where_the_last_line_says() -> None:
    Path("module0.luau").write_text("return 1")
    Path("program.luau").write_text('local m = require("./module0")\nprint(12)\n')
    done = run_here("reduce", "program.luau", "--test", "grep -q 12 {}", "-o", "small.luau")
    assert done.returncode == 0, done.stderr
    assert done.stderr.decode().splitlines()[-1] == "the result is in small.luau"
    assert "12" in Path("small.luau").read_text()


def test_a_test_that_fails_for_the_file_as_it_is_is_an_error() -> None:
    done = run_here("reduce", "program.luau", "--test", "false", "-o", "small.luau")
    assert done.returncode == 1
    assert b"the original tree does not pass the test" in done.stderr
    assert not Path("small.luau").exists()


def test_a_test_that_fails_shows_what_its_command_printed() -> None:
    Path("test.sh").write_text("echo one\necho two >&2\nexit 3\n")
    for words in (["program.luau"], ["-", "--from", "luau"]):
        done = run("reduce", *words, "--test", "sh test.sh {}", stdin=SOURCE.encode())
        assert done.returncode == 1
        assert b"the original tree does not pass the test" in done.stderr
        assert done.stderr.endswith(b"the command ended with status 3 and printed:\none\ntwo\n")
    Path("strict.luau").write_text("--!strict\nprint(1)\n")
    done = run_here("reduce", "strict.luau", "--test", "sh test.sh {}")
    assert b"and neither does the file itself" in done.stderr
    assert b"directives" not in done.stderr  # they are not the reason


@pytest.mark.parametrize("word", ["{}", "{file}"])
def test_the_placeholder_of_targets_is_one_of_tests_too(word: str) -> None:
    done = run_here("reduce", "program.luau", "--test", f"grep -q total {word}")
    assert done.returncode == 0, done.stderr
    done = run_here("reduce", "program.luau", "--test", "sh -c 'file=$0; grep -q total ${file}' {}")
    assert done.returncode == 0, done.stderr


def test_a_test_that_fails_for_want_of_newer_syntax_leads_to_the_option_that_keeps_it() -> None:
    Path("newer.luau").write_text("--!strict\nlocal total = 0\ntotal //= 2\n")
    test = ("--test", "grep -q // {}", "-o", "small.luau")
    done = run_here("reduce", "newer.luau", "--test", "grep -q //= {}", "-o", "small.luau")
    assert done.returncode == 1
    told = done.stderr.decode().splitlines()
    assert told[0].startswith("2 constructs that the schema lacks were dropped or rewritten: ")
    assert told[1].endswith(
        "does not pass the test, perhaps because the tree lacks some of the source's "
        "syntax: use --luau today"
    )
    done = run_here("reduce", "newer.luau", "--luau", "today", *test)
    assert done.returncode == 0
    assert done.stderr.decode().splitlines()[0] == (
        "1 construct that the schema lacks was dropped or rewritten: to list them, run "
        "`scriptschema parse --losses --luau 0.735`"
    )
    done = run_here("reduce", "newer.luau", "--luau", "today", "--test", "grep -q strict {}")
    assert done.returncode == 1
    assert b"perhaps because directives such as --!strict were dropped: " in done.stderr
    Path("comment.luau").write_text("-- mine\n")
    done = run_here("reduce", "comment.luau", "--test", "grep -q mine {}")
    told = done.stderr.decode().splitlines()
    assert told[1].endswith("the original tree does not pass the test")
    assert told[2].startswith("the file itself passes the test, but ")
    assert told[3] == "for this program, the command ended with status 1 and printed nothing"


def test_a_tree_too_deep_for_the_output_is_refused_before_any_test() -> None:
    Path("deep.luau").write_text(f"local x = 1\nprint({'1 + ' * 300}x)\n")
    test = ("--test", "sh -c 'touch ran'")
    done = run_here("reduce", "deep.luau", *test, "-o", "small.pb")
    assert done.returncode == 1
    assert done.stderr.startswith(b"scriptschema: small.pb: ")
    assert b"100 levels deep: write Luau source instead, with -o small.luau\n" in done.stderr
    assert not Path("ran").exists()
    done = run_here("reduce", "deep.luau", "--test", "true {.pb}", "-o", "small.luau")
    message = b"cannot write the tree to a file for the placeholder {.pb} in the command: "
    assert message in done.stderr


def test_a_test_that_is_too_slow_is_not_said_to_fail() -> None:
    done = run_here("reduce", "program.luau", "--timeout", "0.2", "--test", "sleep 500")
    assert done.returncode == 1
    assert b"was stopped after 0.2 s, before it had succeeded once: use --timeout" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("program.luau", "--test", "no-such-command {}"), b"no-such-command: No such file"),
        (("folder", "--test", "true"), b"folder is not a find: it contains no find.json"),
        (("absent.luau", "--test", "true"), b"absent.luau: No such file"),
        (("broken.luau", "--test", "true"), b"broken.luau:1:"),
        (("program.luau", "--test", ""), b"the command is empty"),
        (("program.luau", "--test", "sh -c 'x"), b"cannot parse the command"),
        (("program.luau", "--test", "x {.exe}"), b"unknown placeholder {.exe}"),
        (("program.luau", "--test", "true", "-o", "small.txt"), b"unknown suffix (known:"),
    ],
)
def test_what_cannot_be_done_is_reported(arguments: tuple[str, ...], words: bytes) -> None:
    Path("broken.luau").write_text("local = 3")
    Path("folder").mkdir()
    done = run_here("reduce", *arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_test_that_wavers_is_reported_and_ends_with_status_1() -> None:
    Path("test.sh").write_text("test -e mark && rm mark || { touch mark; false; }")
    Path("mark").touch()
    done = run_here("reduce", "program.luau", "--test", "sh test.sh", "-o", "small.luau")
    assert done.returncode == 1
    assert b"different results for the same tree:" in done.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_after_control_c_the_smallest_so_far_is_in_the_file_and_nothing_runs_on(
    stop: signal.Signals,
) -> None:
    Path("test.sh").write_text("grep -q print $1 || exit 1\necho >>count\nsleep 0.2\n")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "scriptschema", "reduce", "program.luau", "--jobs", "2"),
            *("--test", "sh test.sh {}", "-o", "small.luau"),
        ],
        stderr=subprocess.PIPE,
    )
    wait_until(Path("small.luau").exists)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(rb"so far, \d+ nodes, is in small\.luau\n", errors)
    assert "print" in Path("small.luau").read_text()
    assert len(Path("small.luau").read_text()) < len(SOURCE)


def test_a_file_is_not_replaced_before_the_test_has_passed_once() -> None:
    Path("small.luau").write_text("SMALL\n")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "scriptschema", "reduce", "program.luau"),
            *("--test", "sh -c 'touch ran; sleep 500'", "-o", "small.luau"),
        ],
        stderr=subprocess.PIPE,
    )
    wait_until(Path("ran").exists)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == b"stopped before the test had passed once: nothing was written\n"
    assert Path("small.luau").read_text() == "SMALL\n"


def test_a_terminal_shows_how_far_it_is() -> None:
    status, shown = on_a_terminal(
        "reduce", "program.luau", "--test", "grep -q total {}", "-o", "small.luau", stream="stderr"
    )
    assert status == 0
    assert b" nodes, " in shown
    assert b" tests, " in shown


def test_a_log_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducing, "_INTERVAL", 0.0)
    done = run_here("reduce", "program.luau", "--test", "grep -q total {}", "-o", "small.luau")
    assert done.returncode == 0
    shown = re.findall(r"([\d,]+) nodes, [\d,]+ characters, ([\d,]+) tests", done.stderr.decode())
    assert len(shown) > 2


def test_a_candidate_for_which_the_command_hangs_is_given_up_with_all_it_started() -> None:
    Path("test.sh").write_text("grep -q print $1 && exit 0\nsleep 500 &\necho $! >child\nwait\n")
    test = CommandTest("sh test.sh {}")
    assert test(parse("print(1)").tree)
    assert test.limit < 60
    assert not test(parse("local a = 1").tree)
    wait_until(lambda: not is_alive(int(Path("child").read_text())))


@pytest.mark.parametrize("status", [0, 1])
def test_what_a_test_starts_in_the_background_ends_with_it(status: int) -> None:
    Path("test.sh").write_text(f"sleep 500 &\necho $! >child\nexit {status}\n")
    assert CommandTest("sh test.sh {}")(parse("print(1)").tree) == (status == 0)
    wait_until(lambda: not is_alive(int(Path("child").read_text())))


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(CommandError, match="empty"):
        CommandTest("  ")


@pytest.mark.parametrize(
    "name",
    ["id:000000,sig:11,src:000141,time:9,op:cross+number", "crash-0a1b", "SIGABRT.PC.1.fuzz"],
)
def test_the_crash_file_of_a_fuzzing_engine_is_read_as_source(name: str) -> None:
    Path(name).write_text("local a = 1\nprint(a, math.abs(a))\n")
    done = run_here("reduce", name, "--test", "grep -q abs {}", "-o", "small.luau")
    assert done.returncode == 0, done.stderr
    assert "abs" in Path("small.luau").read_text()
    assert run_here("check", name).returncode == 0
    Path(name).write_text("local a <const> = 1\nbreak\n")
    assert f"{name}:".encode() in run_here("check", name).stderr
    tree = parse("print(1)").tree
    Path(name).write_bytes(encode(tree)[:-1])  # a damaged tree may be what was meant
    for command in (["check", name], ["reduce", name, "--test", "true"]):
        assert b"use --from" in run_here(*command).stderr
    assert b"--from" not in run_here("reduce", name, "--from", "luau", "--test", "true").stderr
    for form in files.FORMATS:
        Path(name).write_bytes(files.serialize(tree, form))  # a tree is not taken for a source
        for command in (["check", name], ["reduce", name, "--test", "true"]):
            assert b"unknown suffix" in run_here(*command).stderr


def test_a_program_in_a_pipe_is_checked_and_reduced() -> None:
    def piped(source: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        ours, theirs = os.pipe()
        os.write(theirs, source)
        os.close(theirs)
        try:
            return run_here(arguments[0], f"/dev/fd/{ours}", *arguments[1:])
        finally:
            os.close(ours)

    assert piped(b"print(1)", "check").returncode == 0
    refused = piped(b"local x = ", "check")
    assert (refused.returncode, b":1:11: expected an expression" in refused.stderr) == (1, True)
    reduced = piped(b"local a = 1 print(a, 2)", "reduce", "--test", "grep -q print {}")
    assert (reduced.returncode, reduced.stdout.strip()) == (0, b"print()")
