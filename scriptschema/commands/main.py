"""The command-line interface of ``scriptschema``. Only the modules in this folder print messages.

Each command's module is imported only when the command is used. The exit status is 0 on success, 1
if a file could not be processed or a check found something, 2 for a usage error or a missing file,
and 130 after Ctrl-C or a termination signal.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import Any

import click

from scriptschema import __version__, collect_rarely
from scriptschema.commands.program import SETTINGS, Program, command

_COMMANDS = {
    "tutorial": "scriptschema.commands.tutorial:tutorial",
    "generate": "scriptschema.commands.generation:generate",
    "fuzz": "scriptschema.commands.campaign:fuzz",
    "reproduce": "scriptschema.commands.finds:reproduce",
    "reduce": "scriptschema.commands.reducing:reduce_command",
    "report": "scriptschema.commands.finds:report_command",
    "bisect": "scriptschema.commands.finds:bisect_command",
    "export": "scriptschema.commands.finds:export_command",
    "corpus": "scriptschema.commands.corpus.commands:corpus",
    "render": "scriptschema.commands.luau:render_command",
    "parse": "scriptschema.commands.luau:parse_command",
    "check": "scriptschema.commands.luau:check_command",
    "repair": "scriptschema.commands.luau:repair_command",
    "convert": "scriptschema.commands.exchange:convert",
    "show": "scriptschema.commands.exchange:show",
    "schema": "scriptschema.commands.exchange:schema",
    "dictionary": "scriptschema.commands.exchange:dictionary_command",
    "completion": "scriptschema.commands.main:completion",
}


def hold_standard_streams() -> None:
    """Reopen closed standard streams as the null device.

    Otherwise, the next opened file would get a closed stream's descriptor, and receive everything
    printed. Standard input is opened write-only, and standard output read-only. Using them
    therefore raises an error, as with a closed stream. Output to standard error is discarded.
    """
    for number, (name, mode) in enumerate(
        [("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)]
    ):
        if getattr(sys, name) is None:
            os.open(os.devnull, mode)  # gets the lowest free descriptor
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


class _Program(Program):
    def main(self, *arguments: Any, **options: Any) -> Any:
        collect_rarely()
        hold_standard_streams()
        try:
            return super().main(*arguments, **options)
        except OSError as error:  # errors of named files are reported where the files are opened
            from scriptschema.commands.console import report

            report(OSError(f"standard output: {error.strerror or error}"))
        except Exception as error:
            from scriptschema.commands.console import report
            from scriptschema.files import ReportedError

            if not isinstance(error, ReportedError):
                raise
            report(error)
        sys.exit(1)


@click.group("scriptschema", cls=_Program, table=_COMMANDS, context_settings=SETTINGS)
@click.version_option(__version__)
def main() -> None:
    """Luau programs as protobuf trees, for fuzzing and property tests."""


@command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and files.

    \b
    bash, in ~/.bashrc:                 eval "$(scriptschema completion bash)"
    zsh, in ~/.zshrc, after compinit:   eval "$(scriptschema completion zsh)"
    fish, once:  scriptschema completion fish > ~/.config/fish/completions/scriptschema.fish
    """
    from click import shell_completion

    classes: dict[str, type[shell_completion.ShellComplete]] = {
        "bash": shell_completion.BashComplete,
        "zsh": shell_completion.ZshComplete,
        "fish": shell_completion.FishComplete,
    }
    script = classes[shell](completion, {}, "scriptschema", "_SCRIPTSCHEMA_COMPLETE").source()
    # click's script for fish would otherwise cut descriptions at their first comma.
    click.echo(script.replace('string split ","', 'string split -m 1 ","'))


def run() -> None:
    """Run the command line with the process's arguments, and end the process."""
    status: str | int | None = None
    try:
        main()
    except SystemExit as end:
        status = end.code
    # Python would free all objects first, which is a tenth of the work of a short command.
    is_observed = sys.gettrace() is not None or sys.getprofile() is not None
    if sys.version_info >= (3, 12):
        is_observed = is_observed or any(map(sys.monitoring.get_tool, range(6)))
    if isinstance(status, int) and threading.active_count() == 1 and not is_observed:
        atexit._run_exitfuncs()
        for output in (sys.stdout, sys.stderr):
            try:
                output.flush()
            except ValueError:  # already closed
                continue
            except OSError:  # for example, the disk is full
                status = status or 1
        os._exit(status)
    sys.exit(status)
