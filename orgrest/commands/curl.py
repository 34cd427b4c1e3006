"""The command ``orgrest curl``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from orgrest.commands.completion import documents
from orgrest.commands.console import complain, inputs_of, text_of, with_values
from orgrest.files import is_request_file
from orgrest.model import OrgrestError


@click.command()
@click.argument("file", required=False, shell_complete=documents)
@click.option("--line", type=int, metavar="N", help="The request at this line.")
@click.option("--name", metavar="NAME", help="The request with this name.")
@with_values
@click.option(
    "--stdin-name",
    type=click.Path(path_type=Path),
    metavar="NAME",
    help="With the FILE -, take standard input for the text of the file NAME.",
)
@click.option("--from-curl", "command", metavar="COMMAND", help="A curl command; - reads one.")
def curl(
    file: str | None,
    *,
    line: int | None,
    name: str | None,
    variables: dict[str, str],
    env_file: tuple[Path, ...],
    environments: tuple[str, ...],
    seed: int | None,
    stdin_name: Path | None,
    command: str | None,
) -> None:
    """Print a request of FILE as a curl command, or make a block of one.

    The curl command holds the values of variables, secrets included: it has to work.
    """
    from orgrest.http import curl as translate
    from orgrest.run.run import Run
    from orgrest.run.settings import Settings

    if (command is None) == (file is None):
        raise click.UsageError("give a FILE, or a command with --from-curl")
    try:
        if file is None:
            given = sys.stdin.read() if command == "-" else str(command)
            click.echo(translate.to_block(given), nl=False)
            return
        path, text = text_of(file, stdin_name)
        inputs = inputs_of(
            path.resolve().parent,
            variables=variables,
            env_file=env_file,
            environments=environments,
            seed=seed,
        )
        settings = Settings(
            inputs,
            names=(name,) if name else (),
            lines=(line,) if line else (),
            dry_run=True,
            complete=True,
        )
        run = Run(text, file=str(path), settings=settings, client=None, plain=is_request_file(path))
        for outcome in run.outcomes():
            if outcome.reason is not None:
                raise outcome.reason
            for exchange in outcome.exchanges:
                click.echo(translate.to_command(exchange.request))
    except OrgrestError as error:
        complain(str(error))
        sys.exit(2)
