"""Checks the requests in verb's language, in headings and blocks, as a run prepares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.values import Helpers, RequestNames
from orgrest.http.values.context import NeededError
from orgrest.http.verb import expand
from orgrest.model import OrgrestError
from orgrest.org.argument_syntax import value
from orgrest.org.arguments import of_block
from orgrest.org.blocks import VERB
from orgrest.rendering import masking
from orgrest.run.documents.verb import VerbTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.http.values import Context
    from orgrest.org.blocks import Block
    from orgrest.org.document import OrgDocument

_ANY = "http://unknown"
"""Replaces each value that only a run provides. It is valid as a URL, in URLs and in headers, but
not as the charset of a body."""


def of_verb(analysis: Analysis, document: OrgDocument) -> Iterator[OrgrestError]:
    """Yield the first error in each request of verb, with its offset in the document."""
    tree = VerbTree(document, "")
    context = analysis.new_context()
    context.names = RequestNames(frozenset(tree.stores))
    context.helpers = Helpers(prompt=lambda *_: _ANY)
    for block in analysis.sent:
        if block.language != VERB or block.call is not None:
            continue
        try:
            _check(block, tree, context)
        except NeededError:
            continue  # the rest of this request depends on a response
        except OrgrestError as error:
            if error.code == "charset" and _ANY in error.reason:
                continue
            line = block.line if error.line is None else error.line - 1
            error.offset = document.offset(line) + max((error.column or 1) - 1, 0)
            error.code = error.code or "verb"
            error.reason = masking.mask_message(error.reason, context.secrets.texts)
            yield error


def _check(block: Block, tree: VerbTree, context: Context) -> None:
    arguments = of_block(tree.document, block)
    if arguments.inserts_noweb or "prologue" in arguments or "epilogue" in arguments:
        return  # the request is not complete here
    given = ((name, value(assignment)[1]) for name, assignment in arguments.variables.items())
    values = {name: text if isinstance(text, str) else _ANY for name, text in given}
    prelude = tree.variables(block, context)
    expand(tree.complete(tree.read(block), block), context.block(values, prelude))
