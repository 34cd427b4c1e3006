"""The round-trip oracles: printed programs must be read unchanged by `parse` and other tools."""

from __future__ import annotations

import subprocess
import time
from typing import Final

from scriptschema.base import walk
from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.leftovers import Folder
from scriptschema.fuzzing.targets.processes import split, start, text_of, watch
from scriptschema.luau.parse import COMMENTS, ParseError, ParseResult, parse
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ExprCall, TypeTableItem
from scriptschema.versions import TODAY

KIND: Final = "round-trip"
_FILE: Final = "{file}"


def own(sources: Sources, plain: Sources | None = None) -> Verdict | None:
    """Return the verdict on `parse(render(tree)) == tree`.

    If `sources` are in a style, which adds comments, `plain` are the sources without it.
    """
    plain = plain or sources
    try:
        found = parse(plain.program, module=plain.module, luau=TODAY)
        same = not found.losses and render_module_set(found.tree, names=found.names) == plain
        if sources != plain:
            styled = parse(sources.program, module=sources.module, luau=TODAY)
            same &= _as_any_printer(styled) == _as_any_printer(found)
            same &= {loss.what for loss in styled.losses} <= COMMENTS
    except ParseError as error:
        said = normalisation.message(str(error))
        return Verdict(
            Signature(KIND, f"parse: {said}"), f"parse refuses what render wrote: {error}"
        )
    except Exception as error:  # any exception is a bug in scriptschema
        name = type(error).__name__
        return Verdict(Signature(KIND, f"parse: {name}"), f"parse ends with {name}: {error}")
    if not same:
        return Verdict(Signature(KIND, "parse: another tree"), "parse reads another tree")
    return None


def _as_any_printer(result: ParseResult) -> Sources:
    """Return the sources of a tree, without distinctions that printers are free to change.

    Calls have parentheses, and properties of table types brackets: `f("x")`, `["x"]: T`.
    """
    for node, _ in walk(result.tree):
        if isinstance(node, ExprCall):
            node.parenless = None
        elif isinstance(node, TypeTableItem) and node.key_string is None:
            node.key_string = result.names.field(node.key)
    return render_module_set(result.tree, names=result.names)


def by_command(command: str, sources: Sources, seconds: float, megabytes: int) -> Verdict | None:
    """Return the verdict on a command that reads a source (`{file}` or stdin) and prints it."""
    said = output_of(command, sources.program, seconds, megabytes)
    if said is None:
        return None
    try:
        one, two = parse(sources.program, luau=TODAY), parse(said, luau=TODAY)
    except ParseError as error:
        what = normalisation.message(str(error))
        text = f"what {command} prints is no Luau: {error}"
        return Verdict(Signature(KIND, f"printer: {what}"), text)
    if _as_any_printer(one) != _as_any_printer(two):
        text = f"what {command} prints is another program"
        return Verdict(Signature(KIND, "printer: another tree"), text)
    return None


def output_of(command: str, source: str, seconds: float, megabytes: int) -> str | None:
    """Return a command's output for a source; None if it fails or exceeds the time limit."""
    status, output = run_on(command, source, seconds, megabytes)
    return output if status == 0 else None


def run_on(command: str, source: str, seconds: float, megabytes: int) -> tuple[int | None, str]:
    """Run a command on a source; return its status (None after a timeout) and its output.

    Raises TargetError if the command cannot be run.
    """
    with Folder() as folder:
        path = folder.path / "program.luau"
        path.write_bytes(source.encode("utf-8", "surrogateescape"))
        words = [word.replace(_FILE, str(path)) for word in split(command)]
        with path.open("rb") as program:
            stdin = subprocess.DEVNULL if _FILE in command else program.fileno()
            process = start(words, megabytes, stdin=stdin, stderr=subprocess.PIPE)
        found = watch(process, time.monotonic(), seconds, 1 << 24)
    return None if found.hung else found.status, text_of(found.output)
