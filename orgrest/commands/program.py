"""Base classes for the command line: lazily imported commands, help with sections, and errors.

The command line of scriptschema has the same style. Its base classes are in a separate module,
because the two products do not share code.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Command = TypeVar("_Command", bound="Callable[..., object]")

SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    # None: color on terminals only.
    "color": False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None,
}
"""The settings of click's context for the program and all commands."""


class Context(click.Context):
    """A context whose help also fits narrow terminals."""

    def make_formatter(self) -> click.HelpFormatter:
        """Return a formatter for the terminal width.

        click's own formatter is never narrower than 50 columns.
        """
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
        """Write the options to the help, in sections."""
        for title, rows in sections(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows, col_max=min(30, formatter.width // 2))


class Group(click.Group):
    """A group of commands whose help shows the first sentence of each description in full."""

    context_class = Context
    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands to the help."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(n, c.get_short_help_str(1000)) for n, c in commands if c is not None]
            )


class Program(Group):
    """A program: a group of commands whose modules are imported on first use.

    `table` maps the names of the commands, in the order in which the help lists them, to the
    objects that define them (`package.module:name`).
    """

    def __init__(self, *arguments: Any, table: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order in which the help lists them."""
        del ctx
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command called `cmd_name`, or return None for an unknown name."""
        del ctx
        if cmd_name not in self._table:
            return None
        module, _, name = self._table[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of a command, the command, and its arguments.

        The first of `args` is the name. Raises UsageError for an unknown name. The error suggests a
        similar name if there is one.
        """
        if args[0] not in self._table and not ctx.resilient_parsing:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], self._table, n=1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            raise click.UsageError(f"unknown command {args[0]}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line and exit. Error messages start with the program name."""
        options = {**options, "standalone_mode": False, "prog_name": self.name}
        try:
            status = super().main(*arguments, **options)
        except click.ClickException as error:
            click.echo(f"{self.name}: {error.format_message()}", err=True)
            if isinstance(error, click.UsageError) and error.ctx is not None:
                click.echo(f"Try '{error.ctx.command_path} --help' for help.", err=True)
            status = error.exit_code
        except click.Abort:  # after Ctrl-C
            click.echo(f"{self.name}: interrupted", err=True)
            status = 130
        sys.exit(status if isinstance(status, int) else 0)


command = partial(click.command, cls=Command)


def section(title: str) -> Callable[..., Callable[[_Command], _Command]]:
    """Return a decorator like click.option for an option in the section called `title`."""
    return partial(click.option, cls=Option, section=title)


def sections(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return the options of a command by section, as pairs (name, help).

    Options without a section come last.
    """
    titled: dict[str, list[tuple[str, str]]] = {}
    others: list[tuple[str, str]] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            title = parameter.section if isinstance(parameter, Option) else "Options"
            (others if title == "Options" else titled.setdefault(title, [])).append(record)
    return {**titled, "Options": others} if others else titled
