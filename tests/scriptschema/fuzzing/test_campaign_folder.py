"""A campaign's folder can be read again even if files are truncated or paths are occupied."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from scriptschema.files import FileError
from scriptschema.fuzzing.campaign import config, finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.oracles.judging import broken
from scriptschema.fuzzing.oracles.verdict import Difference, Signature, Verdict
from scriptschema.fuzzing.targets.description import Description, TargetError, from_table, from_word
from scriptschema.fuzzing.targets.outcome import Outcome, Run
from scriptschema.fuzzing.targets.probing import as_json
from scriptschema.generation.programs import program
from scriptschema.luau.parse import parse
from scriptschema.messages import ModuleSet

CONFIG = Config(targets=(Description("luau-web"),), seed=7)


def a_find(name: str = "crash-1", seconds: float = 1.0) -> finds.Find:
    runs = [Run("luau-web -O0", Outcome("crash", "a\n", "boom", -11, ("f", "g"), 0.5))]
    difference = Difference(3, "luau-web -O0", "luau-web -O2", "1", None)
    verdict = Verdict(Signature("crash", "f < g", "pcall"), "it crashed", difference)
    return finds.Find(name, verdict, finds.ShownProgram(20, runs), seconds=seconds, count=3)


def test_a_find_is_read_as_it_was_written(tmp_path: Path) -> None:
    tree, reduced = program(seed=1), ModuleSet(program=program(seed=2, size=20).program)
    find = a_find()
    folder = finds.add(tmp_path, find, tree)
    assert finds.load(folder) == find
    assert finds.tree_of(folder) == tree
    find.reduced = finds.ShownProgram(4, find.program.runs)
    finds.add_reduced(folder, find, reduced)
    assert finds.load(folder) == find
    assert finds.tree_of(folder, finds.REDUCED) == reduced
    assert finds.source_of(folder, finds.REDUCED)
    with pytest.raises(FileError, match="finds/crash-1"):
        finds.add(tmp_path, find, tree)
    assert [path.name for path in folder.parent.iterdir()] == ["crash-1"]


def test_a_find_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    folder = finds.add(tmp_path, a_find(), program(seed=1))
    path = folder / finds.FILE
    path.write_text(path.read_text().replace("{", '{"command": "scriptschema reproduce x",', 1))
    assert finds.load(folder) == a_find()


def test_a_find_of_a_version_that_ignored_the_class_of_an_exception_is_not_reported_again(
    tmp_path: Path,
) -> None:
    report = (
        'Traceback (most recent call last):\n  File "/a/vm.py", line 7, in <module>\n'
        "    {}[1]\nKeyError: 1\n"
    )
    find = a_find()
    ended = Outcome("internal error", "", "KeyError: 1", 1, ("<module>",), report=report)
    find.program.runs = [Run("vm", ended)]
    for old, new in (
        (Signature("internal error", "<module>"), "internal error: vm.py:7: KeyError"),
        (
            Signature("seen once", "internal error: <module>"),
            "seen once: internal error: vm.py:7: KeyError",
        ),
        (Signature("difference", "<module>"), "difference: <module>"),
    ):
        find.verdict = Verdict(old, "")
        find.name = old.name
        assert str(finds.load(finds.add(tmp_path, find, program(seed=1))).signature) == new


RUSTC = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/raw_vec/mod.rs:28:5"
FREED = "".join(
    f"    #{at} 0x7f{at} in {name} a.c:{at}:5\n"
    for at, name in enumerate(["malloc_printerr", "_int_free", "cfree", "luaM_free"])
)
ABORT = "==4==ERROR: UndefinedBehaviorSanitizer: ABRT on unknown address 0x01 (pc 0x7f)\n"
DOUBLE = "==4==ERROR: AddressSanitizer: attempting double-free on 0x5f in thread T0:\n"
PANIC = "thread 'main' (17) panicked at "
PATTERN = {"crash": "panicked"}


@pytest.mark.parametrize(
    ("old", "report", "settings", "new"),
    [
        (
            ("crash", "SIGABRT", -6),
            "outputs differ\n",
            {},
            "crash: SIGABRT: outputs differ (ExprUnary.Op.Len)",
        ),
        (("crash", "SIGABRT", -6), "a text\n", {}, "crash: SIGABRT (ExprUnary.Op.Len)"),
        (
            ("crash", "SIGABRT", -6),
            "outputs differ\n",
            {"kind": "persistent"},
            "crash: SIGABRT (ExprUnary.Op.Len)",
        ),
        (
            ("crash", "SIGABRT: ran x", -6),
            "ran x\n",
            {"kind": "persistent"},
            "crash: SIGABRT (ExprUnary.Op.Len)",
        ),
        (
            ("crash", "SIGABRT", 1, "malloc_printerr", "_int_free", "cfree"),
            f"{ABORT}{FREED}",
            {},
            "crash: luaM_free",
        ),
        (
            ("sanitizer", "attempting double-free", 1, "free", "luaM_free"),
            f"{DOUBLE}    #0 0x7f in free (vm+0x9)\n    #1 0x7f in luaM_free a.c:3:5\n",
            {},
            "sanitizer: luaM_free",
        ),
        (
            ("internal error", f"panicked at {RUSTC}: capacity overflow", 101, RUSTC),
            f"\n{PANIC}{RUSTC}:\ncapacity overflow\n",
            {},
            "internal error: library/alloc/src/raw_vec/mod.rs:28:5",
        ),
        (
            ("internal error", f"{PANIC}src/vm.rs:9:5:", 0),
            f"\n{PANIC}src/vm.rs:9:5:\nindex out of bounds\n",
            {},
            "internal error: src/vm.rs:9:5",
        ),
        (
            ("internal error", f"{PANIC}src/vm.rs:9:5:", 0),
            f"\n{PANIC}src/vm.rs:9:5:\nindex out of bounds\n",
            PATTERN,  # with it, new finds have this signature, too
            "internal error: thread '…' (N) panicked at N:",
        ),
    ],
)
def test_a_find_of_a_version_that_read_less_in_a_report_is_not_reported_again(
    old: tuple[str, str, int, *tuple[str, ...]],
    report: str,
    settings: dict[str, str],
    new: str,
    tmp_path: Path,
) -> None:
    kind, error, status, *frames = old
    target = {"kind": "command", "command": "vm  {variant} -", "variants": ["-O2"], **settings}
    other = {"kind": "persistent", "command": "other"}
    runs = [Run("vm  -O2 -", Outcome(kind, "", error, status, (*frames,), report=report))]
    verdict = broken(runs)
    assert verdict is not None
    find = finds.Find("x", verdict, finds.ShownProgram(4, runs), finds.ShownProgram(4, runs))
    find.config = {"targets": [other, target]}
    folder = finds.add(tmp_path, find, program(seed=1), parse("print(#'a text')").tree)
    assert str(finds.load(folder).signature) == new


def test_finds_come_in_the_order_in_which_they_were_found(tmp_path: Path) -> None:
    assert [*finds.load_all(tmp_path)] == []
    for name, seconds in [("b", 2.0), ("a", 3.0), ("c", 1.0)]:
        finds.add(tmp_path, a_find(name, seconds), program(seed=1), program(seed=1, size=20))
    assert [find.name for _, find in finds.load_all(tmp_path)] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("old", "message", "new"),
    [
        ("printer: expected an expression", "", "printer: not valid Luau"),
        (
            "printer: a different tree",
            "the output of cat is not valid Luau: expected an expression",
            "printer: not valid Luau",
        ),
        (
            "printer: a different tree",
            "the output of cat is a different program",
            "printer: a different tree",
        ),
        ("printer: crash: SIGSEGV", "", "printer: crash: SIGSEGV"),
        ("printer: hang", "", "printer: hang"),
        ("parse: expected an expression", "", "parse: expected an expression"),
    ],
)
def test_a_printer_find_of_an_earlier_version_is_reproduced(
    tmp_path: Path, old: str, message: str, new: str
) -> None:
    find = a_find("round-trip-1")
    find.verdict = Verdict(Signature("round-trip", old), message)
    folder = finds.add(tmp_path, find, program(seed=1))
    assert finds.load(folder).signature == Signature("round-trip", new)


@pytest.mark.parametrize(
    ("path", "wrong", "message"),
    [
        (["count"], "a", "count must be a whole number, found 'a'"),
        (["seconds"], None, "seconds must be a number, found None"),
        (["name"], 3, "name must be a string, found 3"),
        (["is_smallest"], "no", "is_smallest must be true or false, found 'no'"),
        (["program", "nodes"], [], r"nodes must be a whole number, found \[\]"),
    ],
)
def test_an_edited_find_with_a_wrong_value_is_reported(
    tmp_path: Path, path: list[str], wrong: object, message: str
) -> None:
    folder = finds.add(tmp_path, a_find(), program(seed=1))
    value = json.loads((folder / finds.FILE).read_text())
    inner = value
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = wrong
    (folder / finds.FILE).write_text(json.dumps(value))
    with pytest.raises(FileError, match=rf"find\.json cannot be read .*{message}"):
        finds.load(folder)


@pytest.mark.parametrize(
    ("kind", "detail", "source", "style", "construct"),
    [
        ("round-trip", "printer: a different tree", "print(#x0)", None, "ExprUnary.Op.Len"),
        ("round-trip", "printer: a different tree", "print(#x0)", 7, "Spelling"),
        ("round-trip", "printer: a different tree", "print(1)", None, ""),
        ("accepted", "luau", "", "$ do", "do, $"),
    ],
)
def test_a_find_of_a_version_that_stored_no_construct_is_not_reported_again(
    kind: str, detail: str, source: str, style: str | int | None, construct: str, tmp_path: Path
) -> None:
    find = a_find("old")
    find.verdict = Verdict(Signature(kind, detail), "")
    find.reduced = finds.ShownProgram(4, find.program.runs, style)
    find.is_smallest = True
    folder = finds.add(tmp_path, find, program(seed=1), parse(source).tree)
    loaded = finds.load(folder)
    assert loaded.signature == Signature(kind, detail, construct)
    # The next run has to find out which words of a source the bug needs.
    assert loaded.is_unreduced == (kind == "accepted")


@pytest.mark.parametrize("text", ["", "{}", "[]", "3", '{"verdict": 3}', '{"format": 1}'])
def test_files_that_are_none_of_a_campaign_are_reported(text: str, tmp_path: Path) -> None:
    (tmp_path / "find.json").write_text(text)
    (tmp_path / "campaign.json").write_text(text)
    with pytest.raises(FileError, match=r"find\.json cannot be read \(.*remove the folder"):
        finds.load(tmp_path)
    with pytest.raises(FileError, match=r"campaign\.json"):
        config.load(tmp_path)


def test_a_source_of_programs_that_there_is_not_is_an_error_and_not_the_default() -> None:
    found = CONFIG.as_json()
    with pytest.raises(ValueError, match="'source' must be in"):
        Config.from_json({**found, "source": "repair"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mutants": math.nan}, "mutants must be a number from 0 to 1, found nan"),
        ({"mutants": "0.5"}, "mutants must be a number from 0 to 1, found '0.5'"),
        ({"size": 30.5}, r"size must be a whole number, found 30\.5"),
        ({"ulps": math.nan}, "ulps must be a whole number, found nan"),
        ({"seed": "x"}, "seed must be a whole number, found 'x'"),
        ({"types": "strict"}, "'types' must be in"),
    ],
)
def test_a_setting_that_would_end_the_workers_or_differ_from_itself_is_an_error(
    wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Config.from_json({**CONFIG.as_json(), **wrong})


def test_the_same_settings_continue_a_campaign(tmp_path: Path) -> None:
    settings = {**CONFIG.as_json(), "mutants": 0.5, "compiled": 1, "targets": [{"kind": "pluau"}]}
    for _ in range(2):
        with Campaign(tmp_path / "campaign", Config.from_json(settings)) as campaign:
            assert campaign.config.mutants == 0.5


def test_a_folder_without_the_files_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not a find"):
        finds.load(tmp_path)
    with pytest.raises(FileError, match=r"program\.luau"):
        finds.source_of(tmp_path)
    with pytest.raises(FileError, match="is not a campaign"), Campaign(tmp_path, None):
        pass


def test_statistics_add_up_and_survive_a_line_that_was_cut_off(tmp_path: Path) -> None:
    assert statistics.read(tmp_path) == []
    one = statistics.Interval(
        seconds=10, programs=3, runs=6, outcomes={"ok": 2}, operators={"wrap": [1, 1, 0]}
    )
    two = statistics.Interval(
        seconds=20, programs=4, runs=8, corpus=5, outcomes={"ok": 1, "error": 1}
    )
    two.operators = {"wrap": [2, 1, 1], "splice": [1, 0, 0]}
    statistics.append(tmp_path, one)
    with (tmp_path / statistics.FILE).open("a") as file:
        file.write('{"seconds": "x"}\n{"outcomes": 3}\n{"operators": []}\n[[]]\n')
        file.write('{"seconds": 12, "prog')
    statistics.append(tmp_path, two)
    assert statistics.read(tmp_path) == [one, two]
    whole = statistics.total([one, two])
    assert (whole.seconds, whole.programs, whole.runs, whole.corpus) == (20, 7, 14, 5)
    assert whole.outcomes == {"ok": 3, "error": 1}
    assert whole.operators == {"wrap": [3, 2, 1], "splice": [1, 0, 0]}


def test_a_campaign_continues_with_what_it_was_asked_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    with Campaign(folder, CONFIG) as campaign:
        campaign.log("two\nlines")
        with pytest.raises(FileError, match=r"is in use by another run \(process \d+\)"):
            Campaign(folder, CONFIG).__enter__()
        # what a killed process leaves
        (folder / "finds" / ".crash-1.123").mkdir()
        (folder / "finds" / "crash-2").mkdir()
        (folder / "finds" / "crash-2" / ".find.json.x").touch()
    with Campaign(folder, None) as campaign:
        assert campaign.config == CONFIG
    assert [path.name for path in (folder / "finds").rglob("*")] == ["crash-2"]
    assert (folder / "log.txt").read_text().endswith("Z two lines\n")
    with pytest.raises(FileError, match=r"different options \(seed\)"):
        Campaign(folder, Config(targets=CONFIG.targets, seed=8)).__enter__()


def test_no_folder_of_somebody_else_is_taken_for_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(FileError, match="is not empty, and not a campaign"):
        Campaign(tmp_path, CONFIG).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(FileError, match="does not exist: create it first"):
        Campaign(tmp_path / "a" / "b", CONFIG).__enter__()


def test_signatures_name_folders() -> None:
    name = Signature("crash", "f < g", "coroutine.close, pcall").name
    assert name.startswith("crash-coroutine-close-pcall-")
    assert name != Signature("crash", "f < h", "coroutine.close, pcall").name
    assert str(Signature("hang")) == "hang"
    assert str(Signature("crash", "f", "g")) == "crash: f (g)"


def test_targets_have_short_forms_and_tables() -> None:
    web = from_word("luau-web:tools")
    assert (web.kind, web.folder, web.variants) == ("luau-web", "tools", ("-O0", "-O1", "-O2"))
    command = from_word("command:luau {variant} {file}", variants=("-O0", "-O2"), seconds=2.0)
    assert command.run_name("-O2") == "luau -O2 {file}"
    assert from_table(json.loads(json.dumps(as_json(command)))) == command
    assert from_word("persistent:node a.mjs").run_name("") == "node a.mjs"


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"kind": "lua"},
        {"kind": "command"},
        {"kind": "luau-web", "command": "x"},
        {"kind": "command", "command": 3},
        {"kind": "command", "command": "x", "seconds": 0},
        {"kind": "command", "command": "x", "seconds": "2"},
        {"kind": "command", "command": "x", "variants": "-O2"},
        {"kind": "command", "command": "x", "variants": [2]},
        {"kind": "command", "command": "x", "colour": 2},
    ],
)
def test_a_table_that_describes_no_target_is_reported(table: dict[str, object]) -> None:
    with pytest.raises(TargetError):
        from_table(table)


@pytest.mark.parametrize("word", ["luau", "pluau:x", "command:", ""])
def test_a_word_that_is_no_target_is_reported(word: str) -> None:
    with pytest.raises(TargetError):
        from_word(word)


def test_a_full_disk_is_reported_with_the_file_of_the_campaign(tmp_path: Path) -> None:
    """It was reported as an error of standard output."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from scriptschema.commands.main import main; main()"
    )
    words = ["fuzz", "-t", "command:cat", "-o", tmp_path / "campaign", "-n", "1"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"scriptschema: {tmp_path / 'campaign' / '.lock'}: ".encode())
