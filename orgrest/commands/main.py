"""The command line: ``orgrest FILE...``, and the commands beside it (``orgrest demo`` ...).

The modules of this folder alone print, ask and write documents. What they say about their work goes
to standard error; documents, responses, differences, a dry run's requests and JSON to standard
output. A command's module is imported when it is called.

Exit status: 0 when all went well; 1 when a request failed, a check found changes or a document
could not be saved; 2 for wrong usage or a file that cannot be read; 130 after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from orgrest.commands.completion import FIRST_WORD
from orgrest.commands.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

# Where each command is defined, under its name.
_MODULES = {
    "test": "orgrest.commands.test",
    "report": "orgrest.commands.reports",
    "demo": "orgrest.commands.demo",
    "curl": "orgrest.commands.curl",
    "complete": "orgrest.commands.editor",
    "lsp": "orgrest.commands.editor",
    "emacs": "orgrest.commands.editor",
    "babel": "orgrest.commands.editor",
    "completion": "orgrest.commands.completion",
}
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Program(click.Group):
    """A group whose commands are imported when they are called, and which is a command itself.

    The first word says which: where it is no command's name, all words are `evaluate`'s.
    """

    allow_interspersed_args = True  # options may follow a FILE

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the ones that everybody needs first."""
        del ctx
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported now."""
        del ctx
        module = _MODULES.get(cmd_name)
        return None if module is None else getattr(import_module(module), cmd_name)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what may be written behind the program's name."""
        return click.Command.collect_usage_pieces(self, ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, unless they are a command's."""
        if args and args[0] in _MODULES:
            ctx.meta[__name__] = args
            if ctx.resilient_parsing:  # a shell completes the command's words
                ctx.args = args
            return []
        ctx.meta[FIRST_WORD] = not args
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run what the arguments say."""
        if __name__ not in ctx.meta:
            return click.Command.invoke(self, ctx)
        name, *rest = ctx.meta[__name__]
        command = self.get_command(ctx, name)
        if command is None:
            raise click.UsageError(f"there is no command {name}")
        # Without `parent=ctx`, as usage would name that one's FILE arguments.
        with command.make_context(f"{ctx.info_name} {name}", rest, **_SETTINGS) as inner:
            return command.invoke(inner)


program = _Program(
    "orgrest",
    params=evaluate.params,
    callback=evaluate.callback,
    help=evaluate.help,
    context_settings=_SETTINGS,
    no_args_is_help=False,
)
click.version_option(package_name="scriptschema")(program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by who called us
            setattr(sys, stream, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - stays open
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="backslashreplace")
    try:
        try:
            program.main(arguments, prog_name="orgrest")
        finally:
            if not sys.stdout.closed:  # the language server closes it
                sys.stdout.flush()
    except OSError as error:  # nobody reads, or the disk is full
        if not isinstance(error, BrokenPipeError):
            where = "cannot write" if error.filename is None else error.filename
            with contextlib.suppress(OSError):
                os.write(2, f"orgrest: {where}: {error.strerror or error}\n".encode())
        for output in (sys.stdout, sys.stderr):  # so that nothing is tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        sys.exit(1)
