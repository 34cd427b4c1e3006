"""The round-trip oracles: `parse` and external printers must preserve a rendered program."""

from __future__ import annotations

import subprocess
import time
from typing import Final

from scriptschema.base import walk
from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import TargetError
from scriptschema.fuzzing.targets.leftovers import Folder
from scriptschema.fuzzing.targets.processes import Watched, split, start, text_of, watch
from scriptschema.luau.parse import COMMENTS, ParseError, ParseResult, parse
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ExprCall, TypeTableItem
from scriptschema.versions import TODAY

KIND: Final = "round-trip"
_FILE: Final = "{file}"


def own(sources: Sources, plain: Sources | None = None) -> Verdict | None:
    """Return a verdict if `parse(render(tree))` is not the same tree, otherwise None.

    If `sources` were rendered with a style, `plain` contains them in the plain style. Comments that
    a style adds may be lost.
    """
    plain = plain or sources
    try:
        parsed = parse(plain.program, module=plain.module, luau=TODAY)
        same = not parsed.losses and render_module_set(parsed.tree, names=parsed.names) == plain
        if sources != plain:
            styled = parse(sources.program, module=sources.module, luau=TODAY)
            same &= _as_any_printer(styled) == _as_any_printer(parsed)
            same &= {loss.what for loss in styled.losses} <= COMMENTS
    except ParseError as error:
        problem = normalisation.message(str(error))
        return Verdict(
            Signature(KIND, f"parse: {problem}"), f"`parse` rejects the output of `render`: {error}"
        )
    except Exception as error:  # any exception is a bug in scriptschema
        name = type(error).__name__
        return Verdict(Signature(KIND, f"parse: {name}"), f"`parse` fails with {name}: {error}")
    if not same:
        return Verdict(
            Signature(KIND, "parse: a different tree"), "`parse` returns a different tree"
        )
    return None


def _as_any_printer(result: ParseResult) -> Sources:
    """Return a tree's sources without the differences that printers may introduce."""
    for node, _ in walk(result.tree):
        if isinstance(node, ExprCall):
            node.parenless = None
        elif isinstance(node, TypeTableItem) and node.key_string is None:
            node.key_string = result.names.field(node.key)
    return render_module_set(result.tree, names=result.names)


def by_command(command: str, sources: Sources, seconds: float, megabytes: int) -> Verdict | None:
    """Return a verdict if a pretty-printing command changes the program, otherwise None.

    The command contains `{file}` or reads standard input. Returns None if the command fails or
    exceeds the time limit.
    """
    printed = output_of(command, sources.program, seconds, megabytes)
    if printed is None:
        return None
    try:
        original, reparsed = parse(sources.program, luau=TODAY), parse(printed, luau=TODAY)
    except ParseError as error:
        what = normalisation.message(str(error))
        text = f"the output of {command} is not valid Luau: {error}"
        return Verdict(Signature(KIND, f"printer: {what}"), text)
    if _as_any_printer(original) != _as_any_printer(reparsed):
        text = f"the output of {command} is a different program"
        return Verdict(Signature(KIND, "printer: a different tree"), text)
    return None


def output_of(command: str, source: str, seconds: float, megabytes: int) -> str | None:
    """Return a command's output for a source, or None if it fails or exceeds the time limit."""
    watched = _run_on(command, source, seconds, megabytes)
    return text_of(watched.output) if _succeeded(watched) else None


def try_command(name: str, command: str, source: str, seconds: float, megabytes: int) -> None:
    """Run a command on a source. Raises TargetError, with its output, if it does not succeed.

    `name` says in the message what the command is.
    """
    watched = _run_on(command, source, seconds, megabytes)
    if not _succeeded(watched):
        texts = (text_of(data).strip() for data in (watched.errors, watched.output))
        wrote = "\n".join(filter(None, texts)) or "(it wrote nothing)"
        end = f"was still running after {seconds:g} s"
        if not watched.hung:
            end = f"ended with status {watched.status}"
        raise TargetError(
            f"the {name} {command} does not work: for the test program {source.strip()!r}, it "
            f"{end}\n{wrote}"
        )


def _succeeded(watched: Watched) -> bool:
    return watched.status == 0 and not watched.hung


def _run_on(command: str, source: str, seconds: float, megabytes: int) -> Watched:
    with Folder() as folder:
        path = folder.path / "program.luau"
        path.write_bytes(source.encode("utf-8", "surrogateescape"))
        words = [word.replace(_FILE, str(path)) for word in split(command)]
        with path.open("rb") as program:
            stdin = subprocess.DEVNULL if _FILE in command else program.fileno()
            process = start(words, megabytes, stdin=stdin, stderr=subprocess.PIPE)
        return watch(process, time.monotonic(), seconds, 1 << 24)
