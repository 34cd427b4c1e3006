"""The commands `render`, `check`, `repair` and `parse`, as a user calls them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from scriptschema import interop, wire
from scriptschema.commands.main import main
from scriptschema.generation.programs import IDIOMS, program
from scriptschema.generation.trees import generate
from scriptschema.luau.names import Names
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import check
from scriptschema.luau.sources import one_source
from scriptschema.messages import ModuleSet

EXAMPLES = Path(__file__).parents[3] / "examples" / "luau"


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name: str, *args: object, stdin: bytes = b"", status: int = 0) -> Result:
    result = CliRunner().invoke(main, [name, *map(str, args)], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == status, result.output
    return result


def tree(source: str, **options: str) -> ModuleSet:
    return parse(source, **options).tree  # type: ignore[arg-type]


def write(path: str, data: bytes | str) -> Path:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data.encode() if isinstance(data, str) else data)
    return target


def written(folder: str) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file())


# render


def test_render_prints_a_tree_of_any_format() -> None:
    program = tree("f(1)")
    text, data = interop.to_text(program), wire.encode(program)
    source = run("render", write("a.pb", data)).stdout
    assert source == "x0(1)\n"
    assert run("render", write("a.textproto", text)).stdout == source
    assert run("render", write("a.json", interop.to_json(program))).stdout == source
    assert run("render", "-", "--from", "binary", stdin=data).stdout == source


def test_a_style_gives_the_same_program_on_standard_output_as_in_files() -> None:
    one, two = tree("print(1)"), tree('local m = require("./module0")', module="return 1")
    write("one.pb", wire.encode(one))
    write("two.pb", wire.encode(two))
    seen = set()
    for style in range(60):
        run("render", "one.pb", "-o", "one.luau", "--style", style)
        source = Path("one.luau").read_bytes()
        assert run("render", "one.pb", "--style", style).stdout_bytes == source
        run("render", "two.pb", "-o", "two.luau", "--style", style)
        module, program = (
            Path("two", f"{name}.luau").read_bytes() for name in ("module0", "program")
        )
        printed = run("render", "two.pb", "--style", style).stdout_bytes
        end = b"" if module.endswith(b"\n") else b"\n"
        assert printed == b"-- module0\n" + module + end + b"-- program\n" + program
        seen |= {source.startswith(b"--!"), end}
    assert seen == {True, False, b"", b"\n"}


def test_render_writes_a_folder_of_trees_and_two_files_where_there_is_a_module() -> None:
    write("trees/a.pb", wire.encode(tree("f()")))
    both = tree('local m = require("./module0")', module="return 1")
    write("trees/below/b.json", interop.to_json(both))
    run("render", "trees", "-o", "sources")
    assert written("sources") == ["a.luau", "below/b/module0.luau", "below/b/program.luau"]
    assert Path("sources/below/b/module0.luau").read_text() == "return 1\n"
    assert "require" in Path("sources/below/b/program.luau").read_text()


def test_render_says_that_a_program_with_a_module_is_not_in_the_file_that_was_named() -> None:
    write("two.pb", wire.encode(tree('local m = require("./module0")', module="return 1")))
    write("two.luau", "old")
    told = run("render", "two.pb", "-o", "two.luau").stderr
    assert told == ("the program has a module: it was written to the folder two, not to two.luau\n")
    assert run("render", "two.pb", "-o", "two").stderr == ""


def test_render_takes_names_and_leaves_types_out() -> None:
    result = parse("local mine: number = 1 do f() end")
    write("a.pb", wire.encode(result.tree))
    write("names.json", json.dumps(result.names.to_dict()))
    shown = run("render", "a.pb", "--names", "names.json", "--no-types", "--indent", "1").stdout
    assert shown == "local mine = 1\ndo\n f()\nend\n"


def test_render_writes_the_bytes_of_strings_as_they_are() -> None:
    write("a.pb", wire.encode(parse(b"print('\xff', 'e')").tree))
    run("render", "a.pb", "-o", "a.luau")
    assert parse(Path("a.luau").read_bytes()).tree == parse(b"print('\xff', 'e')").tree


# check and repair


def test_check_says_where_and_why_a_tree_does_not_compile() -> None:
    write("bad.pb", wire.encode(tree("break")))
    write("good.pb", wire.encode(tree("print(1)")))
    result = run("check", "bad.pb", "good.pb", status=1)
    lines = result.stdout.splitlines()
    assert lines
    assert all(line.startswith("bad.pb: program.body[0]") for line in lines)
    assert run("check", "good.pb").stdout == ""


def test_repair_makes_trees_that_check_accepts_in_the_format_they_had() -> None:
    for seed in range(5):
        data = interop.to_text(generate(ModuleSet, seed=seed, size=60))
        write(f"corpus/{seed}.textproto", data)
    run("check", "corpus", status=1)
    run("repair", "corpus", "-o", "repaired")
    assert written("repaired") == [f"{seed}.textproto" for seed in range(5)]
    assert run("check", "repaired").stdout == ""
    repaired = interop.from_text(ModuleSet, Path("repaired/0.textproto").read_text())
    assert check(repaired) == []


def test_repair_writes_the_format_that_is_requested() -> None:
    write("a.pb", wire.encode(tree("break")))
    assert json.loads(run("repair", "a.pb", "--to", "json").stdout)
    run("repair", "a.pb", "-o", "b.pb")
    assert check(wire.decode(ModuleSet, Path("b.pb").read_bytes())) == []
    data = wire.encode(tree("f()"))
    assert run("repair", "-", "--from", "binary", stdin=data).stdout_bytes == data


def test_repair_of_several_formats_needs_a_choice() -> None:
    write("in/a.pb", wire.encode(tree("f()")))
    write("in/b.json", interop.to_json(tree("f()")))
    result = run("repair", "in", "-o", "out", status=2)
    assert (
        "the files have different formats (binary and json): choose one with --to" in result.stderr
    )
    run("repair", "in", "-o", "out", "--to", "text")
    assert written("out") == ["a.textproto", "b.textproto"]


# parse


def test_parse_and_render_go_through_a_folder_and_back() -> None:
    run("parse", EXAMPLES, "-o", "trees", "--save-names", "names.json")
    names = Names.load(Path("names.json"))
    assert "shapes" in names.locals
    assert "program.pb" in written("trees")
    assert "module0.pb" not in written("trees")
    run("render", "trees", "-o", "sources", "--names", "names.json")
    assert "program/module0.luau" in written("sources")
    run("parse", "sources", "-o", "again", "--names", "names.json")
    assert written("again") == written("trees")
    for name in written("trees"):
        assert (Path("trees") / name).read_bytes() == (Path("again") / name).read_bytes()


def test_parse_and_render_lose_nothing_of_the_version_that_is_requested() -> None:
    write("new.luau", "const x: number = 0.5 :: any\nexport local y = integer.add(5i, 6i)\n")
    luau = ("--luau", "today")
    parsed = run("parse", "new.luau", *luau, "-o", "new.pb", "--save-names", "names.json")
    assert "dropped" not in parsed.stderr
    rendered = run("render", "new.pb", *luau, "--names", "names.json").stdout
    assert rendered == Path("new.luau").read_text()
    refused = run("parse", "new.luau", "--luau", "0.711", "-o", "old.pb", status=1)
    assert "new.luau:2:1: expected syntax of Luau 0.711, found an exported value" in refused.stderr


def test_parse_takes_the_module_beside_a_program_that_names_it() -> None:
    write("module0.luau", "return 1")
    write("with.luau", 'local m = require("./module0")')
    write("without.luau", "f()")

    def has_module(name: str) -> bool:
        data = run("parse", name).stdout_bytes
        return wire.decode(ModuleSet, data).module is not None

    assert has_module("with.luau")
    assert not has_module("without.luau")
    assert not has_module("module0.luau")
    run("parse", ".", "-o", "out")
    assert written("out") == ["module0.pb", "with.pb", "without.pb"]


def test_parse_reads_only_sources_in_a_folder_and_anything_that_is_named() -> None:
    write("in/a.luau", "f()")
    write("in/b.lua", "f()")
    write("in/readme.md", "# no source")
    write("in/c.txt", "f()")
    run("parse", "in", "in/c.txt", "-o", "out", "--to", "json")
    assert written("out") == ["a.json", "b.json", "c.txt.json"]
    assert run("parse", "-", "--to", "text", stdin=b"f()").stdout.startswith("program {")


def test_parse_says_what_is_lost_and_that_names_are() -> None:
    write("a.luau", "mine = 0.5 -- comment")
    result = run("parse", "a.luau", "-o", "a.pb")
    assert result.stderr.splitlines() == [
        "2 constructs that the schema lacks were dropped or rewritten: use --losses to list them",
        "the trees do not contain the names in the sources: use --save-names to keep them",
    ]
    result = run("parse", "a.luau", "-o", "a.pb", "--losses", "--save-names", "names.json")
    assert result.stderr.splitlines() == [
        "a.luau:1:8: number 0.5: `1 / 2`, which has the same value",
        "a.luau:1:12: comment: dropped",
    ]
    write("known.luau", "print(x0)")
    assert run("parse", "known.luau", "-o", "a.pb").stderr == ""


def test_parse_says_nothing_about_the_names_in_trees_that_were_not_written() -> None:
    write("a.luau", "mine()")
    told = run("parse", "a.luau", "-o", "/dev/full", status=1).stderr
    assert told == "scriptschema: /dev/full: No space left on device\n"


@pytest.mark.parametrize("name", ["parse", "render", "repair"])
def test_what_cannot_be_read_in_a_folder_is_reported(name: str) -> None:
    ending = ".luau" if name == "parse" else ".pb"
    write(f"in/a{ending}", "print(1)" if name == "parse" else wire.encode(tree("print(1)")))
    os.mkfifo(f"in/pipe{ending}")
    Path(f"in/link{ending}").symlink_to("nowhere")
    told = run(name, "in", "-o", "out", status=1).stderr
    assert f"in/pipe{ending}: not a regular file" in told
    assert f"in/link{ending}: No such file or directory" in told
    assert len(written("out")) == 1


# The names of outputs


def test_a_tree_is_written_in_the_format_of_the_suffix_so_that_it_can_be_read_again() -> None:
    write("a.luau", "print(1)")
    for ending in (".json", ".textproto", ".pb"):
        run("parse", "a.luau", "-o", f"a{ending}")
        assert run("render", f"a{ending}").stdout == "print(1)\n"
        run("repair", f"a{ending}", "-o", "b.json")
        assert json.loads(Path("b.json").read_text())
    run("parse", "a.luau", "-o", "any-name")
    assert wire.decode(ModuleSet, Path("any-name").read_bytes()) == tree("print(1)")
    Path("trees.json").mkdir()
    run("parse", "a.luau", "-o", "trees.json")
    assert written("trees.json") == ["a.pb"]


@pytest.mark.parametrize(
    "args",
    [
        ("parse", "a.luau", "-o", "a.luau"),
        ("parse", "a.luau", "-o", "b.lua"),
        ("parse", "a.luau", "-o", "b.json", "--to", "text"),
        ("parse", "a.luau", "-o", "b.json", "--save-names", "b.json"),
        ("parse", "a.luau", "-o", "b", "--to", "json", "--save-names", "b/a.json"),
        ("parse", "a.luau", "a.json", "-o", "c", "--save-names", "./a.json"),
        ("parse", "plain", "-o", "link/plain"),
        ("repair", "a.pb", "-o", "a.luau"),
        ("repair", "a.pb", "-o", "b.json", "--to", "binary"),
        ("convert", "a.pb", "--to", "json", "-o", "b.textproto"),
        ("convert", "a.pb", "--to", "binary", "-o", "b.pbstream"),
        ("render", "a.pb", "-o", "a.pb"),
        ("render", "plain.tree", "--from", "binary", "-o", "plain.tree"),
    ],
)
def test_no_output_replaces_an_input_or_gets_the_suffix_of_another_format(
    args: tuple[str, ...],
) -> None:
    for name in ("a.luau", "plain", "a.json"):
        write(name, "print(1)")
    for name in ("a.pb", "plain.tree"):
        write(name, wire.encode(tree("print(1)")))
    Path("b").mkdir()
    Path("link").symlink_to(".")
    before = {path: path.read_bytes() for path in Path.cwd().rglob("*") if path.is_file()}
    told = " ".join(run(*args, status=2).stderr.split())
    assert "choose another name" in told
    assert before == {path: path.read_bytes() for path in Path.cwd().rglob("*") if path.is_file()}


# generate --programs and --repaired

KINDS = pytest.mark.parametrize("kind", ["--programs", "--repaired"])


@KINDS
def test_generate_writes_sources_of_programs_one_or_two_for_each(kind: str) -> None:
    run("generate", kind, "-n", 8, "--size", 80, "--format", "luau", "-o", "sources")
    names = written("sources")
    assert {name.split("/")[0].removesuffix(".luau") for name in names} == set("01234567")
    assert {name.split("/")[1] for name in names if "/" in name} == {"program.luau", "module0.luau"}
    for name in names:
        parse((Path("sources") / name).read_bytes())
    # In processes as in one, and as the trees of the same seeds.
    run("generate", kind, "-n", 8, "--size", 80, "-o", "trees", "--jobs", 2)
    run("render", "trees", "-o", "again")
    assert written("again") == names
    for name in names:
        assert (Path("again") / name).read_bytes() == (Path("sources") / name).read_bytes()
    assert run("check", "trees").stdout == ""


@KINDS
def test_generate_continues_with_sources_where_it_stopped(kind: str) -> None:
    options = ("generate", kind, "--format", "luau", "--size", 80, "-o", "out", "-n")
    run(*options, 8)
    before = {name: (Path("out") / name).read_bytes() for name in written("out")}
    folder = next(name for name in before if name.endswith("/program.luau"))
    (Path("out") / folder).unlink()  # interrupted between a program's two files
    assert "7 of 8 trees already exist" in run(*options, 8).stderr
    assert before == {name: (Path("out") / name).read_bytes() for name in written("out")}
    assert (
        "was not generated with these options: use" in run(*options, 9, "--swarm", status=1).stderr
    )


@KINDS
def test_generate_writes_one_source_to_a_file_or_to_standard_output(kind: str) -> None:
    for seed in range(4):
        args = ("generate", kind, "--seed", seed, "--size", 80)
        run(*args, "-o", f"{seed}.luau")
        shown = run(*args, "--format", "luau").stdout
        assert Path(f"{seed}.luau").read_text() == shown
        assert not Path(f"{seed}").exists()
        program = wire.decode(ModuleSet, run(*args).stdout_bytes)
        assert check(program) == []
        assert json.loads(run(*args, "--format", "json").stdout)


def test_one_source_goes_to_standard_output_with_n_as_well() -> None:
    args = ("generate", "--programs", "--size", 80, "--format", "luau")
    assert run(*args, "-n", 1).stdout == run(*args).stdout
    for seed in range(6):  # some of them have a module
        parse(run(*args, "-n", 1, "--seed", seed).stdout)


def test_one_source_with_a_module_that_exports_values_is_valid() -> None:
    exporting = 0
    for seed in range(40):
        tree = program(seed=seed, size=60, luau="today")
        is_exporting = tree.module is not None and "export " in render(tree.module)
        source = one_source(tree)
        assert check(parse(source, luau="today").tree) == [], source
        exporting += is_exporting and "return table.freeze({v0 = v0, " in source
    assert exporting > 5


def test_sources_are_written_in_the_style_that_is_requested() -> None:
    args = ("generate", "--programs", "--size", 40, "--format", "luau")
    run(*args, "-n", 6, "-o", "plain")
    run(*args, "-n", 6, "-o", "plain", "--style", "plain")  # what is there is what this makes
    run(*args, "-n", 6, "-o", "random", "--style", "random")
    run(*args, "-n", 6, "-o", "third", "--style", 3, "--jobs", 2)
    run("generate", "--programs", "--size", 40, "-n", 6, "-o", "trees")
    run("render", "trees", "-o", "again", "--style", 3)
    names = written("plain")
    assert written("random") == written("third") == written("again") == names
    plain, various, third, again = (
        {name: (Path(folder) / name).read_bytes() for name in names}
        for folder in ("plain", "random", "third", "again")
    )
    assert again == third
    assert third != plain != various != third
    assert various["3.luau"] == third["3.luau"]  # its seed is its style
    for name in names:
        assert parse(plain[name]).tree == parse(third[name]).tree == parse(various[name]).tree
    assert run(*args, "--seed", 2, "--style", 3).stdout_bytes == third["2.luau"]
    run(*args, "--seed", 2, "--style", 3, "-o", "2.luau")
    assert Path("2.luau").read_bytes() == third["2.luau"]


def test_generated_programs_follow_their_options() -> None:
    def programs(*options: object) -> list[str]:  # not every one has a place for every option
        args = ("generate", "--programs", "--format", "luau")
        return [run(*args, "--seed", seed, *options).stdout for seed in range(3, 9)]

    assert programs() == programs("--types", "random", "--wrong", 0.05)
    for other in (("--types", "none"), ("--wrong", 1), ("--swarm",)):
        assert programs() != programs(*other)
    write("weights.toml", "[idioms]\n" + "".join(f'"{name}" = 0\n' for name in IDIOMS))
    lines = programs("--types", "none", "--weights", "weights.toml")[0].splitlines()
    assert all(line.startswith(("print(", "local", "return")) for line in lines)


# Mistakes


def test_trees_and_programs_are_made_checked_and_repaired_for_a_version() -> None:
    run("generate", "-n", 30, "--size", 300, "--luau", "today", "-o", "trees")
    newer = run("check", "trees", "--luau", "0.711", status=1).output
    assert "requires Luau 0.715 [version]" in newer
    assert "[version]" not in run("check", "trees", "--luau", "today", status=1).output
    run("repair", "trees", "--luau", "0.711", "-o", "repaired")
    assert run("check", "repaired", "--luau", "0.711").output == ""
    assert run("generate", "--programs", "--seed", 3).stdout_bytes == wire.encode(program(seed=3))
    made = program(seed=3, luau="today")
    wanted = wire.encode(made, luau="today")
    options = ("--programs", "--seed", 3, "--luau", "today")
    assert run("generate", *options).stdout_bytes == wanted != wire.encode(program(seed=3))
    text = run("render", write("a.pb", wanted), "--luau", "today").stdout
    assert text == render(made)
    known = "expected 0.677 to 0.735, or 'today' (0.735)"
    assert known in run("generate", "--luau", "0.1", status=2).output


def test_one_bad_file_among_many_is_reported_and_the_rest_is_done() -> None:
    for name in "acd":
        write(f"in/{name}.luau", "f()")
    write("in/b.luau", "f(\n1 2)")
    result = run("parse", "in", "-o", "out", status=1)
    assert (
        "scriptschema: in/b.luau:2:3: expected `)` to close the `(` at 1:2, found `2`"
        in result.stderr
    )
    assert written("out") == ["a.pb", "c.pb", "d.pb"]
    write("out/b.pb", b"\xff")
    result = run("render", "out", "-o", "sources", status=1)
    assert "scriptschema: out/b.pb: " in result.stderr
    assert written("sources") == ["a.luau", "c.luau", "d.luau"]
    assert "scriptschema: out/b.pb: " in run("repair", "out", "-o", "repaired", status=1).stderr
    assert "scriptschema: out/b.pb: " in run("check", "out", status=1).stderr


def test_an_error_in_the_module_names_the_module() -> None:
    write("module0.luau", "return return")
    write("a.luau", 'local m = require("./module0")')
    assert "scriptschema: module0.luau:1:8: " in run("parse", "a.luau", status=1).stderr


def test_a_tree_too_deep_to_write_is_an_error_and_leaves_no_file() -> None:
    write("deep.luau", "x = " + "{" * 200 + "}" * 200)
    result = run("parse", "deep.luau", "-o", "deep.pb", status=1)
    assert "scriptschema: deep.luau: " in result.stderr
    assert "100" in result.stderr
    assert not Path("deep.pb").exists()


def test_a_missing_file_is_an_error_and_not_a_traceback() -> None:
    for name in ("render", "check", "repair"):
        assert "scriptschema: none.pb: " in run(name, "none.pb", status=2).stderr
    assert "scriptschema: none.luau: " in run("parse", "none.luau", status=2).stderr
    write("a.luau", "mine()")
    write("file", "")
    result = run("parse", "a.luau", "-o", "a.pb", "--save-names", "file/n.json", status=1)
    assert "scriptschema: file/n.json: " in result.stderr


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["render"], "Missing argument"),
        (["render", "a.pb", "b.pb"], "several inputs can only be written to a folder:"),
        (["render", "a.pb", "--names", "none.json"], "does not exist"),
        (["render", "a.pb", "--names", "wrong.json"], "unknown table of names 'no'"),
        (["render", "a.pb", "--from", "xml"], "is not one of"),
        (["repair", "a.pb", "--to", "luau"], "is not one of"),
        (["parse", "a.luau", "--save-names", "names.toml"], "use the name names.json"),
        (["generate", "--format", "luau"], "add --programs"),
        (["generate", "--programs", "--message", "Expr"], "generates ModuleSets, not Expr"),
        (["generate", "--repaired", "--message", "Expr"], "generates ModuleSets, not Expr"),
        (
            ["generate", "--programs", "--repaired"],
            "--programs, --repaired and --broken cannot be combined",
        ),
        (["generate", "--repaired", "--types", "none"], "require --programs"),
        (["generate", "--programs", "--wrong", "2"], "range"),
        (["generate", "--programs", "--types", "good"], "'none', 'random', 'sound'"),
        (["generate", "--programs", "--weights", "wrong.toml"], "did you mean 'counter'"),
        (
            ["generate", "--programs", "--format", "luau", "-n", "3"],
            "several sources can only be written to a folder:",
        ),
        (
            ["generate", "--programs", "--format", "luau", "-o", "a.pbstream"],
            "can only be written to a folder",
        ),
        (["generate", "--programs", "--style", "1"], "requires --format luau"),
        (["generate", "--programs", "--format", "luau", "--style", "x"], "plain or a seed"),
        (["generate", "--programs", "--format", "luau", "--style", "-1"], "plain or a seed"),
        (["render", "a.pb", "--style", "x"], "not a valid integer"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(args: list[str], error: str) -> None:
    for name in ("a.pb", "b.pb", "a.luau"):
        write(name, "")
    write("wrong.json", '{"no": []}')
    write("wrong.toml", "[idioms]\ncountr = 1")
    assert error in run(*args, status=2).stderr


PROBLEMS = """local x = 1
do break end
for i = 1, 2 do
  local function f() continue end
end
local function g(a, a) return a end
local function z() return ... end
if x then
  local y = { 1, [2] = function(b) return b, ... end }
end
"""


def test_check_says_line_and_column_of_each_problem_of_a_source() -> None:
    write("a.luau", PROBLEMS)
    done = run("check", "a.luau", status=1)
    places = [line.split(": ")[0] for line in done.stdout.splitlines()]
    assert places == ["a.luau:2:4", "a.luau:4:22", "a.luau:7:20", "a.luau:9:36"]
    assert "[loop]" in done.stdout
    write("b.luau", "local x = = 1")
    assert "b.luau:1:11: expected an expression" in run("check", "b.luau", status=1).stderr
    write("c.lua", "print(1)")
    assert run("check", "c.lua").stdout == ""
    write("d.luau", "const k = 1")
    run("check", "d.luau")
    assert "d.luau:1:" in run("check", "--luau", "0.677", "d.luau", status=1).stderr


def test_check_reads_a_source_from_standard_input() -> None:
    done = run("check", "-", stdin=PROBLEMS.encode(), status=1)
    assert done.stdout.startswith("standard input:2:4: ")
    assert run("check", "-", stdin=b"print(1)").stdout == ""
    assert run("check", "-", "--from", "text", stdin=b"program {}").stdout == ""


def test_check_of_a_source_reads_its_module() -> None:
    write("module0.luau", "return 1\n")
    write("with.luau", 'local m = require("./module0")\n')
    run("check", "with.luau")
    write("module0.luau", "local a = 1\ndo break end\nreturn a")
    assert "module0.luau:2:4: " in run("check", "with.luau", status=1).stdout
