"""Decides whether a campaign's commands may run: a stranger's commands run only with consent.

A campaign's commands run with the user's permissions. Commands from the command line are trusted.
For each other command in a folder, the user is asked once. Trusted commands are recorded as lines
of JSON in `trusted.jsonl` in the user's state folder (`$XDG_STATE_HOME/scriptschema`, by default
`~/.local/state/scriptschema`), because a stranger could add lines in the campaign's folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scriptschema.commands.console import report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scriptschema.fuzzing.campaign.config import Config
    from scriptschema.fuzzing.campaign.finds import Find
    from scriptschema.fuzzing.campaign.folder import Campaign

trust_option = click.option(
    "--trust", is_flag=True, help="Run the campaign's commands without asking."
)


@contextlib.contextmanager
def trusted_campaign(path: Path, config: Config | None, *, trust: bool) -> Iterator[Campaign]:
    """Open the campaign at `path`, and yield it once its commands are trusted.

    Does not ask the user if `trust` is true, or if the user specified `config`. Raises the errors
    of `Campaign` and `require_trust`.
    """
    from scriptschema.fuzzing.campaign.folder import Campaign

    with Campaign(path, config) as campaign:
        require_trust(path, campaign.config, trust=trust or config is not None)
        yield campaign


def trusted_find(folder: Path, *, trust: bool) -> tuple[Find, Config]:
    """Return the find in `folder`, and its campaign's configuration, once its commands are trusted.

    Does not ask the user if `trust` is true. Raises FileError, ValueError, and the errors of
    `require_trust`.
    """
    from scriptschema.fuzzing.campaign import config, finds

    find = finds.load(folder)
    settings = config.Config.from_json(find.config)
    campaign = folder.absolute().parent.parent
    owner = campaign if (campaign / config.FILE).is_file() else folder
    require_trust(owner, settings, trust=trust)
    return find, settings


def require_trust(folder: Path, config: Config, *, trust: bool) -> None:
    """Ask the user whether to run a campaign's commands, unless they are already trusted.

    If `trust` is true, records the commands as trusted without asking. Raises FileError if the user
    declines, and a usage error if there is no terminal.
    """
    from scriptschema.files import FileError
    from scriptschema.fuzzing.targets.outcome import visible

    place = str(folder.resolve())
    trusted = _trusted()
    new = [command for command in commands_of(config) if (place, command) not in trusted]
    if not new:
        return
    if not trust:
        shown = "\n".join(f"  {visible(command)}" for command in new)
        click.echo(
            f"{visible(place)} runs this on your machine, with your permissions:\n{shown}", err=True
        )
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError(
                "cannot ask for confirmation without a terminal: use --trust if you "
                "trust these commands"
            )
        if not click.confirm("Run it?", err=True):
            raise FileError(f"{folder}: nothing was run, because you did not agree")
    _remember(place, new)


def commands_of(config: Config) -> list[str]:
    """Return everything external that a campaign runs: commands, npm packages, Python functions."""
    commands = [each.command for each in config.targets if each.command]
    commands += [f"luau-web in {each.folder}" for each in config.targets if each.kind == "luau-web"]
    commands += [each for each in (config.checker, config.printer) if each]
    commands += [f"the Python function {config.judge}"] if config.judge else []
    return list(dict.fromkeys(commands))


def _file() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    state = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state"
    return state / "scriptschema" / "trusted.jsonl"


def _trusted() -> set[tuple[str, str]]:
    pairs = set()
    with contextlib.suppress(OSError):
        for line in _file().read_bytes().splitlines():
            with contextlib.suppress(ValueError, TypeError):
                folder, command = json.loads(line)
                pairs.add((folder, command))
    return pairs


def _remember(folder: str, commands: list[str]) -> None:
    from scriptschema.files import FileError
    from scriptschema.fuzzing.campaign.statistics import append_line

    try:
        for command in commands:
            append_line(_file(), json.dumps([folder, command]))
    except FileError as error:
        report(
            FileError(f"could not remember that you agreed, so the next run asks again: {error}")
        )
