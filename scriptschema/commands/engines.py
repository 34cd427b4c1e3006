"""The command `dictionary`: Luau's tokens for engines that change bytes."""

from __future__ import annotations

from pathlib import Path

import click

from scriptschema.commands.luau import load_names, names_option


@click.command("dictionary")
@click.option("-o", "--output", metavar="FILE", help="Where to write; else standard output.")
@names_option
def dictionary_command(output: str | None, names_path: Path | None) -> None:
    """Write Luau's tokens as a dictionary for libFuzzer (-dict) and AFL++ (-x).

    \b
    python -m scriptschema dictionary -o luau.dict
    """
    from scriptschema import files
    from scriptschema.fuzzing.dictionary import dictionary

    target = files.STANDARD if output is None else Path(output)
    files.write(target, dictionary(load_names(names_path)).encode())
