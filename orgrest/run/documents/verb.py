"""Support for verb in a run: requests inherited from parent headings, preludes, stored responses.

``Verb-Store`` is the name by which other requests refer to a heading's response. ``Verb-Prelude``
defines variables as JSON, or names a JSON file. Preludes of parent headings also apply, but the
nearest prelude takes precedence. ``Verb-Max-Redirections: 0`` turns redirects off.
``Verb-Map-Request``, ``Verb-Map-Response``, ``Verb-Proxy`` and preludes in Emacs Lisp are errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Directive, Template
from orgrest.org.blocks import VERB
from orgrest.org.verb import is_file_tag
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Context
    from orgrest.org.blocks import Arguments, Block, Heading
    from orgrest.org.document import OrgDocument

EXPORT = ":op export is not supported, as it sends nothing: use --dry-run to see the request"

_REFUSED = {
    "Map-Request": "write the request as it should be sent",
    "Map-Response": "use :jq in an http block",
    "Proxy": "use orgrest --proxy URL",
}


class VerbTree:
    """The verb requests in one version of a document."""

    def __init__(self, document: OrgDocument, file: str) -> None:
        """Index the verb requests of `document`, which is called `file` in messages."""
        self.document = document
        self._file = file
        self._parsed: dict[Block, ParsedRequest] = {}
        self._preludes: dict[str, dict[str, str]] = {}
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
        """Return a block's request with its parent requests and its properties added.

        The parent headings' requests provide what the block's request lacks. Raises EvaluationError
        if a property is not supported.
        """
        for name, instead in _REFUSED.items():
            if _property(block.heading, name.upper()):
                raise EvaluationError(f"the property Verb-{name} is not supported: {instead}")
        limit = _property(block.heading, "MAX-REDIRECTIONS")
        if limit not in ("", "0"):
            raise EvaluationError(f"Verb-Max-Redirections must be 0 or omitted, found {limit}")
        directives = (Directive("no-redirect", Template("", ((0, 0),)), parsed.span),)
        return classes.evolve(
            parsed,
            name=_property(block.heading, "STORE") or None,
            directives=directives if limit else (),
            above=self._above(block),
        )

    def is_request(self, block: Block) -> bool:
        """Return whether a heading's text is a request, not a template for its subheadings.

        Text without a method is a request only if it inherits a method and the heading has no
        subheadings.
        """
        parsed = self.read(block)
        if parsed.method or parsed.problems:
            return True
        if block.heading in self._parents:
            return False
        from orgrest.http.verb import method

        return bool(method([*self._above(block), parsed]))

    def is_prose(self, block: Block) -> bool:
        """Return whether the text of a heading does not even look like a request."""
        line = self.document.lines[block.first]
        from orgrest.http.parsing.verb import REQUEST

        return not (REQUEST.fullmatch(line) or "://" in line or "{{" in line)

    def _above(self, block: Block) -> tuple[ParsedRequest, ...]:
        parents = [self.read(parent) for parent in self._blocks_above(block)]
        return tuple(reversed(parents))

    def _blocks_above(self, block: Block) -> Iterator[Block]:
        for heading in block.heading.path():
            own = self._own.get(heading)
            if heading is block.heading or own is None:
                continue
            if VERB in heading.tags or (self._everywhere and heading.level):
                yield own

    def read(self, block: Block) -> ParsedRequest:
        """Return the request of a block as written, without its parents' requests."""
        parsed = self._parsed.get(block)
        if parsed is None:
            source = self.document.body(block, self._file)
            parsed = self._parsed[block] = read(source, VERB).requests[0]
        return parsed

    def variables(self, block: Block, context: Context) -> dict[str, str]:
        """Return the variables of all preludes that apply to a block.

        Raises OrgrestError if a prelude is invalid.
        """
        preludes = [_property(heading, "PRELUDE") for heading in block.heading.path()]
        preludes += [text for key, text in self.document.keywords if key == "verb-prelude"][:1]
        values: dict[str, str] = {}
        for prelude in reversed(preludes):
            if prelude:
                known = self._preludes.get(prelude)
                if known is None:
                    known = self._preludes[prelude] = _prelude(prelude, context)
                values.update(known)
        return values


def _property(heading: Heading, name: str) -> str:
    return heading.properties.get(f"VERB-{name}", "")


def is_export(arguments: Arguments) -> bool:
    """Return whether a block is exported as code instead of being sent."""
    return arguments.get("op").startswith("export")


def selected_part(arguments: Arguments) -> str:
    """Return the part of a response that ``:op`` selects, for `Rendered.as_verb`.

    Raises EvaluationError unless ``:op`` is missing or is ``send``, ``send get-body`` or
    ``send get-headers``.
    """
    words = arguments.get("op", "send").split()
    if is_export(arguments):
        raise EvaluationError(EXPORT)
    if words[:1] != ["send"] or words[1:] not in ([], ["get-body"], ["get-headers"]):
        raise EvaluationError(
            f":op must be send, send get-body or send get-headers, found {' '.join(words)}"
        )
    return "".join(words[1:])


def _prelude(prelude: str, context: Context) -> dict[str, str]:
    """Return the variables of a prelude: JSON, or the name of a JSON file.

    Members of nested objects are variables as well, one level deep.
    """
    from orgrest.structured import json_or

    text = prelude
    if not any(c in prelude for c in "(){}"):
        if prelude.endswith(".el"):
            raise EvaluationError(f"Emacs Lisp is not run: write the prelude {prelude} as JSON")
        text = context.read(prelude).decode("utf-8", "replace")
    values = json_or(text, parse_int=str, parse_float=str)
    if not isinstance(values, dict):
        raise EvaluationError(
            f"a prelude must be a JSON object, without code; found {prelude[:80]}"
        )
    variables: dict[str, str] = {}
    for name, value in values.items():
        for inner, inner_value in (value if isinstance(value, dict) else {name: value}).items():
            if isinstance(inner_value, str):
                variables[inner] = inner_value
    return variables
