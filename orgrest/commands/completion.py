"""Shell completion: the scripts that set it up, and the completion of document names.

click completes commands, options and their values.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from orgrest.commands import program
from orgrest.regular import compiled

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FIRST_WORD = f"{__name__}.first"
"""The key in a context's `meta` that says whether the word being completed is the first.

Only the first word can be a command.
"""

_VARIABLE = "_ORGREST_COMPLETE"
_DOCUMENT = compiled(r"[\w.+@-]+\.(?:org|http|rest)")


def documents(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the completions of a FILE argument: files and, for the first word, commands."""
    from click.shell_completion import CompletionItem

    del parameter
    items = [CompletionItem(incomplete, type="file")]
    if ctx.meta.get(FIRST_WORD):
        items += ctx.command.shell_complete(ctx, incomplete)
        if os.environ.get(_VARIABLE) == "bash_complete":  # if nothing matches, bash completes files
            # Only names are needed, and importing pathlib would delay the shell.
            names = sorted(filter(_DOCUMENT.fullmatch, os.listdir()))  # noqa: PTH208
            items += [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return items


@program.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and files.

    \b
    bash, in ~/.bashrc:                 eval "$(orgrest completion bash)"
    zsh, in ~/.zshrc, after compinit:   eval "$(orgrest completion zsh)"
    fish, once:  orgrest completion fish > ~/.config/fish/completions/orgrest.fish
    """
    from click import shell_completion

    classes: dict[str, type[shell_completion.ShellComplete]] = {
        "bash": shell_completion.BashComplete,
        "zsh": shell_completion.ZshComplete,
        "fish": shell_completion.FishComplete,
    }
    script = classes[shell](completion, {}, "orgrest", _VARIABLE).source()
    # click's script for fish would otherwise cut descriptions at their first comma.
    click.echo(script.replace('string split ","', 'string split -m 1 ","'))
