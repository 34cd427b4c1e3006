"""Evaluates one block for Org Babel. Emacs parses the block and inserts the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import Source
from orgrest.org.arguments import of_block
from orgrest.org.blocks import INLINE
from orgrest.org.placing import check_open, element_end, place, place_inline, room_for
from orgrest.org.results import result_of
from orgrest.org.text import Edit
from orgrest.rendering import layout
from orgrest.rendering.masking import mask_message
from orgrest.run.documents.expect import expects_same, judge_same
from orgrest.run.documents.file_results import linked
from orgrest.run.documents.org_file import OrgFile
from orgrest.run.documents.result_text import inline_text, written
from orgrest.run.documents.selection import id_of
from orgrest.run.outcomes import EvaluationError, Outcome, located

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orgrest.org.blocks import Arguments, Block
    from orgrest.org.document import OrgDocument
    from orgrest.run.outcomes import Task
    from orgrest.run.run import Run

_SILENT = frozenset({"silent", "none"})
"""The words in `:results` that Org adds if another block uses the value."""


@classes.frozen
class Reply:
    """The result of a block for Babel, and the outcome of the evaluation.

    The Babel function returns `value`. If `text` is not None, Org inserts `text` instead,
    unchanged. `room` is the edit that makes room for the result (see `placing.room_for`). It is
    None if Org itself removes the right text.
    """

    value: layout.Returned
    outcome: Outcome
    text: str | None = None
    room: Edit | None = None


@classes.frozen
class BabelBlock:
    """A block as parsed by Org, at a `line` counted from 1.

    `text` is the body of the block with all references expanded. `values` and `literal` are its
    ``:var`` variables (see `Context`).
    """

    line: int
    text: str
    arguments: Arguments
    values: Mapping[str, str]
    literal: Mapping[str, str]


def evaluate(run: Run, call: BabelBlock, file: str) -> Reply:
    """Evaluate a block of the run's document.

    Raises OrgrestError if the evaluation fails, or if `:expect same` requires another result.
    """
    org_file = run.document
    if not isinstance(org_file, OrgFile):
        raise EvaluationError("Babel only evaluates blocks in Org documents", file=file)
    block = org_file.edited.document.block_at(call.line)
    if block is None:
        raise EvaluationError("no request block at this position", file=file, line=call.line)
    try:
        task = _task(org_file, block, call)
        outcome = run.send(task)
        if outcome.state == "failed" and outcome.reason is not None:
            raise outcome.reason.with_traceback(None)
        return _reply(org_file, block, task, run.completed(outcome))
    except Exception as error:
        problem = located(error, file, call.line)
        problem.reason = mask_message(problem.reason, run.context.secrets.texts)
        raise problem from None
    finally:
        run.context.close()


def _task(org_file: OrgFile, block: Block, call: BabelBlock) -> Task:
    org = org_file.edited.document
    target = (block.call and org.block_named(block.call.name)) or block
    body = org.body(target)
    places = [(block.line + 1, 0)] * (call.text.count("\n") + 1)
    if body.text.rstrip("\n") == call.text.rstrip("\n"):
        places = [*(body.places or ()), *places][: len(places)]
    source = Source(call.text, org_file.edited.file, places)
    step = id_of(block, org_file.edited.file, block.start)
    added = _SILENT.difference(of_block(org, block).results)  # by Org
    inserted = tuple(word for word in call.arguments.results if word not in added)
    arguments = classes.evolve(call.arguments, results=inserted)  # `:expect same` is allowed
    org_file.check_file(block, step, arguments)
    task = org_file.task_from_body(
        block, target, step, arguments, source, call.values, call.literal
    )
    return classes.evolve(task, line=call.line, arguments=call.arguments)


def _reply(org_file: OrgFile, block: Block, task: Task, outcome: Outcome) -> Reply:
    outcome = classes.evolve(outcome, files=())  # saved responses have already been written
    org = org_file.edited.document
    arguments, language = task.arguments, task.language
    words = arguments.results
    responses = [
        exchange.rendered for exchange in outcome.exchanges if exchange.rendered is not None
    ]
    if _SILENT & set(words):
        outcome = _unchecked(outcome, arguments, "the result is not inserted")
        value = layout.shaped(arguments, responses[-1].uncut()) if responses else None
        return Reply(value, outcome)
    if block.kind in INLINE:
        # Org inserts raw text unchanged, and raw is its default for these languages.
        others = tuple(word for word in words if word != "raw")
        values = [rendered.uncut() for rendered in responses]
        text = inline_text(classes.evolve(arguments, results=others), values, language)
        outcome = _compared(org, task, outcome, place_inline(org, block, text))
        if "raw" in words and "wrap" not in arguments:
            return Reply(f"{{{{{{results({text})}}}}}}", outcome)
        return Reply("".join(values).rstrip("\n"), outcome)
    result = written(org_file.edited, block, arguments, outcome, language)
    outcome = classes.evolve(outcome, files=tuple(result.files))
    if result.links:
        shown = layout.RenderedResult("".join(result.blocks))
    else:
        shown = layout.show(arguments, result.values, result.blocks, language)
    edit = place(org, block, shown.text, prose=shown.prose)
    check_open(org, edit, block)
    room = _room(org, block, arguments, shown)
    if not arguments.get("post"):
        outcome = _with_notes(outcome, shown.notes)
        outcome = _compared(org, task, outcome, edit)
        return Reply(None, outcome, shown.text, room)
    outcome = _unchecked(outcome, arguments, "Org applies :post to the result")
    if "file" in words:  # Org creates the link, with the path of :file if given
        link = linked(result.values[0])
        return Reply(None if arguments.get("file") else link, outcome, room=room)
    if result.links:
        return Reply(shown.text, outcome, room=room)
    texts = [rendered.text for rendered in result.shown]
    value, notes = layout.returned(arguments, result.values, result.blocks, texts, language)
    return Reply(value, _with_notes(outcome, notes), room=room)


def _with_notes(outcome: Outcome, notes: tuple[str, ...]) -> Outcome:
    return classes.evolve(outcome, notes=outcome.notes + notes)


def _unchecked(outcome: Outcome, arguments: Arguments, why: str) -> Outcome:
    """Return the outcome, with a note if `:expect same` is set, which is not checked here."""
    if not expects_same(arguments):
        return outcome
    return _with_notes(outcome, (f":expect same was not checked, because {why}",))


def _compared(org: OrgDocument, task: Task, outcome: Outcome, edit: Edit) -> Outcome:
    """Return the outcome, with a note if `:expect same` is set and the old result is missing.

    Raises EvaluationError if the document has another result than the one that `edit` inserts.
    """
    if not expects_same(task.arguments):
        return outcome
    old = org.text[edit.start : edit.end]
    verdict = judge_same(task, outcome.files, old, edit.text)
    if verdict.held:
        return outcome
    reason = f":expect same: {verdict.reason}"
    if old.strip():
        raise EvaluationError("\n".join([reason, *verdict.difference]))
    return _with_notes(outcome, (reason,))


def _room(
    org: OrgDocument, block: Block, arguments: Arguments, shown: layout.RenderedResult
) -> Edit | None:
    """Return the edit that makes room for a result, or None if Org removes the right text."""
    result = result_of(org, block)
    digest = "" if arguments.get("cache") == "yes" else None  # differs from any old hash
    if result is not None and digest is None and {"append", "prepend"} & set(arguments.results):
        return None
    room = room_for(org, block, result, shown.text, digest=digest, prose=shown.prose)
    if result is not None and digest is not None:
        # Where the hash has changed, Org keeps captions, but removes an element of any type.
        return None if room == Edit(result.start, element_end(org, result), "") else room
    return room
