"""The command line end to end, as a person would use it, also with broken input."""

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command import ok, ok_here, on_a_terminal, run, run_here

from scriptschema import files, interop, walk, wire
from scriptschema.commands.main import main
from scriptschema.generation.trees import generate
from scriptschema.messages import Local, ModuleSet

EXAMPLE = Path(__file__).parents[3] / "examples" / "fibonacci.textproto"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree.pb"
    path.write_bytes(wire.encode(generate(seed=1, size=50)))
    return path


def test_schema_prints_the_proto_file_or_the_descriptors() -> None:
    assert ok("schema").decode() == interop.proto_source()
    assert ok("schema", "--descriptor-set") == interop.file_descriptor_set()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "binary", "json"])
def test_the_shipped_example_comes_back_the_same_through_every_format(
    form: str, tmp_path: Path
) -> None:
    there = ok("convert", EXAMPLE, "--to", form)
    back = ok("convert", "-", "--from", form, "--to", "binary", stdin=there)
    assert back == ok("convert", EXAMPLE, "--to", "binary")


def test_show_prints_the_tree_and_its_totals(tmp_path: Path) -> None:
    lines = ok("show", EXAMPLE).decode().splitlines()
    assert lines[0] == "ModuleSet"
    assert "            └── body StatBlock" in lines
    assert "                │   ├── cond.binary ExprBinary op=CompareLt" in lines
    assert lines[-1] == "51 nodes, depth 16, 139 bytes"


def test_show_tells_what_is_not_set_and_escapes_what_a_terminal_would_obey() -> None:
    text = 'module { body { } } program { body { return { list { string { val: "\\033[2J" } } } } }'
    shown = ok("show", "-", "--from", "text", stdin=text.encode()).decode()
    assert "body[0] Stat stat_oneof=nothing set" in shown
    assert r"list[0].string ExprConstantString val='\x1b[2J'" in shown


def test_show_has_colours_on_a_terminal_only(tree: Path) -> None:
    assert b"\x1b[" not in ok("show", tree)
    status, output = on_a_terminal("show", tree, stream="stdout")
    assert status == 0
    assert b"\x1b[" in output
    nodes = sum(1 for _ in walk(files.read(ModuleSet, tree)))
    assert f"{nodes} nodes".encode() in output


def test_messages_other_than_programs_are_read_by_name(tmp_path: Path) -> None:
    assert ok("convert", "-", "--message", "Local", "--from", "text", "--to", "binary",
              stdin=b"name: 5") == b"\x08\x05"  # fmt: skip
    done = run("show", "-", "--message", "Locla", "--from", "text")
    assert done.returncode == 2
    assert b"unknown message 'Locla'; did you mean Local?" in done.stderr
    done = run("show", "-", "--message", "xyz", "--from", "text")
    assert b"unknown message 'xyz'; `scriptschema schema` lists the messages" in done.stderr


def test_one_bad_file_among_many_is_reported_and_the_rest_is_done(
    tmp_path: Path, tree: Path
) -> None:
    (tmp_path / "bad.pb").write_bytes(b"\x12\x05")
    done = run("convert", tree, tmp_path / "bad.pb", "--to", "json", "-o", tmp_path / "out")
    assert done.returncode == 1
    message = f"{tmp_path}/bad.pb: byte 1, program: length 5 exceeds the remaining 0 bytes"
    assert done.stderr.decode() == f"scriptschema: {message}\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tree.json"]


def test_a_folder_stands_for_all_files_below_it(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "deep").mkdir(parents=True)
    for name in ("0a1b", "deep/2c3d"):
        (corpus / name).write_bytes(wire.encode(generate(seed=1, size=9)))
    ok("convert", corpus, "--from", "binary", "--to", "text", "-o", tmp_path / "out")
    made = sorted(
        str(p.relative_to(tmp_path)) for p in (tmp_path / "out").rglob("*") if p.is_file()
    )
    assert made == ["out/0a1b.textproto", "out/deep/2c3d.textproto"]


def test_a_folder_of_one_file_becomes_a_folder_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    for name in ("one", ".git/two", ".three"):
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_bytes(b"\x12\x00")
    ok("convert", corpus, "--from", "binary", "--to", "text", "-o", tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").rglob("*")] == ["one.textproto"]


@pytest.mark.parametrize(
    "arguments", [["schema"], ["show", EXAMPLE], ["convert", EXAMPLE, "--to", "json"]]
)
def test_a_full_disk_behind_standard_output_is_an_error_in_words(arguments: list[object]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "scriptschema", *map(str, arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"scriptschema: ")
    assert done.stderr.endswith(b"No space left on device\n")
    assert done.stderr.count(b"\n") == 1


def test_show_draws_plain_lines_where_the_encoding_has_no_others() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scriptschema", "show", EXAMPLE],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"`-- " in done.stdout
    assert done.stdout.isascii()


def test_unknown_fields_are_an_error_unless_they_are_to_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "local.pb"
    path.write_bytes(bytes.fromhex("08051005"))
    arguments = ("convert", path, "--message", "Local", "--to", "text")
    done = run(*arguments)
    assert done.returncode == 1
    assert done.stderr.decode() == f"scriptschema: {path}: byte 2: Local: unknown field 2\n"
    assert ok(*arguments, "--drop-unknown") == b"name: 5\n"
    json = (*arguments[:1], "-", "--from", "json", *arguments[2:])
    assert run(*json, stdin=b'{"name": 5, "x": 1}').returncode == 1
    assert ok(*json, "--drop-unknown", stdin=b'{"name": 5, "x": 1}') == b"name: 5\n"


WRONG = [
    (["convert"], "Missing argument 'INPUT...'"),
    (["convert", "a.pb"], "Missing option '--to'"),
    (["convert", "a.pb", "--to", "xml"], "'xml' is not one of 'binary', 'text', 'json'"),
    (
        ["convert", "a.pb", "b.pb", "--to", "text"],
        "several inputs can only be written to a folder: use",
    ),
    (["convert", "a.pb", "a.json", "--to", "text", "-o", "out"], "would both be written to out/a."),
    (["convert", "a.pb", "b.pb", "--to", "text", "-o", str(EXAMPLE)], "and this is a file"),
    (["shwo", "a.pb"], "scriptschema: unknown command shwo: did you mean show?\n"),
    (["show", "a.pb", "--form", "text"], "scriptschema: No such option"),
    (["show", "a.pb", "--form", "text"], "Try 'scriptschema show --help' for help.\n"),
]


@pytest.mark.parametrize(("arguments", "text"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_usage_ends_with_status_2_and_says_why(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.pb", "b.pb", "a.json"):
        (tmp_path / name).write_bytes(b"")
    done = run(*arguments)
    assert done.returncode == 2
    assert text in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize("group", [[], ["corpus"]])
def test_a_group_without_a_command_prints_its_help_and_not_an_error(group: list[str]) -> None:
    done = run(*group)
    assert done.returncode == 2
    assert done.stderr == ok(*group, "--help")


@pytest.mark.parametrize(
    "arguments",
    [
        ["reduce", "a.luau", "--test", "true", "--timeout", "nan"],
        ["corpus", "distill", "in", "-o", "out", "--timeout", "nan"],
        ["fuzz", "--broken", "nan"],
        ["fuzz", "--compiled", "nan"],
        ["fuzz", "--timeout", "nan"],
        ["generate", "--programs", "--wrong", "nan"],
    ],
    ids=" ".join,
)
def test_nan_is_refused_where_a_number_is_expected(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.luau").touch()
    Path("in").mkdir()
    done = run_here(*arguments)
    assert done.returncode == 2
    assert b"'nan' is not a number" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", ""],
        ["corpus", "import", "", "-o", "out"],
        ["corpus", "import", "in", "-o", ""],
        ["fuzz", "-o", ""],
        ["report", "", "-o", "report.html"],
        ["reproduce", ""],
    ],
    ids=" ".join,
)
def test_an_empty_name_is_not_the_current_folder(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here(*arguments)
    assert done.returncode == 2
    assert b"perhaps a shell variable is not set" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_ending_that_tells_nothing_asks_for_the_flag(tmp_path: Path) -> None:
    path = tmp_path / "tree.bin"
    path.write_bytes(b"\x12\x00")
    done = run("show", path)
    assert done.returncode == 1
    assert f"{path}: unknown suffix (known: .pb (binary)" in (done.stderr.decode())
    assert "use --from" in done.stderr.decode()
    assert ok("show", path, "--from", "binary").startswith(b"ModuleSet\n")
    done = run("show", "-", stdin=b"\x12\x00")
    assert b"standard input: use --from to give the format" in done.stderr
    done = run("show", tmp_path)
    assert done.stderr.decode() == f"scriptschema: {tmp_path}: Is a directory\n"


def test_binary_never_goes_to_a_terminal(tree: Path) -> None:
    for arguments in (["schema", "--descriptor-set"], ["convert", tree, "--to", "binary"]):
        status, output = on_a_terminal(*arguments, stream="stdout")
        assert (status, output) == (2, b"")


def test_a_json_that_cannot_hold_a_string_is_reported(tmp_path: Path) -> None:
    done = run("convert", "-", "--from", "text", "--to", "json", "--message", "ExprConstantString",
               stdin=b'val: "\\377"')  # fmt: skip
    assert done.returncode == 1
    assert b"scriptschema: standard input: val: the string is not valid UTF-8" in done.stderr


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "tree.pb"
    target.write_bytes(b"old")
    target.chmod(0o640)

    def interrupted() -> None:
        with files.replacing(target) as file:
            file.write(b"half of the ne")
            file.flush()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]
    files.write(target, b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_that_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "new" / "tree.pb", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / "tree.pb").stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
        files.write(fifo, b"new")
        assert reader.communicate()[0] == b"new"
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(files.FileError, match=r"/file/tree.pb: .*/file is not a folder"):
        files.write(tmp_path / "file" / "tree.pb", b"new")


def test_reading_and_writing_from_python(tmp_path: Path) -> None:
    for ending in files.ENDINGS:
        path = tmp_path / f"local{ending}"
        files.write(path, files.serialize(Local(name=3), files.format_of(path)))
        assert files.read(Local, path) == Local(name=3)
    assert files.read(ModuleSet, EXAMPLE).module is None


def test_help_says_what_each_command_is_for() -> None:
    text = ok("--help").decode()
    for command in ("schema", "convert", "show"):
        assert f"  {command} " in text
        assert "Usage: scriptschema" in ok(command, "--help").decode()
    assert ok("--version").startswith(b"scriptschema, version ")


def test_many_files_show_a_bar_on_a_terminal_only(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.pb").write_bytes(b"\x12\x00")
    arguments = ("convert", tmp_path, "--from", "binary", "--to", "text", "-o")
    assert run(*arguments, tmp_path.parent / "out1").stderr == b""
    status, output = on_a_terminal(*arguments, tmp_path.parent / "out2", stream="stderr")
    assert status == 0
    assert b"converting" in output


@pytest.mark.parametrize("name", ["show", "check", "corpus stats", "render", "repair"])
def test_a_file_that_is_not_there_is_said_to_be_so_whatever_it_is_called(name: str) -> None:
    done = run_here(*name.split(), "nothing")
    assert done.returncode == 2
    assert done.stderr == b"scriptschema: nothing: No such file or directory\n"


@pytest.mark.parametrize(
    "arguments", [["convert", "--to", "json"], ["check"], ["render"], ["repair"], ["parse"]]
)
def test_a_folder_with_nothing_in_it_is_no_success(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run_here(*arguments, tmp_path / "empty")
    assert (done.returncode, done.stdout) == (1, b"")
    assert (
        done.stderr
        == b"scriptschema: nothing to read: the folder contains no files that this command reads\n"
    )


def test_files_in_a_folder_that_are_no_trees_are_skipped_and_said_to_be_once(
    tmp_path: Path,
) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    for name in ("a.luau", "b.luau", "notes"):
        (tmp_path / name).write_text("return 1")
    message = (
        b"skipped 3 files whose suffix does not indicate a tree (.luau, none): "
        b"use --from to read trees, and `scriptschema parse` to read sources\n"
    )
    for arguments in (["render"], ["convert", "--to", "json", "-o", tmp_path / "out"]):
        done = run_here(*arguments, tmp_path)
        assert (done.returncode, done.stderr) == (0, message)
    (tmp_path / "b.luau").write_text("return nope(")
    done = run_here("check", tmp_path)  # which checks sources, too
    assert done.returncode == 1
    assert b"skipped 1 file whose" in done.stderr
    assert b"b.luau:1:13:" in done.stderr + done.stdout
    (tmp_path / "b.luau").write_text("return 1")
    assert b"5 trees" in ok_here("corpus", "stats", tmp_path)  # which reads sources, too


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", EXAMPLE, "--to", "json", "-o", "lost/a.json"],
        ["convert", EXAMPLE, "--to", "json", "-o", "lost/out/"],
        ["generate", "-o", "lost/a.pb"],
        ["generate", "-n", "2", "-o", "lost/out/"],
        ["generate", "-n", "2", "-o", "lost/a.pbstream"],
        ["corpus", "stats", EXAMPLE, "--plot", "lost/a.svg"],
    ],
    ids=str,
)
def test_a_folder_that_is_not_there_is_not_made_because_of_a_typo(
    arguments: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here(*arguments)
    assert done.returncode in (1, 2)
    assert b": the folder lost does not exist: create it first" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(
    "command",
    ["schema", "--help", "show {EXAMPLE}", "show --from text -", "check nothing", "generate -n 2"],
)
def test_closed_standard_streams_end_in_an_error_or_do_not_matter(
    closed: str, command: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        f"{sys.executable} -m scriptschema {command.format(EXAMPLE=EXAMPLE)} {closed}",
        shell=True,
        input=b"program {}",
        capture_output=True,
        check=False,
    )
    reads = command.endswith("-")
    fails = "nothing" in command or (reads if "<" in closed else False) or ">&-" in closed.split()
    assert bool(done.returncode) == fails
    assert b"Traceback" not in done.stderr
    assert bool(done.stderr) == (fails and "2>" not in closed)


def test_one_tree_is_not_called_trees(tmp_path: Path) -> None:
    (tmp_path / "nil.pb").write_bytes(b"")
    options = ("--message", "ExprConstantNil", tmp_path / "nil.pb")
    assert b"\n1 node, depth 0, 0 bytes\n" in ok_here("show", *options)
    assert b"1 tree, 1 node, 0 bytes\n" in ok_here("corpus", "stats", *options)


def test_the_command_line_works_outside_the_main_thread(capsys: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor() as threads, pytest.raises(SystemExit) as ended:
        threads.submit(main, ["--version"]).result()
    assert ended.value.code == 0
    assert "scriptschema" in capsys.readouterr().out


@pytest.mark.parametrize(
    "prepared",
    [
        "import atexit; atexit.register(print, 'at the end')",
        "import threading; threading.Timer(0.5, print, ['at the end']).start()",
    ],
)
def test_the_process_ends_after_its_threads_and_what_is_registered_for_its_end(
    prepared: str,
) -> None:
    code = f"{prepared}; from scriptschema.commands.main import run; run()"
    for argument, status in (("--version", 0), ("--unknown", 2)):
        done = subprocess.run(
            [sys.executable, "-c", code, argument], capture_output=True, text=True, check=False
        )
        assert done.returncode == status
        assert "at the end" in done.stdout.splitlines()


def test_a_profile_of_a_command_is_written(tmp_path: Path) -> None:
    path = tmp_path / "profile"
    command = ["cProfile", "-o", str(path), "-m", "scriptschema", "--version"]
    subprocess.run([sys.executable, "-m", *command], capture_output=True, check=True)
    assert path.stat().st_size
