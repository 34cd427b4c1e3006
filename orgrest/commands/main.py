"""The command line: ``orgrest FILE...`` and the subcommands (``orgrest demo`` ...).

Only the modules in this folder print, prompt and write documents. Messages go to standard error,
and all other output goes to standard output. A command's module is imported when the command is
called.

The exit status is 0 on success. It is 1 if a request failed, a check found changes or a document
could not be saved. It is 2 for a usage error or an unreadable file, and 130 after Ctrl-C, SIGTERM
or SIGHUP.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from orgrest import __version__
from orgrest.commands.completion import FIRST_WORD
from orgrest.commands.console import complain
from orgrest.commands.evaluate import evaluate
from orgrest.commands.program import SETTINGS, Command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMANDS = {
    "test": "orgrest.commands.test:test",
    "report": "orgrest.commands.reports:report",
    "history": "orgrest.commands.history:history",
    "diff": "orgrest.commands.history:diff",
    "logins": "orgrest.commands.logins:logins",
    "demo": "orgrest.commands.demo:demo",
    "tutorial": "orgrest.commands.tutorial:tutorial",
    "format": "orgrest.commands.formatting:format",
    "import": "orgrest.commands.importing:import_",
    "export": "orgrest.commands.exporting:export",
    "lsp": "orgrest.commands.editor:lsp",
    "emacs": "orgrest.commands.editor:emacs",
    "completion": "orgrest.commands.completion:completion",
}
"""The objects that define the commands, in the order in which the help lists them."""


class _Program(click.Group, Command):
    """A group that imports commands on first use. Without a subcommand, it runs `evaluate`."""

    allow_interspersed_args = True  # options can follow a FILE

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return click.Command.collect_usage_pieces(self, ctx)  # not "COMMAND [ARGS]..."

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        Command.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in COMMANDS]
        with formatter.section("Commands"):
            # The limit of 1000 characters is never reached, so no sentence is shortened.
            formatter.write_dl(
                [(n, c.get_short_help_str(1000)) for n, c in commands if c is not None]
            )

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] in COMMANDS:  # a subcommand parses its own arguments
            ctx.meta[__name__] = args
            if ctx.resilient_parsing:  # the shell completes a word of a subcommand
                ctx.args = args
            return []
        ctx.meta[FIRST_WORD] = not args
        return click.Command.parse_args(self, ctx, args)

    def main(self, *arguments: Any, **options: Any) -> Any:
        options = {**options, "standalone_mode": False, "prog_name": self.name}
        try:
            status = super().main(*arguments, **options)
        except click.ClickException as error:
            complain(error.format_message())
            if isinstance(error, click.UsageError) and error.ctx is not None:
                click.echo(f"Try '{error.ctx.command_path} --help' for help.", err=True)
            status = error.exit_code
        except click.Abort:  # after Ctrl-C
            complain("interrupted")
            status = 130
        except OSError:  # standard output is a closed pipe or on a full disk
            raise
        except Exception as error:
            from orgrest.model import explained

            complain(str(explained(error)))
            status = 2
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        if __name__ not in ctx.meta:
            return click.Command.invoke(self, ctx)
        name, *rest = ctx.meta[__name__]
        command = self.get_command(ctx, name)
        assert command is not None  # noqa: S101 - parse_args found it
        # Without `parent=ctx`: its FILE arguments would appear in the usage line.
        with command.make_context(f"{ctx.info_name} {name}", rest, **SETTINGS) as inner:
            return command.invoke(inner)


program = _Program(
    "orgrest",
    params=evaluate.params,
    callback=evaluate.callback,
    help=evaluate.help,
    context_settings=SETTINGS,
    no_args_is_help=False,
)
click.version_option(__version__)(program)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP, so that commands end their child processes."""
    before: list[int] = []
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # not with nohup
            with contextlib.suppress(ValueError):  # this is not the main thread
                signal.signal(number, signal.default_int_handler)
                before.append(number)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_DFL)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with `arguments` (by default, the process's arguments), and exit."""
    # Almost nothing is part of a reference cycle, and looking for cycles takes a tenth of the time.
    gc.set_threshold(100_000, 20, 50)
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # the calling process closed it
            setattr(sys, stream, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - stays open
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="backslashreplace")
    try:
        try:
            with _interruptible():
                program.main(arguments)
        finally:
            if not sys.stdout.closed:  # the language server closes it
                sys.stdout.flush()
    except OSError as error:  # a closed pipe or a full disk
        if not isinstance(error, BrokenPipeError):
            where = "could not write the output" if error.filename is None else error.filename
            with contextlib.suppress(OSError):
                os.write(2, f"orgrest: {where}: {error.strerror or error}\n".encode())
        for output in (sys.stdout, sys.stderr):  # else Python flushes them again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        sys.exit(1)


def run() -> None:
    """Run the command line with the process's arguments, and end the process."""
    status: str | int | None = None
    try:
        main()
    except SystemExit as end:
        status = end.code
    # Python would free all objects first, which takes longer than sending a request.
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
