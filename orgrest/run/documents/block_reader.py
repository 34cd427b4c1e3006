"""Reads a block of an Org document as a task: its requests, variables and header arguments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from orgrest.http.parsing.dialects import read
from orgrest.http.values import RequestNames
from orgrest.model import Source
from orgrest.org import arguments as header
from orgrest.org import lisp
from orgrest.org.argument_syntax import value
from orgrest.org.blocks import VERB
from orgrest.org.data import to_text
from orgrest.regular import compiled
from orgrest.run.documents.expect import expected_status, expects_same
from orgrest.run.documents.noweb import Noweb
from orgrest.run.documents.verb import VerbTree, selected_part
from orgrest.run.outcomes import EvaluationError, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.org.argument_syntax import Value
    from orgrest.org.blocks import Arguments, Block
    from orgrest.org.data import Data
    from orgrest.org.document import OrgDocument
    from orgrest.run.documents.document_editor import DocumentEditor
    from orgrest.run.plan import StepId

    Resolve: TypeAlias = Callable[[Value, Arguments], Data]

_DEFINITION = compiled(r":([^\s:=]+)[ \t]*:?=")

_NOT_REPLACED = frozenset({"silent", "none", "append", "prepend"})


class BlockReader(RequestNames):
    """Reads the blocks of the document in a `DocumentEditor`.

    The names of requests are the `Verb-Store` properties of their headings.
    """

    def __init__(self, editor: DocumentEditor) -> None:
        self._editor = editor
        self._noweb: Noweb | None = None
        self._verb: VerbTree | None = None

    @property
    def verb(self) -> VerbTree:
        """The verb requests in the current version of the document."""
        if self._verb is None or self._verb.document is not self._editor.document:
            self._verb = VerbTree(self._editor.document, self._editor.file)
        return self._verb

    def requests_named(self, name: str, using: ParsedRequest) -> tuple[StepId, ...]:
        """Return a tuple with the identity of the block that stores its response as `name`."""
        del using
        block = self.verb.stores.get(name)
        step = None if block is None else self._editor.id_of(block)
        return () if step is None else (step,)

    def read(
        self,
        block: Block,
        step: StepId,
        arguments: Arguments,
        context: Context,
        resolve: Resolve,
        variables: Mapping[str, str] | None = None,
    ) -> Task:
        """Return the task for a block, or for the block that it calls.

        `resolve` returns a ``:var`` value that is not a plain string. `variables` override the
        block's ``:var`` variables. Raises OrgrestError if the block is invalid.
        """
        target = header.target_of(self._editor.document, block)
        values, literal, shown = _variables(arguments, variables or {}, context, resolve)
        body = self._editor.document.body(target, self._editor.file)
        if arguments.inserts_noweb:
            body = self._current_noweb().expand(body, resolve)
        digest = _digest(arguments, body.text, shown) if arguments.flag("cache") else None
        return self.task(block, step, arguments, body, values, literal, context, digest)

    def title(self, block: Block, document: OrgDocument) -> str:
        """Return the method and URL of a block's first request, as written in `document`."""
        target = header.target_of(document, block)
        requests = read(document.body(target), target.language).requests
        return requests[0].title if requests else ""

    def _current_noweb(self) -> Noweb:
        editor = self._editor
        if self._noweb is None or self._noweb.document is not editor.document:
            self._noweb = Noweb(editor.document, editor.file)
        return self._noweb

    def task(
        self,
        block: Block,
        step: StepId,
        arguments: Arguments,
        body: Source,
        values: Mapping[str, str],
        literal: Mapping[str, str],
        context: Context,
        digest: str | None = None,
    ) -> Task:
        """Return the task for the requests in a block's body.

        `values` and `literal` are passed to `Context.block`. `digest` is the block's hash. Raises
        OrgrestError if the block is invalid.
        """
        if "prologue" in arguments or "epilogue" in arguments:
            body = _with_prologue_and_epilogue(arguments, body, (block.line + 1, 0))
        target = header.target_of(self._editor.document, block)
        language = target.language
        document = read(body, language, arguments.variables, self._editor.document.text)
        parsed, notes = _requests(document, arguments)
        if language == VERB:
            selected_part(arguments)  # an error must be found before anything is sent
            parsed = tuple(self.verb.complete(request, target) for request in parsed)
            literal = self.verb.variables(target, context) | dict(literal)
        if "expect" in arguments:  # an error must be found before anything is sent
            expected_status(arguments, self._editor.file, block.line + 1)
            if expects_same(arguments) and _NOT_REPLACED & set(arguments.results):
                raise EvaluationError(
                    ":expect same requires a result that replaces the previous one (:results "
                    "replace)"
                )
        directory = context.directory
        if arguments.get("dir"):
            try:
                directory = directory / Path(arguments.get("dir")).expanduser()
            except RuntimeError as error:  # the home folder of this ~user does not exist
                raise EvaluationError(f":dir {arguments.get('dir')}: {error}") from error
        return Task(
            step,
            block.line + 1,
            block.name,
            parsed,
            context.block(values=values, literal=literal, directory=directory),
            arguments,
            block,
            language=language,
            digest=digest,
            notes=notes,
        )


def _variables(
    arguments: Arguments, variables: Mapping[str, str], context: Context, resolve: Resolve
) -> tuple[dict[str, str], dict[str, str], list[tuple[str, object]]]:
    """Return the values and literals for `Context.block`, and the (name, value) pairs to hash."""
    values: dict[str, str] = {}
    literal = dict(variables)
    shown: list[tuple[str, object]] = []
    for name, assignment in arguments.variables.items():
        if name in literal or context.inputs.overrides.get(name) is not None:
            continue
        _, assigned = value(assignment)
        if isinstance(assigned, str):
            values[name] = assigned
            shown.append((name, assigned))
        else:
            found = resolve(assigned, arguments)
            literal[name] = to_text(found)
            shown.append((name, found))
    return values, literal, shown


def _with_prologue_and_epilogue(
    arguments: Arguments, body: Source, first: tuple[int, int]
) -> Source:
    """Add the prologue and epilogue, whose lines get the position `first`."""
    text, places = body.text, list(body.places or ())
    prologue = arguments.get("prologue")
    if prologue:
        lines = [
            line
            for line in prologue.split("\n")
            if not ((match := _DEFINITION.match(line)) and match[1] in arguments.variables)
        ]
        text = "\n".join([*lines, text])
        places = [first] * len(lines) + places
    epilogue = arguments.get("epilogue")
    if epilogue:
        text = f"{text}\n{epilogue}"
        places = places + [first] * (epilogue.count("\n") + 1)
    return Source(text, body.file, places)


def _requests(
    document: Document, arguments: Arguments
) -> tuple[tuple[ParsedRequest, ...], tuple[str, ...]]:
    """Return the requests to send and the notices. Raises the document's first problem, if any."""
    if document.problems:
        raise document.problems[0]
    notes = [str(notice) for notice in document.notices]
    parsed = document.requests
    if arguments.get("requests") == "all":
        return parsed, tuple(notes)
    if more := len(parsed[1:]):
        several = f"{more} requests in this block are" if more > 1 else "request in this block is"
        notes.append(f"the other {several} not sent (use :requests all)")
    return parsed[:1], tuple(notes)


def _digest(arguments: Arguments, text: str, shown: Sequence[tuple[str, object]]) -> str:
    """Return the hash for `:cache`, computed from the same text as in Emacs."""
    parts = [arguments.get("prologue")] if arguments.get("prologue") else []
    parts += [f":{name} = {lisp.write(value, str)}" for name, value in shown]
    parts.append(text)
    if arguments.get("epilogue"):
        parts.append(arguments.get("epilogue"))
    return header.digest(arguments, "\n".join(parts), shown)
