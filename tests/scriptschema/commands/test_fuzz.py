"""The commands `fuzz` and `reproduce`: their options, output and exit status."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from command import on_a_terminal, run_here

from scriptschema.commands.campaign import explain, fuzz
from scriptschema.commands.campaign_display import Display, Lines, line_of
from scriptschema.files import FileError
from scriptschema.fuzzing.campaign import config, finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.oracles.differential import COMPARED
from scriptschema.fuzzing.oracles.severity import SEVERITIES
from scriptschema.fuzzing.oracles.verdict import Difference, Signature, Verdict
from scriptschema.fuzzing.targets.description import Description
from scriptschema.luau.parse import parse

SERVICE = f"{sys.executable} {Path(__file__).parents[1] / 'fuzzing' / 'service.py'}"
PROGRESS = {
    "event": "progress",
    "seconds": 3725.0,
    "programs": 12345,
    "runs": 24690,
    "runs_per_second": 98.4,
    "corpus": 31,
    "corpus_compiled": 0,
    "outcomes": {"error": 2, "ok": 12343},
    "compiled": {},
    "finds": 2,
    "finds_compiled": 0,
    "new_finds": 1,
    "unreduced": 2,
    "unconfirmed": 0,
    "exempt": 0,
    "covered": 0,
    "since_new": 61.0,
}
FIND = {"event": "find", "signature": "hang: -O2 (math.floor)", "size": "9 nodes", "name": "hang-1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "luau-web"], "missing folder for the campaign:"),
        (["-o", "none"], "missing target: use"),
        (["-o", "none", "--size", "3"], "missing target: use"),
        (["-o", "none", "-t", "lua"], "unknown target"),
        (["-o", "none", "-t", "./lua {file}"], "did you mean 'command:./lua {file}'?"),
        (["-o", "none", "-t", "command:"], "requires a command"),
        (["-o", "none", "-t", "command:lua {}"], "write {file} where it expects the name of"),
        (["-o", "none", "-t", "command:cat", "--checker", "true"], "requires --types sound:"),
        (
            ["-o", "none", "-t", "command:cat", "--for", "soon"],
            ": use a form like 30s, 10m or 8h",
        ),
        (["-o", "none", "-t", "command:cat", "--for", "0m"], ": use a form like 30s, 10m or 8h"),
        (
            ["-o", "none", "-t", "command:cat", "--luau", "9.9"],
            "Invalid value for '--luau': unknown version of Luau '9.9': expected",
        ),
        (
            ["-o", "none", "-t", "command:cat", "--broken", "nan"],
            "'nan' is not a number",
        ),
        *(
            (
                ["-o", "none", "--engine", "afl", "-t", "./harness", option, value],
                f"{option} requires --engine own: AFL++",
            )
            for option, value in (("--size", "100"), ("--compiled", "1"), ("--broken", "0.5"))
        ),
        (["-o", "none", "--config", "no.toml"], "No such file"),
        (
            ["-o", "none", "--config", "no.toml", "-t", "command:cat"],
            "cannot be combined with --config:",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_requested_is_reported(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here("fuzz", *arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.decode().split())
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size = ", "Invalid value"),
        ("targets = 3", "targets must be a list of tables"),
        ("targets = [3]", "targets must be a list of tables"),
        ("size = 3", "targets must be a list of tables"),
        (
            "[[targets]]\nkind = 'command'\ncommand = 'cat'\ncolour = 1",
            "unknown target setting 'colour'",
        ),
        *(
            (
                f"[[targets]]\nkind = 'command'\ncommand = 'cat'\nmegabytes = {value}",
                f"`megabytes` must be a whole number of at most 1,073,741,824, found {value}",
            )
            for value in ("1.5", "9223372036854775807")
        ),
        *(
            (f"{setting}\n[[targets]]\nkind = 'command'\ncommand = 'cat'", message)
            for setting, message in (
                ("jobs = 3", "unknown setting 'jobs'; available: targets, seed, engine, source,"),
                ("size = 'big'", "size: 'big' is not a valid integer range"),
                ("size = -1", "size: -1 is not in the range 1<=x<=1000000"),
                ("size = '3'", "size must be a whole number, found '3'"),
                ("ulps = -1", "ulps: -1 is not in the range x>=0"),
                ("seed = true", "seed: 'True' is not a valid integer"),
                ("broken = 2", "broken: 2.0 is not in the range 0<=x<=1"),
                ("types = 'foo'", "types: 'foo' is not one of 'none', 'random', 'sound'"),
                ("compare = 3", "compare: '3' is not one of 'output', 'errors', 'positions'"),
                ("source = 'tree'", "'source' must be in ('program', 'repaired')"),
                ("oracles = ['crash']", "'oracles' must be in ('broken', 'hang', "),
                ("printer = 3", "printer must be a string, found 3"),
                *(
                    (f"engine = 'afl'\n{setting}", "requires --engine own: AFL++")
                    for setting in ("broken = 0.1", "mutants = 0.5", "source = 'repaired'")
                ),
                ("checker = 'true'", 'checker requires types = "sound": other programs contain'),
                ("without = 'math'", "without must be a list of strings, found 'math'"),
                ("only = ['maths']", "only: unknown library or member 'maths'; did you mean math"),
            )
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_reported(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    done = run_here("fuzz", "-j", 1, "--config", path, "-o", tmp_path / "out")
    assert done.returncode == 2
    shown = " ".join(done.stderr.decode().split())
    assert message in shown
    assert str(path) in shown


def test_an_option_that_contradicts_a_correct_file_is_reported_instead_of_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "campaign.toml"
    target = "[[targets]]\nkind = 'command'\ncommand = 'cat'"
    path.write_text(f"checker = 'true'\ntypes = 'sound'\n{target}")
    done = run_here("fuzz", "--config", path, "-o", tmp_path / "out", "--types", "random")
    assert done.returncode == 2
    shown = " ".join(done.stderr.decode().split())
    assert f"the checker in {path} requires --types sound:" in shown
    assert "Invalid value" not in shown


def test_the_page_names_every_setting_of_a_file() -> None:
    page = Path(__file__).parents[3] / "docs/scriptschema/how-to/campaigns.md"
    assert {*config.settings()} <= {*re.findall(r"`(\w+)`", page.read_text())}


def test_targets_and_options_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(
        "size = 20\nseed = 3\n[[targets]]\nkind = 'command'\ncommand = 'cat'\nseconds = 2.5\n"
    )
    done = run_here("fuzz", "-j", 1, "--config", path, "-o", tmp_path / "out", "-n", 5, "--seed", 4)
    assert done.returncode == 0, done.stderr
    assert b"5 programs: nothing new was found" in done.stderr
    found = config.load(tmp_path / "out")
    assert found == Config(targets=(Description("command", "cat", seconds=2.5),), size=20, seed=4)
    assert statistics.total(statistics.read(tmp_path / "out")).programs == 5


def test_a_campaign_continues_with_the_options_that_it_has(tmp_path: Path) -> None:
    word = ["-t", "command:cat", "--timeout", 2, "--memory", 100, "--known", tmp_path / "known"]
    (tmp_path / "known").touch()
    done = run_here("fuzz", "-j", 1, *word, "-o", tmp_path / "out", "-n", 2, "--json")
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert (events[0], events[-1]) == ("start", "end")
    done = run_here("fuzz", "-j", 1, *word, "--size", 7, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert b"different options (size)" in done.stderr
    done = run_here("fuzz", "--size", 7, "--timeout", 3, "-o", tmp_path / "out")
    assert b"to continue it, omit --size, --timeout; for a new" in b" ".join(done.stderr.split())


def test_a_broken_file_of_the_corpus_is_named_and_the_campaign_continues(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run_here("fuzz", "-j", 1, "-t", "command:cat", "-o", folder, "-n", 2)
    (folder / "corpus" / "empty.pb").touch()
    os.mkfifo(folder / "corpus" / "pipe.pb")
    done = run_here("fuzz", "-j", 1, "-o", folder, "-n", 2)
    assert done.returncode == 0, done.stderr
    assert f"skipped: {folder}/corpus/empty.pb: byte 0: ModuleSet.program" in done.stderr.decode()
    assert f"skipped: {folder}/corpus/pipe.pb: not a regular file" in done.stderr.decode()


def a_target_with_two_messages(folder: Path) -> list[str]:
    script = folder / "target.sh"
    script.write_text('grep -q greeting $1 || { echo "a.luau:1: bad $2" >&2; exit 1; }\n')
    word = f"command:sh {script} {{file}} {{variant}}"
    return ["-t", word, "--variant=one", "--variant=two", "--size", "5", "-n", "4"]


def test_a_checker_that_accepts_what_fails_with_a_type_error_is_a_find(tmp_path: Path) -> None:
    script = tmp_path / "target.sh"
    script.write_text('grep -q greeting $1 || { echo "attempt to call a nil value" >&2; exit 1; }')
    target = ["-t", f"command:sh {script} {{file}}", "--size", 5, "-n", 2]
    for checker, found in ("grep -q strict", ["types"]), ("grep -q greeting", []):
        folder = tmp_path / str(len(found))
        checked = ["--types", "sound", "--checker", checker, "-o", folder]
        done = run_here("fuzz", "-j", 1, *target, *checked)
        assert done.returncode == 0, done.stderr
        assert [find.signature.kind for _, find in finds.load_all(folder)] == found


@pytest.mark.slow
def test_what_differs_in_messages_alone_is_no_find_among_finds(tmp_path: Path) -> None:
    target = a_target_with_two_messages(tmp_path)
    done = run_here("fuzz", "-j", 1, *target, "-o", tmp_path / "0", "--fail-on-find=position")
    assert (done.returncode, b"nothing new was found\n" in done.stderr) == (0, True)
    for more, status in (["--fail-on-find"], 0), (["--fail-on-find", "message"], 3):
        folder = tmp_path / str(status + 1)
        done = run_here("fuzz", "-j", 1, *target, "--compare", "errors", "-o", folder, *more)
        assert done.returncode == status, done.stderr
        message = b"nothing new was found; also saved: programs whose runs differ only in messages"
        assert message in done.stderr
        assert [find.name for _, find in finds.load_all(folder)] == [Signature("message").name]


def test_a_find_of_the_severity_that_was_asked_for_or_worse_fails(tmp_path: Path) -> None:
    crash = "command:sh -c 'grep -q greeting $0 || kill -SEGV $$' {file}"
    for severity, status in ("memory", 0), ("crash", 3), ("hang", 3):
        folder = tmp_path / severity
        arguments = ["-t", crash, "--size", 3, "-n", 2, "-o", folder]
        done = run_here("fuzz", "-j", 1, *arguments, f"--fail-on-find={severity}")
        assert done.returncode == status, done.stderr
        assert b"1 new find in" in done.stderr


@pytest.mark.parametrize(
    ("end", "more"),
    [
        ("echo bad thing; exit 1", ["--crash", "bad thing"]),
        ("echo \"thread 'main' panicked at a.rs\" >&2; exit 101", []),
    ],
    ids=["option", "panic"],
)
def test_what_counts_as_a_crash_has_the_severity_of_one(
    tmp_path: Path, end: str, more: list[str]
) -> None:
    script = tmp_path / "target.sh"
    script.write_text(f"grep -q greeting $1 && exit 0\n{end}\n")
    arguments = ["-t", f"command:sh {script} {{file}}", "--size", 3, "-n", 2]
    done = run_here(
        "fuzz", "-j", 1, *arguments, *more, "-o", tmp_path / "out", "--fail-on-find=crash"
    )
    assert done.returncode == 3, done.stderr


def test_known_bugs_are_counted_on_the_screen(tmp_path: Path) -> None:
    crash = ["-t", "command:sh -c 'grep -q greeting $0 || kill -SEGV $$' {file}", "--size", 3]
    (tmp_path / "known").write_text("crash: *\n")
    arguments = [*crash, "--known", tmp_path / "known", "-o", tmp_path / "out"]
    for count in (2, 3):
        done = run_here("fuzz", "-j", 1, *arguments, "-n", count)
        assert (done.returncode, done.stdout) == (0, b"")
        message = f"{count} programs: nothing new was found; {count} programs with known bugs\n"
        assert done.stderr.decode().endswith(message)


def test_the_words_of_the_options_are_those_of_the_oracles() -> None:
    options = {option.name: option.type for option in fuzz.params}
    assert [*options["fail_on_find"].choices] == [*SEVERITIES]  # type: ignore[attr-defined]
    assert [*options["compare"].choices] == [*COMPARED]  # type: ignore[attr-defined]


def test_a_target_that_does_not_work_is_reported_before_anything_runs(tmp_path: Path) -> None:
    done = run_here("fuzz", "-j", 1, "-t", "command:false {file}", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert b"does not work" in done.stderr
    done = run_here("fuzz", "-j", 1, "-t", f"luau-web:{tmp_path}", "-o", tmp_path / "out2")
    assert done.returncode == 1
    assert b"npm install luau-web" in done.stderr or b"apt install nodejs" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "command:no-such-target {file}"], "no-such-target: No such file or directory"),
        (["-t", "command:false {file}"], "false {file} does not work"),
        (
            ["-t", "command:cat", "--printer", "sh -c 'echo no file >&2; exit 3'"],
            "print(greeting, 1 + 1)', it ended with status 3\nno file",
        ),
        (
            ["-t", "command:cat", "--types", "sound", "--checker", "grep strict {file}.not"],
            "the checker grep strict {file}.not does not work: for the test program '--!strict\\n",
        ),
        (["-t", "command:cat", "--printer", "no-such-printer"], "no-such-printer: No such file"),
        (["-t", "command:cat", "--known", "absent"], "absent: No such file or directory"),
        (["-t", "command:cat", "--judge", "no_such_module:judge"], "no_such_module"),
        (["-t", "command:cat", "--cluster", "nowhere"], "expected tcp://HOST:PORT"),
    ],
    ids=["missing", "failing", "printer", "checker", "no-printer", "known", "judge", "cluster"],
)
def test_a_start_that_failed_can_be_corrected_in_the_same_folder(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    new, existing = tmp_path / "new", tmp_path / "existing"
    existing.mkdir()
    (existing / ".notes").write_text("mine")
    for folder, left in (new, None), (existing, [".notes"]):
        done = run_here("fuzz", "-j", 1, *arguments, "-o", folder)
        assert done.returncode in (1, 2)
        assert message in done.stderr.decode()
        assert ([path.name for path in folder.iterdir()] if folder.exists() else None) == left
    with Campaign(new, Config(targets=(Description("command", "cat {file}"),))):
        pass


SLOW = """
import sys, time
if "while " in sys.stdin.read():
    time.sleep(60)
"""


def test_a_slow_target_is_probed_with_its_own_time_limit_and_the_user_told(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    target = f"command:{sys.executable} -S {tmp_path / 'slow.py'}"
    options = ("--timeout", "5", "--count", "1", "--size", "1")
    done = run_here("fuzz", "-t", target, "-o", tmp_path / "campaign", *options)
    first, second = done.stderr.decode().splitlines()[:2]
    assert first.startswith("preparing: ")
    assert "every program with a while loop fails: hang: still running after 5 s" in second


def test_an_error_after_the_first_program_loses_nothing_of_a_new_campaign(tmp_path: Path) -> None:
    def run_into_an_error() -> None:
        with Campaign(tmp_path, Config(targets=(Description("command", "cat"),))) as campaign:
            Session(campaign, programs=1).run()
            raise FileError("the disk is full")

    with pytest.raises(FileError, match="the disk is full"):
        run_into_an_error()
    assert config.load(tmp_path).targets[0].command == "cat"
    assert statistics.total(statistics.read(tmp_path)).programs == 1


def test_a_demonstration_ends_with_a_report(tmp_path: Path) -> None:
    done = run_here("fuzz", "-j", 1, "--demo", "-t", "command:cat", "-n", 3, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert b"<html" in (tmp_path / "report.html").read_bytes()[:500].lower()
    shown = done.stderr.decode()
    assert "3 programs: nothing new was found" in shown
    assert f"the report: {tmp_path / 'report.html'}" in shown
    assert "each program was run on cat" in shown
    assert "result: no crashes, hangs or differences\n" in shown  # `cat` is no release of Luau
    assert "next, for a longer campaign: scriptschema fuzz --target luau-web" in shown


def test_a_demonstration_with_a_find_says_how_to_run_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(targets=(Description("command", "cat"),))
    explain(tmp_path, config, 5, ["hang-1"])
    shown = capsys.readouterr().err
    assert f"to run a find again: scriptschema reproduce {tmp_path / 'finds' / 'hang-1'}" in shown
    assert "result: no crashes, hangs or differences" not in shown
    explain(tmp_path, config, 0, [])
    assert "no program was run, because the time limit was too short" in capsys.readouterr().err
    explain(tmp_path, Config(targets=(Description("luau-web"),)), 5, [])
    assert "with a released version of Luau" in capsys.readouterr().err


def test_a_terminal_shows_how_things_stand(tmp_path: Path) -> None:
    arguments = ["fuzz", "-j", 1, "-t", "command:cat", "-n", 40, "-o", tmp_path / "out"]
    status, shown = on_a_terminal(*arguments, stream="stderr")
    assert status == 0
    assert b"runs/s" in shown
    assert b"40 programs: nothing new was found" in shown


# Displays


def test_lines_say_what_was_found_and_how_things_stand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines()
    lines({"event": "start"})
    lines(PROGRESS)  # too soon for one more line
    lines(FIND)
    lines({**FIND, "event": "reduced"})
    monkeypatch.setattr("scriptschema.commands.campaign_display.EVERY", 0)
    lines(PROGRESS)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "new: hang: -O2 (math.floor), 9 nodes: hang-1",
        "reduced: hang: -O2 (math.floor), 9 nodes: hang-1",
    ]
    assert shown.err.splitlines() == [
        (
            "1:02:05: 12,345 programs (ok 12,343, error 2), 98 runs/s, corpus 31, finds 2, "
            "last new 1:01 ago"
        )
    ]


def test_before_the_first_program_has_ended_a_line_says_so() -> None:
    started = {**PROGRESS, "programs": 0, "outcomes": {}, "seconds": 10}
    assert line_of(started) == "0:10: no program has finished yet"


def test_a_display_shows_the_latest_finds(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display()
    display(PROGRESS)
    display({"event": "start"})
    display(FIND)
    display(PROGRESS)
    display({**PROGRESS, "event": "end"})
    shown = capsys.readouterr().err
    assert "12,345" in shown
    assert line_of(FIND)[:30] in shown


# Reproduce


def a_find(folder: Path, source: str, signature: Signature, **options: Any) -> Path:
    target = Description("persistent", SERVICE, variants=("-O0", "-O2"))
    difference = Difference(1, "a", "b", "1", None)
    find = finds.Find(
        name="one",
        verdict=Verdict(signature, "bad", difference),
        program=finds.ShownProgram(9, []),
        config=Config(targets=(target,)).as_json(),
        **options,
    )
    return finds.add(folder, find, parse(source).tree)


def test_a_difference_is_shown_again(tmp_path: Path) -> None:
    difference = Signature("difference", "-O0 / -O2", "ExprBinary.Op.FloorDiv")
    find = a_find(tmp_path, "print(1) local a = 1 // 2", difference)
    done = run_here("reproduce", "--trust", find)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode()
    assert "print(1)" in shown
    assert "-O2: wrong" in shown
    assert "-O0: (nothing)" in shown
    assert shown.splitlines()[-1] == f"{difference}: reproduced"


def test_all_finds_are_run_again_at_once(tmp_path: Path) -> None:
    wrong = Signature("difference", "-O0 / -O2", "ExprBinary.Op.FloorDiv")
    shown = a_find(tmp_path / "a", "local a = 1 // 2", wrong)
    gone = a_find(tmp_path / "b", "print(1)", wrong)
    for folders, status in (((shown, gone), 1), ((shown, shown), 0)):
        done = run_here("reproduce", "--trust", *folders)
        assert done.returncode == status, done.stderr
        lines = done.stdout.decode().splitlines()
        assert [line for line in lines if line in map(str, folders)] == [*map(str, folders)]
        ends = [line.rpartition(": ")[2] for line in lines if line.startswith(str(wrong))]
        assert ends == ["reproduced", "not reproduced" if status else "reproduced"]
    (tmp_path / "a" / config.FILE).write_text("{}")
    done = run_here("reproduce", "--trust", tmp_path / "a")
    assert done.stdout.decode().splitlines()[-1] == f"{wrong}: reproduced"


@pytest.mark.parametrize("replay", [[], ["--replay"]])
def test_no_bug_counts_as_fixed_because_the_target_runs_nothing(
    tmp_path: Path, replay: list[str]
) -> None:
    script, log = tmp_path / "target.sh", tmp_path / "log"
    target = Description("command", f"sh {script} {{file}}")
    find = finds.Find(
        name="one",
        verdict=Verdict(Signature("crash", "SIGSEGV"), "bad"),
        program=finds.ShownProgram(9, []),
        config=Config(targets=(target,)).as_json(),
    )
    folder = finds.add(tmp_path, find, parse("print(1)").tree)
    for end, result in (("kill -SEGV $$", "reproduced"), ("true", "not reproduced")):
        script.write_text(f"echo run >> {log}\n{end}\n")
        done = run_here("reproduce", "--trust", folder)
        assert done.stdout.decode().splitlines()[-1] == f"crash: SIGSEGV: {result}"
        assert log.read_text() == "run\n"  # nothing but the program
        log.unlink()
    script.unlink()
    for command in ("reproduce", *replay), ("reduce",):
        done = run_here(*command, "--trust", folder)
        assert done.returncode == 1
        assert f"sh {script} {{file}} does not work" in done.stderr.decode()
        assert b"not reproduced" not in done.stdout + done.stderr


def test_what_is_no_find_is_reported(tmp_path: Path) -> None:
    done = run_here("reproduce", "--trust", tmp_path)
    assert done.returncode == 1
    assert b"is not a find" in done.stderr
    find = a_find(tmp_path, "print(1)", Signature("hang"))
    path = find / finds.FILE
    path.write_text(path.read_text().replace('"format": 1', '"format": 7'))
    done = run_here("reproduce", "--trust", find)
    assert done.returncode == 1
    assert b"another version" in done.stderr


def test_long_outputs_are_cut_when_shown(tmp_path: Path) -> None:
    source = "\n".join(f"print({number})" for number in range(40))
    done = run_here("reproduce", "--trust", a_find(tmp_path, source, Signature("hang")))
    assert done.returncode == 1
    assert b"... 20 more lines" in done.stdout
    assert b"hang: not reproduced" in done.stdout


def test_the_help_gives_the_limits_of_each_run() -> None:
    helps = {parameter.name: getattr(parameter, "help", "") for parameter in fuzz.params}
    for field in attrs.fields(Description):
        if field.name in ("seconds", "megabytes"):
            assert f"(default: {field.default:g})" in helps[field.name]
