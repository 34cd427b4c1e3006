"""Header arguments of source blocks, inherited and merged in Org's order of precedence.

The sources, from weakest to strongest, are Org's defaults, the language's defaults, inherited
``header-args``, inherited ``header-args:LANGUAGE``, the block's own line, and its ``#+HEADER:``
lines from the last to the first. Arguments are inherited from the document and the headings above.
A word in ``:results`` replaces weaker words of the same group. ``:var`` variables accumulate. For
any other argument, the strongest value applies.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from orgrest.org.argument_syntax import Pairs, call_arguments, parse
from orgrest.org.blocks import REQUEST_LANGUAGES, ArgumentError, Arguments, Lisp, text_of
from orgrest.org.known import DEFAULTS, GROUPS, HEADING_DEFAULTS, REQUEST_DEFAULTS
from orgrest.org.lisp import NUMBER, write_number, write_pair, write_string

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.org.blocks import Block
    from orgrest.org.document import OrgDocument


@lru_cache(maxsize=256)
def merge(sources: tuple[Pairs, ...]) -> Arguments:
    """Merge `sources`, from weakest to strongest, and return the resulting header arguments.

    Raises ArgumentError if the value of ``:results`` is Emacs Lisp.
    """
    values: dict[str, str | Lisp | None] = {}
    results: list[str] = []
    variables: dict[str, str] = {}
    for pairs in sources:
        for name, value in pairs:
            if name == ":var":
                text = str(value)
                variable = text.partition("=")[0].strip()
                variables.pop(variable, None)  # the last assignment also determines the order
                variables[variable] = text
            elif name == ":results":
                for word in (text_of("results", value) or "").split():
                    others = next((group for group in GROUPS if word in group), (word,))
                    results = [*(result for result in results if result not in others), word]
            elif name.startswith(":"):
                values[name[1:]] = value
    return Arguments(values, tuple(results), variables)


def digest(arguments: Arguments, body: str, variables: Iterable[tuple[str, object]]) -> str:
    """Return the hash that Org 9.5 computes for a cached block.

    `variables` contains the names and values of the ``:var`` variables. `body` starts with lines
    that assign these variables, followed by the block's text.
    """
    from hashlib import sha1

    words = sorted(word for word in arguments.results if word not in GROUPS[2])
    kind = "output" if "output" in words else "value"
    printed: dict[str, str] = {
        name: _print(text) for name, text in arguments.values.items() if isinstance(text, str)
    }
    printed["result-params"] = (
        f"({' '.join(write_string(word) for word in words)})" if words else ""
    )
    printed["result-type"] = kind
    printed["results"] = write_string(" ".join(words)) if words else ""
    pairs = [*printed.items(), *(("var", write_pair(name, value)) for name, value in variables)]
    shown = [text for _, text in sorted(pairs, key=lambda pair: pair[0]) if text]
    return sha1(f"{':'.join(shown)}-{body}".encode()).hexdigest()  # noqa: S324 - Org's choice


def _print(text: str) -> str:
    if not text:
        return ""
    return write_number(text) if NUMBER.fullmatch(text) else write_string(text)


def target_of(document: OrgDocument, block: Block) -> Block:
    """Return the block that a call evaluates, or `block` itself if it is not a call.

    Raises ArgumentError if no block has the name in the call.
    """
    target = document.block_named(block.call.name) if block.call else block
    if target is None:
        raise ArgumentError(f"no source block named {block.call.name if block.call else ''}")
    return target


def of_block(document: OrgDocument, block: Block) -> Arguments:
    """Return the header arguments of a block, or those that apply when a call evaluates its block.

    Raises ArgumentError if an argument cannot be parsed, or if a call names a missing block.
    """
    target, call = target_of(document, block), block.call
    sources = _sources(document, target)
    if call is not None:
        sources += document.inherited.pairs(block.heading, target.language)
        sources.append(parse(call.inside))
        sources.append(tuple((":var", text) for text in call_arguments(call.arguments)))
        sources.append(parse(call.end))
    if block.kind == "inline call":
        sources = [pairs for pairs in sources if pairs is not REQUEST_DEFAULTS]
        sources.append(((":results", "value"),))
    return merge(tuple(sources))


def _sources(document: OrgDocument, block: Block) -> list[Pairs]:
    general, special = document.inherited.pairs(block.heading, block.language)
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
