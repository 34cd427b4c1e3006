"""Parses a block of an Org document into a task: its requests and header arguments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from orgrest.http.parsing.dialects import read
from orgrest.model import Source
from orgrest.org import arguments as header
from orgrest.org import lisp
from orgrest.org.argument_syntax import value
from orgrest.org.blocks import VERB
from orgrest.run.documents.expect import expected_status, expects_same
from orgrest.run.documents.noweb import Noweb
from orgrest.run.documents.verb import VerbTree, part_asked
from orgrest.run.outcomes import EvaluationError, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.org.argument_syntax import Value
    from orgrest.org.arguments import Arguments
    from orgrest.org.blocks import Block
    from orgrest.org.document import Document as OrgDocument
    from orgrest.run.documents.document_editor import DocumentEditor
    from orgrest.run.plan import StepId

    Resolve: TypeAlias = Callable[[Value, Arguments], str]

_DEFINITION = re.compile(r":([^\s:=]+)[ \t]*:?=")

_NOT_REPLACED = frozenset({"silent", "none", "append", "prepend"})


class BlockReader:
    """Reads the blocks of a document editor."""

    def __init__(self, editor: DocumentEditor, file: str) -> None:
        """Read the blocks of a document editor of the file called `file`."""
        self._editor = editor
        self._file = file
        self._noweb: Noweb | None = None
        self._verb: VerbTree | None = None

    @property
    def verb(self) -> VerbTree:
        """The verb requests in the current version of the document."""
        if self._verb is None or self._verb.document is not self._editor.document:
            self._verb = VerbTree(self._editor.document, self._file)
        return self._verb

    def read(
        self,
        block: Block,
        step: StepId,
        arguments: Arguments,
        context: Context,
        resolve: Resolve,
        given: Mapping[str, str] | None = None,
    ) -> Task:
        """Read a block, or the one that a call names, with its variables, for a run in `context`.

        `resolve` returns the value of a ``:var``. `given` are values that override its ``:var``s.
        Raises OrgrestError.
        """
        target = header.target_of(self._editor.document, block)
        values, literal, shown = _variables(arguments, given or {}, context, resolve)
        body = self._editor.document.body(target)
        text, places = body.text, list(body.places)
        if arguments.flag("noweb") and arguments.get("noweb") != "tangle":
            text, places = self._current_noweb().expand(text, places, resolve)
        digest = _digest(arguments, text, shown) if arguments.flag("cache") else None
        return self.task(block, step, arguments, text, places, values, literal, context, digest)

    def title(self, block: Block, document: OrgDocument) -> str:
        """Return the method and URL of the first request in a block of a document, as written."""
        target = header.target_of(document, block)
        found = read(Source(document.body(target).text), target.language).requests
        return found[0].title if found else ""

    def _current_noweb(self) -> Noweb:
        if self._noweb is None or not self._noweb.is_of(self._editor):
            self._noweb = Noweb(self._editor, self._file)
        return self._noweb

    def task(
        self,
        block: Block,
        step: StepId,
        arguments: Arguments,
        text: str,
        places: list[tuple[int, int]],
        values: Mapping[str, str],
        literal: Mapping[str, str],
        context: Context,
        digest: str | None = None,
    ) -> Task:
        """Parse the requests in the body of a block, with its context.

        `text` is the body, `places` those of `blocks.Body`; `values` and `literal` are its
        variables, as in `Context.block`; `digest` is its hash. Raises OrgrestError.
        """
        if "prologue" in arguments or "epilogue" in arguments:
            text, places = _between(arguments, text, places, (block.line + 1, 0))
        source = Source(text, file=self._file, places=places)
        target = header.target_of(self._editor.document, block)
        language = target.language
        document = read(source, language, arguments.variables, self._editor.document.text)
        parsed, notes = _requests(document, arguments)
        if language == VERB:
            part_asked(arguments)  # before anything is sent
            parsed = tuple(self.verb.complete(one, target) for one in parsed)
            literal = self.verb.variables(target, context) | dict(literal)
        if "expect" in arguments:  # before anything is sent
            expected_status(arguments, self._file, block.line + 1)
            if expects_same(arguments) and _NOT_REPLACED & set(arguments.results):
                raise EvaluationError(":expect same is for a result that replaces the old one")
        directory = context.directory
        if arguments.get("dir"):
            try:
                directory = directory / Path(arguments.get("dir")).expanduser()
            except RuntimeError as error:  # a ~user without a home
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
    arguments: Arguments, given: Mapping[str, str], context: Context, resolve: Resolve
) -> tuple[dict[str, str], dict[str, str], list[tuple[str, object]]]:
    """Return the effective ``:var``s, as in `Context.block`, and all ``:var``s as in Org."""
    values: dict[str, str] = {}
    literal = dict(given)
    shown: list[tuple[str, object]] = []
    for name, assignment in arguments.variables.items():
        if name in literal or context.inputs.overrides.get(name) is not None:
            continue
        _, found = value(assignment)
        if isinstance(found, str):
            values[name] = found
            shown.append((name, found))
        else:
            literal[name] = resolve(found, arguments)
            shown.append((name, found if isinstance(found, lisp.Number) else literal[name]))
    return values, literal, shown


def _between(
    arguments: Arguments, text: str, places: list[tuple[int, int]], first: tuple[int, int]
) -> tuple[str, list[tuple[int, int]]]:
    """Put the prologue and the epilogue around a body; their lines have the place `first`."""
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
    return text, places


def _requests(
    document: Document, arguments: Arguments
) -> tuple[tuple[ParsedRequest, ...], tuple[str, ...]]:
    """Return the selected requests of a block, and a notice about the others."""
    if document.problems:
        raise document.problems[0]
    notes = [str(notice) for notice in document.notices]
    parsed = document.requests
    if arguments.get("requests") == "all":
        return parsed, tuple(notes)
    if more := len(parsed[1:]):
        several = f"{more} requests" if more > 1 else "request"
        notes.append(f"the other {several} of this block: not sent (:requests all)")
    return parsed[:1], tuple(notes)


def _digest(arguments: Arguments, text: str, shown: Sequence[tuple[str, object]]) -> str:
    """Compute the hash of a block, from the text that Emacs would pass on."""
    parts = [arguments.get("prologue")] if arguments.get("prologue") else []
    parts += [
        f":{name} = {lisp.write(given) if isinstance(given, lisp.Number) else given}"
        for name, given in shown
    ]
    parts.append(text)
    if arguments.get("epilogue"):
        parts.append(arguments.get("epilogue"))
    return header.digest(arguments, "\n".join(parts), shown)
