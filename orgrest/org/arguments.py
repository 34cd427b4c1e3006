"""Header arguments of source blocks, inherited and merged in Org's order of precedence.

From weak to strong: Org's defaults, the language's, ``header-args`` of the document and of the
headings above, ``header-args:LANGUAGE`` likewise, the block's own line, its ``#+HEADER:`` lines
(the first of which wins). ``:results`` merges word by word: a word replaces the other words of its
group; variables of ``:var`` accumulate; everything else is overridden.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import attrs

from orgrest.org.argument_syntax import Lisp, Pairs, call_arguments, parse
from orgrest.org.blocks import REQUEST_LANGUAGES
from orgrest.org.known import DEFAULTS, GROUPS, HEADING_DEFAULTS, REQUEST_DEFAULTS
from orgrest.org.lisp import NUMBER, ArgumentError, write, write_number, write_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orgrest.org.blocks import Block, Call, Heading
    from orgrest.org.document import Document


@attrs.frozen
class Arguments:
    """The header arguments that apply to one block.

    `values` holds all arguments but ``:results`` and ``:var`` (None if only the name was given);
    `results` the words of ``:results``, `variables` the ``:var``s in order.
    """

    values: Mapping[str, str | Lisp | None] = attrs.field(factory=dict)
    results: tuple[str, ...] = ()
    variables: Mapping[str, str] = attrs.field(factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str, default: str = "") -> str:
        """Return the text of an argument, `default` if it is missing or empty.

        Raises ArgumentError if the value is Emacs Lisp.
        """
        value = self.values.get(name)
        if isinstance(value, Lisp):
            raise ArgumentError(
                f"header argument :{name} holds Emacs Lisp, which is not run: {value.text}"
            )
        return default if value is None else value

    @property
    def eval(self) -> str:
        """The value of ``:eval``; without one, ``:noeval`` means no.

        Raises ArgumentError if the value is Emacs Lisp.
        """
        return self.get("eval") or ("no" if "noeval" in self else "")

    def flag(self, name: str) -> bool:
        """Return whether a yes-or-no argument is on; the name alone means yes."""
        return name in self.values and self.get(name, "yes").lower() not in ("no", "nil")


@lru_cache(maxsize=256)
def merge(sources: tuple[Pairs, ...]) -> Arguments:
    """Merge header arguments, the weakest first."""
    values: dict[str, str | Lisp | None] = {}
    results: list[str] = []
    variables: dict[str, str] = {}
    for pairs in sources:
        for name, given in pairs:
            if name == ":var":
                text = str(given)
                variables[text.partition("=")[0].strip()] = text
            elif name == ":results":
                if isinstance(given, Lisp):
                    raise ArgumentError(
                        f"header argument :results holds Emacs Lisp, which is not run: {given.text}"
                    )
                for word in (given or "").split():
                    others = next((group for group in GROUPS if word in group), (word,))
                    results = [*(one for one in results if one not in others), word]
            elif name.startswith(":"):
                values[name[1:]] = given
    return Arguments(values, tuple(results), variables)


def digest(arguments: Arguments, body: str, variables: Iterable[tuple[str, object]]) -> str:
    """Compute the hash of a cached block as Org 9.5 does.

    `variables` are the values of the ``:var``s, `body` the block's text, preceded by them.
    """
    from hashlib import sha1

    words = sorted(word for word in arguments.results if word not in GROUPS[2])
    kind = "output" if "output" in words else "value"
    known: dict[str, str] = {
        name: _print(text) for name, text in arguments.values.items() if isinstance(text, str)
    }
    known["result-params"] = f"({' '.join(write_string(word) for word in words)})" if words else ""
    known["result-type"] = kind
    known["results"] = write_string(" ".join(words)) if words else ""
    shown = [text for _, text in sorted(known.items()) if text]
    shown += [f"({name} . {write(given)})" for name, given in variables]
    return sha1(f"{':'.join(shown)}-{body}".encode()).hexdigest()  # noqa: S324 - Org's choice


def _print(text: str) -> str:
    if not text:
        return ""
    return write_number(text) if NUMBER.fullmatch(text) else write_string(text)


class Inherited:
    """The header arguments that a document's keywords and property drawers give to its blocks."""

    def __init__(self, document: Document) -> None:
        """Collect the ``#+PROPERTY:`` lines of `document`."""
        found: dict[str, list[str]] = {}
        for key, text in document.keywords:
            if key == "property":
                name, _, rest = text.partition(" ")
                name = name.upper()
                if name.endswith("+"):
                    found.setdefault(name[:-1], []).append(rest)
                else:
                    found[name] = [rest]
        self._global = {name: " ".join(filter(None, parts)) for name, parts in found.items()}
        self._has_drawers = ":header-args" in document.text.lower()
        self._known: dict[tuple[int, str], Pairs] = {}

    def pairs(self, heading: Heading, language: str) -> tuple[Pairs, Pairs]:
        """Return the arguments below `heading`: for every language, and for this one."""
        general = self._lookup(heading, "HEADER-ARGS")
        if not language:
            return general, ()
        return general, self._lookup(heading, f"HEADER-ARGS:{language.upper()}")

    def _lookup(self, heading: Heading, key: str) -> Pairs:
        at = (heading.line if self._has_drawers else 0, key)
        known = self._known.get(at)
        if known is None:
            parts: list[str | None] = []  # the strongest first
            for here in heading.path():
                parts += (here.properties.get(key + "+"), here.properties.get(key))
                if parts[-1] is not None:
                    break
            else:
                parts.append(self._global.get(key))
            text = " ".join(part for part in reversed(parts) if part is not None)
            known = self._known[at] = parse(text)
        return known


def arguments_of(document: Document, inherited: Inherited, block: Block) -> Arguments:
    """Return the header arguments of a block or call of `document`.

    Raises ArgumentError if they cannot be parsed, or a call names no block.
    """
    if block.call is None:
        return of_block(block, inherited)
    return of_call(block, block.call, target_of(document, block), inherited)


def target_of(document: Document, block: Block) -> Block:
    """Return the block that a call evaluates; for any other block, the block itself.

    Raises ArgumentError.
    """
    target = document.block_named(block.call.name) if block.call else block
    if target is None:
        raise ArgumentError(f"no source block is named {block.call.name if block.call else ''}")
    return target


def of_block(block: Block, inherited: Inherited) -> Arguments:
    """Return the header arguments of a source block or inline block.

    Raises ArgumentError if they cannot be read.
    """
    return merge(tuple(_sources(block, inherited)))


def _sources(block: Block, inherited: Inherited) -> list[Pairs]:
    general, special = inherited.pairs(block.heading, block.language)
    language = REQUEST_DEFAULTS if block.language in REQUEST_LANGUAGES else ()
    if block.kind == "inline":
        language = ((":results", "value"),)
    elif block.kind == "heading":
        language = HEADING_DEFAULTS
    return [
        DEFAULTS,
        language,
        general,
        special,
        parse(block.arguments),
        *(parse(text) for text in reversed(block.headers)),
    ]


def of_call(block: Block, call: Call, target: Block, inherited: Inherited) -> Arguments:
    """Return the header arguments with which `call`, that of `block`, evaluates `target`.

    Raises ArgumentError if they cannot be read.
    """
    sources = _sources(target, inherited)
    sources += inherited.pairs(block.heading, target.language)
    sources.append(parse(call.inside))
    sources.append(tuple((":var", text) for text in call_arguments(call.arguments)))
    sources.append(parse(call.end))
    if block.kind == "inline call":
        sources = [pairs for pairs in sources if pairs is not REQUEST_DEFAULTS]
        sources.append(((":results", "value"),))
    return merge(tuple(sources))
