"""Completion in shells: click's, of commands, options, their values and files."""

from __future__ import annotations

import click

from scriptschema.commands import program


@program.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and files.

    \b
    bash, in ~/.bashrc:                 eval "$(scriptschema completion bash)"
    zsh, in ~/.zshrc, behind compinit:  eval "$(scriptschema completion zsh)"
    fish, once:  scriptschema completion fish > ~/.config/fish/completions/scriptschema.fish
    """
    from click import shell_completion

    classes: dict[str, type[shell_completion.ShellComplete]] = {
        "bash": shell_completion.BashComplete,
        "zsh": shell_completion.ZshComplete,
        "fish": shell_completion.FishComplete,
    }
    click.echo(classes[shell](completion, {}, "scriptschema", "_SCRIPTSCHEMA_COMPLETE").source())
