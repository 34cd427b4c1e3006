"""Options of `orgrest` in sections, by purpose: help and the reference show them below headings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_Command = TypeVar("_Command", bound="Callable[..., object]")

OTHERS = "Options"
"""The heading of the options that are in no section."""


class _Option(click.Option):
    def __init__(self, *words: Any, section: str, **options: Any) -> None:
        super().__init__(*words, **options)
        self.section = section


class Sectioned(click.Command):
    """A command whose help has a heading for each section of its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        for title, rows in sections(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)


def section(title: str) -> Callable[..., Callable[[_Command], _Command]]:
    """Return what decorates a `Sectioned` command with an option, as click.option does."""
    return partial(click.option, cls=_Option, section=title)


def sections(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return the options of a command and their help by their sections, the others last."""
    found: dict[str, list[tuple[str, str]]] = {}
    others: list[tuple[str, str]] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or not isinstance(parameter, click.Option):
            continue
        if isinstance(parameter, _Option):
            found.setdefault(parameter.section, []).append(record)
        else:
            others.append(record)
    return {**found, OTHERS: others} if others else found
