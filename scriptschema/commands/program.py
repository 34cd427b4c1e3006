"""Click classes for the command line: lazily imported commands, help in sections, uniform errors.

`orgrest` has a similar module. The two programs deliberately share no code.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_Command = TypeVar("_Command", bound="Callable[..., object]")

SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    # None: color on terminals only.
    "color": False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None,
}
"""The settings of click's context for the program and all its commands."""


class Context(click.Context):
    """A click context whose help also fits terminals with fewer than 50 columns."""

    def make_formatter(self) -> click.HelpFormatter:
        """Return a formatter for help. Click's own formatter uses at least 50 columns."""
        from shutil import get_terminal_size

        return click.HelpFormatter(width=max(20, min(100, get_terminal_size().columns) - 2))


class Option(click.Option):
    """An option that is listed in a section of the help."""

    def __init__(self, *words: Any, section: str, **options: Any) -> None:
        super().__init__(*words, **options)
        self.section = section


class Command(click.Command):
    """A command whose help lists its options in sections."""

    context_class = Context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of options."""
        for title, rows in sections(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows, col_max=min(30, formatter.width // 2))


class Group(click.Group):
    """A group of commands whose help lists the whole first sentence of each command's help."""

    context_class = Context
    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(n, c.get_short_help_str(1000)) for n, c in commands if c is not None]
            )


class Program(Group):
    """A group whose commands are imported when they are used.

    `table` maps each command's name to its definition (`package.module:name`). The help lists the
    commands in this order.
    """

    def __init__(self, *arguments: Any, table: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most common first."""
        del ctx
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return None if no command has this name."""
        del ctx
        if cmd_name not in self._table:
            return None
        module, _, name = self._table[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names.

        If the name is unknown, raises a usage error that suggests a similar name.
        """
        if args[0] not in self._table and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self._table, n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"unknown command {args[0]}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line and exit. Usage errors start with the program's name."""
        options = {**options, "standalone_mode": False, "prog_name": self.name}
        try:
            with _terminated_as_interrupted():
                status = super().main(*arguments, **options)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            status = error.exit_code
        except click.ClickException as error:
            click.echo(f"{self.name}: {error.format_message()}", err=True)
            if isinstance(error, click.UsageError) and error.ctx is not None:
                click.echo(f"Try '{error.ctx.command_path} --help' for help.", err=True)
            status = error.exit_code
        except click.Abort:  # Ctrl-C or a termination signal
            click.echo(f"{self.name}: interrupted", err=True)
            status = 130
        sys.exit(status if isinstance(status, int) else 0)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, so that commands can clean up.

    A shell's background jobs ignore SIGINT (Ctrl-C), so only SIGTERM can end them. A terminal that
    is closed sends SIGHUP.
    """
    if threading.current_thread() is not threading.main_thread():  # cannot set handlers
        yield
        return
    before = {}
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as with nohup
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


command = partial(click.command, cls=Command)


def section(title: str) -> Callable[..., Callable[[_Command], _Command]]:
    """Return a decorator like `click.option` that adds an option to a section of the help."""
    return partial(click.option, cls=Option, section=title)


def sections(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return a command's options and their help by section. Options without a section come last."""
    titled: dict[str, list[tuple[str, str]]] = {}
    others: list[tuple[str, str]] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            title = parameter.section if isinstance(parameter, Option) else "Options"
            (others if title == "Options" else titled.setdefault(title, [])).append(record)
    return {**titled, "Options": others} if others else titled
