"""Helpers for commands: error messages and shared options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orgrest.http.values import Inputs

_Command = TypeVar("_Command", bound="Callable[..., object]")


def complain(text: str) -> None:
    """Print an error to standard error."""
    click.echo(f"orgrest: {text}", err=True)


def safe(text: str, secrets: frozenset[str]) -> str:
    """Return text with secrets masked and control characters visible."""
    from orgrest.rendering.masking import mask
    from orgrest.rendering.sanitize import visible

    return visible(mask(text, secrets))


def _pairs(_: object, parameter: click.Parameter, given: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param=parameter)
        found[name.removeprefix(":")] = value
    return found


def with_values(command: _Command) -> _Command:
    """Decorate a command with the options for the sources of values.

    Their parameters are `variables`, `env_file`, `environments` and `seed`.
    """
    for option in (
        click.option(
            "--seed",
            type=int,
            metavar="N",
            help="Make {{$uuid}} and other random values repeatable.",
        ),
        click.option(
            "--env",
            "environments",
            multiple=True,
            metavar="NAME",
            help=(
                "Use the variables of this environment; with several, the last one takes "
                "precedence."
            ),
        ),
        click.option(
            "--env-file",
            multiple=True,
            type=click.Path(path_type=Path),
            help="A .env file with values for env().",
        ),
        click.option(
            "--var",
            "variables",
            multiple=True,
            callback=_pairs,
            metavar="NAME=VALUE",
            help="Set a variable.",
        ),
    ):
        command = option(command)
    return command


def inputs_of(
    directory: Path,
    *,
    variables: dict[str, str],
    env_file: Iterable[Path],
    environments: tuple[str, ...],
    seed: int | None,
    **more: Any,
) -> Inputs:
    """Return the sources of values for a document in a folder, by the options of `with_values`.

    Raises OrgrestError if an env file cannot be read.
    """
    from orgrest.http.values import Inputs, read_env_file

    values: dict[str, str] = {}
    for path in env_file:  # later files override earlier ones
        values.update(read_env_file(path))
    return Inputs.of_user(
        directory,
        overrides=variables,
        env_file=values,
        environments=environments,
        seed=seed,
        **more,
    )
