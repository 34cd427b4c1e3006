"""`corpus import`, `export`, `distill`, `merge` and `diff`, as a person or a script uses them."""

import functools
import json
import operator
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import ok_here
from command import run_here as run
from components import needs
from waiting import is_alive, wait_until

from scriptschema import files, wire
from scriptschema.fuzzing.corpora import features
from scriptschema.generation.trees import generate
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.messages import ModuleSet


def said(*arguments: object, status: int = 0, stdin: bytes = b"") -> str:
    """Return a command's standard error. It must print nothing else."""
    done = run("corpus", *arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (status, b"")
    return done.stderr.decode()


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def trees_in(folder: Path) -> set[bytes]:
    return set(content(folder).values())


def make(folder: Path, seeds: range, size: int = 30) -> Path:
    """Create a folder of trees without a record of how it was made."""
    for seed in seeds:
        files.write(folder / f"{seed}.pb", wire.encode(generate(seed=seed, size=size)))
    return folder


def write_sources(folder: Path, *programs: str) -> Path:
    """Create a folder of the files a.luau, b.luau and so on."""
    for name, source in zip("abcd", programs, strict=False):
        files.write(folder / f"{name}.luau", source.encode())
    return folder


def features_of(trees: Iterable[bytes]) -> int:
    masks = (features.features_of(wire.scan(ModuleSet, data)) for data in trees)
    return functools.reduce(operator.or_, masks, 0)


def features_in(folder: Path) -> int:
    return features_of(trees_in(folder))


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A fuzzer's folder: trees in all formats without file endings, sources, a stream."""
    folder = tmp_path / "mixed"
    for seed in range(9):
        form = files.FORMATS[seed % 2]
        files.write(folder / f"a{seed}", files.serialize(generate(seed=seed, size=20), form))
    files.write(folder / "json" / "b.json", files.serialize(generate(seed=9, size=20), "json"))
    files.write(folder / "c.luau", b"return 1")
    stream = b"".join(files.delimited(wire.encode(generate(seed=n, size=20))) for n in (0, 10))
    files.write(folder / "d.pbstream", stream)
    return folder


# Import


def test_import_takes_every_format_and_no_tree_twice(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = content(mixed)
    assert said("import", mixed, "-o", out) == "12 new trees, 1 already present\n"
    wanted = {wire.encode(generate(seed=seed, size=20)) for seed in range(11)}
    assert trees_in(out) == wanted | {wire.encode(parse("return 1").tree)}
    assert content(mixed) == before


def test_import_again_reads_only_what_is_new_or_changed(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said("import", mixed, "-o", out)
    made = {path: path.stat().st_mtime_ns for path in out.glob("*.pb")}
    assert (
        said("import", mixed, "-o", out)
        == "0 new trees, 0 already present; 12 files imported earlier\n"
    )
    (mixed / "new.luau").write_text("return {}")
    (mixed / "c.luau").write_text("return 1, nil")
    assert said("import", mixed, "-o", out).startswith("2 new trees, 0 already present; 11 files")
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_import_tells_what_cannot_be_read_continues_and_tells_it_again(
    mixed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (mixed / "broken.pb").write_bytes(b"\x12\x05ab")
    for _ in range(2):
        output = said("import", mixed, "-o", out, status=1).splitlines()
        assert output[0].startswith(f"scriptschema: {mixed}/broken.pb: byte 1")
        assert len(output) == 2
    assert len(trees_in(out)) == 12


def test_import_reads_standard_input_and_what_a_message_is(tmp_path: Path) -> None:
    data = ok_here("generate", "-n", 5, "--message", "Expr")
    out = tmp_path / "out"
    options = ("--message", "Expr", "--delimited", "-", "-o", out)
    assert said("import", *options, stdin=data).startswith("5 new trees")
    assert said("import", *options, stdin=data) == "0 new trees, 5 already present\n"
    output = said("import", "--message", "Expr", "--from", "luau", "-", "-o", out, status=1)
    assert output.startswith(
        "scriptschema: standard input: sources can only be read as ModuleSets, not as Expr\n"
    )


def test_import_drops_unknown_fields_when_asked(tmp_path: Path) -> None:
    data = wire.encode(generate(seed=1))
    (tmp_path / "a.pb").write_bytes(data + b"\x98\x06\x01")
    output = said("import", tmp_path / "a.pb", "-o", tmp_path / "out", status=1)
    assert "unknown field 99" in output
    said("import", "--drop-unknown", tmp_path / "a.pb", "-o", tmp_path / "out")
    assert trees_in(tmp_path / "out") == {data}


@pytest.mark.parametrize("command", ["import", "export", "distill", "merge"])
def test_no_command_writes_into_what_it_reads(command: str, tmp_path: Path) -> None:
    make(tmp_path / "corpus", range(2))
    for out in ("corpus", "corpus/inside", "corpus/../corpus/inside"):
        done = run("corpus", command, tmp_path / "corpus", "-o", tmp_path / out)
        assert done.returncode == 2
        assert b"which is an input: choose another folder" in done.stderr
    assert sorted(content(tmp_path / "corpus")) == ["0.pb", "1.pb"]


@pytest.mark.parametrize("command", ["import", "export", "distill", "merge"])
@pytest.mark.parametrize("out", ["out", "out.pbstream"])
def test_what_cannot_be_read_is_reported_and_the_rest_is_done(
    command: str, out: str, tmp_path: Path
) -> None:
    corpus = make(tmp_path / "corpus", range(2))
    (corpus / "broken.pb").write_bytes(b"\x12")
    (corpus / "round").symlink_to(corpus)
    output = said(command, corpus, "-o", tmp_path / out, status=1).splitlines()
    assert output[:2] == [
        f"scriptschema: {corpus}/broken.pb: byte 1, program: the value is truncated",
        f"scriptschema: {corpus}/round: a link to a folder, which is not followed",
    ]
    assert len(output) == 3
    assert "2 trees" in output[2] or "2 new trees" in output[2]


@pytest.mark.parametrize("command", ["import", "export", "distill", "merge"])
def test_a_folder_that_cannot_be_written_is_reported(command: str, tmp_path: Path) -> None:
    make(tmp_path / "corpus", range(2))
    (tmp_path / "file").write_bytes(b"")
    for out, reason in (
        ("file", "Not a directory"),
        ("lost/out", "does not exist: create it first"),
    ):
        done = run("corpus", command, tmp_path / "corpus", "-o", tmp_path / out)
        assert done.returncode == 2
        assert reason in " ".join(done.stderr.decode().split())
    assert not (tmp_path / "lost").exists()


def interrupted(*arguments: object, until: Path, files_there: int = 0) -> subprocess.Popen[bytes]:
    """Start a command, and interrupt it when a file, or a number of files in a folder, exists."""
    process = subprocess.Popen(
        [sys.executable, "-m", "scriptschema", "corpus", *map(str, arguments)],
        stderr=subprocess.PIPE,
    )
    while process.poll() is None:
        there = sum(1 for _ in until.iterdir()) if until.is_dir() else until.is_file()
        if there > files_there:
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.005)
    return process


def test_an_interrupted_import_continues_where_it_was(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for seed in range(1500):
        text = files.serialize(generate(seed=seed, size=10), "text")
        (source / f"{seed}").write_bytes(text)
    before = sorted(source.iterdir())
    out = tmp_path / "out"
    process = interrupted("import", source, "-o", out, until=out, files_there=100)
    _, output = process.communicate()
    assert process.returncode == 130
    assert output == b"interrupted: to continue, run the same command again\n"
    assert not [path.name for path in out.glob(".*") if path.name != ".imported"]
    text = said("import", source, "-o", out)
    again = int(text.partition("; ")[2].partition(" ")[0].replace(",", ""))
    assert again >= 80  # all that was done then was not done again
    said("import", source, "-o", tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")
    assert sorted(source.iterdir()) == before


# Export


@pytest.mark.parametrize("form", files.FORMATS)
def test_export_writes_each_tree_in_another_format(form: files.Format, tmp_path: Path) -> None:
    corpus = make(tmp_path / "corpus", range(5))
    out = tmp_path / "out"
    if form == "json":  # which holds no strings that are not UTF-8
        corpus = make(tmp_path / "other", range(5), size=3)
    assert said("export", corpus, "--to", form, "-o", out) == "5 trees, 0 already present\n"
    [ending] = (ending for ending, name in files.ENDINGS.items() if name == form)
    assert sorted(content(out)) == [f"{n}{ending}" for n in range(5)]
    said("import", out, "-o", tmp_path / "back")
    assert trees_in(tmp_path / "back") == trees_in(corpus)


def test_export_to_sources_writes_programs_with_their_modules(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    trees = {
        "a": parse("return 1").tree,
        "b": parse("return require('./module0')", module="return 2").tree,
    }
    for name, tree in trees.items():
        files.write(corpus / f"{name}.pb", wire.encode(tree))
    out = tmp_path / "out"
    assert said("export", corpus, "--to", "luau", "-o", out).startswith("2 trees")
    assert sorted(content(out)) == ["a.luau", "b/module0.luau", "b/program.luau"]
    assert (out / "a.luau").read_text() == render(trees["a"])
    assert said("export", corpus, "--to", "luau", "-o", out) == "0 trees, 2 already present\n"
    said("import", out, "-o", tmp_path / "back")
    back = [wire.decode(ModuleSet, data) for data in trees_in(tmp_path / "back")]
    assert {render(tree) for tree in back} == {render(tree) for tree in trees.values()}


def test_export_writes_what_is_missing_and_keeps_the_rest(tmp_path: Path) -> None:
    corpus = make(tmp_path / "corpus", range(5))
    out = tmp_path / "out"
    out.mkdir()
    (out / "3.textproto").write_text("mine")
    assert said("export", corpus, "--to", "text", "-o", out) == "4 trees, 1 already present\n"
    assert (out / "3.textproto").read_text() == "mine"


def test_export_makes_streams_and_numbers_what_comes_from_them(tmp_path: Path) -> None:
    corpus = make(tmp_path / "corpus", range(3))
    stream = tmp_path / "all.pbstream"
    said("export", corpus, "-o", stream)
    with stream.open("rb") as file:
        assert {data for _, data in files.read_delimited(file)} == trees_in(corpus)
    said("export", stream, "-o", tmp_path / "out")
    assert sorted(content(tmp_path / "out")) == ["all-0.pb", "all-1.pb", "all-2.pb"]
    assert said("export", stream, "-o", tmp_path / "out") == "0 trees, 3 already present\n"


def test_export_tells_what_a_format_cannot_hold_and_names_that_meet(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    files.write(corpus / "a.pb", wire.encode(parse('return "\\xff"').tree))
    files.write(corpus / "b.pb", wire.encode(parse("return 1").tree))
    files.write(corpus / "b.luau", b"return 2")
    files.write(corpus / "c.pb", b"\x12")
    output = said("export", corpus, "--to", "json", "-o", tmp_path / "out", status=1).splitlines()
    assert [line.partition(" ")[2].partition(": ")[0] for line in output[:3]] == [
        f"{corpus}/a.pb",
        f"{corpus}/b.pb and {corpus}/b.luau would both be written to {tmp_path}/out/b.json",
        f"{corpus}/c.pb",
    ]
    assert output[3:] == ["1 tree, 0 already present"]
    output = said("export", corpus, "-o", tmp_path / "a.pbstream", status=1)
    assert output.endswith("3 trees, 0 already present\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["--to", "luau", "--message", "Expr", "-o", "out"],
            b"sources can only be written for ModuleSets,",
        ),
        (["--to", "text", "-o", "a.pbstream"], b"a stream must contain trees in binary format"),
    ],
)
def test_export_refuses_what_cannot_be(
    arguments: list[str], reason: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("corpus", "export", "-", *arguments)
    assert done.returncode == 2
    assert reason in done.stderr
    assert list(tmp_path.iterdir()) == []


# Distill and merge


def test_distill_keeps_all_features_with_few_trees_in_whatever_order(tmp_path: Path) -> None:
    corpus = make(tmp_path / "corpus", range(120))
    output = said("distill", corpus, "-o", tmp_path / "a")
    assert output.startswith("120 trees, ")
    kept = trees_in(tmp_path / "a")
    assert len(kept) < 80
    assert kept < trees_in(corpus)
    assert features_in(tmp_path / "a") == features_in(corpus)
    for left_out in kept:
        assert features_of(kept - {left_out}) != features_in(corpus)
    shuffled = tmp_path / "shuffled"
    for number, data in enumerate(reversed(content(corpus).values())):
        files.write(shuffled / f"{number:03}.pb", data)
    said("distill", shuffled, "-o", tmp_path / "b")
    assert content(tmp_path / "b") == content(tmp_path / "a")
    assert len(content(corpus)) == 120


def test_distill_keeps_the_smallest_of_trees_equal_up_to_names_and_constants(
    tmp_path: Path,
) -> None:
    sources = ("return 1000, 'long'", "return 1, ''", "return 7, 'x'")
    corpus = write_sources(tmp_path / "corpus", *sources)
    output = said("distill", corpus, "-o", tmp_path / "out")
    assert output.startswith("3 trees, 1 shape, ")
    assert output.endswith(" -> 1 tree\n")
    assert trees_in(tmp_path / "out") == {wire.encode(parse("return 1, ''").tree)}


def test_distill_tells_what_is_in_the_folder_beside(tmp_path: Path) -> None:
    corpus = make(tmp_path / "corpus", range(3))
    out = make(tmp_path / "out", range(90, 92))
    output = said("distill", corpus, "-o", out)
    assert output.endswith(f"{out} also contains 2 older trees\n")
    assert {"90.pb", "91.pb"} < set(content(out))
    assert said("distill", corpus, "-o", out) == output  # and goes on, or ends, the same


def test_merge_adds_what_a_corpus_lacks_and_nothing_else(tmp_path: Path) -> None:
    first, second = make(tmp_path / "a", range(40)), make(tmp_path / "b", range(40, 80))
    out = tmp_path / "out"
    shutil.copytree(first, out)
    said("merge", second, "-o", out)
    assert features_in(out) == features_in(first) | features_in(second)
    added = trees_in(out) - trees_in(first)
    assert added < trees_in(second)
    assert 0 < len(added) < 40
    assert trees_in(first) <= trees_in(out)
    assert said("merge", second, "-o", out).endswith(" -> 0 trees\n")
    assert len(content(second)) == 40


COVERAGE = """
import re, sys
source = open(sys.argv[1]).read() if len(sys.argv) > 1 else sys.stdin.read()
open({log!r}, "a").write("run\\n")
if {fault!r} and {fault!r} in source:
    raise SystemExit
for word in re.findall(r"[a-z]+", source):
    print("edge", word)
sys.exit(3)
"""


def command_that_covers(tmp_path: Path, fault: str = "") -> tuple[str, Path]:
    """A command that reports each word of a source, and a file that counts its runs."""
    log = tmp_path / "log"
    script = tmp_path / "cover.py"
    script.write_text(COVERAGE.format(log=str(log), fault=fault))
    return f"{sys.executable} {script}", log


@pytest.mark.parametrize("argument", ["", " {}"])
def test_distill_keeps_all_that_a_command_reports(argument: str, tmp_path: Path) -> None:
    both = "while type do end while print do end"
    sources = ("while print do end", "while type do end", "repeat until print", both)
    corpus = write_sources(tmp_path / "corpus", *sources)
    command, log = command_that_covers(tmp_path)
    out = tmp_path / "out"
    output = said("distill", corpus, "-o", out, "--coverage", command + argument)
    # while print do end type repeat until
    assert output == "4 trees, 4 shapes, 7 features -> 2 trees\n"
    assert {render(wire.decode(ModuleSet, data)) for data in trees_in(out)} == {
        render(parse(source).tree) for source in (both, "repeat until print")
    }
    assert log.read_text() == "run\n" * 4
    assert [path.suffix for path in out.iterdir()] == [".pb", ".pb"]


def test_what_a_command_has_reported_is_not_asked_again(tmp_path: Path) -> None:
    sources = ("return type", "return print, nil", "while x do end")
    corpus = write_sources(tmp_path / "corpus", *sources)
    command, log = command_that_covers(tmp_path, fault="while")
    out = tmp_path / "out"
    output = said("distill", corpus, "-o", out, "--coverage", command, status=1)
    assert f": {sys.executable} printed nothing\n" in output
    assert log.read_text() == "run\n" * 3
    before = trees_in(out)
    said("distill", corpus, "-o", out, "--coverage", command, status=1)
    assert log.read_text() == "run\n" * 4  # the one that had no answer
    assert trees_in(out) == before
    said("distill", corpus, "-o", out, "--coverage", f"{command} {{}}", status=1)
    assert log.read_text() == "run\n" * 7  # another command


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "the command is empty"),
        ("'open", "cannot parse the command"),
        ("no-such-command", "No such file or directory"),
        ("cat {.png}", "unknown placeholder {.png}"),
    ],
)
def test_a_command_that_cannot_be_run_is_wrong_use(
    command: str, reason: str, tmp_path: Path
) -> None:
    corpus = make(tmp_path / "corpus", range(1))
    done = run("corpus", "distill", corpus, "-o", tmp_path / "out", "--coverage", command)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.decode().split())


def test_a_command_that_takes_too_long_is_reported_and_ended(tmp_path: Path) -> None:
    corpus = make(tmp_path / "corpus", range(1))
    options = ("--coverage", "sleep 60", "--timeout", "0.2")
    output = said("distill", corpus, "-o", tmp_path / "out", *options, status=1)
    assert "sleep took too long" in output


def test_ctrl_c_ends_the_command_and_keeps_what_it_has_reported(tmp_path: Path) -> None:
    corpus = write_sources(tmp_path / "corpus", "return 1", "while x do end")
    script, pid = tmp_path / "cover.py", tmp_path / "pid"
    script.write_text(
        "import os, sys, time\n"
        "print('edge')\n"
        "if 'while' in sys.stdin.read():\n"
        "    time.sleep(1)\n"  # on a busy machine, its parent may still be in Popen
        f"    open({str(script)!r}, 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(script)!r}, {str(pid)!r})\n"
        "    time.sleep(600)\n"
    )
    out = tmp_path / "out"
    options = ("--coverage", f"{sys.executable} {script}", "--timeout", 600)
    process = interrupted("distill", corpus, "-o", out, *options, until=pid)
    _, output = process.communicate()
    assert process.returncode == 130
    assert output == b"interrupted: to continue, run the same command again\n"
    assert len((out / ".covered").read_bytes().splitlines()) == 1
    wait_until(lambda: not is_alive(int(pid.read_text())))


@needs("afl-showmap")
@needs("afl-clang-fast")
def test_distill_keeps_the_edges_of_afl_showmap(tmp_path: Path) -> None:
    (tmp_path / "target.c").write_text(
        "#include <stdio.h>\\n#include <string.h>\\nint main(void) { char text[999] = {0};"
        'fread(text, 1, 998, stdin); if (strstr(text, "while")) puts("a");'
        'if (strstr(text, "repeat")) puts("b"); return 0; }'.replace("\\n", "\n")
    )
    subprocess.run(
        ["afl-clang-fast", "-o", tmp_path / "target", tmp_path / "target.c"],
        check=True,
        capture_output=True,
    )
    loops = ("while x do end", "repeat until x")
    corpus = write_sources(tmp_path / "corpus", *loops, " ".join(loops), "return 1")
    command = f"afl-showmap -q -e -o /dev/stdout -- {tmp_path / 'target'}"
    said("distill", corpus, "-o", tmp_path / "out", "--coverage", command)
    kept = {render(wire.decode(ModuleSet, data)) for data in trees_in(tmp_path / "out")}
    assert any("while" in source for source in kept)
    assert any("repeat" in source for source in kept)
    assert len(kept) < 4


# Diff


def test_diff_shows_what_each_corpus_has_alone(tmp_path: Path) -> None:
    one = write_sources(tmp_path / "one", "while math.floor(1) do end", "while print do end")
    two = write_sources(tmp_path / "two", "repeat until print")
    found = json.loads(ok_here("corpus", "diff", one, two, "--json"))
    alone = found["one"]["alone"]
    assert alone["StatBlock.body: StatWhile"] == 2
    assert alone["math.floor"] == 1
    assert "StatBlock.body: StatRepeat" in found["two"]["alone"]
    assert not alone.keys() & found["two"]["alone"].keys()
    assert "print" not in alone
    assert found["both"] > 0
    assert (found["one"]["sizes"]["trees"], found["two"]["sizes"]["trees"]) == (2, 1)
    shown = ok_here("corpus", "diff", one, two).decode()
    assert f"Only in {one}, not in {two}: {len(alone)} features" in shown
    assert "math.floor" in shown
    assert "median" in shown
    same = ok_here("corpus", "diff", one, one).decode()
    assert same.count(": 0 features") == 2


def test_diff_draws_both(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one", range(5)), make(tmp_path / "two", range(5, 20), size=200)
    (tmp_path / "none").mkdir()
    for other in (two, tmp_path / "none"):
        for name in ("a.svg", "b.svg"):
            ok_here("corpus", "diff", one, other, "--plot", tmp_path / name)
        chart = (tmp_path / "a.svg").read_bytes()
        ElementTree.fromstring(chart)
        assert b"features only in" in chart
        assert chart == (tmp_path / "b.svg").read_bytes()


def test_diff_tells_what_cannot_be_read(tmp_path: Path) -> None:
    one = make(tmp_path / "one", range(2))
    files.write(one / "broken.pb", b"\x12")
    done = run("corpus", "diff", one, one)
    assert done.returncode == 1
    message = f"scriptschema: {one}/broken.pb: byte 1, program: the value is truncated"
    assert done.stderr.decode().splitlines() == [message] * 2
    assert b"2 trees" in done.stdout


TODAY = """
@native
local function f(x: number): number return x // 0.5 end
const k, big = 1.5, 5i
local t: {read a: number} = {a = f(k) :: any}
export type function g(x) return x end
k //= 2
"""


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A folder with a source in today's Luau, and its tree in text format."""
    folder = tmp_path / "newer"
    files.write(folder / "a.luau", TODAY.encode())
    tree = parse("return integer.add(1i, 2i)", luau="today").tree
    files.write(folder / "b.textproto", files.serialize(tree, "text", "today"))
    return folder


def test_a_corpus_of_todays_luau_loses_nothing_on_its_way(newer: Path, tmp_path: Path) -> None:
    assert said("import", newer, "--luau", "today", "-o", tmp_path / "c") == (
        "2 new trees, 0 already present\n"
    )
    said("export", tmp_path / "c", "--luau", "today", "--to", "luau", "-o", tmp_path / "sources")
    exported = b" ".join(content(tmp_path / "sources").values())
    for text in (b"@native", b"// 0.5", b"const ", b"5i", b":: any", b"read ", b"type function"):
        assert text in exported
    said("distill", tmp_path / "c", "--luau", "today", "-o", tmp_path / "d")
    assert trees_in(tmp_path / "d") == trees_in(tmp_path / "c")
    again = said("merge", newer, "--luau", "today", "-o", tmp_path / "d")
    assert "2 trees, 2 shapes" in again
    assert "-> 0 trees" in again
    stats = json.loads(ok_here("corpus", "stats", tmp_path / "c", "--luau", "today", "--json"))
    assert stats["messages"]["ExprConstantInteger"] == 3
    assert stats["fields"]["ExprFunction.attributes"] == 1
    assert "StatClass" in stats["never"]["messages"]
    printed = ok_here("corpus", "stats", tmp_path / "c", "--luau", "today").decode()
    assert "ExprConstantInteger" in printed
    both = (newer / "a.luau", newer / "b.textproto")
    diff = json.loads(ok_here("corpus", "diff", *both, "--luau", "today", "--json"))
    assert "integer.add" in diff["two"]["alone"]
    assert "ExprFunction.attributes" in diff["one"]["alone"]
    command = f"{sys.executable} -c 'import sys; print(sys.stdin.read())'"
    options = ("--luau", "today", "-o", tmp_path / "e", "--coverage", command)
    covered = said("distill", tmp_path / "c", *options)
    assert "2 trees, 2 shapes" in covered


def test_what_the_schema_lacks_is_reported_and_never_lost_in_silence(
    newer: Path, tmp_path: Path
) -> None:
    (newer / "c.luau").write_text("local x = 0.5")
    (newer / "d.luau").write_text("--!strict\nlocal x = 5 -- a comment is no loss")
    output = said("import", newer, "-o", tmp_path / "c", status=1)
    assert "1 source with syntax that the schema lacks: use `--luau today` to keep it" in output
    assert "integer" in output
    assert "b.textproto" in output
    older = said("import", newer, "--luau", "0.700", "-o", tmp_path / "d", status=1)
    assert "0.711" in older


def test_a_message_of_a_newer_luau_is_found_where_it_is_requested(tmp_path: Path) -> None:
    (tmp_path / "a.textproto").write_text("val: 5")
    cast = ("stats", tmp_path, "--message", "ExprConstantInteger")
    output = said(*cast, status=2)
    assert "ExprConstantInteger is a message for a newer version of Luau: use" in output
    assert b"1 tree, 1 node" in ok_here("corpus", *cast, "--luau", "0.715")


def test_a_file_is_imported_again_for_another_version(tmp_path: Path) -> None:
    files.write(tmp_path / "in" / "a.luau", b"local x = 0.5")
    said("import", tmp_path / "in", "-o", tmp_path / "c")
    output = said("import", tmp_path / "in", "--luau", "today", "-o", tmp_path / "c")
    assert output == "1 new tree, 0 already present\n"
    assert "1 file imported earlier" in said(
        "import", tmp_path / "in", "--luau", "today", "-o", tmp_path / "c"
    )
