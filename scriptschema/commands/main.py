"""The command line, `python -m scriptschema`: it reads, writes and prints, and nothing else does.

What a command needs is imported when it runs: `--help` should come at once.
"""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from scriptschema.commands import (
    campaign,
    completion,
    corpora,
    engines,
    exchange,
    finds,
    fuzzing,
    generation,
    luau,
    tutorial,
)
from scriptschema.commands.console import hold_standard_streams, report


class _Commands(click.Group):
    """Reports errors that no command handles: standard output that cannot be written to, say."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        hold_standard_streams()
        try:
            return super().main(*arguments, **options)
        except OSError as error:  # one with a file's name was reported where that was opened
            report(OSError(f"standard output: {error.strerror or error}"))
        except Exception as error:
            from scriptschema.files import FileError

            if not isinstance(error, FileError):
                raise
            report(error)
        sys.exit(1)


@click.group(
    cls=_Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        # Click itself takes no less than 50 columns, which a narrow terminal breaks once more.
        "terminal_width": max(20, min(100, shutil.get_terminal_size().columns) - 2),
    },
)
@click.version_option(package_name="scriptschema")
def main() -> None:
    """Luau programs as protobuf trees, for fuzzing and property tests."""


for _command in (
    tutorial.tutorial,
    exchange.schema,
    exchange.convert,
    exchange.show,
    generation.generate,
    corpora.corpus,
    luau.render_command,
    luau.check_command,
    luau.repair_command,
    luau.parse_command,
    fuzzing.reduce_command,
    engines.dictionary_command,
    engines.report_command,
    completion.completion,
    campaign.fuzz,
    finds.reproduce,
    finds.bisect_command,
    finds.export_command,
):
    main.add_command(_command)
