"""After a campaign: bisection, reduction and export of finds, reports on several campaigns."""

import contextlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from command import on_a_terminal, run_here

from scriptschema.commands.campaign_display import line_of, print_start
from scriptschema.fuzzing.campaign import config, finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.campaign.folder import LOG, Campaign
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.oracles.construct import construct_of, is_member
from scriptschema.fuzzing.oracles.verdict import Difference, Signature, Verdict
from scriptschema.fuzzing.report import content
from scriptschema.fuzzing.report.page import pieces
from scriptschema.fuzzing.report.titles import title_of
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.outcome import Outcome, Run, visible
from scriptschema.luau.literals import string_value
from scriptschema.luau.parse import parse

JENKINS = Path(__file__).parents[2] / "orgrest/run/suite/junit-10.xsd"
"""The schema with which Jenkins' xUnit plugin validates results."""

SERVICE = f"{sys.executable} {Path(__file__).with_name('service.py')}"


def a_run(target: str, kind: str = "ok", output: str = "", **more: Any) -> Run:
    return Run(target, Outcome(kind, output, **more))


def add(
    campaign: Path, signature: Signature, runs: list[Run], source: str = "print(1)", **more: Any
) -> Path:
    tree = parse(source).tree
    verdict = more.pop("verdict", Verdict(signature, "bad", more.pop("difference", None)))
    shown = finds.ShownProgram(4, runs, more.pop("style", None))
    find = Find(signature.name, verdict, shown, shown, is_smallest=True, **more)
    return finds.add(campaign, find, tree, tree)


def rounding(campaign: Path) -> Path:
    runs = [a_run("/a/luau -O0 {file}", "ok", "-0\n"), a_run("/a/luau -O1 {file}", "ok", "0\n")]
    difference = Difference(1, runs[0].target, runs[1].target, "-0", "0")
    signature = Signature("difference", "-O0 / -O1", "math.round")
    source = "print(math.round(0 * -1))"
    return add(campaign, signature, runs, source, difference=difference, versions={"luau": "0.1"})


# Bisection


def build(folder: Path, name: str, breaks: bool) -> str:
    """Return a value for `--build`: a script that stands for a build of the target.

    It logs that it ran a find's program, and crashes if `breaks`.
    """
    script = folder / f"{name}.sh"
    crash = "kill -SEGV $$" if breaks else "true"
    script.write_text(f"grep -q greeting $1 && exit\necho {name} >> {folder / 'log'}\n{crash}\n")
    return f"{name}=sh {script} {{file}}"


@pytest.mark.parametrize("first", range(1, 8))
def test_the_first_build_that_shows_a_bug_is_found_by_halves(tmp_path: Path, first: int) -> None:
    builds = [build(tmp_path, f"v{n}", n >= first) for n in range(8)]
    config = Config(targets=(Description("command", "sh /no/longer/there {file}"),))
    runs = [a_run("luau", "crash", error="SIGSEGV")]
    folder = add(tmp_path, Signature("crash", "SIGSEGV"), runs, config=config.as_json())
    words = [word for each in builds for word in ("--build", each)]
    done = run_here("bisect", "--trust", folder, *words)
    assert done.returncode == 0, done.stderr
    last = done.stdout.decode().splitlines()[-1]
    assert last == f"v{first} is the first build with the bug, v{first - 1} the last without it"
    assert len((tmp_path / "log").read_text().split()) <= 5
    assert finds.load(folder).bisection == last
    assert last in run_here("export", folder, "--to", "markdown").stdout.decode()


def test_bisection_says_where_it_came_to_no_answer(tmp_path: Path) -> None:
    config = Config(targets=(Description("command", "cat {file}"),))
    runs = [a_run("luau", "crash", error="SIGSEGV")]
    folder = add(tmp_path, Signature("crash", "SIGSEGV"), runs, config=config.as_json())
    good, bad = build(tmp_path, "good", False), build(tmp_path, "bad", True)
    other = build(tmp_path, "other", True)
    done = run_here("bisect", "--trust", folder, "--build", bad, "--build", good)
    assert done.returncode == 1
    assert b"the newest build, good, does not show the bug" in done.stdout
    assert finds.load(folder).bisection == ""
    done = run_here("bisect", "--trust", folder, "--build", bad, "--build", other)
    assert done.returncode == 1  # the build that introduced the bug is older
    assert b"all builds show the bug, including bad, the oldest" in done.stdout
    for words in (["--build", good], ["--build", "x", "--build", good], ["--build", good] * 2):
        assert run_here("bisect", "--trust", folder, *words).returncode == 2
    web = Config(targets=(Description("luau-web"),)).as_json()
    folder = add(tmp_path, Signature("hang"), runs, config=web)
    done = run_here("bisect", "--trust", folder, "--build", good, "--build", bad)
    assert done.returncode == 1
    assert b"a campaign whose target is a command" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("old=/bin/false {file}", None, "old: /bin/false {file} does not work: the test program"),
        (None, "new=/bin/false {file}", "new: /bin/false {file} does not work: the test program"),
        (None, "new=no-such-build {file}", "new: no-such-build: No such file or directory"),
    ],
)
def test_no_build_is_blamed_because_another_build_runs_nothing(
    tmp_path: Path, old: str | None, new: str | None, message: str
) -> None:
    config = Config(targets=(Description("command", "cat {file}"),))
    runs = [a_run("luau", "crash", error="SIGSEGV")]
    folder = add(tmp_path, Signature("crash", "SIGSEGV"), runs, config=config.as_json())
    old, new = old or build(tmp_path, "old", False), new or build(tmp_path, "new", True)
    done = run_here("bisect", "--trust", folder, "--build", old, "--build", new)
    assert done.returncode == 1
    assert message in done.stderr.decode()
    assert b"build with the bug" not in done.stdout
    assert b"not shown" not in done.stdout
    assert finds.load(folder).bisection == ""


def bisected(folder: Path, *builds: str, target: str = "") -> str:
    """Return the last line that `bisect` prints, or its error."""
    words = [f"--build={build}" for build in builds]
    words += [f"--target={target}"] if target else []
    done = run_here("bisect", "--trust", folder, *words)
    return (done.stderr or done.stdout.splitlines()[-1]).decode()


def test_a_build_is_blamed_for_a_crash_of_the_second_target(tmp_path: Path) -> None:
    good, bad = (build(tmp_path, name, name == "bad") for name in ("good", "bad"))
    commands = [each.partition("=")[2] for each in (good, bad)]
    config = Config(targets=tuple(Description("command", each) for each in commands)).as_json()
    runs = [a_run("good"), a_run("bad", "crash", error="SIGSEGV")]
    folder = add(tmp_path, Signature("crash", "SIGSEGV"), runs, config=config)
    last = bisected(folder, good, bad)
    assert last.strip() == "bad is the first build with the bug, good the last without it"
    assert "the newest build, good, does not show the bug" in bisected(folder, bad, good)


@pytest.mark.parametrize(
    ("detail", "runs", "replaced"),
    [
        ("a / b", "ab", ""),
        ("a, b / c", "abc", "c"),
        ("a / b, c", "abc", ""),  # b and c may differ, too
    ],
)
def test_builds_replace_the_target_that_differs_from_the_others(
    tmp_path: Path, detail: str, runs: str, replaced: str
) -> None:
    def script(name: str, prints: int) -> str:
        (tmp_path / name).write_text(f"echo {prints}\n")
        return f"sh {tmp_path / name} {{file}}"

    prints = {name: 2 if name == replaced else 1 for name in runs}
    targets = tuple(Description("command", script(*each)) for each in prints.items())
    shown = [a_run(name) for name in runs]
    signature = Signature("difference", detail)
    folder = add(tmp_path, signature, shown, config=Config(targets=targets).as_json())
    builds = [f"old={script('old', 1)}", f"new={script('new', 2)}"]
    answer = "new is the first build with the bug, old the last without it"
    if replaced:
        assert answer in bisected(folder, *builds)
        return
    unknown = bisected(folder, *builds)
    assert "several targets may have the bug" in unknown
    assert finds.load(folder).bisection == ""
    for target in targets:
        word = f"command:{target.command}"
        assert f"--target '{word}'" in unknown
        assert answer in bisected(folder, *builds, target=word)
    assert "has no target 'pluau'" in bisected(folder, *builds, target="pluau")


def test_no_build_of_a_target_is_blamed_for_a_bug_of_the_printer(tmp_path: Path) -> None:
    config = Config(targets=(Description("command", "true {file}"),), printer="echo").as_json()
    signature = Signature("round-trip", "printer: a different tree")
    folder = add(tmp_path, signature, [a_run("true")], config=config)
    answer = bisected(folder, build(tmp_path, "old", False), build(tmp_path, "new", False))
    assert "this bug is in the campaign's printer" in answer
    assert finds.load(folder).bisection == ""


def test_characters_in_which_outputs_differ_are_shown_as_escapes(tmp_path: Path) -> None:
    script = tmp_path / "luau.sh"
    script.write_text("test $1 = -O2 && printf 'a\\vb\\033\\n' || printf 'a\\nb\\n'\n")
    command = f"sh {script} {{variant}} {{file}}"
    config = Config((Description("command", command, variants=("-O0", "-O2")),)).as_json()
    runs = [a_run("luau.sh -O0"), a_run("luau.sh -O2")]
    folder = add(tmp_path, Signature("difference", "-O0 / -O2"), runs, config=config)
    shown = run_here("reproduce", "--trust", folder).stdout.decode()
    assert "line 1 of their output differs" in shown
    assert shown.count("a\\x0bb\\x1b\n") == 2  # in the output, and as the line that differs


def test_a_message_of_a_target_does_not_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "luau.sh"
    script.write_text("printf 'internal error: a\\0b\\033[31m\\n' >&2\nexit 3\n")
    config = Config((Description("command", f"sh {script} {{file}}"),)).as_json()
    signature = Signature("internal error", "internal error: a\0b\x1b[Nm")
    ended = a_run("luau.sh", "internal error", error="internal error: a\0b\x1b[31m")
    folder = add(tmp_path, signature, [ended], config=config)
    shown = run_here("reproduce", "--trust", folder).stdout
    assert shown.count(rb"internal error: a\x00b\x1b[") == 4
    assert not {*shown} & {0, 27}
    event = {"event": "find", "signature": str(signature), "size": "1 node", "name": folder.name}
    assert rb"a\x00b\x1b[" in line_of(event).encode()
    print_start({"targets": ["a\a\x1b[31m"], "unreadable": ["b\x1b[31m"]})
    assert capsys.readouterr().err == "target: a\\x07\\x1b[31m\nskipped: b\\x1b[31m\n"
    campaign = tmp_path / "campaign"
    with Campaign(campaign, Config((Description("command", "cat"),))) as opened:
        opened.log(str(signature))
    assert rb"a\x00b\x1b[" in (campaign / LOG).read_bytes()


@pytest.mark.parametrize("command", ["reproduce", "reduce", "bisect"])
def test_no_bug_counts_as_fixed_because_the_checker_is_broken(tmp_path: Path, command: str) -> None:
    fails = "grep -q greeting {file} || ! echo attempt to index nil >&2"
    target = Description("command", f"sh -c '{fails}'")
    config = Config(targets=(target,), types="sound", checker="false {file}").as_json()
    signature = Signature("types", "attempt to index nil")
    folder = add(tmp_path, signature, [a_run("sh", "error")], config=config)
    assert_is_named(b"the checker false {file} does not work:", command, folder, target)


@pytest.mark.parametrize("command", ["reproduce", "reduce", "bisect"])
def test_no_bug_is_blamed_because_another_target_runs_nothing(tmp_path: Path, command: str) -> None:
    target = Description("command", "true {file}")
    config = Config(targets=(target, Description("command", "false {file}"))).as_json()
    signature = Signature("difference", "true {file} / false {file}")
    folder = add(tmp_path, signature, [a_run("true"), a_run("false", "error")], config=config)
    assert_is_named(b"false {file} does not work:", command, folder, target)


def assert_is_named(message: bytes, command: str, find: Path, target: Description) -> None:
    builds = [f"--build={name}={target.command}" for name in "ab"] if command == "bisect" else []
    builds += [f"--target=command:{target.command}"] * bool(builds)
    done = run_here(command, "--trust", find, *builds)
    assert done.returncode == 1
    assert message in done.stderr
    assert b"show" not in done.stdout
    assert b"reproduced" not in done.stdout + done.stderr


# Reduction


def test_a_find_is_reduced_by_its_own_test_after_the_campaign(tmp_path: Path) -> None:
    target = Description("persistent", SERVICE, variants=("-O0", "-O2"))
    config = Config(targets=(target,)).as_json()
    source = "local a = 1 print(a) repeat a += 1 until a > 3 print(a)"
    find = Find(
        "one",
        Verdict(Signature("assertion", "reg < N"), "bad"),
        finds.ShownProgram(40, []),
        config=config,
    )
    folder = finds.add(tmp_path, find, parse(source).tree)
    done = run_here("reduce", "--trust", folder)
    assert done.returncode == 0, done.stderr
    kept = finds.load(folder)
    assert kept.is_smallest
    assert kept.reduced is not None
    assert f"40 nodes -> {kept.reduced.nodes}, ".encode() in done.stderr
    assert finds.source_of(folder, finds.REDUCED).startswith("repeat")
    assert run_here("reduce", folder, "--test", "true").returncode == 2
    assert run_here("reduce", tmp_path / "x.luau").returncode == 2
    find.name, find.verdict = "two", Verdict(Signature("hang"), "bad")
    done = run_here("reduce", "--trust", finds.add(tmp_path, find, parse(source).tree))
    assert (done.returncode, b"hang: not reproduced" in done.stderr) == (1, True)


# Titles


def test_titles_say_what_differs_and_not_where_the_target_lies(tmp_path: Path) -> None:
    found = finds.load(rounding(tmp_path))
    assert title_of(found) == "-O1 prints 0, -O0 prints -0: math.round"
    hang = [a_run("/a/b/luau -O0 {file}"), a_run("/a/b/luau -O2 {file}", "hang")]
    found = finds.load(add(tmp_path, Signature("hang", "-O2"), hang))
    assert title_of(found) == "-O2 hangs"
    ends = [a_run("/a/luau {file}"), a_run("pluau", "error", error="no\nstack")]
    found = finds.load(add(tmp_path, Signature("difference", "a / b"), ends))
    assert title_of(found) == "luau ends with ok, pluau ends with error (no)"
    runs = [a_run("luau -O0", output="a\n"), a_run("luau -O2", output="a")]
    found = finds.load(add(tmp_path, Signature("difference", "-O0 / -O2"), runs))
    assert title_of(found) == "-O2 prints no line feed at the end"
    found = finds.load(add(tmp_path, Signature("crash", "f < g"), ends))
    assert title_of(found) == "crash: f < g"


def test_a_find_of_an_earlier_version_is_not_found_again(tmp_path: Path) -> None:
    """Its signature named the targets with folders and `{file}`."""
    runs = [a_run("/a/luau -O0 {file}"), a_run("pluau -O0", "hang")]
    for earlier, today in (
        (Signature("difference", "/a/luau -O0 {file} / pluau -O0"), "luau -O0 / pluau -O0"),
        (Signature("hang", "/a/luau -O0 {file}, pluau -O0"), "luau -O0, pluau -O0"),
        (Signature("crash", "f < /a/luau"), "f < /a/luau"),
    ):
        assert finds.load(add(tmp_path, earlier, runs)).signature.detail == today


# Export


def test_an_issue_has_all_that_one_needs(tmp_path: Path) -> None:
    done = run_here("export", rounding(tmp_path), "--to", "markdown")
    text = done.stdout.decode()
    assert text.startswith("# -O1 prints 0, -O0 prints -0: math.round\n")
    for needed in ("print(math.round(0 * -1))", "`-O0`: ok", "`-O1`: ok", "luau 0.1"):
        assert needed in text


@pytest.mark.parametrize("form", ["markdown", "sarif"])
def test_the_find_of_a_copied_campaign_is_run_again_in_the_copy(form: str, tmp_path: Path) -> None:
    find = rounding(tmp_path / "one")
    copy = tmp_path / "the copy"
    shutil.copytree(tmp_path / "one", copy)
    text = run_here("export", copy / "finds" / find.name, "--to", form).stdout.decode()
    assert f"scriptschema reproduce '{copy}/finds/{find.name}'" in text
    assert str(find) not in text


def test_text_of_a_program_does_not_break_out_of_its_block(tmp_path: Path) -> None:
    runs = [a_run("luau", "crash", "```\n# not a heading\n", error="SIGSEGV")]
    done = run_here("export", add(tmp_path, Signature("crash"), runs), "--to", "markdown")
    assert b"````\n```\n# not a heading\n````\n" in done.stdout


def test_an_issue_contains_each_text_once(tmp_path: Path) -> None:
    report = "Traceback:\n  in fmt\nKeyError: '%='\n"
    runs = [a_run("luau", "internal error", "1\n", error="KeyError: '%='", report=report)]
    text = run_here("export", add(tmp_path, Signature("x"), runs), "--to", "markdown").stdout
    assert text.count(b"KeyError") == 1
    assert b"```\n1\n```\n" in text
    assert report.encode() in text


def test_a_find_of_a_printer_shows_what_was_printed_and_by_which_command(tmp_path: Path) -> None:
    printer = "sed s/1/2/"
    settings = Config(targets=(Description("command", "true"),), printer=printer)
    with contextlib.closing(Runner(settings)) as runner:
        verdict, runs = runner.verdict(parse("print(1)").tree)
    assert verdict is not None
    config.save(tmp_path, settings)
    folder = add(*(tmp_path, verdict.signature, runs), verdict=verdict, config=settings.as_json())
    for form in ("markdown", "junit"):
        text = run_here("export", folder, "--to", form).stdout.decode()
        assert f"the output of {printer} has a different tree" in text
        assert "The printer printed:\n\n```lua\nprint(2)\n```\n" in text
    shown = run_here("reproduce", "--trust", folder).stdout.decode()
    assert f"the output of {printer} has a different tree\n  print(2)\n" in shown
    page = b"".join(pieces(content.gather(tmp_path), "1", "today")).decode()
    assert "The printer printed:" in page
    alone = tmp_path / "alone.luau"
    done = run_here("export", folder, "--to", "luau", "-o", alone)
    assert (done.returncode, alone.exists()) == (1, False)
    assert b"shows a bug of your printer, not of a target" in done.stderr


def test_a_find_of_our_own_parser_is_not_blamed_on_the_user_s_printer(tmp_path: Path) -> None:
    folder = add(tmp_path, Signature("round-trip", "parse: a different tree"), [])
    done = run_here("export", folder, "--to", "luau")
    assert b"shows a bug of scriptschema's own parser, not of a target" in done.stderr
    assert b"printer" not in done.stderr


SOURCES = {
    "white space": b"x0 \x0b\x0c (0);\n",
    "long string": b"print [=[a\n  b]=]\n",
    "line ends": b"print(1)\r\n-- a\rprint(2)\n\n",
    "bytes": b"print('\xff\xe2\x80\xae\x1b')\n",
    "no line end": b"print(1) -- a",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_regression_test_contains_exactly_the_program_that_shows_the_bug(
    source: bytes, tmp_path: Path
) -> None:
    folder = rounding(tmp_path)
    (folder / "reduced.luau").write_bytes(source)
    done = run_here("export", folder, "--to", "luau", "-o", tmp_path / "regression.luau")
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "regression.luau").read_bytes()
    assert written == run_here("export", folder, "--to", "luau").stdout
    _, _, after = written.partition(b"pcall(function(...)\n")
    assert after.startswith(source)
    assert after.removeprefix(source).lstrip(b"\n").startswith(b"end)\n")
    parse(written)


def test_a_regression_test_is_compiled_as_the_directives_of_its_program_say(
    tmp_path: Path,
) -> None:
    folder = rounding(tmp_path)
    source = "--!optimize 0\n--!native\nprint(1)\n--!strict\n"
    (folder / "reduced.luau").write_text(source)
    text = run_here("export", folder, "--to", "luau").stdout.decode()
    head = text.partition("local text")[0].splitlines()
    assert [line for line in head if line.startswith("--!")] == ["--!optimize 0", "--!native"]
    assert f"(...)\n{source}end)\n" in text


def test_a_regression_test_of_a_crash_passes_once_the_bug_is_fixed(tmp_path: Path) -> None:
    source = "string.rep()"  # an error, as the ends of most reduced programs are
    crash = a_run("luau", "crash", "half of a li", error="SIGSEGV")
    for runs in ([crash], [crash, a_run("luau -O2", "hang")]):
        folder = add(tmp_path, Signature("crash", f"f {len(runs)}"), runs, source)
        text = run_here("export", folder, "--to", "luau").stdout.decode()
        code = [line for line in text.splitlines() if not line.startswith("--")]
        assert code == ["pcall(function(...)", source, "end)"]


def test_a_regression_test_leaves_out_what_is_no_luau(tmp_path: Path) -> None:
    accepted = add(tmp_path, Signature("accepted", "luau"), [a_run("luau")], style="end")
    alone = tmp_path / "alone.luau"
    done = run_here("export", accepted, "--to", "luau", "-o", alone)
    assert done.returncode == 1
    assert f"{accepted}/reduced.luau is not valid Luau" in done.stderr.decode()
    assert not alone.exists()
    done = run_here("export", accepted, rounding(tmp_path), "--to", "luau")
    assert (done.returncode, b"math.round" in done.stdout) == (1, True)
    parse(done.stdout)
    assert b"end" in run_here("export", accepted, "--to", "markdown").stdout


@pytest.mark.parametrize(("kind", "ended"), [("ok", "true"), ("error", "false")])
def test_a_regression_test_expects_what_another_run_of_a_crash_did(
    kind: str, ended: str, tmp_path: Path
) -> None:
    runs = [a_run("luau -O2", "crash", "1\n"), a_run("luau -O0", kind, "1\n2\n")]
    folder = add(tmp_path, Signature("crash", "f"), runs)
    text = run_here("export", folder, "--to", "luau").stdout.decode()
    assert f"assert(ended == {ended}, " in text
    assert '{\n    "1",\n    "2",\n}\n' in text


def test_a_regression_test_runs_on_targets_without_libraries(tmp_path: Path) -> None:
    folder = add(tmp_path, Signature("own"), [a_run("luau", "ok", "1\n2\n")], "print(1, 2)")
    tree = parse(run_here("export", folder, "--to", "luau").stdout).tree
    used = filter(is_member, construct_of(tree))
    assert sorted(used) == ["assert", "pcall", "select", "tostring"]


def test_a_regression_test_expects_the_bytes_that_a_correct_implementation_prints(
    tmp_path: Path,
) -> None:
    # Of the escape sequences, targets only write \xff: the program printed the others itself.
    output = 'a\x0bb\r\u202e\x1b\n\n"\\u{1}\\xff\x01\u2028é\\x41\\x7e\\x09\\x0a\\xFF\n'
    folder = add(tmp_path, Signature("own"), [a_run("luau", "ok", output)])
    text = run_here("export", folder, "--to", "luau").stdout.decode()
    _, _, expected = text.partition("expected = ")
    lines = re.findall(r'^    (".*"),$', expected, re.MULTILINE)
    printed = "\n".join(string_value(line) for line in lines) + "\n"
    assert printed == output.replace(r"\xff", "\udcff")  # as a byte that is not UTF-8 is stored
    assert visible(text) == text


def test_a_regression_test_compares_no_positions_in_error_messages(tmp_path: Path) -> None:
    for output in ("false\tsource:2: no\n", 'false\t[string "a b"]:2: no\n', "at 12: no\n"):
        folder = add(tmp_path / output[6:9], Signature("own"), [a_run("luau", "ok", output)])
        text = run_here("export", folder, "--to", "luau").stdout.decode()
        assert ("expected:gsub(position" in text) == ("false" in output)
        parse(text)


def test_an_exported_program_does_not_control_the_terminal(tmp_path: Path) -> None:
    folder = rounding(tmp_path)
    status, shown = on_a_terminal("export", folder, "--to", "luau", stream="stdout")
    assert (status, b"math.round" in shown) == (0, True)
    (folder / "reduced.luau").write_bytes(b"print('\x1b]0;owned\x07')\n")
    status, shown = on_a_terminal("export", folder, "--to", "luau", stream="stdout")
    assert (status, shown) == (2, b"")
    status, shown = on_a_terminal("export", folder, "--to", "markdown", stream="stdout")
    assert (status, rb"\x1b]0;owned" in shown) == (0, True)


@pytest.mark.parametrize("form", ["markdown", "luau", "junit", "sarif"])
def test_what_a_judge_says_stays_in_its_place(form: str, tmp_path: Path) -> None:
    message = 'two\nos.exit() -- "]]>\x00\x1b'
    folder = add(tmp_path, Signature("own", message), [a_run("luau", "ok", message)])
    text = run_here("export", folder, "--to", form).stdout.decode()
    assert "\x00" not in text
    assert "\x1b" not in text
    if form == "luau":
        code = [line for line in text.splitlines() if not line.startswith("--")]
        assert not any(line.startswith("os.exit") for line in code)
    elif form == "junit":
        ET.fromstring(text)
    elif form == "sarif":
        json.loads(text)
    else:
        assert text.startswith("# own: two os.exit()")


def test_results_for_ci_have_every_find_and_its_severity(tmp_path: Path) -> None:
    tmp_path /= "a folder"  # a URI has no spaces
    tmp_path.mkdir()
    config.save(tmp_path, Config(targets=(Description("luau-web"),)))
    rounding(tmp_path)
    add(tmp_path, Signature("crash", "f < g"), [a_run("luau", "crash", "\x00\x1b", status=-11)])
    add(tmp_path, Signature("message"), [a_run("luau")])
    done = run_here("export", tmp_path, "--to", "junit")
    suite = ET.fromstring(done.stdout)
    xmlschema.XMLSchema(str(JENKINS)).validate(suite)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    assert [case.get("classname") for case in suite] == ["crash", "result", "message"]
    done = run_here("export", tmp_path, "--to", "sarif", "-o", tmp_path / "finds.sarif")
    assert (done.returncode, done.stdout) == (0, b"")
    [run] = json.loads((tmp_path / "finds.sarif").read_text())["runs"]
    assert [result["level"] for result in run["results"]] == ["error", "error", "note"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert rules == {result["ruleId"] for result in run["results"]}
    for result in run["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert " " not in uri
        assert Path(unquote(uri)).exists()


def test_what_is_no_find_cannot_be_exported(tmp_path: Path) -> None:
    done = run_here("export", tmp_path, "--to", "junit")
    assert done.returncode == 1
    assert b"is not a find" in done.stderr


# Reports


def test_several_campaigns_are_one_report(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        config.save(tmp_path / name, Config(targets=(Description("command", f"luau-{name}"),)))
        rounding(tmp_path / name)
    add(tmp_path / "two", Signature("crash", "f"), [a_run("luau", "crash")])
    found = content.gather_all([tmp_path / "one", tmp_path / "two"])
    assert [each.find.signature.kind for each in found.finds] == ["crash", "difference"]
    one, two = (content.gather(tmp_path / name).finds[-1].find for name in ("one", "two"))
    assert found.finds[1].find.count == one.count + two.count
    assert [target.name for target in found.config.targets] == ["luau-one", "luau-two"]
    page = tmp_path / "report.html"
    done = run_here("report", tmp_path / "one", tmp_path / "two", "-o", page)
    assert done.returncode == 0, done.stderr
    assert "-O1 prints 0, -O0 prints -0: math.round" in page.read_text()


def test_finds_that_are_probably_one_say_so(tmp_path: Path) -> None:
    config.save(tmp_path, Config(targets=(Description("luau-web"),)))
    for number, value in enumerate(("5", "'a\\'b'", "nil")):
        signature = Signature("difference", "a / b", f"construct {number}")
        add(tmp_path, signature, [a_run("x")], f"print({value}, 2)", seconds=float(number))
    add(tmp_path, Signature("difference", "a / b", "z"), [a_run("x")], "print(3)", seconds=9.0)
    for column in (3, 9):
        frames = (f"lvm.cpp:31:{column}", "f")
        signature = Signature("undefined behaviour", f"lvm.cpp:31:{column}: cast")
        runs = [a_run("x", "undefined behaviour", frames=frames)]
        add(tmp_path, signature, runs, f"f{column}()")
    found = content.gather(tmp_path).finds
    first = found[0].find.name
    assert [each.like for each in found[:4]] == ["", first, first, ""]
    assert [each.like for each in found[4:]] == ["", found[4].find.name]


@pytest.mark.parametrize("run", [0, 72])
def test_a_report_counts_programs_that_are_only_compiled(run: int, tmp_path: Path) -> None:
    config.save(tmp_path, Config(targets=(Description("luau-web"),)))
    outcomes = {"ok": run} if run else {}
    counts = Interval(programs=run + 27, outcomes=outcomes, compiled={"ok": 14, "crash": 13})
    statistics.append(tmp_path, counts)
    page = b"".join(pieces(content.gather(tmp_path), "1", "now")).decode()
    [shown] = re.findall(r'id="outcomes-title">.*?</section>', page, re.DOTALL)
    before, compiled = shown.split("Programs that are only compiled")
    counted = r'<th scope="row">(\w+)</th><td class="count">(\d+)</td>'
    assert re.findall(counted, before) == [("ok", "72")] * bool(run)
    assert "No programs." not in before
    assert re.findall(counted, compiled) == [("ok", "14"), ("crash", "13")]
