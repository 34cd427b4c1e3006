"""verb's requests in one run: the headings above them, preludes, and stored responses.

Of a heading's properties, ``Verb-Store`` names its response for other requests, ``Verb-Prelude``
defines variables (as JSON, in the property or in a file; those of parent headings apply, too, the
nearest first), and ``Verb-Max-Redirections: 0`` follows no redirects. Properties that need Emacs
Lisp are errors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs

from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Directive, Template
from orgrest.model import Source
from orgrest.org.blocks import VERB
from orgrest.org.verb import is_file_tag
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Context
    from orgrest.org.arguments import Arguments
    from orgrest.org.blocks import Block, Heading
    from orgrest.org.document import Document

EXPORT = ":op export sends nothing, and is not done here: --dry-run shows the request"

_REFUSED = {
    "Map-Request": "write the request as it is to be sent",
    "Map-Response": "write :jq at a block in http",
    "Proxy": "orgrest --proxy URL sends through one",
}


class VerbTree:
    """The verb requests of one version of a document."""

    def __init__(self, document: Document, file: str) -> None:
        """Index `document`, of the file called `file` (for messages)."""
        self.document = document
        self._file = file
        self._parsed: dict[Block, ParsedRequest] = {}
        self._own: dict[Heading, Block] = {}
        self.stores: dict[str, Block] = {}
        self._everywhere = is_file_tag(document.keywords)
        self.with_blocks: set[Heading] = set()
        parents = set()
        for block in document.evaluated:
            if block.kind in ("heading", "block") and block.language == VERB:
                self._own.setdefault(block.heading, block)
                parents.add(block.heading.parent)
                if block.kind == "block":
                    self.with_blocks.add(block.heading)
                if store := _property(block.heading, "STORE"):
                    self.stores.setdefault(store, block)
        self._parents = parents

    def complete(self, parsed: ParsedRequest, block: Block) -> ParsedRequest:
        """Return a block's request, merged with those of its parent headings and its properties.

        Raises EvaluationError for a property that is not supported.
        """
        for name, instead in _REFUSED.items():
            if _property(block.heading, name.upper()):
                raise EvaluationError(f"the property Verb-{name} is not understood: {instead}")
        limit = _property(block.heading, "MAX-REDIRECTIONS")
        if limit not in ("", "0"):
            raise EvaluationError(f"Verb-Max-Redirections is 0 or not there, not {limit}")
        directives = (Directive("no-redirect", Template("", ((0, 0),)), parsed.span),)
        return attrs.evolve(
            parsed,
            name=_property(block.heading, "STORE") or None,
            directives=directives if limit else (),
            above=self._above(block),
        )

    def is_request(self, block: Block) -> bool:
        """Return whether a heading's text is a request, not only inherited by headings below.

        A template is only sent if no heading is below it and it inherits a method.
        """
        parsed = self._read(block)
        if parsed.method or parsed.problems:
            return True
        if block.heading in self._parents:
            return False
        from orgrest.http.verb import method

        return bool(method([*self._above(block), parsed]))

    def is_prose(self, block: Block) -> bool:
        """Return whether a heading's text does not even look like a request."""
        line = self.document.lines[block.first]
        from orgrest.http.parsing.verb import REQUEST

        return not (REQUEST.fullmatch(line) or "://" in line or "{{" in line)

    def _above(self, block: Block) -> tuple[ParsedRequest, ...]:
        found = [self._read(one) for one in self._blocks_above(block)]
        return tuple(reversed(found))

    def _blocks_above(self, block: Block) -> Iterator[Block]:
        for heading in block.heading.path():
            own = self._own.get(heading)
            if heading is block.heading or own is None:
                continue
            if VERB in heading.tags or (self._everywhere and heading.level):
                yield own

    def _read(self, block: Block) -> ParsedRequest:
        found = self._parsed.get(block)
        if found is None:
            body = self.document.body(block)
            source = Source(body.text, file=self._file, places=body.places)
            found = self._parsed[block] = read(source, VERB).requests[0]
        return found

    def variables(self, block: Block, context: Context) -> dict[str, str]:
        """Return the variables of the preludes that apply to a block. Raises OrgrestError."""
        preludes = [_property(one, "PRELUDE") for one in block.heading.path()]
        preludes += [text for key, text in self.document.keywords if key == "verb-prelude"][:1]
        found: dict[str, str] = {}
        for prelude in reversed(preludes):
            if prelude:
                found.update(_prelude(prelude, context))
        return found


def _property(heading: Heading, name: str) -> str:
    return heading.properties.get(f"VERB-{name}", "")


def is_export(arguments: Arguments) -> bool:
    """Return whether a block is exported in another form instead of being sent."""
    return arguments.get("op").startswith("export")


def part_asked(arguments: Arguments) -> str:
    """Return the part of a response that ``:op`` selects, for `Rendered.as_verb`.

    Raises EvaluationError for any other value.
    """
    words = arguments.get("op", "send").split()
    if is_export(arguments):
        raise EvaluationError(EXPORT)
    if words[:1] != ["send"] or words[1:] not in ([], ["get-body"], ["get-headers"]):
        raise EvaluationError(
            f":op is send, send get-body or send get-headers, not {' '.join(words)}"
        )
    return "".join(words[1:])


def _prelude(given: str, context: Context) -> dict[str, str]:
    """Read a prelude: JSON, or a file with JSON; nested values one level down count, too."""
    text = given
    if not any(c in given for c in "(){}"):
        if given.endswith(".el"):
            raise EvaluationError(f"Emacs Lisp is not run: write the prelude {given} as JSON")
        text = context.read(given).decode("utf-8", "replace")
    try:
        values = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise EvaluationError(f"a prelude is a JSON object, and no code is run: {given[:80]}")
    found: dict[str, str] = {}
    for name, value in values.items():
        for inner, one in (value if isinstance(value, dict) else {name: value}).items():
            if isinstance(one, str):
                found[inner] = one
    return found
