"""Properties that all commands of `scriptschema` share. `orgrest` has the same test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command import on_a_terminal, run_here
from command_tree import commands

from scriptschema.commands.main import main

MODULES = {"--version": 75, "--help": 108}
"""The most modules that may be imported; click itself needs 57."""
EXAMPLE = Path(__file__).parents[3] / "examples" / "fibonacci.textproto"


COMMANDS = commands(main, "scriptschema")
EACH = pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=[path.partition(" ")[2] for path, _ in COMMANDS]
)


@EACH
def test_a_user_sees_the_whole_summary_of_a_command_on_a_line(
    path: str, command: click.Command
) -> None:
    parent = path.split()[1:-1]
    output = run_here(*parent, "--help").stdout.decode()
    summary = command.get_short_help_str(1000)
    assert f"  {path.split()[-1]}  " in output
    assert f"  {summary}\n" in output
    assert summary.endswith(".")


@EACH
def test_a_user_can_copy_an_example_of_a_command(path: str, command: click.Command) -> None:
    examples = re.findall(r"^ *(?:.*[|(] *)?scriptschema .*", command.help or "", re.MULTILINE)
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
        "import sys\nfrom scriptschema.commands.main import main\n"
        "try: main()\nfinally: print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, argument], capture_output=True, text=True, check=True
    )
    found = done.stderr.split()
    assert not {"attrs", "hypothesis", "pure_protobuf", "rich"} & set(found)
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True
    )
    assert len(found) - len(bare.stdout.split()) <= MODULES[argument]


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_a_terminal_without_color_gets_none(
    variable: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    status, shown = on_a_terminal("show", "--from", "json", EXAMPLE, stream="stderr")
    assert status == 1
    assert shown.startswith(b"scriptschema: ") == bool(variable)
    assert (b"\x1b[" in shown) == (not variable)


def test_whoever_shows_a_source_is_told_how_to_read_it(tmp_path: Path) -> None:
    path = tmp_path / "program.luau"
    path.write_text("return 1")
    for command in (["show"], ["convert", "--to", "text"], ["render"]):
        done = run_here(*command, path)
        message = f"{path}: Luau source, not a tree; to read it, run `scriptschema parse {path}`\n"
        assert done.stderr.decode() == f"scriptschema: {message}"
        assert done.returncode
