"""The result of a block as text, in the form that its arguments require."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.org import lisp
from orgrest.org.argument_syntax import ValueReference, call_arguments, value
from orgrest.org.blocks import ALL_LANGUAGES, VERB
from orgrest.rendering import layout
from orgrest.run.documents.references import EMACS_LISP, not_run
from orgrest.run.documents.verb import selected_part
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orgrest.org.blocks import Arguments, Block
    from orgrest.rendering.results import Rendered
    from orgrest.run.documents.edited_document import EditedDocument
    from orgrest.run.documents.references import References
    from orgrest.run.outcomes import Outcome


@classes.define
class Written:
    """The responses of a block as text, ready to be inserted.

    `values` contains the bodies, or the parts that verb's ``:op`` selects. `blocks` contains the
    responses in Org blocks. `shown` contains those responses that are not only links. `files`
    contains (path, content) pairs for linked files. If `links` is true, each response is only a
    link.
    """

    values: list[str] = classes.field(factory=list)
    blocks: list[str] = classes.field(factory=list)
    shown: list[Rendered] = classes.field(factory=list)
    files: list[tuple[Path, bytes]] = classes.field(factory=list)
    links: bool = False


def written(
    edited: EditedDocument, block: Block, arguments: Arguments, outcome: Outcome, language: str
) -> Written:
    """Return the responses of an outcome as text, or as links to files.

    A long response is truncated and gets a link to its file. Lists and tables cannot be
    truncated, so only the link is inserted. Raises OrgrestError if a body that would only be
    linked was not read completely, because nothing would show that its file is incomplete.
    """
    result = Written()
    whole = {"file", "list", "table", "vector"} & set(arguments.results)
    for exchange in outcome.exchanges:
        shown = exchange.rendered
        if shown is None:
            continue
        if shown.data is not None or "file" in arguments.results:
            only_linked = whole or not shown.is_cut
            response = exchange.response
            if only_linked and response is not None and response.unread:
                raise EvaluationError(f"could not save the response: {response.unread}")
            from orgrest.run.documents import file_results

            count = len(result.files)
            link, file = file_results.make(edited, block, arguments, exchange, count)
            result.files += file
            if only_linked:
                result.links = True
                result.values.append(link)
                result.blocks.append(link)
                continue
            shown = classes.evolve(shown, link=link.rstrip("\n"))
        result.values.append(
            shown.as_verb(selected_part(arguments)) if language == VERB else shown.value
        )
        result.blocks.append(shown.block())
        result.shown.append(shown)
    return result


def post(references: References, call: str, written: Written) -> list[str]:
    """Return the results of the block that `call`, the value of ``:post``, names.

    In its arguments, ``*this*`` is replaced by the joined values. `references` looks up the block
    and its other arguments.
    """
    _, reference = value(f"post={call}")
    if not isinstance(reference, ValueReference):
        raise EvaluationError(f":post must name a block, as in name(variable=*this*); found {call}")
    block = references.edited.document.block_named(reference.name)
    if block is None:
        raise EvaluationError(f":post: no source block named {reference.name}")
    if written.links:
        raise EvaluationError(
            ":post cannot process this result, because it is a link to a file: remove :post, "
            "or use a result without a file"
        )
    variables: dict[str, str] = {}
    for part in call_arguments(reference.arguments or ""):
        name, _, text = part.partition("=")
        if text.strip() == "*this*":
            variables[name.strip()] = "".join(written.values)
        else:
            variables.update([references.argument(part)])
    if block.language in ALL_LANGUAGES:
        outcome = references.outcome(block, variables)
        shown = (
            exchange.rendered for exchange in outcome.exchanges if exchange.rendered is not None
        )
        return [response.value for response in shown if response.uncut()]
    if block.language not in EMACS_LISP:
        raise EvaluationError(f":post: {not_run(block)}")
    text = lisp.understand(references.edited.document.body(block).text, variables)
    return [text if text.endswith("\n") or not text else text + "\n"]


def inline_text(arguments: Arguments, values: Sequence[str], language: str) -> str:
    """Return the text that replaces an inline block's result.

    Raises EvaluationError if the text has more than one line.
    """
    text = "".join(values).rstrip("\n")
    shown = layout.inline(arguments, text, language)
    if shown is None:
        lines = text.count("\n") + 1
        what = (
            f"the response has {lines}" if lines > 1 else "this response cannot be inserted safely"
        )
        raise EvaluationError(
            f"an inline block can only show one line, but {what}: select a part with :jq, or "
            "use a source block"
        )
    return shown
