"""The round-trip oracles: `parse` and external printers must preserve a rendered program."""

from __future__ import annotations

from typing import Final

import attrs

from scriptschema.base import walk
from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.command import CommandTarget
from scriptschema.fuzzing.targets.description import TargetError
from scriptschema.fuzzing.targets.outcome import Outcome, shortened
from scriptschema.luau.parse import COMMENTS, ParseError, ParseResult, parse
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ExprCall, TypeTableItem
from scriptschema.versions import TODAY

KIND: Final = "round-trip"
DIFFERENT: Final = "a different tree"
INVALID: Final = "not valid Luau"
"""The end of the detail of a signature if the text that a printer prints is not valid. If it is
another program, the detail ends with `DIFFERENT`."""


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
        return Verdict(Signature(KIND, f"parse: {DIFFERENT}"), "`parse` returns a different tree")
    return None


def _as_any_printer(result: ParseResult) -> Sources:
    """Return a tree's sources without the differences that printers may introduce."""
    for node, _ in walk(result.tree):
        if isinstance(node, ExprCall):
            node.parenless = None
        elif isinstance(node, TypeTableItem) and node.key_string is None:
            node.key_string = result.names.field(node.key)
    return render_module_set(result.tree, names=result.names)


def by_command(command: CommandTarget, sources: Sources) -> Verdict | None:
    """Return a verdict if a pretty-printing command changes the program or fails on it.

    Returns None if the command rejects the program with an ordinary error.
    """
    name, printed = command.description.name, run_on(command, sources)
    if printed.kind != outcome.OK:
        return failure("printer", name, KIND, printed)
    try:
        original, reparsed = (parse(text, luau=TODAY) for text in (sources.program, printed.output))
    except ParseError as error:
        # The parser's message depends on the code around the wrong text.
        text = f"the output of {name} is {INVALID}: {error}"
        return Verdict(Signature(KIND, f"printer: {INVALID}"), text, None, _shown(printed))
    if _as_any_printer(original) != _as_any_printer(reparsed):
        text = f"the output of {name} has {DIFFERENT}"
        return Verdict(Signature(KIND, f"printer: {DIFFERENT}"), text, None, _shown(printed))
    return None


def _shown(printed: Outcome) -> str:
    return shortened(printed.output) or "(nothing)"


def updated(verdict: Verdict) -> Signature:
    """Return a verdict's signature in today's form.

    For output that is not valid Luau, earlier versions named what the parser said, or the same as
    for a different program.
    """
    signature = verdict.signature
    role, _, detail = signature.detail.partition(": ")
    ended = detail.partition(": ")[0] in outcome.BROKEN | outcome.LIMITS
    is_valid = detail == DIFFERENT and f" is {INVALID}: " not in verdict.message
    if signature.kind != KIND or role != "printer" or ended or is_valid:
        return signature
    return attrs.evolve(signature, detail=f"printer: {INVALID}")


def failure(role: str, name: str, kind: str, result: Outcome) -> Verdict | None:
    """Return a verdict of this `kind` if a command crashed, failed internally or did not finish.

    `role` says what the command is for, and `result` is its outcome.
    """
    if result.kind not in outcome.BROKEN | outcome.LIMITS:
        return None
    detail = f"{role}: {result.kind}"
    if result.kind not in outcome.LIMITS:
        detail += f": {normalisation.message(result.error)}"
    return Verdict(Signature(kind, detail), f"{name}: {result.kind}: {result.error.strip()[:500]}")


def run_on(command: CommandTarget, sources: Sources) -> Outcome:
    """Run a command on a program, and return the outcome. Raises TargetError."""
    command.submit(sources, command.description.seconds)
    [result] = command.collect()
    return result


def try_command(role: str, command: CommandTarget, sources: Sources) -> None:
    """Run a command on a program. Raises TargetError, with its output, if it does not succeed.

    `role` says in the message what the command is for.
    """
    result = run_on(command, sources)
    if result.kind != outcome.OK:
        wrote = result.report or "\n".join(filter(None, (result.error, result.output)))
        end = f"ended with status {result.status}"
        if result.kind == outcome.HANG:
            end, wrote = f"was {result.error}", result.report
        raise TargetError(
            f"the {role} {command.description.name} does not work: for the test program "
            f"{sources.program.strip()!r}, it {end}\n"
            f"{shortened(wrote.strip()) or '(it wrote nothing)'}"
        )
