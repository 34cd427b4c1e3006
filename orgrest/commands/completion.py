"""Shell completion: the scripts that set a shell up, and the completion of documents.

The rest is click's: commands, options and their values.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FIRST_WORD = f"{__name__}.first"
"""A context's `meta` says so where the word to complete is the first, which may be a command."""

_ASKS = "_ORGREST_COMPLETE"
_DOCUMENT = re.compile(r"[\w.+@-]+\.(?:org|http|rest)")


def documents(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer files, as the shell completes them; for the first word also the commands."""
    from click.shell_completion import CompletionItem

    del parameter
    found = [CompletionItem(incomplete, type="file")]
    if ctx.meta.get(FIRST_WORD):
        found += ctx.command.shell_complete(ctx, incomplete)
        if os.environ.get(_ASKS) == "bash_complete":  # which looks for files if nothing else fits
            # Names are wanted, not paths, and pathlib is not loaded while a shell waits.
            names = sorted(filter(_DOCUMENT.fullmatch, os.listdir()))  # noqa: PTH208
            found += [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands, options and files.

    \b
    bash, in ~/.bashrc:                 eval "$(orgrest completion bash)"
    zsh, in ~/.zshrc, behind compinit:  eval "$(orgrest completion zsh)"
    fish, once:  orgrest completion fish > ~/.config/fish/completions/orgrest.fish
    """
    from click import shell_completion

    classes: dict[str, type[shell_completion.ShellComplete]] = {
        "bash": shell_completion.BashComplete,
        "zsh": shell_completion.ZshComplete,
        "fish": shell_completion.FishComplete,
    }
    click.echo(classes[shell](completion, {}, "orgrest", _ASKS).source())
