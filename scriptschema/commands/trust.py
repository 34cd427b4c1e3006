"""Trust in campaigns: commands of somebody else's campaign run only after the user agrees.

A campaign's configuration has commands, which run with the user's rights. Commands that the user
gave on the command line are trusted; others are shown, with a question once for each folder and
command. The answers are lines of JSON in `trusted.jsonl` in the user's state folder
(`$XDG_STATE_HOME/scriptschema`, else `~/.local/state/scriptschema`), never in the campaign: it
could bring its own answers along.
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
    """Open a campaign; its commands are trusted if the user gave `config`.

    Raises what `Campaign` and `require_trust` raise.
    """
    from scriptschema.fuzzing.campaign.folder import Campaign

    with Campaign(path, config) as campaign:
        require_trust(path, campaign.config, trust=trust or config is not None)
        yield campaign


def trusted_find(folder: Path, *, trust: bool) -> Find:
    """Return the find in a folder once the user trusts its commands.

    Raises FileError, ValueError, and what `require_trust` raises.
    """
    from scriptschema.fuzzing.campaign import config, finds

    find = finds.load(folder)
    campaign = folder.absolute().parent.parent
    owner = campaign if (campaign / config.FILE).is_file() else folder
    require_trust(owner, config.Config.from_json(find.config), trust=trust)
    return find


def require_trust(folder: Path, config: Config, *, trust: bool) -> None:
    """Ask whether to run the commands of a campaign in a folder, unless they are trusted.

    With `trust` they are, and this is remembered. Raises FileError if the user declines, and a
    usage error if there is no terminal to ask on.
    """
    from scriptschema.files import FileError
    from scriptschema.fuzzing.report.text import visible

    place = str(folder.resolve())
    known = _trusted()
    new = [each for each in commands_of(config) if (place, each) not in known]
    if not new:
        return
    if not trust:
        shown = "\n".join(f"  {visible(each)}" for each in new)
        click.echo(
            f"{visible(place)} runs this on your machine, with your rights:\n{shown}", err=True
        )
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError("there is no terminal to ask on: add --trust if you trust this")
        if not click.confirm("Run it?", err=True):
            raise FileError(f"{folder}: nothing was run")
    _remember(place, new)


def commands_of(config: Config) -> list[str]:
    """Return all external code that a campaign runs: commands, npm packages, Python functions."""
    found = [each.command for each in config.targets if each.command]
    found += [f"luau-web in {each.folder}" for each in config.targets if each.kind == "luau-web"]
    found += [each for each in (config.checker, config.printer) if each]
    found += [f"the Python function {config.judge}"] if config.judge else []
    return list(dict.fromkeys(found))


def _file() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "state"
    return state / "scriptschema" / "trusted.jsonl"


def _trusted() -> set[tuple[str, str]]:
    """Return pairs of a folder and a command; invalid lines are skipped."""
    found = set()
    with contextlib.suppress(OSError):
        for line in _file().read_bytes().splitlines():
            with contextlib.suppress(ValueError, TypeError):
                folder, command = json.loads(line)
                found.add((folder, command))
    return found


def _remember(folder: str, commands: list[str]) -> None:
    from scriptschema.files import FileError
    from scriptschema.fuzzing.campaign.statistics import append_line

    try:
        for command in commands:
            append_line(_file(), json.dumps([folder, command]))
    except FileError as error:
        report(error)  # the next run asks again
