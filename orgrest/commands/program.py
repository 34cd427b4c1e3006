"""Base classes for the command line, and help with sections.

The command line of scriptschema has the same style. Its base classes are in a separate module,
because the two products do not share code.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import click

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


command = partial(click.command, cls=Command)


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
