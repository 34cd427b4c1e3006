"""Properties that all commands of `orgrest` share. `scriptschema` has the same test."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from command_tree import commands
from servers import RawServer, by_path, echo

from orgrest.commands.main import program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULES = {"--version": 85, "--help": 112}
"""The most modules that may be imported; click itself needs 57."""

COMMANDS = [("orgrest", program), *commands(program, "orgrest")]


@pytest.fixture
def server() -> Iterator[RawServer]:
    with RawServer(by_path({"/": echo})) as running:
        yield running


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


EACH = pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])


@pytest.mark.parametrize(("path", "command"), COMMANDS[1:], ids=[path for path, _ in COMMANDS[1:]])
def test_a_user_sees_the_whole_summary_of_a_command_on_a_line(
    orgrest, path: str, command: click.Command
) -> None:
    output = orgrest(*path.split()[1:-1], "--help").out
    summary = command.get_short_help_str(1000)
    assert f"  {path.split()[-1]}  " in output
    assert f"  {summary}\n" in output
    assert summary.endswith(".")


@EACH
def test_a_user_can_copy_an_example_of_a_command(path: str, command: click.Command) -> None:
    examples = re.findall(r"^ *(?:.*[|(] *)?orgrest\b.*", command.help or "", re.MULTILINE)
    assert 1 <= len([example for example in examples if path in example]) <= 3
    assert "python -m" not in (command.help or "")


@EACH
def test_jobs_can_be_abbreviated_wherever_they_can_be_said(
    path: str, command: click.Command
) -> None:
    for option in command.params:
        assert ("--jobs" in option.opts) == ("-j" in option.opts)
        if "--json" in option.opts:  # prints JSON on standard output, and takes no value
            assert isinstance(option, click.Option)
            assert option.is_flag


@pytest.mark.parametrize("argument", MODULES)
def test_nobody_waits_for_modules_that_argument_parsing_does_not_need(argument: str) -> None:
    code = (
        "import sys\nfrom orgrest.commands.main import main\n"
        "try: main()\nfinally: print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, argument], capture_output=True, text=True, check=True
    )
    found = done.stderr.split()
    assert not {"attrs", "rich", "urllib3", "orgrest.files", "orgrest.model"} & set(found)
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True
    )
    assert len(found) - len(bare.stdout.split()) <= MODULES[argument]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tset", "a.http"), "tset: No such file or directory; did you mean `orgrest test`?"),
        (("a.http", "tset"), "tset: No such file or directory"),
        (("a.http", "nothing.http"), "nothing.http: No such file or directory"),
        (("https://example.com/a b",), "echo 'GET https://example.com/a b' | orgrest"),
        (("a.http", "."), ". is a folder; to run the documents in it, use `orgrest test .`"),
        (("a.http", "--env", "dve"), "unknown environment dve; available: dev, prod"),
        (("test", "a.http", "--env", "dve"), "unknown environment dve; available: dev, prod"),
        (
            ("export", "a.http", "--to", "curl", "--env", "dve"),
            "unknown environment dve; available: dev, prod",
        ),
    ],
)
def test_nothing_is_sent_by_a_mistyped_command_line(
    orgrest, tmp_path: Path, server, words: tuple[str], message: str
) -> None:
    (tmp_path / "a.http").write_text(f"GET {server.url}/json\n")
    (tmp_path / "http-client.env.json").write_text('{"dev": {"a": "1"}, "prod": {"a": "2"}}')
    called = orgrest(*words)
    assert called.status == 2
    assert called.err.startswith("orgrest: ")
    assert called.err.endswith(f"{message}\n")
    assert server.requests == []


def test_errors_of_usage_start_with_the_name_of_the_program_and_name_the_help(orgrest) -> None:
    output = orgrest("test", "a.http", "--nonsense").err
    assert output.startswith("orgrest: No such option")
    assert output.endswith("\nTry 'orgrest test --help' for help.\n")


@pytest.mark.parametrize("command", [(), ("test",)])
def test_a_binary_file_is_one_error(orgrest, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "a.http").write_bytes(bytes(range(256)) * 9)
    called = orgrest(*command, "a.http")
    assert called.status == 2
    assert called.err.count("binary data, not text") == 1
    assert "a.http" in called.err


@pytest.mark.parametrize(
    ("codec", "mark", "reason"),
    [
        ("utf-16-le", b"", "seems to be UTF-16 without a byte order mark, or damaged"),
        ("utf-16-be", b"", "seems to be UTF-16 without a byte order mark, or damaged"),
        ("utf-32", b"", "seems to be UTF-32 without a byte order mark, or damaged"),
        ("utf-8", b"\xff\xfe", "starts with a UTF-16 byte order mark, but is not UTF-16"),
        ("utf-8", b"\xfe\xff ", "starts with a UTF-16 byte order mark, but is not UTF-16"),
    ],
)
@pytest.mark.parametrize("name", ["a.http", "a.org"])
def test_a_file_in_the_wrong_encoding_is_told_which_and_what_to_do(
    orgrest, tmp_path: Path, name: str, codec: str, mark: bytes, reason: str
) -> None:
    text = "#+begin_src http\nGET http://127.0.0.1:1/\n#+end_src\n"
    if name == "a.http":
        text = text.split("\n")[1] + "\n"
    (tmp_path / name).write_bytes(mark + text.encode(codec))
    called = orgrest(name)
    assert called.status == 2
    assert called.err == f"orgrest: {name}: {reason}: save the file as UTF-8\n"


@pytest.mark.parametrize("name", ["a.http", "a.org"])
def test_a_file_in_utf_16_with_its_mark_is_read(orgrest, server, tmp_path: Path, name: str) -> None:
    text = f"#+begin_src http\nGET {server.url}/json\n#+end_src\n"
    (tmp_path / name).write_text(text if name == "a.org" else text.split("\n")[1], "utf-16")
    assert orgrest(name, "--dry-run").out.startswith(f"GET {server.url}/json\n")


@pytest.mark.parametrize("text", ["", "# no request\n"])
@pytest.mark.parametrize("command", [(), ("test",)])
def test_an_empty_document_has_the_same_status_in_both_formats(
    orgrest, tmp_path: Path, command: tuple[str, ...], text: str
) -> None:
    for name in ("a.org", "a.http"):
        (tmp_path / name).write_text(text)
        called = orgrest(*command, name)
        assert called.status == 1
        assert "no request found: requests " in called.err


def test_a_variable_of_the_environment_is_found_by_its_name(
    orgrest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "of the shell")
    (tmp_path / "a.http").write_text("GET http://h/{{TOKEN}}\n")
    called = orgrest("a.http")
    assert called.status == 1
    assert "for the environment variable, write {{$processEnv TOKEN}}" in called.err
    (tmp_path / "a.http").write_text("GET http://h/{{$processEnv TOKEN}}\n")
    assert orgrest("a.http", "--dry-run").status == 0


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_a_terminal_without_color_gets_none(tmp_path: Path, variable: dict[str, str]) -> None:
    parent, child = pty.openpty()
    (tmp_path / "a.org").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "orgrest", "test", "a.org"],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", **variable},
        stderr=child,
        check=False,
    )
    os.close(child)
    assert done.returncode == 1
    assert (b"\x1b[" in os.read(parent, 4096)) == (not variable)
    os.close(parent)


def test_the_history_shows_the_current_folder_unless_asked_for_all(
    orgrest, tmp_path: Path, server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORGREST_HISTORY", str(tmp_path / "history"))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        (tmp_path / name / f"{name}.http").write_text(f"# @name {name}\nGET {server.url}/{name}\n")
        assert orgrest(f"{name}.http").status in (0, 1)
    monkeypatch.chdir(tmp_path / "one")
    assert "one.http" in orgrest("history").out
    assert "two.http" not in orgrest("history").out
    assert "/one\n" in orgrest("history", "show", "1").out
    assert "/two\n" in orgrest("history", "show", "1", "--all").out
    assert len(orgrest("history", "list", "--all").lines) == 2
    assert "no request named two in the history" in orgrest("diff", "two").err
