"""The command line: ``orgrest FILE...`` and the subcommands (``orgrest demo`` ...).

Only the modules of this folder print, prompt and write documents. Messages go to standard error;
documents, responses, differences, the requests of a dry run and JSON go to standard output. A
command's module is imported when the command is called.

Exit status: 0 on success; 1 if a request failed, a check found changes or a document could not be
saved; 2 for wrong usage or an unreadable file; 130 after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import click

from orgrest import __version__
from orgrest.commands.completion import FIRST_WORD
from orgrest.commands.evaluate import evaluate
from orgrest.commands.sections import Sectioned

if TYPE_CHECKING:
    from collections.abc import Sequence

# Maps each command's name to its definition.
_MODULES = {
    "test": "orgrest.commands.test",
    "report": "orgrest.commands.reports",
    "history": "orgrest.commands.history",
    "diff": "orgrest.commands.history",
    "logins": "orgrest.commands.logins",
    "demo": "orgrest.commands.demo",
    "tutorial": "orgrest.commands.tutorial",
    "format": "orgrest.commands.formatting",
    "import": "orgrest.commands.importing",
    "export": "orgrest.commands.exporting",
    "complete": "orgrest.commands.editor",
    "lsp": "orgrest.commands.editor",
    "emacs": "orgrest.commands.editor",
    "babel": "orgrest.commands.editor",
    "completion": "orgrest.commands.completion",
}
_SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    # Click itself takes no less than 50 columns, which a narrow terminal breaks once more.
    "terminal_width": max(20, min(100, shutil.get_terminal_size().columns) - 2),
}


class _Program(click.Group, Sectioned):
    """A group that imports its commands on demand, and that is also a command itself.

    If the first word is not the name of a command, all words are arguments of `evaluate`.
    """

    allow_interspersed_args = True  # options may follow a FILE

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most common ones first."""
        del ctx
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        del ctx
        module = _MODULES.get(cmd_name)
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        return None if module is None else getattr(import_module(module), name)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the words after the program's name in the usage line."""
        return click.Command.collect_usage_pieces(self, ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, unless they belong to a subcommand."""
        if args and args[0] in _MODULES:
            ctx.meta[__name__] = args
            if ctx.resilient_parsing:  # shell completion of a subcommand's words
                ctx.args = args
            return []
        ctx.meta[FIRST_WORD] = not args
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand, or `evaluate`."""
        if __name__ not in ctx.meta:
            return click.Command.invoke(self, ctx)
        name, *rest = ctx.meta[__name__]
        command = self.get_command(ctx, name)
        if command is None:
            raise click.UsageError(f"there is no command {name}")
        # Without `parent=ctx`, whose FILE arguments would appear in the usage line.
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
click.version_option(__version__)(program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by the calling process
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
    except OSError as error:  # closed pipe or full disk
        if not isinstance(error, BrokenPipeError):
            where = "cannot write" if error.filename is None else error.filename
            with contextlib.suppress(OSError):
                os.write(2, f"orgrest: {where}: {error.strerror or error}\n".encode())
        for output in (sys.stdout, sys.stderr):  # or Python would flush them again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        sys.exit(1)
